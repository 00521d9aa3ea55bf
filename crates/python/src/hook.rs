//! A caller's functions inside a training run: a hook before every step, and a loss.

use numpy::{Element, IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_core::backend::Real;
use superpose_core::train::{Proposal, Scored};
use superpose_lab::train::{AnyProposal, AnyScored};

use crate::arrays::{floats, indices, matrix};
use crate::network::shape;
use crate::work::Watch;

/// A function of logits and labels that returns the loss and its derivatives by the logits.
pub struct Loss(pub Py<PyAny>);

/// The caller's functions, and the first exception of one of them.
pub struct Hook {
    /// Called before every step.
    pub hook: Option<Py<PyAny>>,
    /// Computes the loss.
    pub loss: Option<Loss>,
    /// Receives the progress.
    pub listener: Option<Py<PyAny>>,
    /// The exception that ended the run.
    pub error: Option<PyErr>,
}

impl Hook {
    /// Calls the hook; `false` if it stops the run or raises an exception.
    pub fn proposal(&mut self, proposal: AnyProposal<'_, '_>, watch: &Watch) -> bool {
        if self.hook.is_none() && self.loss.is_none() {
            return true;
        }
        let answer = Python::attach(|py| {
            py.check_signals()?;
            if let Some(listener) = &self.listener {
                watch.tell(py, listener)?;
            }
            let Some(hook) = &self.hook else { return Ok(true) };
            match proposal {
                AnyProposal::F32(proposal) => ask(py, hook, proposal),
                AnyProposal::F64(proposal) => ask(py, hook, proposal),
            }
        });
        self.kept(answer)
    }

    /// Calls the loss; `false` if it raises an exception.
    pub fn scored(&mut self, scored: AnyScored<'_, '_>) -> bool {
        let Some(loss) = &self.loss else { return false };
        let answer = Python::attach(|py| match scored {
            AnyScored::F32(scored) => loss.of(py, scored),
            AnyScored::F64(scored) => loss.of(py, scored),
        });
        self.kept(answer.map(|()| true))
    }

    fn kept(&mut self, answer: PyResult<bool>) -> bool {
        answer.unwrap_or_else(|error| {
            self.error = Some(error);
            false
        })
    }
}

/// Calls the hook with copies of the tensors; what it returns replaces the optimiser's step.
fn ask<T: Real + Element>(
    py: Python<'_>,
    hook: &Py<PyAny>,
    proposal: &mut Proposal<'_, T>,
) -> PyResult<bool> {
    let network = &proposal.state.network;
    let (parameters, gradients) = (PyDict::new(py), PyDict::new(py));
    for (&tensor, gradient) in network.trained().iter().zip(&proposal.gradient.tensors) {
        let shape = shape(network, tensor);
        let entries = network.tensor(tensor).to_vec().into_pyarray(py).reshape(shape.clone())?;
        let gradient = gradient.clone().into_pyarray(py).reshape(shape)?;
        for array in [entries.as_any(), gradient.as_any()] {
            array.call_method1("setflags", (false,))?;
        }
        parameters.set_item(tensor.word(), entries)?;
        gradients.set_item(tensor.word(), gradient)?;
    }
    let (step, loss) = (proposal.state.counters.step, proposal.gradient.loss);
    let answer = hook.bind(py).call1((step, proposal.rate, loss, parameters, gradients))?;
    if answer.is_none() {
        return Ok(true);
    }
    let Ok(replacements) = answer.cast::<PyDict>() else { return Ok(false) };
    for (name, array) in replacements {
        let name = name.extract::<String>()?;
        let place = network.trained().iter().position(|tensor| tensor.word() == name);
        let Some(place) = place else {
            let names: Vec<&str> = network.trained().iter().map(|tensor| tensor.word()).collect();
            let message = format!("the hook returned {name}: must be a trained tensor: {}", names.join(", "));
            return Err(PyValueError::new_err(message));
        };
        let expected = shape(network, network.trained()[place]);
        let tensor = floats(&name, &array)?;
        if tensor.shape != expected {
            let got = tensor.shape;
            return Err(PyValueError::new_err(format!(
                "the hook returned {name} of shape {got:?}: must be {expected:?}"
            )));
        }
        proposal.replaced[place] = Some(tensor.data.into_iter().map(T::from_f64).collect());
    }
    Ok(true)
}

impl Loss {
    fn of<T: Real + Element>(&self, py: Python<'_>, scored: &mut Scored<'_, T>) -> PyResult<()> {
        let columns = scored.logits.len() / scored.labels.len();
        let logits = matrix(py, scored.logits.to_vec(), columns)?;
        let labels = indices(py, scored.labels, None)?;
        let (loss, derivatives): (f64, Bound<'_, PyAny>) =
            self.0.bind(py).call1((logits, labels))?.extract()?;
        let derivatives = floats("dlogits", &derivatives)?;
        let expected = [scored.labels.len(), columns];
        if derivatives.shape != expected {
            let got = derivatives.shape;
            return Err(PyValueError::new_err(format!(
                "loss returned derivatives of shape {got:?}: must be {expected:?}, as the logits"
            )));
        }
        *scored.loss = loss;
        *scored.derivatives = derivatives.data.into_iter().map(T::from_f64).collect();
        Ok(())
    }
}
