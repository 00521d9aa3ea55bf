//! Forward and backward pass of a memory, in blocks of facts.

use super::{Pairs, Recall, Weights};
use crate::backend::{Backend, Cancelled, Real, View, product, residual, top};
use crate::config::Activation;
use crate::evaluate::Tally;

/// Rows per block: few enough that the logits fit in the cache.
const ROWS: usize = 256;

/// The gradient of a mean cross-entropy, tensor by tensor.
#[derive(Clone, Debug, Default)]
pub struct Gradient {
    /// Of `M`.
    pub matrix: Vec<f64>,
    /// Of `W`; empty without a first layer.
    pub first: Vec<f64>,
    /// Of `b`; empty without a first layer.
    pub bias: Vec<f64>,
}

/// Buffers that are reused for every block.
#[derive(Clone, Debug, Default)]
pub struct Workspace<T> {
    hidden: Vec<T>,
    features: Vec<T>,
    output: Vec<T>,
    logits: Vec<T>,
    by_features: Vec<T>,
    matrix: Vec<T>,
    first: Vec<T>,
    bias: Vec<T>,
}

impl<T: Real> Workspace<T> {
    /// Empty buffers, which grow with the first block.
    pub fn new() -> Workspace<T> {
        Workspace::default()
    }

    /// Logits of a block of keys.
    fn forward(&mut self, pairs: &Pairs<T>, weights: &Weights<T>, keys: View<'_, T>) {
        let (rows, dim, values) = (keys.rows(), pairs.dim, pairs.values());
        let inputs = weights.matrix.len() / dim;
        if let Some(first) = &weights.first {
            let layer = View::new(&first.matrix, inputs, dim);
            self.hidden.resize(rows * inputs, T::ZERO);
            self.hidden.chunks_exact_mut(inputs).for_each(|row| row.copy_from_slice(&first.bias));
            product(&mut self.hidden, keys, layer.t(), true);
            self.features.resize(rows * inputs, T::ZERO);
            Activation::Relu.apply(1.0, &self.hidden, &mut self.features);
        }
        self.output.resize(rows * dim, T::ZERO);
        self.logits.resize(rows * values.rows(), T::ZERO);
        let features = match weights.first {
            Some(_) => View::new(&self.features, rows, inputs),
            None => keys,
        };
        product(&mut self.output, features, View::new(&weights.matrix, dim, inputs).t(), false);
        product(&mut self.logits, View::new(&self.output, rows, dim), values.t(), false);
    }

