//! Sweeps: many cells, a row each.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use superpose_core::Config;
use superpose_figure::Figure;
use superpose_lab::cell::{CellError, Entry, Event, Outcome};
use superpose_lab::store::{COLUMNS, values};
use superpose_lab::sweep::{Sweep, SweepError};
use superpose_report::{Document, Finding};

use crate::arrays;
use crate::experiments::runner;
use crate::given::{file, flag};
use crate::record::Record;
use crate::run::{device, threads};
use crate::work::{Failure, work};

/// What a sweep found.
#[derive(serde::Serialize)]
struct SweepRecord {
    /// A row per cell, in the order of the description.
    cells: Vec<Row>,
    /// Cells with an outcome.
    done: usize,
    /// Cells that failed.
    failed: usize,
    /// Cells that could not run for lack of memory or because of the device.
    not_run: usize,
    /// Where they are kept.
    store: Option<PathBuf>,
    /// Time it took.
    seconds: f64,
    /// The version that ran.
    version: &'static str,
    #[serde(skip)]
    document: Document,
    #[serde(skip)]
    figure: Option<Figure>,
}

/// A cell with the columns of the store, without the configuration that the others hold.
struct Row {
    entry: Entry,
    /// Whether the entry has an error that is not kept in the store, because the cell may run elsewhere.
    not_run: bool,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (column, value) in COLUMNS.iter().zip(values(&self.entry)) {
            match (&*column.name, value.as_str()) {
                ("config", _) => {}
                ("status", _) if self.not_run => map.serialize_entry("status", "not run")?,
                ("noise", Some(text)) => {
                    map.serialize_entry("noise", &serde_json::from_str::<Value>(text).ok())?;
                }
                (name, _) => map.serialize_entry(name, &value)?,
            }
        }
        map.end()
    }
}

/// `superpose sweep`, of a description in TOML. With `lines` an error names the line of the text.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn sweep(
    py: Python<'_>,
    text: &str,
    lines: bool,
    tensors: &Bound<'_, PyDict>,
    store: Option<PathBuf>,
    retry_failed: &Bound<'_, PyAny>,
    threads: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Record> {
    file("store", store.as_deref())?;
    let retry_failed = flag("retry_failed", retry_failed)?;
    let (threads, device) = (self::threads(threads)?, self::device(device)?);
    let refused = |error| if lines { Failure::from(error) } else { without_line(error) };
    let mut sweep = Sweep::read(text).map_err(refused)?;
    sweep.open(arrays::import(tensors)?).map_err(Failure::from)?;
    let cells = sweep.cells().map_err(refused)?;
    let record = work(py, f64::INFINITY, listener, move |watch| {
        let started = Instant::now();
        let runner = runner(threads, device, store.as_deref(), watch)?;
        let runner = runner.with_inputs(Arc::clone(&sweep.inputs));
        let mut runner = runner.with_noise(sweep.noise).with_retry_failed(retry_failed);
        let mut finished = 0;
        watch.say("cells".into());
        let outcomes = runner.run(&cells, &mut |event| match event {
            Event::Planned { cells, done, failed, .. } => watch.begin((cells - done - failed) as u64),
            Event::Finished { .. } => {
                finished += 1;
                watch.count(finished);
            }
            Event::Waiting => {}
        })?;
        let seconds = started.elapsed().as_secs_f64();
        let document = superpose_report::sweep(store.as_deref(), cells.len(), &outcomes, seconds);
        let figure = superpose_report::sweep_figure(&cells, &outcomes);
        let errors = || outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        let failed = errors().filter(|error| error.is_final()).count();
        let not_run = errors().count() - failed;
        let entry = |(cell, outcome): (&Config, Result<Outcome, CellError>)| {
            let not_run = outcome.as_ref().is_err_and(|error| !error.is_final());
            let result = outcome.map_err(|error| error.to_string());
            Row { entry: Entry::new(cell, runner.numerics(), result), not_run }
        };
        let done = cells.len() - failed - not_run;
        let cells = cells.iter().zip(outcomes).map(entry).collect();
        Ok(SweepRecord {
            cells,
            done,
            failed,
            not_run,
            store,
            seconds,
            version: env!("CARGO_PKG_VERSION"),
            document,
            figure,
        })
    })?;
    let (figure, finding) = (record.figure.clone(), Finding::new(record, |record| record.document.clone()));
    Ok(Record(match figure {
        Some(figure) => finding.with_figure(move || figure.clone()),
        None => finding,
    }))
}

/// The message without a line number, for sweeps that are not from a file.
fn without_line(error: SweepError) -> Failure {
    Failure::new(match error {
        SweepError::Line { problem, .. } => problem,
        SweepError::Twice { name, .. } => {
            format!("{name} is given twice: as a key, in axes, in points or in rays, once each")
        }
        other => other.to_string(),
    })
}
