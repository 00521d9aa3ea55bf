//! Everything that people read about results: sentences, tables, number formats, figures and the report of a study.
//!
//! Each kind of record has one function that returns a [`Document`], for example [`run()`]; a document renders as terminal
//! text ([`Document::text`]) and as HTML ([`Document::html`]), so that the command line and a notebook say the same. A study
//! becomes a list of [`Section`]s, and [`page`] writes them as one HTML file. Nothing here runs a model or touches a file.

mod document;
mod experiment;
mod html;
mod numbers;
mod records;
mod study;
mod table;
mod text;

pub use document::{Align, Block, Document, Grid};
pub use experiment::{Context, Experiment, ExperimentError, Finding, SchemaOf};
pub use html::{Facts, page};
pub use numbers::duration;
pub use records::{
    EXPERIMENTS, cell_count, diagram, holdings, inspect, phase, phase_csv, plan, predict, run, sweep,
    threshold, trade_off, train, train_csv, trajectory,
};
pub use study::{Picture, Section, sections, stored_runs};
pub use table::{Table, Value};
