//! The three steps in the limit `eta -> 0` (see `crates/core/src/early_phase/limit.rs`), and what the exact regime shares with it.

use superpose_core::config::{Regime, Trigger};
use superpose_core::early_phase::{EarlyPhase, Groups, query, second_step};
use superpose_core::numeric::dot;
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples};

use crate::attend::{Rows, Weights};
use crate::exact::{Response, Want};
use crate::geometry::{UNSORTED, Way, groups, lanes, launch_samples, linear};
use crate::lane::{Buffer, Done, Element, arguments, optional, plain, transposed};
use crate::session::{GRADIENTS, Scores, Session, Sizes, Sorted, Trained};

/// The phases of all cells without their matrices, and the scores of their attention, absent when it is uniform.
pub type SecondStep<T> = (Vec<EarlyPhase<T>>, Option<Scores<T>>);

impl<T: Element> Session<'_, T> {
    /// The three steps.
    pub fn early_phase(&self) -> Done<Trained<T>> {
        if self.problem.config.regime == Regime::Exact {
            return self.exact();
        }
        let scale = 1.0 / self.sizes.samples as f64;
        let size = self.sizes.dim * self.sizes.inputs;
        let m1 = self.scaled(scale, &self.step_by_rule(self.value_step(None)?, None)?, size)?;
        let round = |m: &Buffer<T>| -> Done<(SecondStep<T>, Buffer<T>)> {
            let u = self.direction(&self.limit_coefficients(m)?)?;
            let (phases, scores) = self.second_step(&u)?;
            let step = self.step_by_rule(self.value_step(scores.as_ref())?, Some(&phases))?;
            Ok(((phases, scores), self.scaled(scale, &step, size)?))
        };
        let ((mut phases, mut scores), mut m2) = round(&m1)?;
        for _ in 1..self.problem.config.rounds {
            ((phases, scores), m2) = round(&m2)?;
        }
        Ok(Trained { phases, m1, m2, scores, eta2: None })
    }

    /// Step 2 of the directions of all cells.
    pub fn second_step(&self, u: &[f64]) -> Done<SecondStep<T>> {
        let (mut phases, mut queries, dim) = (Vec::new(), Vec::new(), self.sizes.dim);
        for (problem, ([z_trig, z_eos], u)) in
            self.problems.iter().zip(self.markers.iter().zip(u.chunks(dim)))
        {
            let phase = second_step(problem.config, z_trig, z_eos, self.sizes.length, u);
            let query = query(&phase.w1, z_eos);
            let trigger = T::from_f64(dot(&query, z_trig));
            queries.extend(query);
            queries.push(trigger);
            phases.push(phase);
        }
        if self.agreed(queries.chunks(dim + 1).map(|query| query[..dim].iter().all(|&x| x == T::ZERO)))? {
            return Ok((phases, None));
        }
        let (tokens, query) = (self.lane.alloc(self.sizes.tokens)?, self.lane.upload(&queries)?);
        self.row_dots(&self.z_in, self.sizes.tokens, &query, &tokens)?;
        Ok((phases, Some(Scores { tokens, query })))
    }

    fn row_dots(&self, rows: &Buffer<T>, count: usize, vector: &Buffer<T>, out: &Buffer<T>) -> Done {
        let (rows_, dim) = (count as u64, self.sizes.dim as u32);
        let to = arguments![rows.start(), rows_, dim, vector.start(), out.start()];
        self.launch("row_dots", groups(count, 32), to)
    }

    /// `mean_v total[v] z_in[v] + total[tokens] z_trig` over samples, of each cell.
    pub fn direction(&self, total: &Buffer<f64>) -> Done<Vec<f64>> {
        let Sizes { tokens, dim, samples, .. } = self.sizes;
        let sums = self.column_sums(&self.z_in, tokens, Some(total), 1.0)?;
        self.lane.copy(total, tokens, &sums, dim)?;
        let (sums, scale) = (self.lane.download(&sums, 0..dim + 1)?, 1.0 / samples as f64);
        let cells = sums.chunks(dim + 1).zip(&self.markers);
        let direction = cells.flat_map(|(sums, [trigger, _])| {
            trigger.iter().zip(sums).map(move |(z, sum)| (sum + sums[dim] * z.to_f64()) * scale)
        });
        Ok(direction.collect())
    }

    /// Steps 1 and 3 per unit of rate, times the number of samples: the sum of `(Z_out^T r) psi(h)^T` at a uniform softmax.
    pub fn value_step(&self, scores: Option<&Scores<T>>) -> Done<Buffer<f64>> {
        let Sizes { dim, labels, .. } = self.sizes;
        let heads = match Way::choose(self.problem.config) {
            // Sorting takes longer than a product over samples instead of labels.
            Way::Rows if self.sizes.samples <= UNSORTED => None,
            _ if self.w_in.is_some() => None,
            Way::Tables => Some(self.heads_by_tables(scores)?),
            Way::Rows => Some(self.heads_by_rows(scores)?),
        };
        let Some(heads) = heads else {
            return self.pass(scores, &Response::Limit { by_label: None }, Want::Values);
        };
        let sum = self.lane.zeros(dim * dim)?;
        self.add_product(&sum, labels, [dim, dim], self.centred.start(), heads.start())?;
        Ok(sum)
    }

    /// Sums of head outputs by label: a table of attention weights by label and token, and one product.
    fn heads_by_tables(&self, scores: Option<&Scores<T>>) -> Done<Buffer<T>> {
        let Sizes { dim, labels, tokens, length, samples, .. } = self.sizes;
        let (size, columns) = (labels * tokens, tokens as u32);
        let (table, triggers) = match scores {
            None => {
                // Counters have the size of the numbers that replace them.
                let (table, counts) = (self.lane.zeros::<T>(size)?, self.lane.zeros::<u32>(labels)?);
                self.by_launch(1, |first, count| {
                    let to = arguments![self.train, first, count, columns, table.start(), counts.start()];
                    self.launch("count_tokens", linear(count as usize * length.div_ceil(4)), to)
                })?;
                let (scale, entries, rows) = (1.0 / length as f64, size as u64, labels as u64);
                self.launch("counts_to_real", linear(size), arguments![table.start(), entries, scale])?;
                let triggers = self.lane.alloc::<T>(labels)?;
                let to = arguments![counts.start(), triggers.start(), rows, scale];
                self.launch("scale_counts", linear(labels), to)?;
                (table, triggers)
            }
            Some(scores) => {
                let (sums, by_label) = (self.lane.zeros::<i64>(size)?, self.lane.zeros::<i64>(labels)?);
                let (bound, width) = (samples as f64, lanes(length));
                self.by_launch(1, |first, count| {
                    let to = arguments![
                        self.train,
                        first,
                        count,
                        columns,
                        scores.tokens.start(),
                        scores.trigger(),
                        bound,
                        sums.start(),
                        by_label.start(),
                        width
                    ];
                    self.launch("weigh_tokens", groups(count as usize, width), to)
                })?;
                let real = |from: &Buffer<i64>, size: usize| -> Done<Buffer<T>> {
                    let (out, entries) = (self.lane.alloc(size)?, size as u64);
                    let to = arguments![from.start(), out.start(), entries, bound];
                    self.launch("fixed_to_real", linear(size), to)?;
                    Ok(out)
                };
                (real(&sums, size)?, real(&by_label, labels)?)
            }
        };
        let heads = self.lane.alloc(labels * dim)?;
        self.product(
            heads.start(),
            [labels, tokens, dim],
            plain::<T>(table.start()),
            plain(self.z_in.start()),
        )?;
        if self.problem.config.trigger == Trigger::Values {
            let (rows, columns) = (labels as u64, dim as u32);
            let to = arguments![heads.start(), rows, columns, triggers.start(), self.z_trig.start()];
            self.launch("add_outer", linear(labels * dim), to)?;
        }
        Ok(heads)
    }

    /// The same from rows of the embedding, for samples sorted by label.
    fn heads_by_rows(&self, scores: Option<&Scores<T>>) -> Done<Buffer<T>> {
        let Sizes { dim, labels, length, .. } = self.sizes;
        if self.sorted.get().is_none() {
            let _ = self.sorted.set(self.sort()?);
        }
        let Sorted { order, starts, ends } = self.sorted.get().expect("sorted above");
        let heads = self.lane.alloc::<T>(labels * dim)?;
        let samples = launch_samples(length, dim);
        let mut first = 0;
        while first < labels {
            let end =
                (first + 1).max(ends.partition_point(|&end| end <= ends[first] + samples) - 1).min(labels);
            let count = ends[end] - ends[first];
            let samples = (ends[first], count);
            let rows =
                Rows { order: order.start(), starts: starts.start(), first, count: end - first, samples };
            let weights = scores.map_or(Weights::Equal, Weights::Softmax);
            self.attend(&self.train, rows, weights, heads.at(first * dim))?;
            self.progress(count, end < labels)?;
            first = end;
        }
        Ok(heads)
    }

    fn sort(&self) -> Done<Sorted> {
        let problem = self.problem;
        let drawn = Drawn::new(problem.task, problem.config.seed, Stream::Train, self.sizes.samples);
        let samples: &dyn Samples = match problem.stored {
            Some(stored) => stored,
            None => &drawn,
        };
        let groups = Groups::new(samples, self.sizes.labels, problem.host)?;
        let starts: Vec<u64> = groups.starts().iter().map(|&start| start as u64).collect();
        let (order, starts) = (self.lane.upload(groups.order())?, self.lane.upload(&starts)?);
        Ok(Sorted { order, starts, ends: groups.starts().to_vec() })
    }

    /// Sums of the coefficients of step 2 by token, and at informative positions, for a value matrix.
    fn limit_coefficients(&self, m: &Buffer<T>) -> Done<Buffer<f64>> {
        let Sizes { dim, inputs, labels, tokens, length, samples } = self.sizes;
        let by_label = self.lane.alloc(labels * inputs)?;
        self.product(
            by_label.start(),
            [labels, dim, inputs],
            plain::<T>(self.centred.start()),
            plain(m.start()),
        )?;
        if self.w_in.is_some() {
            return self.pass(None, &Response::Limit { by_label: Some(by_label) }, Want::Query);
        }
        let values = self.problem.config.trigger == Trigger::Values;
        let (sums, total) = (self.coefficient_sums()?, self.lane.zeros::<f64>(tokens + 1)?);
        self.longest(by_label.start(), labels, dim, None, (&self.lengths, GRADIENTS))?;
        match Way::choose(self.problem.config) {
            Way::Tables => {
                let table = self.lane.alloc::<T>(labels * tokens)?;
                let (g, z_in) = (plain::<T>(by_label.start()), transposed(self.z_in.start()));
                self.product(table.start(), [labels, dim, tokens], g, z_in)?;
                let by_trigger = if values { Some(self.lane.alloc::<T>(labels)?) } else { None };
                if let Some(by_trigger) = &by_trigger {
                    self.row_dots(&by_label, labels, &self.z_trig, by_trigger)?;
                }
                let (columns, width, all) = (tokens as u32, lanes(length), samples as f64);
                let copies = self.copies();
                self.by_launch(1, |first, count| {
                    let to = arguments![
                        self.train,
                        first,
                        count,
                        columns,
                        table.start(),
                        optional(by_trigger.as_ref()),
                        self.lengths.start(),
                        all,
                        sums.start(),
                        copies,
                        width
                    ];
                    self.launch("scatter_by_table", groups(count as usize, width), to)
                })?;
            }
            Way::Rows => self.by_launch(dim, |first, count| {
                self.scatter_by_rows(first, count as usize, by_label.start(), true, samples, &sums)
            })?,
        }
        self.flush(&sums, &total, samples)?;
        Ok(total)
    }

    /// Calls `work` with the first sample and the number of samples of each launch that reads `dim` numbers per token.
    fn by_launch(&self, dim: usize, work: impl Fn(u32, u32) -> Done) -> Done {
        // A table access costs as much as several entries of a row.
        let samples = launch_samples(self.sizes.length, dim.max(16));
        for first in (0..self.sizes.samples).step_by(samples) {
            let count = samples.min(self.sizes.samples - first);
            work(first as u32, count as u32)?;
            self.progress(count, first + count < self.sizes.samples)?;
        }
        Ok(())
    }
}
