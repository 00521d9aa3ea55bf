//! Given rows by how hard they are to tell from the others, from their overlaps (theory: attention, measured rows).

use superpose_core::backend::{Backend, Cancelled, View};
use superpose_theory::rows::{GROUPS, KINDS, Kind};

use crate::inspect::SAMPLES_PER_FACT;
use crate::overlaps::{BLOCK, Outputs, OverlapSums, Overlaps, queries};

/// Where kinds of rows begin and end, as shares of all rows. They are fine at the end, since the rows that overlap most with others
/// decide how many facts are recalled where nearly all are.
const ENDS: [f64; KINDS + 1] =
    [0.0, 0.12, 0.24, 0.37, 0.5, 0.6, 0.69, 0.76, 0.82, 0.87, 0.91, 0.945, 0.967, 0.98, 0.99, 0.996, 1.0];

/// Sorts rows by how much they overlap with others and averages over those of a kind. Returns also the share of the other rows in
/// each group of overlaps.
pub(super) fn kinds<E: From<Cancelled>>(
    (count, dim): (usize, usize),
    square: f64,
    read: impl Fn(usize, usize) -> Result<Vec<f64>, E>,
    backend: &Backend,
) -> Result<([Kind; KINDS], [f64; GROUPS]), E> {
    let chosen = queries(count);
    let mut keys = Vec::with_capacity(chosen.len() * dim);
    for &row in &chosen {
        keys.extend(read(row, row + 1)?);
    }
    let mut found: Vec<OverlapSums> = chosen.iter().map(|&row| OverlapSums::new(row, count)).collect();
    let mut dots = Vec::new();
    for first in (0..count).step_by(BLOCK) {
        let end = (first + BLOCK).min(count);
        let block = read(first, end)?;
        dots.resize(chosen.len() * (end - first), 0.0);
        let (keys, block) = (View::new(&keys, chosen.len(), dim), View::new(&block, end - first, dim));
        backend.product(&mut dots, keys, block.t())?;
        let dots = &dots;
        backend.for_chunks(&mut found, 64, |i, part| {
            for (sums, row) in part.iter_mut().zip(dots.chunks_exact(end - first).skip(64 * i)) {
                sums.add(first, row.iter().map(|x| x / square));
            }
        })?;
    }
    let outputs = Outputs::gaussian(dim);
    let found: Vec<Overlaps> = found.into_iter().map(OverlapSums::overlaps).collect();
    let mut all = backend.map(found.len(), |i| {
        (found[i].win(count as f64, 1.0 / SAMPLES_PER_FACT, outputs), kind(&found[i]))
    })?;
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: Vec<([[f64; 2]; GROUPS], Kind)> = all.into_iter().map(|(_, kind)| kind).collect();
    let shares = std::array::from_fn(|g| mean(all.iter().map(|(groups, _)| groups[g][1])));
    let kinds = std::array::from_fn(|i| {
        let [first, end] = [i, i + 1].map(|i| (ENDS[i] * all.len() as f64).round() as usize);
        // A kind without rows, of weight 0, has the values of one row.
        let part = match &all[first..end] {
            [] => &all[first.min(all.len() - 1)..][..1],
            part => part,
        };
        let mean = |f: &dyn Fn(&Kind) -> f64| mean(part.iter().map(|(_, kind)| f(kind)));
        Kind {
            weight: (end - first) as f64 / all.len() as f64,
            own: mean(&|kind| kind.own),
            kappa: mean(&|kind| kind.kappa),
            s2: mean(&|kind| kind.s2),
            overlaps: std::array::from_fn(|g| mean(&|kind| kind.overlaps[g])),
        }
    });
    Ok((kinds, shares))
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0_f64);
    values.for_each(|value| (sum, count) = (sum + value, count + 1.0));
    sum / count.max(1.0)
}

/// The groups of a row's overlaps with their shares, and the row as a kind.
fn kind(row: &Overlaps) -> ([[f64; 2]; GROUPS], Kind) {
    /// Sizes of the groups of nearest rows, and numbers of further overlaps that are merged: fine where overlaps are large.
    const NEAREST: [usize; 6] = [1, 1, 2, 4, 8, 16];
    const FURTHER: [usize; GROUPS - NEAREST.len()] = [1, 1, 1, 2, 3, 4, 6, usize::MAX];
    let mut groups = [[0.0; 2]; GROUPS];
    let merge = |part: &[(f64, f64)]| {
        let share: f64 = part.iter().map(|one| one.1).sum();
        [part.iter().map(|one| one.0 * one.1).sum::<f64>() / share.max(f64::MIN_POSITIVE), share]
    };
    let (near, far) = groups.split_at_mut(NEAREST.len());
    for (groups, sizes, mut left) in [(near, &NEAREST[..], &row.nearest[..]), (far, &FURTHER, &row.groups)] {
        for (group, &size) in groups.iter_mut().zip(sizes) {
            let (part, rest) = left.split_at(size.min(left.len()));
            (*group, left) = (merge(part), rest);
        }
    }
    let overlaps = groups.map(|group| group[0]);
    (groups, Kind { weight: 0.0, own: row.kappa + row.xi, kappa: row.kappa, s2: row.s2, overlaps })
}
