//! The training loop: a state, steps, and events for an observer.
//!
//! Configuration and state together determine all further steps. A run that continues from a saved state takes the same steps,
//! bit for bit, since the order of samples is drawn from the seed and the epoch alone.

use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Cancelled, Real, Result};
use crate::config::{Config, Training};
use crate::random::{Stream, shuffle_round};
use crate::task::{Samples, Task};

use super::activations::logits;
use super::gradient::{Gradient, gradient, gradient_by_logits, loss};
use super::network::{Network, Tensor};
use super::optimiser::{Moments, Update};
use super::reading::{TrajectoryPoint, directions, read};

/// The counters of a run, which a checkpoint stores with its tensors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Steps taken.
    pub step: usize,
    /// The step that was last recorded.
    pub recorded: Option<usize>,
    /// The smallest loss on the test samples so far.
    pub best_loss: Option<f64>,
    /// Records since then.
    pub stale: usize,
}

/// A network during training.
#[derive(Clone, Debug)]
pub struct State<T> {
    /// The network.
    pub network: Network<T>,
    /// The optimiser's memory of each of [`Network::trained`].
    pub moments: Vec<Moments>,
    /// Steps, records and the best loss so far.
    pub counters: Counters,
}

impl<T: Real> State<T> {
    /// A network before its first step.
    pub fn new(network: Network<T>) -> State<T> {
        let moments = vec![Moments::default(); network.trained().len()];
        State { network, moments, counters: Counters::default() }
    }
}

impl<T: Real> State<T> {
    /// Takes one step of the configured optimiser on a batch of samples, all of them.
    ///
    /// # Errors
    /// When the backend's token was cancelled.
    pub fn step(&mut self, training: &Training, batch: &dyn Samples, backend: &Backend) -> Result<f64> {
        let ids: Vec<u32> = (0..batch.count() as u32).collect();
        let mut found = gradient(&self.network, batch, &ids, backend)?;
        if let Some(max) = training.gradient_clip {
            clip(&mut found.tensors, max);
        }
        let rate = rate(training, self.counters.step);
        self.advance(training, &found.tensors, rate, &vec![None; found.tensors.len()], backend)?;
        Ok(found.loss)
    }

    /// Moves every trained tensor against its gradient, or to what replaces it.
    fn advance(
        &mut self,
        training: &Training,
        gradients: &[Vec<f64>],
        rate: f64,
        replaced: &[Option<Vec<T>>],
        backend: &Backend,
    ) -> Result<()> {
        let update = Update {
            momentum: training.momentum.unwrap_or(training.optimiser.momentum()),
            weight_decay: training.weight_decay,
            ..Update::new(training.optimiser)
        };
        for (i, tensor) in self.network.trained().to_vec().into_iter().enumerate() {
            let columns = self.network.columns(tensor);
            let entries = self.network.tensor_mut(tensor);
            match &replaced[i] {
                Some(replaced) => entries.copy_from_slice(replaced),
                None => update.step(&mut self.moments[i], entries, columns, &gradients[i], rate, backend)?,
            }
        }
        self.counters.step += 1;
        Ok(())
    }
}

/// The learning rate of a step.
fn rate(training: &Training, step: usize) -> f64 {
    training.rate * training.schedule.share(step as u64, training.steps as u64)
}

