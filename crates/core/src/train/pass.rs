//! Forward and backward pass of a block of samples, in buffers that are reused for every block.

use crate::backend::{Real, View, Weights, gather_dots, gather_sums, product};
use crate::config::Trigger;
use crate::model::Workspace;
use crate::numeric::dot;
use crate::task::Block;

use super::network::{Network, Tensor};
use super::scores::{ScoreSums, Scores};

/// Arrays of one block, a row per sample and head.
#[derive(Debug, Default)]
pub struct Pass<T> {
    pub block: Block,
    pub work: Workspace<T>,
    /// `g . v_i`, then `-dL/ds_i`.
    pub coefficients: Vec<T>,
}

impl<T: Real> Pass<T> {
    /// From the block's samples to features, for logits by [`Pass::features`].
    pub fn forward(&mut self, network: &Network<T>, scores: &[Scores<T>]) {
        self.weigh(network, scores);
        let (dim, length) = (network.dim(), network.length);
        let z_in = network.tensor(Tensor::ZIn);
        self.work.head.resize(self.block.len() * network.heads * dim, T::ZERO);
        let rows =
            self.work.head.chunks_exact_mut(dim).zip(self.work.weights.chunks_exact(length)).enumerate();
        for (row, (head, weights)) in rows {
            let sample = row / network.heads;
            let tokens = &self.block.tokens[sample * length..][..length];
            gather_sums(head, z_in, dim, tokens, length, Weights::Each(weights));
            if network.trigger == Trigger::Values {
                let weight = weights[self.block.position[sample] as usize];
                let trigger = network.tensor(Tensor::ZTrig);
                head.iter_mut().zip(trigger).for_each(|(h, &z)| *h += weight * z);
            }
        }
        if let Some(positions) = network.value_positions() {
            let weights = View::new(&self.work.weights, self.work.head.len() / dim, length);
            product(&mut self.work.head, weights, positions, true);
        }
        self.work.activate(&network.model());
    }

    fn weigh(&mut self, network: &Network<T>, scores: &[Scores<T>]) {
        self.score(network, scores);
        self.work.normalise(network.length, &self.block.position);
    }

    /// Puts the attention scores of the block's samples into the place of the weights.
    pub fn score(&mut self, network: &Network<T>, scores: &[Scores<T>]) {
        let length = network.length;
        self.work.weights.resize(self.block.tokens.len() * network.heads, T::ZERO);
        for (row, weights) in self.work.weights.chunks_exact_mut(length).enumerate() {
            let (sample, head) = (row / network.heads, &scores[row % network.heads]);
            let tokens = &self.block.tokens[sample * length..][..length];
            let count = head.tokens.len() / head.trigger.len();
            for (i, (weight, &token)) in weights.iter_mut().zip(tokens).enumerate() {
                *weight = head.tokens[head.row(i) * count + token as usize];
            }
            weights.iter_mut().zip(&head.positions).for_each(|(weight, &p)| *weight += p);
            let position = self.block.position[sample] as usize;
            weights[position] += head.trigger[head.row(position)];
        }
    }

    /// `psi(h)` of all heads side by side, a row per sample.
    pub fn features(&self, network: &Network<T>) -> View<'_, T> {
        let data = self.work.features(&network.model()).data();
        View::new(data, self.block.len(), network.columns(Tensor::M))
    }

    /// Every position's `-dL/ds_i = a_i (g . (v_i - h))`, kept in [`Pass::coefficients`] and added to its head's sums.
    pub fn scatter(&mut self, network: &Network<T>, scores: &[Scores<T>], g: &[T], sums: &mut [ScoreSums]) {
        let (dim, length) = (network.dim(), network.length);
        let z_in = network.tensor(Tensor::ZIn);
        self.coefficients.resize(self.work.weights.len(), T::ZERO);
        let rows = self.coefficients.chunks_exact_mut(length).zip(g.chunks_exact(dim)).enumerate();
        for (row, (dots, g)) in rows {
            let sample = row / network.heads;
            let tokens = &self.block.tokens[sample * length..][..length];
            gather_dots(dots, g, z_in, dim, tokens, length);
            if network.trigger == Trigger::Values {
                let trigger = dot(g, network.tensor(Tensor::ZTrig));
                dots[self.block.position[sample] as usize] += T::from_f64(trigger);
            }
        }
        if let Some(positions) = network.value_positions() {
            let g = View::new(g, g.len() / dim, dim);
            product(&mut self.coefficients, g, positions.t(), true);
        }
        let rows = self.coefficients.chunks_exact_mut(length).zip(self.work.weights.chunks_exact(length));
        for (row, (dots, weights)) in rows.enumerate() {
            let (sample, k) = (row / network.heads, row % network.heads);
            let (head, sums) = (&scores[k], &mut sums[k]);
            let tokens = &self.block.tokens[sample * length..][..length];
            let count = sums.tokens.len() / sums.trigger.len();
            let mean: f64 = weights.iter().zip(&*dots).map(|(&a, &dot)| (a * dot).to_f64()).sum();
            // With one position the coefficient is exactly zero.
            let mean = if length == 1 { dots[0].to_f64() } else { mean };
            for (i, ((dot, &weight), &token)) in dots.iter_mut().zip(weights).zip(tokens).enumerate() {
                let coefficient = weight.to_f64() * (dot.to_f64() - mean);
                *dot = T::from_f64(coefficient);
                sums.tokens[head.row(i) * count + token as usize] += coefficient;
            }
            let position = self.block.position[sample] as usize;
            sums.trigger[head.row(position)] += dots[position].to_f64();
            sums.positions.iter_mut().zip(&*dots).for_each(|(sum, &c)| *sum += c.to_f64());
        }
    }
}
