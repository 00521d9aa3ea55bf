//! Forward and backward pass of a memory, in blocks of facts.

use super::{Pairs, Recall, Weights, list};
use superpose_core::backend::{Backend, Real, Result, View, product, residual, top};
use superpose_core::config::Activation;
use superpose_core::evaluate::{Tally, among_largest};

/// Rows per block: few enough that the logits of a memory of usual size fit in the cache.
const MAX_ROWS: usize = 256;
/// Multiplications per product of a block, a fraction of a second: cancellation is checked between blocks.
const MAX_WORK: usize = 1 << 31;

/// Rows per block of a memory.
fn block_rows<T: Real>(pairs: &Pairs<T>, weights: &Weights<T>) -> usize {
    (MAX_WORK / (pairs.values.len() + weights[0].len())).clamp(1, MAX_ROWS)
}

/// Buffers that are reused for every block.
#[derive(Default)]
pub struct Workspace<T> {
    hidden: Vec<T>,
    features: Vec<T>,
    output: Vec<T>,
    logits: Vec<T>,
    by_features: Vec<T>,
    sums: Weights<T>,
}

impl<T: Real> Workspace<T> {
    /// Logits of a block of keys.
    fn forward(&mut self, pairs: &Pairs<T>, [matrix, first, bias]: &Weights<T>, keys: View<'_, T>) {
        let (rows, dim, values) = (keys.rows(), pairs.dim, pairs.values());
        let inputs = matrix.len() / dim;
        let mut features = keys;
        if !bias.is_empty() {
            self.hidden.resize(rows * inputs, T::ZERO);
            self.hidden.chunks_exact_mut(inputs).for_each(|row| row.copy_from_slice(bias));
            product(&mut self.hidden, keys, View::new(first, inputs, dim).t(), true);
            self.features.resize(rows * inputs, T::ZERO);
            Activation::Relu.apply(1.0, &self.hidden, &mut self.features);
            features = View::new(&self.features, rows, inputs);
        }
        self.output.resize(rows * dim, T::ZERO);
        self.logits.resize(rows * values.rows(), T::ZERO);
        product(&mut self.output, features, View::new(matrix, dim, inputs).t(), false);
        product(&mut self.logits, View::new(&self.output, rows, dim), values.t(), false);
    }

