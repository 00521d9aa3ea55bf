//! A run on a device: its data and embeddings in device memory, and the steps that all parts share.

use std::cell::{Cell, OnceCell};
use std::time::Instant;

use superpose_core::backend::{Backend, DeviceError, Measured, Problem, Solution};
use superpose_core::config::{Activation, Regime, Trigger};
use superpose_core::early_phase::{EarlyPhase, fact_frequency_of};
use superpose_core::embedding::{Embeddings, table};
use superpose_core::random::Stream;

use crate::data::{Draw, Source, each, source};
use crate::geometry::{self, INNER, linear, part, small, tiles, warps};
use crate::kernels::Kernels;
use crate::lane::{Buffer, Done, Element, Lane, Operand, Shape, arguments, optional, plain, transposed};

/// Places of `lengths`, which kernels read: gradients of a block, values, output embeddings.
pub const GRADIENTS: usize = 0;
pub const VALUES: usize = 1;
pub const OUTPUTS: usize = 2;

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

/// Attention scores of tokens, and behind the query what the trigger adds.
pub struct Scores<T> {
    pub tokens: Buffer<T>,
    pub query: Buffer<T>,
}

impl<T> Scores<T> {
    /// The address of what the trigger adds.
    pub fn trigger(&self) -> u64 {
        self.query.at(self.query.size() - 1)
    }
}

/// Samples sorted by label, and where each label begins, on the device and on the host.
pub struct Sorted {
    pub order: Buffer<u32>,
    pub starts: Buffer<u64>,
    pub ends: Vec<usize>,
}

/// The trained models on the device; the matrices of `phases`, one for each cell, are empty.
pub struct Trained<T> {
    pub phases: Vec<EarlyPhase<T>>,
    pub m1: Buffer<T>,
    pub m2: Buffer<T>,
    pub scores: Option<Scores<T>>,
    /// The rate of step 3 in the exact regime.
    pub eta2: Option<Buffer<f64>>,
}

/// One run, or a batch of runs that differ in their seeds alone. Numbers of the host are then those of all cells, one after another.
pub struct Session<'a, T> {
    pub kernels: &'a Kernels,
    pub lane: &'a Lane,
    pub problems: &'a [Problem<'a, T>],
    /// The first of them.
    pub problem: &'a Problem<'a, T>,
    /// Whether own kernels compute the products, so that bits do not depend on the number of cells.
    small: bool,
    /// Whether one kernel computes the softmax and its product.
    pub fused: bool,
    /// Whether cells turned out to need different algorithms.
    pub uneven: Cell<bool>,
    pub sizes: Sizes,
    pub train: Source,
    pub z_in: Buffer<T>,
    pub z_out: Buffer<T>,
    /// Output embeddings minus their mean.
    pub centred: Buffer<T>,
    pub w_in: Option<Buffer<T>>,
    /// Trigger and end-of-sequence vectors of each cell, on the host.
    pub markers: Vec<[Vec<T>; 2]>,
    pub z_trig: Buffer<T>,
    /// Lengths of the longest gradient, value and (in the exact regime) output embedding, at [`GRADIENTS`], [`VALUES`] and [`OUTPUTS`].
    pub lengths: Buffer<f64>,
    /// Samples sorted by label, once they are needed.
    pub sorted: OnceCell<Sorted>,
    _data: (Vec<Buffer<u32>>, Vec<Buffer<f64>>),
}

