//! Lock rates of two rounds of an attention and a memory step (theory: rounds).
//!
//! Whether the second round raises the lock rate depends on the few tokens that took the attention in the first one, and these differ
//! from run to run. The theory gives the joint law of the scores of both rounds: a few normal numbers per token and per run. This
//! module draws runs from that law, which costs far less than a simulation. The draws are a function of the point alone.

use superpose_core::Config;
use superpose_core::config::Trigger;
use superpose_core::random::{Stream, Words, normals};

use crate::attention::{Scores, moments};
use crate::point::{Point, Zipf};
use crate::recall::MIN_TIGHT_LEAD;

/// Tokens that are drawn in all runs together, and the range of the number of runs.
const TOKENS: usize = 1 << 20;
const RUNS: [usize; 2] = [256, 4096];

/// The largest vocabulary with a prediction: the time grows with `V`.
const MAX_VOCAB: usize = 4096;

/// First lock rates that enter the fit of the fixed point. Close to 0 and 1 lie the stable fixed points.
const FITTED: [f64; 2] = [0.04, 0.9];

/// Rises and falls that the fit of the fixed point needs.
const MIN_RUNS: usize = 20;

/// Lock rates of the first and the second round in runs at one point.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// Both lock rates of each run.
    pub rates: Vec<[f64; 2]>,
}

impl Rounds {
    /// Runs of a configuration; `None` where the law does not cover it: it is for uniform tokens, the trigger in keys, the
    /// attention-only model with overlapping embeddings, a large lead and attention that starts from zero.
    pub fn of(config: &Config) -> Option<Rounds> {
        let point = Point::from(config);
        let covered = !config.accumulate
            && config.gamma.is_none()
            && config.trigger == Trigger::Keys
            && config.length > 1
            && (2..=MAX_VOCAB).contains(&config.vocab)
            && config.lead >= MIN_TIGHT_LEAD
            && point.zipf == Zipf::default()
            && point.has_zipf_formulas();
        covered.then(|| Rounds::at(&point))
    }

    fn at(point: &Point) -> Rounds {
        let law = Law::at(point);
        let runs = (TOKENS / law.vocab).clamp(RUNS[0], RUNS[1]);
        Rounds { rates: (0..runs as u64).map(|number| law.run(number)).collect() }
    }

    /// Mean lock rates of the two rounds.
    pub fn means(&self) -> [f64; 2] {
        [0, 1].map(|round| self.rates.iter().map(|rates| rates[round]).sum::<f64>() / self.rates.len() as f64)
    }

    /// The first lock rate at which the second round is as likely to raise it as to lower it, by a logistic fit in its logarithm;
    /// `None` where almost all runs move in one direction.
    pub fn fixed_point(&self) -> Option<f64> {
        let fitted = self.rates.iter().filter(|rates| FITTED[0] < rates[0] && rates[0] < FITTED[1]);
        let runs: Vec<(f64, bool)> =
            fitted.map(|&[first, second]| (libm::log(first), second > first)).collect();
        let rises = runs.iter().filter(|run| run.1).count();
        if rises < MIN_RUNS || runs.len() - rises < MIN_RUNS {
            return None;
        }
        // Newton's method for the odds exp(a + b x), with a weak prior that keeps the step finite.
        let (mut a, mut b) = (0.0, 0.0);
        for _ in 0..60 {
            let [mut da, mut db, mut aa, mut ab, mut bb] = [-0.01 * a, -0.01 * b, 0.01, 0.0, 0.01];
            for &(x, rise) in &runs {
                let p = 1.0 / (1.0 + libm::exp(-a - b * x));
                let (error, weight) = (f64::from(u8::from(rise)) - p, p * (1.0 - p));
                (da, db) = (da + error, db + error * x);
                (aa, ab, bb) = (aa + weight, ab + weight * x, bb + weight * x * x);
            }
            let determinant = aa * bb - ab * ab;
            (a, b) = (a + (bb * da - ab * db) / determinant, b + (aa * db - ab * da) / determinant);
        }
        let rate = libm::exp(-a / b);
        (b > 0.0 && FITTED[0] < rate && rate < FITTED[1]).then_some(rate)
    }
}

/// A part of the scores of round one: a random direction times a power of the tokens' covariance.
struct Part<'a> {
    /// Its variance is proportional to the moment of this order, for the trigger to the one before.
    order: usize,
    spread: f64,
    /// Score of the trigger.
    trigger: f64,
    /// Scores of tokens over their spread.
    tokens: &'a [f64],
}

