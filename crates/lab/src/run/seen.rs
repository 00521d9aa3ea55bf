//! A closer look at a run, small enough to be shown: attention over one sequence, margins as a histogram.

use serde::{Deserialize, Serialize};
use superpose_core::config::{Config, Regime};
use superpose_core::evaluate::{Example, Look};

/// What is shown of a trained model beside its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Seen {
    /// A test sequence; absent when there is none.
    pub example: Option<SeenExample>,
    /// Margins of the test sequences.
    pub margins: Histogram,
}

/// A sequence, the attention over it, and the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SeenExample {
    /// Its tokens in order; of long sequences those with the largest weights, and the informative one.
    pub tokens: Vec<SeenToken>,
    /// How many it has.
    #[schemars(range(min = 1))]
    pub length: usize,
    /// Attention weight of those that are not listed.
    pub rest: f64,
    /// The right label.
    pub label: usize,
    /// The label with the largest logit.
    pub answer: usize,
    /// Whether they are the same.
    pub right: bool,
}

/// A token of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SeenToken {
    /// Where it stands.
    pub position: usize,
    /// Which it is.
    pub token: u32,
    /// The attention weight on it.
    pub weight: f64,
    /// Whether the trigger is here.
    pub trigger: bool,
}

/// Counts in intervals. Zero is an edge: what is below it was answered wrongly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Histogram {
    /// Ends of the intervals, one more than there are counts.
    pub edges: Vec<f64>,
    /// Counts.
    pub counts: Vec<usize>,
    /// What a margin is measured in.
    pub unit: String,
    /// The share above zero.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share_right: f64,
}

/// Tokens that are listed.
const TOKENS: usize = 64;
/// Intervals of a histogram, about.
const BINS: f64 = 40.0;

impl Seen {
    pub(super) fn new(config: &Config, look: Look) -> Seen {
        let unit = match config.regime {
            Regime::Infinitesimal => "per unit of rate",
            Regime::Exact => "logits",
        };
        Seen {
            example: look.example.as_ref().map(SeenExample::new),
            margins: Histogram::new(&look.margins, unit),
        }
    }
}

impl SeenExample {
    fn new(example: &Example) -> SeenExample {
        let mut order: Vec<usize> = (0..example.tokens.len()).collect();
        order.sort_by(|&a, &b| {
            let first = |i: usize| (i == example.position, example.weights[i]);
            first(b).0.cmp(&first(a).0).then(first(b).1.total_cmp(&first(a).1))
        });
        let rest = order.get(TOKENS..).map_or(0.0, |rest| rest.iter().map(|&i| example.weights[i]).sum());
        order.truncate(TOKENS);
        order.sort_unstable();
        let token = |&i: &usize| SeenToken {
            position: i,
            token: example.tokens[i],
            weight: example.weights[i],
            trigger: i == example.position,
        };
        SeenExample {
            tokens: order.iter().map(token).collect(),
            length: example.tokens.len(),
            rest,
            label: example.label,
            answer: example.answer,
            right: example.label == example.answer,
        }
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
    fn zero_is_an_edge_and_nothing_is_lost() {
        for values in [vec![-3.0, -0.1, 0.0, 0.2, 5.0], vec![1e-5, 2e-5], vec![-1.0], vec![0.0; 3], vec![]] {
            let histogram = Histogram::new(&values, "logits");
            assert_eq!(histogram.counts.iter().sum::<usize>(), values.len());
            assert_eq!(histogram.edges.len(), histogram.counts.len() + 1);
            assert!(histogram.edges.contains(&0.0), "{values:?}");
            let below: usize = histogram
                .counts
                .iter()
                .zip(&histogram.edges[1..])
                .filter(|(_, edge)| **edge <= 0.0)
                .map(|(count, _)| count)
                .sum();
            assert_eq!(below, values.iter().filter(|&&x| x < 0.0).count(), "{values:?}");
        }
    }

    #[test]
    fn a_long_sequence_shows_the_trigger_and_the_heaviest() {
        let length = 200;
        let mut weights = vec![1.0 / 400.0; length];
        weights[150] = 0.4;
        let tokens = (0..length as u32).collect();
        let seen = SeenExample::new(&Example { tokens, position: 7, label: 1, answer: 2, weights });
        assert_eq!(seen.tokens.len(), TOKENS);
        assert!(seen.tokens.iter().any(|token| token.trigger && token.position == 7));
        assert!(seen.tokens.iter().any(|token| token.position == 150));
        assert!(seen.tokens.windows(2).all(|pair| pair[0].position < pair[1].position));
        let sum: f64 = seen.tokens.iter().map(|token| token.weight).sum();
        assert!((sum + seen.rest - (0.4 + 199.0 / 400.0)).abs() < 1e-12 && !seen.right);
    }
}
