//! Inspection of a real embedding matrix: the overlaps of its rows, and the number of facts that they could hold (theory:
//! memory).
//!
//! The file is read in blocks of rows, so the matrix may be larger than the memory; apart from a block, only a
//! few `d x d` matrices are held. Rows are measured both raw and minus their mean, because real embeddings share a mean direction
//! by which every pair of tokens overlaps.
//!
//! The number of facts is predicted in two ways, both for attention on the informative position only, the trigger in the keys and
//! [`SAMPLES_PER_FACT`] samples per fact. Mean statistics: `kappa_v` is the mean overlap of row v with the others,
//! `xi_v = |z_v|^2 - kappa_v`, and s2 is the mean square overlap less the mean of `kappa_v^2`. They treat all rows alike, but
//! real matrices have short rows and near-duplicates. [`Pairs`] uses the overlaps of up to 2,048 rows with all others and agrees
//! with simulations (`examples/embeddings.rs`).
//!
//! Only differences of logits matter, so output embeddings are always centred.

mod cost;
mod facts;
mod matrix;
mod pairs;
mod sizes;

pub use cost::{output_seconds, seconds};
pub use facts::{facts_by_means, gaussian_facts};
use facts::{gaussian_accuracy, largest};
use matrix::{LENGTHS, OVERLAPS, PAIRS, SCAN, ScaledMatrix};
pub use pairs::Pairs;
use serde::{Deserialize, Serialize};
use sizes::sizes;
pub use sizes::{Sizes, SizesOptions};
use superpose_core::backend::{Backend, Cancelled};
use superpose_core::config::ConfigError;
use superpose_tensors::{TensorError, Tensors};
use superpose_theory::Measured;

use crate::overlaps::Outputs;

/// Samples per fact in the predictions: enough for coverage, few enough that a shared mean direction matters.
pub const SAMPLES_PER_FACT: f64 = 100.0;

/// Why a matrix cannot be inspected.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum InspectError {
    /// A tensor is missing or invalid.
    #[error(transparent)]
    Tensors(#[from] TensorError),
    /// The accuracy is out of range.
    #[error("accuracy = {0}: must be above 0 and below 1")]
    Accuracy(f64),
    /// The d x d matrices of overlaps would not fit in memory.
    #[error("tensor {tensor} has {dim} columns: at most {max} can be inspected")]
    TooWide { tensor: String, dim: usize, max: usize },
    /// No tensor was named and the file has no matrix.
    #[error("tensor is not given, and the file has no matrix of floating-point numbers, only {0}")]
    NoMatrix(String),
    /// A size is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The inspection was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Maximum number of columns: the overlaps need several matrices with this many rows and columns, 6 GB at the maximum.
const MAX_DIM: usize = 1 << 14;

/// The result of an inspection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Inspection {
    /// The tensor of input embeddings.
    pub tensor: String,
    /// Its number of rows.
    #[schemars(range(min = 1))]
    pub rows: usize,
    /// Its number of columns, `d`.
    #[schemars(range(min = 1))]
    pub dim: usize,
    /// The accuracy at which facts are counted.
    pub accuracy: f64,
    /// Samples per fact in the predictions.
    pub samples_per_fact: f64,
    /// Number of facts that Gaussian vectors of that dimension would hold.
    pub gaussian_facts: u64,
    /// The raw rows.
    pub raw: Vectors,
    /// The rows minus their mean.
    pub centred: Vectors,
    /// The output matrix; absent for Gaussian output embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputMatrix>,
    /// What a number of facts needs, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The version of superpose.
    pub version: String,
}

/// Statistics of the rows of the input matrix and the facts they hold. Means over pairs are over distinct rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Vectors {
    /// Cosines and lengths.
    #[serde(flatten)]
    pub geometry: Geometry,
    /// The largest number of facts at which memory accuracy reaches the requested accuracy, from the overlaps of pairs; 0 if
    /// there is none. A number beyond the number of rows assumes more rows with the same statistics.
    pub facts: u64,
    /// The same from mean statistics, which treat all rows alike.
    pub facts_by_means: u64,
    /// The mean statistics, in units of the mean square length.
    pub kernel: Measured,
}

/// The output matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OutputMatrix {
    /// Its name.
    pub tensor: String,
    /// Its number of rows.
    #[schemars(range(min = 1))]
    pub rows: usize,
    /// The raw rows.
    pub raw: Geometry,
    /// The rows minus their mean.
    pub centred: Geometry,
}

/// Cosines and lengths of the rows of a matrix. The effective dimension for a mean square cosine of 0, and the spread of rows of
/// length 0, are not finite and null in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Held {
    /// Number of facts.
    #[schemars(range(min = 2))]
    pub facts: u64,
    /// With the raw rows.
    pub raw: f64,
    /// With the rows minus their mean.
    pub centred: f64,
    /// With Gaussian vectors of that dimension.
    pub gaussian: f64,
}

