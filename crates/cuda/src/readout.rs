//! The softmax of a block of samples at a value matrix, and its products.

use std::cell::OnceCell;

use superpose_core::model::worth_folding;

use crate::exact::Features;
use crate::geometry::{NEAR_LOGITS, rows, softmax_blocks};
use crate::lane::{Buffer, Done, Element, arguments, plain, transposed};
use crate::session::{OUTPUTS, Session, Sizes, VALUES};

/// A value matrix, folded into the output embedding if that is cheaper.
pub struct Readout<'a, T> {
    pub m: &'a Buffer<T>,
    pub folded: Option<Folded<T>>,
}

/// `Z_out M`, and the length of its longest row once it is needed.
pub struct Folded<T> {
    pub matrix: Buffer<T>,
    longest: OnceCell<Buffer<f64>>,
}

/// A matrix with a row for each label: its address, and that of the length of its longest row.
pub struct ByLabel {
    pub start: u64,
    pub columns: usize,
    pub longest: u64,
}

impl<T: Element> Session<'_, T> {
    /// A value matrix for the logits of this many rows of features.
    pub fn readout<'b>(&self, m: &'b Buffer<T>, count: usize) -> Done<Readout<'b, T>> {
        let Sizes { dim, inputs, labels, .. } = self.sizes;
        if !worth_folding(count, labels, dim, inputs) {
            return Ok(Readout { m, folded: None });
        }
        let matrix = self.lane.alloc(labels * inputs)?;
        self.product(
            matrix.start(),
            [labels, dim, inputs],
            plain::<T>(self.z_out.start()),
            plain(m.start()),
        )?;
        Ok(Readout { m, folded: Some(Folded { matrix, longest: OnceCell::new() }) })
    }

    /// The address of the length of the longest row of a folded readout.
    pub fn longest_readout(&self, Folded { matrix, longest }: &Folded<T>) -> Done<u64> {
        if let Some(found) = longest.get() {
            return Ok(found.start());
        }
        let found = self.lane.alloc(1)?;
        self.longest(matrix.start(), self.sizes.labels, self.sizes.inputs, None, (&found, 0))?;
        Ok(longest.get_or_init(|| found).start())
    }

    /// Logits of a block.
    pub fn logits(&self, readout: &Readout<'_, T>, block: Features<'_, T>) -> Done {
        self.some_logits(readout, block, 0, block.count)
    }

    /// Residuals of a block with the given labels.
    fn residuals(&self, readout: &Readout<'_, T>, block: Features<'_, T>, labels: u64) -> Done {
        let columns = self.sizes.labels;
        // Few rows at a time, so that logits are still in the cache when they become residuals.
        let size = (NEAR_LOGITS / columns).max(1024);
        for first in (0..block.count).step_by(size) {
            let count = size.min(block.count - first);
            self.some_logits(readout, block, first, count)?;
            let (number, labels, no_losses) = (columns as u32, labels + 4 * first as u64, 0u64);
            let to = arguments![block.work.logits.at(first * columns), number, labels, no_losses];
            self.launch("residual", rows(count, columns), to)?;
        }
        Ok(())
    }

    fn some_logits(
        &self,
        readout: &Readout<'_, T>,
        block: Features<'_, T>,
        first: usize,
        count: usize,
    ) -> Done {
        let Sizes { dim, inputs, labels, .. } = self.sizes;
        let features = plain::<T>(block.start + (first * inputs * size_of::<T>()) as u64);
        let out = block.work.logits.at(first * labels);
        match &readout.folded {
            Some(Folded { matrix, .. }) => {
                self.product(out, [count, inputs, labels], features, transposed(matrix.start()))
            }
            None => {
                let between = block.work.output.start();
                self.product(between, [count, inputs, dim], features, transposed(readout.m.start()))?;
                let z_out = transposed(self.z_out.start());
                self.product(out, [count, dim, labels], plain::<T>(between), z_out)
            }
        }
    }

    /// Whether one kernel computes the softmax of this readout and its product.
    pub fn fuses(&self, readout: &Readout<'_, T>) -> bool {
        self.fused && readout.folded.is_some()
    }

    /// `Z_out^T r` of a block with the labels at an address.
    pub fn residual_outputs(&self, readout: &Readout<'_, T>, block: Features<'_, T>, labels: u64) -> Done {
        let output = block.work.output.start();
        let x =
            ByLabel { start: self.z_out.start(), columns: self.sizes.dim, longest: self.lengths.at(OUTPUTS) };
        self.respond(readout, block, labels, x, output, None)
    }

    /// `X^T r` of a block for a matrix X, written to an address. One kernel computes it if [`Self::fuses`] holds, and writes the length
    /// of the longest row to the place `longest` of `lengths`, if it is given. Otherwise the memory for logits holds the residuals, and
    /// the caller finds that length.
    pub fn respond(
        &self,
        readout: &Readout<'_, T>,
        block: Features<'_, T>,
        right: u64,
        x: ByLabel,
        out: u64,
        longest: Option<usize>,
    ) -> Done {
        let labels = self.sizes.labels;
        if let (true, Some(folded)) = (self.fuses(readout), &readout.folded) {
            let [count, labels, dim] = [block.count, labels, x.columns].map(|size| size as u32);
            let (start, used) = (block.start, block.used);
            let (feature_bound, readout_bound) = (self.lengths.at(VALUES), self.longest_readout(folded)?);
            longest.map(|place| self.lane.clear(&self.lengths, place, 1)).transpose()?;
            let longest = longest.map_or(0, |place| self.lengths.at(place));
            let to = arguments![
                start,
                count,
                folded.matrix.start(),
                labels,
                x.start,
                dim,
                right,
                feature_bound,
                readout_bound,
                x.longest,
                used,
                longest,
                out
            ];
            return self.launch("softmax_product", softmax_blocks(block.count), to);
        }
        self.residuals(readout, block, right)?;
        let residuals = plain::<T>(block.work.logits.start());
        self.product(out, [block.count, labels, x.columns], residuals, plain(x.start))
    }
}