    /// Adds a block's part to the sums of the gradient, up to the sign; returns the sum of losses.
    fn backward(&mut self, pairs: &Pairs<T>, matrix: &[T], keys: View<'_, T>, labels: &[u32]) -> f64 {
        let (rows, dim, values) = (keys.rows(), pairs.dim, pairs.values());
        let inputs = matrix.len() / dim;
        let loss = match pairs.list {
            None => residual(&mut self.logits, values.rows(), labels),
            Some(list) => list::residual(&mut self.logits, values.rows(), labels, list),
        };
        // `R V`, the descent direction of each answer.
        product(&mut self.output, View::new(&self.logits, rows, values.rows()), values, false);
        let output = View::new(&self.output, rows, dim);
        let [by_matrix, by_first, by_bias] = &mut self.sums;
        if by_bias.is_empty() {
            product(by_matrix, output.t(), keys, true);
            return loss;
        }
        product(by_matrix, output.t(), View::new(&self.features, rows, inputs), true);
        self.by_features.resize(rows * inputs, T::ZERO);
        product(&mut self.by_features, output, View::new(matrix, dim, inputs), false);
        Activation::Relu.multiply_slope(1.0, &self.hidden, &mut self.by_features);
        product(by_first, View::new(&self.by_features, rows, inputs).t(), keys, true);
        for row in self.by_features.chunks_exact(inputs) {
            by_bias.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x);
        }
        loss
    }

    /// The mean loss over the facts of a batch, or over all; its gradient goes to `gradient`. Runs on the caller's thread.
    pub fn gradient(
        &mut self,
        pairs: &Pairs<T>,
        weights: &Weights<T>,
        batch: Option<&[u32]>,
        gradient: &mut Weights<f64>,
        backend: &Backend,
    ) -> Result<f64> {
        for (sum, tensor) in self.sums.iter_mut().zip(weights) {
            sum.clear();
            sum.resize(tensor.len(), T::ZERO);
        }
        let (mut loss, rows) = (0.0, block_rows(pairs, weights));
        let (mut keys, mut labels) = (Vec::new(), Vec::new());
        let count = batch.map_or(pairs.facts(), <[u32]>::len);
        for start in (0..count).step_by(rows) {
            backend.check_cancelled()?;
            let end = count.min(start + rows);
            // Gathered block by block, since all keys of a large batch take much memory.
            let (keys, labels) = match batch {
                None => (pairs.keys().rows_in(start, end), &pairs.labels[start..end]),
                Some(batch) => pairs.gather(&batch[start..end], &mut keys, &mut labels),
            };
            self.forward(pairs, weights, keys);
            loss += self.backward(pairs, &weights[0], keys, labels);
        }
        let share = 1.0 / count as f64;
        for (mean, sum) in gradient.iter_mut().zip(&self.sums) {
            mean.clear();
            mean.extend(sum.iter().map(|x| -share * x.to_f64()));
        }
        Ok(share * loss)
    }

    /// Queries every fact and returns the recall.
    pub fn read(&mut self, pairs: &Pairs<T>, weights: &Weights<T>, backend: &Backend) -> Result<Recall> {
        let (mut accuracy, mut margin) = (Tally::default(), Tally::default());
        let (keys, labels, rows) = (pairs.keys(), pairs.values().rows(), block_rows(pairs, weights));
        for start in (0..pairs.facts()).step_by(rows) {
            backend.check_cancelled()?;
            let end = pairs.facts().min(start + rows);
            self.forward(pairs, weights, keys.rows_in(start, end));
            for (fact, row) in (start..end).zip(self.logits.chunks_exact(labels)) {
                let right = pairs.labels[fact] as usize;
                let place = top(row, right);
                let weight = pairs.asked.probability(fact);
                let credit = pairs.list.map_or(place.credit, |list| among_largest(row, right, list));
                accuracy.add(weight, credit);
                margin.add(weight, place.margin);
            }
        }
        Ok(Recall { accuracy, margin, steps: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemorySettings, Rule, weights};
    use superpose_core::config::{Embedding, Labels};

    /// A memory whose facts are learned has residuals that are exactly 0, not subnormal numbers, which slow training down.
    #[test]
    fn saturated_memories_have_no_subnormal_gradients() {
        let settings =
            MemorySettings { facts: 40, dim: 16, rule: Rule::Trained, ..MemorySettings::default() };
        let config = settings.check().unwrap();
        let pairs = Pairs::<f32>::draw(&config, &Backend::single()).unwrap();
        let mut work = Workspace::default();
        let mut weights = weights::hebbian(&pairs, &Backend::single()).unwrap();
        for scale in [30.0, 60.0, 100.0, 200.0] {
            weights[0].iter_mut().for_each(|x| *x *= scale);
            let mut gradient = Weights::default();
            work.gradient(&pairs, &weights, None, &mut gradient, &Backend::single()).unwrap();
            let subnormal = work.logits.iter().chain(&work.output).filter(|x| x.is_subnormal()).count();
            assert_eq!(subnormal, 0, "subnormal numbers at scale {scale}");
            weights[0].iter_mut().for_each(|x| *x /= scale);
        }
    }

    /// The products of a block take a fraction of a second, however large the memory.
    #[test]
    fn blocks_of_large_memories_have_few_rows() {
        let rows = |facts, dim| {
            let (keys, values) = (vec![0.0_f32; dim], vec![0.0; facts * dim]);
            let asked = superpose_core::task::Distribution::new(2, None);
            let pairs = Pairs { dim, keys, values, labels: vec![0], list: None, asked };
            block_rows(&pairs, &[vec![0.0; dim * dim], Vec::new(), Vec::new()])
        };
        assert_eq!((rows(100, 64), rows(20_000, 256)), (256, 256));
        assert_eq!(rows(100_000, 1024), 20);
    }

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
            let mut weights = weights::start::<f64>(&config);
            // A different bias for each unit, away from the kinks.
            weights[2].iter_mut().enumerate().for_each(|(i, b)| *b = 0.1 - 0.03 * i as f64);
            let mut work = Workspace::default();
            let mut loss = |weights: &Weights<f64>, batch: Option<&[u32]>| {
                let mut gradient = Weights::default();
                let loss = work.gradient(&pairs, weights, batch, &mut gradient, &Backend::single());
                (loss.unwrap(), gradient)
            };
            let (whole, gradient) = loss(&weights, None);
            assert_eq!(gradient[1].is_empty(), width.is_none());
            let all: Vec<u32> = (0..300).collect();
            assert_eq!(loss(&weights, Some(&all)), (whole, gradient.clone()));
            let step = 1e-6;
            for (tensor, slopes) in gradient.iter().enumerate() {
                assert_eq!(slopes.len(), weights[tensor].len());
                for (i, &slope) in slopes.iter().enumerate() {
                    let mut moved = weights.clone();
                    moved[tensor][i] += step;
                    let (up, _) = loss(&moved, None);
                    moved[tensor][i] -= 2.0 * step;
                    let difference = (up - loss(&moved, None).0) / (2.0 * step);
                    assert!(
                        (difference - slope).abs() < 1e-8,
                        "tensor {tensor}, entry {i}: {difference} for {slope}"
                    );
                }
            }
        }
    }
}
