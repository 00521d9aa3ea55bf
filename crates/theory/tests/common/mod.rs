//! Random points for property tests.

use proptest::prelude::*;
use superpose_core::config::{Activation, Embedding, Trigger};
use superpose_theory::{Point, Zipf};

/// A whole number between the two, uniform in its logarithm.
pub fn size(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low.ln()..=high.ln()).prop_map(move |ln| ln.exp().round().clamp(low, high))
}

prop_compose! {
    /// A point with sizes up to the given ones and at most 10^12 samples.
    pub fn any_point(max_vocab: f64, max_dim: f64, max_length: f64, max_width: f64)(
        vocab in size(2.0, max_vocab),
        dim in size(1.0, max_dim),
        length in size(1.0, max_length),
        samples in size(1.0, 1e12),
        width in proptest::option::of(size(1.0, max_width)),
        activation in proptest::sample::select(Activation::ALL),
        embedding in proptest::sample::select(Embedding::ALL),
        trigger in proptest::sample::select(Trigger::ALL),
        keep in proptest::option::of(0.0..=1.0_f64),
    ) -> Point {
        let dim = if embedding == Embedding::Orthonormal { dim.max(vocab + 2.0) } else { dim };
        let keep = keep.map(|share| (1.0 + share * (length - 1.0)).round());
        Point { vocab, dim, length, samples, width, activation, embedding, trigger, keep, lead: 4.0, zipf: Zipf::default(), rows: None }
    }
}
