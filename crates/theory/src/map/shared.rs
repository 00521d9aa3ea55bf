//! Something that cells have in common when they differ only in sizes that it does not depend on.

use std::sync::OnceLock;

use super::Axis;
use crate::critical::Parameter;

/// One value for all cells with the same sizes, set up when it is first asked for.
#[derive(Debug)]
pub(super) struct Shared<T> {
    values: Vec<OnceLock<T>>,
    /// Steps between the values of neighbouring rows and columns; 0 where they share one.
    steps: (usize, usize),
}

impl<T> Shared<T> {
    /// For values that depend on the given parameters.
    pub fn new(rows: &Axis, columns: &Axis, depends: &[Parameter]) -> Shared<T> {
        let count = |axis: &Axis| if depends.contains(&axis.parameter) { axis.values.len() } else { 1 };
        let (height, width) = (count(rows), count(columns));
        let step = |axis: &Axis, step: usize| if depends.contains(&axis.parameter) { step } else { 0 };
        Shared {
            values: (0..height * width).map(|_| OnceLock::new()).collect(),
            steps: (step(rows, 1), step(columns, height)),
        }
    }

    /// The value in a cell, made there if no other cell has made it.
    pub fn at(&self, row: usize, column: usize, make: impl FnOnce() -> T) -> &T {
        self.values[row * self.steps.0 + column * self.steps.1].get_or_init(make)
    }
}
