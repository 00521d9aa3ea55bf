//! The infinitesimal regime: the limit `eta -> 0` (theory: setting).
//!
//! The softmax stays uniform, so the residual of a sample depends on its label alone and `Z_out^T r` is the centred output
//! embedding of that label. Sums are computed per label, which avoids products of size samples x labels. For the attention-only
//! model there are two ways to compute each sum:
//!
//! - **Tables**: a histogram of the label's tokens (or, in step 2, a table of `g . z_in[v]` for all tokens v) and one product
//!   with the input embedding. Cost: one table access per token of the data and a product of `labels x vocabulary x dim`.
//! - **Rows**: sums of the tokens' embedding rows, or dot products with them. Cost: `dim` per token of the data.
//!
//! [`Way::choose`] takes the cheaper one. An MLP needs each head output, so it always uses rows.

mod sums;

use std::ops::Range;

use crate::backend::{Backend, Blocks, Real, Result, View, Weights, add_rows, histogram, narrow, product};
use crate::config::{Config, EarlyRule, Trigger};
use crate::model::{Attention, Coefficients, Model, Workspace, block_rows, centred};
use crate::numeric::dot;
use crate::task::{Block, Samples};

use super::groups::{Groups, pieces};
use super::{EarlyPhase, Rounds, output_covariance};
use sums::{QuerySums, ValueSums};

/// How label-wise sums over tokens are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Tables,
    Rows,
}

impl Way {
    /// The cheaper way, in units of one multiply-add inside a product: an entry of a gathered row costs about
    /// 5, a table access about 35 (`cargo bench -p superpose-core` measures them).
    fn choose<T: Real>(model: &Model<'_, T>, samples: &dyn Samples) -> Way {
        const ENTRY: f64 = 5.0;
        const ACCESS: f64 = 35.0;
        let tokens = samples.count() as f64 * samples.length() as f64;
        let product = model.labels() as f64 * model.tokens() as f64 * model.dim() as f64;
        let tables = tokens * ACCESS + product;
        let rows = tokens * ENTRY * model.dim() as f64;
        if model.w_in().is_none() && tables < rows { Way::Tables } else { Way::Rows }
    }
}

/// The result of [`Limit::value_step`].
#[derive(Clone, Debug)]
pub struct ValueStep {
    /// The step of `M`, `dim` rows of `inputs`.
    pub m: Vec<f64>,
    /// The mean of `psi(h)`.
    pub mean_features: Vec<f64>,
}

impl ValueStep {
    fn new(dim: usize, inputs: usize) -> ValueStep {
        ValueStep { m: vec![0.0; dim * inputs], mean_features: vec![0.0; inputs] }
    }
}

/// Label-wise sums over a dataset, at uniform softmax.
pub struct Limit<'a, T> {
    pub(super) model: &'a Model<'a, T>,
    pub(super) samples: &'a dyn Samples,
    pub(super) backend: &'a Backend,
    /// The samples grouped by label.
    pub(super) groups: Groups,
    centred: Vec<T>,
    way: Way,
}

impl<'a, T: Real> Limit<'a, T> {
    /// Groups the samples by label.
    pub fn new(model: &'a Model<'a, T>, samples: &'a dyn Samples, backend: &'a Backend) -> Result<Self> {
        let groups = Groups::new(samples, model.labels(), backend)?;
        let centred = centred(&model.embeddings.z_out, model.dim(), backend)?;
        Ok(Limit { model, samples, backend, groups, centred, way: Way::choose(model, samples) })
    }

    /// The three steps.
    pub fn run(&self, config: &Config) -> Result<EarlyPhase<T>> {
        let model = self.model;
        let step = |attention: &Attention<T>| self.memory_step(config.early_rule, attention);
        let m1: Vec<T> = narrow(&step(&Attention::Uniform)?);
        let mut m = m1.clone();
        let mut rounds = Rounds::new(config, model, self.samples.length());
        for _ in 0..config.rounds {
            let start = model.attention(&rounds.start(), self.backend)?;
            rounds.attend(&self.query_step(&m, &start)?);
            m = narrow(&step(&rounds.phase.attention(model, self.backend)?)?);
        }
        Ok(EarlyPhase { m1, m2: m, ..rounds.phase })
    }

