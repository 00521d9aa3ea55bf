//! The measures of a trained model (see `crates/core/src/evaluate`). Rows are judged on the device; the host adds them up in order.

use superpose_core::Measure;
use superpose_core::config::{Regime, Trigger};
use superpose_core::evaluate::{Evaluation, Tally, queries};

use crate::exact::Readout;
use crate::geometry::{block_rows, linear, rows};
use crate::lane::{Buffer, Done, Element, Shape, arguments};
use crate::limit::Rows;
use crate::session::{Session, Sizes, Trained};

impl<T: Element> Session<'_, T> {
    /// All measures. `frequency` is how often each fact was seen in training.
    pub fn evaluate(&self, trained: &Trained<T>, frequency: &[f64]) -> Done<Evaluation> {
        let config = self.problem.config;
        let size = self.sizes.dim * self.sizes.inputs;
        let mut measures = self.answers(trained)?;
        let exact = config.regime == Regime::Exact;
        let step = self.placed_step(exact.then_some(&trained.m1), frequency)?;
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
        measures[Measure::MemoryAccuracy] = self.memory_accuracy(&memory, config.trigger)?;
        measures[Measure::OneStepAccuracy] = self.memory_accuracy(&trained.m1, Trigger::Keys)?;
        Ok(measures)
    }

    /// Asks the trained model every test sequence.
    fn answers(&self, trained: &Trained<T>) -> Done<Evaluation> {
        let Sizes { dim, inputs, labels: label_count, length, .. } = self.sizes;
        let (config, lane, source) = (self.problem.config, self.lane, self.test());
        let readout = self.readout(&trained.m2, config.test_samples)?;
        let size = block_rows(label_count.max(inputs).max(dim).max(length), config.test_samples);
        let (head, between, logits) =
            (lane.alloc(size * dim)?, lane.alloc(size * dim)?, lane.alloc(size * label_count)?);
        let (before, after, weights) =
            (self.mlp_rows(size)?, self.mlp_rows(size)?, lane.alloc::<T>(size * length)?);
        let (labels, positions) = (lane.alloc::<u32>(size)?, lane.alloc::<u32>(size)?);
        let kept = lane.alloc::<f64>(size)?;
        let scores = trained.scores.as_ref();
        let tokens = scores.map_or(0, |scores| scores.tokens.start());
        let trigger_score = scores.map_or(T::ZERO, |scores| scores.trigger);
        let keep = config.keep.unwrap_or(length) as u32;
        let mut measures = Evaluation::default();
        for first in (0..config.test_samples).step_by(size) {
            let count = size.min(config.test_samples - first);
            let (start, number, order) = (first as u32, count as u32, 0u64);
            let shape = rows(count, length.div_ceil(4));
            let to =
                arguments![source, start, number, tokens, trigger_score, keep, weights.start(), kept.start()];
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
            let trigger = self.value_trigger(config.trigger);
            self.attend(
                &source,
                Rows::samples(first, count),
                None,
                None,
                Some(&weights),
                trigger,
                head.start(),
            )?;
            let features = self.activate(&head, count, &before, &after)?;
            self.logits(&readout, features, count, &between, &logits)?;
            let recall = self.judge(&logits, count, label_count, &labels)?;
            let lock = self.judge(&weights, count, length, &positions)?;
            let (columns, entries, mass) = (length as u32, count as u64, lane.alloc::<f64>(count)?);
            let to = arguments![weights.start(), columns, positions.start(), entries, mass.start()];
            self.launch("pick_entries", linear(count), to)?;
            let (recall, lock) = (lane.download(&recall, 0..3 * count)?, lane.download(&lock, 0..3 * count)?);
            let (kept, mass) = (lane.download(&kept, 0..count)?, lane.download(&mass, 0..count)?);
            for b in 0..count {
                for (measure, value) in [
                    (Measure::Accuracy, recall[3 * b]),
                    (Measure::Top5Accuracy, recall[3 * b + 1]),
                    (Measure::Margin, recall[3 * b + 2]),
                    (Measure::LockRate, lock[3 * b]),
                    (Measure::KeptRate, kept[b]),
                    (Measure::AttentionMass, mass[b]),
                ] {
                    measures[measure].add(1.0, value);
                }
            }
            self.progress(count, false)?;
        }
        Ok(measures)
    }

    /// Credit, credit among the five largest, and margin of the right entry of each row.
    fn judge(
        &self,
        matrix: &Buffer<T>,
        count: usize,
        columns: usize,
        right: &Buffer<u32>,
    ) -> Done<Buffer<f64>> {
        let out = self.lane.alloc(3 * count)?;
        let number = columns as u32;
        let shape: Shape = rows(count, columns);
        self.launch("answers", shape, arguments![matrix.start(), number, right.start(), out.start()])?;
        Ok(out)
    }

    /// Features of tokens at the informative position, as if all attention were there; their address.
    fn placed(&self, tokens: &[u32], trigger: Trigger, work: &Work<T>) -> Done<u64> {
        let (index, count, dim) = (self.lane.upload(tokens)?, tokens.len() as u64, self.sizes.dim as u32);
        let vector = self.value_trigger(trigger);
        let to = arguments![self.z_in.start(), dim, index.start(), count, vector, work.head.start()];
        self.launch("place", linear(tokens.len() * self.sizes.dim), to)?;
        self.activate(&work.head, tokens.len(), &work.before, &work.after)
    }

    fn work(&self, size: usize) -> Done<Work<T>> {
        Ok(Work {
            head: self.lane.alloc(size * self.sizes.dim)?,
            between: self.lane.alloc(size * self.sizes.dim)?,
            before: self.mlp_rows(size)?,
            after: self.mlp_rows(size)?,
            logits: self.lane.alloc(size * self.sizes.labels)?,
        })
    }

    fn block(&self, count: usize) -> usize {
        block_rows(self.sizes.labels.max(self.sizes.inputs).max(self.sizes.dim), count)
    }

    /// Step 3 with all attention on the informative position, per unit of rate: at the true softmax of a value matrix, or at a
    /// uniform one.
    fn placed_step(&self, m: Option<&Buffer<T>>, frequency: &[f64]) -> Done<Buffer<f64>> {
        let Sizes { dim, inputs, .. } = self.sizes;
        let (lane, task, config) = (self.lane, self.problem.task, self.problem.config);
        let seen: Vec<u32> = (0..config.vocab as u32).filter(|&w| frequency[w as usize] > 0.0).collect();
        let readout: Option<Readout<'_, T>> = m.map(|m| self.readout(m, seen.len())).transpose()?;
        let size = self.block(seen.len());
        let work = self.work(size)?;
        let output = lane.alloc::<T>(size * dim)?;
        let (sum, step) = (lane.zeros(dim * inputs)?, lane.alloc(dim * inputs)?);
        for tokens in seen.chunks(size) {
            let count = tokens.len();
            let facts: Vec<u32> = tokens.iter().map(|&w| task.facts()[w as usize]).collect();
            let weights: Vec<T> = tokens.iter().map(|&w| T::from_f64(frequency[w as usize])).collect();
            let (facts, weights) = (lane.upload(&facts)?, lane.upload(&weights)?);
            let features = self.placed(tokens, config.trigger, &work)?;
            let (columns, entries, plain) = (dim as u32, count as u64, 0u32);
            match &readout {
                Some(readout) => {
                    self.logits(readout, features, count, &work.between, &work.logits)?;
                    self.residual(&work.logits, count, &facts)?;
                    self.residual_outputs(&work.logits, count, &output)?;
                    let to = arguments![output.start(), entries, columns, weights.start()];
                    self.launch("scale_rows", linear(count * dim), to)?;
                }
                None => {
                    let to = arguments![
                        self.centred.start(),
                        columns,
                        facts.start(),
                        entries,
                        weights.start(),
                        plain,
                        output.start()
                    ];
                    self.launch("pick_rows", linear(count * dim), to)?;
                }
            }
            self.add_product(&sum, &step, count, [dim, inputs], output.start(), features)?;
            self.progress(0, false)?;
        }
        Ok(sum)
    }

    /// Accuracy of a value matrix with attention on the informative position, over all tokens or a sample of them.
    fn memory_accuracy(&self, m: &Buffer<T>, trigger: Trigger) -> Done<Tally> {
        let (config, task) = (self.problem.config, self.problem.task);
        let queries = queries(config, task, config.test_samples);
        let readout = self.readout(m, queries.len())?;
        let size = self.block(queries.len());
        let work = self.work(size)?;
        let mut tally = Tally::default();
        for asked in queries.chunks(size) {
            let count = asked.len();
            let tokens: Vec<u32> = asked.iter().map(|&(token, _)| token as u32).collect();
            let facts: Vec<u32> = asked.iter().map(|&(token, _)| task.facts()[token]).collect();
            let facts = self.lane.upload(&facts)?;
            let features = self.placed(&tokens, trigger, &work)?;
            self.logits(&readout, features, count, &work.between, &work.logits)?;
            let found = self.judge(&work.logits, count, self.sizes.labels, &facts)?;
            let found = self.lane.download(&found, 0..3 * count)?;
            asked
                .iter()
                .zip(found.chunks_exact(3))
                .for_each(|(&(_, weight), found)| tally.add(weight, found[0]));
            self.progress(0, false)?;
        }
        Ok(tally)
    }
}

/// Memory for a block of placed tokens.
struct Work<T> {
    head: Buffer<T>,
    between: Buffer<T>,
    before: Buffer<T>,
    after: Buffer<T>,
    logits: Buffer<T>,
}
