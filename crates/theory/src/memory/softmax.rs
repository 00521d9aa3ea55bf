//! Attention in a run (theory: recall).
//!
//! After step 2 the softmax has the exponents `a` for the trigger and `sigma z` for a token with the standard normal score z. The
//! weight of a fact among the tokens of a sequence is the probability that its exponent plus Gumbel noise is the largest. So
//! a fact receives the attention `E_g exp(-D(a + sigma z + g))`, g Gumbel noise, where `D(c)` is the expected number of other tokens with
//! an exponent above c, a token below it counting as its share `exp(sigma z - c)`.

use std::sync::LazyLock;

use crate::attention::{Largest, others};
use crate::normal::{QuickTail, density};
use crate::point::Point;
use crate::quadrature::{Rule, of_points};
use crate::recall::MIN_TIGHT_LEAD;

use super::{Fact, Loose};

/// The distance between two of the [`SCORES`].
const STEP: f64 = 0.45;

/// Token scores: a grid, because rates are steep functions of them.
static SCORES: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    let z = |i: i32| STEP * f64::from(i);
    (-9..=9).map(|i| (z(i), STEP * density(z(i)))).collect()
});

/// Gumbel noise: minus the logarithm of an exponential number, and of the sum of two.
type Gumbel = [Rule; 2];

static GUMBEL: LazyLock<Gumbel> = LazyLock::new(|| gumbel(5));
/// The same with more points, for leads at which attention is spread over many tokens.
static FINE_GUMBEL: LazyLock<Gumbel> = LazyLock::new(|| gumbel(12));

fn gumbel(points: usize) -> Gumbel {
    [1.0, 2.0].map(|shape| {
        let point = |i: i32| {
            let g = 0.02 * f64::from(i);
            (g, libm::exp(-shape * g - libm::exp(-g)))
        };
        of_points(&(-200..2000).map(point).collect::<Vec<_>>(), points)
    })
}

/// Upper ends of the classes that facts are grouped into by their rates.
const CLASSES: [f64; 8] = [0.02, 0.12, 0.3, 0.5, 0.7, 0.87, 0.97, f64::INFINITY];

/// Where the tokens that take attention differ from sequence to sequence by more than this, rates are taken at their mean.
const DIFFERENT: f64 = 0.8;

/// The other tokens of a sequence and the softmax over them.
struct Softmax {
    /// The exponent of the trigger, and the spread of tokens' exponents.
    trigger: f64,
    spread: f64,
    /// The number of other tokens, and the logarithm of how often one of them occurs.
    tokens: f64,
    repeats: f64,
    /// Exponent of the Pareto tail of weights, at most 1.
    pareto: f64,
    /// Factor between `1 - exp(-w)` and `min(1, w)`, averaged over that tail.
    smooth: f64,
    noise: &'static Gumbel,
    tail: QuickTail,
}

impl Softmax {
    /// Attention on a fact with a score, by the distribution of the noise.
    fn rate(&self, z: f64, noise: &Rule) -> f64 {
        let c = self.trigger + self.spread * z - self.repeats;
        let more = |c: f64| {
            let t = c / self.spread;
            self.tokens * self.smooth * (self.tail.at(t) + below(self.spread, t))
        };
        noise.mean(|g| libm::exp(-more(c + g))).max(1e-300)
    }

    /// The expected number of tokens with a score above that of a rival.
    fn above(&self, rival: f64) -> f64 {
        self.tokens * self.tail.at(rival - self.repeats / self.spread)
    }

    /// Attention and energy of the tokens with scores below that of a rival, in units of those of a fact.
    fn beside(&self, z: f64, rival: f64) -> [f64; 2] {
        let limit = libm::exp(self.spread * (rival - z) - self.trigger);
        let t = rival - self.repeats / self.spread;
        [
            self.tokens * limit * below(self.spread, t),
            self.tokens * limit * limit * below(2.0 * self.spread, t),
        ]
    }
}

