//! The measures of a trained model (see `crates/core/src/evaluate`). Rows are judged on the device; the host adds them up in order.

use superpose_core::Measure;
use superpose_core::config::{Regime, Trigger};
use superpose_core::evaluate::{Evaluation, Tally, queries};
use superpose_core::task::Fact;

use crate::exact::{Features, Readout, Work};
use crate::geometry::{block_rows, linear, rows};
use crate::lane::{Buffer, Done, Element, arguments, optional};
use crate::limit::{Rows, Weights};
use crate::session::{Session, Sizes, Trained};

impl<T: Element> Session<'_, T> {
    /// All measures. `counts` is how often each fact was seen in training.
    pub fn evaluate(&self, trained: &Trained<T>, counts: &Buffer<u32>) -> Done<Evaluation> {
        let config = self.problem.config;
        let size = self.sizes.dim * self.sizes.inputs;
        let answers = self.answers(trained)?;
        let exact = config.regime == Regime::Exact;
        let step = self.placed_step(exact.then_some(&trained.m1), counts)?;
        let memory = match exact {
            false => self.combine(1.0, &step, 0.0, None, size)?,
            true => {
                let one = self.lane.zeros::<f64>(size)?;
                let entries = size as u64;
                self.launch(
                    "accumulate",
                    linear(size),
                    arguments![one.start(), trained.m1.start(), entries],
                )?;
                self.combine(1.0, &one, trained.phase.eta2, Some(&step), size)?
            }
        };
        let queries = queries(config, self.problem.task, config.test_samples);
        let asked = self.ask(&memory, config.trigger, &queries)?;
        let asked_first = self.ask(&trained.m1, Trigger::Keys, &queries)?;
        // Results are copied once everything is on its way, since every copy waits.
        let mut measures = Evaluation::default();
        for found in self.lane.download(&answers, 0..8 * config.test_samples)?.chunks_exact(8) {
            for (measure, value) in [
                (Measure::Accuracy, found[0]),
                (Measure::Top5Accuracy, found[1]),
                (Measure::Margin, found[2]),
                (Measure::LockRate, found[3]),
                (Measure::KeptRate, found[6]),
                (Measure::AttentionMass, found[7]),
            ] {
                measures[measure].add(1.0, value);
            }
        }
        for (measure, asked) in [(Measure::MemoryAccuracy, asked), (Measure::OneStepAccuracy, asked_first)] {
            let found = self.lane.download(&asked, 0..3 * queries.len())?;
            let mut tally = Tally::default();
            queries
                .iter()
                .zip(found.chunks_exact(3))
                .for_each(|(query, found)| tally.add(query.weight, found[0]));
            measures[measure] = tally;
        }
        Ok(measures)
    }

    /// Asks the trained model every test sequence. Eight numbers per sequence: three of the logits, three of the weights, whether
    /// the position is kept, its weight.
    fn answers(&self, trained: &Trained<T>) -> Done<Buffer<f64>> {
        let Sizes { dim, inputs, labels: label_count, length, .. } = self.sizes;
        let (config, lane, source) = (self.problem.config, self.lane, self.test());
        let readout = self.readout(&trained.m2, config.test_samples)?;
        let size = block_rows(label_count.max(inputs).max(dim).max(length), config.test_samples);
        let (work, weights) = (self.work(size, true)?, lane.alloc::<T>(size * length)?);
        let (labels, positions) = (lane.alloc::<u32>(size)?, lane.alloc::<u32>(size)?);
        let (all, stride) = (lane.alloc::<f64>(8 * config.test_samples)?, 8u32);
        let ([at_logits, at_weights], [at_kept, at_mass]) = ([0, 3], [6u32, 7]);
        let scores = trained.scores.as_ref();
        let tokens = scores.map_or(0, |scores| scores.tokens.start());
        let trigger_score = scores.map_or(T::ZERO, |scores| scores.trigger);
        let keep = config.keep.unwrap_or(length) as u32;
        for first in (0..config.test_samples).step_by(size) {
            let count = size.min(config.test_samples - first);
            let (start, number, order) = (first as u32, count as u32, 0u64);
            let (shape, found) = (rows(count, length.div_ceil(4)), all.at(8 * first));
            let to = arguments![
                source,
                start,
                number,
                tokens,
                trigger_score,
                keep,
                weights.start(),
                found,
                stride,
                at_kept
            ];
            self.launch("weigh", shape, to)?;
            self.launch(
                "sample_labels",
                linear(count),
                arguments![source, order, start, number, labels.start()],
            )?;
            self.launch(
                "sample_positions",
                linear(count),
                arguments![source, start, number, positions.start()],
            )?;
            let given = Weights::Given(&weights);
            self.attend(&source, Rows::samples(first, count), given, work.head.start())?;
            self.logits(&readout, self.activate(&work, count)?)?;
            self.judge(&work.logits, count, label_count, labels.start(), [found, 8, at_logits])?;
            self.judge(&weights, count, length, positions.start(), [found, 8, at_weights])?;
            let (columns, entries) = (length as u32, count as u64);
            let to = arguments![weights.start(), columns, positions.start(), entries, found, stride, at_mass];
            self.launch("pick_entries", linear(count), to)?;
            self.progress(count, first + count < config.test_samples)?;
        }
        Ok(all)
    }

    /// Credit, credit among the five largest, and margin of the right entry of each row, written to rows of `stride` numbers at
    /// `out`, from `place` on.
    fn judge(
        &self,
        matrix: &Buffer<T>,
        count: usize,
        columns: usize,
        right: u64,
        [out, stride, place]: [u64; 3],
    ) -> Done {
        let (number, stride, place) = (columns as u32, stride as u32, place as u32);
        let to = arguments![matrix.start(), number, right, out, stride, place];
        self.launch("answers", rows(count, columns), to)
    }

    /// Features of tokens at the informative position, as if all attention were there. Without an index, tokens from `first` on.
    fn placed<'b>(
        &self,
        index: Option<&Buffer<u32>>,
        first: usize,
        count: usize,
        trigger: Trigger,
        work: &'b Work<T>,
    ) -> Done<Features<'b, T>> {
        let (start, number, dim) = (first as u64, count as u64, self.sizes.dim as u32);
        let vector = self.value_trigger(trigger);
        let to =
            arguments![self.z_in.start(), dim, optional(index), start, number, vector, work.head.start()];
        self.launch("place", linear(count * self.sizes.dim), to)?;
        self.activate(work, count)
    }

    fn block(&self, count: usize) -> usize {
        block_rows(self.sizes.labels.max(self.sizes.inputs).max(self.sizes.dim), count)
    }

    /// Step 3 with all attention on the informative position, per unit of rate: at the true softmax of a value matrix, or at a
    /// uniform one.
    fn placed_step(&self, m: Option<&Buffer<T>>, counts: &Buffer<u32>) -> Done<Buffer<f64>> {
        let Sizes { dim, inputs, samples, .. } = self.sizes;
        let (lane, config) = (self.lane, self.problem.config);
        let readout: Option<Readout<'_, T>> = m.map(|m| self.readout(m, config.vocab)).transpose()?;
        let size = self.block(config.vocab);
        let (work, weights) = (self.work(size, m.is_some())?, lane.alloc::<T>(config.vocab)?);
        let (entries, scale) = (config.vocab as u64, 1.0 / samples as f64);
        let to = arguments![counts.start(), weights.start(), entries, scale];
        self.launch("scale_counts", linear(config.vocab), to)?;
        let (sum, step) = (lane.zeros(dim * inputs)?, lane.alloc(dim * inputs)?);
        for first in (0..config.vocab).step_by(size) {
            let count = size.min(config.vocab - first);
            let features = self.placed(None, first, count, config.trigger, &work)?;
            let (columns, entries, plain) = (dim as u32, count as u64, 0u32);
            let (facts, weights) = (self.facts(first), weights.at(first));
            match &readout {
                Some(readout) => {
                    self.residuals(readout, features, facts)?;
                    self.residual_outputs(features)?;
                    let to = arguments![work.output.start(), entries, columns, weights];
                    self.launch("scale_rows", linear(count * dim), to)?;
                }
                None => {
                    let to = arguments![
                        self.centred.start(),
                        columns,
                        facts,
                        entries,
                        weights,
                        plain,
                        work.output.start()
                    ];
                    self.launch("pick_rows", linear(count * dim), to)?;
                }
            }
            self.add_outer_products(&sum, &step, features)?;
            self.progress(0, first + count < config.vocab)?;
        }
        Ok(sum)
    }

    /// Asks tokens with attention on the informative position. Three numbers per token, as [`Session::judge`] writes them.
    fn ask(&self, m: &Buffer<T>, trigger: Trigger, queries: &[Fact]) -> Done<Buffer<f64>> {
        let all = queries.iter().enumerate().all(|(i, query)| i == query.token);
        let readout = self.readout(m, queries.len())?;
        let size = self.block(queries.len());
        let (work, found) = (self.work(size, true)?, self.lane.alloc::<f64>(3 * queries.len())?);
        for (block, asked) in queries.chunks(size).enumerate() {
            let (first, count) = (block * size, asked.len());
            let chosen = if all { None } else { Some(self.chosen(asked)?) };
            let facts = chosen.as_ref().map_or(self.facts(first), |(_, facts)| facts.start());
            let tokens = chosen.as_ref().map(|(tokens, _)| tokens);
            self.logits(&readout, self.placed(tokens, first, count, trigger, &work)?)?;
            self.judge(&work.logits, count, self.sizes.labels, facts, [found.at(3 * first), 3, 0])?;
            self.progress(0, first + count < queries.len())?;
        }
        Ok(found)
    }

    /// Tokens and their labels on the device.
    fn chosen(&self, asked: &[Fact]) -> Done<(Buffer<u32>, Buffer<u32>)> {
        let tokens: Vec<u32> = asked.iter().map(|query| query.token as u32).collect();
        let facts: Vec<u32> = asked.iter().map(|query| query.label).collect();
        Ok((self.lane.upload(&tokens)?, self.lane.upload(&facts)?))
    }
}