/// Where the attention of a round is, by token.
struct Attended {
    /// Lock rate.
    rate: f64,
    /// Share of sequences with attention on this token at a wrong position.
    wrong: Vec<f64>,
    /// Lock rate of sequences whose informative token this is.
    locked: Vec<f64>,
}

/// The law of the scores of two rounds.
struct Law {
    point: Point,
    vocab: usize,
    scores: Scores,
    /// Moments of Marchenko and Pastur's law, from order 0 on.
    m: [f64; 8],
    /// Probability that a token is in a sequence.
    present: f64,
}

impl Law {
    fn at(point: &Point) -> Law {
        let Point { vocab, dim, length, .. } = *point;
        let present = -libm::expm1((length - 1.0) * libm::log1p(-1.0 / vocab));
        Law {
            point: *point,
            vocab: vocab as usize,
            scores: Scores::of(point),
            m: moments(dim / vocab),
            present,
        }
    }

    /// Lock rates of one run.
    fn run(&self, number: u64) -> [f64; 2] {
        let Point { dim, .. } = self.point;
        let (v, m, scores) = (self.vocab, &self.m, &self.scores);
        let mut normal = vec![0.0; 4 * v + 6];
        normals(&Words::new(0, Stream::Test, number), &mut normal);
        let (tokens, shared) = normal.split_at(4 * v);
        let [overlap, bias, noise, fresh] = [0, 1, 2, 3].map(|i| &tokens[i * v..(i + 1) * v]);

        // The trigger's squared length is chi-square (Wilson and Hilferty).
        let width = if self.point.lengths_vary() { 2.0 / (9.0 * dim) } else { 0.0 };
        let long = (1.0 - width + width.sqrt() * shared[0]).powi(3);
        // The squared sum of all output embeddings over N, and the mean token's quadratic form.
        let labels = 2.0 / dim + 2.0 / v as f64;
        let form = m[6] / (2.0 * dim * m[3] * m[3]);
        let uneven = libm::exp(labels.sqrt() * shared[1] - 0.5 * labels);
        let size = uneven / (1.0 + labels).sqrt() * libm::exp(form.sqrt() * shared[2] - form);
        let part = |spread: f64, tokens, z: f64| Part {
            order: 3,
            spread,
            trigger: spread * (m[2] / m[3]).sqrt() * z,
            tokens,
        };
        let parts = [
            Part {
                order: 1,
                spread: scores.output_overlap * long.sqrt(),
                trigger: scores.trigger * long,
                tokens: overlap,
            },
            part(scores.mean_bias * size, bias, shared[3]),
            part(scores.gradient_noise, noise, shared[4]),
        ];
        let spread = parts.iter().map(|part| part.spread * part.spread).sum::<f64>().sqrt();
        let trigger = parts.iter().map(|part| part.trigger).sum::<f64>() / spread;
        let total = |w: usize| parts.iter().map(|part| part.spread * part.tokens[w]).sum::<f64>() / spread;
        let first: Vec<f64> = (0..v).map(total).collect();
        let attended = self.attend(trigger, &first);
        let (trigger, second) = self.second(&parts, &first, &attended, [uneven, long, shared[5]], fresh);
        [attended.rate, self.attend(trigger, &second).rate]
    }

    /// The attention of a round with these scores.
    fn attend(&self, trigger: f64, scores: &[f64]) -> Attended {
        let mut order: Vec<usize> = (0..self.vocab).collect();
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let sorted: Vec<f64> = order.iter().map(|&w| scores[w]).collect();
        let below = |score: f64| sorted.partition_point(|&x| x < score);
        let absent = 1.0 - self.present;
        let (mut wrong, mut locked) = (vec![0.0; self.vocab], vec![0.0; self.vocab]);
        for (rank, &w) in order.iter().enumerate() {
            let beaten = below(scores[w] - trigger) as f64 / self.vocab as f64;
            wrong[w] = self.present * absent.powi((self.vocab - 1 - rank) as i32) * beaten;
            locked[w] = absent.powi((self.vocab - below(scores[w] + trigger)) as i32);
        }
        Attended { rate: locked.iter().sum::<f64>() / self.vocab as f64, wrong, locked }
    }

