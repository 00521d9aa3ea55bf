//! Gathers, scatters and histograms over table rows indexed by token.

use super::real::Real;

/// The weights of a gathered sum.
#[derive(Clone, Copy)]
pub enum Weights<'a, T> {
    /// One weight per token.
    Each(&'a [T]),
    /// The same weight for all.
    Equal(T),
}

/// Columns that one pass over a sample's tokens keeps in registers.
const LANES: usize = 64;

/// `out[b] = sum_i weight[b, i] * table[tokens[b, i]]` for samples of `length` tokens; rows of `table` and
/// `out` have `dim` entries.
pub fn gather_sums<T: Real>(
    out: &mut [T],
    table: &[T],
    dim: usize,
    tokens: &[u32],
    length: usize,
    weights: Weights<'_, T>,
) {
    let samples = out.chunks_exact_mut(dim).zip(tokens.chunks_exact(length));
    match weights {
        Weights::Equal(weight) => samples.for_each(|(out, tokens)| {
            sum_rows(out, table, tokens);
            out.iter_mut().for_each(|x| *x *= weight);
        }),
        Weights::Each(weights) => samples
            .zip(weights.chunks_exact(length))
            .for_each(|((out, tokens), weights)| weigh_rows(out, table, tokens, weights)),
    }
}

simd! {
    fn sum_rows<T: Real>(out: &mut [T], table: &[T], tokens: &[u32]) {
        accumulate(out, table, tokens, |_, x| x);
    }
}

simd! {
    fn weigh_rows<T: Real>(out: &mut [T], table: &[T], tokens: &[u32], weights: &[T]) {
        accumulate(out, table, tokens, |i, x| weights[i] * x);
    }
}

/// `out = sum_i term(i, table[tokens[i]])`, entry by entry.
#[inline(always)]
fn accumulate<T: Real>(out: &mut [T], table: &[T], tokens: &[u32], term: impl Fn(usize, T) -> T) {
    let dim = out.len();
    for (part, out) in out.chunks_mut(LANES).enumerate() {
        let first = part * LANES;
        let mut sum = [T::ZERO; LANES];
        if out.len() == LANES {
            for (i, &token) in tokens.iter().enumerate() {
                let row = &table[token as usize * dim + first..][..LANES];
                for lane in 0..LANES {
                    sum[lane] += term(i, row[lane]);
                }
            }
        } else {
            for (i, &token) in tokens.iter().enumerate() {
                let row = &table[token as usize * dim + first..][..out.len()];
                sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += term(i, x));
            }
        }
        out.copy_from_slice(&sum[..out.len()]);
    }
}

/// `out[b, i] = vectors[b] . table[tokens[b, i]]`.
pub fn gather_dots<T: Real>(
    out: &mut [T],
    vectors: &[T],
    table: &[T],
    dim: usize,
    tokens: &[u32],
    length: usize,
) {
    let samples = out.chunks_exact_mut(length).zip(tokens.chunks_exact(length));
    for ((out, tokens), vector) in samples.zip(vectors.chunks_exact(dim)) {
        dots(out, vector, table, tokens);
    }
}

simd! {
    fn dots<T: Real>(out: &mut [T], vector: &[T], table: &[T], tokens: &[u32]) {
        // Four rows at a time, since each addition of one row's sum would wait for the last.
        const ROWS: usize = 4;
        let whole = tokens.len() - tokens.len() % ROWS;
        let dim = vector.len();
        let row = |token: u32| &table[token as usize * dim..][..dim];
        for (out, tokens) in out.chunks_exact_mut(ROWS).zip(tokens.chunks_exact(ROWS)) {
            let rows: [&[T]; ROWS] = std::array::from_fn(|i| row(tokens[i]));
            out.copy_from_slice(&dots_of(rows, vector));
        }
        for (out, &token) in out[whole..].iter_mut().zip(&tokens[whole..]) {
            [*out] = dots_of([row(token)], vector);
        }
    }
}

