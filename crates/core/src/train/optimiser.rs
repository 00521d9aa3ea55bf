//! SGD, Adam, AdamW and Muon as in PyTorch, except that Muon updates vectors by AdamW.
//!
//! An [`Update`] holds the hyperparameters and a [`Moments`] the state for one tensor, so that a checkpoint consists of the
//! parameters and their moments. Elementwise arithmetic is in `f64`; Muon's matrix products use the parameters' type. Nothing
//! depends on the number of threads.

use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Real, Result, View};
use crate::config::{Optimiser, Training};
use crate::numeric::transposed;

impl Optimiser {
    /// The default momentum, that of PyTorch.
    pub fn momentum(self) -> f64 {
        if self == Optimiser::Muon { 0.95 } else { 0.0 }
    }
}

/// An optimiser with its hyperparameters. The rate is an argument of each step, since it may follow a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// The rule.
    pub optimiser: Optimiser,
    /// Share of the last step's direction that is kept, by SGD and Muon.
    pub momentum: f64,
    /// Share of Adam's mean gradient that is kept (`beta_1`).
    pub first_decay: f64,
    /// Share of Adam's mean squared gradient that is kept (`beta_2`).
    pub second_decay: f64,
    /// The number that Adam adds to the root of the mean squared gradient.
    pub epsilon: f64,
    /// Weight decay.
    pub weight_decay: f64,
}

impl Update {
    /// The optimiser with the defaults of PyTorch, without weight decay.
    pub fn new(optimiser: Optimiser) -> Update {
        Update {
            optimiser,
            momentum: optimiser.momentum(),
            first_decay: 0.9,
            second_decay: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
        }
    }

    /// The optimiser of a training.
    pub fn of(training: &Training) -> Update {
        Update {
            momentum: training.momentum.unwrap_or(training.optimiser.momentum()),
            weight_decay: training.weight_decay,
            ..Update::new(training.optimiser)
        }
    }

    /// One step against `gradient`. The tensor has rows of `columns` entries; a vector is one row or one column.
    pub fn step<T: Real>(
        &self,
        moments: &mut Moments,
        parameters: &mut [T],
        columns: usize,
        gradient: &[f64],
        rate: f64,
        backend: &Backend,
    ) -> Result<()> {
        assert_eq!(parameters.len(), gradient.len(), "a gradient for every parameter");
        moments.steps += 1;
        match self.optimiser {
            Optimiser::Sgd => self.sgd(moments, parameters, gradient, rate),
            Optimiser::Muon if is_matrix(parameters.len(), columns) => {
                self.muon(moments, parameters, columns, gradient, rate, backend)?
            }
            Optimiser::Adam | Optimiser::AdamW | Optimiser::Muon => {
                self.adam(moments, parameters, gradient, rate)
            }
        }
        Ok(())
    }

    fn sgd<T: Real>(&self, moments: &mut Moments, parameters: &mut [T], gradient: &[f64], rate: f64) {
        let entries = parameters.iter_mut().zip(gradient);
        if self.momentum == 0.0 {
            return entries.for_each(|(p, g)| {
                let wide = p.to_f64();
                *p = T::from_f64(wide - rate * (g + self.weight_decay * wide));
            });
        }
        moments.first.resize(gradient.len(), 0.0);
        for ((p, g), kept) in entries.zip(&mut moments.first) {
            let wide = p.to_f64();
            *kept = self.momentum * *kept + (g + self.weight_decay * wide);
            *p = T::from_f64(wide - rate * *kept);
        }
    }

    fn adam<T: Real>(&self, moments: &mut Moments, parameters: &mut [T], gradient: &[f64], rate: f64) {
        moments.first.resize(gradient.len(), 0.0);
        moments.second.resize(gradient.len(), 0.0);
        let (b1, b2) = (self.first_decay, self.second_decay);
        let AdamFactors { inside, outside, step, root } = self.adam_factors(moments.steps, rate);
        let means = moments.first.iter_mut().zip(&mut moments.second);
        for ((p, g), (first, second)) in parameters.iter_mut().zip(gradient).zip(means) {
            let wide = p.to_f64();
            let g = g + inside * wide;
            *first = b1 * *first + (1.0 - b1) * g;
            *second = b2 * *second + (1.0 - b2) * g * g;
            *p = T::from_f64(wide * (1.0 - outside) - step * *first / (second.sqrt() / root + self.epsilon));
        }
    }

    /// The numbers of Adam's step `steps`, counted from 1, that all parameters share.
    pub fn adam_factors(&self, steps: u64, rate: f64) -> AdamFactors {
        // Adam adds the decay to the gradient, AdamW subtracts it from the parameter.
        let (inside, outside) = match self.optimiser {
            Optimiser::Adam => (self.weight_decay, 0.0),
            Optimiser::AdamW | Optimiser::Muon | Optimiser::Sgd => (0.0, rate * self.weight_decay),
        };
        // Both means start at 0 and are biased by a known factor, which this corrects.
        let begun = |decay: f64| 1.0 - power(decay, steps);
        AdamFactors {
            inside,
            outside,
            step: rate / begun(self.first_decay),
            root: begun(self.second_decay).sqrt(),
        }
    }

