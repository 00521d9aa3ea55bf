//! The measures of a trained model (see `crates/core/src/evaluate`). Rows are judged and added up on the device.

use superpose_core::Measure;
use superpose_core::config::Trigger;
use superpose_core::evaluate::{Evaluation, Tally, queries};
use superpose_core::task::Fact;

use crate::attend::{Rows, Weights};
use crate::exact::{Features, Work};
use crate::geometry::{THREADS, block_rows, linear, rows, warps};
use crate::lane::{Buffer, Done, Element, Shape, arguments, optional};
use crate::readout::Readout;
use crate::session::{Session, Sizes, Trained};

/// Numbers of a cell that come back from its evaluation.
const SUMS: usize = 21;

impl<T: Element> Session<'_, T> {
    /// All measures of each cell, and whether its value matrices are finite. `counts` is how often each fact was seen in training.
    pub fn evaluate(&self, trained: &Trained<T>, counts: &Buffer<u32>) -> Done<(Vec<Evaluation>, Vec<bool>)> {
        let (config, lane) = (self.problem.config, self.lane);
        let size = self.sizes.dim * self.sizes.inputs;
        // Sums and squared sums of the eight columns of answers and of both questions, and whether a number is not finite.
        let sums = lane.zeros::<f64>(SUMS)?;
        let answers = self.answers(trained)?;
        self.tally(&answers, config.test_samples, 8, None, sums.at(0))?;
        let step = self.placed_step(trained.eta2.is_some().then_some(&trained.m1), counts)?;
        let step = self.placed_step_by_rule(step, counts)?;
        let memory = match &trained.eta2 {
            None => self.scaled(1.0, &step, size)?,
            Some(eta2) => {
                let (one, entries, parts) = (lane.zeros::<f64>(size)?, size as u64, 1u32);
                let to = arguments![one.start(), trained.m1.start(), entries, parts];
                self.launch("accumulate", linear(size), to)?;
                self.combine(1.0, &one, 1.0, [Some(eta2), Some(&step)], size)?
            }
        };
        let asked = self.problems.iter().map(|cell| queries(cell.config, cell.task, config.test_samples));
        let asked: Vec<Fact> = asked.flatten().collect();
        let number = asked.len() / self.problems.len();
        let weights = lane.upload(&asked.iter().map(|query| query.weight).collect::<Vec<f64>>())?;
        for (m, trigger, place) in [(&memory, config.trigger, 16), (&trained.m1, Trigger::Keys, 18)] {
            self.tally(&self.ask(m, trigger, &asked)?, number, 1, Some(&weights), sums.at(place))?;
        }
        for m in [&trained.m1, &trained.m2] {
            let entries = size as u64;
            self.launch("find_not_finite", linear(size), arguments![m.start(), entries, sums.at(SUMS - 1)])?;
        }
        let sums = lane.download(&sums, 0..SUMS)?;
        let evaluation = |(sums, asked): (&[f64], &[Fact])| {
            let (count, weight) = (config.test_samples, asked.iter().map(|query| query.weight).sum());
            let (answered, asked) = ((count, count as f64), (number, weight));
            let mut measures = Evaluation::default();
            for (measure, place, (items, weight)) in [
                (Measure::Accuracy, 0, answered),
                (Measure::Top5Accuracy, 1, answered),
                (Measure::Margin, 2, answered),
                (Measure::LockRate, 3, answered),
                (Measure::KeptRate, 6, answered),
                (Measure::AttentionMass, 7, answered),
                (Measure::MemoryAccuracy, 8, asked),
                (Measure::OneStepAccuracy, 9, asked),
            ] {
                measures[measure] = Tally::of_sums(items, weight, sums[2 * place], sums[2 * place + 1]);
            }
            measures
        };
        let evaluations = sums.chunks(SUMS).zip(asked.chunks(number)).map(evaluation).collect();
        Ok((evaluations, sums.chunks(SUMS).map(|sums| sums[SUMS - 1] == 0.0).collect()))
    }

    /// Sums and squared sums of the first columns of the answers to `count` questions.
    fn tally(
        &self,
        answers: &Buffer<f64>,
        count: usize,
        columns: u32,
        weights: Option<&Buffer<f64>>,
        out: u64,
    ) -> Done {
        let (rows, width) = (count as u64, (answers.size() / count) as u32);
        let to = arguments![answers.start(), rows, width, optional(weights), out];
        self.launch("tally", Shape { grid: (columns, 1), block: THREADS, shared: 0 }, to)
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
        let trigger_score = scores.map_or(0, |scores| scores.trigger());
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

    /// Features of tokens at the informative position, as if all attention were there: those of an index at an address, or tokens
    /// from `first` on.
    fn placed<'b>(
        &self,
        index: Option<u64>,
        first: usize,
        count: usize,
        trigger: Trigger,
        work: &'b Work<T>,
    ) -> Done<Features<'b, T>> {
        let (start, number, dim) = (first as u64, count as u64, self.sizes.dim as u32);
        let vector = self.value_trigger(trigger);
        let index = index.unwrap_or_default();
        let to = arguments![self.z_in.start(), dim, index, start, number, vector, work.head.start()];
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
        let logits = readout.as_ref().is_some_and(|readout| !self.fuses(readout));
        let (work, weights) = (self.work(size, logits)?, lane.alloc::<T>(config.vocab)?);
        let (entries, scale) = (config.vocab as u64, 1.0 / samples as f64);
        let to = arguments![counts.start(), weights.start(), entries, scale];
        self.launch("scale_counts", linear(config.vocab), to)?;
        let sum = lane.zeros(dim * inputs)?;
        for first in (0..config.vocab).step_by(size) {
            let count = size.min(config.vocab - first);
            let features = self.placed(None, first, count, config.trigger, &work)?;
            let (columns, entries, plain) = (dim as u32, count as u64, 0u32);
            let (facts, weights) = (self.facts(first), weights.at(first));
            match &readout {
                Some(readout) => {
                    self.residual_outputs(readout, features, facts)?;
                    let to = arguments![work.output.start(), entries, columns, weights];
                    self.launch("scale_rows", warps(count), to)?;
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
            self.add_outer_products(&sum, features)?;
            self.progress(0, first + count < config.vocab)?;
        }
        Ok(sum)
    }

    /// Asks tokens of each cell with attention on the informative position. Three numbers per token, as [`Session::judge`] writes
    /// them.
    fn ask(&self, m: &Buffer<T>, trigger: Trigger, asked: &[Fact]) -> Done<Buffer<f64>> {
        let number = asked.len() / self.problems.len();
        let all = asked.iter().enumerate().all(|(i, query)| i % number == query.token);
        let readout = self.readout(m, number)?;
        let size = self.block(number);
        let (work, found) = (self.work(size, true)?, self.lane.alloc::<f64>(3 * number)?);
        let chosen = |part: fn(&Fact) -> u32| self.lane.upload(&asked.iter().map(part).collect::<Vec<u32>>());
        let chosen = match all {
            true => None,
            false => Some((chosen(|query| query.token as u32)?, chosen(|query| query.label)?)),
        };
        for first in (0..number).step_by(size) {
            let count = size.min(number - first);
            let facts = chosen.as_ref().map_or(self.facts(first), |(_, facts)| facts.at(first));
            let tokens = chosen.as_ref().map(|(tokens, _)| tokens.at(first));
            self.logits(&readout, self.placed(tokens, first, count, trigger, &work)?)?;
            self.judge(&work.logits, count, self.sizes.labels, facts, [found.at(3 * first), 3, 0])?;
            self.progress(0, first + count < number)?;
        }
        Ok(found)
    }
}
