//! Tables of the normal distribution, for averages that evaluate it thousands of times.

use std::sync::LazyLock;

use super::{cdf, cdf_power, density, ln_cdf, survival};

/// Beyond this F is 0 or 1 to within 1e-10.
const REACH: f64 = 6.4;
/// Beyond this F is 1 to within 1e-19.
const POWER_REACH: f64 = 9.0;
/// Points of the tables of F and of its logarithm per unit.
const PER_UNIT: f64 = 32.0;
/// Beyond this a tail is 0 or 1 to within 1e-16.
const TAIL_REACH: f64 = 8.3;
/// Points of the table of the tail per unit, dense enough for relative errors of 1e-7.
const TAIL_PER_UNIT: f64 = 128.0;

/// Values and slopes, in units of the spacing, of a function from `-low` to `high`.
fn table(low: f64, high: f64, per_unit: f64, f: impl Fn(f64) -> [f64; 2]) -> Vec<[f64; 2]> {
    let at = |i: u32| {
        let [value, slope] = f(f64::from(i) / per_unit - low);
        [value, slope / per_unit]
    };
    (0..=((low + high) * per_unit) as u32 + 1).map(at).collect()
}

static TABLE: LazyLock<Vec<[f64; 2]>> =
    LazyLock::new(|| table(REACH, REACH, PER_UNIT, |x| [cdf(x), density(x)]));

/// `ln(-ln F)`, whose slope is `density / (F ln F)`.
static LOG_TABLE: LazyLock<Vec<[f64; 2]>> = LazyLock::new(|| {
    table(REACH, POWER_REACH, PER_UNIT, |x| [libm::log(-ln_cdf(x)), density(x) / (cdf(x) * ln_cdf(x))])
});

static TAIL_TABLE: LazyLock<Vec<[f64; 2]>> =
    LazyLock::new(|| table(TAIL_REACH, TAIL_REACH, TAIL_PER_UNIT, |x| [survival(x), -density(x)]));

/// The normal CDF to within 2e-9.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickCdf(&'static [[f64; 2]]);

impl QuickCdf {
    /// Beyond this the result is 0 or 1.
    pub const REACH: f64 = REACH;

    pub fn new() -> QuickCdf {
        QuickCdf(&TABLE)
    }

    /// F(x)
    #[inline]
    pub fn at(self, x: f64) -> f64 {
        if x.abs() < REACH { cubic(self.0, (x + REACH) * PER_UNIT) } else { f64::from(u8::from(x > 0.0)) }
    }
}

/// Large powers of the normal CDF to within 1e-8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickPower {
    table: &'static [[f64; 2]],
    ln_count: f64,
    count: f64,
}

impl QuickPower {
    /// The function `F(x)^count` for a positive count.
    pub fn new(count: f64) -> QuickPower {
        QuickPower { table: &LOG_TABLE, ln_count: libm::log(count), count }
    }

    /// `F(x)^count`
    #[inline]
    pub fn at(self, x: f64) -> f64 {
        if x.abs() < REACH || (x > 0.0 && x < POWER_REACH) {
            libm::exp(-libm::exp(cubic(self.table, (x + REACH) * PER_UNIT) + self.ln_count))
        } else {
            cdf_power(x, self.count)
        }
    }
}

/// The tail `1 - F` to seven digits, down to 1e-16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickTail(&'static [[f64; 2]]);

impl QuickTail {
    pub fn new() -> QuickTail {
        QuickTail(&TAIL_TABLE)
    }

    /// `1 - F(x)`
    #[inline]
    pub fn at(self, x: f64) -> f64 {
        match x.abs() < TAIL_REACH {
            true => cubic(self.0, (x + TAIL_REACH) * TAIL_PER_UNIT),
            false => f64::from(u8::from(x < 0.0)),
        }
    }
}

/// Interpolates a table at a place, in units of its spacing, by cubics through values and slopes.
#[inline]
fn cubic(table: &[[f64; 2]], place: f64) -> f64 {
    let left = place as usize;
    let u = place - left as f64;
    let ([a, slope_a], [b, slope_b]) = (table[left], table[left + 1]);
    let rise = b - a;
    a + u * (rise + (1.0 - u) * ((slope_a - rise) * (1.0 - u) - (slope_b - rise) * u))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_accurate_to_seven_digits() {
        let quick = QuickTail::new();
        for i in -8_299..=8_299 {
            let x = 1e-3 * f64::from(i);
            assert!((quick.at(x) / survival(x) - 1.0).abs() < 1e-7, "{x}");
        }
        assert_eq!((quick.at(9.0), quick.at(-9.0)), (0.0, 1.0));
    }

    #[test]
    fn powers_agree_with_exact_values() {
        for count in [1.0, 2.0, 511.0, 1e9] {
            let quick = QuickPower::new(count);
            for i in -9_000..=9_000 {
                let x = 1.1e-3 * f64::from(i);
                let (quick, exact) = (quick.at(x), cdf_power(x, count));
                assert!((quick - exact).abs() < 1e-8, "{count} {x}: {quick} {exact}");
            }
        }
    }

    #[test]
    fn cdf_agrees_with_exact_values() {
        let quick = QuickCdf::new();
        for i in -80_000..=80_000 {
            let x = 1e-4 * f64::from(i);
            assert!((quick.at(x) - cdf(x)).abs() < 2e-9, "{x}: {} {}", quick.at(x), cdf(x));
        }
        for x in [f64::INFINITY, 1e300, 6.4] {
            assert_eq!((quick.at(x), quick.at(-x)), (1.0, 0.0));
        }
        assert!(quick.at(f64::NAN) == 0.0);
    }
}
