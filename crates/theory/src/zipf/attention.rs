//! How often attention finds a fact under Zipf's law (theory: Zipf).
//!
//! A fact is found if the trigger's score and its token's exceed the scores of all other tokens in the sequence. Tokens of a run have
//! independent scores, and a token is in a sequence with a probability that grows with its frequency. Whether the few most frequent
//! tokens are above the fact is enumerated, because each of them changes the chance of all sequences of a run.

use std::sync::LazyLock;

use super::classes::Class;
use super::scores::Scores;
use crate::normal::{QuickTail, cdf, density};
use crate::quadrature::{Rule, chi_square, hermite};

/// Nodes for the score of the informative position.
static NODES: LazyLock<Rule> = LazyLock::new(|| hermite(14));

/// The most frequent tokens, whose scores are enumerated as above or below a fact's.
const TOP: usize = 3;

/// Mean and variance of a Gumbel number.
const GUMBEL: [f64; 2] = [0.577_215_664_9, 1.644_934_066_8];

/// How attention treats a fact in a share of the runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// The share of runs.
    pub weight: f64,
    /// The share of sequences in which the largest weight is on the fact's token, at the informative position or elsewhere.
    pub stored: f64,
    /// The share of sequences in which it is so large that no other token adds more to the logit of its own label.
    pub found: f64,
    /// The share of sequences in which it is on the informative position.
    pub locked: f64,
}

/// The distribution of token scores in a class: means by the length of the embedding, and the spread around them.
struct Law {
    means: Vec<(f64, f64)>,
    deviation: f64,
}

impl Law {
    /// The probability of a score above x.
    fn above(&self, x: f64) -> f64 {
        let tail = QuickTail::new();
        self.means.iter().map(|(mean, weight)| weight * tail.at((x - mean) / self.deviation)).sum()
    }
}

/// The rates of every class of facts in sequences of the given length. `unit` is the score that is one unit in the softmax. With `soft`,
/// Gumbel noise of that scale turns the position of the largest score into one drawn by the softmax.
pub(super) fn rates(scores: &Scores, length: f64, unit: f64, soft: bool) -> Vec<Vec<Rate>> {
    let blur = if soft { unit } else { 0.0 };
    let classes = &scores.classes;
    if length <= 1.0 {
        return vec![vec![Rate { weight: 1.0, stored: 1.0, found: 1.0, locked: 1.0 }]; classes.len()];
    }
    let [shift, extra] = [GUMBEL[0] * blur, GUMBEL[1] * blur * blur];
    let lengths = scores.freedom.map_or(Rule::certain(1.0), |freedom| chi_square(freedom, 3));
    let law = |token: &super::scores::TokenScore| {
        let mean =
            |&(a, weight): &(f64, f64)| (a * (token.linear + a * token.square) + token.shift + shift, weight);
        Law {
            means: lengths.points.iter().map(mean).collect(),
            deviation: (token.variance + extra).sqrt().max(1e-300),
        }
    };
    let sequences = Sequences::new(classes, length - 1.0, unit, scores.tokens.iter().map(law).collect());
    let run = |(v, token): (usize, &super::scores::TokenScore)| {
        let (trigger, own) = (scores.trigger_variance, token.variance + extra);
        let spread = (trigger + own).sqrt();
        let mut rates = Vec::new();
        // A longer embedding of a frequent token raises the scores of all tokens by overlaps, so that its own length is no advantage.
        let centre = scores.trigger + token.mean() + shift;
        for &(z, weight) in &NODES.points {
            // The trigger's score given the sum of both. Where it is negative, a copy of the token has the larger score.
            let mean = scores.trigger + trigger / spread * z;
            let deviation = (trigger * own).sqrt() / spread;
            let edge = -mean / deviation.max(1e-300);
            let negative = cdf(edge);
            let below =
                if negative > 1e-9 { (mean - deviation * density(edge) / negative).min(0.0) } else { 0.0 };
            let x = centre + spread * z;
            sequences.rates(v, x, weight, [negative, x - below], &mut rates);
        }
        rates
    };
    scores.tokens.iter().enumerate().map(run).collect()
}

