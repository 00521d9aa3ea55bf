//! The settings of training beyond the early phase.

use super::definition::{Group, Setting, above, below, counts, within};
use super::value::Value;
use super::{ConfigError, MAX_COUNT, Optimiser, Positions, Schedule, Values};
use crate::settings;

settings! {
    /// How a model is trained after, or instead of, the three steps of the early phase.
    pub struct Training in "Training" {
        /// Number of optimiser steps; 0 runs the three-step early phase only.
        steps: usize = 0, counts(0, MAX_COUNT);
        /// Optimiser.
        optimiser: Optimiser = Optimiser::AdamW;
        /// Initial learning rate.
        rate: f64 = 0.01, above(0.0, 1e20);
        /// Learning-rate schedule.
        schedule: Schedule = Schedule::Constant;
        /// Batch size; absent: all samples.
        batch: Option<usize> = None, counts(1, MAX_COUNT);
        /// Momentum of sgd and muon; absent: 0 for sgd, 0.95 for muon.
        momentum: Option<f64> = None, below(0.0, 1.0);
        /// Weight decay.
        weight_decay: f64 = 0.0, within(0.0, 1e6);
        /// Maximum global gradient norm, enforced by scaling; absent: no limit.
        gradient_clip: Option<f64> = None, above(0.0, 1e20);
        /// Steps between trajectory points; absent: steps / 50.
        every: Option<usize> = None, counts(1, MAX_COUNT);
        /// Stop after this many trajectory points without a lower test loss; absent: never.
        early_stopping: Option<usize> = None, counts(1, MAX_COUNT);
        /// Initialise from the end of the early phase.
        warm_start: bool = false;
        /// Number of attention heads, whose outputs are summed.
        heads: usize = 1, counts(1, 1024);
        /// Position encoding.
        positions: Positions = Positions::None;
        /// Train a key and a query matrix instead of their product.
        factored: bool = false;
        /// Train the embeddings, too.
        train_embeddings: bool = false;
        /// Train the first layer of the MLP, too.
        train_first_layer: bool = false;
    }
}

impl Training {
    /// Training for this many steps, everything else at its default.
    pub fn new(steps: usize) -> Training {
        Training { steps, ..Training::default() }
    }

    /// Samples in a step, out of this many.
    pub fn batch_size(&self, samples: usize) -> usize {
        self.batch.map_or(samples, |batch| batch.min(samples))
    }

    /// Steps between two records of the trajectory.
    pub fn record_every(&self) -> usize {
        self.every.unwrap_or(self.steps / 50).max(1)
    }

    /// Checks each value together with the other values. `width` is that of the MLP.
    pub(super) fn check(&self, width: Option<usize>) -> Result<(), ConfigError> {
        if self.train_first_layer && width.is_none() {
            let allowed = "needs width: only the attention-MLP model has a first layer";
            return Err(ConfigError::value("train_first_layer", true, allowed));
        }
        let fixed = matches!(self.optimiser, Optimiser::Adam | Optimiser::AdamW);
        if let Some(momentum) = self.momentum.filter(|_| fixed) {
            let allowed = format!("only with optimiser = sgd or muon, and it is {}", self.optimiser);
            return Err(ConfigError::value("momentum", momentum, allowed));
        }
        Ok(())
    }
}

impl Group for Option<Training> {
    fn definitions() -> Vec<Setting> {
        Training::definitions()
    }

    fn visit(&self, visit: &mut dyn FnMut(&'static str, Value)) {
        if let Some(training) = self {
            training.visit(visit);
        }
    }

    /// No training when `steps` is 0 or absent. The other settings of training are ignored then, so that a sweep over
    /// `steps` may start at 0.
    fn read(values: &Values) -> Result<Self, ConfigError> {
        let training = Training::read(values)?;
        if training.steps > 0 {
            return Ok(Some(training));
        }
        for (name, default) in
            [("heads", Value::Count(1)), ("positions", Value::Text(Positions::None.word().into()))]
        {
            if let Some(value) = values.get(name).filter(|&value| *value != default) {
                let allowed = "needs steps of at least 1: the three-step phase has one head and no positions";
                return Err(ConfigError::value(name, value, allowed));
            }
        }
        Ok(None)
    }
}
