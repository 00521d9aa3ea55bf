//! In-place softmax over rows; top-1 credit and margin of the right label.

use super::real::Real;

/// Lanes of a running sum or maximum: fixed, so that the bits do not depend on the machine.
const LANES: usize = 32;

#[inline(always)]
fn fold<T: Real>(row: &[T], start: T, f: impl Fn(T, T) -> T) -> T {
    let mut lanes = [start; LANES];
    let whole = row.len() - row.len() % LANES;
    for part in row[..whole].chunks_exact(LANES) {
        for lane in 0..LANES {
            lanes[lane] = f(lanes[lane], part[lane]);
        }
    }
    lanes.iter_mut().zip(&row[whole..]).for_each(|(lane, &x)| *lane = f(*lane, x));
    // Lanes that a short row does not reach still hold `start`, which would change nothing.
    let mut half = row.len().next_power_of_two().min(LANES) / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = f(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn greater<T: Real>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

/// Replaces the row by `exp(x - max)`; returns the maximum.
///
/// Exponentials below [`Real::NEGLIGIBLE`] become 0. They change no sum, since the largest is 1, but in a saturated softmax their
/// products with other factors are subnormal numbers, which the processor multiplies tens of times slower.
#[inline(always)]
fn exponentials<T: Real>(row: &mut [T]) -> T {
    let max = fold(row, T::LOWEST, greater);
    let exponential = |x: T| {
        let y = T::exp_nonpositive(x - max);
        if y < T::NEGLIGIBLE { T::ZERO } else { y }
    };
    row.iter_mut().for_each(|x| *x = exponential(*x));
    max
}

#[inline(always)]
fn total<T: Real>(row: &[T]) -> T {
    fold(row, T::ZERO, |a, b| a + b)
}

/// Softmax of every row of `columns` entries.
pub fn softmax<T: Real>(rows: &mut [T], columns: usize) {
    rows.chunks_exact_mut(columns).for_each(softmax_row);
}

/// Softmax of a row over its `keep` largest entries, fewer than all; the others become 0. Of equal entries the first are kept.
/// Returns whether the entry at `position` is kept.
pub fn softmax_of_largest<T: Real>(row: &mut [T], keep: usize, position: usize) -> bool {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.select_nth_unstable_by(keep, |&a, &b| row[b].to_f64().total_cmp(&row[a].to_f64()).then(a.cmp(&b)));
    let dropped = &order[keep..];
    dropped.iter().for_each(|&i| row[i] = T::LOWEST);
    softmax_row(row);
    dropped.iter().for_each(|&i| row[i] = T::ZERO);
    !dropped.contains(&position)
}

simd! {
    fn softmax_row<T: Real>(row: &mut [T]) {
        exponentials(row);
        let scale = T::ONE / total(row);
        row.iter_mut().for_each(|x| *x *= scale);
    }
}

/// Turns rows of logits into residuals `r = p - q`, `p` one-hot at the label and `q` the softmax; returns the
/// sum of the cross-entropies. Where the softmax is close to the label, the residual there is the small sum of the other shares. Their
/// sum keeps the digits that `1 - q` would lose, and so does the loss.
pub fn residual<T: Real>(logits: &mut [T], columns: usize, labels: &[u32]) -> f64 {
    logits.chunks_exact_mut(columns).zip(labels).map(|(row, &label)| residual_row(row, label as usize)).sum()
}

simd! {
    fn residual_row<T: Real>(row: &mut [T], label: usize) -> f64 {
        let right = row[label];
        let max = exponentials(row);
        let own = std::mem::replace(&mut row[label], T::ZERO);
        let others = total(row);
        let scale = T::ONE / (own + others);
        row.iter_mut().for_each(|x| *x *= -scale);
        row[label] = others * scale;
        (max - right).to_f64() + libm::log1p((own.to_f64() - 1.0) + others.to_f64())
    }
}

/// The result for the right label in one row of logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Top {
    /// 1 if the right label alone has the largest logit, 1/k if k labels share it, else 0.
    pub credit: f64,
    /// The right label's logit minus the largest of the others.
    pub margin: f64,
}

simd! {
    /// Compares the right label of a row of at least two logits with the others.
    pub fn top<T: Real>(row: &[T], right: usize) -> Top {
        let own = row[right];
        // The lanes around the right label without it, then whole lanes before and after.
        let first = right - right % LANES;
        let end = row.len().min(first + LANES);
        let mut near = [T::LOWEST; LANES];
        near[..end - first].copy_from_slice(&row[first..end]);
        near[right - first] = T::LOWEST;
        let far = greater(fold(&row[..first], T::LOWEST, greater), fold(&row[end..], T::LOWEST, greater));
        let rival = greater(far, fold(&near, T::LOWEST, greater));
        let credit = if own > rival {
            1.0
        } else if own == rival {
            1.0 / row.iter().filter(|&&x| x == own).count() as f64
        } else {
            0.0
        };
        Top { credit, margin: own.to_f64() - rival.to_f64() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residual_is_label_minus_softmax() {
        let columns = 77;
        let logits: Vec<f64> = (0..3 * columns).map(|i| (i as f64 * 1.7).sin() * 4.0).collect();
        let labels = [5, 76, 0];
        let mut rows = logits.clone();
        let loss = residual(&mut rows, columns, &labels);
        let mut expected = 0.0;
        for (b, row) in logits.chunks(columns).enumerate() {
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            let label = labels[b] as usize;
            expected -= (row[label].exp() / sum).ln();
            for (j, x) in row.iter().enumerate() {
                let r = f64::from(j == label) - x.exp() / sum;
                assert!((rows[b * columns + j] - r).abs() < 1e-15);
            }
        }
        assert!((loss - expected).abs() < 1e-12);
    }

    #[test]
    fn small_residuals_keep_their_digits() {
        // From a gap of 20 on the softmax is 1 to within the rounding errors of 32 bits, at 60 to within those of 64 bits.
        for gap in [10.0, 20.0, 60.0] {
            let logits = [0.0, gap, 1.0, -2.0];
            let others: f64 = [0.0, 1.0, -2.0].map(|x: f64| (x - gap).exp()).iter().sum();
            let share = others / (1.0 + others);
            let mut row = logits.map(|x| x as f32);
            let loss = residual(&mut row, 4, &[1]);
            let sum: f64 = row.iter().map(|&x| f64::from(x)).sum();
            assert!((f64::from(row[1]) / share - 1.0).abs() < 1e-6, "{gap}: {row:?}");
            assert!(sum.abs() < 1e-6 * share, "{gap}: {row:?}");
            assert!((loss / others.ln_1p() - 1.0).abs() < 1e-6, "{gap}: {loss}");
            let mut row = logits;
            assert!((residual(&mut row, 4, &[1]) / others.ln_1p() - 1.0).abs() < 1e-14, "{gap}");
            assert!((row[1] / share - 1.0).abs() < 1e-14, "{gap}: {row:?}");
        }
    }

    #[test]
    fn ties_share_the_credit() {
        assert_eq!(top(&[1.0, 3.0, 3.0], 1), Top { credit: 0.5, margin: 0.0 });
        assert_eq!(top(&[1.0, 3.0, 2.0], 1), Top { credit: 1.0, margin: 1.0 });
        assert_eq!(top(&[1.0, 3.0, 2.0], 0), Top { credit: 0.0, margin: -2.0 });
    }

    #[test]
    fn dropped_entries_have_no_weight() {
        let scores = [2.0_f32, -1.0, 2.0, 3.0, 2.0];
        let kept = |keep| [0, 1, 2, 3, 4].map(|i| softmax_of_largest(&mut scores.clone(), keep, i));
        assert_eq!(kept(1), [false, false, false, true, false]);
        // Of equal scores the first are kept.
        assert_eq!(kept(3), [true, false, true, true, false]);
        let (mut pruned, mut plain) = (scores, [2.0, 2.0, 3.0]);
        softmax_of_largest(&mut pruned, 3, 0);
        softmax(&mut plain, 3);
        for (i, weight) in [plain[0], 0.0, plain[1], plain[2], 0.0].into_iter().enumerate() {
            assert!((pruned[i] - weight).abs() <= f32::EPSILON * weight, "{pruned:?}");
        }
    }

    #[test]
    fn softmax_of_extreme_scores() {
        let mut row = [1000.0_f32, -1000.0, 1000.0];
        softmax(&mut row, 3);
        assert!((row[0] - 0.5).abs() < 1e-6 && row[1] < 1e-30);
    }

    #[test]
    fn negligible_weights_become_zero() {
        fn weights<T: Real>(gap: f64) -> [T; 2] {
            let mut row = [T::ZERO, T::from_f64(-gap)];
            softmax(&mut row, 2);
            row
        }
        assert_eq!((weights::<f32>(72.0), weights::<f64>(673.0)), ([1.0, 0.0], [1.0, 0.0]));
        assert!(weights::<f32>(71.0)[1] > 1e-31 && weights::<f64>(672.0)[1] > 1e-293);
        // The residual of a fact that was learned is exactly 0.
        let mut row = [200.0_f32, 0.0, 100.0];
        residual(&mut row, 3, &[0]);
        assert!(row.iter().all(|&x| x == 0.0), "{row:?}");
    }
}
