//! A run on a device: its data and embeddings in device memory, and the steps that all parts share.

use std::cell::OnceCell;
use std::time::Instant;

use superpose_core::backend::{Backend, DeviceError, Problem, Solution};
use superpose_core::config::{Activation, EarlyRule, Trigger};
use superpose_core::early_phase::{EarlyPhase, fact_frequency_of};
use superpose_core::embedding::{Embeddings, table};
use superpose_core::random::Stream;

use crate::data::{Draw, Source, source};
use crate::geometry::{INNER, MAX_DIM, MAX_LENGTH, groups, linear};
use crate::kernels::Kernels;
use crate::lane::{Buffer, Done, Element, Lane, Shape, arguments, optional, plain, transposed};

/// The sizes of a run.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub tokens: usize,
    pub labels: usize,
    pub dim: usize,
    pub inputs: usize,
    pub length: usize,
    pub samples: usize,
}

/// Attention scores of tokens, and what the trigger adds.
pub struct Scores<T> {
    pub tokens: Buffer<T>,
    pub trigger: T,
}

/// Samples sorted by label, and where each label begins, on the device and on the host.
pub struct Sorted {
    pub order: Buffer<u32>,
    pub starts: Buffer<u64>,
    pub ends: Vec<usize>,
}

/// The trained model on the device; the matrices of `phase` are empty.
pub struct Trained<T> {
    pub phase: EarlyPhase<T>,
    pub m1: Buffer<T>,
    pub m2: Buffer<T>,
    pub scores: Option<Scores<T>>,
}

pub struct Session<'a, T> {
    pub kernels: &'a Kernels,
    pub lane: &'a Lane,
    pub problem: &'a Problem<'a, T>,
    pub sizes: Sizes,
    pub train: Source,
    pub z_in: Buffer<T>,
    pub z_out: Buffer<T>,
    /// Output embeddings minus their mean.
    pub centred: Buffer<T>,
    pub w_in: Option<Buffer<T>>,
    /// Trigger and end-of-sequence vectors, on the host.
    pub markers: [Vec<T>; 2],
    pub z_trig: Buffer<T>,
    /// The length of the longest gradient of a block, and that of the longest value.
    pub lengths: Buffer<f64>,
    /// Samples sorted by label, once they are needed.
    pub sorted: OnceCell<Sorted>,
    _data: (Vec<Buffer<u32>>, Vec<Buffer<f64>>),
}

