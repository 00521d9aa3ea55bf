//! Attention scores from the attention matrices, and the gradients of these matrices from derivatives of the scores.
//!
//! The score of position i is `x_i . q_i`. Without rotary encoding all positions share the query `q_i = W z_eos`. With rotary
//! encoding keys and query are rotated, the query as at the end of the sequence; hence `q_i` is `W z_eos` rotated by `L - i`, or
//! `K^T` times the rotated `Q z_eos` if `W` is factored. The table of token scores has one row, or one per position if rotary.

use crate::backend::{Backend, Real, Result, View, narrow, wide};
use crate::config::Positions;

use super::network::{Network, Tensor};
use super::positions::turn;

/// One head's queries and the scores that follow.
pub struct Scores<T> {
    /// The query before the key matrix: `W z_eos`, or `Q z_eos` with factors.
    asked: Vec<f64>,
    /// `q_i`: one row, or one per position.
    pub queries: Vec<T>,
    /// Score of each token, for each row of `queries`.
    pub tokens: Vec<T>,
    /// The score that the trigger adds, for each row of `queries`.
    pub trigger: Vec<T>,
    /// The score that each position adds; empty without added positions.
    pub positions: Vec<T>,
}

impl<T: Real> Scores<T> {
    pub fn of(network: &Network<T>, backend: &Backend) -> Result<Vec<Scores<T>>> {
        (0..network.heads).map(|k| Scores::of_head(network, k, backend)).collect()
    }

    fn of_head(network: &Network<T>, k: usize, backend: &Backend) -> Result<Scores<T>> {
        let dim = network.dim();
        let asked = network.asked(k);
        let query = |i| {
            let asked = turned(network, &asked, i, 1.0);
            match network.is_factored() {
                true => narrow(&transposed_times(network.of_head(Tensor::Key, k), dim, &asked)),
                false => narrow(&asked),
            }
        };
        let queries: Vec<T> = (0..query_rows(network)).flat_map(query).collect();
        let rows = View::new(&queries, queries.len() / dim, dim);
        let against = |tensor: Tensor| {
            let with = network.view(tensor);
            let mut scores = vec![T::ZERO; rows.rows() * with.rows()];
            backend.product(&mut scores, rows, with.t())?;
            Ok(scores)
        };
        let (tokens, trigger) = (against(Tensor::ZIn)?, against(Tensor::ZTrig)?);
        let positions = match network.tensor(Tensor::Positions) {
            [] => Vec::new(),
            _ => against(Tensor::Positions)?,
        };
        Ok(Scores { asked, queries, tokens, trigger, positions })
    }

    /// The row of the tables that position `i` reads.
    #[inline]
    pub fn row(&self, i: usize) -> usize {
        if self.trigger.len() == 1 { 0 } else { i }
    }
}

/// Sums over samples of the coefficients `-dL/ds_i` of one head, by the source of the score.
#[derive(Clone, Debug)]
pub struct ScoreSums {
    /// By token, for each row of the queries.
    pub tokens: Vec<f64>,
    /// At the informative positions, for each row of the queries.
    pub trigger: Vec<f64>,
    /// By position; empty where none is added.
    pub positions: Vec<f64>,
}

impl ScoreSums {
    pub fn new<T: Real>(network: &Network<T>) -> ScoreSums {
        let (rows, dim) = (query_rows(network), network.dim());
        ScoreSums {
            tokens: vec![0.0; rows * network.tensor(Tensor::ZIn).len() / dim],
            trigger: vec![0.0; rows],
            positions: vec![0.0; network.tensor(Tensor::Positions).len() / dim],
        }
    }

    pub fn merge(&mut self, other: &ScoreSums) {
        let pairs = [
            (&mut self.tokens, &other.tokens),
            (&mut self.trigger, &other.trigger),
            (&mut self.positions, &other.positions),
        ];
        for (sum, part) in pairs {
            sum.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        }
    }

    /// The derivative by the queries, row by row: `sum_v tokens[v] z_in[v] + trigger z_trig + sum_i positions[i] p_i`.
    fn by_queries<T: Real>(&self, network: &Network<T>, backend: &Backend) -> Result<Vec<Vec<f64>>> {
        let tokens = self.tokens.len() / self.trigger.len();
        backend.map(self.trigger.len(), |i| {
            let mut sum = vec![0.0; network.dim()];
            add_weighted(&mut sum, &self.tokens[i * tokens..][..tokens], network.tensor(Tensor::ZIn));
            add_weighted(&mut sum, &self.trigger[i..=i], network.tensor(Tensor::ZTrig));
            add_weighted(&mut sum, &self.positions, network.tensor(Tensor::Positions));
            sum
        })
    }

