//! The memory step of the exact regime, from groups of samples with nearly equal features.
//!
//! Where attention holds the informative position, the features of all samples of a fact are nearly those of its token alone. Such
//! samples form a group, whose softmax is computed once, at the mean of its features: `V^2 d` operations in place of `N V d`.
//! Other samples have a softmax each.
//!
//! The error of the gradient is below rounding: a sample joins its group only if its features are close enough to those of the token
//! alone for the bound that is derived in the theory (setting: exact regime).

use crate::backend::{Backend, Blocks, Real, Result, SUMS, View, add_rows, parts, product};
use crate::model::{Attention, Model, Residuals, Response, Want, Workspace, block_rows, longest};
use crate::numeric::{dot, square_distance};
use crate::task::Block;

use super::Limit;

/// Blocks of a piece at most. A group ends with its piece, so that larger pieces have fewer groups.
const BLOCKS: usize = 4;

/// Whether groups of samples can save time. Forming them takes a pass over `rows` rows: the readout of each label on the CPU, the sum of
/// each fact on a GPU.
pub fn worth_grouping(samples: usize, rows: usize) -> bool {
    samples >= 2 * rows
}

/// The mean of `(Z_out^T r) psi(h)^T` over the samples of `limit`, `dim` rows of `inputs`, at the value matrix that `response` was
/// made for.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn value_gradient<T: Real>(
    limit: &Limit<'_, T>,
    response: &Response<'_, T>,
    attention: &Attention<T>,
) -> Result<Vec<f64>> {
    value_gradient_within(limit, response, attention, T::EPSILON)
}

/// The same with any number in place of the rounding error.
fn value_gradient_within<T: Real>(
    limit: &Limit<'_, T>,
    response: &Response<'_, T>,
    attention: &Attention<T>,
    rounding: f64,
) -> Result<Vec<f64>> {
    let (model, backend, count) = (limit.model, limit.backend, limit.samples.count());
    let block_rows = block_rows(model.labels().max(model.inputs()), limit.samples.length());
    // Enough pieces for all sums, where there are enough samples.
    let size = block_rows * count.div_ceil(block_rows * SUMS).clamp(1, BLOCKS);
    let (ends, blocks) = parts(count, size, SUMS);
    let tolerance = match worth_grouping(count, model.labels()) {
        true => Some(Tolerance::new(model, response, rounding, backend)?),
        false => None,
    };
    let sums =
        backend.sums(&blocks, &Pieces { limit, response, attention, tolerance, block_rows, size, ends })?;
    let mut total = vec![0.0; model.dim() * model.inputs()];
    let parts: Vec<&[f64]> = sums.iter().map(Vec::as_slice).collect();
    backend.add_parts(&mut total, &parts, 1.0 / count as f64)?;
    Ok(total)
}

/// How far the features of a sample may be from those of its token.
#[derive(Clone, Copy, Debug)]
struct Tolerance {
    /// Length of the longest row of `Z_out M`.
    readout: f64,
    /// The rounding error, times the typical over the largest length of a row of `Z_out`.
    rounding: f64,
}

impl Tolerance {
    fn new<T: Real>(
        model: &Model<'_, T>,
        response: &Response<'_, T>,
        rounding: f64,
        backend: &Backend,
    ) -> Result<Tolerance> {
        let z_out = model.z_out();
        // At the same time, because each is one short part.
        let lengths = backend.try_map(3, |i| match i {
            0 => Ok((dot(z_out.data(), z_out.data()) / z_out.rows() as f64).sqrt()),
            1 => Ok(longest(z_out.data(), model.dim())),
            _ => response.longest_readout(backend),
        })?;
        let (typical, largest, readout) = (lengths[0], lengths[1], lengths[2]);
        Ok(Tolerance { readout, rounding: rounding * typical / largest })
    }

    /// The largest square of a distance to features of this length.
    fn square(&self, length: f64) -> f64 {
        // At a distance of at most their length, other features are at most twice as long.
        let bound = self.rounding * length / (self.readout * (1.0 + 2.0 * self.readout * length));
        bound.min(length * length)
    }
}

/// The samples sorted by label, in sums of pieces of `size`: sum s has those from `ends[s]` to `ends[s + 1]`.
struct Pieces<'a, T> {
    limit: &'a Limit<'a, T>,
    response: &'a Response<'a, T>,
    attention: &'a Attention<T>,
    /// Absent where facts have too few samples to form groups.
    tolerance: Option<Tolerance>,
    block_rows: usize,
    size: usize,
    ends: Vec<usize>,
}