/// Accuracy is traced up to this power of two.
const MAX_POWER: u32 = 30;
/// Accuracy below which the trace ends.
const FORGOTTEN: f64 = 0.05;

/// Returns the accuracy against the number of facts, given the overlaps of raw and centred rows from [`inspect`]. `progress` is
/// called before every point.
///
/// # Errors
/// Fails if the caller cancels.
pub fn trace(
    dim: usize,
    [raw, centred]: &[Pairs; 2],
    backend: &Backend,
    progress: &mut dyn FnMut(),
) -> Result<Vec<Held>, Cancelled> {
    let mut curve: Vec<Held> = Vec::new();
    for power in 1..MAX_POWER {
        progress();
        let facts = 1_u64 << power;
        let held = |pairs: &Pairs| pairs.accuracy(facts as f64, SAMPLES_PER_FACT, backend);
        let (raw, centred, gaussian) = (held(raw)?, held(centred)?, gaussian_accuracy(dim, facts as f64));
        curve.push(Held { facts, raw, centred, gaussian });
        if raw.max(centred).max(gaussian) < FORGOTTEN {
            break;
        }
    }
    Ok(curve)
}

/// Returns the name of the matrix to inspect, by default the largest. Fails if it cannot be inspected at this accuracy.
fn chosen(tensors: &Tensors<'_>, tensor: Option<&str>, accuracy: f64) -> Result<String, InspectError> {
    if !(accuracy > 0.0 && accuracy < 1.0) {
        return Err(InspectError::Accuracy(accuracy));
    }
    let name = match tensor {
        Some(name) => name.to_string(),
        None => tensors.largest_matrix().ok_or_else(|| InspectError::NoMatrix(tensors.listed()))?,
    };
    match tensors.shape(&name)?[..] {
        [_, dim] if dim > MAX_DIM => Err(InspectError::TooWide { tensor: name, dim, max: MAX_DIM }),
        _ => Ok(name),
    }
}

