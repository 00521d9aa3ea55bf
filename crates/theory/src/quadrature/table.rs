//! A smooth function of one number, tabulated once and then looked up.

/// Points that a value is interpolated from.
const STENCIL: usize = 6;

/// Values on a regular grid, with a polynomial of degree five through the nearest points in between.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    first: f64,
    /// Points per unit.
    per_unit: f64,
    values: Vec<f64>,
}

impl Table {
    /// Tabulates `f` from `first` to `last` in steps of at most `step`.
    pub fn new(first: f64, last: f64, step: f64, mut f: impl FnMut(f64) -> f64) -> Table {
        let intervals = ((last - first) / step).ceil().max(STENCIL as f64 - 1.0);
        let step = (last - first) / intervals;
        let values = (0..=intervals as u32).map(|i| f(first + step * f64::from(i))).collect();
        Table::of(first, step, values)
    }

    /// Values that were found already: the first at `first`, the others `step` apart, at least six of them.
    pub fn of(first: f64, step: f64, values: Vec<f64>) -> Table {
        debug_assert!(values.len() >= STENCIL);
        Table { first, per_unit: 1.0 / step, values }
    }

    /// The function at x; beyond the table, its value at the end.
    #[inline]
    pub fn at(&self, x: f64) -> f64 {
        let place = (x - self.first) * self.per_unit;
        let last = self.values.len() - 1;
        if place <= 0.0 {
            return self.values[0];
        }
        if place >= last as f64 {
            return self.values[last];
        }
        let left = (place as usize).saturating_sub(STENCIL / 2 - 1).min(self.values.len() - STENCIL);
        let u = place - left as f64;
        // Weights of Lagrange's formula at 0, 1, .. 5: products of the distances to the other points.
        let d: [f64; STENCIL] = std::array::from_fn(|i| u - i as f64);
        let (low, middle, high) = (d[0] * d[1], d[2] * d[3], d[4] * d[5]);
        // Products with constants: a division takes as long as all the rest.
        const A: f64 = 1.0 / 120.0;
        const B: f64 = 1.0 / 24.0;
        const C: f64 = 1.0 / 12.0;
        let weights = [
            -A * d[1] * middle * high,
            B * d[0] * middle * high,
            -C * low * d[3] * high,
            C * low * d[2] * high,
            -B * low * middle * d[5],
            A * low * middle * d[4],
        ];
        weights.iter().zip(&self.values[left..]).map(|(weight, value)| weight * value).sum()
    }
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
