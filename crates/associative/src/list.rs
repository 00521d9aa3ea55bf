//! Recall from a list: the right label must be among those with the largest logits (theory: capacity).

use superpose_core::backend::Real;

/// Replaces logits by the descent direction of `log(1 + exp(mean - right))` in them, where `mean` is that of the `list` largest logits
/// of wrong labels, and returns the sum of these losses over rows. The mean is convex in the logits, unlike the last logit of the list.
pub fn residual<T: Real>(logits: &mut [T], columns: usize, labels: &[u32], list: usize) -> f64 {
    let mut order: Vec<u32> = Vec::with_capacity(columns);
    let mut loss = 0.0;
    for (row, &label) in logits.chunks_exact_mut(columns).zip(labels) {
        order.clear();
        order.extend((0..columns as u32).filter(|&j| j != label));
        let larger = |&i: &u32, &j: &u32| {
            row[j as usize].to_f64().total_cmp(&row[i as usize].to_f64()).then(i.cmp(&j))
        };
        order.select_nth_unstable_by(list - 1, larger);
        // In the order of labels, so that the sum does not depend on how the list was found.
        order[..list].sort_unstable();
        let sum: f64 = order[..list].iter().map(|&j| row[j as usize].to_f64()).sum();
        let gap = sum / list as f64 - row[label as usize].to_f64();
        // Both from the exponential that does not overflow.
        let small = libm::exp(-gap.abs());
        loss += gap.max(0.0) + libm::log1p(small);
        let share = if gap > 0.0 { 1.0 } else { small } / (1.0 + small);
        row.fill(T::ZERO);
        order[..list].iter().for_each(|&j| row[j as usize] = T::from_f64(-share / list as f64));
        row[label as usize] = T::from_f64(share);
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residual_is_the_negative_derivative_of_the_loss() {
        let logits = [0.3, -0.2, 1.1, 0.7, 0.1, -1.4, 0.9, 0.8, -0.5, 0.2];
        let (columns, labels, list) = (5, [0, 4], 2);
        let loss = |logits: &[f64]| residual(&mut logits.to_vec(), columns, &labels, list);
        let mut direction = logits;
        residual(&mut direction, columns, &labels, list);
        for i in 0..logits.len() {
            let at = |change: f64| {
                let mut moved = logits;
                moved[i] += change;
                loss(&moved)
            };
            let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((slope + direction[i]).abs() < 1e-9, "{i}: {slope} {}", direction[i]);
        }
        // A loss far from 0 on either side is finite.
        assert_eq!(residual(&mut [1e300, -1e300], 2, &[1], 1), 2e300);
        assert_eq!(residual(&mut [-1e3, 1e3], 2, &[1], 1), 0.0);
    }
}
