//! Lower bounds on the samples that recall needs, and for whom each of them holds (`docs/theory/bound.md`, with proofs).
//!
//! No single bound holds for every decoder of the first gradient and is useful: with real numbers of unlimited precision the
//! gradient determines all counts of tokens and labels, so only [`Bounds::coverage`] is left. The others restrict the decoder
//! or replace the noise by Gaussian noise, which is the worst noise of its energy.

mod channels;
mod counting;
mod coverage;
mod detection;
mod genie;
mod linear;
mod surrogate;

use serde::{Deserialize, Serialize};

use channels::Channel;

use crate::point::Point;

/// Samples below which an accuracy cannot be reached, by who cannot reach it; `None` if no number of samples is enough, or if the
/// bound is not known for the embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Bounds {
    /// For any learner: facts that occur in no sample can only be guessed.
    pub coverage: f64,
    /// For decoders with linear scores followed by argmax (`argmax`, `mmse`), with the true noise, to leading order.
    pub linear: Option<f64>,
    /// For any decoder that takes labels as independent, if the noise were Gaussian: the one-fact genie.
    pub genie: Option<f64>,
    /// For any decoder, if the noise were Gaussian and every fact were seen equally often: the Gaussian surrogate.
    pub surrogate: Option<f64>,
    /// For any decoder that reads the gradient with p bits a number: the smallest p, whatever the number of samples.
    pub bits: f64,
}

impl Bounds {
    /// The bounds at a point, for recall of a share `accuracy` of the facts.
    pub fn new(point: &Point, accuracy: f64) -> Bounds {
        let accuracy = accuracy.clamp(0.0, 1.0);
        let channels = channels(point);
        Bounds {
            coverage: coverage::samples(point.vocab, accuracy),
            linear: linear::samples(point, &channels, accuracy),
            genie: genie::samples(point, &channels, accuracy),
            surrogate: surrogate::samples(point, &channels, accuracy),
            bits: counting::bits(point, accuracy),
        }
    }

    /// The bounds that hold whatever the embeddings are.
    pub fn for_any_embeddings(self) -> Bounds {
        Bounds { linear: None, genie: None, surrogate: None, ..self }
    }

    /// The largest bound that holds for decoders with linear scores followed by argmax, with the true noise.
    pub fn largest_for_linear(&self) -> Option<f64> {
        Some(self.linear?.max(self.coverage))
    }
}

/// The numbers of the first gradient, grouped by their signal-to-noise ratio.
fn channels(point: &Point) -> Vec<Channel> {
    match point.width {
        None => vec![Channel { numbers: outputs(point).powi(2), ratio: 1.0 / (point.length - 1.0) }],
        Some(width) => channels::channels(point, width),
    }
}

/// `D = min(d, V)`, the dimensions that output embeddings span.
fn outputs(point: &Point) -> f64 {
    point.dim.min(point.vocab)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::gaussian;

    #[test]
    fn extreme_sizes_have_a_bound_or_none() {
        let narrow = Bounds::new(&gaussian(1e6, 3.0, 1e5, 1.0), 0.9);
        assert_eq!((narrow.linear, narrow.surrogate), (None, None));
        assert!(narrow.bits > 1e6);
        let short = Bounds::new(&gaussian(1e6, 3.0, 1.0, 1.0), 0.9);
        assert_eq!(short.surrogate, Some(0.0));
        // Without noise tokens the genie needs one sample of the fact.
        assert!((short.genie.unwrap() / short.coverage - 1.0).abs() < 1e-5, "{short:?}");
        let nothing = Bounds::new(&gaussian(100.0, 50.0, 10.0, 1.0), 0.0);
        assert_eq!((nothing.coverage, nothing.linear, nothing.genie), (0.0, Some(0.0), Some(0.0)));
        let more = Bounds::new(&gaussian(100.0, 1e5, 10.0, 1.0), 0.9);
        let same = Bounds::new(&gaussian(100.0, 100.0, 10.0, 1.0), 0.9);
        assert_eq!(Bounds { bits: same.bits, ..more }, same);
    }

    #[test]
    fn bounds_have_the_expected_order() {
        let found = Bounds::new(&gaussian(300.0, 120.0, 16.0, 1.0), 0.5);
        assert!(found.coverage < found.surrogate.unwrap() && found.surrogate < found.genie);
        assert!(found.genie < found.linear, "{found:?}");
    }
}