    /// Steps 1 and 3 by a rule, per unit of rate.
    pub fn memory_step(&self, rule: EarlyRule, attention: &Attention<T>) -> Result<Vec<f64>> {
        let gradient = self.value_step(attention)?.m;
        let sizes = [self.model.dim(), self.model.inputs()];
        rule.step(gradient, sizes, T::EPSILON, || self.hessian(attention), self.backend)
    }

    /// The gradient of steps 1 and 3 per unit of rate: the mean of `(Z_out^T r) psi(h)^T` under the given attention.
    pub fn value_step(&self, attention: &Attention<T>) -> Result<ValueStep> {
        let sums = self.sums(|pieces| ValueSums { limit: self, attention, pieces })?;
        let mut total = ValueStep::new(self.model.dim(), self.model.inputs());
        let scale = 1.0 / self.groups.count() as f64;
        self.backend.add_parts(&mut total.m, &each(&sums, |sum| &sum.m), scale)?;
        self.backend.add_parts(&mut total.mean_features, &each(&sums, |sum| &sum.mean_features), scale)?;
        Ok(total)
    }

    /// Both factors of the Hessian at a uniform softmax: the covariance of the output embeddings and the moment of the features.
    pub fn hessian(&self, attention: &Attention<T>) -> Result<[Vec<f64>; 2]> {
        Ok([output_covariance(self.model, self.backend)?, self.moment(attention)?])
    }

    /// The mean of `psi(h) psi(h)^T` under the given attention, `inputs` rows of `inputs`. Products are in 64 bits, since the matrix
    /// is inverted, and where attention holds one token its other eigenvalues are small.
    pub fn moment(&self, attention: &Attention<T>) -> Result<Vec<f64>> {
        let (model, inputs) = (self.model, self.model.inputs());
        let tasks = self.groups.tasks();
        let sums = self.backend.try_map(tasks.len(), |task| {
            let mut pass = Pass::default();
            let mut sum = vec![0.0; inputs * inputs];
            let mut wide = Vec::new();
            let samples = self.groups.samples(&tasks[task]);
            for ids in samples.chunks(block_rows(inputs, self.samples.length())) {
                self.backend.check_cancelled()?;
                self.samples.fill(ids, &mut pass.block);
                pass.work.attend(model, attention, &pass.block);
                pass.work.activate(model);
                let features = pass.work.features(model);
                wide.clear();
                wide.extend(features.data().iter().map(|x| x.to_f64()));
                let features = View::new(&wide, features.rows(), inputs);
                product(&mut sum, features.t(), features, true);
            }
            Ok(sum)
        })?;
        let mut total = vec![0.0; inputs * inputs];
        let parts: Vec<&[f64]> = sums.iter().map(Vec::as_slice).collect();
        self.backend.add_parts(&mut total, &parts, 1.0 / self.groups.count() as f64)?;
        Ok(total)
    }

    /// Step 2 per unit of rate from the given attention, for a value matrix `m`: the direction `u` with `W1 = gamma u z_eos^T`.
    pub fn query_step(&self, m: &[T], attention: &Attention<T>) -> Result<Vec<f64>> {
        let m = View::new(m, self.model.dim(), self.model.inputs());
        let sums = self.sums(|pieces| QuerySums { limit: self, m, attention, pieces })?;
        let mut total = Coefficients::new(self.model.tokens());
        self.backend.add_parts(&mut total.tokens, &each(&sums, |sum| &sum.tokens), 1.0)?;
        sums.iter().for_each(|sum| total.trigger += sum.trigger);
        total.direction(self.model, 1.0 / self.groups.count() as f64, self.backend)
    }

    /// Sums over pieces of the labels of each task.
    fn sums<B: Blocks>(&self, blocks: impl FnOnce(Vec<Vec<Range<usize>>>) -> B) -> Result<Vec<B::Sum>> {
        let size = self.labels_at_once();
        let tasks: Vec<Vec<Range<usize>>> =
            self.groups.tasks().into_iter().map(|labels| pieces(labels, size).collect()).collect();
        let counts: Vec<usize> = tasks.iter().map(Vec::len).collect();
        self.backend.sums(&counts, &blocks(tasks))
    }

    /// Samples with each label.
    pub fn label_counts(&self) -> Vec<usize> {
        (0..self.model.labels()).map(|y| self.groups.size(y)).collect()
    }

