//! Values that cells of a map share if they differ only in sizes that the value does not depend on.

use std::sync::OnceLock;

use super::Axis;
use crate::critical::Parameter;

/// One value for all cells with the same relevant sizes, computed on first use.
pub(super) struct Shared<T> {
    values: Vec<OnceLock<T>>,
    /// Steps between the values of neighbouring rows and columns; 0 where they share one.
    steps: (usize, usize),
}

impl<T> Shared<T> {
    /// Storage for values that depend on the given parameters.
    pub fn new(rows: &Axis, columns: &Axis, depends: &[Parameter]) -> Shared<T> {
        // The number of different values along an axis, and 1 or 0 as the step from one to the next.
        let along =
            |axis: &Axis| if depends.contains(&axis.parameter) { (axis.values.len(), 1) } else { (1, 0) };
        let ((height, row_step), (width, column_step)) = (along(rows), along(columns));
        let values = (0..height * width).map(|_| OnceLock::new()).collect();
        Shared { values, steps: (row_step, column_step * height) }
    }

    /// The value in a cell, computed if no other cell has computed it.
    pub fn at(&self, row: usize, column: usize, make: impl FnOnce() -> T) -> &T {
        self.values[row * self.steps.0 + column * self.steps.1].get_or_init(make)
    }
}
