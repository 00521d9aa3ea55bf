//! Sums over blocks: any thread computes a block, and the blocks of a sum are added in their order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::cancel::Result;
use super::tasks::Backend;

/// What is summed, block by block.
pub trait Blocks: Sync {
    /// The buffers of one thread.
    type Work;
    /// A sum.
    type Sum: Send;

    /// New buffers.
    fn work(&self) -> Self::Work;

    /// An empty sum.
    fn start(&self) -> Self::Sum;

    /// Computes a block of a sum. It must not use the threads of the backend.
    fn compute(&self, sum: usize, block: usize, work: &mut Self::Work) -> Result<()>;

    /// Adds the block that was computed last to its sum, after all blocks before it.
    fn add(&self, work: &mut Self::Work, sum: &mut Self::Sum) -> Result<()>;
}

/// The number of sums that long sums are divided into, which are added at the end: enough for the threads of a large machine, few enough
/// that they cost little. It must not depend on the number of threads.
pub const SUMS: usize = 16;

/// Divides items into at most `sums` sums of blocks of `size` items: sum s has the items from `ends[s]` to `ends[s + 1]`, in
/// `blocks[s]` blocks.
pub fn parts(count: usize, size: usize, sums: usize) -> (Vec<usize>, Vec<usize>) {
    let sums = count.div_ceil(size).min(sums);
    let ends: Vec<usize> = (0..=sums).map(|sum| sum * count / sums.max(1)).collect();
    let blocks = ends.windows(2).map(|ends| (ends[1] - ends[0]).div_ceil(size)).collect();
    (ends, blocks)
}

/// The number of blocks that were added, and their sum once there is one.
struct Turn<S> {
    state: Mutex<(usize, Option<S>)>,
    added: Condvar,
}

impl<S> Turn<S> {
    fn lock(&self) -> MutexGuard<'_, (usize, Option<S>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the work of all threads when the work of one ends early, by a cancellation or a panic.
struct Ended<'a, S> {
    turns: &'a [Turn<S>],
    ended: &'a AtomicBool,
    complete: bool,
}

impl<S> Drop for Ended<'_, S> {
    fn drop(&mut self) {
        if !self.complete {
            self.ended.store(true, Ordering::Relaxed);
            for turn in self.turns {
                drop(turn.lock());
                turn.added.notify_all();
            }
        }
    }
}