impl Loose {
    /// Attention in a run at a point whose trigger has the score `x`, in units of the spread of token scores.
    pub fn new(x: f64, point: &Point, largest: &Largest) -> Loose {
        if point.length <= 1.0 {
            return Loose::tight();
        }
        let lock = largest.lock_rate(x);
        if x <= 0.0 || lock < 1e-3 {
            return Loose { lock, mass: lock, ..Loose::default() };
        }
        let trigger = point.lead * libm::log(point.length + 1.0);
        let spread = (trigger / x).max(1e-3);
        let (tokens, mean) = (others(point), (point.length - 1.0) / point.vocab);
        let present = tokens / point.vocab;
        let pareto = (largest.mean.max(0.0) / spread).min(1.0);
        let hard = 1.0 - pareto;
        let repeats = libm::log(mean / present) - 0.5 * hard * ((1.0 + mean) * present / mean - 1.0);
        let smooth = libm::tgamma(2.0 - pareto);
        let noise = if point.lead < MIN_TIGHT_LEAD { &*FINE_GUMBEL } else { &*GUMBEL };
        let tail = QuickTail::new();
        let softmax = Softmax { trigger, spread, tokens, repeats, pareto, smooth, noise, tail };
        let rates: Vec<f64> = SCORES.iter().map(|p| softmax.rate(p.0, &softmax.noise[0])).collect();
        let factors = softmax.factors(&rates, present);
        let strengths: Vec<f64> =
            SCORES.iter().zip(&rates).map(|(p, rate)| spread * p.0 + libm::log(*rate)).collect();
        // The score of a token that adds as much to the logit of its label as a fact with a score and a rate.
        let rival = |z: f64, rate: f64| {
            let strength = trigger + spread * z + libm::log(limit(rate, present * hard));
            let right = strengths.partition_point(|&other| other < strength).clamp(1, strengths.len() - 1);
            let (low, high) = (strengths[right - 1], strengths[right]);
            let slope = if strength > high { spread * STEP } else { high - low };
            SCORES[right].0 + STEP * (strength - high) / slope
        };
        let mut classes = [Fact::default(); CLASSES.len()];
        let mut loose = Loose { lock, present, ..Loose::default() };
        let (mut found, mut tilts) = (0.0, [0.0; 2]);
        for ((&(z, weight), &rate), &factor) in SCORES.iter().zip(&rates).zip(&factors) {
            let weights = libm::exp(spread * (z - 0.5 * spread));
            let mut add = |weight: f64, rate: f64, test: f64| {
                let class = &mut classes[CLASSES.partition_point(|&end| end < rate)];
                class.weight += weight;
                class.context += weight * weights;
                class.trigger_overlap += weight * x.min(1e3) * z;
                class.rate += weight * rate;
                class.test += weight * test;
                weight * test
            };
            let mut tested = 0.0;
            let nearest = if factor > DIFFERENT {
                let rival = rival(z, rate);
                tested += add(weight, rate, libm::exp(-softmax.above(rival)));
                rival
            } else {
                // The tokens that take attention in every sequence of the fact are a Poisson number.
                let count = -libm::log(rate) / (1.0 - factor);
                let nearest = rival(z, 1.0);
                let alone = softmax.above(nearest);
                let passes = (1.0 - alone / count.max(1e-300)).clamp(0.0, 1.0);
                let (mut chance, mut j, mut rate, mut test) = (weight * libm::exp(-count), 0.0, 1.0, 1.0);
                let mut rest = weight;
                while rate > 0.01 && (j <= count || chance > 1e-6 * weight) {
                    let lead =
                        if test > 1e-3 { libm::exp(alone - softmax.above(rival(z, rate))) } else { 0.0 };
                    tested += add(chance, rate, test * lead);
                    rest -= chance;
                    j += 1.0;
                    chance *= count / j;
                    rate *= factor;
                    test *= passes;
                }
                add(rest, 0.0, 0.0);
                nearest
            };
            found += tested;
            if tested > 1e-6 {
                let [beside, other_energy] = softmax.beside(z, nearest);
                loose.other_attention += tested * beside;
                loose.other_energy += tested * other_energy;
                loose.mislabelled += tested
                    * hard
                    * tokens
                    * libm::exp(-(tokens - 1.0) * softmax.tail.at(z))
                    * softmax.tail.at(x - z);
            }
            tilts[0] += weight * z * rate;
            tilts[1] += weight * z * libm::pow(rate, 1.0 + factor);
        }
        for sum in [&mut loose.other_attention, &mut loose.other_energy, &mut loose.mislabelled] {
            *sum /= f64::max(found, 1e-300);
        }
        loose.mass = classes.iter().map(|class| class.rate).sum();
        let focus = softmax.focus(largest.mean.max(1.0));
        loose.shared = present * focus;
        loose.score_shift = spread.min(largest.mean.max(1.0));
        loose.overlap_covariance = x.min(1e3) * (tilts[1] / loose.mass - tilts[0]) / loose.mass;
        loose.run_variance = run_variance(&rates, &factors);
        // Unless attention is spread over many tokens, those that matter are rivals.
        let each = if pareto < 1.0 { 0.0 } else { loose.other_attention / tokens };
        let mean = |class: Fact| {
            let rate = class.rate / class.weight;
            Fact {
                rate,
                sample_weight: (1.0 - pareto * (1.0 - rate)).max(1e-6),
                others: (1.0 - rate) * (1.0 - pareto * rate) * focus,
                test: class.test / class.weight,
                context: (each * class.context / class.weight).min(1.0),
                trigger_overlap: class.trigger_overlap / class.weight,
                weight: class.weight,
            }
        };
        loose.facts = classes.into_iter().filter(|class| class.weight > 1e-6).map(mean).collect();
        loose
    }
}