    /// Scores of the trigger and of the tokens in round two.
    fn second(
        &self,
        parts: &[Part; 3],
        first: &[f64],
        attended: &Attended,
        [uneven, long, z]: [f64; 3],
        fresh: &[f64],
    ) -> (f64, Vec<f64>) {
        let Point { vocab, dim, length, samples, .. } = self.point;
        let (m, c, rate) = (&self.m, dim / vocab, attended.rate);
        let unit = length * length / samples * uneven;

        // A favoured token is in the sequences that attend to it; a locked one in those of its own label.
        let own = (1.0 - 1.0 / length) / self.present - 1.0;
        let fact = (samples + vocab) / (length * vocab);
        let p: Vec<f64> = attended.wrong.iter().zip(&attended.locked).map(|(q, r)| q + r / vocab).collect();
        let w: Vec<f64> = p.iter().zip(&attended.locked).map(|(p, r)| own * p + fact * r).collect();
        let (p, w) = (Projection::new(&p, first), Projection::new(&w, first));

        // The part along the scores of round one.
        let total: f64 = parts.iter().map(|part| part.spread * part.spread).sum();
        let moment = |more: usize| {
            let term = |part: &Part| part.spread * part.spread * m[part.order + more] / m[part.order];
            parts.iter().map(term).sum::<f64>() / total / c.powi(more as i32)
        };
        let along = p.slope * moment(2) + w.slope * moment(1);
        let beside = p.slope * p.slope * moment(4)
            + 2.0 * p.slope * w.slope * moment(3)
            + w.slope * w.slope * moment(2)
            - along * along;
        // The part of the other tokens that took attention.
        let [pp, pw, ww] = [p.product(&p), p.product(&w), w.product(&w)];
        let others = (m[4] / c - m[2] * m[2]) / (c * c) * pp
            + 2.0 * (m[3] / c - m[2]) / c * pw
            + (m[2] / c - 1.0) * ww;
        // Noise of labels: the head outputs of one label are the same token in the share of its samples that lock.
        let square = attended.locked.iter().map(|r| r * r).sum::<f64>() / vocab;
        let taken: f64 = attended.wrong.iter().map(|q| q * q).sum();
        let energy = |single: f64| m[2] / dim * (single / samples + square / vocab);
        let covariance = length.powi(4) * m[4] / dim.powi(3) * energy(1.0 - square - taken);
        let pairs = length.powi(3) * (m[2] / dim).powi(2) * (energy(1.0 - square) + samples.powi(-2));
        let labels = vocab * vocab / samples * (covariance + pairs);
        let spread = (unit * unit * (beside + others).max(0.0) + labels).sqrt();

        let repeats = vocab / samples;
        let held = (1.0 - rate) * repeats * (1.0 + own) * length / vocab;
        let coefficient = (rate * (length - 1.0) * (1.0 + repeats) - held) * (1.0 - 1.0 / vocab);
        let carried = |part: &Part| {
            part.trigger * (p.slope * m[part.order + 1] / c + w.slope * m[part.order]) / m[part.order - 1]
        };
        let carried = unit / c / total.sqrt() * parts.iter().map(carried).sum::<f64>();
        let shaken = unit * (vocab / dim * (m[3] / (c * c) * pp + 2.0 * m[2] / c * pw + ww).max(0.0)).sqrt();
        let [overlap, bias, _] = parts;
        let trigger = coefficient * long + bias.trigger + carried + shaken * z;

        // A favoured token is longer than others and lies along large eigenvalues of the covariance of the others.
        let alignment = (m[3] + c * (2.0 * m[2] + c)) / (m[2] + c * (2.0 + c));
        let score = |i: usize| {
            let excess = (first[i] * first[i] - 1.0) / dim;
            let square = (1.0 + excess).powi(2);
            let itself = (square + (1.0 + alignment * excess) / c) * p.rest[i] + square * w.rest[i];
            bias.spread * bias.tokens[i]
                + unit * (along * first[i] + itself)
                + spread * fresh[i]
                + coefficient * (long / dim).sqrt() * overlap.tokens[i]
        };
        (trigger, (0..self.vocab).map(score).collect())
    }
}

/// A vector over tokens, without its mean, as a multiple of the scores of round one and a rest.
struct Projection {
    slope: f64,
    rest: Vec<f64>,
}

impl Projection {
    fn new(values: &[f64], scores: &[f64]) -> Projection {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let slope = values.iter().zip(scores).map(|(x, g)| x * g).sum::<f64>() / count;
        Projection { slope, rest: values.iter().zip(scores).map(|(x, g)| x - mean - slope * g).collect() }
    }

