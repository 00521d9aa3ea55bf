//! A trained model and its arrays.

use numpy::Element;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use superpose_core::backend::{Backend, Real};
use superpose_core::config::Precision;
use superpose_core::noise::Parts;
use superpose_core::task::{Samples, Stored};
use superpose_lab::memory;
use superpose_lab::run::{Trained, passes};

use crate::arrays::{Refusal, float_shape, floats, indices, matrix, view, whole, whole_shape};
use crate::config::Config;
use crate::run::{Job, SMALL, backend, threads};
use crate::work::{Failure, Watch, work};

use std::sync::Arc;

/// A model after the three steps, in one of the two precisions.
#[pyclass(frozen, module = "superpose._engine")]
pub struct Model(Precise);

enum Precise {
    F32(Arc<Trained<f32>>),
    F64(Arc<Trained<f64>>),
}

/// Does the same in either precision.
macro_rules! either {
    ($model:expr, $trained:ident => $body:expr) => {
        match &$model.0 {
            Precise::F32($trained) => $body,
            Precise::F64($trained) => $body,
        }
    };
}

#[pymethods]
impl Model {
    /// Draws what is not among the tensors and trains.
    #[new]
    fn new(
        py: Python<'_>,
        config: &Config,
        tensors: &Bound<'_, PyDict>,
        threads: Option<&Bound<'_, PyAny>>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Model> {
        let job = Job::new(config, tensors, threads, true)?;
        let trained = work(py, job.seconds, listener, move |watch| {
            // The last pass keeps the samples.
            watch.begin((passes(&job.config) + 1) * job.config.samples as u64);
            Ok(match job.config.precision {
                Precision::F32 => Precise::F32(train(&job, watch)?),
                Precision::F64 => Precise::F64(train(&job, watch)?),
            })
        })?;
        Ok(Model(trained))
    }

    /// The configuration, with the sizes of the tensors, as JSON.
    fn config(&self) -> PyResult<String> {
        let config = either!(self, trained => &trained.config);
        serde_json::to_string(config).map_err(|error| Failure::from(error).into())
    }

    /// Rates of steps 2 and 3, and the sign of what step 2 gave the trigger.
    fn rates(&self) -> (f64, f64, i8) {
        either!(self, trained => (trained.phase.gamma, trained.phase.eta2, trained.phase.trigger_sign))
    }

    /// A tensor by its name in `--export`; nothing for the first layer of a model without an MLP.
    fn tensor<'py>(this: &Bound<'py, Self>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        either!(this.get(), trained => tensor(this, trained, name))
    }

    /// Attention weights on the given sequences, or on the training samples.
    #[pyo3(signature = (w, tokens, position, threads=None))]
    fn attention<'py>(
        &self,
        py: Python<'py>,
        w: Option<&Bound<'py, PyAny>>,
        tokens: Option<&Bound<'py, PyAny>>,
        position: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        either!(self, trained => {
            let w = w.map(|w| attention_matrix(trained, w)).transpose()?;
            let given = sequences(trained, tokens, position, |length| length)?;
            read(py, trained, given, threads, |samples| samples.length(), move |trained, samples, backend| {
                trained.attention(w.as_deref(), samples, backend)
            })
        })
    }

    /// Logits on the given sequences, or on the training samples.
    #[pyo3(signature = (m, w, tokens, position, threads=None))]
    fn logits<'py>(
        &self,
        py: Python<'py>,
        m: Option<&Bound<'py, PyAny>>,
        w: Option<&Bound<'py, PyAny>>,
        tokens: Option<&Bound<'py, PyAny>>,
        position: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        either!(self, trained => {
            let m = m.map(|m| value_matrix(trained, m)).transpose()?;
            let w = w.map(|w| attention_matrix(trained, w)).transpose()?;
            let labels = trained.model().labels();
            let given = sequences(trained, tokens, position, |_| labels)?;
            read(py, trained, given, threads, |_| labels, move |trained, samples, backend| {
                trained.logits(m.as_deref(), w.as_deref(), samples, backend)
            })
        })
    }

    /// Names of the parts of a logit, and the parts on the given sequences, or on the training samples: a row per sequence with the
    /// labels of each part.
    #[pyo3(signature = (tokens, position, threads=None))]
    fn noise_parts<'py>(
        &self,
        py: Python<'py>,
        tokens: Option<&Bound<'py, PyAny>>,
        position: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<&'static str>, Bound<'py, PyAny>)> {
        let names: Vec<&str> = Parts::<()>::default().named().map(|(name, ())| name).to_vec();
        let parts = either!(self, trained => {
            let columns = names.len() * trained.model().labels();
            let given = sequences(trained, tokens, position, |_| columns)?;
            read(py, trained, given, threads, |_| columns, move |trained, samples, backend| {
                trained.noise_parts(samples, backend)
            })?
        });
        Ok((names, parts))
    }

    /// Loss and gradients by `m` and `w` over the training samples.
    #[pyo3(signature = (m, w, threads=None, listener=None))]
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        m: &Bound<'py, PyAny>,
        w: &Bound<'py, PyAny>,
        threads: Option<&Bound<'_, PyAny>>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let threads = self::threads(threads)?;
        either!(self, trained => {
            let (m, w) = (value_matrix(trained, m)?, attention_matrix(trained, w)?);
            let seconds = trained.pass_seconds(&trained.samples);
            let theirs = Arc::clone(trained);
            let found = work(py, seconds, listener, move |watch| {
                watch.begin(theirs.samples.count() as u64);
                Ok(theirs.gradients(&m, &w, &backend(threads, seconds, watch)?, watch)?)
            })?;
            finite([found.loss].iter().chain(&found.m).chain(&found.w).copied())?;
            let (dim, inputs) = (trained.model().dim(), trained.model().inputs());
            (found.loss, matrix(py, found.m, inputs)?, matrix(py, found.w, dim)?).into_pyobject(py)
        })
    }
}

