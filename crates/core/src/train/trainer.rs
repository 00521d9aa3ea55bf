//! The training loop: a state, steps, and events for an observer.
//!
//! Configuration and state together determine all further steps. A run that continues from a saved state takes the same steps,
//! bit for bit, since the order of samples is drawn from the seed and the epoch alone.

use crate::backend::{Backend, Cancelled, DeviceError, Real, Result};
use crate::config::{Config, Training};
use crate::random::{Stream, shuffle_round};
use crate::task::{Samples, Task};

use super::gradient::Gradient;
use super::learner::{Counters, CpuLearner, Learner, State};
use super::network::Tensor;
use super::reading::{TrajectoryPoint, directions};

/// An event of a run.
pub enum Event<'a, T> {
    /// The trajectory has one more point.
    Recorded(&'a TrajectoryPoint, &'a State<T>),
    /// The next step is about to be taken.
    Proposed(Proposal<'a, T>),
    /// A batch needs its loss; only if [`Trainer::own_loss`] is set.
    Scored(Scored<'a, T>),
    /// One more step was taken.
    Stepped(&'a Counters),
    /// The observer returned `false`, so that the run ends with this state; what it returns now is ignored.
    Interrupted(&'a State<T>),
}

/// A step before it is taken.
pub struct Proposal<'a, T> {
    /// The network before the step.
    pub state: &'a State<T>,
    /// Loss and gradients, clipped if the configuration says so.
    pub gradient: &'a Gradient,
    /// The learning rate.
    pub rate: f64,
    /// What the observer puts here takes the place of the optimiser's step, for each of [`Network::trained`](super::Network::trained).
    pub replaced: &'a mut [Option<Vec<T>>],
}

/// The logits of a batch, to which the observer adds a loss.
pub struct Scored<'a, T> {
    /// Logits, a row per sample of the batch.
    pub logits: &'a [T],
    /// The label of each sample.
    pub labels: &'a [u32],
    /// The loss of the batch, set by the observer.
    pub loss: &'a mut f64,
    /// Derivatives of the loss by the logits, set by the observer.
    pub derivatives: &'a mut Vec<T>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps were taken.
    Finished,
    /// The loss on the test samples had stopped falling.
    Stopped,
    /// The observer returned `false`.
    Interrupted,
}

/// The error of a run whose numbers overflowed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "the loss is not finite after {step} steps with rate = {rate:e}: use a smaller rate or precision f64"
)]
#[allow(missing_docs)] // The message explains the fields.
pub struct Diverged {
    pub step: usize,
    pub rate: f64,
}

/// The error of a training run that did not finish.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// The loss or a parameter is no longer finite.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The device has no result.
    #[error(transparent)]
    Device(DeviceError),
}

impl From<DeviceError> for TrainError {
    fn from(error: DeviceError) -> TrainError {
        match error {
            DeviceError::Cancelled(error) => error.into(),
            error => TrainError::Device(error),
        }
    }
}

/// The inputs of a run.
pub struct Trainer<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// How it is trained.
    pub training: &'a Training,
    /// The facts.
    pub task: &'a Task,
    /// Training samples.
    pub samples: &'a dyn Samples,
    /// Fresh samples, for the trajectory and for early stopping.
    pub test: &'a dyn Samples,
    /// The direction `u` of `W z_eos` that step 2 of the early phase finds.
    pub early: &'a [f64],
    /// Whether the observer computes the loss, from [`Event::Scored`]; otherwise it is the cross-entropy.
    pub own_loss: bool,
}