/// An event of a run.
pub enum Event<'a, T> {
    /// The trajectory has one more point.
    Recorded(&'a TrajectoryPoint, &'a State<T>),
    /// The next step is about to be taken.
    Proposed(Proposal<'a, T>),
    /// A batch needs its loss; only if [`Trainer::own_loss`] is set.
    Scored(Scored<'a, T>),
    /// One more step was taken.
    Stepped(&'a State<T>),
}

/// A step before it is taken.
pub struct Proposal<'a, T> {
    /// The network before the step.
    pub state: &'a State<T>,
    /// Loss and gradients, clipped if the configuration says so.
    pub gradient: &'a Gradient,
    /// The learning rate.
    pub rate: f64,
    /// What the observer puts here takes the place of the optimiser's step, for each of [`Network::trained`].
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
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// The loss or a parameter is no longer finite.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// The run was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
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
    /// Takes steps until all are taken, the loss stops falling, or `observe` returns `false`.
    ///
    /// # Errors
    /// [`TrainError`] when the loss or a parameter overflows, or when the backend's token was cancelled.
    pub fn run<T: Real>(
        &self,
        state: &mut State<T>,
        backend: &Backend,
        observe: &mut dyn FnMut(Event<'_, T>) -> bool,
    ) -> Result<End, TrainError> {
        let training = self.training;
        let mut batches = Batches::new(self.config.seed, training, self.samples.count());
        loop {
            let step = state.counters.step;
            let last = step >= training.steps;
            let rate = rate(training, step);
            let ids = batches.of(step);
            let mut found = match (self.own_loss, last) {
                (true, _) => match self.own_gradient(&state.network, ids, backend, observe)? {
                    Some(found) => found,
                    None => return Ok(End::Interrupted),
                },
                (_, true) => {
                    Gradient { loss: loss(&state.network, self.samples, ids, backend)?, tensors: vec![] }
                }
                (_, false) => gradient(&state.network, self.samples, ids, backend)?,
            };
            if !found.loss.is_finite() {
                return Err(Diverged { step, rate: training.rate }.into());
            }
            let due = last || step.is_multiple_of(training.record_every());
            if due && state.counters.recorded != Some(step) {
                let point = self.point(state, rate, found.loss, backend)?;
                if !point.is_finite() {
                    return Err(Diverged { step, rate: training.rate }.into());
                }
                let counters = &mut state.counters;
                counters.recorded = Some(step);
                if counters.best_loss.is_none_or(|best| point.test_loss < best) {
                    (counters.best_loss, counters.stale) = (Some(point.test_loss), 0);
                } else {
                    counters.stale += 1;
                }
                if !observe(Event::Recorded(&point, state)) {
                    return Ok(End::Interrupted);
                }
            }
            if last {
                return Ok(End::Finished);
            }
            if training.early_stopping.is_some_and(|patience| state.counters.stale >= patience) {
                return Ok(End::Stopped);
            }
            if let Some(max) = training.gradient_clip {
                clip(&mut found.tensors, max);
            }
            let mut replaced = vec![None; found.tensors.len()];
            let proposal = Proposal { state, gradient: &found, rate, replaced: &mut replaced };
            if !observe(Event::Proposed(proposal)) {
                return Ok(End::Interrupted);
            }
            state.advance(training, &found.tensors, rate, &replaced, backend)?;
            if !state.network.is_finite() {
                return Err(Diverged { step: step + 1, rate: training.rate }.into());
            }
            if !observe(Event::Stepped(state)) {
                return Ok(End::Interrupted);
            }
        }
    }

    /// Loss and gradients of the observer's loss; `None` if it returned `false`.
    fn own_gradient<T: Real>(
        &self,
        network: &Network<T>,
        ids: &[u32],
        backend: &Backend,
        observe: &mut dyn FnMut(Event<'_, T>) -> bool,
    ) -> Result<Option<Gradient>> {
        let labels: Vec<u32> = ids.iter().map(|&id| self.samples.fact(id).1).collect();
        let (mut loss, mut derivatives) = (f64::NAN, Vec::new());
        let logits = logits(network, self.samples, ids, backend)?;
        let scored =
            Scored { logits: &logits, labels: &labels, loss: &mut loss, derivatives: &mut derivatives };
        match observe(Event::Scored(scored)) {
            true => {
                let tensors = gradient_by_logits(network, self.samples, ids, &derivatives, backend)?;
                Ok(Some(Gradient { loss, tensors }))
            }
            false => Ok(None),
        }
    }

    fn point<T: Real>(
        &self,
        state: &State<T>,
        rate: f64,
        loss: f64,
        backend: &Backend,
    ) -> Result<TrajectoryPoint> {
        let network = &state.network;
        let reading = read(self.config, network, self.task, self.test, backend)?;
        let [early_cosine, trigger_cosine, trigger_lead] = directions(network, self.early);
        Ok(TrajectoryPoint {
            step: state.counters.step,
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

/// Scales gradients down so that their norm, over all tensors, is at most `max`.
fn clip(gradients: &mut [Vec<f64>], max: f64) {
    let norm = gradients.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    if norm > max {
        gradients.iter_mut().flatten().for_each(|x| *x *= max / norm);
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
    fn clipped_gradients_keep_their_direction() {
        let mut gradients = vec![vec![3.0, 0.0], vec![4.0]];
        clip(&mut gradients, 10.0);
        assert_eq!(gradients, [vec![3.0, 0.0], vec![4.0]]);
        clip(&mut gradients, 1.0);
        assert!((gradients[0][0] - 0.6).abs() < 1e-15 && (gradients[1][0] - 0.8).abs() < 1e-15);
    }

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