impl Backend {
    /// Computes sums with the given numbers of blocks. The result is that of adding every block of a sum in order, whatever the
    /// number of threads; threads take blocks as they finish others, so that all of them work until the end.
    pub fn sums<B: Blocks>(&self, blocks: &[usize], from: &B) -> Result<Vec<B::Sum>> {
        let threads = self.threads().min(blocks.len());
        if threads <= 1 {
            let mut work = from.work();
            let sum = |(sum, &count): (usize, &usize)| {
                let mut total = from.start();
                for block in 0..count {
                    self.check_cancelled()?;
                    from.compute(sum, block, &mut work)?;
                    from.add(&mut work, &mut total)?;
                }
                Ok(total)
            };
            return blocks.iter().enumerate().map(sum).collect();
        }
        // First blocks of all sums, then second blocks, and so on, so that a block rarely waits for the one before it.
        let most = blocks.iter().copied().max().unwrap_or(0);
        let order: Vec<(usize, usize)> = (0..most)
            .flat_map(|block| (0..blocks.len()).map(move |sum| (sum, block)))
            .filter(|&(sum, block)| block < blocks[sum])
            .collect();
        let turn = |_: &usize| Turn { state: Mutex::new((0, None)), added: Condvar::new() };
        let turns: Vec<Turn<B::Sum>> = blocks.iter().map(turn).collect();
        let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let worker = |_| -> Result<()> {
            let mut end = Ended { turns: &turns, ended: &ended, complete: false };
            let mut work = from.work();
            while let Some(&(sum, block)) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.check_cancelled()?;
                from.compute(sum, block, &mut work)?;
                let mut turn = turns[sum].lock();
                while turn.0 < block && !ended.load(Ordering::Relaxed) {
                    turn = turns[sum].added.wait(turn).unwrap_or_else(PoisonError::into_inner);
                }
                if turn.0 < block {
                    break;
                }
                // Started here, so that the threads share the work of clearing memory.
                from.add(&mut work, turn.1.get_or_insert_with(|| from.start()))?;
                turn.0 += 1;
                turns[sum].added.notify_all();
            }
            end.complete = true;
            Ok(())
        };
        self.try_map(threads, worker)?;
        let sum = |turn: Turn<B::Sum>| turn.state.into_inner().unwrap_or_else(PoisonError::into_inner).1;
        Ok(turns.into_iter().map(|turn| sum(turn).unwrap_or_else(|| from.start())).collect())
    }

    /// Adds to each entry of `total` the same entries of the parts, in the order of the parts, each times `scale`.
    pub fn add_parts(&self, total: &mut [f64], parts: &[&[f64]], scale: f64) -> Result<()> {
        // 16 tasks for the entries of a 128 x 128 matrix.
        const CHUNK: usize = 1 << 10;
        self.for_chunks(total, CHUNK, |i, total| {
            for part in parts {
                let part = &part[i * CHUNK..][..total.len()];
                total.iter_mut().zip(part).for_each(|(sum, x)| *sum += x * scale);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{CancelToken, Cancelled};

    /// Blocks that add their number in a way that depends on the order; a block may cancel the work or panic.
    #[derive(Default)]
    struct Powers {
        cancel: Option<CancelToken>,
        panics: bool,
    }

    impl Blocks for Powers {
        type Work = f64;
        type Sum = f64;

        fn work(&self) -> f64 {
            0.0
        }

        fn start(&self) -> f64 {
            1.0
        }

        fn compute(&self, sum: usize, block: usize, work: &mut f64) -> Result<()> {
            // Later blocks are faster, so that they wait for earlier ones.
            let started = std::time::Instant::now();
            while started.elapsed().as_micros() < (60 - block.min(60)) as u128 {}
            if (sum, block) == (1, 20) {
                assert!(!self.panics, "a block panics");
                if let Some(cancel) = &self.cancel {
                    cancel.cancel();
                }
            }
            *work = (100 * sum + block) as f64;
            Ok(())
        }

        fn add(&self, work: &mut f64, sum: &mut f64) -> Result<()> {
            *sum = *sum * 0.7 + (*sum * *work).sin();
            Ok(())
        }
    }

    #[test]
    fn sums_do_not_depend_on_the_number_of_threads() {
        let blocks = [40, 0, 61, 7];
        let expected = Backend::single().sums(&blocks, &Powers::default()).unwrap();
        assert_eq!(expected[1], 1.0);
        for threads in [2, 3, 4, 9] {
            let backend = Backend::cpu(threads).unwrap();
            for _ in 0..20 {
                assert_eq!(backend.sums(&blocks, &Powers::default()).unwrap(), expected);
            }
        }
    }

    #[test]
    fn cancelled_and_failed_work_ends() {
        for threads in [1, 3, 8] {
            let cancel = CancelToken::new();
            let backend = Backend::cpu(threads).unwrap().with_cancel(cancel.clone());
            let blocks = Powers { cancel: Some(cancel), panics: false };
            assert_eq!(backend.sums(&[50; 8], &blocks), Err(Cancelled));
            let panics =
                || Backend::cpu(threads).unwrap().sums(&[50; 8], &Powers { cancel: None, panics: true });
            assert!(std::panic::catch_unwind(panics).is_err());
        }
    }

    #[test]
    fn parts_are_added_in_order() {
        let parts: Vec<Vec<f64>> =
            (0..5).map(|i| (0..10_000).map(|j| ((i * 7 + j) as f64).sin()).collect()).collect();
        let views: Vec<&[f64]> = parts.iter().map(Vec::as_slice).collect();
        let mut total = vec![0.5; 10_000];
        Backend::cpu(3).unwrap().add_parts(&mut total, &views, 0.1).unwrap();
        let expected = |j: usize| views.iter().fold(0.5, |sum, part| sum + part[j] * 0.1);
        assert!(total.iter().enumerate().all(|(j, &x)| x == expected(j)));
    }
}
