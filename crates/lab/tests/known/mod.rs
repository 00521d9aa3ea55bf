//! Simulated curves with known crossings, on which the threshold search and its intervals are checked.
//!
//! The family covers hard cases: normal, logistic and skewed curves with floors and ceilings; the theory's own predicted curves;
//! gentle and steep slopes; seeds that agree and seeds that differ widely; runs that lock or do not; sizes that help and sizes that
//! hurt; predictions that are right, slightly off, and wrong by a factor of three. The tests and the example `coverage` share it.
#![allow(dead_code)]

use std::f64::consts::FRAC_1_SQRT_2;

use statrs::function::erf::erfc;
use superpose_core::config::{Activation, Embedding, Trigger};
use superpose_core::random::{Stream, Words, normal_quantile, unit};
use superpose_theory::critical::Recall;
use superpose_theory::{Point, Zipf};

use superpose_lab::threshold::{Plan, Search, Step, Threshold, slope_of};

/// The normal CDF.
fn cdf(z: f64) -> f64 {
    0.5 * erfc(-z * FRAC_1_SQRT_2)
}

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Dice {
    words: Words,
    drawn: u32,
}

impl Dice {
    /// Returns the sequence of a seed and an index.
    pub fn new(seed: u64, index: u64) -> Dice {
        Dice { words: Words::new(seed, Stream::Test, index), drawn: 0 }
    }

    /// Draws uniformly between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        let block = self.words.block(self.drawn);
        self.drawn += 1;
        unit(block[0], block[1])
    }

    /// Draws uniformly from a range.
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Draws one of several items.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[((self.uniform() * items.len() as f64) as usize).min(items.len() - 1)]
    }

    /// Draws from the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.uniform())
    }

    /// Draws from the gamma distribution with the given shape (Marsaglia and Tsang 2000).
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * self.uniform().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// Draws from the beta distribution with the given mean and variance `spread * mean (1 - mean)`.
    fn beta(&mut self, mean: f64, spread: f64) -> f64 {
        if spread <= 0.0 || mean <= 0.0 || mean >= 1.0 {
            return mean;
        }
        let size = 1.0 / spread - 1.0;
        let (a, b) = (self.gamma(mean * size), self.gamma((1.0 - mean) * size));
        if a + b > 0.0 { a / (a + b) } else { mean }
    }
}

/// The shape of a curve, from 0 to 1.
#[derive(Clone, Debug)]
enum Shape {
    Normal,
    Logistic,
    /// Slow to leave 0.
    Late,
    /// Slow to reach 1.
    Early,
    /// Values on an even grid of x.
    Table {
        first: f64,
        step: f64,
        values: Vec<f64>,
    },
}

impl Shape {
    fn at(&self, u: f64) -> f64 {
        match self {
            Shape::Normal => cdf(u),
            Shape::Logistic => 1.0 / (1.0 + (-1.7 * u).exp()),
            Shape::Late => 1.0 - (-(1.1 * u - 0.37).exp()).exp(),
            Shape::Early => (-(-1.1 * u - 0.37).exp()).exp(),
            Shape::Table { first, step, values } => {
                let place = ((u - first) / step).clamp(0.0, (values.len() - 1) as f64);
                let i = (place as usize).min(values.len() - 2);
                values[i] + (place - i as f64) * (values[i + 1] - values[i])
            }
        }
    }
}

/// Why runs at one size differ.
#[derive(Clone, Copy, Debug)]
enum Spread {
    /// Each fact is recalled or not, independently.
    Facts,
    /// The share of a seed has a beta distribution about the mean.
    Seeds(f64),
    /// A run locks with a probability that follows its own curve, or recalls nothing.
    Locks { middle: f64, slope: f64 },
}

/// A curve with runs scattered about it.
#[derive(Clone, Debug)]
pub struct Known {
    shape: Shape,
    floor: f64,
    ceiling: f64,
    slope: f64,
    middle: f64,
    spread: Spread,
    facts: usize,
    seed: u64,
    /// The plan of the search.
    pub plan: Plan,
    /// The crossing, as a real number.
    pub crossing: f64,
}

