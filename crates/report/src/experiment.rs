//! Experiments that take settings and return a record.
//!
//! Each is one [`Experiment`] beside the document about its record. The command `superpose NAME`, its flags and help, the
//! completions, the page of results and the engine's call in Python follow from it.

use std::error::Error;
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use superpose_core::backend::Backend;
use superpose_core::config::{Setting, Values};
use superpose_figure::Figure;
use superpose_lab::decoders::Decoder;
use superpose_lab::run::Import;

use crate::Document;

/// An experiment.
pub struct Experiment {
    /// The name of the command.
    pub name: &'static str,
    /// What it does, in one sentence without a full stop.
    pub about: &'static str,
    /// The definitions of its settings.
    pub settings: fn() -> Vec<Setting>,
    /// Whether it can run on a device.
    pub device: bool,
    /// What it computes on the CPU with these values although it runs on a device, in one sentence.
    pub cpu_part: fn(&Values) -> Option<&'static str>,
    /// Validates the values given, runs, and returns the record.
    pub run: fn(&Values, Context<'_>) -> Result<Finding, ExperimentError>,
    /// The JSON schemas of its records, each with the flags that select it.
    pub records: &'static [(&'static str, SchemaOf)],
}

/// Why an experiment failed.
pub type ExperimentError = Box<dyn Error + Send + Sync>;

/// A function that returns the schema of a record.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What an experiment runs with.
pub struct Context<'a> {
    /// Threads, with the token that cancels the work.
    pub backend: &'a Backend,
    /// Bytes of memory that the work may use.
    pub memory: f64,
    /// Receives what is done, the total (0 if unknown) and a few words.
    pub observe: &'a (dyn Fn(usize, usize, String) + Sync),
    /// Tensors of the caller that are in no file.
    pub arrays: Option<Import>,
    /// A decoder of the caller, for `bound`.
    pub decoder: Option<&'a Decoder<'a>>,
}

impl<'a> Context<'a> {
    /// Nothing but settings decides the result.
    pub fn new(
        backend: &'a Backend,
        memory: f64,
        observe: &'a (dyn Fn(usize, usize, String) + Sync),
    ) -> Context<'a> {
        Context { backend, memory, observe, arrays: None, decoder: None }
    }
}

/// A record as JSON and as a document. Both are made on request.
pub struct Finding {
    json: Box<dyn Fn(bool) -> serde_json::Result<String> + Send + Sync>,
    document: Box<dyn Fn() -> Document + Send + Sync>,
    figure: Option<Box<dyn Fn() -> Figure + Send + Sync>>,
}

impl Finding {
    /// A record and the function that describes it.
    pub fn new<R: Serialize + Send + Sync + 'static>(record: R, document: fn(&R) -> Document) -> Finding {
        let record = Arc::new(record);
        Finding::of(Arc::clone(&record), move || document(&record))
    }

    /// A record and the document about it.
    pub fn of<R, D>(record: Arc<R>, document: D) -> Finding
    where
        R: Serialize + Send + Sync + 'static,
        D: Fn() -> Document + Send + Sync + 'static,
    {
        let json = move |pretty| match pretty {
            true => serde_json::to_string_pretty(&*record),
            false => serde_json::to_string(&*record),
        };
        Finding { json: Box::new(json), document: Box::new(document), figure: None }
    }

    /// The same with a figure.
    pub fn with_figure(self, figure: impl Fn() -> Figure + Send + Sync + 'static) -> Finding {
        Finding { figure: Some(Box::new(figure)), ..self }
    }

    /// The figure of the record, if it has one.
    pub fn figure(&self) -> Option<Figure> {
        self.figure.as_ref().map(|figure| figure())
    }

    /// One JSON object, indented if it is for people.
    ///
    /// # Errors
    /// Fails if the record cannot be serialised.
    pub fn json(&self, pretty: bool) -> serde_json::Result<String> {
        (self.json)(pretty)
    }

    /// The record in sentences and tables.
    pub fn document(&self) -> Document {
        (self.document)()
    }
}
