//! The memory step of the exact regime from groups of samples with nearly equal head outputs, without an MLP
//! (see `crates/core/src/early_phase/grouped.rs`). A group's softmax is computed once, at the mean of its head outputs.

use superpose_core::early_phase::worth_grouping;

use crate::attend::{Rows, Weights};
use crate::exact::{Features, Response, Want, Work};
use crate::geometry::{WAIT, block_rows, groups, lanes, scan, warps};
use crate::lane::{Buffer, Done, Element, arguments};
use crate::readout::{Folded, Readout};
use crate::session::{Scores, Session, Sizes};

/// The groups of all facts, and the samples of a block that are in none.
struct Grouped<T> {
    /// The sums of the members' head outputs, as integers, and the numbers of members.
    sums: Buffer<i64>,
    members: Buffer<u32>,
    /// The tolerance of each fact, and the scale of its sums.
    limits: Buffer<f64>,
    /// Head outputs of a block, and whether a sample is in no group.
    heads: Buffer<T>,
    single: Buffer<u32>,
    /// The samples of a block that are in no group.
    samples: Buffer<u32>,
    /// After the last block, the facts with a group.
    facts: Buffer<u32>,
    /// How many samples and facts these are, and how many of the rows that are computed at a time are used.
    found: Buffer<u32>,
}

impl<T: Element> Session<'_, T> {
    /// The sum of `(Z_out^T r) psi(h)^T` over all samples.
    pub fn memory_sum(&self, scores: Option<&Scores<T>>, response: &Response<'_, T>) -> Done<Buffer<f64>> {
        if let (Response::Full(readout), Some(scores), None) = (response, scores, &self.w_in)
            && let Some(folded) = &readout.folded
            && worth_grouping(self.sizes.samples, self.problem.config.vocab)
        {
            return self.sum_by_groups(scores, readout, folded);
        }
        self.pass(scores, response, Want::Values)
    }

    fn sum_by_groups(
        &self,
        scores: &Scores<T>,
        readout: &Readout<'_, T>,
        folded: &Folded<T>,
    ) -> Done<Buffer<f64>> {
        let Sizes { dim, inputs, labels: label_count, samples, .. } = self.sizes;
        let (lane, vocab) = (self.lane, self.problem.config.vocab);
        let size = block_rows(dim.max(label_count), samples);
        let grouped = Grouped {
            sums: lane.zeros(vocab * dim)?,
            members: lane.zeros(vocab)?,
            limits: self.group_limits(folded)?,
            heads: lane.alloc(size * dim)?,
            single: lane.alloc(size)?,
            samples: lane.alloc(size)?,
            facts: lane.alloc(vocab)?,
            found: lane.zeros(3)?,
        };
        let work = self.work(size, !self.fuses(readout))?;
        let (labels, weights) = (lane.alloc::<u32>(size)?, lane.alloc::<T>(size)?);
        let total = lane.zeros(dim * inputs)?;
        // Numbers multiplied since the last wait.
        let mut multiplied = 0;
        for first in (0..samples).step_by(size) {
            let count = size.min(samples - first);
            let last = first + count == samples;
            let (rows, softmax) = (Rows::samples(first, count), Weights::Softmax(scores));
            self.attend(&self.train, rows, softmax, grouped.heads.start())?;
            self.join(first as u32, count, &grouped)?;
            self.find_nonzero(&grouped.single, count, &grouped.samples, grouped.found.at(0))?;
            if last {
                self.find_nonzero(&grouped.members, vocab, &grouped.facts, grouped.found.at(1))?;
            }
            let found = lane.download(&grouped.found, 0..2)?;
            let rows = found.chunks(2).map(|cell| (cell[0] + cell[1]) as usize).max().unwrap_or(0);
            for start in (0..rows).step_by(size) {
                let rows = size.min(rows - start);
                self.grouped_rows(&grouped, first as u32, start as u32, rows, (&work, &labels, &weights))?;
                let block = Features { used: grouped.found.at(2), ..self.activate(&work, rows)? };
                self.residual_outputs(readout, block, labels.start())?;
                let (columns, number) = (dim as u32, rows as u64);
                let to = arguments![work.output.start(), number, columns, weights.start()];
                self.launch("scale_rows", warps(rows), to)?;
                self.add_outer_products(&total, block)?;
                multiplied += rows * label_count * inputs;
                let wait = multiplied >= WAIT;
                multiplied = if wait { 0 } else { multiplied };
                self.progress(0, wait)?;
            }
            self.progress(count, !last)?;
        }
        Ok(total)
    }

    /// The tolerance of each fact, and the scale of its sums.
    fn group_limits(&self, folded: &Folded<T>) -> Done<Buffer<f64>> {
        let Sizes { dim, labels, .. } = self.sizes;
        let vocab = self.problem.config.vocab;
        let (counts, typical, limits) = (self.counts()?, self.lane.alloc(1)?, self.lane.alloc(2 * vocab)?);
        self.sum_squares(self.z_out.start(), labels * dim, 1.0 / labels as f64, &typical, 0)?;
        let (facts, columns, rounding) = (vocab as u32, dim as u32, T::EPSILON);
        let (trigger, longest) =
            (self.value_trigger(self.problem.config.trigger), self.longest_readout(folded)?);
        let to = arguments![
            self.z_in.start(),
            facts,
            columns,
            trigger,
            self.lengths.start(),
            longest,
            typical.start(),
            rounding,
            counts.start(),
            limits.start()
        ];
        self.launch("group_limits", groups(vocab, 32), to)?;
        Ok(limits)
    }

    /// Adds samples of a block to the groups that they may join, and marks the others.
    fn join(&self, first: u32, count: usize, grouped: &Grouped<T>) -> Done {
        let (number, dim, width) = (count as u32, self.sizes.dim as u32, lanes(self.sizes.dim));
        let trigger = self.value_trigger(self.problem.config.trigger);
        let to = arguments![
            self.train,
            first,
            number,
            grouped.heads.start(),
            self.z_in.start(),
            dim,
            trigger,
            grouped.limits.start(),
            grouped.sums.start(),
            grouped.members.start(),
            grouped.single.start(),
            width
        ];
        self.launch("join_groups", groups(count, width), to)
    }

    /// The indices of numbers that are not zero, and how many there are, written to an address.
    fn find_nonzero(&self, numbers: &Buffer<u32>, count: usize, list: &Buffer<u32>, found: u64) -> Done {
        let size = count as u32;
        self.launch("find_nonzero", scan(), arguments![numbers.start(), size, list.start(), found])
    }

    /// Rows from `start` on of those that have a softmax of their own, with their labels and weights.
    fn grouped_rows(
        &self,
        grouped: &Grouped<T>,
        first: u32,
        start: u32,
        rows: usize,
        (work, labels, weights): (&Work<T>, &Buffer<u32>, &Buffer<T>),
    ) -> Done {
        let (dim, number) = (self.sizes.dim as u32, rows as u32);
        let to = arguments![
            self.train,
            first,
            grouped.heads.start(),
            grouped.sums.start(),
            grouped.members.start(),
            grouped.limits.start(),
            dim,
            grouped.samples.start(),
            grouped.facts.start(),
            grouped.found.start(),
            start,
            number,
            work.head.start(),
            labels.start(),
            weights.start()
        ];
        self.launch("grouped_rows", warps(rows), to)
    }
}