    /// Adds this head's derivatives with respect to the attention matrices, the end-of-sequence vector and the vectors that queries are
    /// multiplied with, by calls of `add(tensor, offset, values)`.
    pub fn back<T: Real>(
        &self,
        network: &Network<T>,
        k: usize,
        scores: &Scores<T>,
        backend: &Backend,
        add: &mut dyn FnMut(Tensor, usize, &[f64]),
    ) -> Result<()> {
        let dim = network.dim();
        let eos = network.tensor(Tensor::ZEos);
        let mut by_asked = vec![0.0; scores.asked.len()];
        for (i, by_query) in self.by_queries(network, backend)?.into_iter().enumerate() {
            let by_turned = if network.is_factored() {
                let key = network.of_head(Tensor::Key, k);
                let first = k * key.len();
                for (r, asked) in turned(network, &scores.asked, i, 1.0).into_iter().enumerate() {
                    let row: Vec<f64> = by_query.iter().map(|g| asked * g).collect();
                    add(Tensor::Key, first + r * dim, &row);
                }
                times(key, dim, &by_query)
            } else {
                by_query
            };
            let back = turned(network, &by_turned, i, -1.0);
            by_asked.iter_mut().zip(back).for_each(|(sum, x)| *sum += x);
        }
        let matrix = if network.is_factored() { Tensor::Query } else { Tensor::W };
        let first = k * by_asked.len() * dim;
        for (r, g) in by_asked.iter().enumerate() {
            let row: Vec<f64> = eos.iter().map(|z| g * z.to_f64()).collect();
            add(matrix, first + r * dim, &row);
        }
        add(Tensor::ZEos, 0, &transposed_times(network.of_head(matrix, k), dim, &by_asked));

        let queries = wide(&scores.queries);
        let rows = self.trigger.len();
        if network.trains(Tensor::ZIn) {
            let tokens = self.tokens.len() / rows;
            for v in 0..tokens {
                let mut sum = vec![0.0; dim];
                for i in 0..rows {
                    let (weight, query) = (self.tokens[i * tokens + v], &queries[i * dim..][..dim]);
                    sum.iter_mut().zip(query).for_each(|(s, q)| *s += weight * q);
                }
                add(Tensor::ZIn, v * dim, &sum);
            }
        }
        for (weight, query) in self.trigger.iter().zip(queries.chunks_exact(dim)) {
            let scaled: Vec<f64> = query.iter().map(|q| weight * q).collect();
            add(Tensor::ZTrig, 0, &scaled);
        }
        for (i, weight) in self.positions.iter().enumerate() {
            let scaled: Vec<f64> = queries[..dim].iter().map(|q| weight * q).collect();
            add(Tensor::Positions, i * dim, &scaled);
        }
        Ok(())
    }
}

fn query_rows<T: Real>(network: &Network<T>) -> usize {
    if network.encoding == Positions::Rotary { network.length } else { 1 }
}

/// A vector at position `i`: with rotary positions rotated by its distance from the end, in the direction of `sense`.
fn turned<T: Real>(network: &Network<T>, x: &[f64], i: usize, sense: f64) -> Vec<f64> {
    let mut x = x.to_vec();
    if network.encoding == Positions::Rotary {
        turn(&mut x, sense * (network.length - i) as f64);
    }
    x
}

pub(super) fn transposed_times<T: Real>(matrix: &[T], dim: usize, x: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; dim];
    add_weighted(&mut sum, x, matrix);
    sum
}

fn times<T: Real>(matrix: &[T], dim: usize, x: &[f64]) -> Vec<f64> {
    let row = |row: &[T]| row.iter().zip(x).map(|(a, b)| a.to_f64() * b).sum();
    matrix.chunks_exact(dim).map(row).collect()
}

/// `sum += sum_r weights[r] rows[r]`.
fn add_weighted<T: Real>(sum: &mut [f64], weights: &[f64], rows: &[T]) {
    for (row, weight) in rows.chunks_exact(sum.len()).zip(weights) {
        sum.iter_mut().zip(row).for_each(|(s, x)| *s += weight * x.to_f64());
    }
}
