//! The overlaps of one row of a matrix with all others.

/// Number of largest overlaps that are kept individually.
const NEAREST: usize = 32;
/// Number of equal groups by which the other overlaps are represented.
const GROUPS: usize = 24;
/// Number of other rows from which the groups are formed.
const OTHERS: usize = 2048;

/// The overlaps of a row with others (theory: memory).
pub(crate) struct Overlaps {
    /// Their mean.
    pub kappa: f64,
    /// The squared length of the row less that mean.
    pub xi: f64,
    /// Their variance.
    pub s2: f64,
    /// The largest ones less the mean, the largest first, and the share of rows that each represents.
    pub nearest: Vec<(f64, f64)>,
    /// The others in groups, the largest first.
    pub groups: Vec<(f64, f64)>,
}

/// The overlaps of a row with others, accumulated over blocks of rows.
pub(crate) struct OverlapSums {
    row: usize,
    /// Every `step`-th row represents those that are not near.
    step: usize,
    own: f64,
    count: f64,
    sum: f64,
    squares: f64,
    /// The largest overlaps, in rising order.
    nearest: Vec<f32>,
    others: Vec<f32>,
}

impl OverlapSums {
    /// Of one of `count` rows.
    pub fn new(row: usize, count: usize) -> OverlapSums {
        let step = count.div_ceil(OTHERS);
        let (nearest, others) = (Vec::with_capacity(NEAREST + 1), Vec::with_capacity(count.div_ceil(step)));
        OverlapSums { row, step, own: 0.0, count: 0.0, sum: 0.0, squares: 0.0, nearest, others }
    }

    /// Adds the overlaps with the rows from `first`.
    pub fn add(&mut self, first: usize, dots: impl Iterator<Item = f64>) {
        for (i, dot) in dots.enumerate() {
            if first + i == self.row {
                self.own = dot;
                continue;
            }
            self.count += 1.0;
            self.sum += dot;
            self.squares += dot * dot;
            let dot = dot as f32;
            if (first + i).is_multiple_of(self.step) {
                self.others.push(dot);
            }
            if self.nearest.len() < NEAREST || dot > self.nearest[0] {
                let place = self.nearest.partition_point(|&x| x < dot);
                self.nearest.insert(place, dot);
                if self.nearest.len() > NEAREST {
                    self.nearest.remove(0);
                }
            }
        }
    }

    /// The overlaps with all rows that were added.
    pub fn overlaps(mut self) -> Overlaps {
        let kappa = self.sum / self.count;
        let far = self.nearest.first().copied().unwrap_or(f32::INFINITY);
        let near = |&x: &f32| (f64::from(x) - kappa, 1.0 / self.count);
        let nearest: Vec<(f64, f64)> = self.nearest.iter().rev().map(near).collect();
        // Those that are kept individually are not among the others; several may be as large as the smallest of them.
        let mut ties = self.nearest.iter().filter(|&&x| x == far).count();
        self.others.retain(|&x| {
            let tie = x == far && ties > 0;
            ties -= usize::from(tie);
            x < far || (x == far && !tie)
        });
        self.others.sort_unstable_by(|a, b| b.total_cmp(a));
        let bulk = 1.0 - nearest.len() as f64 / self.count;
        let total = self.others.len() as f64;
        let group = |group: &[f32]| {
            let mean = group.iter().map(|&x| f64::from(x)).sum::<f64>() / group.len() as f64;
            (mean - kappa, bulk * group.len() as f64 / total)
        };
        let groups = self.others.chunks(self.others.len().div_ceil(GROUPS).max(1)).map(group).collect();
        let s2 = (self.squares / self.count - kappa * kappa).max(0.0);
        Overlaps { kappa, xi: self.own - kappa, s2, nearest, groups }
    }
}
