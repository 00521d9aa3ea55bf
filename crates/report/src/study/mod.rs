//! The sections of a study's report: sentences, tables and figures, one file per part of the study.

mod anchors;
mod attention;
mod bound;
mod findings;
mod orthogonal;
mod phase;
mod scaling;
mod sizes;
mod store;
mod training;

use schemars::JsonSchema;
use serde::Serialize;
use superpose_figure::Figure;
use superpose_lab::interval::Interval;
use superpose_study::Results;

pub use store::stored_runs;

use crate::table::Table;

/// A figure with the name of its file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Picture {
    /// The file's name, without its ending.
    pub name: &'static str,
    /// What it shows.
    pub caption: String,
    /// The figure.
    #[serde(skip)]
    pub figure: Figure,
}

/// A part of the report.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// What was found, and whether it agrees with the theory.
    pub sentences: Vec<String>,
    /// Figures.
    pub pictures: Vec<Picture>,
    /// Tables.
    pub tables: Vec<Table>,
    /// The result in one sentence.
    pub headline: String,
}

/// The sections of a study, in order; a part that was not run has none.
pub fn sections(results: &Results) -> Vec<Section> {
    let Results { scaling, sizes, orthogonal, phase, bound, attention, training, anchors } = results;
    let sections = [
        scaling.as_ref().map(scaling::section),
        sizes.as_ref().map(sizes::section),
        orthogonal.as_ref().map(orthogonal::section),
        phase.as_ref().map(phase::section),
        bound.as_ref().map(bound::section),
        attention.as_ref().map(attention::section),
        training.as_ref().map(training::section),
        anchors.as_ref().map(anchors::section),
    ];
    sections.into_iter().flatten().collect()
}

/// A point of a figure with its interval.
fn spot(x: f64, y: &Interval) -> (f64, f64, f64, f64) {
    (x, y.mean, y.low, y.high)
}

/// Different sizes of some items, in ascending order.
fn distinct<X>(items: &[X], size: impl Fn(&X) -> usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = items.iter().map(size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
