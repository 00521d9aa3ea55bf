//! What a call found: the record that the command line prints, as JSON, as text and as HTML.

use pyo3::prelude::*;
use serde::Serialize;
use superpose_report::{Document, Finding};

use crate::work::Failure;

/// A record with its forms, each of which is made when it is asked for.
#[pyclass(frozen, module = "superpose._engine")]
pub struct Record(pub Finding);

impl Record {
    /// A record and the function that describes it.
    pub fn new<R: Serialize + Send + Sync + 'static>(record: R, document: fn(&R) -> Document) -> Record {
        Record(Finding::new(record, document))
    }
}

#[pymethods]
impl Record {
    /// One JSON object, that of `--json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.json(false)).map_err(|error| Failure::from(error).into())
    }

    /// The text that the command line prints.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.document().text())
    }

    /// The same as a piece of HTML, for notebooks.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.document().html())
    }
}
