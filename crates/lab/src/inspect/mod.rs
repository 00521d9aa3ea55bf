//! What a real embedding matrix could hold: the overlaps of its rows, and the facts that they allow (theory section 5.1).
//!
//! The file is mapped and read in blocks of rows, so a matrix larger than the memory is no trouble; beyond a block
//! there are a few `d x d` matrices. Rows are measured as they are and minus their mean, since real embeddings share
//! a mean direction: as they are, every pair of tokens overlaps by it.
//!
//! Facts are predicted with the attention on `ell`, the trigger in the keys and [`SAMPLES_PER_FACT`] samples for every
//! fact, in two ways. From mean statistics: `kappa_v` is the mean overlap of row v with the others, `xi_v = |z_v|^2 - kappa_v`,
//! and s2 the mean square overlap less the mean of `kappa_v^2`. That takes rows for alike, which those of real models are
//! not: some are short, some have near twins. So also from [`Pairs`]: the overlaps of some two thousand rows with all
//! others, row by row. The second is what simulations agree with (`examples/embeddings.rs`).
//!
//! Logits are compared with each other, so what all output embeddings share has no effect: of the output matrix the centred
//! rows count, in both cases.

mod cost;
mod facts;
mod matrix;
mod pairs;

use serde::{Deserialize, Serialize};
use superpose_core::backend::{Backend, Cancelled};
use superpose_tensors::{TensorError, Tensors};
use superpose_theory::Measured;

pub use cost::{output_seconds, seconds};
pub use facts::{facts_by_means, gaussian_facts};
use facts::{gaussian_accuracy, largest};
use matrix::{Mapped, Weight};
use pairs::Outputs;
pub use pairs::Pairs;

/// Samples for every fact in the predictions: plenty for coverage, few enough for a shared mean direction to show.
pub const SAMPLES_PER_FACT: f64 = 100.0;

/// A matrix that cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// Something is wrong with a tensor.
    #[error(transparent)]
    Tensors(#[from] TensorError),
    /// The accuracy asked for is not one.
    #[error("accuracy = {0}: must be above 0 and below 1")]
    Accuracy(f64),
    /// The d x d matrices of overlaps would not fit in memory.
    #[error("tensor {tensor} has {dim} columns: at most {most} can be inspected")]
    TooWide {
        /// The tensor.
        tensor: String,
        /// Its columns.
        dim: usize,
        /// Columns that can be handled.
        most: usize,
    },
    /// No tensor was named and there is none to choose.
    #[error("tensor is not given, and the file has no matrix of floating-point numbers, only {0}")]
    NoMatrix(String),
    /// The inspection was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Columns that are accepted: overlaps take some matrices of that many rows and columns, 6 GB for the widest.
const WIDEST: usize = 1 << 14;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// The matrix of input embeddings.
    pub tensor: String,
    /// Its rows.
    pub rows: usize,
    /// Its columns, `d`.
    pub dim: usize,
    /// The accuracy at which facts are counted.
    pub accuracy: f64,
    /// Samples for every fact, in the predictions.
    pub samples_per_fact: f64,
    /// Facts that Gaussian vectors of that dimension would hold.
    pub gaussian_facts: u64,
    /// The rows as they are.
    pub raw: Vectors,
    /// The rows minus their mean.
    pub centred: Vectors,
    /// The output matrix; absent: Gaussian output embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputMatrix>,
    /// The version that looked.
    pub version: String,
}

/// Statistics of the rows of the input matrix, and what they allow. Means over pairs are over distinct rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vectors {
    /// How the rows lie.
    #[serde(flatten)]
    pub geometry: Geometry,
    /// The largest number of facts at which memory accuracy is at least the accuracy asked for, from the overlaps of
    /// pairs; 0 if there is none. More than there are rows: for as many rows that lie like these.
    pub facts: u64,
    /// The same from mean statistics, as if all rows were alike.
    pub facts_by_means: u64,
    /// The mean statistics, in units of the mean square length.
    pub kernel: Measured,
}

/// The output matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputMatrix {
    /// Its name.
    pub tensor: String,
    /// Its rows.
    pub rows: usize,
    /// The rows as they are.
    pub raw: Geometry,
    /// The rows minus their mean.
    pub centred: Geometry,
}

/// How the rows of a matrix lie. A mean square cosine of 0 has no effective dimension, rows of length 0 no spread: such
/// values are not finite, and null in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Geometry {
    /// Mean of the squared cosine.
    pub mean_square_cosine: f64,
    /// Its inverse: the dimension of isotropic vectors that overlap as much.
    pub effective_dimension: f64,
    /// Mean of the cosine.
    pub mean_cosine: f64,
    /// Mean of the length.
    pub norm_mean: f64,
    /// Standard deviation of the length over its mean.
    pub norm_cv: f64,
}

/// Memory accuracy at a number of facts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Facts.
    pub facts: u64,
    /// With the rows as they are.
    pub raw: f64,
    /// With the rows minus their mean.
    pub centred: f64,
    /// With Gaussian vectors of that dimension.
    pub gaussian: f64,
}