    fn muon<T: Real>(
        &self,
        moments: &mut Moments,
        parameters: &mut [T],
        columns: usize,
        gradient: &[f64],
        rate: f64,
        backend: &Backend,
    ) -> Result<()> {
        moments.first.resize(gradient.len(), 0.0);
        let kept = self.momentum;
        let nesterov = |(g, first): (&f64, &mut f64)| {
            *first = kept * *first + (1.0 - kept) * g;
            kept * *first + (1.0 - kept) * g
        };
        let direction: Vec<f64> = gradient.iter().zip(&mut moments.first).map(nesterov).collect();
        let rows = gradient.len() / columns;
        let direction = orthogonalise::<T>(&direction, rows, columns, backend)?;
        let step = rate * (rows as f64 / columns as f64).max(1.0).sqrt();
        for (p, u) in parameters.iter_mut().zip(&direction) {
            *p = T::from_f64(p.to_f64() * (1.0 - rate * self.weight_decay) - step * u.to_f64());
        }
        Ok(())
    }
}

/// See [`Update::adam_factors`].
#[derive(Clone, Copy, Debug)]
pub struct AdamFactors {
    /// Share of the parameter that is added to its gradient.
    pub inside: f64,
    /// Share of the parameter that is subtracted from it.
    pub outside: f64,
    /// The rate, corrected for the bias of the mean gradient.
    pub step: f64,
    /// The root of the correction of the mean squared gradient.
    pub root: f64,
}

/// Whether a tensor of `size` entries in rows of `columns` is a matrix; otherwise it is a vector, which Muon updates by AdamW.
pub fn is_matrix(size: usize, columns: usize) -> bool {
    columns > 1 && size > columns
}

/// The coefficients of a round of Muon's iteration, those of its author, chosen for speed at small singular values.
pub const MUON_ROUND: [f64; 3] = [3.4445, -4.775, 2.0315];
/// Rounds of the iteration.
pub const MUON_ROUNDS: usize = 5;
/// The norm by which a matrix is divided before the first round is at least this.
pub const MUON_MIN_NORM: f64 = 1e-7;

/// Five rounds of the Newton-Schulz iteration, `X <- a X + (b G + c G^2) X` with `G = X X^T`: singular values go to
/// between 0.7 and 1.2.
fn orthogonalise<T: Real>(matrix: &[f64], rows: usize, columns: usize, backend: &Backend) -> Result<Vec<T>> {
    let [a, b, c] = MUON_ROUND.map(T::from_f64);
    let norm = matrix.iter().map(|x| x * x).sum::<f64>().sqrt().max(MUON_MIN_NORM);
    let mut x: Vec<T> = matrix.iter().map(|x| T::from_f64(x / norm)).collect();
    // The Gram matrix over the shorter side.
    let tall = rows > columns;
    let (short, long) = if tall { (columns, rows) } else { (rows, columns) };
    if tall {
        x = transposed(&x, columns);
    }
    let mut gram = vec![T::ZERO; short * short];
    let mut square = vec![T::ZERO; short * short];
    let mut next = vec![T::ZERO; matrix.len()];
    for _ in 0..MUON_ROUNDS {
        let view = View::new(&x, short, long);
        backend.product(&mut gram, view, view.t())?;
        let g = View::new(&gram, short, short);
        backend.product(&mut square, g, g)?;
        square.iter_mut().zip(&gram).for_each(|(s, &g)| *s = b * g + c * *s);
        backend.product(&mut next, View::new(&square, short, short), view)?;
        x.iter_mut().zip(&next).for_each(|(x, &next)| *x = a * *x + next);
    }
    Ok(if tall { transposed(&x, rows) } else { x })
}

/// `x^n` by repeated squaring, with the same bits on every machine, which the system's `pow` does not guarantee.
fn power(x: f64, n: u64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, x, n);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

/// The state of an optimiser for one tensor. Vectors are empty until a step needs them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Steps taken.
    pub steps: u64,
    /// Momentum, or Adam's mean gradient.
    pub first: Vec<f64>,
    /// Adam's mean squared gradient.
    pub second: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn muon_sets_singular_values_near_one() {
        // Rows of a diagonal matrix, wide and tall: its singular values are its entries.
        for (rows, columns) in [(3, 5), (5, 3)] {
            let mut matrix = vec![0.0; rows * columns];
            for (i, value) in [2.0, 0.5, 0.1].into_iter().enumerate() {
                matrix[i * columns + i] = value;
            }
            let result = orthogonalise::<f64>(&matrix, rows, columns, &Backend::single()).unwrap();
            for (i, x) in result.iter().enumerate() {
                let range = if i / columns == i % columns { 0.6..1.3 } else { -1e-12..1e-12 };
                assert!(range.contains(x), "{rows} x {columns}, entry {i}: {x}");
            }
        }
    }

    #[test]
    fn power_is_repeated_multiplication() {
        for n in [0, 1, 2, 5, 13, 100] {
            assert!((power(0.97, n) / (0..n).fold(1.0, |p, _| p * 0.97) - 1.0).abs() < 1e-13);
        }
    }
}
