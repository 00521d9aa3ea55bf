//! Tasks on threads, combined in order. Between tasks is also where work that should stop does.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::product::{View, product};
use super::real::Real;

/// Where and on how many threads work is done. With one thread everything runs on the caller's.
pub struct Backend {
    pool: Option<ThreadPool>,
    stop: Option<Arc<AtomicBool>>,
}

/// What unwinds through the engine when work is stopped: whoever gave the flag catches it. The engine has nothing to tidy up, and
/// results of half a computation would be felt in every signature.
#[derive(Clone, Copy, Debug)]
pub struct Stopped;

impl Backend {
    /// The CPU with the given number of threads.
    pub fn cpu(threads: usize) -> Result<Backend, ThreadPoolBuildError> {
        let pool = match threads {
            0 | 1 => None,
            threads => Some(ThreadPoolBuilder::new().num_threads(threads).build()?),
        };
        Ok(Backend { pool, stop: None })
    }

    /// The CPU, on the caller's thread alone. Cannot fail: no thread is started.
    pub fn single() -> Backend {
        Backend { pool: None, stop: None }
    }

    /// When this becomes true the work ends at its next task or block, by unwinding with [`Stopped`].
    pub fn with_stop(self, stop: Arc<AtomicBool>) -> Backend {
        Backend { stop: Some(stop), ..self }
    }

    /// The caller's thread alone, for one of several tasks: it stops with them.
    pub fn alone(&self) -> Backend {
        Backend { pool: None, stop: self.stop.clone() }
    }

    /// The number of threads that work.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Leaves the work if it was told to stop. Long tasks ask at every block.
    pub fn leave_if_stopped(&self) {
        if self.is_stopped() {
            resume_unwind(Box::new(Stopped));
        }
    }

    /// Runs the tasks `0..count` and returns their results in order.
    pub fn map<R: Send>(&self, count: usize, task: impl Fn(usize) -> R + Sync) -> Vec<R> {
        // Tasks after the stop are passed over and the work is left once: thousands that unwind one by one take seconds.
        let task = |i| (!self.is_stopped()).then(|| task(i));
        let results: Option<Vec<R>> = match &self.pool {
            Some(pool) if count > 1 => {
                let run = || (0..count).into_par_iter().with_max_len(1).map(task).collect::<Vec<Option<R>>>();
                pool.install(run).into_iter().collect()
            }
            _ => (0..count).map(task).collect(),
        };
        results.unwrap_or_else(|| resume_unwind(Box::new(Stopped)))
    }

    /// Runs a task on each chunk of `data`; the last may be shorter.
    pub fn for_chunks<T: Send>(&self, data: &mut [T], chunk: usize, task: impl Fn(usize, &mut [T]) + Sync) {
        let task = |(i, part): (usize, &mut [T])| {
            if !self.is_stopped() {
                task(i, part);
            }
        };
        match &self.pool {
            Some(pool) if data.len() > chunk => {
                pool.install(|| data.par_chunks_mut(chunk).with_max_len(1).enumerate().for_each(task));
            }
            _ => data.chunks_mut(chunk).enumerate().for_each(task),
        }
        self.leave_if_stopped();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_wish_to_stop_is_heard_by_every_kind_of_work() {
        for threads in [1, 3] {
            let stop = Arc::new(AtomicBool::new(false));
            let backend = Backend::cpu(threads).unwrap().with_stop(Arc::clone(&stop));
            assert_eq!(backend.map(5, |i| i * i), [0, 1, 4, 9, 16]);
            stop.store(true, Ordering::Relaxed);
            let ends = |work: &dyn Fn()| {
                let cause = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
                assert!(cause.is::<Stopped>());
            };
            ends(&|| drop(backend.map(5, |i| i)));
            ends(&|| backend.for_chunks(&mut [0; 8], 2, |_, _| panic!("nothing is begun")));
            ends(&|| drop(backend.alone().map(1, |i| i)));
        }
    }
}
