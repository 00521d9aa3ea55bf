//! The two floating-point types.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A floating-point type of the large arrays: `f32` or `f64`.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// Minus infinity
    const LOWEST: Self;
    /// The distance from 1 to the next number
    const EPSILON: f64;

    /// Rounds to this type.
    fn from_f64(x: f64) -> Self;

    /// Widens, without loss.
    fn to_f64(self) -> f64;

    /// `e^x` for `x <= 0`, branch-free and without fused operations, so that loops over it vectorise and
    /// give the same bits on every machine. Relative error below 2 units in the last place down to
    /// `x = -87` (`f32`) or `-708` (`f64`), where the result stays from there on.
    fn exp_nonpositive(x: Self) -> Self;
}

/// Evaluates an expression with the floating-point type of a [`Precision`](crate::config::Precision) under the given name.
///
/// ```
/// use superpose_core::{config::Precision, with_precision};
///
/// let bytes = with_precision!(Precision::F32, T => size_of::<T>());
/// assert_eq!(bytes, 4);
/// ```
#[macro_export]
macro_rules! with_precision {
    ($precision:expr, $real:ident => $body:expr) => {
        match $precision {
            $crate::config::Precision::F32 => {
                type $real = f32;
                $body
            }
            $crate::config::Precision::F64 => {
                type $real = f64;
                $body
            }
        }
    };
}

/// `e^x = 2^k e^r` with `k` the nearest whole number to `x / ln 2`. Adding and subtracting a large number rounds to `k`; `r` is
/// computed in two pieces so that it is exact; `e^r` is a Taylor sum.
macro_rules! exp_nonpositive {
    ($x:expr, $float:ty, $int:ty, $lowest:expr, $magic:expr, $ln2_high:expr, $ln2_low:expr, $bias:expr, $mantissa:expr,
     $terms:expr) => {{
        // Written so that NaN stays NaN.
        let x: $float = if $x < $lowest { $lowest } else { $x };
        let shifted = x * std::f64::consts::LOG2_E as $float + $magic;
        let k = shifted - $magic;
        let r = (x - k * $ln2_high) - k * $ln2_low;
        let mut sum = $terms[0];
        for term in &$terms[1..] {
            sum = sum * r + term;
        }
        // The low bits of the shifted number hold k itself.
        let power =
            (shifted.to_bits().wrapping_sub(($magic as $float).to_bits()) as $int).wrapping_add($bias);
        sum * <$float>::from_bits((power << $mantissa) as _)
    }};
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const LOWEST: f32 = f32::NEG_INFINITY;
    const EPSILON: f64 = f32::EPSILON as f64;

    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn exp_nonpositive(x: f32) -> f32 {
        const TERMS: [f32; 8] =
            [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
        // 12582912 = 1.5 * 2^23; ln 2 split after 9 bits, so that k * high is exact.
        exp_nonpositive!(x, f32, i32, -87.0, 12_582_912.0, 0.693_359_4, -2.121_944_4e-4, 127, 23, TERMS)
    }
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const LOWEST: f64 = f64::NEG_INFINITY;
    const EPSILON: f64 = f64::EPSILON;

    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn exp_nonpositive(x: f64) -> f64 {
        const TERMS: [f64; 14] = [
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
            1.0,
            1.0,
        ];
        // 1.5 * 2^52; ln 2 split after 33 bits, so that k * high is exact.
        let magic = 6_755_399_441_055_744.0;
        exp_nonpositive!(
            x,
            f64,
            i64,
            -708.0,
            magic,
            0.693_147_180_369_123_8,
            1.908_214_929_270_587_7e-10,
            1023,
            52,
            TERMS
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_accurate() {
        for i in 0..200_000 {
            let x = -f64::from(i) * 4.3e-4;
            let exact = x.exp();
            assert!((f64::exp_nonpositive(x) / exact - 1.0).abs() < 4.5e-16, "f64 at {x}");
            let single = x as f32;
            let exact = f64::from(single).exp();
            assert!((f64::from(f32::exp_nonpositive(single)) / exact - 1.0).abs() < 1.8e-7, "f32 at {x}");
        }
        assert_eq!(f64::exp_nonpositive(0.0), 1.0);
        assert!(f64::exp_nonpositive(-1e300) < 1e-300);
        assert!(f32::exp_nonpositive(f32::NEG_INFINITY) < 1e-30);
    }
}
