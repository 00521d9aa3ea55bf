//! Facts that attention finds more or less often (theory: recall).
//!
//! A token has one score in a run. A fact whose token has the score z is found in the share `F(x + z)^K` of its sequences, with x
//! the trigger's score and K the number of other tokens, in units of the spread of token scores. The rest of its samples is stored
//! with the token that has the largest score. At test the weight on the right position must also outweigh a token that is
//! stored more strongly.

use std::sync::LazyLock;

use crate::attention::others;
use crate::counts::{Detail, poisson};
use crate::normal::{Maximum, QuickCdf, QuickPower};
use crate::point::Point;
use crate::quadrature::{Rule, hermite};

/// How often attention finds the facts of a run.
pub(crate) struct Loose {
    /// The lock rate.
    pub lock: f64,
    /// The mean attention in training.
    pub stored: f64,
    /// Second, third and fourth moment over facts, in units of the powers of the mean.
    pub moments: [f64; 3],
    /// Facts by their token's score.
    pub facts: Vec<Fact>,
}

/// Facts whose tokens have one score.
pub(crate) struct Fact {
    /// How often attention finds them.
    pub rate: f64,
    /// How often it does so at test, with enough weight.
    pub test: f64,
    /// Samples of other facts that are stored with their token, in units of N/V.
    pub stolen: f64,
    /// Their share among all facts.
    pub weight: f64,
}

/// Token scores.
static SCORES: LazyLock<Rule> = LazyLock::new(|| hermite(7));

impl Loose {
    /// Attention finds every fact always.
    pub fn tight() -> Loose {
        Loose {
            lock: 1.0,
            stored: 1.0,
            moments: [1.0; 3],
            facts: vec![Fact { rate: 1.0, test: 1.0, stolen: 0.0, weight: 1.0 }],
        }
    }

    /// A run at a point with a mean lock rate.
    pub fn new(lock: f64, point: &Point) -> Loose {
        let others = others(point);
        if lock >= 1.0 || point.length <= 1.0 {
            return Loose::tight();
        }
        let (x, y) = trigger(lock, others);
        // A unit of the softmax's exponent, in units of the spread of token scores.
        let soft = x.max(0.0) / (LEAD * libm::log(point.length + 1.0));
        let weight = effective(point, (y.max(0.0) * soft).min(1.0));
        let (cdf, power, rest) = (QuickCdf::new(), QuickPower::new(weight), QuickPower::new(weight - 1.0));
        // A fact stored at the rate l loses against a token that is always stored unless it leads by log 1/l.
        let fact = |&(z, share): &(f64, f64)| {
            let rate = power.at(x + z);
            let test = power.at(x + z + soft * libm::log(rate.max(1e-9)));
            Fact { rate, test, stolen: weight * rest.at(z) * cdf.at(z - x), weight: share }
        };
        let facts: Vec<Fact> = SCORES.points.iter().map(fact).collect();
        let moment = |n: i32| facts.iter().map(|fact| fact.weight * fact.rate.powi(n)).sum::<f64>();
        let stored = moment(1);
        let moments = [2, 3, 4].map(|n| moment(n) / stored.powi(n));
        Loose { lock, stored, moments, facts }
    }
}

/// The lead of the trigger that the formulas are for.
const LEAD: f64 = 4.0;

/// The number of single tokens that take as much attention as those of a sequence: a token that occurs c times has the weight
/// of `c^power` single ones.
fn effective(point: &Point, power: f64) -> f64 {
    let mean = (point.length - 1.0) / point.vocab;
    let weight = match mean {
        // Many occurrences of every token.
        40.0.. => libm::pow(mean, power),
        _ => poisson(mean, Detail::Every).mean(|c| if c > 0.0 { libm::pow(c, power) } else { 0.0 }),
    };
    (point.vocab * weight).max(1.0)
}

/// The trigger's score at which attention finds it at this rate, and the mean of the largest score of the other tokens.
fn trigger(lock: f64, others: f64) -> (f64, f64) {
    let maximum = Maximum::of(others.max(1.0));
    let cdf = QuickCdf::new();
    let (mut low, mut high) = (-8.0, 16.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if maximum.rule.mean(|y| cdf.at(middle - y)) < lock { low = middle } else { high = middle }
    }
    (0.5 * (low + high), maximum.rule.mean(|y| y))
}
