//! Samples grouped by label, so that label-wise sums need no table over all labels.

use std::ops::Range;

use crate::backend::{Backend, Result, SUMS};
use crate::task::Samples;

/// Sample numbers sorted by label, in their own order within a label.
pub struct Groups {
    order: Vec<u32>,
    /// Samples of label y: `order[starts[y]..starts[y + 1]]`.
    starts: Vec<usize>,
}

impl Groups {
    /// Sorts the samples.
    ///
    /// # Errors
    /// When the backend's token was cancelled.
    pub fn new(samples: &dyn Samples, labels: usize, backend: &Backend) -> Result<Groups> {
        const CHUNK: usize = 1 << 12;
        let count = samples.count();
        let mut label_of = vec![0u32; count];
        backend.for_chunks(&mut label_of, CHUNK, |i, part| {
            for (j, label) in part.iter_mut().enumerate() {
                *label = samples.fact((i * CHUNK + j) as u32).1;
            }
        })?;
        // Every thread divides chunks of samples by ranges of labels, then sorts the samples of a range.
        let size = labels.div_ceil(backend.threads()).max(1);
        let ranges = labels.div_ceil(size);
        let chunks = backend.map(count.div_ceil(CHUNK), |chunk| {
            let mut by_range = vec![Vec::new(); ranges];
            for id in chunk * CHUNK..count.min((chunk + 1) * CHUNK) {
                by_range[label_of[id] as usize / size].push(id as u32);
            }
            by_range.iter_mut().for_each(Vec::shrink_to_fit);
            by_range
        })?;
        let mut order = vec![0; count];
        let mut rest = &mut order[..];
        let mut parts = Vec::with_capacity(ranges);
        for range in 0..ranges {
            let (part, after) = rest.split_at_mut(chunks.iter().map(|chunk| chunk[range].len()).sum());
            parts.push((part, vec![0; size.min(labels - range * size)]));
            rest = after;
        }
        backend.for_chunks(&mut parts, 1, |range, parts| {
            for (order, ends) in parts {
                let ids = || chunks.iter().flat_map(|chunk| &chunk[range]);
                let label = |id: u32| label_of[id as usize] as usize - range * size;
                ids().for_each(|&id| ends[label(id)] += 1);
                let mut start = 0;
                for end in ends.iter_mut() {
                    start += std::mem::replace(end, start);
                }
                // Each end begins as the start of its label and moves past every sample that is placed.
                for &id in ids() {
                    let end = &mut ends[label(id)];
                    order[*end] = id;
                    *end += 1;
                }
            }
        })?;
        let mut starts = vec![0; 1];
        for (part, ends) in parts {
            let first = starts[starts.len() - 1];
            starts.extend(ends.iter().map(|end| first + end));
            debug_assert_eq!(starts[starts.len() - 1], first + part.len());
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

    /// Ranges of labels with about equal numbers of samples, at most `SUMS` of them.
    pub fn tasks(&self) -> Vec<Range<usize>> {
        let labels = self.starts.len() - 1;
        let mut ranges = Vec::with_capacity(SUMS);
        let mut first = 0;
        for task in 1..=SUMS {
            let goal = task * self.count() / SUMS;
            let end = match task {
                SUMS => labels,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Stored;

    #[test]
    fn samples_are_sorted_by_label_on_any_number_of_threads() {
        for (count, labels) in [(0, 3), (7, 2), (40_000, 101), (50, 1000)] {
            let label_of: Vec<u32> = (0..count).map(|i| (i * i * 31 % (labels - 1)) as u32).collect();
            let samples = Stored::new(1, vec![0; count], vec![0; count], label_of.clone());
            let mut expected: Vec<u32> = (0..count as u32).collect();
            expected.sort_by_key(|&id| label_of[id as usize]);
            for threads in [1, 3, 16] {
                let groups = Groups::new(&samples, labels, &Backend::cpu(threads).unwrap()).unwrap();
                assert_eq!(groups.order(), expected);
                assert_eq!(groups.starts().len(), labels + 1);
                for y in 0..labels {
                    let mine = groups.samples(&(y..y + 1));
                    assert!(mine.iter().all(|&id| label_of[id as usize] as usize == y));
                    assert_eq!(mine.len(), groups.size(y));
                }
            }
        }
    }
}