impl<'a, T: Element> Session<'a, T> {
    /// Copies or draws data and embeddings.
    pub fn new(kernels: &'a Kernels, lane: &'a Lane, problem: &'a Problem<'a, T>) -> Done<Self> {
        let config = problem.config;
        if config.training.is_some() {
            return Err(DeviceError::unsupported("training beyond the early phase (steps)"));
        }
        if config.early_rule != EarlyRule::Gradient {
            return Err(DeviceError::unsupported(format!("early_rule = {}", config.early_rule)));
        }
        if problem.task.given_test().is_some() {
            return Err(DeviceError::unsupported("a run with test sequences of your own"));
        }
        if config.rounds > 1 {
            return Err(DeviceError::unsupported(format!("rounds = {}", config.rounds)));
        }
        if config.length > MAX_LENGTH {
            return Err(DeviceError::unsupported(format!("length = {} above {MAX_LENGTH}", config.length)));
        }
        if config.dim > MAX_DIM {
            return Err(DeviceError::unsupported(format!("dim = {} above {MAX_DIM}", config.dim)));
        }
        let (mut whole, mut real) = (Vec::new(), Vec::new());
        let train = source(lane, problem, &mut whole, &mut real)?;
        let sizes = Sizes {
            tokens: config.token_count(),
            labels: config.label_count(),
            dim: config.dim,
            inputs: config.inputs(),
            length: config.length,
            samples: problem.stored.map_or(config.samples, |stored| stored.position().len()),
        };
        let draw = Draw { kernels, lane, problem };
        let (z_in, z_out, w_in, markers) = match problem.embeddings {
            Some(Embeddings { z_in, z_out, z_trig, z_eos, w_in, .. }) => {
                let w_in = w_in.as_ref().map(|w_in| lane.upload(w_in)).transpose()?;
                (lane.upload(z_in)?, lane.upload(z_out)?, w_in, [z_trig.clone(), z_eos.clone()])
            }
            None => {
                // On the host, which needs them.
                let (kind, host) = (config.embedding.kind(), Backend::single());
                let markers = table(kind, config.seed, Stream::Markers, 2, sizes.dim, &host)?;
                let (trigger, eos) = markers.split_at(sizes.dim);
                (
                    draw.rows(Stream::InputEmbedding, sizes.tokens)?,
                    draw.rows(Stream::OutputEmbedding, sizes.labels)?,
                    config.width.map(|width| draw.first_layer(width)).transpose()?,
                    [trigger.to_vec(), eos.to_vec()],
                )
            }
        };
        let z_trig = lane.upload(&markers[0])?;
        let centred = lane.alloc(sizes.labels * sizes.dim)?;
        let lengths = lane.zeros(2)?;
        let session = Session {
            kernels,
            lane,
            problem,
            sizes,
            train,
            z_in,
            z_out,
            centred,
            w_in,
            markers,
            z_trig,
            lengths,
            sorted: OnceCell::new(),
            _data: (whole, real),
        };
        let mean = session.column_sums(&session.z_out, sizes.labels, None, 1.0 / sizes.labels as f64)?;
        let (rows, dim) = (sizes.labels as u64, sizes.dim as u32);
        let to = arguments![session.z_out.start(), rows, dim, mean.start(), session.centred.start()];
        session.launch("centre", linear(sizes.labels * sizes.dim), to)?;
        let trigger: f64 = session.markers[0].iter().map(|x| x.to_f64() * x.to_f64()).sum();
        let extra = config.trigger.t() * trigger.sqrt();
        session.longest(session.z_in.start(), sizes.tokens, sizes.dim, extra, 1)?;
        Ok(session)
    }

    /// Trains and evaluates.
    pub fn solve(&self) -> Done<Solution<T>> {
        let started = Instant::now();
        let trained = self.early_phase()?;
        self.lane.wait()?;
        let train_seconds = started.elapsed().as_secs_f64();
        let counts = self.counts()?;
        let evaluation = self.evaluate(&trained, &counts)?;
        let counts = self.lane.download(&counts, 0..self.problem.config.vocab)?;
        let frequency = fact_frequency_of(&counts, self.sizes.samples);
        let size = self.sizes.dim * self.sizes.inputs;
        let [m1, m2] = [self.lane.download(&trained.m1, 0..size)?, self.lane.download(&trained.m2, 0..size)?];
        let phase = EarlyPhase { m1, m2, ..trained.phase };
        Ok(Solution { phase, frequency, evaluation, train_seconds })
    }

    /// Seconds of the three steps.
    pub fn train_seconds(&self) -> Done<f64> {
        self.lane.wait()?;
        let started = Instant::now();
        let trained = self.early_phase()?;
        self.lane.wait()?;
        let seconds = started.elapsed().as_secs_f64();
        drop(trained);
        Ok(seconds)
    }

    /// How often each fact's token is the informative one.
    fn counts(&self) -> Done<Buffer<u32>> {
        let counts = self.lane.zeros::<u32>(self.problem.config.vocab)?;
        let (first, count) = (0u32, self.sizes.samples as u32);
        let to = arguments![self.train, first, count, counts.start()];
        self.launch("count_facts", linear(self.sizes.samples), to)?;
        Ok(counts)
    }

    /// Launches a kernel by name.
    pub fn launch(&self, kernel: &str, shape: Shape, arguments: &mut [*mut std::ffi::c_void]) -> Done {
        self.lane.launch(self.kernels.get(kernel)?, shape, arguments)
    }

    /// Reports samples that were read and, where `more` work follows, waits so that a cancellation takes effect soon.
    pub fn progress(&self, samples: usize, more: bool) -> Done {
        (self.problem.observe)(samples);
        if more {
            self.lane.wait()?;
        }
        Ok(self.problem.cancel.check()?)
    }

