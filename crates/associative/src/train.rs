//! Training of a memory, with all facts at every step or with mini-batches drawn by frequency.

use std::ops::Range;

use super::{MemoryConfig, Pairs, Recall, Weights, Workspace, weights};
use superpose_core::backend::{Backend, Real, Result, View};
use superpose_core::random::{Stream, Words};
use superpose_core::train::{Moments, Update};

/// The number of times that full-batch training evaluates its accuracy.
const CHECKS: usize = 128;

/// Trains from random weights and returns the recall.
///
/// With all facts at every step, accuracy is evaluated 128 times, training ends when it reaches the accuracy of the configuration,
/// and the best evaluation is returned, since accuracy fluctuates at large rates. With mini-batches the final state is evaluated.
pub fn train<T: Real>(config: &MemoryConfig, pairs: &Pairs<T>, backend: &Backend) -> Result<Recall> {
    let mut weights = weights::start(config);
    let mut work = Workspace::default();
    let mut gradient = Weights::default();
    let mut moments: [Moments; 3] = Default::default();
    let (update, columns) = (Update::new(config.optimiser), [config.inputs(), config.dim, 1]);
    let (mut keys, mut labels) = (Vec::new(), Vec::new());
    let (count, rate) = (config.training_steps(), config.training_rate());
    let look = (count / CHECKS).max(1);
    let mut best: Option<Recall> = None;
    for step in 1..=count {
        match config.batch {
            None => work.gradient(pairs, &weights, pairs.keys(), &pairs.labels, &mut gradient, backend)?,
            Some(batch) => {
                draw(config.seed, (step - 1) * batch..step * batch, pairs, &mut keys, &mut labels);
                let rows = View::new(&keys, batch, pairs.dim);
                work.gradient(pairs, &weights, rows, &labels, &mut gradient, backend)?
            }
        };
        for (i, tensor) in weights.iter_mut().enumerate().filter(|(_, tensor)| !tensor.is_empty()) {
            update.step(&mut moments[i], tensor, columns[i], &gradient[i], rate, backend)?;
        }
        if step < count && (config.batch.is_some() || step % look > 0) {
            continue;
        }
        let now = Recall { steps: step, ..work.read(pairs, &weights, backend)? };
        if best.is_none_or(|best| now.accuracy.mean() > best.accuracy.mean()) {
            best = Some(now);
        }
        if config.batch.is_none() && now.accuracy.mean() >= config.accuracy {
            break;
        }
    }
    best.map_or_else(|| work.read(pairs, &weights, backend), Ok)
}

/// Draws the facts with these numbers of a seed's stream and gathers their keys and labels.
fn draw<T: Real>(
    seed: u64,
    numbers: Range<usize>,
    pairs: &Pairs<T>,
    keys: &mut Vec<T>,
    labels: &mut Vec<u32>,
) {
    keys.clear();
    labels.clear();
    for sample in numbers {
        let words = Words::new(seed, Stream::Train, sample as u64).block(0);
        let fact = pairs.asked.draw(&words[..pairs.asked.words()]) as usize;
        keys.extend_from_slice(&pairs.keys[fact * pairs.dim..][..pairs.dim]);
        labels.push(pairs.labels[fact]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemorySettings, Rule, recall};

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
