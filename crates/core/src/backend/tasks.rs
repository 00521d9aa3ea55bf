//! [`Backend`]: runs tasks on threads and combines their results in order.
//!
//! The number of tasks and their order never depend on the number of threads, which makes results reproducible. The backend
//! checks for cancellation before each task and skips the remaining tasks once cancelled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::cancel::{CancelToken, Cancelled, Result};
use super::device::Device;
use super::numerics::Numerics;
use super::product::{View, product};
use super::real::Real;

/// The threads that do the work, the device that runs the early phase if there is one, and the token that cancels the work. With
/// one thread everything that is not on the device runs on the caller's thread.
///
/// # Errors
/// Methods return [`Cancelled`] when the token was cancelled before the last task started. Results are then incomplete.
#[derive(Clone)]
pub struct Backend {
    pool: Option<Arc<ThreadPool>>,
    cancel: CancelToken,
    device: Option<Arc<dyn Device>>,
}

impl Backend {
    /// A backend with the given number of CPU threads.
    ///
    /// # Errors
    /// When the operating system cannot start the threads.
    pub fn cpu(threads: usize) -> Result<Backend, ThreadPoolBuildError> {
        let pool = match threads {
            0 | 1 => None,
            threads => Some(Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?)),
        };
        Ok(Backend { pool, cancel: CancelToken::new(), device: None })
    }

    /// A backend that works on the caller's thread. It starts no thread and therefore cannot fail.
    pub fn single() -> Backend {
        Backend { pool: None, cancel: CancelToken::new(), device: None }
    }

    /// A backend on the same threads whose work ends at the next task or block after `cancel` was cancelled.
    pub fn with_cancel(&self, cancel: CancelToken) -> Backend {
        Backend { cancel, ..self.clone() }
    }

    /// A backend on the caller's thread with the same token, for work inside one of several tasks.
    pub fn alone(&self) -> Backend {
        Backend { pool: None, ..self.clone() }
    }

    /// A backend that runs the early phase on the device, if one is given.
    pub fn with_device(self, device: Option<Arc<dyn Device>>) -> Backend {
        Backend { device, ..self }
    }

    /// The device of the early phase; absent: the CPU.
    pub fn device(&self) -> Option<&Arc<dyn Device>> {
        self.device.as_ref()
    }

    /// The token that cancels the work.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// The arithmetic that its results come from.
    pub fn numerics(&self) -> Numerics {
        self.device.as_ref().map_or_else(Numerics::this_cpu, |device| device.numerics())
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Returns an error if the work was cancelled. Long tasks call this before every block.
    pub fn check_cancelled(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Runs `work` on a thread of the pool, or on the calling thread if there is no pool. Work with many short parallel parts is then
    /// faster: a thread of the pool that waits for the next part stays awake for some microseconds, and a call from outside has to wake a
    /// sleeping thread.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Runs the tasks `0..count` and returns their results in order.
    pub fn map<R: Send>(&self, count: usize, task: impl Fn(usize) -> R + Sync) -> Result<Vec<R>> {
        self.try_map(count, |i| Ok(task(i)))
    }

    /// Runs the tasks `0..count`, which may fail, and returns their results in order, or the first error in order.
    pub fn try_map<R: Send, E: Send + From<Cancelled>>(
        &self,
        count: usize,
        task: impl Fn(usize) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let task = |i| {
            self.check_cancelled()?;
            task(i)
        };
        match &self.pool {
            Some(pool) if count > 1 => {
                let results: Vec<_> = (0..count).map(|_| Mutex::new(Err(E::from(Cancelled)))).collect();
                run(pool, count, &|i| {
                    let result = task(i);
                    *lock(&results[i]) = result;
                });
                let result = |slot: Mutex<_>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
                results.into_iter().map(result).collect()
            }
            _ => (0..count).map(task).collect(),
        }
    }

    /// Runs a task on each chunk of `data`; the last chunk may be shorter.
    pub fn for_chunks<T: Send>(
        &self,
        data: &mut [T],
        chunk: usize,
        task: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()> {
        let task = |i, part: &mut [T]| {
            if !self.cancel.is_cancelled() {
                task(i, part);
            }
        };
        match &self.pool {
            Some(pool) if data.len() > chunk => {
                let parts: Vec<_> = data.chunks_mut(chunk).map(Mutex::new).collect();
                run(pool, parts.len(), &|i| task(i, &mut lock(&parts[i])));
            }
            _ => data.chunks_mut(chunk).enumerate().for_each(|(i, part)| task(i, part)),
        }
        self.check_cancelled()
    }

    /// Computes `out = a b` with panels of rows on different threads. Panels are large, which is efficient, when there are
    /// enough rows for all threads. The number of rows of a panel changes no bits unless it is 1.
    pub fn product<T: Real>(&self, out: &mut [T], a: View<'_, T>, b: View<'_, T>) -> Result<()> {
        const FEW: usize = 16;
        let panel = match a.rows() {
            // Panels for all threads. None is smaller than `FEW` rows, and all have enough entries for the same kernel.
            rows if rows % FEW == 0 && b.columns() > FEW => {
                (rows / self.threads()).next_multiple_of(FEW).clamp(FEW, 256)
            }
            1024.. => 256,
            _ => 64,
        };
        let columns = b.columns();
        if columns == 0 {
            return Ok(());
        }
        self.for_chunks(out, panel * columns, |i, part| {
            let first = i * panel;
            product(part, a.rows_in(first, first + part.len() / columns), b, false);
        })
    }
}

/// Runs the tasks `0..count` on the threads of the pool. Tasks are not a type parameter: each would compile rayon once more.
fn run(pool: &ThreadPool, count: usize, task: &(dyn Fn(usize) + Sync)) {
    pool.install(|| (0..count).into_par_iter().with_max_len(1).for_each(task));
}

/// Locks what only one task uses.
fn lock<T>(own: &Mutex<T>) -> MutexGuard<'_, T> {
    own.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn cancelled_work_returns_the_error() {
        for threads in [1, 3] {
            let cancel = CancelToken::new();
            let backend = Backend::cpu(threads).unwrap().with_cancel(cancel.clone());
            assert_eq!(backend.map(5, |i| i * i), Ok(vec![0, 1, 4, 9, 16]));
            assert_eq!(backend.for_chunks(&mut [0; 8], 2, |_, _| {}), Ok(()));
            cancel.cancel();
            assert_eq!(backend.map(5, |_| panic!("a task was started")), Err::<Vec<()>, _>(Cancelled));
            assert_eq!(
                backend.for_chunks(&mut [0; 8], 2, |_, _| panic!("a task was started")),
                Err(Cancelled)
            );
            let (mut out, ones) = ([0.0; 4], [1.0; 4]);
            let ones = View::new(&ones, 2, 2);
            assert_eq!(backend.product(&mut out, ones, ones), Err(Cancelled));
            assert_eq!(out, [0.0; 4]);
            assert_eq!(backend.check_cancelled(), Err(Cancelled));
            assert_eq!(backend.alone().map(1, |i| i), Err(Cancelled));
        }
    }

    #[test]
    fn installed_work_runs_on_a_thread_of_the_pool() {
        let pool_thread = |backend: Backend| backend.install(|| rayon::current_thread_index().is_some());
        assert!(pool_thread(Backend::cpu(2).unwrap()));
        assert!(!pool_thread(Backend::single()));
    }

    #[test]
    fn tasks_after_a_cancellation_are_skipped() {
        for threads in [1, 3] {
            let (cancel, started) = (CancelToken::new(), AtomicUsize::new(0));
            let backend = Backend::cpu(threads).unwrap().with_cancel(cancel.clone());
            let result = backend.try_map(1000, |i| {
                started.fetch_add(1, Ordering::Relaxed);
                cancel.cancel();
                backend.alone().map(2, |j| i + j)
            });
            assert_eq!(result, Err(Cancelled));
            assert!(started.into_inner() <= threads);
        }
    }
}