    /// Mean product of two rests.
    fn product(&self, other: &Projection) -> f64 {
        self.rest.iter().zip(&other.rest).map(|(a, b)| a * b).sum::<f64>() / self.rest.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::{Measure, Settings};

    use super::*;
    use crate::conditions::Subject;
    use crate::point::gaussian;
    use crate::predict;

    /// Lock rates of the second round by those of the first, from 160 seeds of an independent simulation. At V = 211 and 143 the spread
    /// of scores without the part along the first round's scores would be 1.4 times too small, and the fixed points too low by as much.
    #[test]
    fn second_round_agrees_with_simulation() {
        for (sizes, fixed_point, seen) in [
            ([211.0, 81.0, 131.0, 633.0], 0.146, [(0.05, 0.1, 0.041), (0.1, 0.2, 0.160), (0.3, 0.4, 0.694)]),
            ([143.0, 42.0, 68.0, 429.0], 0.168, [(0.05, 0.1, 0.035), (0.1, 0.2, 0.117), (0.3, 0.4, 0.625)]),
        ] {
            let [vocab, dim, length, samples] = sizes;
            let rounds = Rounds::at(&gaussian(vocab, dim, length, samples));
            for (low, high, seen) in seen {
                let group = rounds.rates.iter().filter(|rates| (low..high).contains(&rates[0]));
                let second: Vec<f64> = group.map(|rates| rates[1]).collect();
                let mean = second.iter().sum::<f64>() / second.len() as f64;
                assert!((mean - seen).abs() < 0.1, "V = {vocab}, {low} to {high}: {mean}, seen {seen}");
            }
            let ratio = fixed_point / rounds.fixed_point().unwrap();
            assert!((0.83..1.2).contains(&ratio), "V = {vocab}: {ratio}");
        }
    }

    #[test]
    fn without_runs_on_both_sides_there_is_no_fixed_point() {
        let rounds = Rounds::at(&gaussian(200.0, 100.0, 8.0, 5000.0));
        assert!(rounds.means()[1] > 0.999 && rounds.fixed_point().is_none());
    }

    #[test]
    fn extreme_sizes_give_rates() {
        for (vocab, dim, length, samples) in
            [(2.0, 1.0, 2.0, 1.0), (300.0, 1.0, 1e5, 1.0), (2.0, 1e4, 2.0, 1e9), (50.0, 1e4, 1e4, 3.0)]
        {
            let law = Law::at(&gaussian(vocab, dim, length, samples));
            let rates = (0..20).flat_map(|number| law.run(number));
            rates.for_each(|rate| assert!((0.0..=1.0).contains(&rate), "V = {vocab}, d = {dim}: {rate}"));
        }
    }

    #[test]
    fn predicted_for_two_rounds_from_zero() {
        let trigger = Trigger::Keys;
        let two = Settings {
            vocab: 143,
            dim: 42,
            length: 68,
            samples: 429,
            trigger,
            rounds: 2,
            ..Settings::default()
        };
        let at = |settings: Settings| {
            let prediction = predict(&settings.check().unwrap());
            let condition =
                prediction.conditions.iter().any(|condition| condition.subject == Subject::Rounds);
            (prediction.measures[Measure::LockRate].is_some(), condition)
        };
        assert_eq!(at(Settings { rounds: 1, ..two.clone() }), (true, false));
        assert_eq!(at(two.clone()), (true, true));
        assert_eq!(at(Settings { rounds: 3, ..two.clone() }), (false, true));
        let others = [
            Settings { accumulate: true, ..two.clone() },
            Settings { gamma: Some(1.0), ..two.clone() },
            Settings { trigger: Trigger::Values, ..two.clone() },
            Settings { width: Some(64), ..two.clone() },
            Settings { zipf: Some(1.0), ..two.clone() },
            Settings { lead: 1.0, ..two },
        ];
        others.into_iter().for_each(|settings| assert_eq!(at(settings), (false, false)));
    }

    #[test]
    fn moments_are_those_of_marchenko_and_pastur() {
        let c = 0.5;
        let m = moments(c);
        assert_eq!(m[..4], [1.0, 1.0, 1.0 + c, 1.0 + 3.0 * c + c * c]);
        assert!(
            (m[6] - (1.0 + 15.0 * c + 50.0 * c.powi(2) + 50.0 * c.powi(3) + 15.0 * c.powi(4) + c.powi(5)))
                .abs()
                < 1e-12
        );
    }
}