    fn centred(&self, labels: &Range<usize>) -> View<'_, T> {
        View::new(&self.centred, self.model.labels(), self.model.dim()).rows_in(labels.start, labels.end)
    }

    /// The number of labels whose sums are computed together: enough labels and samples for efficient products, few enough that the
    /// tables fit in the cache.
    fn labels_at_once(&self) -> usize {
        const CACHE: usize = 1 << 16;
        const SAMPLES: usize = 256;
        let labels = self.model.labels();
        let (columns, wanted) = match self.way {
            Way::Tables => (self.model.tokens(), 64),
            Way::Rows => (self.model.inputs(), SAMPLES * labels / self.groups.count().max(1)),
        };
        wanted.clamp(8, (CACHE / columns).max(16)).min(labels)
    }

    /// Sums of `h` by label: weighted token histograms, then one product.
    fn label_sums_by_tables(
        &self,
        labels: &Range<usize>,
        attention: &Attention<T>,
        pass: &mut Pass<T>,
    ) -> Result<()> {
        let (model, length) = (self.model, self.samples.length());
        let (dim, tokens) = (model.dim(), model.tokens());
        pass.histogram.clear();
        pass.histogram.resize(labels.len() * tokens, 0.0);
        pass.trigger.clear();
        pass.trigger.resize(labels.len(), 0.0);
        for ids in self.groups.samples(labels).chunks(block_rows(tokens, length)) {
            self.backend.check_cancelled()?;
            self.samples.fill(ids, &mut pass.block);
            let uniform = matches!(attention, Attention::Uniform);
            if !uniform {
                pass.work.weigh(attention, &pass.block);
            }
            // In 64 bits, unlike the weights: a label's counts may be summed over many samples.
            let equal = 1.0 / length as f64;
            for b in 0..ids.len() {
                let y = pass.block.labels[b] as usize - labels.start;
                let row = &mut pass.histogram[y * tokens..][..tokens];
                let mine = b * length..(b + 1) * length;
                let sequence = &pass.block.tokens[mine.clone()];
                if uniform {
                    histogram(row, sequence, Weights::Equal(equal));
                    pass.trigger[y] += equal;
                } else {
                    let weights = &pass.work.weights[mine];
                    histogram(row, sequence, Weights::Each(weights));
                    pass.trigger[y] += weights[pass.block.position[b] as usize].to_f64();
                }
            }
        }
        pass.narrow.clear();
        pass.narrow.extend(pass.histogram.iter().map(|&x| T::from_f64(x)));
        pass.by_label.resize(labels.len() * dim, T::ZERO);
        let counts = View::new(&pass.narrow, labels.len(), tokens);
        product(&mut pass.by_label, counts, model.z_in(), false);
        if model.trigger == Trigger::Values {
            for (row, &weight) in pass.by_label.chunks_exact_mut(dim).zip(&pass.trigger) {
                let weight = T::from_f64(weight);
                row.iter_mut().zip(&model.embeddings.z_trig).for_each(|(x, &z)| *x += weight * z);
            }
        }
        Ok(())
    }

    /// Sums of `psi(h)` by label from the head outputs themselves.
    fn label_sums_by_rows(
        &self,
        labels: &Range<usize>,
        attention: &Attention<T>,
        pass: &mut Pass<T>,
    ) -> Result<()> {
        let (model, inputs) = (self.model, self.model.inputs());
        pass.histogram.clear();
        pass.histogram.resize(labels.len() * inputs, 0.0);
        for ids in self.groups.samples(labels).chunks(block_rows(inputs, self.samples.length())) {
            self.backend.check_cancelled()?;
            self.samples.fill(ids, &mut pass.block);
            pass.work.attend(model, attention, &pass.block);
            pass.work.activate(model);
            let rows = pass.block.labels.iter().map(|&y| y as usize - labels.start);
            add_rows(&mut pass.histogram, inputs, rows, pass.work.features(model).data());
        }
        pass.by_label.clear();
        pass.by_label.extend(pass.histogram.iter().map(|&x| T::from_f64(x)));
        Ok(())
    }

    /// `g . z_in[v]` by label and token, and `g . z_trig` by label.
    fn table(&self, pass: &mut Pass<T>) {
        let (model, dim, labels) = (self.model, self.model.dim(), pass.labels.len());
        pass.narrow.resize(labels * model.tokens(), T::ZERO);
        product(&mut pass.narrow, View::new(&pass.by_label, labels, dim), model.z_in().t(), false);
        pass.by_trigger.clear();
        pass.by_trigger.extend(pass.by_label.chunks_exact(dim).map(|g| dot(g, &model.embeddings.z_trig)));
    }

    fn coefficients_by_tables(&self, pass: &mut Pass<T>, sums: &mut Coefficients) -> Result<()> {
        let (model, length, tokens) = (self.model, self.samples.length(), self.model.tokens());
        let equal = T::ONE / T::from_f64(length as f64);
        pass.dots.resize(length, T::ZERO);
        for ids in self.groups.samples(&pass.labels).chunks(block_rows(tokens, length)) {
            self.backend.check_cancelled()?;
            self.samples.fill(ids, &mut pass.block);
            for b in 0..ids.len() {
                let y = pass.block.labels[b] as usize - pass.labels.start;
                let table = &pass.narrow[y * tokens..][..tokens];
                let sequence = &pass.block.tokens[b * length..][..length];
                let position = pass.block.position[b] as usize;
                pass.dots.iter_mut().zip(sequence).for_each(|(dot, &token)| *dot = table[token as usize]);
                if model.trigger == Trigger::Values {
                    pass.dots[position] += T::from_f64(pass.by_trigger[y]);
                }
                sums.add(sequence, position, &pass.dots, |_| equal);
            }
        }
        Ok(())
    }

    fn coefficients_by_rows(
        &self,
        attention: &Attention<T>,
        pass: &mut Pass<T>,
        sums: &mut Coefficients,
    ) -> Result<()> {
        let (model, inputs) = (self.model, self.model.inputs());
        for ids in self.groups.samples(&pass.labels).chunks(block_rows(inputs, self.samples.length())) {
            self.backend.check_cancelled()?;
            self.samples.fill(ids, &mut pass.block);
            if model.w_in().is_some() || !matches!(attention, Attention::Uniform) {
                pass.work.attend(model, attention, &pass.block);
                pass.work.activate(model);
            }
            pass.narrow.clear();
            for &y in &pass.block.labels {
                let first = (y as usize - pass.labels.start) * inputs;
                pass.narrow.extend_from_slice(&pass.by_label[first..first + inputs]);
            }
            let g = pass.work.back(model, &mut pass.narrow, &mut pass.by_head);
            pass.work.dots(model, &pass.block, g);
            pass.work.scatter(attention, &pass.block, sums);
        }
        Ok(())
    }
}

