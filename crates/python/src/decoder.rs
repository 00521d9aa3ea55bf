//! A caller's decoder of the first gradient, in `superpose bound`.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use superpose_core::backend::Cancelled;
use superpose_lab::decoders::FirstStep;

use crate::arrays::whole;
use crate::work::Watch;

/// The decoder, and the first exception that it raises.
pub struct Decoder {
    /// Returns the labels.
    pub function: Py<PyAny>,
    /// Receives the progress.
    pub listener: Option<Py<PyAny>>,
    /// The exception that ended the search.
    pub error: Mutex<Option<PyErr>>,
}

impl Decoder {
    /// The labels that the decoder reads; cancelled if it raises an exception.
    pub fn labels(&self, step: &FirstStep<'_>, watch: &Watch) -> Result<Vec<u32>, Cancelled> {
        let labels = Python::attach(|py| {
            self.tell(py, watch)?;
            self.call(py, step)
        });
        labels.map_err(|error| self.fail(error, watch))
    }

    /// Reports the progress and checks for Ctrl-C between calls of the decoder.
    pub fn poll(&self, watch: &Watch) {
        if let Err(error) = Python::attach(|py| self.tell(py, watch)) {
            self.fail(error, watch);
        }
    }

    fn tell(&self, py: Python<'_>, watch: &Watch) -> PyResult<()> {
        py.check_signals()?;
        self.listener.as_ref().map_or(Ok(()), |listener| watch.tell(py, listener))
    }

    /// Ends the search with an exception.
    fn fail(&self, error: PyErr, watch: &Watch) -> Cancelled {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        watch.stop().store(true, Ordering::Relaxed);
        Cancelled
    }

    fn call(&self, py: Python<'_>, step: &FirstStep<'_>) -> PyResult<Vec<u32>> {
        let array = |data: &[f64], shape: &[usize]| -> PyResult<Py<PyAny>> {
            let array = data.to_vec().into_pyarray(py).reshape(shape.to_vec())?;
            array.call_method1("setflags", (false,))?;
            Ok(array.into_any().unbind())
        };
        let (config, embeddings) = (step.config, step.embeddings);
        let rows = |data: &[f64]| array(data, &[data.len() / config.dim, config.dim]);
        let samples = step.samples.map_or(f64::INFINITY, |samples| samples as f64);
        let m = array(step.m, &[config.dim, config.inputs()])?;
        let (z_in, z_out) = (rows(&embeddings.z_in)?, rows(&embeddings.z_out)?);
        let z_trig = array(&embeddings.z_trig, &[config.dim])?;
        let w_in = embeddings.w_in.as_deref().map(rows).transpose()?;
        let answer = self.function.bind(py).call1((m, samples, z_in, z_out, z_trig, w_in))?;
        let labels = whole("labels of the decoder", &answer)?;
        if labels.shape != [config.vocab] {
            let (got, vocab) = (labels.shape, config.vocab);
            let message = format!(
                "the decoder returned an array of shape {got:?}: must be labels [{vocab}] or scores [{vocab}, {vocab}]"
            );
            return Err(PyValueError::new_err(message));
        }
        if let Some(label) = labels.data.iter().find(|&&label| label as usize >= config.vocab) {
            let vocab = config.vocab;
            return Err(PyValueError::new_err(format!(
                "the decoder returned label {label}: must be below {vocab}"
            )));
        }
        Ok(labels.data)
    }
}
