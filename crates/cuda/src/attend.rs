//! Head outputs of samples, and the coefficients of step 2 (see `crates/core/src/model/block.rs`).

use crate::data::Source;
use crate::geometry::{dots_bytes, groups, lanes, linear, short_blocks, short_lanes};
use crate::lane::{Buffer, Done, Element, Shape, arguments, optional};
use crate::session::{Scores, Session, Sizes};

/// The attention weights of samples.
#[derive(Clone, Copy)]
pub enum Weights<'a, T> {
    /// Equal.
    Equal,
    /// The softmax of scores.
    Softmax(&'a Scores<T>),
    /// A row per sample.
    Given(&'a Buffer<T>),
}

impl<T> Weights<'_, T> {
    /// The addresses of the scores of tokens, of what the trigger adds, and of given weights; 0 where they are absent.
    fn addresses(&self) -> (u64, u64, u64) {
        match self {
            Weights::Equal => (0, 0, 0),
            Weights::Softmax(scores) => (scores.tokens.start(), scores.trigger(), 0),
            Weights::Given(weights) => (0, 0, weights.start()),
        }
    }
}

/// Rows of head outputs: samples from `first` on, or segments of `order` that begin at `starts`.
#[derive(Clone, Copy)]
pub struct Rows {
    pub order: u64,
    pub starts: u64,
    pub first: usize,
    pub count: usize,
    /// The first sample, in `order` if there is one, and their number.
    pub samples: (usize, usize),
}

impl Rows {
    /// A row per sample.
    pub fn samples(first: usize, count: usize) -> Rows {
        Rows { order: 0, starts: 0, first, count, samples: (first, count) }
    }
}

impl<T: Element> Session<'_, T> {
    /// Largest score and scale of the exponentials of the samples of rows.
    fn stats(&self, source: &Source, rows: Rows, scores: &Scores<T>) -> Done<Buffer<T>> {
        let (first, count) = rows.samples;
        let stats = self.lane.alloc(2 * count)?;
        let (width, first, number) = (lanes(self.sizes.length), first as u32, count as u32);
        let (order, tokens) = (rows.order, scores.tokens.start());
        let to = arguments![*source, order, first, number, tokens, scores.trigger(), stats.start(), width];
        self.launch("softmax_stats", groups(count, width), to)?;
        Ok(stats)
    }

    /// Head outputs of samples or of segments of samples.
    pub fn attend(&self, source: &Source, rows: Rows, weights: Weights<'_, T>, out: u64) -> Done {
        if rows.starts == 0
            && let Some(width) = short_lanes(self.sizes.dim, self.sizes.length)
        {
            return self.attend_short(source, rows, weights, width, out);
        }
        let (dim, first, count) = (self.sizes.dim as u32, rows.first as u64, rows.count as u32);
        let shape = groups(rows.count * self.sizes.dim.div_ceil(128), 32);
        let trigger = self.value_trigger(self.problem.config.trigger);
        let stats = match weights {
            Weights::Softmax(scores) => Some(self.stats(source, rows, scores)?),
            _ => None,
        };
        let (tokens, trigger_score, given) = weights.addresses();
        let to = arguments![
            *source,
            rows.order,
            rows.starts,
            first,
            count,
            self.z_in.start(),
            dim,
            trigger,
            tokens,
            trigger_score,
            optional(stats.as_ref()),
            given,
            out
        ];
        self.launch("attend", shape, to)
    }

    /// The same for samples of short sequences with short rows, which `width` lanes share.
    fn attend_short(
        &self,
        source: &Source,
        rows: Rows,
        weights: Weights<'_, T>,
        width: u32,
        out: u64,
    ) -> Done {
        let (dim, first, count) = (self.sizes.dim as u32, rows.first as u32, rows.count as u32);
        let trigger = self.value_trigger(self.problem.config.trigger);
        let (shape, each) = short_blocks(rows.count, self.sizes.length);
        let (tokens, trigger_score, given) = weights.addresses();
        let to = arguments![
            *source,
            first,
            count,
            each,
            self.z_in.start(),
            dim,
            trigger,
            tokens,
            trigger_score,
            given,
            out,
            width
        ];
        self.launch("attend_short", shape, to)
    }

    /// Adds the coefficients of samples with the gradients `g`, a row per label or per sample, as integers.
    pub fn scatter_by_rows(
        &self,
        first: u32,
        count: usize,
        g: u64,
        by_label: bool,
        samples: usize,
        sums: &Buffer<i64>,
    ) -> Done {
        let Sizes { dim, tokens, length, .. } = self.sizes;
        let (columns, by_label, all) = (tokens as u32, u32::from(by_label), samples as f64);
        let copies = self.copies();
        let trigger = self.value_trigger(self.problem.config.trigger);
        if let Some(width) = short_lanes(dim, length) {
            let (shape, each) = short_blocks(count, length);
            let (dim, number) = (dim as u32, count as u32);
            let to = arguments![
                self.train,
                first,
                number,
                each,
                columns,
                self.z_in.start(),
                dim,
                trigger,
                g,
                by_label,
                self.lengths.start(),
                all,
                sums.start(),
                copies,
                width
            ];
            return self.launch("scatter_short", shape, to);
        }
        let shared = dots_bytes(dim, length, size_of::<T>()) as u32;
        let (shape, dim) = (Shape { grid: (count as u32, 1), block: 128, shared }, dim as u32);
        let to = arguments![
            self.train,
            first,
            columns,
            self.z_in.start(),
            dim,
            trigger,
            g,
            by_label,
            self.lengths.start(),
            all,
            sums.start(),
            copies
        ];
        self.launch("scatter_by_rows", shape, to)
    }

    /// Sums of coefficients by token and at informative positions, as integers, in several copies.
    pub fn coefficient_sums(&self) -> Done<Buffer<i64>> {
        let tokens = self.sizes.tokens;
        self.lane.zeros(self.copies() as usize * (tokens + 1))
    }

    /// Adds the integer sums of `samples` samples to the totals and clears them.
    pub fn flush(&self, sums: &Buffer<i64>, total: &Buffer<f64>, samples: usize) -> Done {
        let (size, all, copies) = ((self.sizes.tokens + 1) as u64, samples as f64, self.copies());
        let to = arguments![sums.start(), copies, size, self.lengths.start(), all, total.start()];
        self.launch("flush_coefficients", linear(self.sizes.tokens + 1), to)
    }
}
