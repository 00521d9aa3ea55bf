//! A summary of a trained model for display: the attention over one sequence, and a histogram of margins.

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, Regime};
use superpose_core::evaluate::{Example, Look};

/// A display of a trained model beside its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Seen {
    /// A test sequence, if there is one.
    pub example: Option<SeenExample>,
    /// Margins of the test sequences.
    pub margins: Histogram,
}

/// A sequence, the attention over it, and the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SeenExample {
    /// Its tokens in order; for a long sequence, those with the largest weights and the informative one.
    pub tokens: Vec<SeenToken>,
    /// Its length.
    #[schemars(range(min = 1))]
    pub length: usize,
    /// Attention weight of the tokens that are not listed.
    pub rest: f64,
    /// The right label.
    pub label: usize,
    /// The label with the largest logit.
    pub answer: usize,
    /// Whether both are the same.
    pub right: bool,
}

/// A token of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SeenToken {
    /// Its position.
    pub position: usize,
    /// The token.
    pub token: u32,
    /// The attention weight on it.
    pub weight: f64,
    /// Whether it has the trigger.
    pub trigger: bool,
}

/// Counts in bins. Zero is an edge, because negative margins are wrong answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Histogram {
    /// Edges of the bins, one more than counts.
    pub edges: Vec<f64>,
    /// Counts.
    pub counts: Vec<usize>,
    /// The unit of a margin.
    pub unit: String,
    /// The share above zero.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share_right: f64,
}

const MAX_TOKENS: usize = 64;
/// Approximate number of bins of a histogram.
const BINS: f64 = 40.0;

impl Seen {
    pub(super) fn new(config: &Config, look: Look) -> Seen {
        let unit = match config.regime {
            Regime::Infinitesimal => "per unit of rate",
            Regime::Exact => "logits",
        };
        Seen { example: look.example.map(SeenExample::new), margins: Histogram::new(&look.margins, unit) }
    }
}

impl SeenExample {
    fn new(Example { tokens, position, label, answer, weights }: Example) -> SeenExample {
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        let weight = |i: usize| if i == position { f64::INFINITY } else { weights[i] };
        order.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
        let rest = order.get(MAX_TOKENS..).map_or(0.0, |rest| rest.iter().map(|&i| weights[i]).sum());
        order.truncate(MAX_TOKENS);
        order.sort_unstable();
        let token = |&i: &usize| SeenToken {
            position: i,
            token: tokens[i],
            weight: weights[i],
            trigger: i == position,
        };
        let (length, tokens) = (tokens.len(), order.iter().map(token).collect());
        SeenExample { tokens, length, rest, label, answer, right: label == answer }
    }
}

impl Histogram {
    fn new(values: &[f64], unit: &str) -> Histogram {
        let ends = values.iter().fold((0.0f64, 0.0f64), |(low, high), &x| (low.min(x), high.max(x)));
        let width = match (ends.1 - ends.0) / BINS {
            width if width.is_normal() => width,
            _ => 1.0,
        };
        let (below, above) =
            ((-ends.0 / width).ceil().max(0.0) as usize, (ends.1 / width).ceil().max(0.0) as usize);
        let bins = (below + above).max(1);
        let mut counts = vec![0; bins];
        for &x in values.iter().filter(|x| x.is_finite()) {
            let place = (x / width).floor() + below as f64;
            counts[(place.max(0.0) as usize).min(bins - 1)] += 1;
        }
        let right = values.iter().filter(|&&x| x > 0.0).count() as f64;
        Histogram {
            edges: (0..=bins).map(|i| (i as f64 - below as f64) * width).collect(),
            counts,
            unit: unit.into(),
            share_right: right / values.len().max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_an_edge_and_every_value_is_counted() {
        for values in [vec![-3.0, -0.1, 0.0, 0.2, 5.0], vec![1e-5, 2e-5], vec![-1.0], vec![0.0; 3], vec![]] {
            let histogram = Histogram::new(&values, "logits");
            assert_eq!(histogram.counts.iter().sum::<usize>(), values.len());
            assert_eq!(histogram.edges.len(), histogram.counts.len() + 1);
            assert!(histogram.edges.contains(&0.0), "{values:?}");
            let bins = histogram.counts.iter().zip(&histogram.edges[1..]);
            let below: usize = bins.filter(|(_, edge)| **edge <= 0.0).map(|(count, _)| count).sum();
            assert_eq!(below, values.iter().filter(|&&x| x < 0.0).count(), "{values:?}");
        }
    }

    #[test]
    fn long_sequence_lists_the_trigger_and_the_largest_weights() {
        let length = 200;
        let mut weights = vec![1.0 / 400.0; length];
        weights[150] = 0.4;
        let tokens = (0..length as u32).collect();
        let seen = SeenExample::new(Example { tokens, position: 7, label: 1, answer: 2, weights });
        assert_eq!(seen.tokens.len(), MAX_TOKENS);
        assert!(seen.tokens.iter().any(|token| token.trigger && token.position == 7));
        assert!(seen.tokens.iter().any(|token| token.position == 150));
        assert!(seen.tokens.windows(2).all(|pair| pair[0].position < pair[1].position));
        let sum: f64 = seen.tokens.iter().map(|token| token.weight).sum();
        assert!((sum + seen.rest - (0.4 + 199.0 / 400.0)).abs() < 1e-12 && !seen.right);
    }
}