impl Known {
    /// Draws member number `index` of the family. `tables` is the result of [`tables`].
    pub fn draw(seed: u64, index: u64, tables: &[Vec<f64>]) -> Known {
        let mut dice = Dice::new(seed, index);
        let kind = (index % 5) as usize;
        let rises = dice.uniform() < 0.7;
        let mut known = Known {
            shape: match kind {
                0 => Shape::Normal,
                1 => Shape::Logistic,
                2 => Shape::Late,
                3 => Shape::Early,
                _ => Shape::Table {
                    first: TABLE.0,
                    step: TABLE.1,
                    values: tables[dice.pick(&[0, 1, 2, 3]) % tables.len()].clone(),
                },
            },
            floor: if dice.uniform() < 0.3 { dice.within(0.0, 0.15) } else { 0.0 },
            ceiling: if dice.uniform() < 0.4 { dice.within(0.7, 1.0) } else { 1.0 },
            slope: (dice.within(0.8_f64.ln(), 6.0_f64.ln())).exp(),
            middle: dice.within(40.0_f64.ln(), 1e6_f64.ln()),
            spread: match dice.uniform() {
                u if u < 0.25 => Spread::Facts,
                u if u < 0.75 => Spread::Seeds(dice.within(0.001_f64.ln(), 0.1_f64.ln()).exp()),
                u if u < 0.85 => Spread::Seeds(dice.within(0.1_f64.ln(), 0.6_f64.ln()).exp()),
                _ => Spread::Locks { middle: dice.within(-1.0, 0.2), slope: dice.within(1.0, 4.0) },
            },
            facts: dice.within(60_f64.ln(), 2000_f64.ln()).exp() as usize,
            seed: seed ^ (index + 1) << 20,
            plan: Plan {
                target: 0.5,
                half_width: 0.05,
                range: (1, 1 << 40),
                rises,
                start: 1.0,
                slope: 1.0,
                max_runs: 400,
            },
            crossing: 0.0,
        };
        if kind == 4 {
            known.slope = 1.0;
        }
        loop {
            known.plan.target = dice.pick(&[0.5, 0.5, 0.25, 0.8, 0.9]);
            // Only targets that the curve clearly crosses.
            if known.mean(12.0) > known.plan.target + 0.04 && known.mean(-12.0) < known.plan.target - 0.04 {
                break;
            }
        }
        let (mut low, mut high) = (-12.0, 12.0);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if known.mean(middle) < known.plan.target { low = middle } else { high = middle }
        }
        let x = known.middle + if rises { low } else { -low };
        known.crossing = x.exp();
        let error = match dice.uniform() {
            u if u < 0.1 => 3.0_f64.ln() * if dice.uniform() < 0.5 { 1.0 } else { -1.0 },
            _ => 0.2 * dice.normal(),
        };
        known.plan.start = known.crossing * error.exp();
        known.plan.slope = slope_of(|v| known.share(v), known.crossing) * dice.within(0.5, 2.0);
        known
    }

    /// Returns the same curve with other runs and another start, which is off by 20%.
    pub fn again(&self, time: u64) -> Known {
        let seed = self.seed ^ (time + 1) << 48;
        let start = self.crossing * (0.2 * Dice::new(seed, u64::MAX).normal()).exp();
        Known { seed, plan: Plan { start, ..self.plan }, ..self.clone() }
    }

    /// Returns the mean share at a distance from the middle, in the direction in which it rises.
    fn mean(&self, u: f64) -> f64 {
        let share = self.floor + (self.ceiling - self.floor) * self.shape.at(self.slope * u);
        share * self.lock(u)
    }

    fn lock(&self, u: f64) -> f64 {
        match self.spread {
            Spread::Locks { middle, slope } => cdf(slope * (u - middle)),
            _ => 1.0,
        }
    }

    fn u(&self, value: f64) -> f64 {
        let u = value.ln() - self.middle;
        if self.plan.rises { u } else { -u }
    }

    /// Returns the mean share at a size.
    pub fn share(&self, value: f64) -> f64 {
        self.mean(self.u(value))
    }

    /// Returns the number of independent answers in a share.
    pub fn items(&self) -> f64 {
        self.facts as f64
    }

    /// Returns the share that run `number` measures.
    pub fn run(&self, value: u64, number: u64) -> f64 {
        let mut dice = Dice::new(self.seed, number);
        let u = self.u(value as f64);
        let lock = self.lock(u);
        let mean = self.mean(u);
        let share = match self.spread {
            Spread::Facts => mean,
            Spread::Seeds(spread) => dice.beta(mean, spread),
            Spread::Locks { .. } if dice.uniform() < lock => mean / lock,
            Spread::Locks { .. } => 0.0,
        };
        let mut words = vec![0; 2 * self.facts];
        Words::new(self.seed, Stream::Train, number).fill(0, &mut words);
        let right = words.chunks(2).filter(|w| unit(w[0], w[1]) < share).count();
        right as f64 / self.facts as f64
    }

    /// Returns whether the interval of an answer contains the crossing; `None` if the answer has no interval.
    pub fn covered(&self, answer: &Threshold) -> Option<bool> {
        let interval = answer.interval()?;
        Some(interval.low <= self.crossing && self.crossing <= interval.high)
    }

    /// Returns in words why runs differ.
    pub fn spread(&self) -> &'static str {
        match self.spread {
            Spread::Facts => "facts alone",
            Spread::Seeds(spread) if spread < 0.1 => "seeds differ",
            Spread::Seeds(_) => "seeds differ widely",
            Spread::Locks { .. } => "runs lock or do not",
        }
    }

    /// Returns the shape in words.
    pub fn shape(&self) -> &'static str {
        match self.shape {
            Shape::Normal => "normal",
            Shape::Logistic => "logistic",
            Shape::Late => "skewed, late",
            Shape::Early => "skewed, early",
            Shape::Table { .. } => "theory's own",
        }
    }

    /// Searches on this curve and returns the answer and the number of runs.
    pub fn search(&self) -> (Threshold, usize) {
        let mut search = Search::new(self.plan);
        loop {
            match search.ask() {
                Step::Run(trials) => {
                    for trial in trials {
                        search.tell(trial.value, self.run(trial.value, trial.number), self.items());
                    }
                }
                Step::Done(answer) => return (answer, search.runs()),
            }
        }
    }

    /// Bisects with `repeats` runs at each of `steps` sizes, from a factor of four to either side of the start. Returns the middle of
    /// the last range.
    pub fn bisection(&self, steps: u64, repeats: u64) -> f64 {
        let start = self.plan.start.ln();
        let (mut low, mut high) = (start - 4.0_f64.ln(), start + 4.0_f64.ln());
        for step in 0..steps {
            let middle = 0.5 * (low + high);
            let value = middle.exp().round().max(1.0) as u64;
            let number = |r: u64| (1 << 20) + step * repeats + r;
            let mean = (0..repeats).map(|r| self.run(value, number(r))).sum::<f64>() / repeats as f64;
            if (mean < self.plan.target) == self.plan.rises { low = middle } else { high = middle }
        }
        (0.5 * (low + high)).exp()
    }
}

