//! The measures of a network (see `crates/core/src/train/reading.rs`). Rows are judged on the device; the host adds them up in
//! order.

use superpose_core::Measure;
use superpose_core::evaluate::{Evaluation, Tally, queries};
use superpose_core::train::{Reading, Tensor};

use crate::geometry::{linear, rows};
use crate::lane::{Done, Element, arguments};

use super::Training;
use super::block::Samples;
use super::memory::Sizes;

/// Numbers of the answer to a sample: credit, credit among five, margin.
const ANSWER: usize = 3;
/// Numbers of a row of attention weights: the same three, whether the informative position is kept, its weight.
const ATTENTION: usize = 5;

impl<T: Element> Training<'_, T> {
    pub fn reading(&self) -> Done<Reading> {
        let Sizes { heads, labels, length, block, .. } = self.sizes;
        let (lane, work, config) = (self.lane(), &self.work, self.problem.config);
        let test = config.test_samples;
        let scores = self.scores()?;
        let answers = lane.alloc::<f64>(ANSWER * test)?;
        let attention = lane.alloc::<f64>(ATTENTION * test * heads)?;
        let mut losses = Vec::with_capacity(test);
        let (stride, at_kept, at_mass) = (ATTENTION as u32, 3u32, 4u32);
        for first in (0..test).step_by(block) {
            let count = block.min(test - first);
            let found = attention.at(ATTENTION * first * heads);
            let samples = Samples { source: self.tensors.source.test(), ids: 0, first, count };
            self.attend(samples, &scores, config.keep.unwrap_or(length), Some((found, stride, at_kept)))?;
            self.logits(self.features(count)?, count)?;
            let (all, position, weights) = (count * heads, work.position.start(), work.weights.start());
            self.judge(
                work.logits.start(),
                count,
                labels,
                work.labels.start(),
                answers.at(ANSWER * first),
                ANSWER,
            )?;
            self.judge(weights, all, length, position, found, ATTENTION)?;
            let (columns, number) = (length as u32, all as u64);
            let to = arguments![weights, columns, position, number, found, stride, at_mass];
            self.launch("pick_entries", linear(all), to)?;
            self.residuals(count)?;
            losses.extend(lane.download(&work.losses, 0..count)?);
            self.progress(0)?;
        }
        let mut measures = Evaluation::default();
        for found in lane.download(&answers, 0..ANSWER * test)?.chunks_exact(ANSWER) {
            for (measure, &value) in
                [Measure::Accuracy, Measure::Top5Accuracy, Measure::Margin].into_iter().zip(found)
            {
                measures[measure].add(1.0, value);
            }
        }
        let mut attended = vec![Evaluation::default(); heads];
        let found = lane.download(&attention, 0..ATTENTION * test * heads)?;
        for (row, found) in found.chunks_exact(ATTENTION).enumerate() {
            let head = &mut attended[row % heads];
            head[Measure::LockRate].add(1.0, found[0]);
            head[Measure::KeptRate].add(1.0, found[3]);
            head[Measure::AttentionMass].add(1.0, found[4]);
        }
        let loss = losses.iter().sum::<f64>() / test as f64;
        Ok(Reading::new(loss, measures, &attended, self.memory_accuracy()?))
    }

    /// Three numbers per row of a matrix about its right entry, in rows of `stride` numbers.
    fn judge(&self, matrix: u64, count: usize, columns: usize, right: u64, out: u64, stride: usize) -> Done {
        let (number, stride, place) = (columns as u32, stride as u32, 0u32);
        self.launch("answers", rows(count, columns), arguments![matrix, number, right, out, stride, place])
    }

    /// The share of facts recalled when all heads attend to the informative position.
    fn memory_accuracy(&self) -> Done<Tally> {
        let Sizes { dim, heads, labels, block, .. } = self.sizes;
        let (lane, work, config) = (self.lane(), &self.work, self.problem.config);
        let mut tally = Tally::default();
        for asked in queries(config, self.problem.task, config.test_samples).chunks(block) {
            let rows: Vec<u32> = asked.iter().flat_map(|fact| vec![fact.token as u32; heads]).collect();
            let right: Vec<u32> = asked.iter().map(|fact| fact.label).collect();
            let (index, right) = (lane.upload(&rows)?, lane.upload(&right)?);
            let (first, number, columns) = (0u64, rows.len() as u64, dim as u32);
            let (z_in, trigger) = (self.tensors.at(Tensor::ZIn), self.value_trigger());
            let to = arguments![z_in, columns, index.start(), first, number, trigger, work.head.start()];
            self.launch("place", linear(rows.len() * dim), to)?;
            self.logits(self.features(asked.len())?, asked.len())?;
            let found = lane.alloc::<f64>(ANSWER * asked.len())?;
            self.judge(work.logits.start(), asked.len(), labels, right.start(), found.start(), ANSWER)?;
            let found = lane.download(&found, 0..ANSWER * asked.len())?;
            asked
                .iter()
                .zip(found.chunks_exact(ANSWER))
                .for_each(|(fact, found)| tally.add(fact.weight, found[0]));
            self.progress(0)?;
        }
        Ok(tally)
    }
}
