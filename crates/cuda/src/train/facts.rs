//! Training of an associative memory (see `crates/associative/src/gradient.rs`).

use superpose_core::backend::{DeviceError, Facts, MemoryLearner, MemorySizes};

use crate::geometry::{NEAR_LOGITS, linear, rows};
use crate::gpu::{Borrowed, Gpu};
use crate::kernels::Kernels;
use crate::lane::{Buffer, Done, Element, arguments, plain, transposed};

use super::WAIT;
use super::optimiser::{Parameters, Step};
use super::queue::{Factor, Out, Queue};

/// Facts of a block.
const MIN_BLOCK: usize = 256;

/// A memory in training on a device. Tensors are `M` and, with a first layer, `W` and `b`.
pub struct Memory<'a, T> {
    kernels: &'a Kernels,
    lane: Borrowed<'a>,
    facts: Facts<'a, T>,
    parameters: Parameters<T>,
    keys: Buffer<T>,
    values: Buffer<T>,
    labels: Buffer<u32>,
    work: Work<T>,
    block: usize,
    steps: u64,
}

/// Memory for a block of facts, a row for each.
struct Work<T> {
    keys: Buffer<T>,
    hidden: Buffer<T>,
    features: Buffer<T>,
    output: Buffer<T>,
    logits: Buffer<T>,
    step: Buffer<T>,
}

/// Facts of a block.
fn block(&MemorySizes { facts, labels, dim, inputs, .. }: &MemorySizes) -> usize {
    let widest = labels.max(inputs).max(dim);
    (NEAR_LOGITS / widest).max(MIN_BLOCK).min(facts)
}

/// An estimate of the device memory in bytes, slightly too high, with numbers of `real` bytes.
pub fn bytes(sizes: &MemorySizes, real: usize) -> f64 {
    let MemorySizes { facts, labels, dim, inputs, parameters } = *sizes;
    let block = block(sizes) * (2 * dim + 2 * inputs + labels);
    let reals = (facts + labels) * dim + 6 * parameters + block;
    let total = (reals * real + 24 * parameters + 24 * facts) as f64;
    64e6 + total + total.min(5e8)
}

impl<'a, T: Element> Memory<'a, T> {
    pub fn new(gpu: &'a Gpu, facts: Facts<'a, T>) -> Done<Self> {
        use superpose_core::backend::Device;
        let sizes = facts.sizes();
        let (needed, available) = (bytes(&sizes, size_of::<T>()), gpu.available()?);
        if needed > available {
            return Err(DeviceError::TooLarge { needed, available });
        }
        let (lane, kernels) = (gpu.lane()?, gpu.kernels::<T>()?);
        let MemorySizes { labels, inputs, .. } = sizes;
        let columns = [inputs, facts.dim, 1];
        let tensors: Vec<(&[T], usize)> = facts
            .weights
            .iter()
            .map(Vec::as_slice)
            .zip(columns)
            .filter(|(entries, _)| !entries.is_empty())
            .collect();
        let size = block(&sizes);
        let hidden = if tensors.len() > 1 { size * inputs } else { 0 };
        let work = Work {
            keys: lane.alloc(size * facts.dim)?,
            hidden: lane.alloc(hidden)?,
            features: lane.alloc(hidden)?,
            output: lane.alloc(size * facts.dim)?,
            logits: lane.alloc(size * labels)?,
            step: lane.alloc(facts.dim * inputs)?,
        };
        Ok(Memory {
            parameters: Parameters::new(&lane, &tensors, &[])?,
            keys: lane.upload(facts.keys)?,
            values: lane.upload(facts.values)?,
            labels: lane.upload(facts.labels)?,
            block: size,
            kernels,
            lane,
            facts,
            work,
            steps: 0,
        })
    }

