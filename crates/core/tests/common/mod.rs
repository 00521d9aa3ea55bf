//! Helpers shared by the integration tests.

use superpose_core::backend::{Backend, Real};
use superpose_core::config::{Config, Settings};
use superpose_core::early_phase::{EarlyPhase, early_phase};
use superpose_core::embedding::Embeddings;
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Task};

pub fn config(settings: Settings) -> Config {
    settings.check().unwrap()
}

/// Everything of a run that is drawn from its seed.
pub struct Setting<T> {
    pub config: Config,
    pub task: Task,
    pub embeddings: Embeddings<T>,
}

impl<T: Real> Setting<T> {
    pub fn new(settings: Settings) -> Self {
        let config = config(settings);
        let embeddings = Embeddings::draw(&config, &Backend::single()).unwrap();
        Setting { task: Task::new(&config), embeddings, config }
    }

    pub fn model(&self) -> Model<'_, T> {
        Model::new(&self.config, &self.embeddings)
    }

    pub fn train(&self) -> Drawn<'_> {
        Drawn::new(&self.task, self.config.seed, Stream::Train, self.config.samples)
    }

    pub fn test(&self) -> Drawn<'_> {
        Drawn::new(&self.task, self.config.seed, Stream::Test, self.config.test_samples)
    }

    pub fn run(&self, backend: &Backend) -> EarlyPhase<T> {
        early_phase(&self.config, &self.model(), &self.train(), backend).unwrap()
    }
}

/// Norm of the difference over norm of the second.
pub fn distance<T: Real>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = b.iter().map(|x| x.to_f64().powi(2)).sum::<f64>().sqrt();
    let difference = a.iter().zip(b).map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2)).sum::<f64>().sqrt();
    if norm == 0.0 { difference } else { difference / norm }
}
