//! What a call found: the record that the command line prints, as JSON, as text and as HTML.

use pyo3::prelude::*;
use serde::Serialize;
use superpose_report::Document;

use crate::work::Failure;

/// A record with its forms, each of which is made when it is asked for.
#[pyclass(frozen, module = "superpose._engine")]
pub struct Record(Box<dyn Forms>);

trait Forms: Send + Sync {
    fn json(&self) -> serde_json::Result<String>;
    fn document(&self) -> Document;
}

struct Shown<R> {
    record: R,
    json: fn(&R) -> serde_json::Result<String>,
    document: fn(&R) -> Document,
}

impl<R: Send + Sync> Forms for Shown<R> {
    fn json(&self) -> serde_json::Result<String> {
        (self.json)(&self.record)
    }

    fn document(&self) -> Document {
        (self.document)(&self.record)
    }
}

impl Record {
    /// A record and the document about it.
    pub fn new<R: Serialize + Send + Sync + 'static>(record: R, document: fn(&R) -> Document) -> Record {
        Record::of(record, |record| serde_json::to_string(record), document)
    }

    /// A value whose JSON is not its own.
    pub fn of<R: Send + Sync + 'static>(
        record: R,
        json: fn(&R) -> serde_json::Result<String>,
        document: fn(&R) -> Document,
    ) -> Record {
        Record(Box::new(Shown { record, json, document }))
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
        py.detach(|| self.0.document().text())
    }

    /// The same as a piece of HTML, for notebooks.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.document().html())
    }
}
