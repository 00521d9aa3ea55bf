//! One-step accuracy: reading facts from the first gradient (theory section 5.3).
//!
//! Attention is uniform, so a fact has the signal `S = a n_v / (N L)`, and all other tokens give noise of variance
//!
//! ```text
//! a [ (1/d + 1/V) (1/d) (1/V + 1/N) / L^2
//!   + (1/d + 1/V)^2 (1 - 1/L) / (N L)
//!   + (1/N) (1/d + 1/V) (1/(V d) + t/(L^2 d) + 1/V^2) ]
//! ```
//!
//! With orthonormal embeddings the logit of label j is the number of occurrences of the query's token in samples of that
//! label: a Poisson number of mean `(L - 1)/V` among the noise tokens of each, and one more in each sample of the right label.

mod mlp;

use crate::counts::{Detail, binomial, poisson};
use crate::kernel::lengths;
use crate::memory::{Noise, OwnNoise, Race, Rivals, output};
use crate::point::Point;

/// One-step accuracy at a point.
pub fn one_step_accuracy(point: &Point) -> f64 {
    one_step_beside(point, None)
}

/// The same, given the race of the point's memory. That race is reused where a fact's own samples are a small part of the
/// noise, which saves setting up another.
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
/// A wrong label's own samples are not part of the normal sum over all: their number is Poisson, and so is the number of
/// occurrences of the query's token in them.
fn cumulants(point: &Point) -> [f64; 3] {
    let Point { vocab, length, .. } = *point;
    let overlap = point.overlap();
    let label = overlap + 1.0 / vocab;
    let per_fact = point.coverage();
    // The three terms of the formula, in its order.
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
    fn length_one_equals_the_memory() {
        for (vocab, dim, samples) in [(300.0, 64.0, 3000.0), (1000.0, 300.0, 1000.0)] {
            let point = gaussian(vocab, dim, 1.0, samples);
            let (one, memory) = (one_step_accuracy(&point), Memory::new(&point).accuracy(samples));
            assert!((one - memory).abs() < 0.02, "{one} {memory}");
        }
    }

    #[test]
    fn half_of_the_facts_need_about_twice_the_leading_product() {
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
    fn orthonormal_accuracy_depends_on_samples_and_length() {
        let point = |vocab: f64, length, samples, trigger| Point {
            embedding: Embedding::Orthonormal,
            trigger,
            ..gaussian(vocab, vocab + 2.0, length, samples)
        };
        let at = |point| one_step_accuracy(&point);
        // In short sequences little more than coverage, 0.95, is needed: a fact seen once can tie with a chance
        // occurrence. The trigger has no effect.
        let short = at(point(1000.0, 2.0, 3000.0, Trigger::Keys));
        assert!((0.8..0.95).contains(&short), "{short}");
        assert_eq!(short, at(point(1000.0, 2.0, 3000.0, Trigger::Values)));
        // In long sequences the samples needed are proportional to L.
        let (half, full) =
            (at(point(300.0, 300.0, 3000.0, Trigger::Keys)), at(point(300.0, 300.0, 2e4, Trigger::Keys)));
        assert!(half < 0.5 && full > 0.9, "{half} {full}");
    }
}
