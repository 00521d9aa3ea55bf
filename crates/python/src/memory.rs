//! Associative memories alone: `superpose memory`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_associative::MemorySettings;
use superpose_core::config::Group;
use superpose_lab::associative::{CapacitySearch, DEFAULT_HALF_WIDTH, DEFAULT_MAX_RUNS, check_room, run};
use superpose_lab::memory::available;

use crate::given::{self, Value, number, put, size};
use crate::record::Record;
use crate::run::threads;
use crate::work::{Failure, work};

/// `superpose memory`: what memories recall or, with `find`, how many facts they hold.
#[pyfunction]
pub fn memory(
    py: Python<'_>,
    keys: &Bound<'_, PyDict>,
    find: Option<&Bound<'_, PyAny>>,
    half_width: Option<&Bound<'_, PyAny>>,
    max_runs: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Record> {
    let given = given::settings(Some(keys), MemorySettings::settings())?;
    let settings = MemorySettings::read(&given).map_err(Failure::from)?;
    let threads = self::threads(threads)?;
    let Some(find) = find else {
        for (name, given) in [("half_width", half_width.is_some()), ("max_runs", max_runs.is_some())] {
            refuse(name, given, "is given without find: it is about a search")?;
        }
        let config = settings.check().map_err(Failure::from)?;
        let record = work(py, f64::INFINITY, listener, move |watch| {
            check_room(&config, threads, available())?;
            watch.begin(config.repeats as u64);
            Ok(run(&config, &watch.patient_backend(threads)?, watch.stop(), &mut |done| {
                watch.reach(done as u64);
                watch.say(format!("{done} of {} memories made", config.repeats));
            })?)
        })?;
        return Ok(Record::new(record, superpose_report::memory));
    };
    put("find", find, |value| match value {
        Value::Text(word) if word == "facts" => Ok(()),
        _ => Err("must be facts".into()),
    })?;
    refuse("facts", given.gives("facts"), "is given with find: the search decides how many")?;
    refuse("repeats", given.gives("repeats"), "is given with find: the search decides how many")?;
    let max = max_runs.map_or(Ok(DEFAULT_MAX_RUNS), |max| size("max_runs", max))?;
    let half_width =
        half_width.map_or(Ok(DEFAULT_HALF_WIDTH), |half_width| number("half_width", half_width))?;
    let search = CapacitySearch::new(&settings, half_width, max).map_err(Failure::from)?;
    let record = work(py, f64::INFINITY, listener, move |watch| {
        check_room(search.largest(), threads, available())?;
        Ok(search.record(&watch.patient_backend(threads)?, watch.stop(), &mut |runs, facts| {
            watch.say(format!("{runs} memories made, now with {facts} facts"));
        })?)
    })?;
    Ok(Record::new(record, superpose_report::capacity))
}

fn refuse(name: &str, given: bool, why: &str) -> Result<(), Failure> {
    if given { Err(Failure(format!("{name} {why}"))) } else { Ok(()) }
}