/// Inspects a matrix, the largest one unless it is named. `progress` is called with the work done and the total, after every
/// block of rows and every prediction.
pub fn inspect(
    tensors: &Tensors<'_>,
    tensor: Option<&str>,
    output_tensor: Option<&str>,
    accuracy: f64,
    backend: &Backend,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Inspection, InspectError> {
    inspect_both(tensors, tensor, output_tensor, accuracy, backend, progress).map(|(found, _)| found)
}

/// The same, and how accuracy falls with the number of facts.
pub fn inspect_and_trace(
    tensors: &Tensors<'_>,
    tensor: Option<&str>,
    output_tensor: Option<&str>,
    accuracy: f64,
    backend: &Backend,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Inspection, Vec<Held>), InspectError> {
    let (found, [raw, centred]) = inspect_both(tensors, tensor, output_tensor, accuracy, backend, progress)?;
    let mut curve: Vec<Held> = Vec::new();
    for power in 1..MOST_TRACED {
        progress(1, 1);
        let facts = 1_u64 << power;
        let held = |pairs: &Pairs| pairs.accuracy(facts as f64, SAMPLES_PER_FACT, backend);
        let gaussian = gaussian_accuracy(found.dim, facts as f64);
        curve.push(Held { facts, raw: held(&raw)?, centred: held(&centred)?, gaussian });
        if curve.last().is_some_and(|last| last.raw.max(last.centred).max(last.gaussian) < FORGOTTEN) {
            break;
        }
    }
    Ok((found, curve))
}

/// Powers of two up to which accuracy is traced.
const MOST_TRACED: u32 = 30;
/// Accuracy below which there is nothing more to trace.
const FORGOTTEN: f64 = 0.05;

fn inspect_both(
    tensors: &Tensors<'_>,
    tensor: Option<&str>,
    output_tensor: Option<&str>,
    accuracy: f64,
    backend: &Backend,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Inspection, [Pairs; 2]), InspectError> {
    if !(accuracy > 0.0 && accuracy < 1.0) {
        return Err(InspectError::Accuracy(accuracy));
    }
    let name = match tensor {
        Some(name) => name.to_string(),
        None => tensors.largest_matrix().ok_or_else(|| InspectError::NoMatrix(tensors.listed()))?,
    };
    let rows_of = |name: &str| tensors.shape(name).map_or(0, |shape| shape.first().copied().unwrap_or(0));
    let (scan, overlaps) = (Weight::Scan as usize, Weight::Overlaps as usize + Weight::Lengths as usize);
    let total = rows_of(&name) * (scan + overlaps + Weight::Pairs as usize)
        + output_tensor.map_or(0, |name| rows_of(name) * (scan + overlaps));
    let mut done = 0;
    let mut passed = |work| {
        done += work;
        progress(done, total);
    };
    if let [_, dim] = tensors.shape(&name)?[..]
        && dim > WIDEST
    {
        return Err(InspectError::TooWide { tensor: name, dim, most: WIDEST });
    }
    let input = Mapped::new(tensors, &name, backend, &mut passed)?;
    let output = output_tensor.map(|name| Mapped::new(tensors, name, backend, &mut passed)).transpose()?;
    if let Some(output) = output.as_ref().filter(|output| output.dim != input.dim) {
        return Err(InspectError::Tensors(TensorError::Shape {
            name: output.name.into(),
            got: vec![output.rows, output.dim],
            expected: format!("must have as many columns as tensor {name}, {}", input.dim),
        }));
    }
    let (dim, labels) = (input.dim as f64, output.as_ref());
    let labels = labels.map(|output| output.measure(backend, &mut passed)).transpose()?;
    let (coherence, spread) = match &labels {
        Some([_, centred]) => (centred.coherence.mean_square_cosine, centred.length_spread()),
        None => (1.0 / dim, (2.0 / dim).sqrt()),
    };
    let lies = input.measure(backend, &mut passed)?;
    let outputs = Outputs { coherence, spread };
    let weighed = &mut |rows: usize| passed(Weight::Pairs as usize * rows);
    let both = Pairs::measure(&input, &input.mean, outputs, backend, weighed)?;
    input.check()?;
    let mut vectors = Vec::with_capacity(2);
    for (lie, pairs) in lies.iter().zip(&both) {
        let kernel = Measured { output_coherence: coherence, output_spread: spread, ..lie.kernel() };
        vectors.push(Vectors {
            geometry: lie.geometry(),
            facts: largest(accuracy, |vocab| {
                passed(0);
                pairs.accuracy(vocab, SAMPLES_PER_FACT, backend)
            })?,
            facts_by_means: facts_by_means(&kernel, accuracy),
            kernel,
        });
    }
    let output = output.zip(labels).map(|(output, [raw, centred])| OutputMatrix {
        tensor: output.name.into(),
        rows: output.rows,
        raw: raw.geometry(),
        centred: centred.geometry(),
    });
    let (rows, dim) = (input.rows, input.dim);
    let found = Inspection {
        tensor: name,
        rows,
        dim,
        accuracy,
        samples_per_fact: SAMPLES_PER_FACT,
        gaussian_facts: gaussian_facts(dim, accuracy),
        raw: vectors[0],
        centred: vectors[1],
        output,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    Ok((found, both))
}

/// The overlaps of pairs of rows of a matrix as they are, for predictions at any number of facts, beside Gaussian output
/// embeddings.
pub fn pairs(tensors: &Tensors<'_>, tensor: &str, backend: &Backend) -> Result<Pairs, InspectError> {
    let input = Mapped::new(tensors, tensor, backend, &mut |_| {})?;
    let dim = input.dim as f64;
    let outputs = Outputs { coherence: 1.0 / dim, spread: (2.0 / dim).sqrt() };
    let [raw, _] = Pairs::measure(&input, &input.mean, outputs, backend, &mut |_| {})?;
    input.check()?;
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_core::random::{Stream, Words, normals};

    /// A file with Gaussian rows of length about `size`, moved by `shift` along the first axis.
    fn file(rows: usize, dim: usize, size: f64, shift: f64) -> Vec<u8> {
        let mut data = vec![0.0; rows * dim];
        for (v, row) in data.chunks_mut(dim).enumerate() {
            normals(&Words::new(5, Stream::InputEmbedding, v as u64), row);
            row.iter_mut().for_each(|x| *x *= size / (dim as f64).sqrt());
            row[0] += size * shift;
        }
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        let view =
            safetensors::tensor::TensorView::new(safetensors::Dtype::F64, vec![rows, dim], &bytes).unwrap();
        safetensors::serialize([("rows", view)], None).unwrap()
    }

    fn look(bytes: &[u8], output: Option<&str>) -> Inspection {
        let tensors = Tensors::parse(bytes).unwrap();
        inspect(&tensors, None, output, 0.95, &Backend::single(), &mut |_, _| {}).unwrap()
    }

    #[test]
    fn gaussian_rows_are_recognised() {
        let found = look(&file(3000, 48, 1.0, 0.0), None);
        assert_eq!((found.tensor.as_str(), found.rows, found.dim), ("rows", 3000, 48));
        assert!((found.raw.geometry.effective_dimension / 48.0 - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.raw.kernel.s2 * 48.0 - 1.0).abs() < 0.1);
        for facts in [found.raw.facts, found.raw.facts_by_means] {
            let ratio = facts as f64 / found.gaussian_facts as f64;
            assert!((0.9..1.1).contains(&ratio), "{ratio}");
        }
        assert!(found.gaussian_facts > 20);
    }

    /// Sizes that single precision cannot square make no difference, but to the length.
    #[test]
    fn the_scale_does_not_matter() {
        let plain = look(&file(600, 20, 1.0, 0.5), None);
        for size in [1e-200, 1e200] {
            let found = look(&file(600, 20, size, 0.5), None);
            assert!((found.raw.geometry.norm_mean / size / plain.raw.geometry.norm_mean - 1.0).abs() < 1e-6);
            assert_eq!((found.raw.facts, found.centred.facts), (plain.raw.facts, plain.centred.facts));
        }
    }

    #[test]
    fn a_shared_mean_costs_facts_and_centring_wins_them_back() {
        let (plain, shifted) = (look(&file(2000, 64, 1.0, 0.0), None), look(&file(2000, 64, 1.0, 1.0), None));
        assert!(shifted.raw.facts * 2 < plain.raw.facts, "{} {}", shifted.raw.facts, plain.raw.facts);
        assert!(shifted.raw.geometry.mean_cosine > 0.4);
        assert!(shifted.centred.geometry.mean_cosine.abs() < 0.01);
        let ratio = shifted.centred.facts as f64 / plain.centred.facts as f64;
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        // As output the mean has no effect at all.
        let (plain, shifted) =
            (look(&file(900, 64, 1.0, 0.0), Some("rows")), look(&file(900, 64, 1.0, 1.0), Some("rows")));
        assert_eq!(plain.centred.facts, shifted.centred.facts);
        assert!(shifted.output.unwrap().raw.mean_cosine > 0.4);
    }

    #[test]
    fn the_trace_falls_and_crosses_where_the_facts_say() {
        let bytes = file(150, 40, 1.0, 0.3);
        let tensors = Tensors::parse(&bytes).unwrap();
        let mut shares = Vec::new();
        let mut progress = |done: usize, total: usize| shares.push(done as f64 / total as f64);
        let (found, curve) =
            inspect_and_trace(&tensors, None, None, 0.9, &Backend::single(), &mut progress).unwrap();
        assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
        assert!(shares.len() > 2 * curve.len() && shares.last() == Some(&1.0), "{shares:?}");
        assert!(curve.last().unwrap().gaussian < FORGOTTEN && curve[0].gaussian > 0.99);
        for held in &curve {
            assert_eq!(held.raw >= 0.9, held.facts <= found.raw.facts, "{held:?}");
            assert_eq!(held.gaussian >= 0.9, held.facts <= found.gaussian_facts, "{held:?}");
        }
    }

    #[test]
    fn rows_without_content_hold_nothing() {
        let found = look(&file(10, 3, 0.0, 0.0), None);
        assert_eq!((found.raw.facts, found.centred.facts), (0, 0));
    }
}