/// Dot products of several rows with one vector, each in the same 16 lanes.
#[inline(always)]
pub(super) fn dots_of<T: Real, const ROWS: usize>(rows: [&[T]; ROWS], vector: &[T]) -> [T; ROWS] {
    const WIDTH: usize = 16;
    let whole = vector.len() - vector.len() % WIDTH;
    let mut sums = [[T::ZERO; WIDTH]; ROWS];
    for first in (0..whole).step_by(WIDTH) {
        let y = &vector[first..][..WIDTH];
        for (sum, row) in sums.iter_mut().zip(&rows) {
            let x = &row[first..][..WIDTH];
            for lane in 0..WIDTH {
                sum[lane] += x[lane] * y[lane];
            }
        }
    }
    for (sum, row) in sums.iter_mut().zip(&rows) {
        for (lane, (&x, &y)) in row[whole..].iter().zip(&vector[whole..]).enumerate() {
            sum[lane] += x * y;
        }
    }
    sums.map(|mut sum| {
        let mut half = WIDTH / 2;
        while half > 0 {
            for lane in 0..half {
                sum[lane] += sum[lane + half];
            }
            half /= 2;
        }
        sum[0]
    })
}

/// `out[rows[b]] += source[b]` in the order of `b`, in 64 bits.
pub fn add_rows<T: Real>(out: &mut [f64], dim: usize, rows: impl Iterator<Item = usize>, source: &[T]) {
    for (row, source) in rows.zip(source.chunks_exact(dim)) {
        out[row * dim..][..dim].iter_mut().zip(source).for_each(|(sum, &x)| *sum += x.to_f64());
    }
}

simd! {
    /// `out[tokens[i]] += weights[i] * vector` in the order of `i`, in 64 bits; rows of `out` are as long as `vector`.
    pub fn scatter_rows<T: Real>(out: &mut [f64], tokens: &[u32], weights: &[T], vector: &[T]) {
        let dim = vector.len();
        for (&token, weight) in tokens.iter().zip(weights) {
            let weight = weight.to_f64();
            for (sum, x) in out[token as usize * dim..][..dim].iter_mut().zip(vector) {
                *sum += weight * x.to_f64();
            }
        }
    }
}

/// `counts[token] += weight` for every token.
pub fn histogram<T: Real>(counts: &mut [f64], tokens: &[u32], weights: Weights<'_, T>) {
    match weights {
        Weights::Equal(weight) => {
            let weight = weight.to_f64();
            tokens.iter().for_each(|&token| counts[token as usize] += weight);
        }
        Weights::Each(weights) => {
            let pairs = tokens.iter().zip(weights);
            pairs.for_each(|(&token, weight)| counts[token as usize] += weight.to_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathers_agree_with_the_definition() {
        for dim in [1, 3, 16, 64, 70, 128, 200] {
            let (rows, length, samples) = (11, 5, 4);
            let table: Vec<f64> = (0..rows * dim).map(|i| (i as f64 * 0.37).sin()).collect();
            let vectors: Vec<f64> = (0..samples * dim).map(|i| (i as f64 * 0.73).cos()).collect();
            let tokens: Vec<u32> = (0..samples * length).map(|i| (i * i % rows) as u32).collect();
            let weights: Vec<f64> = (0..samples * length).map(|i| 0.1 + i as f64).collect();
            let row = |token: u32| &table[token as usize * dim..][..dim];

            let mut sums = vec![0.0; samples * dim];
            gather_sums(&mut sums, &table, dim, &tokens, length, Weights::Each(&weights));
            let mut equal = vec![0.0; samples * dim];
            gather_sums(&mut equal, &table, dim, &tokens, length, Weights::Equal(0.5));
            let mut dots = vec![0.0; samples * length];
            gather_dots(&mut dots, &vectors, &table, dim, &tokens, length);
            for b in 0..samples {
                let mine = b * length..(b + 1) * length;
                for c in 0..dim {
                    let sum: f64 = mine.clone().map(|i| weights[i] * row(tokens[i])[c]).sum();
                    assert!((sums[b * dim + c] - sum).abs() < 1e-12);
                    let sum: f64 = mine.clone().map(|i| 0.5 * row(tokens[i])[c]).sum();
                    assert!((equal[b * dim + c] - sum).abs() < 1e-12);
                }
                for i in mine {
                    let dot: f64 = row(tokens[i]).iter().zip(&vectors[b * dim..]).map(|(x, y)| x * y).sum();
                    assert!((dots[i] - dot).abs() < 1e-12);
                }
            }
        }
    }
}
