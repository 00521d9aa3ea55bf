//! The order of cells and their distribution: long ones first, shares of equal time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Numbers of the cells from the longest to the shortest; equally long ones in their own order.
pub fn longest_first(seconds: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..seconds.len()).collect();
    order.sort_by(|&a, &b| seconds[b].total_cmp(&seconds[a]));
    order
}

/// Deals cells to `shares` so that they take about equal time: the longest first, each to the share with the least time so far.
/// Returns the numbers of the cells of every share, longest first.
pub fn deal(seconds: &[f64], shares: usize) -> Vec<Vec<usize>> {
    let mut dealt = vec![Vec::new(); shares];
    // Times are not negative, so that their bits sort like the numbers.
    let mut least: BinaryHeap<Reverse<(u64, usize)>> = (0..shares).map(|share| Reverse((0, share))).collect();
    for cell in longest_first(seconds) {
        if let Some(Reverse((load, share))) = least.pop() {
            dealt[share].push(cell);
            let load = f64::from_bits(load) + seconds[cell].max(0.0);
            least.push(Reverse((load.to_bits(), share)));
        }
    }
    dealt
}

/// How many of the cells, given longest first, should run one after the other on all threads, because side by side they
/// would leave threads idle for longer.
pub fn wide(seconds: &[f64], threads: usize) -> usize {
    /// What threads inside one cell achieve, of what they could.
    const EFFICIENCY: f64 = 0.75;
    /// Shorter cells have nothing to share out.
    const WORTHWHILE: f64 = 0.02;
    /// More cells than this keep all threads busy side by side.
    const MANY: usize = 64;
    if threads < 2 {
        return 0;
    }
    let side_by_side = |rest: &[f64]| {
        let total: f64 = rest.iter().sum();
        let loads = deal(&rest[..rest.len().min(MANY)], threads);
        let longest = loads.iter().map(|share| share.iter().map(|&i| rest[i]).sum()).fold(0.0, f64::max);
        longest.max(total / threads as f64)
    };
    let candidates = seconds.iter().take(MANY).take_while(|&&seconds| seconds > WORTHWHILE).count();
    let mut best = (side_by_side(seconds), 0);
    let mut first = 0.0;
    for count in 1..=candidates {
        first += seconds[count - 1] / (EFFICIENCY * threads as f64);
        let time = first + side_by_side(&seconds[count..]);
        if time < best.0 {
            best = (time, count);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_take_equal_time() {
        let seconds: Vec<f64> = (0..5000).map(|i| 1000_f64.powf((i * 7919 % 5000) as f64 / 5000.0)).collect();
        let shares = deal(&seconds, 16);
        let loads: Vec<f64> = shares.iter().map(|share| share.iter().map(|&i| seconds[i]).sum()).collect();
        let mean = loads.iter().sum::<f64>() / 16.0;
        assert!(loads.iter().all(|load| (load / mean - 1.0).abs() < 0.01), "{loads:?}");
        let mut all: Vec<usize> = shares.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..5000).collect::<Vec<_>>());
    }

    #[test]
    fn only_cells_that_would_keep_others_waiting_run_wide() {
        assert_eq!(wide(&[10.0], 2), 1);
        assert_eq!(wide(&[0.001], 2), 0);
        assert_eq!(wide(&[1.0; 10], 2), 0);
        assert_eq!(wide(&[100.0, 1.0, 1.0, 1.0, 1.0], 2), 1);
        assert_eq!(wide(&[1.0; 100], 64), 0);
        assert_eq!(wide(&[10.0, 10.0], 1), 0);
        assert_eq!(wide(&[], 4), 0);
    }
}
