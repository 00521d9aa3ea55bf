//! Token distributions: uniform, or Zipf's law with an alias table (Walker 1977, Vose 1991).

use crate::random::{below, unit};

/// A distribution over `0..size`.
#[derive(Clone, Debug)]
pub enum Distribution {
    /// All equally likely.
    Uniform(u32),
    /// Given probabilities, with their alias table.
    Weighted {
        /// Probability of each outcome.
        probability: Vec<f64>,
        /// Probability that column v of the alias table yields v itself.
        keep: Vec<f64>,
        /// The outcome of column v otherwise.
        alias: Vec<u32>,
    },
}

impl Distribution {
    /// Uniform, or `P(v)` proportional to `(v + 1)^-zipf`.
    pub fn new(size: usize, zipf: Option<f64>) -> Distribution {
        match zipf {
            Some(exponent) if exponent != 0.0 => {
                Distribution::weighted((1..=size).map(|rank| libm::pow(rank as f64, -exponent)).collect())
            }
            _ => Distribution::Uniform(size as u32),
        }
    }

    fn weighted(weights: Vec<f64>) -> Distribution {
        let size = weights.len();
        let total: f64 = weights.iter().sum();
        let probability: Vec<f64> = weights.iter().map(|w| w / total).collect();
        let mut keep: Vec<f64> = probability.iter().map(|p| p * size as f64).collect();
        let mut alias: Vec<u32> = (0..size as u32).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..size).partition(|&v| keep[v] < 1.0);
        while let (Some(&under), Some(&over)) = (small.last(), large.last()) {
            small.pop();
            alias[under] = over as u32;
            keep[over] -= 1.0 - keep[under];
            if keep[over] < 1.0 {
                large.pop();
                small.push(over);
            }
        }
        // The rest differs from 1 by rounding only.
        for v in small.into_iter().chain(large) {
            keep[v] = 1.0;
        }
        Distribution::Weighted { probability, keep, alias }
    }

    /// Number of outcomes.
    pub fn size(&self) -> usize {
        match self {
            Distribution::Uniform(size) => *size as usize,
            Distribution::Weighted { probability, .. } => probability.len(),
        }
    }

    /// Probability of outcome v.
    pub fn probability(&self, v: usize) -> f64 {
        match self {
            Distribution::Uniform(size) => 1.0 / f64::from(*size),
            Distribution::Weighted { probability, .. } => probability[v],
        }
    }

    /// The number of random words that one draw takes.
    pub fn words(&self) -> usize {
        match self {
            Distribution::Uniform(_) => 1,
            Distribution::Weighted { .. } => 2,
        }
    }

    /// One outcome from [`Distribution::words`] words.
    #[inline]
    pub fn draw(&self, words: &[u32]) -> u32 {
        match self {
            Distribution::Uniform(size) => below(words[0], *size),
            Distribution::Weighted { keep, alias, .. } => {
                let column = below(words[0], keep.len() as u32) as usize;
                // The second word decides; a resolution of 2^-32 is far below any sampling error.
                if unit(0, words[1]) < keep[column] { column as u32 } else { alias[column] }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alias_table_holds_the_probabilities() {
        for (size, exponent) in [(2, 0.5), (7, 1.0), (100, 2.0), (1000, 1.2)] {
            let Distribution::Weighted { probability, keep, alias } = Distribution::new(size, Some(exponent))
            else {
                panic!("not weighted");
            };
            let mut mass = vec![0.0; size];
            for v in 0..size {
                mass[v] += keep[v] / size as f64;
                mass[alias[v] as usize] += (1.0 - keep[v]) / size as f64;
            }
            for v in 0..size {
                assert!((mass[v] - probability[v]).abs() < 1e-12, "outcome {v} of {size}");
                let ratio = probability[0] / probability[v];
                assert!((ratio / ((v + 1) as f64).powf(exponent) - 1.0).abs() < 1e-12);
            }
        }
    }
}