/// First distance and step of the tables.
const TABLE: (f64, f64) = (-5.0, 0.05);

/// Returns predicted recall against the logarithm of samples, centred at one half, for four different models.
pub fn tables() -> Vec<Vec<f64>> {
    [
        (500.0, 120.0, 16.0, Trigger::Values),
        (300.0, 90.0, 64.0, Trigger::Keys),
        (1000.0, 200.0, 8.0, Trigger::Keys),
        (200.0, 64.0, 128.0, Trigger::Keys),
    ]
    .into_iter()
    .map(|(vocab, dim, length, trigger)| {
        let point = Point {
            vocab,
            dim,
            length,
            samples: 1.0,
            width: None,
            activation: Activation::Relu,
            embedding: Embedding::Gaussian,
            trigger,
            keep: None,
            lead: 4.0,
            zipf: Zipf::default(),
            rows: None,
        };
        let recall = Recall::new(&point);
        let at = |x: f64| recall.accuracy(length, x.exp().max(1.0));
        let (mut low, mut high) = (0.0, 30.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if at(middle) < 0.5 { low = middle } else { high = middle }
        }
        let mut best = 0.0_f64;
        (0..=(-2.0 * TABLE.0 / TABLE.1) as usize)
            .map(|i| {
                best = best.max(at(low + TABLE.0 + TABLE.1 * i as f64));
                best
            })
            .collect()
    })
    .collect()
}