    fn queue(&self) -> Queue<'_> {
        Queue { kernels: self.kernels, lane: &self.lane }
    }

    /// Labels, dimension, inputs, and whether there is a first layer.
    fn sizes(&self) -> (usize, usize, usize, bool) {
        let Facts { dim, values, weights, .. } = &self.facts;
        (values.len() / dim, *dim, weights[0].len() / dim, self.parameters.spans.len() > 1)
    }

    /// The address of a tensor and that of its gradient.
    fn tensor(&self, i: usize) -> (u64, u64) {
        let start = self.parameters.spans[i].start;
        (self.parameters.values.at(start), self.parameters.gradients.at(start))
    }

    /// Logits of `count` keys at an address; the address of their features.
    fn forward(&self, keys: u64, count: usize) -> Done<u64> {
        let (labels, dim, inputs, layered) = self.sizes();
        let (queue, work) = (self.queue(), &self.work);
        let mut features = keys;
        if layered {
            let (size, columns, relu, scale) = ((count * inputs) as u64, inputs as u32, 0u32, 1.0);
            let hidden = work.hidden.start();
            let first = transposed(self.tensor(1).0);
            queue.lane.product(hidden, [count, dim, inputs], plain::<T>(keys), first)?;
            let to = arguments![hidden, size, columns, self.tensor(2).0];
            queue.launch("add_bias", linear(count * inputs), to)?;
            features = work.features.start();
            let to = arguments![hidden, features, size, relu, scale];
            queue.launch("activate", linear(count * inputs), to)?;
        }
        let output = work.output.start();
        queue.lane.product(
            output,
            [count, inputs, dim],
            plain::<T>(features),
            transposed(self.tensor(0).0),
        )?;
        let values = transposed(self.values.start());
        queue.lane.product(work.logits.start(), [count, dim, labels], plain::<T>(output), values)?;
        Ok(features)
    }

    /// Adds the gradients of a block, times minus the number of facts of the step.
    fn backward(&self, keys: u64, right: u64, features: u64, count: usize) -> Done {
        let (labels, dim, inputs, layered) = self.sizes();
        let (queue, work) = (self.queue(), &self.work);
        let (logits, columns, no_losses) = (work.logits.start(), labels as u32, 0u64);
        queue.launch("residual", rows(count, labels), arguments![logits, columns, right, no_losses])?;
        let output = work.output.start();
        let values = plain(self.values.start());
        queue.lane.product(output, [count, labels, dim], plain::<T>(logits), values)?;
        queue.add_product(self.tensor(0).1, &work.step, count, [dim, inputs], output, features)?;
        if !layered {
            return Ok(());
        }
        // The features are no longer needed.
        let (matrix, size) = (plain(self.tensor(0).0), (count * inputs) as u64);
        queue.lane.product(features, [count, dim, inputs], plain::<T>(output), matrix)?;
        let (relu, scale) = (0u32, 1.0);
        let to = arguments![work.hidden.start(), features, size, relu, scale];
        queue.launch("multiply_slope", linear(count * inputs), to)?;
        queue.add_product(self.tensor(1).1, &work.step, count, [inputs, dim], features, keys)?;
        let from = Factor::real(features, [inputs, 1]);
        queue.contract([1, count, inputs], Factor::ONES, from, Out::Add(self.tensor(2).1))
    }

    /// Waits after much work, so that a cancellation takes effect within a second.
    fn progress(&self, pending: &mut usize, count: usize) -> Done {
        let (labels, dim, inputs, _) = self.sizes();
        *pending += 4 * count * dim * (labels + 2 * inputs);
        if *pending >= WAIT {
            self.lane.wait()?;
            *pending = 0;
        }
        Ok(self.facts.cancel.check()?)
    }
}

impl<T: Element> MemoryLearner for Memory<'_, T> {
    fn step(&mut self, batch: Option<&[u32]>, rate: f64) -> Result<(), DeviceError> {
        let (queue, dim) = (self.queue(), self.facts.dim);
        self.parameters.clear_gradients(queue.lane)?;
        let all = batch.map_or(self.facts.labels.len(), <[u32]>::len);
        let mut pending = 0;
        for first in (0..all).step_by(self.block) {
            let count = self.block.min(all - first);
            let (keys, right, _index) = match batch {
                None => (self.keys.at(first * dim), self.labels.at(first), None),
                Some(batch) => {
                    let chosen = &batch[first..first + count];
                    let index = queue.lane.upload(chosen)?;
                    let right: Vec<u32> =
                        chosen.iter().map(|&fact| self.facts.labels[fact as usize]).collect();
                    let (columns, none, number) = (dim as u32, 0u64, count as u64);
                    let keys = self.work.keys.start();
                    let to = arguments![self.keys.start(), columns, index.start(), none, number, none, keys];
                    queue.launch("place", linear(count * dim), to)?;
                    let right = queue.lane.upload(&right)?;
                    (keys, right.start(), Some((index, right)))
                }
            };
            let features = self.forward(keys, count)?;
            self.backward(keys, right, features, count)?;
            self.progress(&mut pending, count)?;
        }
        let step = Step {
            update: &self.facts.update,
            number: self.steps + 1,
            rate,
            scale: -1.0 / all as f64,
            clip: None,
        };
        self.parameters.step(queue, step)?;
        self.steps += 1;
        Ok(())
    }

    fn answers(&mut self) -> Result<Vec<[f64; 2]>, DeviceError> {
        let (labels, dim, ..) = self.sizes();
        let (queue, all) = (self.queue(), self.facts.labels.len());
        let found = queue.lane.alloc::<f64>(3 * all)?;
        let mut pending = 0;
        for first in (0..all).step_by(self.block) {
            let count = self.block.min(all - first);
            self.forward(self.keys.at(first * dim), count)?;
            let (columns, stride, place) = (labels as u32, 3u32, 0u32);
            let (right, out) = (self.labels.at(first), found.at(3 * first));
            let to = arguments![self.work.logits.start(), columns, right, out, stride, place];
            queue.launch("answers", rows(count, labels), to)?;
            self.progress(&mut pending, count)?;
        }
        let found = queue.lane.download(&found, 0..3 * all)?;
        Ok(found.chunks_exact(3).map(|found| [found[0], found[2]]).collect())
    }
}
