//! Data and embeddings of a run in device memory.

use std::borrow::Cow;

use superpose_core::backend::Problem;
use superpose_core::config::Embedding;
use superpose_core::random::{Stream, Words};
use superpose_core::task::{Distribution, Stored};

use crate::geometry::linear;
use crate::kernels::Kernels;
use crate::lane::{Buffer, Done, Element, Lane, arguments, optional};

/// A dataset, in the layout of the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Source {
    pub facts: u64,
    tokens: u64,
    position: u64,
    labels: u64,
    tables: [u64; 4],
    pub keys: u64,
    key: [u32; 2],
    stream: u32,
    length: u32,
    vocab: u32,
    noise_size: u32,
    noise_start: u32,
    padding: u32,
}

impl Source {
    /// The test samples of the same task, which are always drawn.
    pub fn test(self) -> Source {
        Source { tokens: 0, stream: Stream::Test as u32, ..self }
    }
}

/// A part of each problem, one after another.
pub fn each<'p, T, X: Copy>(
    problems: &'p [Problem<'p, T>],
    part: impl Fn(&'p Problem<'p, T>) -> &'p [X],
) -> Cow<'p, [X]> {
    match problems {
        [problem] => part(problem).into(),
        _ => problems.iter().map(part).collect::<Vec<_>>().concat().into(),
    }
}

/// Copies the facts, distributions and stored samples of problems; `whole` and `real` hold the memory.
pub fn source<'p, T: Element>(
    lane: &Lane,
    problems: &'p [Problem<'p, T>],
    whole: &mut Vec<Buffer<u32>>,
    real: &mut Vec<Buffer<f64>>,
) -> Done<Source> {
    let Problem { config, task, stored, .. } = &problems[0];
    let mut copy = |data: &[u32]| -> Done<u64> {
        whole.push(lane.upload(data)?);
        Ok(whole.last().map_or(0, Buffer::start))
    };
    let facts = copy(&each(problems, |problem| problem.task.facts()))?;
    let keys: Vec<u32> = problems.iter().flat_map(|problem| Words::key(problem.config.seed)).collect();
    let keys = copy(&keys)?;
    let [tokens, position, labels] = match stored {
        Some(_) => {
            let samples = |part: fn(&Stored) -> &[u32]| each(problems, move |p| p.stored.map_or(&[], part));
            [
                copy(&samples(Stored::tokens))?,
                copy(&samples(Stored::position))?,
                copy(&samples(Stored::labels))?,
            ]
        }
        None => [0; 3],
    };
    let mut tables = [0; 4];
    for (i, distribution) in [task.informative(), task.noise()].into_iter().enumerate() {
        if let Distribution::Weighted { keep, alias, .. } = distribution {
            // The same for all seeds.
            real.push(lane.upload(&keep.repeat(problems.len()))?);
            tables[2 * i] = real.last().map_or(0, Buffer::start);
            tables[2 * i + 1] = copy(&alias.repeat(problems.len()))?;
        }
    }
    Ok(Source {
        facts,
        tokens,
        position,
        labels,
        tables,
        keys,
        key: [0; 2],
        stream: Stream::Train as u32,
        length: config.length as u32,
        vocab: config.vocab as u32,
        noise_size: task.noise().size() as u32,
        noise_start: task.noise_start() as u32,
        padding: 0,
    })
}

/// Draws embeddings with the bits of the CPU.
pub struct Draw<'a, T> {
    pub kernels: &'a Kernels,
    pub lane: &'a Lane,
    pub problem: &'a Problem<'a, T>,
    /// The address of the keys of the random numbers.
    pub keys: u64,
}

impl<T: Element> Draw<'_, T> {
    pub fn rows(&self, stream: Stream, rows: usize) -> Done<Buffer<T>> {
        let scale = 1.0 / (self.problem.config.dim as f64).sqrt();
        self.table(self.problem.config.embedding.kind(), stream, rows, scale)
    }

    pub fn first_layer(&self, width: usize) -> Done<Buffer<T>> {
        self.table(Embedding::Gaussian, Stream::FirstLayer, width, 1.0)
    }

    fn table(&self, kind: Embedding, stream: Stream, rows: usize, scale: f64) -> Done<Buffer<T>> {
        let (dim, keys) = (self.problem.config.dim, self.keys);
        let out = self.lane.alloc(rows * dim)?;
        let (count, columns, stream) = (rows as u64, dim as u32, stream as u32);
        let launch = |name, items, arguments: &mut [*mut std::ffi::c_void]| {
            self.lane.launch(self.kernels.get(name)?, linear(items), arguments)
        };
        let mut lengths = None;
        match kind {
            Embedding::Rademacher => {
                let to = arguments![out.start(), count, columns, stream, keys, scale];
                launch("draw_signs", rows * dim.div_ceil(128), to)?;
                return Ok(out);
            }
            Embedding::Sphere => {
                let scales = self.lane.alloc::<f64>(rows)?;
                launch("inverse_lengths", rows, arguments![scales.start(), count, columns, stream, keys])?;
                lengths = Some(scales);
            }
            _ => {}
        }
        let scales = optional(lengths.as_ref());
        let to = arguments![out.start(), count, columns, stream, keys, scale, scales];
        launch("draw_normals", rows * dim.div_ceil(2), to)?;
        Ok(out)
    }
}
