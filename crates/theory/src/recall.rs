//! Recall of the three-step algorithm (theory: recall).
//!
//! Facts of a run receive different attention, in training and at test (`Loose`). Their mean recall depends on the run only through the
//! trigger's score, so it is computed at a few scores, the nodes.

use std::sync::OnceLock;

use crate::attention::{Largest, Run, Scores, runs};
use crate::memory::{Loose, Memory};
use crate::point::Point;
use crate::quadrature::of_points;

/// Scores of the trigger at which the memory accuracy is computed, in standard deviations from where half of the sequences lock;
/// between them it is interpolated linearly. Two more nodes are at twice the largest of them and at infinity, with the soft weights of
/// a small lead. At the last node all attention is on the informative position.
const SCORES: [f64; 8] = [-3.0, -1.65, -0.8, 0.0, 0.8, 1.6, 2.5, 3.6];

/// Number of nodes, and the last of them.
pub(crate) const NODES: usize = SCORES.len() + 3;
pub(crate) const LAST: usize = NODES - 1;

/// From this lead on the attention beside the trigger is negligible in a run that always finds it.
pub const MIN_TIGHT_LEAD: f64 = 3.0;

/// Smaller weights are added to that of the next node, which changes recall by less than 1e-3.
const SMALL: f64 = 1e-2;

/// The weight in recall of the memory accuracy at each node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weights(pub [f64; NODES]);

/// Attention at the nodes, for one vocabulary, sequence length and lead. It is computed on first use.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    point: Point,
    largest: Largest,
    attention: [OnceLock<Loose>; NODES],
}

impl Nodes {
    pub fn of(point: &Point) -> Nodes {
        Nodes { point: *point, largest: Largest::of(point), attention: [const { OnceLock::new() }; NODES] }
    }

    /// Attention at a node.
    pub fn at(&self, node: usize) -> &Loose {
        self.attention[node].get_or_init(|| match node {
            LAST => Loose::tight(),
            _ => Loose::new(self.score(node), &self.point, &self.largest),
        })
    }

    /// The score of the trigger at a node but the last, in units of the spread of token scores.
    fn score(&self, node: usize) -> f64 {
        let at = |steps: f64| self.largest.mean + steps * self.largest.deviation;
        match node.checked_sub(SCORES.len()) {
            None => at(SCORES[node]),
            Some(0) => 2.0 * at(SCORES[SCORES.len() - 1]),
            Some(_) => f64::INFINITY,
        }
    }

    /// The two nodes beside a score, and the share of the second.
    fn beside(&self, score: f64) -> (usize, usize, f64) {
        let steps = (score - self.largest.mean) / self.largest.deviation;
        let end = SCORES.len() - 1;
        match SCORES.partition_point(|&node| node < steps) {
            0 => (0, 0, 0.0),
            right if right <= end => {
                let (low, high) = (SCORES[right - 1], SCORES[right]);
                (right - 1, right, (steps - low) / (high - low))
            }
            _ if self.point.lead >= MIN_TIGHT_LEAD => (LAST, LAST, 0.0),
            // Beyond the largest score the variance of the other weights counts, which is proportional to 1/x^2.
            _ => match (self.score(end) / score).powi(2) {
                part if part > 0.25 => (end, end + 1, (1.0 - part) / 0.75),
                part => (end + 1, end + 2, 1.0 - 4.0 * part),
            },
        }
    }

    /// The weights at a point with the given scores.
    pub fn weights(&self, point: &Point, scores: &Scores) -> Weights {
        let mut weights = [0.0; NODES];
        for Run { score, lock, weight } in runs(point, scores, &self.largest) {
            let (left, right, share) = self.beside(score);
            weights[left] += weight * lock * (1.0 - share);
            weights[right] += weight * lock * share;
        }
        for node in 0..LAST {
            if weights[node] < SMALL {
                weights[node + 1] += std::mem::take(&mut weights[node]);
            }
        }
        if weights[LAST] < SMALL {
            let rest = std::mem::take(&mut weights[LAST]);
            let node = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
            weights[node] += rest;
        }
        Weights(weights)
    }

    /// Recall of a memory after `samples` samples.
    pub fn recall(&self, memory: &Memory, weights: &Weights, samples: f64) -> f64 {
        if memory.race.is_none() && weights.used().count() > 3 {
            // Only the mean attention matters, and accuracy is smooth in it.
            let law: Vec<_> = weights.used().map(|(node, weight)| (self.at(node).mass, weight)).collect();
            let accuracy = of_points(&law, 2).mean(|mass| memory.accuracy_with_mass(samples, mass));
            return (weights.lock_rate() * accuracy).clamp(memory.chance(), 1.0);
        }
        weights.mean(memory.chance(), |node| memory.accuracy_when(samples, self.at(node)))
    }

    /// The mean attention on the informative position.
    pub fn attention_mass(&self, weights: &Weights) -> f64 {
        weights.mean(0.0, |node| self.at(node).mass / self.at(node).lock)
    }
}

impl Weights {
    /// The mean lock rate, which is the sum of the weights.
    pub fn lock_rate(&self) -> f64 {
        self.0.iter().sum::<f64>().clamp(0.0, 1.0)
    }

    /// Nodes with a weight.
    fn used(&self) -> impl Iterator<Item = (usize, f64)> {
        self.0.iter().copied().enumerate().filter(|(_, weight)| *weight > 0.0)
    }

    /// The weighted sum of a share, at least `low`. It is computed at nodes with a weight only.
    pub fn mean(&self, low: f64, mut share: impl FnMut(usize) -> f64) -> f64 {
        self.used().map(|(node, weight)| weight * share(node)).sum::<f64>().clamp(low, 1.0)
    }
}

/// Log odds of a share, clamped to between `floor` and 1 minus it.
pub(crate) fn log_odds(share: f64, floor: f64) -> f64 {
    let share = share.clamp(floor, 1.0 - floor);
    libm::log(share / (1.0 - share))
}
