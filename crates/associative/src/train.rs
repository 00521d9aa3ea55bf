//! Training of a memory, with all facts at every step or with mini-batches drawn by frequency.

use super::{MemoryConfig, Pairs, Recall, Weights, Workspace, weights};
use superpose_core::backend::{Backend, DeviceError, Facts, MemoryLearner, Real, Result};
use superpose_core::evaluate::Tally;
use superpose_core::random::{Stream, Words};
use superpose_core::train::{Moments, Update};

/// The number of times that full-batch training evaluates its accuracy.
const CHECKS: usize = 128;

/// Trains from random weights, on the device if there is one, and returns the recall.
///
/// With all facts at every step, accuracy is evaluated 128 times, training ends when it reaches the accuracy of the configuration,
/// and the best evaluation is returned, since accuracy fluctuates at large rates. With mini-batches the final state is evaluated.
pub fn train<T: Real>(
    config: &MemoryConfig,
    pairs: &Pairs<T>,
    backend: &Backend,
) -> Result<Recall, DeviceError> {
    let (weights, update) = (weights::start(config), Update::new(config.optimiser));
    let Some(device) = backend.device() else {
        let columns = [config.inputs(), config.dim, 1];
        let (work, gradient, moments) = Default::default();
        return run(
            config,
            pairs,
            OnCpu { pairs, backend, update, columns, weights, work, gradient, moments },
        );
    };
    if pairs.list.is_some() {
        return Err(DeviceError::unsupported("a memory with a list of answers (top)"));
    }
    let Pairs { dim, keys, values, labels, .. } = pairs;
    let (weights, cancel) = (&weights, backend.cancel_token());
    let learner =
        T::solver(&**device).memory(Facts { dim: *dim, keys, values, labels, weights, update, cancel })?;
    run(config, pairs, OnDevice { pairs, learner })
}

fn run<T: Real>(
    config: &MemoryConfig,
    pairs: &Pairs<T>,
    mut memory: impl Train,
) -> Result<Recall, DeviceError> {
    let (count, rate) = (config.training_steps(), config.training_rate());
    let look = (count / CHECKS).max(1);
    let mut best: Option<Recall> = None;
    for step in 1..=count {
        let batch = config.batch.map(|batch| {
            let numbers = (step - 1) * batch..step * batch;
            numbers.map(|sample| draw(config.seed, sample, pairs)).collect::<Vec<u32>>()
        });
        memory.step(batch.as_deref(), rate)?;
        if step < count && (config.batch.is_some() || step % look > 0) {
            continue;
        }
        let now = Recall { steps: step, ..memory.read()? };
        if best.is_none_or(|best| now.accuracy.mean() > best.accuracy.mean()) {
            best = Some(now);
        }
        if config.batch.is_none() && now.accuracy.mean() >= config.accuracy {
            break;
        }
    }
    best.map_or_else(|| memory.read(), Ok)
}

/// A memory in training.
trait Train {
    /// Takes a step on the facts of a batch, or on all of them.
    fn step(&mut self, batch: Option<&[u32]>, rate: f64) -> Result<(), DeviceError>;

    /// Queries every fact.
    fn read(&mut self) -> Result<Recall, DeviceError>;
}

struct OnCpu<'a, T> {
    pairs: &'a Pairs<T>,
    backend: &'a Backend,
    update: Update,
    columns: [usize; 3],
    weights: Weights<T>,
    work: Workspace<T>,
    gradient: Weights<f64>,
    moments: [Moments; 3],
}

impl<T: Real> Train for OnCpu<'_, T> {
    fn step(&mut self, batch: Option<&[u32]>, rate: f64) -> Result<(), DeviceError> {
        let OnCpu { pairs, backend, weights, work, gradient, .. } = self;
        work.gradient(pairs, weights, batch, gradient, backend)?;
        for (i, tensor) in weights.iter_mut().enumerate().filter(|(_, tensor)| !tensor.is_empty()) {
            self.update.step(&mut self.moments[i], tensor, self.columns[i], &gradient[i], rate, backend)?;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Recall, DeviceError> {
        Ok(self.work.read(self.pairs, &self.weights, self.backend)?)
    }
}

struct OnDevice<'a, T> {
    pairs: &'a Pairs<T>,
    learner: Box<dyn MemoryLearner + 'a>,
}