/// The other tokens of a sequence.
struct Sequences<'a> {
    classes: &'a [Class],
    others: f64,
    unit: f64,
    laws: Vec<Law>,
    /// For every subset of the top tokens, the probability that none of it is at a position, and for every class the probability
    /// that a token is in a sequence without the subset.
    subsets: Vec<(f64, Vec<f64>)>,
}

impl Sequences<'_> {
    fn new(classes: &[Class], others: f64, unit: f64, laws: Vec<Law>) -> Sequences<'_> {
        let top = TOP.min(classes.len() - 1);
        let subset = |mask: usize| {
            let taken: f64 = (0..top).filter(|i| mask >> i & 1 == 1).map(|i| classes[i].noise).sum();
            let left = (1.0 - taken).max(1e-12);
            let present = |class: &Class| 1.0 - libm::pow((1.0 - class.noise / left).max(0.0), others);
            (libm::pow(left, others), classes.iter().map(present).collect())
        };
        Sequences { classes, others, unit, laws, subsets: (0..1 << top).map(subset).collect() }
    }

    /// The probability that a token of each class has a score above x.
    fn above(&self, x: f64) -> Vec<f64> {
        self.laws.iter().map(|law| law.above(x)).collect()
    }

    /// The probability that a token of each class adds more to the logit of its own label than a fact of class v with the score x: a label
    /// that is stored more strongly needs less attention.
    fn outweighs(&self, v: usize, x: f64) -> Vec<f64> {
        let fact = self.classes[v].fact;
        let above = |(law, class): (&Law, &Class)| law.above(x - self.unit * libm::log(class.fact / fact));
        self.laws.iter().zip(self.classes).map(above).collect()
    }

    /// The probability that no token from class `first` on is in a sequence and above, `v` being the class of the fact.
    fn none(&self, v: usize, first: usize, above: &[f64], present: &[f64]) -> f64 {
        let log = |b: usize| {
            let count = self.classes[b].count - f64::from(u8::from(b == v));
            let part = above[b] * present[b];
            if part > 1e-12 { count * libm::log1p(-part.min(1.0 - 1e-12)) } else { -count * part }
        };
        libm::exp((first..self.classes.len()).map(log).sum())
    }

    /// Adds the rates of facts of class v whose position has the score x: with the probability `negative` the trigger's score is
    /// negative, and a copy of the token has the score `copy`.
    fn rates(&self, v: usize, x: f64, weight: f64, [negative, copy]: [f64; 2], rates: &mut Vec<Rate>) {
        let (above, outweighs) = (self.above(x), self.outweighs(v, x));
        let any = &self.subsets[0].1;
        let top = self.subsets.len().trailing_zeros() as usize;
        let copies = 1.0 - libm::pow(1.0 - self.classes[v].noise, self.others);
        let by_copy = match negative * copies > 1e-4 {
            true => self.none(v, 0, &self.outweighs(v, copy), any),
            false => 0.0,
        };
        for (mask, (absent, present)) in self.subsets.iter().enumerate() {
            let chance: f64 = (0..top)
                .map(|i| match (i == v, mask >> i & 1 == 1) {
                    (true, inside) => f64::from(u8::from(!inside)),
                    (false, true) => above[i],
                    (false, false) => 1.0 - above[i],
                })
                .product();
            if chance < 1e-6 {
                continue;
            }
            let rate = absent * self.none(v, top, &above, present);
            let with_copies = |rate: f64| rate + negative * copies * (by_copy - rate).max(0.0);
            let locked = rate * (1.0 - negative * copies);
            // Given which top tokens are above, more of them may outweigh the fact, and fewer others.
            let top_test: f64 = (0..top)
                .map(|i| match (i == v, mask >> i & 1 == 1) {
                    (true, _) => 1.0,
                    (false, true) => {
                        (1.0 - any[i] * (outweighs[i] / above[i]).min(1.0)) / (1.0 - any[i]).max(1e-300)
                    }
                    (false, false) => 1.0 - any[i] * ((outweighs[i] - above[i]) / (1.0 - above[i])).max(0.0),
                })
                .product();
            let found = absent * top_test * self.none(v, top, &outweighs, present);
            rates.push(Rate {
                weight: weight * chance,
                stored: with_copies(rate),
                found: with_copies(found),
                locked,
            });
        }
    }
}
