//! The network of a training run: its tensors, activations and gradients, and pure steps.

use std::sync::Arc;

use numpy::{Element, IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use superpose_core::backend::{Backend, CancelToken, Real};
use superpose_core::config::Field;
use superpose_core::task::{Samples, Stored};
use superpose_core::train::{Activation, Moments, Network as Trained, State, Tensor, activations, gradient};
use superpose_lab::run::Split;
use superpose_lab::train::{AnyState, batch, samples, untrained};

use crate::arrays::{Refusal, floats, view, whole};
use crate::config::Config;
use crate::model::fits;
use crate::run::{Job, threads};
use crate::task::sequences;
use crate::work::{Failure, borrowing, work};

/// Multiplications of a pass below which Ctrl-C need not end it: a tenth of a second or so.
const SHORT_PRODUCTS: f64 = 1e9;

/// A network with its optimiser's state and the source of its data. It never changes.
#[pyclass(frozen, module = "superpose._engine")]
pub struct Network {
    pub state: AnyState,
    pub job: Arc<Job>,
}

/// Does the same in either precision.
macro_rules! either {
    ($state:expr, $one:ident => $body:expr) => {
        match $state {
            AnyState::F32($one) => $body,
            AnyState::F64($one) => $body,
        }
    };
}

/// The state of an optimiser for one tensor: steps taken, first and second moments.
type Memory<'py> = (u64, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl Network {
    /// The network of a configuration before its first step.
    #[new]
    fn new(
        py: Python<'_>,
        config: &Config,
        tensors: &Bound<'_, PyDict>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Network> {
        let job = Job::new(config, tensors, threads, false)?;
        work(py, f64::INFINITY, None, move |watch| {
            let state = untrained(&job.config, &job.inputs, &watch.backend(job.threads)?)?;
            Ok(Network { state, job: Arc::new(job) })
        })
    }

    /// The configuration as JSON.
    fn config(&self) -> PyResult<String> {
        serde_json::to_string(&self.job.config).map_err(|error| Failure::from(error).into())
    }

    /// Names of its tensors, those of a checkpoint, trained or not.
    fn names(&self) -> Vec<&'static str> {
        either!(&self.state, state => names(&state.network))
    }

    /// Names of the tensors that are trained.
    fn trained(&self) -> Vec<&'static str> {
        either!(&self.state, state => state.network.trained().iter().map(|tensor| tensor.word()).collect())
    }

    /// A tensor by its name.
    fn tensor<'py>(this: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        either!(&this.get().state, state => {
            let network = &state.network;
            let tensor = one_of(name, "tensor")?;
            let columns = (shape(network, tensor).len() == 2).then(|| network.columns(tensor));
            Ok(view(this.as_any(), network.tensor(tensor), columns)?.into_any())
        })
    }

    /// Steps taken.
    fn steps(&self) -> usize {
        either!(&self.state, state => state.counters.step)
    }

    /// Steps taken, and the optimiser's state for each trained tensor.
    fn memory<'py>(&self, py: Python<'py>) -> (usize, Vec<Memory<'py>>) {
        let array = |data: &[f64]| data.to_vec().into_pyarray(py).into_any();
        either!(&self.state, state => {
            let one = |moments: &Moments| (moments.steps, array(&moments.first), array(&moments.second));
            (state.counters.step, state.moments.iter().map(one).collect())
        })
    }

    /// The same network with other entries of some tensors and, if given, another memory of its optimiser.
    #[pyo3(signature = (tensors, memory=None))]
    fn replaced(
        &self,
        tensors: &Bound<'_, PyDict>,
        memory: Option<(usize, Vec<Memory<'_>>)>,
    ) -> PyResult<Network> {
        let mut state = self.state.clone();
        either!(&mut state, state => replace(state, tensors, memory)?);
        Ok(Network { state, job: Arc::clone(&self.job) })
    }

    /// The training samples: tokens, positions and labels.
    #[pyo3(signature = (threads=None))]
    fn data<'py>(
        &self,
        py: Python<'py>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        sequences(py, &self.job, Split::Train, self::threads(threads)?)
    }

    /// Activations by name on the given sequences, or on the training samples.
    #[pyo3(signature = (names, tokens, position, threads=None))]
    fn activations<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        tokens: Option<&Bound<'py, PyAny>>,
        position: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let wanted =
            names.iter().map(|name| one_of(name, "activation")).collect::<Result<Vec<Activation>, _>>()?;
        let given = self.batch(tokens, position, None)?;
        either!(&self.state, state => {
            let network = &state.network;
            let samples = given.as_ref().map_or(self.job.config.samples, Samples::count);
            let entries = |activation: &Activation| {
                let (rows, columns) = activation.shape(network, self.job.config.length);
                rows * columns * size_of_val(&network.tensor(Tensor::M)[0])
            };
            // Blocks are copied into one array at the end.
            fits(2.0 * samples as f64 * wanted.iter().map(entries).sum::<usize>() as f64)?;
            let (count, found) = self.pass(py, given, threads, |batch, ids, backend| {
                Ok((batch.count(), activations(network, batch, ids, &wanted, backend)?))
            })?;
            let all = PyDict::new(py);
            for (activation, data) in wanted.iter().zip(found) {
                let (rows, columns) = activation.shape(network, self.job.config.length);
                let per_head = !matches!(activation, Activation::Output | Activation::Logits);
                let shape = if per_head { vec![count, rows, columns] } else { vec![count, columns] };
                all.set_item(activation.word(), data.into_pyarray(py).reshape(shape)?)?;
            }
            Ok(all)
        })
    }

    /// Loss and gradients by the named tensors on the given sequences, or on the training samples.
    #[pyo3(signature = (names, tokens, position, labels, threads=None))]
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        tokens: Option<&Bound<'py, PyAny>>,
        position: Option<&Bound<'py, PyAny>>,
        labels: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(f64, Bound<'py, PyDict>)> {
        let tensors = names.iter().map(|name| one_of(name, "tensor")).collect::<Result<Vec<Tensor>, _>>()?;
        let given = self.batch(tokens, position, labels)?;
        either!(&self.state, state => {
            let network = &state.network.clone().training(&tensors);
            let found = self.pass(py, given, threads, |batch, ids, backend| Ok(gradient(network, batch, ids, backend)?))?;
            let all = PyDict::new(py);
            for (&tensor, data) in network.trained().iter().zip(found.tensors) {
                all.set_item(tensor.word(), data.into_pyarray(py).reshape(shape(network, tensor))?)?;
            }
            Ok((found.loss, all))
        })
    }

    /// One step of the configured optimiser on a batch, or on the training samples: the loss before it, and the network after it.
    #[pyo3(signature = (tokens, position, labels, threads=None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        tokens: Option<&Bound<'py, PyAny>>,
        position: Option<&Bound<'py, PyAny>>,
        labels: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(f64, Network)> {
        let given = self.batch(tokens, position, labels)?;
        let training = self.job.config.training.clone().unwrap_or_default();
        let mut state = self.state.clone();
        let loss = either!(&mut state, state => {
            self.pass(py, given, threads, |batch, _, backend| Ok(state.step(&training, batch, backend)?))?
        });
        Ok((loss, Network { state, job: Arc::clone(&self.job) }))
    }
}