impl<T: Real> Train for OnDevice<'_, T> {
    fn step(&mut self, batch: Option<&[u32]>, rate: f64) -> Result<(), DeviceError> {
        self.learner.step(batch, rate)
    }

    fn read(&mut self) -> Result<Recall, DeviceError> {
        let (mut accuracy, mut margin) = (Tally::default(), Tally::default());
        for (fact, [credit, gap]) in self.learner.answers()?.into_iter().enumerate() {
            let weight = self.pairs.asked.probability(fact);
            accuracy.add(weight, credit);
            margin.add(weight, gap);
        }
        Ok(Recall { accuracy, margin, steps: 0 })
    }
}

/// The fact with this number of a seed's stream, drawn by frequency.
fn draw<T: Real>(seed: u64, sample: usize, pairs: &Pairs<T>) -> u32 {
    let words = Words::new(seed, Stream::Train, sample as u64).block(0);
    pairs.asked.draw(&words[..pairs.asked.words()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemorySettings, Rule, recall};
    use superpose_core::backend::View;

    #[test]
    fn training_stores_more_than_closed_form_rules() {
        let single = Backend::single();
        let at = |rule: Rule| {
            let settings = MemorySettings { facts: 50, dim: 16, rule, ..MemorySettings::default() };
            recall(&settings.check().unwrap(), &single).unwrap()
        };
        let (hebbian, squares, trained) = (at(Rule::Hebbian), at(Rule::LeastSquares), at(Rule::Trained));
        assert_eq!(trained.accuracy.mean(), 1.0);
        assert!(trained.margin.mean() > 0.0 && trained.steps < 4096);
        assert!(hebbian.accuracy.mean() < squares.accuracy.mean(), "{hebbian:?} {squares:?}");
        assert!(squares.accuracy.mean() < 1.0, "{squares:?}");
    }

    /// With at most as many facts as dimensions, least squares is exact.
    #[test]
    fn least_squares_is_exact_up_to_the_dimension() {
        for facts in [20, 32] {
            let settings =
                MemorySettings { facts, dim: 32, rule: Rule::LeastSquares, ..MemorySettings::default() };
            let pairs = Pairs::<f64>::draw(&settings.check().unwrap(), &Backend::single()).unwrap();
            let weights = weights::least_squares(&pairs, &Backend::single()).unwrap();
            let mut answers = vec![0.0; facts * 32];
            let matrix = View::new(&weights[0], 32, 32);
            superpose_core::backend::product(&mut answers, pairs.keys(), matrix.t(), false);
            for (x, y) in answers.iter().zip(pairs.targets()) {
                assert!((x - y).abs() < 1e-4, "{facts} facts: {x} for {y}");
            }
        }
    }

    #[test]
    fn frequent_facts_are_learned_first() {
        let settings = MemorySettings {
            facts: 100,
            dim: 10,
            rule: Rule::Trained,
            labels: superpose_core::config::Labels::Mod(5),
            zipf: Some(2.0),
            optimiser: superpose_core::config::Optimiser::Sgd,
            rate: Some(10.0),
            batch: Some(16),
            steps: Some(400),
            embedding: superpose_core::config::Embedding::Gaussian,
            ..MemorySettings::default()
        };
        let config = settings.clone().check().unwrap();
        let found = recall(&config, &Backend::single()).unwrap();
        let even = MemorySettings { zipf: None, ..settings }.check().unwrap();
        let even = recall(&even, &Backend::single()).unwrap();
        assert_eq!(found.steps, 400);
        assert!(found.accuracy.mean() > 0.9 && even.accuracy.mean() < 0.8, "{found:?} {even:?}");
    }
}
