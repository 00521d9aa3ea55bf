//! The normal quantile function: one uniform number in, one normal number out.
//!
//! Algorithm AS 241 (Wichura, Applied Statistics 37, 1988), relative error about 1e-16. It uses rational functions and, in the
//! tails, one square root and the logarithm of the Rust crate `libm`, so results are bit-identical on all machines.

/// Coefficients of a numerator and its denominator, from the constant term up.
type Ratio = [[f64; 2]; 8];

const CENTRE: Ratio = [
    [3.387_132_872_796_366_5, 1.0],
    [133.141_667_891_784_38, 42.313_330_701_600_91],
    [1_971.590_950_306_551_3, 687.187_007_492_057_9],
    [13_731.693_765_509_46, 5_394.196_021_424_751],
    [45_921.953_931_549_87, 21_213.794_301_586_597],
    [67_265.770_927_008_7, 39_307.895_800_092_71],
    [33_430.575_583_588_13, 28_729.085_735_721_943],
    [2_509.080_928_730_122_7, 5_226.495_278_852_854],
];
const TAIL: Ratio = [
    [1.423_437_110_749_683_5, 1.0],
    [4.630_337_846_156_546, 2.053_191_626_637_759],
    [5.769_497_221_460_691, 1.676_384_830_183_803_8],
    [3.647_848_324_763_204_5, 0.689_767_334_985_1],
    [1.270_458_252_452_368_4, 0.148_103_976_427_480_08],
    [0.241_780_725_177_450_6, 0.015_198_666_563_616_457],
    [0.022_723_844_989_269_184, 5.475_938_084_995_345e-4],
    [7.745_450_142_783_414e-4, 1.050_750_071_644_416_9e-9],
];
const FAR_TAIL: Ratio = [
    [6.657_904_643_501_103, 1.0],
    [5.463_784_911_164_114, 0.599_832_206_555_888],
    [1.784_826_539_917_291_3, 0.136_929_880_922_735_8],
    [0.296_560_571_828_504_87, 0.014_875_361_290_850_615],
    [0.026_532_189_526_576_124, 7.868_691_311_456_133e-4],
    [0.001_242_660_947_388_078_4, 1.846_318_317_510_054_7e-5],
    [2.711_555_568_743_487_6e-5, 1.421_511_758_316_446e-7],
    [2.010_334_399_292_288_1e-7, 2.044_263_103_389_939_8e-15],
];

#[inline(always)]
fn ratio(x: f64, coefficients: &Ratio) -> f64 {
    let horner = |side: usize| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c[side]);
    horner(0) / horner(1)
}

/// The `z` with `F(z) = p`, F the standard normal CDF, for `p` strictly between 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180625 - q * q, &CENTRE);
    }
    let r = (-libm::log(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let z = if r <= 5.0 { ratio(r - 1.6, &TAIL) } else { ratio(r - 5.0, &FAR_TAIL) };
    if q < 0.0 { -z } else { z }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverts_the_normal_distribution() {
        for i in 1..2000 {
            let p = f64::from(i) / 2000.0;
            let back = 0.5 * libm::erfc(-normal_quantile(p) * std::f64::consts::FRAC_1_SQRT_2);
            assert!((back - p).abs() < 3e-16 + 3e-15 * p, "{p} {back}");
        }
        for exponent in 3..300 {
            let p = 10.0_f64.powi(-exponent);
            let back = 0.5 * libm::erfc(-normal_quantile(p) * std::f64::consts::FRAC_1_SQRT_2);
            assert!((back / p - 1.0).abs() < 1e-11, "{p} {back}");
        }
    }
}