    /// The trigger's address where it is part of the values, else 0.
    pub fn value_trigger(&self, trigger: Trigger) -> u64 {
        if trigger == Trigger::Values { self.z_trig.start() } else { 0 }
    }

    /// `scale` times the sum of all rows of `dim` numbers, weighted if weights are given, in 64 bits.
    pub fn column_sums(
        &self,
        rows: &Buffer<T>,
        count: usize,
        weights: Option<&Buffer<f64>>,
        scale: f64,
    ) -> Done<Buffer<f64>> {
        let dim = self.sizes.dim;
        let chunk = count.div_ceil(1024).max(64);
        let chunks = count.div_ceil(chunk);
        // One place more, for the sum at the trigger.
        let (partial, out) = (self.lane.alloc::<f64>(chunks * dim)?, self.lane.alloc(dim + 1)?);
        let block = dim.next_multiple_of(32).min(128);
        let shape =
            Shape { grid: (dim.div_ceil(block) as u32, chunks as u32), block: block as u32, shared: 0 };
        let (columns, count, chunk) = (dim as u32, count as u64, chunk as u64);
        let from = arguments![rows.start(), count, columns, optional(weights), partial.start(), chunk];
        self.launch("column_sums", shape, from)?;
        let (chunks, size) = (chunks as u32, dim as u64);
        self.launch("add_parts", linear(dim), arguments![partial.start(), chunks, size, scale, out.start()])?;
        Ok(out)
    }

    /// Writes the length of the longest row plus `extra` to place 0 or 1 of `lengths`.
    pub fn longest(&self, rows: u64, count: usize, dim: usize, extra: f64, place: usize) -> Done {
        self.lane.clear(&self.lengths, place, 1)?;
        let (count_, dim) = (count as u64, dim as u32);
        let to = arguments![rows, count_, dim, extra, self.lengths.at(place)];
        self.launch("longest_row", groups(count, 32), to)
    }

    /// `sum += a^T b` in 64 bits, for matrices of `count` rows of `m` and `n` numbers. `step` is scratch memory.
    pub fn add_product(
        &self,
        sum: &Buffer<f64>,
        step: &Buffer<T>,
        count: usize,
        [m, n]: [usize; 2],
        a: u64,
        b: u64,
    ) -> Done {
        let real = size_of::<T>();
        for first in (0..count).step_by(INNER) {
            let inner = INNER.min(count - first);
            let (a, b) = (a + (first * m * real) as u64, b + (first * n * real) as u64);
            self.lane.product(step.start(), [m, inner, n], transposed::<T>(a), plain(b))?;
            let size = (m * n) as u64;
            self.launch("accumulate", linear(m * n), arguments![sum.start(), step.start(), size])?;
        }
        Ok(())
    }

    /// `a x + b y`, rounded.
    pub fn combine(
        &self,
        a: f64,
        x: &Buffer<f64>,
        b: f64,
        y: Option<&Buffer<f64>>,
        size: usize,
    ) -> Done<Buffer<T>> {
        let out = self.lane.alloc(size)?;
        let count = size as u64;
        self.launch("combine", linear(size), arguments![a, x.start(), b, optional(y), out.start(), count])?;
        Ok(out)
    }

    pub fn mlp_scale(&self) -> f64 {
        1.0 / (self.sizes.inputs as f64).sqrt()
    }

    /// The number of the activation in the kernels.
    pub fn activation(&self) -> u32 {
        match self.problem.config.activation {
            Activation::Relu => 0,
            Activation::Gelu => 1,
            Activation::Tanh => 2,
            Activation::Softplus => 3,
            Activation::Abs => 4,
            Activation::He2 => 5,
            Activation::He3 => 6,
            Activation::Identity => 7,
        }
    }

    /// The address of the labels of tokens from `first` on.
    pub fn facts(&self, first: usize) -> u64 {
        self.train.facts + 4 * first as u64
    }

    /// The test samples.
    pub fn test(&self) -> Source {
        self.train.test()
    }
}