/// Samples of one fact in a piece.
struct FactGroup {
    token: u32,
    label: u32,
    /// The largest square of the distance of a member.
    tolerance: f64,
    members: usize,
}

#[derive(Default)]
struct Pass<T> {
    /// Samples of the piece with their facts.
    facts: Vec<(u32, (u32, u32))>,
    ids: Vec<u32>,
    block: Block,
    work: Workspace<T>,
    groups: Vec<FactGroup>,
    /// Of every group, its token placed at the informative position.
    placed: Workspace<T>,
    /// Of every group, the sum of its members' features.
    sums: Vec<f64>,
    pending: Pending<T>,
    total: Vec<f64>,
}

impl<T: Real> Blocks for Pieces<'_, T> {
    type Work = Pass<T>;
    type Sum = Vec<f64>;

    fn work(&self) -> Pass<T> {
        Pass::default()
    }

    fn start(&self) -> Vec<f64> {
        vec![0.0; self.limit.model.dim() * self.limit.model.inputs()]
    }

    fn compute(&self, sum: usize, block: usize, pass: &mut Pass<T>) -> Result<()> {
        let Limit { model, samples, backend, groups: by_label, .. } = self.limit;
        let inputs = model.inputs();
        let first = self.ends[sum] + block * self.size;
        self.group(&by_label.order()[first..self.ends[sum + 1].min(first + self.size)], pass);
        let Pass { facts, ids, block, work, groups, placed, sums, pending, total } = pass;
        total.clear();
        total.resize(model.dim() * inputs, 0.0);
        let mut group = 0;
        for facts in facts.chunks(self.block_rows) {
            backend.check_cancelled()?;
            ids.clear();
            ids.extend(facts.iter().map(|fact| fact.0));
            samples.fill(ids, block);
            work.attend(model, self.attention, block);
            work.activate(model);
            let features = work.features(model);
            for (&(_, (token, label)), features) in facts.iter().zip(features.data().chunks_exact(inputs)) {
                while groups.get(group).is_some_and(|group| (group.label, group.token) < (label, token)) {
                    group += 1;
                }
                let joins = groups.get_mut(group).filter(|mine| {
                    let alone = &placed.features(model).data()[group * inputs..][..inputs];
                    square_distance(features, alone) <= mine.tolerance
                });
                match joins {
                    Some(mine) => {
                        mine.members += 1;
                        add_rows(&mut sums[group * inputs..][..inputs], inputs, std::iter::once(0), features);
                    }
                    None => self.push(pending, features.iter().copied(), label, 1, total),
                }
            }
        }
        for (group, sum) in
            groups.iter().zip(sums.chunks_exact(inputs)).filter(|(group, _)| group.members > 0)
        {
            let mean = sum.iter().map(|x| T::from_f64(x / group.members as f64));
            self.push(pending, mean, group.label, group.members, total);
        }
        self.finish(pending, total);
        Ok(())
    }

    fn add(&self, pass: &mut Pass<T>, sum: &mut Vec<f64>) -> Result<()> {
        sum.iter_mut().zip(&pass.total).for_each(|(sum, x)| *sum += x);
        Ok(())
    }
}

