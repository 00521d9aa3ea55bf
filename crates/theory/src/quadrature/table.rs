//! A table of a smooth function of one number.

/// Number of points that a value is interpolated from.
const STENCIL: usize = 6;

/// Values on a regular grid, interpolated by polynomials of degree five through the nearest points.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    first: f64,
    /// Intervals per unit.
    per_unit: f64,
    /// Coefficients of the polynomial of every interval, the constant first, in units of the interval.
    pieces: Vec<[f64; STENCIL]>,
    /// The value at the end.
    last: f64,
}

impl Table {
    /// Tabulates `f` from `first` to `last` in steps of at most `step`.
    pub fn new(first: f64, last: f64, step: f64, mut f: impl FnMut(f64) -> f64) -> Table {
        let intervals = ((last - first) / step).ceil().max(STENCIL as f64 - 1.0);
        let step = (last - first) / intervals;
        let values = (0..=intervals as u32).map(|i| f(first + step * f64::from(i))).collect();
        Table::of(first, step, values)
    }

    /// The table of at least six given values, the first at `first`, the others `step` apart.
    pub fn of(first: f64, step: f64, values: Vec<f64>) -> Table {
        debug_assert!(values.len() >= STENCIL);
        let piece = |interval: usize| {
            let left = interval.saturating_sub(STENCIL / 2 - 1).min(values.len() - STENCIL);
            let nearest = std::array::from_fn(|i| values[left + i]);
            through(nearest, (interval - left) as f64)
        };
        let pieces = (0..values.len() - 1).map(piece).collect();
        Table { first, per_unit: 1.0 / step, pieces, last: values[values.len() - 1] }
    }

    /// The function at x; outside the table, its value at the nearer end.
    #[inline]
    pub fn at(&self, x: f64) -> f64 {
        let place = ((x - self.first) * self.per_unit).max(0.0);
        let interval = place as usize;
        let u = place - interval as f64;
        match self.pieces.get(interval) {
            Some(piece) => piece.iter().rev().fold(0.0, |sum, c| sum * u + c),
            None => self.last,
        }
    }
}

/// The polynomial in u that has the given values at `u + start = 0, 1, .. 5`: Newton's, by differences, multiplied out.
fn through(mut values: [f64; STENCIL], start: f64) -> [f64; STENCIL] {
    // Divided differences: the one of order i ends up at place i.
    for order in 1..STENCIL {
        for i in (order..STENCIL).rev() {
            values[i] = (values[i] - values[i - 1]) / order as f64;
        }
    }
    let mut polynomial = [0.0; STENCIL];
    for i in (0..STENCIL).rev() {
        let shift = start - i as f64;
        for k in (1..STENCIL).rev() {
            polynomial[k] = polynomial[k] * shift + polynomial[k - 1];
        }
        polynomial[0] = polynomial[0] * shift + values[i];
    }
    polynomial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_of_degree_five_are_exact() {
        let f = |x: f64| x.powi(5) - 3.0 * x.powi(2) + 1.0;
        let table = Table::new(-1.0, 2.0, 0.4, f);
        for x in [-1.0, -0.93, 0.0, 0.777, 1.9, 2.0] {
            assert!((table.at(x) - f(x)).abs() < 1e-12, "{x}");
        }
        assert!((table.at(3.0) - f(2.0)).abs() < 1e-12 && (table.at(-3.0) - f(-1.0)).abs() < 1e-12);
    }
}
