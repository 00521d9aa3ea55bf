//! Everything that people read about results: sentences, tables, number formats, figures and the report of a study.
//!
//! Each kind of record has one function that returns a [`Document`], for example [`run()`]. A document renders as terminal text
//! ([`Document::text`]) and as HTML ([`Document::html`]). [`Report`] writes the [`Section`]s of a study as a paper. The crate
//! also defines the [`EXPERIMENTS`] that commands and Python run; mathematics is in lab and theory.

mod document;
mod experiment;
mod html;
mod markup;
mod numbers;
mod paper;
mod records;
mod study;
mod table;
mod text;

pub use document::{Align, Block, Document, Grid};
pub use experiment::{Context, Experiment, ExperimentError, Finding, SchemaOf};
pub use markup::plain;
pub use numbers::{duration, share};
pub use paper::{Facts, Report};
pub use records::{
    EXPERIMENTS, cell_count, diagram, holdings, inspect, phase, phase_csv, phase_figure, plan, predict, run,
    run_figure, sweep, sweep_figure, threshold, threshold_figure, trade_off, train, train_csv, trajectory,
};
pub use study::{Claim, Picture, Section, sections, stored_runs};
pub use table::{Table, Value};