impl Trainer<'_> {
    /// Takes steps on the CPU until all are taken, the loss stops falling, or `observe` returns `false`.
    ///
    /// # Errors
    /// [`TrainError`] when the loss or a parameter overflows, or when the backend's token was cancelled.
    pub fn run<T: Real>(
        &self,
        state: &mut State<T>,
        backend: &Backend,
        observe: &mut dyn FnMut(Event<'_, T>) -> bool,
    ) -> Result<End, TrainError> {
        self.run_with(&mut CpuLearner::new(self, state, backend), observe)
    }

    /// The same with any learner.
    ///
    /// # Errors
    /// As for [`Trainer::run`], or when the learner's device fails.
    pub fn run_with<T: Real>(
        &self,
        learner: &mut dyn Learner<T>,
        observe: &mut dyn FnMut(Event<'_, T>) -> bool,
    ) -> Result<End, TrainError> {
        let end = self.steps(learner, observe)?;
        if end == End::Interrupted {
            observe(Event::Interrupted(learner.state()?));
        }
        Ok(end)
    }

    fn steps<T: Real>(
        &self,
        learner: &mut dyn Learner<T>,
        observe: &mut dyn FnMut(Event<'_, T>) -> bool,
    ) -> Result<End, TrainError> {
        let training = self.training;
        let mut batches = Batches::new(self.config.seed, training, self.samples.count());
        loop {
            let step = learner.counters().step;
            let last = step >= training.steps;
            let rate = training.rate_at(step);
            let ids = batches.of(step);
            let loss = match (self.own_loss, last) {
                (true, _) => match learner.own_gradient(ids, &mut |scored| observe(Event::Scored(scored)))? {
                    Some(loss) => loss,
                    None => return Ok(End::Interrupted),
                },
                (_, true) => learner.loss(ids)?,
                (_, false) => learner.gradient(ids)?,
            };
            if !loss.is_finite() {
                return Err(Diverged { step, rate: training.rate }.into());
            }
            let due = last || step.is_multiple_of(training.record_every());
            if due && learner.counters().recorded != Some(step) {
                let point = self.point(learner, rate, loss)?;
                if !point.is_finite() {
                    return Err(Diverged { step, rate: training.rate }.into());
                }
                let counters = learner.counters();
                counters.recorded = Some(step);
                if counters.best_loss.is_none_or(|best| point.test_loss < best) {
                    (counters.best_loss, counters.stale) = (Some(point.test_loss), 0);
                } else {
                    counters.stale += 1;
                }
                if !observe(Event::Recorded(&point, learner.state()?)) {
                    return Ok(End::Interrupted);
                }
            }
            if last {
                return Ok(End::Finished);
            }
            if training.early_stopping.is_some_and(|patience| learner.counters().stale >= patience) {
                return Ok(End::Stopped);
            }
            if !learner.propose(rate, &mut |proposal| observe(Event::Proposed(proposal))) {
                return Ok(End::Interrupted);
            }
            if !learner.step(rate)? {
                return Err(Diverged { step: step + 1, rate: training.rate }.into());
            }
            if !observe(Event::Stepped(learner.counters())) {
                return Ok(End::Interrupted);
            }
        }
    }

    fn point<T: Real>(
        &self,
        learner: &mut dyn Learner<T>,
        rate: f64,
        loss: f64,
    ) -> Result<TrajectoryPoint, DeviceError> {
        let reading = learner.read()?;
        let State { network, counters, .. } = learner.state()?;
        let [early_cosine, trigger_cosine, trigger_lead] = directions(network, self.early);
        Ok(TrajectoryPoint {
            step: counters.step,
            rate,
            loss,
            test_loss: reading.loss,
            measures: reading.measures.map(|tally| tally.mean()),
            norm_m: network.norm(Tensor::M),
            norm_w: network.norm(Tensor::W),
            early_cosine,
            trigger_cosine,
            trigger_lead,
        })
    }
}

/// The samples of each step. Without a batch size a step takes all of them, in order. Otherwise the samples of an epoch are shuffled
/// by the seed and the epoch and divided into batches, of which the last may be smaller.
struct Batches {
    seed: u64,
    size: usize,
    order: Vec<u32>,
    epoch: Option<usize>,
}

impl Batches {
    fn new(seed: u64, training: &Training, count: usize) -> Batches {
        let order = (0..count as u32).collect();
        Batches { seed, size: training.batch_size(count), order, epoch: None }
    }

    fn of(&mut self, step: usize) -> &[u32] {
        let count = self.order.len();
        if self.size >= count {
            return &self.order;
        }
        let per_epoch = count.div_ceil(self.size);
        let (epoch, place) = (step / per_epoch, step % per_epoch);
        if self.epoch != Some(epoch) {
            self.order.iter_mut().zip(0..).for_each(|(id, i)| *id = i);
            shuffle_round(self.seed, Stream::Batches, epoch as u32, &mut self.order);
            self.epoch = Some(epoch);
        }
        &self.order[place * self.size..((place + 1) * self.size).min(count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_epoch_takes_every_sample_once_in_a_new_order() {
        let training = Training { batch: Some(4), ..Training::new(6) };
        let mut batches = Batches::new(0, &training, 10);
        let steps: Vec<Vec<u32>> = (0..6).map(|step| batches.of(step).to_vec()).collect();
        assert_eq!(steps.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2, 4, 4, 2]);
        let epoch = |range: std::ops::Range<usize>| steps[range].concat();
        let (first, second) = (epoch(0..3), epoch(3..6));
        assert_ne!(first, second);
        for mut order in [first, second] {
            order.sort_unstable();
            assert_eq!(order, (0..10).collect::<Vec<u32>>());
        }
        // Independent of the batches before.
        assert_eq!(batches.of(1), steps[1]);
    }
}
