//! The trait [`Real`], implemented by `f32` and `f64`.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use super::device::{Device, Solver};

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
    /// The smallest normal number over [`Real::EPSILON`]: below it a share of 1 is treated as 0
    const NEGLIGIBLE: Self;

    /// Rounds to this type.
    fn from_f64(x: f64) -> Self;

    /// Widens, without loss.
    fn to_f64(self) -> f64;

    /// `e^x` for `x <= 0`, branch-free and without fused operations, so that loops over it vectorise and
    /// give the same bits on every machine. Relative error below 2 units in the last place down to
    /// `x = -87` (`f32`) or `-708` (`f64`), where the result stays from there on.
    fn exp_nonpositive(x: Self) -> Self;

    /// The implementation of a device for this type.
    fn solver(device: &dyn Device) -> &dyn Solver<Self>;
}

/// Numbers of 64 bits as numbers of another type, rounded.
pub fn narrow<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&x| T::from_f64(x)).collect()
}

/// Numbers as numbers of 64 bits.
pub fn wide<T: Real>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.to_f64()).collect()
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

/// Implements [`Real`] for a type. `e^x = 2^k e^r` with `k` the nearest whole number to `x / ln 2`: adding and subtracting
/// `$round` rounds to `k`, ln 2 is given in two pieces so that `r` is exact, and `e^r` is a Taylor sum.
macro_rules! real {
    ($float:ident, $int:ty, $terms:literal terms, from $lowest:literal, $round:literal, ln2 $high:literal + $low:literal,
     bias $bias:literal, mantissa $mantissa:literal) => {
        impl Real for $float {
            const ZERO: $float = 0.0;
            const ONE: $float = 1.0;
            const LOWEST: $float = $float::NEG_INFINITY;
            const EPSILON: f64 = $float::EPSILON as f64;
            const NEGLIGIBLE: $float = $float::MIN_POSITIVE / $float::EPSILON;

            #[inline(always)]
            fn from_f64(x: f64) -> $float {
                x as $float
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            fn solver(device: &dyn Device) -> &dyn Solver<$float> {
                device
            }

            #[inline(always)]
            fn exp_nonpositive(x: $float) -> $float {
                /// `1/n!`, from the last term of the sum to the first.
                const TERMS: [$float; $terms] = {
                    let (mut terms, mut factorial, mut n) = ([1.0; $terms], 1.0, 1);
                    while n < $terms {
                        factorial *= n as $float;
                        terms[$terms - 1 - n] = 1.0 / factorial;
                        n += 1;
                    }
                    terms
                };
                // Written so that NaN stays NaN.
                let x: $float = if x < $lowest { $lowest } else { x };
                let shifted = x * std::f64::consts::LOG2_E as $float + $round;
                let k = shifted - $round;
                let r = (x - k * $high) - k * $low;
                let sum = TERMS[1..].iter().fold(TERMS[0], |sum, term| sum * r + term);
                // The low bits of the shifted number hold k itself.
                let k = shifted.to_bits().wrapping_sub(($round as $float).to_bits()) as $int;
                sum * $float::from_bits((k.wrapping_add($bias) << $mantissa) as _)
            }
        }
    };
}

// Rounded by adding 1.5 * 2^23; ln 2 split after 9 bits, so that k times its first piece is exact.
real!(f32, i32, 8 terms, from -87.0, 12_582_912.0, ln2 0.693_359_4 + -2.121_944_4e-4, bias 127, mantissa 23);
// 1.5 * 2^52, and 33 bits.
real!(f64, i64, 14 terms, from -708.0, 6_755_399_441_055_744.0, ln2 0.693_147_180_369_123_8 + 1.908_214_929_270_587_7e-10,
      bias 1023, mantissa 52);

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