impl<'a, T: Element> Session<'a, T> {
    /// Copies or draws data and embeddings.
    pub fn new(kernels: &'a Kernels, lane: &'a Lane, problems: &'a [Problem<'a, T>]) -> Done<Self> {
        let problem = &problems[0];
        let config = problem.config;
        if problem.task.given_test().is_some() {
            return Err(DeviceError::unsupported("a run with test sequences of your own"));
        }
        geometry::check(config, kernels.shared)?;
        let (mut whole, mut real) = (Vec::new(), Vec::new());
        let train = source(lane, problems, &mut whole, &mut real)?;
        let sizes = Sizes {
            tokens: config.token_count(),
            labels: config.label_count(),
            dim: config.dim,
            inputs: config.inputs(),
            length: config.length,
            samples: problem.stored.map_or(config.samples, |stored| stored.position().len()),
        };
        let draw = Draw { kernels, lane, problem, keys: train.keys };
        let (z_in, z_out, w_in) = match problem.embeddings {
            Some(Embeddings { w_in, .. }) => {
                let copy = |part: fn(&Embeddings<T>) -> &[T]| {
                    lane.upload(&each(problems, move |problem| problem.embeddings.map_or(&[], part)))
                };
                let w_in =
                    w_in.as_ref().map(|_| copy(|e| e.w_in.as_deref().unwrap_or_default())).transpose()?;
                (copy(|e| &e.z_in)?, copy(|e| &e.z_out)?, w_in)
            }
            None => (
                draw.rows(Stream::InputEmbedding, sizes.tokens)?,
                draw.rows(Stream::OutputEmbedding, sizes.labels)?,
                config.width.map(|width| draw.first_layer(width)).transpose()?,
            ),
        };
        let markers = problems.iter().map(markers).collect::<Done<Vec<[Vec<T>; 2]>>>()?;
        let triggers: Vec<&[T]> = markers.iter().map(|[trigger, _]| &trigger[..]).collect();
        let z_trig = lane.upload(&triggers.concat())?;
        let centred = lane.alloc(sizes.labels * sizes.dim)?;
        let lengths = lane.zeros(3)?;
        let session = Session {
            kernels,
            lane,
            problems,
            problem,
            small: small(config),
            // The type of the numbers may differ from the precision of the configuration.
            fused: T::SINGLE && geometry::fused(config, kernels.tensor_cores),
            uneven: Cell::new(false),
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
        let extra = session.markers.iter().map(|[trigger, _]| {
            let square: f64 = trigger.iter().map(|x| x.to_f64() * x.to_f64()).sum();
            config.trigger.t() * square.sqrt()
        });
        let extra = lane.upload(&extra.collect::<Vec<f64>>())?;
        let [values, outputs] = [VALUES, OUTPUTS].map(|place| (&session.lengths, place));
        session.longest(session.z_in.start(), sizes.tokens, sizes.dim, Some(&extra), values)?;
        if config.regime == Regime::Exact {
            session.longest(session.z_out.start(), sizes.labels, sizes.dim, None, outputs)?;
        }
        Ok(session)
    }

    /// Trains and evaluates a single run.
    pub fn solve(&self) -> Done<Solution<T>> {
        let started = Instant::now();
        let trained = self.early_phase()?;
        self.lane.wait()?;
        let train_seconds = started.elapsed().as_secs_f64();
        let counts = self.counts()?;
        let (mut evaluations, _) = self.evaluate(&trained, &counts)?;
        let counts = self.lane.download(&counts, 0..self.problem.config.vocab)?;
        let frequency = fact_frequency_of(&counts, self.sizes.samples);
        let size = self.sizes.dim * self.sizes.inputs;
        let [m1, m2] = [self.lane.download(&trained.m1, 0..size)?, self.lane.download(&trained.m2, 0..size)?];
        let mut phases = trained.phases;
        let phase = EarlyPhase { m1, m2, ..phases.remove(0) };
        Ok(Solution { phase, frequency, evaluation: evaluations.remove(0), train_seconds })
    }

    /// Trains and evaluates all cells.
    pub fn measure(&self) -> Done<Vec<Measured<T>>> {
        let trained = self.early_phase()?;
        let (evaluations, finite) = self.evaluate(&trained, &self.counts()?)?;
        let cells = trained.phases.into_iter().zip(evaluations).zip(finite);
        Ok(cells.map(|((phase, evaluation), finite)| Measured { phase, evaluation, finite }).collect())
    }

    /// The answer that all cells give; an error if they differ.
    pub fn agreed(&self, answers: impl IntoIterator<Item = bool>) -> Done<bool> {
        let mut answers = answers.into_iter();
        let first = answers.next().unwrap_or_default();
        if answers.all(|answer| answer == first) {
            return Ok(first);
        }
        self.uneven.set(true);
        Err(DeviceError::Failed { reason: "cells of a batch need different algorithms".into() })
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
    pub fn counts(&self) -> Done<Buffer<u32>> {
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
        self.problems.iter().for_each(|problem| (problem.observe)(samples));
        if more {
            self.lane.wait()?;
        }
        Ok(self.problems.iter().try_for_each(|problem| problem.host.check_cancelled())?)
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

    /// Writes the length of the longest row plus `extra` to a place of `out`.
    pub fn longest(
        &self,
        rows: u64,
        count: usize,
        dim: usize,
        extra: Option<&Buffer<f64>>,
        (out, place): (&Buffer<f64>, usize),
    ) -> Done {
        self.lane.clear(out, place, 1)?;
        let (number, dim) = (count as u64, dim as u32);
        let to = arguments![rows, number, dim, optional(extra), out.at(place)];
        self.launch("longest_row", warps(count), to)
    }

    /// `out = a b`: `a` has m rows and k columns, `b` k rows and n columns, after transposition.
    pub fn product(&self, out: u64, sizes: [usize; 3], a: Operand<T>, b: Operand<T>) -> Done {
        match self.small {
            true => self.product_in_parts(out, sizes, a, b, sizes[1]),
            false => self.lane.product(out, sizes, a, b),
        }
    }

    /// The same by own kernels, with inner sums cut into parts, whose results follow one another.
    fn product_in_parts(
        &self,
        out: u64,
        [m, k, n]: [usize; 3],
        Operand(a, a_transposed, _): Operand<T>,
        Operand(b, b_transposed, _): Operand<T>,
        part: usize,
    ) -> Done {
        let (kernel, shape) = tiles(m, n, k.div_ceil(part));
        let [a_transposed, b_transposed] = [a_transposed, b_transposed].map(u32::from);
        let [m, k, n, part] = [m, k, n, part].map(|size| size as u32);
        self.launch(kernel, shape, arguments![out, a, b, m, k, n, part, a_transposed, b_transposed])
    }

    /// `sum += a^T b` in 64 bits, for matrices of `count` rows of `m` and `n` numbers.
    pub fn add_product(&self, sum: &Buffer<f64>, count: usize, [m, n]: [usize; 2], a: u64, b: u64) -> Done {
        let (real, size) = (size_of::<T>(), (m * n) as u64);
        let (part, block) = if self.small { (part(m, n), count.max(1)) } else { (INNER, INNER) };
        let step = self.lane.alloc::<T>(block.min(count).div_ceil(part) * m * n)?;
        for first in (0..count).step_by(block) {
            let inner = block.min(count - first);
            let (a, b) = (a + (first * m * real) as u64, b + (first * n * real) as u64);
            let (a, b) = (transposed::<T>(a), plain(b));
            match self.small {
                true => self.product_in_parts(step.start(), [m, inner, n], a, b, part)?,
                false => self.lane.product(step.start(), [m, inner, n], a, b)?,
            }
            let parts = inner.div_ceil(part) as u32;
            self.launch("accumulate", linear(m * n), arguments![sum.start(), step.start(), size, parts])?;
        }
        Ok(())
    }

    /// `a x`, rounded.
    pub fn scaled(&self, a: f64, x: &Buffer<f64>, size: usize) -> Done<Buffer<T>> {
        self.combine(a, x, 0.0, [None, None], size)
    }

    /// `a x + b c y`, rounded, where `c` is a number of each cell.
    pub fn combine(
        &self,
        a: f64,
        x: &Buffer<f64>,
        b: f64,
        [c, y]: [Option<&Buffer<f64>>; 2],
        size: usize,
    ) -> Done<Buffer<T>> {
        let (out, count) = (self.lane.alloc(size)?, size as u64);
        let to = arguments![a, x.start(), b, optional(c), optional(y), out.start(), count];
        self.launch("combine", linear(size), to)?;
        Ok(out)
    }

    /// The copies of the sums by token.
    pub fn copies(&self) -> u32 {
        geometry::copies(self.sizes.tokens) as u32
    }

    pub fn mlp_scale(&self) -> f64 {
        1.0 / (self.sizes.inputs as f64).sqrt()
    }

    pub fn activation(&self) -> u32 {
        activation_number(self.problem.config.activation)
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

/// The number of an activation in the kernels.
pub fn activation_number(activation: Activation) -> u32 {
    match activation {
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

/// Trigger and end-of-sequence vectors of a problem, given or drawn on the host, which needs them.
fn markers<T: Element>(problem: &Problem<'_, T>) -> Done<[Vec<T>; 2]> {
    if let Some(Embeddings { z_trig, z_eos, .. }) = problem.embeddings {
        return Ok([z_trig.clone(), z_eos.clone()]);
    }
    let (config, host) = (problem.config, Backend::single());
    let markers = table(config.embedding.kind(), config.seed, Stream::Markers, 2, config.dim, &host)?;
    let (trigger, eos) = markers.split_at(config.dim);
    Ok([trigger.to_vec(), eos.to_vec()])
}
