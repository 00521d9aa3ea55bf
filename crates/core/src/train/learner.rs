//! A network during training, and what takes its steps: the CPU, or a device that keeps parameters and moments in its memory.

use serde::{Deserialize, Serialize};

use crate::backend::{Backend, DeviceError, Real, Result};
use crate::config::Training;
use crate::task::Samples;

use super::activations::logits;
use super::gradient::{Gradient, gradient, gradient_by_logits, loss};
use super::network::Network;
use super::optimiser::{Moments, Update};
use super::reading::{Reading, read};
use super::trainer::{Proposal, Scored, Trainer};

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

    /// Takes one step of the configured optimiser on a batch of samples, all of them.
    ///
    /// # Errors
    /// When the backend's token was cancelled.
    pub fn step(&mut self, training: &Training, batch: &dyn Samples, backend: &Backend) -> Result<f64> {
        let ids: Vec<u32> = (0..batch.count() as u32).collect();
        let found = clipped(gradient(&self.network, batch, &ids, backend)?, training);
        let rate = training.rate_at(self.counters.step);
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
        let update = Update::of(training);
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

/// What takes the steps of a [`Trainer`].
pub trait Learner<T> {
    /// Steps, records and the best loss so far.
    fn counters(&mut self) -> &mut Counters;

    /// The network with its moments and counters; a device copies them to the host.
    ///
    /// # Errors
    /// The device failed.
    fn state(&mut self) -> Result<&State<T>, DeviceError>;

    /// The mean cross-entropy over the training samples `ids`.
    ///
    /// # Errors
    /// Cancelled, or the device failed.
    fn loss(&mut self, ids: &[u32]) -> Result<f64, DeviceError>;

    /// The same, and its gradients for the next step.
    ///
    /// # Errors
    /// Cancelled, or the device failed.
    fn gradient(&mut self, ids: &[u32]) -> Result<f64, DeviceError>;

    /// Takes a step with the gradients; returns whether every parameter is finite.
    ///
    /// # Errors
    /// Cancelled, or the device failed.
    fn step(&mut self, rate: f64) -> Result<bool, DeviceError>;

    /// Evaluates the network on the test samples.
    ///
    /// # Errors
    /// Cancelled, or the device failed.
    fn read(&mut self) -> Result<Reading, DeviceError>;

    /// The loss that `score` computes from logits, and its gradients for the next step; `None` if it returns `false`.
    ///
    /// # Errors
    /// Cancelled, or there is no implementation.
    fn own_gradient(
        &mut self,
        _ids: &[u32],
        _score: &mut dyn FnMut(Scored<'_, T>) -> bool,
    ) -> Result<Option<f64>, DeviceError> {
        Err(DeviceError::unsupported("training with a loss of your own"))
    }

    /// Shows the next step to `ask`, which may replace it and returns whether to go on. A device, where the gradients are not in
    /// the memory of the host, goes on without asking.
    fn propose(&mut self, _rate: f64, _ask: &mut dyn FnMut(Proposal<'_, T>) -> bool) -> bool {
        true
    }
}

/// The learner of a [`Trainer`] on the CPU.
pub struct CpuLearner<'a, T> {
    trainer: &'a Trainer<'a>,
    state: &'a mut State<T>,
    backend: &'a Backend,
    found: Gradient,
    replaced: Vec<Option<Vec<T>>>,
}

impl<'a, T: Real> CpuLearner<'a, T> {
    /// Takes the steps of `trainer` on `state`.
    pub fn new(trainer: &'a Trainer<'a>, state: &'a mut State<T>, backend: &'a Backend) -> Self {
        let found = Gradient { loss: f64::NAN, tensors: Vec::new() };
        CpuLearner { trainer, state, backend, found, replaced: Vec::new() }
    }

    fn keep(&mut self, found: Gradient) -> f64 {
        self.found = clipped(found, self.trainer.training);
        self.replaced = vec![None; self.found.tensors.len()];
        self.found.loss
    }
}

impl<T: Real> Learner<T> for CpuLearner<'_, T> {
    fn counters(&mut self) -> &mut Counters {
        &mut self.state.counters
    }

    fn state(&mut self) -> Result<&State<T>, DeviceError> {
        Ok(self.state)
    }

    fn loss(&mut self, ids: &[u32]) -> Result<f64, DeviceError> {
        Ok(loss(&self.state.network, self.trainer.samples, ids, self.backend)?)
    }

    fn gradient(&mut self, ids: &[u32]) -> Result<f64, DeviceError> {
        let found = gradient(&self.state.network, self.trainer.samples, ids, self.backend)?;
        Ok(self.keep(found))
    }

    fn step(&mut self, rate: f64) -> Result<bool, DeviceError> {
        let Trainer { training, .. } = self.trainer;
        self.state.advance(training, &self.found.tensors, rate, &self.replaced, self.backend)?;
        Ok(self.state.network.is_finite())
    }

    fn read(&mut self) -> Result<Reading, DeviceError> {
        let Trainer { config, task, test, .. } = *self.trainer;
        Ok(read(config, &self.state.network, task, test, self.backend)?)
    }

    fn own_gradient(
        &mut self,
        ids: &[u32],
        score: &mut dyn FnMut(Scored<'_, T>) -> bool,
    ) -> Result<Option<f64>, DeviceError> {
        let (network, samples) = (&self.state.network, self.trainer.samples);
        let labels: Vec<u32> = ids.iter().map(|&id| samples.fact(id).1).collect();
        let (mut loss, mut derivatives) = (f64::NAN, Vec::new());
        let logits = logits(network, samples, ids, self.backend)?;
        let scored =
            Scored { logits: &logits, labels: &labels, loss: &mut loss, derivatives: &mut derivatives };
        if !score(scored) {
            return Ok(None);
        }
        let tensors = gradient_by_logits(network, samples, ids, &derivatives, self.backend)?;
        Ok(Some(self.keep(Gradient { loss, tensors })))
    }

    fn propose(&mut self, rate: f64, ask: &mut dyn FnMut(Proposal<'_, T>) -> bool) -> bool {
        let CpuLearner { state, found, replaced, .. } = self;
        ask(Proposal { state, gradient: found, rate, replaced })
    }
}

/// Gradients scaled down so that their norm, over all tensors, is at most the one that the training allows.
fn clipped(mut found: Gradient, training: &Training) -> Gradient {
    if let Some(max) = training.gradient_clip {
        let norm = found.tensors.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
        if norm > max {
            found.tensors.iter_mut().flatten().for_each(|x| *x *= max / norm);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipped_gradients_keep_their_direction() {
        let gradients = |max| {
            let found = Gradient { loss: 0.0, tensors: vec![vec![3.0, 0.0], vec![4.0]] };
            clipped(found, &Training { gradient_clip: Some(max), ..Training::new(1) }).tensors
        };
        assert_eq!(gradients(10.0), [vec![3.0, 0.0], vec![4.0]]);
        let scaled = gradients(1.0);
        assert!((scaled[0][0] - 0.6).abs() < 1e-15 && (scaled[1][0] - 0.8).abs() < 1e-15);
    }
}