    /// Adds a block's part to the gradient, up to the sign and the number of facts; returns the sum of cross-entropies.
    fn backward(&mut self, pairs: &Pairs<T>, weights: &Weights<T>, keys: View<'_, T>, labels: &[u32]) -> f64 {
        let (rows, dim, values) = (keys.rows(), pairs.dim, pairs.values());
        let inputs = weights.matrix.len() / dim;
        let loss = residual(&mut self.logits, values.rows(), labels);
        // `R V`, the descent direction of each answer.
        product(&mut self.output, View::new(&self.logits, rows, values.rows()), values, false);
        let output = View::new(&self.output, rows, dim);
        match weights.first {
            None => product(&mut self.matrix, output.t(), keys, true),
            Some(_) => {
                product(&mut self.matrix, output.t(), View::new(&self.features, rows, inputs), true);
                self.by_features.resize(rows * inputs, T::ZERO);
                let matrix = View::new(&weights.matrix, dim, inputs);
                product(&mut self.by_features, output, matrix, false);
                Activation::Relu.multiply_slope(1.0, &self.hidden, &mut self.by_features);
                product(&mut self.first, View::new(&self.by_features, rows, inputs).t(), keys, true);
                for row in self.by_features.chunks_exact(inputs) {
                    self.bias.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x);
                }
            }
        }
        loss
    }

    /// The mean cross-entropy over rows of keys and their labels; its gradient goes to `gradient`. Runs on the caller's thread.
    pub fn gradient(
        &mut self,
        pairs: &Pairs<T>,
        weights: &Weights<T>,
        keys: View<'_, T>,
        labels: &[u32],
        gradient: &mut Gradient,
        backend: &Backend,
    ) -> Result<f64, Cancelled> {
        let clear = |buffer: &mut Vec<T>, size: usize| {
            buffer.clear();
            buffer.resize(size, T::ZERO);
        };
        clear(&mut self.matrix, weights.matrix.len());
        clear(&mut self.first, weights.first.as_ref().map_or(0, |first| first.matrix.len()));
        clear(&mut self.bias, weights.first.as_ref().map_or(0, |first| first.bias.len()));
        let mut loss = 0.0;
        for start in (0..keys.rows()).step_by(ROWS) {
            backend.check_cancelled()?;
            let end = keys.rows().min(start + ROWS);
            let block = keys.rows_in(start, end);
            self.forward(pairs, weights, block);
            loss += self.backward(pairs, weights, block, &labels[start..end]);
        }
        let share = 1.0 / keys.rows() as f64;
        let mean = |sums: &[T], out: &mut Vec<f64>| {
            out.clear();
            out.extend(sums.iter().map(|x| -share * x.to_f64()));
        };
        mean(&self.matrix, &mut gradient.matrix);
        mean(&self.first, &mut gradient.first);
        mean(&self.bias, &mut gradient.bias);
        Ok(share * loss)
    }

    /// Queries every fact and returns the recall.
    pub fn read(
        &mut self,
        pairs: &Pairs<T>,
        weights: &Weights<T>,
        backend: &Backend,
    ) -> Result<Recall, Cancelled> {
        let (mut accuracy, mut margin) = (Tally::default(), Tally::default());
        let (keys, labels) = (pairs.keys(), pairs.values().rows());
        for start in (0..pairs.facts()).step_by(ROWS) {
            backend.check_cancelled()?;
            let end = pairs.facts().min(start + ROWS);
            self.forward(pairs, weights, keys.rows_in(start, end));
            for (fact, row) in (start..end).zip(self.logits.chunks_exact(labels)) {
                let place = top(row, pairs.labels[fact] as usize);
                let weight = pairs.asked.probability(fact);
                accuracy.add(weight, place.credit);
                margin.add(weight, place.margin);
            }
        }
        Ok(Recall { accuracy, margin, steps: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::associative::{MemorySettings, Rule};
    use crate::config::{Embedding, Labels};

    /// Central differences of the loss, for every tensor, with more facts than a block holds.
    #[test]
    fn gradients_agree_with_finite_differences() {
        for (width, labels) in [(None, Labels::Permutation), (Some(9), Labels::Mod(7))] {
            let settings = MemorySettings {
                facts: 300,
                dim: 6,
                rule: Rule::Trained,
                width,
                labels,
                embedding: Embedding::Gaussian,
                ..MemorySettings::default()
            };
            let config = settings.check().unwrap();
            let pairs = Pairs::<f64>::draw(&config, &Backend::single()).unwrap();
            let mut weights = Weights::<f64>::start(&config);
            // A different bias for each unit, away from the kinks.
            if let Some(first) = &mut weights.first {
                first.bias.iter_mut().enumerate().for_each(|(i, b)| *b = 0.1 - 0.03 * i as f64);
            }
            let mut work = Workspace::new();
            let mut gradient = Gradient::default();
            let mut loss = |weights: &Weights<f64>, gradient: &mut Gradient| {
                work.gradient(&pairs, weights, pairs.keys(), &pairs.labels, gradient, &Backend::single())
                    .unwrap()
            };
            loss(&weights, &mut gradient);
            let check = |tensor: fn(&mut Weights<f64>) -> &mut Vec<f64>,
                         found: &[f64],
                         loss: &mut dyn FnMut(&Weights<f64>) -> f64| {
                let step = 1e-6;
                for (i, &slope) in found.iter().enumerate() {
                    let mut moved = weights.clone();
                    tensor(&mut moved)[i] += step;
                    let up = loss(&moved);
                    tensor(&mut moved)[i] -= 2.0 * step;
                    let difference = (up - loss(&moved)) / (2.0 * step);
                    assert!((difference - slope).abs() < 1e-8, "entry {i}: {difference} for {slope}");
                }
            };
            let mut of = |weights: &Weights<f64>| loss(weights, &mut Gradient::default());
            check(|w| &mut w.matrix, &gradient.matrix, &mut of);
            if width.is_some() {
                check(|w| &mut w.first.as_mut().unwrap().matrix, &gradient.first, &mut of);
                check(|w| &mut w.first.as_mut().unwrap().bias, &gradient.bias, &mut of);
            }
            assert_eq!(gradient.first.is_empty(), width.is_none());
        }
    }
}
