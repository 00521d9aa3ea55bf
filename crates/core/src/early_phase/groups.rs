//! Samples grouped by label, so that label-wise sums need no table over all labels.

use std::ops::Range;

use crate::backend::{Backend, Result};
use crate::task::Samples;

/// Sample numbers sorted by label, in their own order within a label.
pub struct Groups {
    order: Vec<u32>,
    /// Samples of label y: `order[starts[y]..starts[y + 1]]`.
    starts: Vec<usize>,
}

/// The number of tasks that the labels are divided into. It must not depend on the number of threads.
const TASKS: usize = 16;

impl Groups {
    /// Sorts the samples.
    ///
    /// # Errors
    /// When the backend's token was cancelled.
    pub fn new(samples: &dyn Samples, labels: usize, backend: &Backend) -> Result<Groups> {
        const CHUNK: usize = 1 << 14;
        let mut label_of = vec![0u32; samples.count()];
        backend.for_chunks(&mut label_of, CHUNK, |i, part| {
            for (j, label) in part.iter_mut().enumerate() {
                *label = samples.fact((i * CHUNK + j) as u32).1;
            }
        })?;
        let mut starts = vec![0; labels + 1];
        for &label in &label_of {
            starts[label as usize + 1] += 1;
        }
        for y in 0..labels {
            starts[y + 1] += starts[y];
        }
        let mut next = starts.clone();
        let mut order = vec![0; label_of.len()];
        for (id, &label) in label_of.iter().enumerate() {
            order[next[label as usize]] = id as u32;
            next[label as usize] += 1;
        }
        Ok(Groups { order, starts })
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// All sample numbers, sorted by label.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Where the samples of each label begin in [`Groups::order`], and the end.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The samples whose labels are in the range.
    pub fn samples(&self, labels: &Range<usize>) -> &[u32] {
        &self.order[self.starts[labels.start]..self.starts[labels.end]]
    }

    /// Number of samples with label `y`.
    pub fn size(&self, y: usize) -> usize {
        self.starts[y + 1] - self.starts[y]
    }

    /// Ranges of labels with about equal numbers of samples, at most `TASKS` of them.
    pub fn tasks(&self) -> Vec<Range<usize>> {
        let labels = self.starts.len() - 1;
        let mut ranges = Vec::with_capacity(TASKS);
        let mut first = 0;
        for task in 1..=TASKS {
            let goal = task * self.count() / TASKS;
            let end = match task {
                TASKS => labels,
                _ => first.max(self.starts.partition_point(|&start| start < goal).min(labels)),
            };
            if end > first {
                ranges.push(first..end);
                first = end;
            }
        }
        ranges
    }
}

/// Splits a range into pieces of at most `size`.
pub fn pieces(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(size).map(move |first| first..(first + size).min(range.end))
}