impl Softmax {
    /// For every score, the factor by which one of the tokens that take attention in every sequence reduces the rate; 1 where these
    /// tokens differ from sequence to sequence. It follows from the mean square of the rate over runs, `rate^(1 + factor)`.
    fn factors(&self, rates: &[f64], present: f64) -> Vec<f64> {
        let factor = |(&(z, _), &mean): (&(f64, f64), &f64)| {
            if present * (1.0 - self.pareto) < 1.0 - DIFFERENT || mean > 1.0 - 1e-6 {
                return 1.0;
            }
            let both = libm::log(self.rate(z, &self.noise[1])) / libm::log(mean);
            (1.0 - present * (2.0 - both)).clamp(0.0, 1.0)
        };
        SCORES.iter().zip(rates).map(factor).collect()
    }

    /// The sum of squared weights of the tokens that share attention, the largest of which has a mean score.
    fn focus(&self, largest: f64) -> f64 {
        let floor = 1.0 / (largest * largest);
        match self.pareto < 1.0 {
            true => (1.0 - self.pareto).max(floor).min(1.0),
            false => {
                let weights = [1.0, 2.0].map(|power| below(power * self.spread, largest));
                (weights[1] / (self.tokens * weights[0] * weights[0])).min(1.0)
            }
        }
    }
}

/// Variance of the mass over runs: all facts of a run compete with the same tokens.
fn run_variance(rates: &[f64], factors: &[f64]) -> f64 {
    let coarse = || (0..rates.len()).skip(1).step_by(2).filter(|&i| factors[i] < 1.0);
    let mut variance = 0.0;
    for i in coarse() {
        // The fact with the larger score has the smaller number of tokens above it.
        let excess = libm::pow(rates[i], factors[i] - 1.0) - 1.0;
        let less: f64 = coarse().take_while(|&j| j < i).map(|j| SCORES[j].1 * rates[j]).sum();
        variance += 4.0 * SCORES[i].1 * rates[i] * excess * (2.0 * less + SCORES[i].1 * rates[i]);
    }
    variance
}

/// `E[exp(slope (y - t)); y < t]` for a standard normal y.
fn below(slope: f64, t: f64) -> f64 {
    let distance = slope - t;
    match distance < 8.0 {
        true => libm::exp(slope * (0.5 * slope - t)) * QuickTail::new().at(distance),
        false => density(t) / distance * (1.0 - 1.0 / (distance * distance)),
    }
}

/// The weight of another token, relative to the fact's, above which it wins. It is stored fully and the fact at this rate, and less
/// if the token takes attention in training too.
fn limit(rate: f64, present: f64) -> f64 {
    let half = 0.5 * (1.0 - rate * (1.0 - present));
    ((half * half + rate).sqrt() - half).max(1e-9)
}