/// Inspects a matrix as [`inspect`] does, and predicts what a number of facts needs, if one is given.
///
/// # Errors
/// As [`inspect`]; if the prediction is asked for sizes out of range, or together with an output matrix.
pub fn inspect_with_sizes(
    tensors: &Tensors<'_>,
    tensor: Option<&str>,
    output_tensor: Option<&str>,
    facts: Option<SizesOptions>,
    accuracy: f64,
    backend: &Backend,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Inspection, InspectError> {
    if facts.is_some() && output_tensor.is_some() {
        let names = "output_tensor is given together with facts".into();
        let why = "what they need is predicted for Gaussian output embeddings";
        return Err(ConfigError::Together { names, why }.into());
    }
    let name = chosen(tensors, tensor, accuracy)?;
    // First, since a size that is out of range is found at once.
    let sizes = facts.map(|facts| sizes(tensors, &name, facts, accuracy, backend)).transpose()?;
    let (found, _) = inspect(tensors, Some(&name), output_tensor, accuracy, backend, progress)?;
    Ok(Inspection { sizes, ..found })
}

/// Inspects a matrix, by default the largest. Returns also the overlaps of pairs of its raw and its centred rows, for predictions
/// at other numbers of facts. `progress` receives the work done and the total work, after every block of rows and every prediction.
///
/// # Errors
/// Fails if the accuracy is out of range, a tensor is missing, invalid or too wide, or the caller cancels.
pub fn inspect(
    tensors: &Tensors<'_>,
    tensor: Option<&str>,
    output_tensor: Option<&str>,
    accuracy: f64,
    backend: &Backend,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Inspection, [Pairs; 2]), InspectError> {
    let name = chosen(tensors, tensor, accuracy)?;
    let rows_of = |name: &str| tensors.shape(name).map_or(0, |shape| shape.first().copied().unwrap_or(0));
    let total = rows_of(&name) * (SCAN + OVERLAPS + LENGTHS + PAIRS)
        + output_tensor.map_or(0, |name| rows_of(name) * (SCAN + OVERLAPS + LENGTHS));
    let mut done = 0;
    let mut passed = |work| {
        done += work;
        progress(done, total);
    };
    let input = ScaledMatrix::new(tensors, &name, backend, &mut passed)?;
    let output =
        output_tensor.map(|name| ScaledMatrix::new(tensors, name, backend, &mut passed)).transpose()?;
    if let Some(output) = output.as_ref().filter(|output| output.dim != input.dim) {
        let expected = format!("must have as many columns as tensor {name}, {}", input.dim);
        let (name, got) = (output.name.into(), vec![output.rows, output.dim]);
        return Err(TensorError::Shape { name, got, expected }.into());
    }
    let labels = output.as_ref().map(|output| output.measure(backend, &mut passed)).transpose()?;
    let rows = input.rows;
    let outputs = match &labels {
        Some([_, centred]) => {
            Outputs { coherence: centred.coherence.mean_square_cosine, spread: centred.length_spread() }
        }
        None => Outputs::gaussian(input.dim),
    };
    let statistics = input.measure(backend, &mut passed)?;
    let weighed = &mut |rows: usize| passed(PAIRS * rows);
    let both = Pairs::measure(&input, &input.mean, outputs, backend, weighed)?;
    input.check()?;
    let mut vectors = Vec::with_capacity(2);
    for (rows, pairs) in statistics.iter().zip(&both) {
        let kernel = rows.kernel(outputs);
        let facts = largest(accuracy, |vocab| {
            passed(0);
            pairs.accuracy(vocab, SAMPLES_PER_FACT, backend)
        })?;
        let facts_by_means = facts_by_means(&kernel, accuracy);
        vectors.push(Vectors { geometry: rows.geometry(), facts, facts_by_means, kernel });
    }
    let output = output.zip(labels).map(|(output, labels)| {
        let [raw, centred] = labels.map(|rows| rows.geometry());
        OutputMatrix { tensor: output.name.into(), rows: output.rows, raw, centred }
    });
    let dim = input.dim;
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
        sizes: None,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    Ok((found, both))
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_core::random::{Stream, Words, normals};

    /// Returns a file with Gaussian rows of length about `size`, moved by `shift` along the first axis.
    pub(super) fn file(rows: usize, dim: usize, size: f64, shift: f64) -> Vec<u8> {
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
        inspect(&tensors, None, output, 0.95, &Backend::single(), &mut |_, _| {}).unwrap().0
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

    /// The scale affects nothing but the length, even where its square overflows single precision.
    #[test]
    fn result_does_not_depend_on_the_scale() {
        let plain = look(&file(600, 20, 1.0, 0.5), None);
        for size in [1e-200, 1e200] {
            let found = look(&file(600, 20, size, 0.5), None);
            assert!((found.raw.geometry.norm_mean / size / plain.raw.geometry.norm_mean - 1.0).abs() < 1e-6);
            assert_eq!((found.raw.facts, found.centred.facts), (plain.raw.facts, plain.centred.facts));
        }
    }

    #[test]
    fn centring_removes_the_effect_of_a_shared_mean() {
        let [plain, shifted] = [0.0, 1.0].map(|shift| look(&file(2000, 64, 1.0, shift), None));
        assert!(shifted.raw.facts * 2 < plain.raw.facts, "{} {}", shifted.raw.facts, plain.raw.facts);
        assert!(shifted.raw.geometry.mean_cosine > 0.4);
        assert!(shifted.centred.geometry.mean_cosine.abs() < 0.01);
        let ratio = shifted.centred.facts as f64 / plain.centred.facts as f64;
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        // The mean of output embeddings has no effect.
        let [plain, shifted] = [0.0, 1.0].map(|shift| look(&file(900, 64, 1.0, shift), Some("rows")));
        assert_eq!(plain.centred.facts, shifted.centred.facts);
        assert!(shifted.output.unwrap().raw.mean_cosine > 0.4);
    }

    #[test]
    fn trace_agrees_with_the_number_of_facts() {
        let bytes = file(150, 40, 1.0, 0.3);
        let tensors = Tensors::parse(&bytes).unwrap();
        let (mut shares, mut points, backend) = (Vec::new(), 0, Backend::single());
        let mut progress = |done: usize, total: usize| shares.push(done as f64 / total as f64);
        let (found, pairs) = inspect(&tensors, None, None, 0.9, &backend, &mut progress).unwrap();
        let curve = trace(found.dim, &pairs, &backend, &mut || points += 1).unwrap();
        assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
        assert!(shares.len() > curve.len() && shares.last() == Some(&1.0), "{shares:?}");
        assert_eq!(points, curve.len());
        assert!(curve.last().unwrap().gaussian < FORGOTTEN && curve[0].gaussian > 0.99);
        for held in &curve {
            assert_eq!(held.raw >= 0.9, held.facts <= found.raw.facts, "{held:?}");
            assert_eq!(held.gaussian >= 0.9, held.facts <= found.gaussian_facts, "{held:?}");
        }
    }

    #[test]
    fn zero_rows_hold_no_facts() {
        let found = look(&file(10, 3, 0.0, 0.0), None);
        assert_eq!((found.raw.facts, found.centred.facts), (0, 0));
    }
}
