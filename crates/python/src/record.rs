//! What a call found: the record that the command line prints, as JSON and as text.

use pyo3::prelude::*;
use serde::Serialize;

use crate::work::Failure;

/// A record with its two faces. Neither is made before someone looks.
#[pyclass(frozen, module = "superpose._engine")]
pub struct Record(Box<dyn Faces>);

trait Faces: Send + Sync {
    fn json(&self) -> serde_json::Result<String>;
    fn text(&self) -> String;
}

struct Shown<R> {
    record: R,
    json: fn(&R) -> serde_json::Result<String>,
    text: fn(&R) -> String,
}

impl<R: Send + Sync> Faces for Shown<R> {
    fn json(&self) -> serde_json::Result<String> {
        (self.json)(&self.record)
    }

    fn text(&self) -> String {
        (self.text)(&self.record)
    }
}

impl Record {
    /// A record and how it is printed.
    pub fn new<R: Serialize + Send + Sync + 'static>(record: R, text: fn(&R) -> String) -> Record {
        Record::of(record, |record| serde_json::to_string(record), text)
    }

    /// Something that is written in another form.
    pub fn of<R: Send + Sync + 'static>(
        record: R,
        json: fn(&R) -> serde_json::Result<String>,
        text: fn(&R) -> String,
    ) -> Record {
        Record(Box::new(Shown { record, json, text }))
    }
}

#[pymethods]
impl Record {
    /// One JSON object, that of `--json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.json()).map_err(|error| Failure::from(error).into())
    }

    /// The text that the command line prints.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.text())
    }
}
