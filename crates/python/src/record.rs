//! What a call found: the record that the command line prints, as JSON, as text and as HTML.

use std::sync::Arc;

use pyo3::prelude::*;
use serde::Serialize;
use superpose_figure::{Figure, Theme};
use superpose_report::{Document, Finding};

use crate::work::Failure;

/// A share as text and reports show it.
#[pyfunction]
pub fn share(x: f64) -> String {
    superpose_report::share(x)
}

/// A record with its forms, each of which is made when it is asked for.
#[pyclass(frozen, module = "superpose._engine")]
pub struct Record(pub Finding);

impl Record {
    /// A record and the function that describes it.
    pub fn new<R: Serialize + Send + Sync + 'static>(record: R, document: fn(&R) -> Document) -> Record {
        Record(Finding::new(record, document))
    }

    /// The same with the function that draws it.
    pub fn with_figure<R: Serialize + Send + Sync + 'static>(
        record: R,
        document: fn(&R) -> Document,
        figure: fn(&R) -> Figure,
    ) -> Record {
        let record = Arc::new(record);
        let (described, drawn) = (Arc::clone(&record), Arc::clone(&record));
        Record(Finding::of(record, move || document(&described)).with_figure(move || figure(&drawn)))
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

    /// The figure's data as JSON and its SVG, if there is one.
    fn figure(&self, py: Python<'_>) -> PyResult<Option<(String, String)>> {
        let Some(figure) = py.detach(|| self.0.figure()) else { return Ok(None) };
        let data = serde_json::to_string(&figure).map_err(Failure::from)?;
        Ok(Some((data, figure.svg(Theme::Light))))
    }

    /// The same as a piece of HTML, for notebooks.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.document().html())
    }
}
