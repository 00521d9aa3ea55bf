//! The race of labels with measured rows, whose overlaps differ too much for a normal law.
//!
//! Write K for the overlap of a wrong label's row with the query, f for the count of its fact in units of the mean. Its logit is
//! `f K - kappa` plus noise from all other facts, which reaches it through the overlap of output embeddings. The right label has the
//! component `rho = S sqrt(b) + sigma z` along its output embedding, of squared length b, and the logit `sqrt(b) rho`; a wrong label that
//! overlaps with it gains the variance `(rho^2 - sigma^2)/d`. With w for the variance of a wrong label, which has further noise of its own
//! where attention is loose, and labels that are independent given b and z,
//!
//! `accuracy = E_b E_z (1 - E_K E_f Q((sqrt(b) rho - f K + kappa) / sqrt(w)))^(V - 1)`,
//!
//! Q the normal tail, averaged over kinds of rows, their groups of overlaps and the counts.

use std::sync::LazyLock;

use super::race::Output;
use crate::counts::{Detail, binomial};
use crate::kernel::Query;
use crate::normal::QuickTail;
use crate::quadrature::{Rule, chi_square, hermite, of_points};
use crate::rows::Rows;

/// Points of the law of a wrong fact's count, and of the squared length of the right output embedding.
const COUNTS: usize = 6;
const LENGTHS: usize = 3;
/// The law of the right label's noise.
static NORMAL: LazyLock<Rule> = LazyLock::new(|| hermite(7));

pub(super) struct Given<'a> {
    rows: &'a Rows,
    output: Output,
    vocab: f64,
    /// Counts of a fact in units of their mean.
    counts: Rule,
    /// Squared lengths of output embeddings.
    lengths: Rule,
}

impl<'a> Given<'a> {
    pub fn new(rows: &'a Rows, output: Output, vocab: f64, samples: f64) -> Given<'a> {
        let law = binomial(samples, 1.0 / vocab, Detail::Smooth);
        let unit = vocab / samples;
        let points: Vec<_> = law.points.iter().map(|&(n, weight)| (n * unit, weight)).collect();
        let counts = if points.len() > COUNTS { of_points(&points, COUNTS) } else { Rule { points } };
        let lengths = output.freedom.map_or(Rule::certain(1.0), |freedom| chi_square(freedom, LENGTHS));
        Given { rows, output, vocab, counts, lengths }
    }

    /// The probability that the right label of a query of this kind wins. `noise` is the variance of all facts' coefficients, of which
    /// `misplaced` does not come from their own tokens.
    pub fn win(&self, kind: usize, query: &Query, signal: f64, noise: f64, misplaced: f64) -> f64 {
        let (kind, overlap, tail) = (&self.rows.kinds[kind], self.output.overlap, QuickTail::new());
        let common = overlap * self.vocab * noise;
        // The trigger in the values adds to the overlaps of rows.
        let own = misplaced + (query.s2 - kind.s2).max(0.0);
        let won = |b: f64, z: f64| {
            let rho = signal * b.sqrt() + common.sqrt() * z;
            let deviation = (common + overlap * (rho * rho - common).max(0.0) + own).sqrt().max(1e-12);
            let right = b.sqrt() * rho + query.kappa;
            let group = |(&delta, &share): (&f64, &f64)| {
                share * self.counts.mean(|f| tail.at((right - f * (query.kappa + delta)) / deviation))
            };
            let behind: f64 = kind.overlaps.iter().zip(&self.rows.shares).map(group).sum();
            libm::exp((self.vocab - 1.0) * libm::log1p(-behind.min(1.0)))
        };
        self.lengths.mean(|b| NORMAL.mean(|z| won(b, z)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{GROUPS, random};

    /// One wrong label in two has the right label's overlap: with equal counts it wins half of the races.
    #[test]
    fn duplicates_win_half_of_their_races() {
        let mut rows = Rows { shares: [0.0; GROUPS], ..random(400.0) };
        (rows.shares[0], rows.shares[1]) = (0.5, 0.5);
        rows.kinds.iter_mut().for_each(|kind| kind.overlaps[0] = 1.0);
        let output = Output { overlap: 1e-9, freedom: None };
        let given = Given::new(&rows, output, 2.0, 1e9);
        let query = Query { weight: 1.0, kappa: 0.0, xi: 1.0, s2: 1.0 / 400.0, mlp_noise: 0.0 };
        let chance = given.win(0, &query, 1.0, 1e-6, 0.0);
        assert!((chance - 0.75).abs() < 0.02, "{chance}");
    }
}
