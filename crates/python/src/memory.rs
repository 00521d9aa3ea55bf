//! Associative memories alone: `superpose memory`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_core::associative::MemorySettings;
use superpose_lab::associative::{CapacitySearch, DEFAULT_HALF_WIDTH, DEFAULT_MAX_RUNS, check_room, run};
use superpose_lab::memory::available;

use crate::given::{Value, choice, count, number, put, size};
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
    let given = |name: &str| keys.get_item(name).is_ok_and(|value| value.is_some_and(|x| !x.is_none()));
    let threads = self::threads(threads)?;
    let settings = settings(keys)?;
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
        return Ok(Record::new(record, superpose_text::memory));
    };
    put("find", find, |value| match value {
        Value::Word(word) if word == "facts" => Ok(()),
        _ => Err("must be facts".into()),
    })?;
    refuse("facts", given("facts"), "is given with find: the search decides how many")?;
    refuse("repeats", given("repeats"), "is given with find: the search decides how many")?;
    let most = max_runs.map_or(Ok(DEFAULT_MAX_RUNS), |most| size("max_runs", most))?;
    let half_width =
        half_width.map_or(Ok(DEFAULT_HALF_WIDTH), |half_width| number("half_width", half_width))?;
    let search = CapacitySearch::new(&settings, half_width, most).map_err(Failure::from)?;
    let record = work(py, f64::INFINITY, listener, move |watch| {
        check_room(search.largest(), threads, available())?;
        Ok(search.record(&watch.patient_backend(threads)?, watch.stop(), &mut |runs, facts| {
            watch.say(format!("{runs} memories made, now with {facts} facts"));
        })?)
    })?;
    Ok(Record::new(record, superpose_text::capacity))
}

fn refuse(name: &str, given: bool, why: &str) -> Result<(), Failure> {
    if given { Err(Failure(format!("{name} {why}"))) } else { Ok(()) }
}

/// Settings by their names; what is none keeps its default.
fn settings(keys: &Bound<'_, PyDict>) -> PyResult<MemorySettings> {
    let mut settings = MemorySettings::default();
    for (name, value) in keys {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        let (name, value) = (name.as_str(), &value);
        match name {
            "facts" => settings.facts = size(name, value)?,
            "dim" => settings.dim = size(name, value)?,
            "rule" => settings.rule = choice(name, value)?,
            "width" => settings.width = Some(size(name, value)?),
            "embedding" => settings.embedding = choice(name, value)?,
            "labels" => settings.labels = choice(name, value)?,
            "zipf" => settings.zipf = Some(number(name, value)?),
            "optimiser" => settings.optimiser = choice(name, value)?,
            "rate" => settings.rate = Some(number(name, value)?),
            "steps" => settings.steps = Some(size(name, value)?),
            "batch" => settings.batch = Some(size(name, value)?),
            "accuracy" => settings.accuracy = number(name, value)?,
            "repeats" => settings.repeats = size(name, value)?,
            "seed" => settings.seed = count(name, value)?,
            _ => return Err(Failure(format!("unknown key {name}")).into()),
        }
    }
    Ok(settings)
}
