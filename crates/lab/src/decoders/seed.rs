//! What decoders read off the first gradient, for one seed.

use superpose_core::backend::{Backend, Cancelled, Problem, Solver};
use superpose_core::config::{Config, ConfigError, Precision, Settings};
use superpose_core::early_phase::{Limit, placed_step};
use superpose_core::embedding::Embeddings;
use superpose_core::evaluate::decode::{
    Whitener, argmax_accuracy, expected_gradient, placed_scores, plain_scores,
};
use superpose_core::model::{Attention, Model};
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Task};

use super::assignment_accuracy;
use crate::memory::check_device;
use crate::run::{Inputs, Instance, RunError};

/// The first gradient step and what is known beside it.
pub struct FirstStep<'a> {
    /// The configuration, with the seed.
    pub config: &'a Config,
    /// The embeddings.
    pub embeddings: &'a Embeddings<f64>,
    /// The matrix after the step, divided by the learning rate: a row per output dimension.
    pub m: &'a [f64],
    /// Samples behind it; absent: unlimited data.
    pub samples: Option<usize>,
}

/// A decoder of the caller: the label that it reads for every fact. It is called on the thread that calls [`bound`](super::bound).
pub type Decoder<'a> = dyn Fn(&FirstStep<'_>) -> Result<Vec<u32>, Cancelled> + 'a;

pub(super) struct Seed {
    config: Config,
    embeddings: Embeddings<f64>,
    task: Task,
    whitener: Whitener,
}

/// The configuration with which a device takes the first step on this many samples.
pub(super) fn first_step_config(config: &Config, samples: usize) -> Result<Config, ConfigError> {
    Settings { samples, precision: Precision::F64, ..(**config).clone() }.check()
}

impl Seed {
    pub fn new(config: Config, inputs: &Inputs, backend: &Backend) -> Result<Seed, RunError> {
        let instance = Instance::new(&config, inputs, backend)?;
        // With a device they may not be drawn yet, and the decoders need them on the host.
        instance.embeddings(&config, backend)?;
        let (task, embeddings) = (Task::new(&config), instance.into_embeddings());
        let whitener = Whitener::new(&Model::new(&config, &embeddings), &task, config.seed, backend)?;
        Ok(Seed { config, embeddings, task, whitener })
    }

    fn model(&self) -> Model<'_, f64> {
        Model::new(&self.config, &self.embeddings)
    }

    /// Returns the first step on this many samples, or with unlimited data. A device has no call for the first step alone: it takes all
    /// three and evaluates them.
    fn first_step(&self, samples: Option<usize>, backend: &Backend) -> Result<Vec<f64>, RunError> {
        let model = self.model();
        let Some(samples) = samples else {
            return Ok(expected_gradient(&model, self.task.facts(), self.config.length, backend)?);
        };
        let Some(device) = backend.device() else {
            let drawn = Drawn::new(&self.task, self.config.seed, Stream::Train, samples);
            return Ok(Limit::new(&model, &drawn, backend)?.value_step(&Attention::Uniform)?.m);
        };
        let config = first_step_config(&self.config, samples)?;
        check_device(&config, false, backend)?;
        let solver: &dyn Solver<f64> = &**device;
        let problem = Problem {
            config: &config,
            task: &self.task,
            embeddings: Some(&self.embeddings),
            stored: None,
            host: backend,
            observe: &|_| {},
        };
        Ok(solver.solve(&problem)?.phase.m1)
    }

    /// Returns the share of facts that each decoder reads from the first gradient.
    pub fn decode(&self, samples: usize, backend: &Backend) -> Result<[f64; 4], RunError> {
        Ok(self.read(&self.first_step(Some(samples), backend)?, samples as f64, backend)?)
    }

    /// Returns the same with unlimited data, and the share of three steps that lock, which store every fact equally often.
    pub fn limits(&self, backend: &Backend) -> Result<[f64; 5], RunError> {
        let (model, facts) = (self.model(), self.task.facts());
        let [a, b, c, d] = self.read(&self.first_step(None, backend)?, f64::INFINITY, backend)?;
        let even = vec![1.0 / facts.len() as f64; facts.len()];
        let m = placed_step(&model, None, &self.task.seen(&even), backend)?;
        Ok([a, b, c, d, argmax_accuracy(&placed_scores(&model, &m, backend)?, facts)])
    }

    /// Returns the share of facts that a decoder of the caller reads.
    pub fn own(
        &self,
        samples: Option<usize>,
        decoder: &Decoder<'_>,
        backend: &Backend,
    ) -> Result<f64, RunError> {
        let m = self.first_step(samples, backend)?;
        let step = FirstStep { config: &self.config, embeddings: &self.embeddings, m: &m, samples };
        let (labels, facts) = (decoder(&step)?, self.task.facts());
        let right = labels.iter().zip(facts).filter(|(label, fact)| label == fact).count();
        Ok(right as f64 / facts.len() as f64)
    }

    fn read(&self, m1: &[f64], samples: f64, backend: &Backend) -> Result<[f64; 4], Cancelled> {
        let (model, facts) = (self.model(), self.task.facts());
        let both = |scores: &[f64]| (argmax_accuracy(scores, facts), assignment_accuracy(scores, facts));
        let (argmax, assignment) = both(&plain_scores(&model, m1, backend)?);
        let (mmse, mmse_assignment) = both(&self.whitener.scores(m1, samples, backend)?);
        Ok([argmax, assignment, mmse, mmse_assignment])
    }
}