/// The same part of every sum.
fn each<S>(sums: &[S], part: impl Fn(&S) -> &[f64]) -> Vec<&[f64]> {
    sums.iter().map(part).collect()
}

#[derive(Default)]
struct Pass<T> {
    block: Block,
    labels: Range<usize>,
    work: Workspace<T>,
    /// Sums by label: over tokens, or over features.
    histogram: Vec<f64>,
    /// Attention on the trigger by label.
    trigger: Vec<f64>,
    narrow: Vec<T>,
    by_label: Vec<T>,
    /// Derivative by the trigger, by label.
    by_trigger: Vec<f64>,
    by_head: Vec<T>,
    dots: Vec<T>,
    step: Vec<T>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::embedding::Embeddings;
    use crate::random::Stream;
    use crate::task::{Drawn, Task};

    #[test]
    fn both_ways_compute_the_same_sums() {
        let backend = Backend::single();
        for trigger in [Trigger::Values, Trigger::Keys] {
            let settings = Settings {
                vocab: 40,
                dim: 11,
                length: 9,
                samples: 500,
                rounds: 2,
                trigger,
                ..Settings::default()
            };
            let config = settings.check().unwrap();
            let embeddings = Embeddings::<f64>::draw(&config, &backend).unwrap();
            let (model, task) = (Model::new(&config, &embeddings), Task::new(&config));
            let samples = Drawn::new(&task, 0, Stream::Train, config.samples);
            let [tables, rows] = [Way::Tables, Way::Rows].map(|way| {
                Limit { way, ..Limit::new(&model, &samples, &backend).unwrap() }.run(&config).unwrap()
            });
            for (a, b) in [(&tables.m1, &rows.m1), (&tables.w1, &rows.w1), (&tables.m2, &rows.m2)] {
                let size = b.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
                assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12 * size));
            }
        }
    }
}