impl<T: Real> Pieces<'_, T> {
    /// Sorts samples by fact and prepares the groups, unless facts have fewer than two samples on average.
    fn group(&self, ids: &[u32], pass: &mut Pass<T>) {
        let Pass { facts, groups, placed, sums, .. } = pass;
        let (model, inputs) = (self.limit.model, self.limit.model.inputs());
        facts.clear();
        facts.extend(ids.iter().map(|&id| (id, self.limit.samples.fact(id))));
        groups.clear();
        let Some(tolerance) = self.tolerance else { return };
        facts.sort_by_key(|&(_, (token, label))| (label, token));
        groups.extend(facts.chunk_by(|a, b| a.1 == b.1).map(|mine| {
            let (token, label) = mine[0].1;
            FactGroup { token, label, tolerance: 0.0, members: 0 }
        }));
        if 2 * groups.len() > facts.len() {
            return groups.clear();
        }
        sums.clear();
        sums.resize(groups.len() * inputs, 0.0);
        placed.place(model, groups.iter().map(|group| group.token as usize));
        placed.activate(model);
        let alone = placed.features(model);
        for (group, alone) in groups.iter_mut().zip(alone.data().chunks_exact(inputs)) {
            group.tolerance = tolerance.square(dot(alone, alone).sqrt());
        }
    }

    /// Adds features that stand for `weight` samples of a label.
    fn push(
        &self,
        pending: &mut Pending<T>,
        features: impl Iterator<Item = T>,
        label: u32,
        weight: usize,
        total: &mut [f64],
    ) {
        pending.features.extend(features);
        pending.labels.push(label);
        pending.weights.push(T::from_f64(weight as f64));
        if pending.labels.len() == self.block_rows {
            self.finish(pending, total);
        }
    }

    /// Computes the softmax of all pending rows and adds their part of the gradient.
    fn finish(&self, pending: &mut Pending<T>, total: &mut [f64]) {
        let Pending { features, labels, weights, found, step } = pending;
        let (dim, inputs, count) = (self.limit.model.dim(), self.limit.model.inputs(), labels.len());
        let view = View::new(features, count, inputs);
        let want = Want { m: true, query: false, loss: false };
        self.response.residuals(view, labels, want, found);
        for (output, &weight) in found.output.chunks_exact_mut(dim).zip(&*weights) {
            output.iter_mut().for_each(|x| *x *= weight);
        }
        step.resize(dim * inputs, T::ZERO);
        product(step, View::new(&found.output, count, dim).t(), view, false);
        total.iter_mut().zip(&*step).for_each(|(sum, x)| *sum += x.to_f64());
        features.clear();
        labels.clear();
        weights.clear();
    }
}

/// Features that wait for a softmax each.
#[derive(Default)]
struct Pending<T> {
    features: Vec<T>,
    labels: Vec<u32>,
    /// Number of samples that a row stands for.
    weights: Vec<T>,
    found: Residuals<T>,
    step: Vec<T>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Activation, Labels, Settings, Trigger};
    use crate::embedding::Embeddings;
    use crate::model::descent;
    use crate::random::Stream;
    use crate::task::{Drawn, Task};

    /// The error of the gradient relative to its bound, at a tolerance.
    fn error(settings: &Settings, scale: f64, rounding: f64) -> f64 {
        let (config, backend) = (settings.clone().check().unwrap(), Backend::cpu(2).unwrap());
        let embeddings = Embeddings::<f64>::draw(&config, &backend).unwrap();
        let (model, task) = (Model::new(&config, &embeddings), Task::new(&config));
        let samples = Drawn::new(&task, 0, Stream::Train, config.samples);
        let limit = Limit::new(&model, &samples, &backend).unwrap();
        let m: Vec<f64> = (0..model.dim() * model.inputs()).map(|i| scale * (i as f64 * 1.7).sin()).collect();
        // Scores of the trigger and of noise tokens that leave between 1e-7 and 1e-2 of the attention elsewhere.
        let trigger = &embeddings.z_trig;
        let query: Vec<f64> = trigger.iter().map(|z| 11.0 * z / dot(trigger, trigger)).collect();
        let attention = model.attention(&query, &backend).unwrap();
        let response = Response::new(&model, &m, config.samples, &backend).unwrap();
        let found = value_gradient_within(&limit, &response, &attention, rounding).unwrap();
        let want = Want { m: true, query: false, loss: false };
        let each = descent(&model, &response, &query, &samples, want, &backend).unwrap().m;
        let mut all = Workspace::default();
        all.place(&model, 0..config.vocab);
        all.activate(&model);
        let length = longest(all.features(&model).data(), model.inputs());
        let typical = (dot(&embeddings.z_out, &embeddings.z_out) / model.labels() as f64).sqrt();
        square_distance(&found, &each).sqrt() / (rounding * typical * length)
    }

    #[test]
    fn error_is_below_its_bound() {
        let base = Settings { vocab: 30, dim: 16, length: 5, samples: 3000, ..Settings::default() };
        let mlp = Settings { width: Some(40), activation: Activation::Gelu, ..base.clone() };
        let keys = Settings { trigger: Trigger::Keys, labels: Labels::Mod(7), ..base.clone() };
        for settings in [base, mlp, keys] {
            for scale in [0.01, 1.0, 30.0] {
                let errors = [1e-9, 1e-6, 1e-3, 1.0].map(|rounding| error(&settings, scale, rounding));
                assert!(errors.iter().all(|&error| error <= 1.0), "{scale}: {errors:?}");
                // The groups are used: their error is above that of 64 bits.
                assert!(errors[2] > 1e-9, "{scale}: {errors:?}");
            }
        }
    }
}