fn train<T: Real>(job: &Job, watch: &Watch) -> Result<Arc<Trained<T>>, Failure> {
    Ok(Arc::new(Trained::new(&job.config, &job.inputs, &job.backend(watch)?, watch)?))
}

fn tensor<'py, T: Real + Element>(
    this: &Bound<'py, Model>,
    trained: &Trained<T>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, model) = (this.py(), trained.model());
    let (dim, inputs) = (model.dim(), model.inputs());
    let (e, phase) = (&trained.embeddings, &trained.phase);
    let seen = |data: &[T], columns| Ok(Some(view(this.as_any(), data, columns)?.into_any()));
    match name {
        "z_in" => seen(&e.z_in, Some(dim)),
        "z_out" => seen(&e.z_out, Some(dim)),
        "z_trig" => seen(&e.z_trig, None),
        "z_eos" => seen(&e.z_eos, None),
        "w_in" => e.w_in.as_ref().map_or(Ok(None), |w_in| seen(w_in, Some(dim))),
        "m1" => seen(&phase.m1, Some(inputs)),
        "w1" => seen(&trained.w1, Some(dim)),
        "m2" => seen(&phase.m2, Some(inputs)),
        "tokens" => Ok(Some(indices(py, trained.samples.tokens(), Some(trained.samples.length()))?)),
        "position" => Ok(Some(indices(py, trained.samples.position(), None)?)),
        "labels" => Ok(Some(indices(py, trained.samples.labels(), None)?)),
        _ => Err(Failure::new(format!("unknown tensor {name}")).into()),
    }
}

// The shape is looked at before the entries: what does not fit is not copied.
fn value_matrix<T: Real>(trained: &Trained<T>, m: &Bound<'_, PyAny>) -> Result<Vec<T>, Refusal> {
    trained.value_matrix(&float_shape("m", m)?)?;
    Ok(trained.value_matrix(&floats("m", m)?)?)
}

fn attention_matrix<T: Real>(trained: &Trained<T>, w: &Bound<'_, PyAny>) -> Result<Vec<T>, Refusal> {
    trained.attention_matrix(&float_shape("w", w)?)?;
    Ok(trained.attention_matrix(&floats("w", w)?)?)
}

/// The sequences given, if any. They must fit into memory with rows of so many `columns` for sequences of a length.
fn sequences<T: Real>(
    trained: &Trained<T>,
    tokens: Option<&Bound<'_, PyAny>>,
    position: Option<&Bound<'_, PyAny>>,
    columns: impl Fn(usize) -> usize,
) -> PyResult<Option<Stored>> {
    match (tokens, position) {
        (None, None) => Ok(None),
        (Some(tokens), Some(position)) => {
            let sizes = Trained::<T>::sequence_sizes(
                &whole_shape("tokens", tokens)?,
                &whole_shape("position", position)?,
            );
            let (count, length) = sizes.map_err(Failure::from)?;
            let row = 4.0 * (length as f64 + 2.0) + columns(length) as f64 * size_of::<T>() as f64;
            fits(count as f64 * row)?;
            let (tokens, position) = (whole("tokens", tokens)?, whole("position", position)?);
            Ok(Some(trained.sequences(tokens, position).map_err(Failure::from)?))
        }
        _ => Err(Failure::new("tokens and position belong together: give both, or neither").into()),
    }
}

/// Rows for every sequence, `columns` wide.
fn read<'py, T: Real + Element, E: std::error::Error + 'static>(
    py: Python<'py>,
    trained: &Arc<Trained<T>>,
    given: Option<Stored>,
    threads: Option<&Bound<'_, PyAny>>,
    columns: impl Fn(&Stored) -> usize,
    rows: impl FnOnce(&Trained<T>, &Stored, &Backend) -> Result<Vec<T>, E> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let threads = self::threads(threads)?;
    let samples = given.as_ref().unwrap_or(&trained.samples);
    let (seconds, columns) = (trained.pass_seconds(samples), columns(samples));
    fits(samples.count() as f64 * columns as f64 * size_of::<T>() as f64)?;
    let theirs = Arc::clone(trained);
    let data = work(py, seconds, None, move |watch| {
        let samples = given.as_ref().unwrap_or(&theirs.samples);
        let rows = rows(&theirs, samples, &backend(threads, seconds, watch)?)?;
        finite(rows.iter().map(|x| x.to_f64()))?;
        Ok(rows)
    })?;
    Ok(matrix(py, data, columns)?.into_any())
}

/// Refuses sequences and rows for them that the memory does not hold.
pub fn fits(bytes: f64) -> Result<(), Failure> {
    if bytes < SMALL {
        return Ok(());
    }
    let available = memory::available();
    match bytes <= available {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "this needs about {} of memory, and {} are available; fewer or shorter sequences need less",
            memory::readable(bytes),
            memory::readable(available)
        ))),
    }
}

/// Refuses what left the range of numbers: matrices may be finite and their products not.
fn finite(mut numbers: impl Iterator<Item = f64>) -> Result<(), Failure> {
    match numbers.all(f64::is_finite) {
        true => Ok(()),
        false => Err(Failure::new(
            "m or w is too large: what follows from them is not finite; make them smaller or use precision f64",
        )),
    }
}
