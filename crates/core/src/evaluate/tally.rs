//! Running weighted means and variances, for confidence intervals.

use crate::measure::Missing;

/// A weighted mean over test items, as it grows. Without items it is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    items: usize,
    weight: f64,
    sum: f64,
    squares: f64,
}

impl Missing for Tally {
    fn missing() -> Self {
        Tally::default()
    }
    fn is_missing(&self) -> bool {
        self.items == 0
    }
}

impl Tally {
    /// A tally of items that were added up elsewhere: their number, the sum of their weights, and those of weights times values and
    /// of weights times squared values.
    pub fn of_sums(items: usize, weight: f64, sum: f64, squares: f64) -> Tally {
        Tally { items, weight, sum, squares }
    }

    /// Adds one item.
    pub fn add(&mut self, weight: f64, value: f64) {
        self.items += 1;
        self.weight += weight;
        self.sum += weight * value;
        self.squares += weight * value * value;
    }

    /// Adds all items of another tally.
    pub fn merge(&mut self, other: &Tally) {
        self.items += other.items;
        self.weight += other.weight;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Number of items.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.weight
    }

    /// The variance of an item about the mean.
    pub fn variance(&self) -> f64 {
        (self.squares / self.weight - self.mean() * self.mean()).max(0.0)
    }
}
