//! Tasks on threads, combined in order.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::product::{View, product};
use super::real::Real;

/// Where and on how many threads work is done. With one thread everything runs on the caller's.
pub struct Backend {
    pool: Option<ThreadPool>,
}

impl Backend {
    /// The CPU with the given number of threads.
    pub fn cpu(threads: usize) -> Result<Backend, ThreadPoolBuildError> {
        let pool = match threads {
            0 | 1 => None,
            threads => Some(ThreadPoolBuilder::new().num_threads(threads).build()?),
        };
        Ok(Backend { pool })
    }

    /// The CPU, on the caller's thread alone. Cannot fail: no thread is started.
    pub fn single() -> Backend {
        Backend { pool: None }
    }

    /// The number of threads that work.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    /// Runs the tasks `0..count` and returns their results in order.
    pub fn map<R: Send>(&self, count: usize, task: impl Fn(usize) -> R + Sync) -> Vec<R> {
        match &self.pool {
            Some(pool) if count > 1 => {
                pool.install(|| (0..count).into_par_iter().with_max_len(1).map(&task).collect())
            }
            _ => (0..count).map(task).collect(),
        }
    }

    /// Runs a task on each chunk of `data`; the last may be shorter.
    pub fn for_chunks<T: Send>(&self, data: &mut [T], chunk: usize, task: impl Fn(usize, &mut [T]) + Sync) {
        match &self.pool {
            Some(pool) if data.len() > chunk => pool.install(|| {
                data.par_chunks_mut(chunk).with_max_len(1).enumerate().for_each(|(i, part)| task(i, part));
            }),
            _ => data.chunks_mut(chunk).enumerate().for_each(|(i, part)| task(i, part)),
        }
    }

    /// `out = a b`, panels of rows on different threads: large ones, which are efficient, if there are enough of
    /// them to share out.
    pub fn product<T: Real>(&self, out: &mut [T], a: View<'_, T>, b: View<'_, T>) {
        let panel = if a.rows() >= 1024 { 256 } else { 64 };
        let columns = b.columns();
        if columns == 0 {
            return;
        }
        self.for_chunks(out, panel * columns, |i, part| {
            let first = i * panel;
            product(part, a.rows_in(first, first + part.len() / columns), b, false);
        });
    }
}
