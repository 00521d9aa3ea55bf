//! Associative memories alone: `superpose memory`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_associative::MemorySettings;
use superpose_core::config::Group;
use superpose_lab::associative::{CapacityOptions, CapacitySearch, check_room, run};
use superpose_lab::memory::available;

use crate::given;
use crate::record::Record;
use crate::run::threads;
use crate::work::{Failure, work};

/// `superpose memory`: what memories recall or, with `find`, how many facts they hold.
#[pyfunction]
pub fn memory(
    py: Python<'_>,
    keys: &Bound<'_, PyDict>,
    search: &Bound<'_, PyDict>,
    threads: Option<&Bound<'_, PyAny>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Record> {
    let given = given::settings(Some(keys), MemorySettings::settings())?;
    let settings = MemorySettings::read(&given).map_err(Failure::from)?;
    let threads = self::threads(threads)?;
    let search = given::settings(Some(search), CapacityOptions::settings())?;
    let Some(options) = CapacityOptions::given(&search, &given).map_err(Failure::from)? else {
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
    let search = CapacitySearch::new(&settings, &options).map_err(Failure::from)?;
    let record = work(py, f64::INFINITY, listener, move |watch| {
        check_room(search.largest(), threads, available())?;
        Ok(search.record(&watch.patient_backend(threads)?, watch.stop(), &mut |runs, facts| {
            watch.say(format!("{runs} memories made, now with {facts} facts"));
        })?)
    })?;
    Ok(Record::new(record, superpose_report::capacity))
}
