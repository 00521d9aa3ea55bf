//! One step only: reading facts off the first gradient (theory section 5.3).
//!
//! Attention is uniform, so a fact's signal is `S = a n_v / (N L)` among the noise of all other tokens,
//!
//! ```text
//! a [ (1/d + 1/V) (1/d) (1/V + 1/N) / L^2
//!   + (1/d + 1/V)^2 (1 - 1/L) / (N L)
//!   + (1/N) (1/d + 1/V) (1/(V d) + t/(L^2 d) + 1/V^2) ]
//! ```
//!
//! With orthonormal embeddings the logit of label j counts how often the query's token stands in samples of
//! that label: among the noise tokens of each, Poisson with mean `(L - 1)/V`, and once more in each sample of
//! the right label.

mod mlp;

use crate::counts::{Detail, binomial, poisson};
use crate::kernel::lengths;
use crate::memory::{Noise, OwnNoise, Race, Rivals, output};
use crate::point::Point;

/// One-step accuracy at a point.
pub fn one_step_accuracy(point: &Point) -> f64 {
    one_step_beside(point, None)
}

/// The same, with the race of the point's memory at hand. It serves here too when a fact's own samples are a
/// small part of the noise, and saves setting up another.
pub(crate) fn one_step_beside(point: &Point, memory: Option<&Race>) -> f64 {
    let accuracy = match memory.filter(|_| point.dim < 0.05 * point.vocab || point.length <= 1.0) {
        _ if point.width.is_some() => {
            mlp::accuracy(point, &Race::new(point.vocab - 1.0, output(point), OwnNoise::Present))
        }
        _ if point.orthonormal() => counted(point),
        Some(race) => overlapping(point, race),
        None => {
            let own = if point.length > 1.0 { OwnNoise::Present } else { OwnNoise::Absent };
            overlapping(point, &Race::new(point.vocab - 1.0, output(point), own))
        }
    };
    accuracy.clamp(0.0, 1.0)
}

fn overlapping(point: &Point, race: &Race) -> f64 {
    let counts = binomial(point.samples, 1.0 / point.vocab, Detail::Smooth);
    let [variance, third, fourth] = cumulants(point);
    lengths(point).mean(|a| {
        let noise = Noise::new(a * variance, a.powi(3) * third, a * a * fourth);
        counts.mean(|n| race.win(a * n / point.coverage(), noise))
    })
}

/// Second, third and fourth cumulant of a wrong logit in units of the signal `1/(V L)` of a fact seen N/V times, for a key of length 1.
///
/// A wrong label's own samples stand out from the normal sum over all: their number is Poisson, and so is the
/// number of times that they contain the query's token.
fn cumulants(point: &Point) -> [f64; 3] {
    let Point { vocab, length, .. } = *point;
    let overlap = point.overlap();
    let label = overlap + 1.0 / vocab;
    let per_fact = point.coverage();
    // In the order of the formula.
    let facts = overlap * (1.0 + 1.0 / per_fact);
    let others = label * (length - 1.0) / per_fact;
    let uneven = (length * length * label / vocab + point.trigger.t() * overlap) / per_fact;
    let same = (length - 1.0) / vocab;
    [
        label * vocab * (facts + others + uneven),
        same / per_fact.powi(2),
        (3.0 * (label * (length - 1.0)).powi(2) + same) / per_fact.powi(3),
    ]
}

fn counted(point: &Point) -> f64 {
    let detail = if point.coverage() <= 400.0 { Detail::Every } else { Detail::Smooth };
    let each = (point.length - 1.0) / point.vocab;
    let rivals = Rivals::clustered(point.vocab - 1.0, point.coverage(), each);
    let right = |n: f64| poisson(n * each, Detail::Smooth).mean(|more| rivals.win(n + more));
    binomial(point.samples, 1.0 / point.vocab, detail).mean(right)
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Embedding, Trigger};

    use super::*;
    use crate::Memory;
    use crate::point::gaussian;

    #[test]
    fn a_sequence_of_one_token_is_a_memory() {
        for (vocab, dim, samples) in [(300.0, 64.0, 3000.0), (1000.0, 300.0, 1000.0)] {
            let point = gaussian(vocab, dim, 1.0, samples);
            let (one, memory) = (one_step_accuracy(&point), Memory::new(&point).accuracy(samples));
            assert!((one - memory).abs() < 0.02, "{one} {memory}");
        }
    }

    #[test]
    fn half_of_the_facts_take_about_twice_the_leading_product() {
        // Theory section 5.6: 1.7 to 2.4 for V > 600, d < V/2.
        for (vocab, dim, length) in
            [(1000.0, 250.0, 10.0), (3000.0, 700.0, 30.0), (10_000.0, 1500.0, 5.0_f64)]
        {
            let leading = 2.0 * length * vocab * vocab * vocab.ln() / (dim * dim);
            let at = |factor: f64| one_step_accuracy(&gaussian(vocab, dim, length, factor * leading));
            assert!(at(1.5) < 0.5 && at(2.5) > 0.5, "V = {vocab}: {} {}", at(1.5), at(2.5));
        }
    }

    #[test]
    fn orthonormal_embeddings_need_no_dimensions() {
        let point = |vocab: f64, length, samples, trigger| Point {
            embedding: Embedding::Orthonormal,
            trigger,
            ..gaussian(vocab, vocab + 2.0, length, samples)
        };
        let at = |point| one_step_accuracy(&point);
        // Little but coverage, 0.95, in short sequences: one sighting can be level with a chance one
        // elsewhere. The trigger does not show.
        let short = at(point(1000.0, 2.0, 3000.0, Trigger::Keys));
        assert!((0.8..0.95).contains(&short), "{short}");
        assert_eq!(short, at(point(1000.0, 2.0, 3000.0, Trigger::Values)));
        // N in proportion to L in long ones.
        let (half, full) =
            (at(point(300.0, 300.0, 3000.0, Trigger::Keys)), at(point(300.0, 300.0, 2e4, Trigger::Keys)));
        assert!(half < 0.5 && full > 0.9, "{half} {full}");
    }
}