impl Network {
    /// The sequences given, if any.
    fn batch(
        &self,
        tokens: Option<&Bound<'_, PyAny>>,
        position: Option<&Bound<'_, PyAny>>,
        labels: Option<&Bound<'_, PyAny>>,
    ) -> Result<Option<Stored>, Refusal> {
        match (tokens, position, labels) {
            (None, None, None) => Ok(None),
            (Some(tokens), Some(position), labels) => {
                let labels = labels.map(|labels| whole("labels", labels)).transpose()?;
                let (tokens, position) = (whole("tokens", tokens)?, whole("position", position)?);
                Ok(Some(batch(&self.job.config, tokens, position, labels)?))
            }
            _ => Err(Failure::new("tokens and position belong together: give both, or neither").into()),
        }
    }

    /// A pass over the given sequences, or over the training samples.
    fn pass<R: Send>(
        &self,
        py: Python<'_>,
        given: Option<Stored>,
        threads: Option<&Bound<'_, PyAny>>,
        pass: impl FnOnce(&Stored, &[u32], &Backend) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let threads = self::threads(threads)?;
        let (job, cancel) = (&self.job, CancelToken::new());
        let count = given.as_ref().map_or(job.config.samples, Samples::count);
        let run = || -> Result<R, Failure> {
            let backend = Backend::cpu(threads)?.with_cancel(cancel.clone());
            let batch = match given {
                Some(batch) => batch,
                None => samples(&job.config, &job.inputs, Split::Train, &backend)?,
            };
            let ids: Vec<u32> = (0..batch.count() as u32).collect();
            pass(&batch, &ids, &backend)
        };
        let products = count as f64 * job.config.dim as f64 * job.config.label_count() as f64;
        if products < SHORT_PRODUCTS { Ok(py.detach(run)?) } else { borrowing(py, &cancel, run) }
    }
}

/// The choice that a word names.
fn one_of<F: Field + std::str::FromStr<Err = String>>(name: &str, what: &str) -> Result<F, Failure> {
    name.parse().map_err(|allowed| Failure::new(format!("{what} {name}: {allowed}")))
}

fn names<T: Real>(network: &Trained<T>) -> Vec<&'static str> {
    let there = Tensor::ALL.iter().filter(|&&tensor| !network.tensor(tensor).is_empty());
    there.map(|tensor| tensor.word()).collect()
}

/// The shape of a tensor.
pub fn shape<T: Real>(network: &Trained<T>, tensor: Tensor) -> Vec<usize> {
    let (size, columns) = (network.tensor(tensor).len(), network.columns(tensor));
    match tensor {
        Tensor::ZTrig | Tensor::ZEos => vec![size],
        _ => vec![size / columns, columns],
    }
}

fn replace<T: Real + Element>(
    state: &mut State<T>,
    tensors: &Bound<'_, PyDict>,
    memory: Option<(usize, Vec<Memory<'_>>)>,
) -> PyResult<()> {
    for (name, array) in tensors {
        let name = name.extract::<String>()?;
        let tensor = one_of(&name, "tensor")?;
        let (given, expected) = (floats(&name, &array)?, shape(&state.network, tensor));
        if given.shape != expected {
            let message = format!("tensor {name} has shape {:?}: must be {expected:?}", given.shape);
            return Err(Failure::new(message).into());
        }
        let place = state.network.tensor_mut(tensor);
        place.iter_mut().zip(given.data).for_each(|(x, value)| *x = T::from_f64(value));
    }
    if let Some((step, memory)) = memory {
        state.counters.step = step;
        for (moments, (steps, first, second)) in state.moments.iter_mut().zip(memory) {
            let (first, second) = (floats("first", &first)?.data, floats("second", &second)?.data);
            *moments = Moments { steps, first, second };
        }
    }
    Ok(())
}
