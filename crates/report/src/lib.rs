//! What a study found, for people: sections of sentences, tables and figures, a page that holds them all, and a few headlines.
//!
//! Nothing here runs a model or touches a file: [`sections`] reads the [`Results`] of a study, [`page`] writes HTML.

mod anchors;
mod attention;
mod bound;
mod html;
mod inspect;
mod orthogonal;
mod phase;
mod plan;
mod scaling;
mod sizes;
mod sweep;
mod table;
mod training;
mod trajectory;
mod words;

use superpose_figure::Figure;
use superpose_lab::study::Results;

pub use html::{Facts, page};
pub use inspect::holdings;
pub use phase::diagram;
pub use plan::trade_off;
pub use sweep::sweep;
pub use table::{Table, Value};
pub use trajectory::trajectory;

/// A figure with the name of its file.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The file's name, without its ending.
    pub name: &'static str,
    /// What is seen.
    pub caption: String,
    /// The figure.
    pub figure: Figure,
}

/// A part of the report.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// What is seen, and whether it agrees with the theory.
    pub sentences: Vec<String>,
    /// Figures.
    pub pictures: Vec<Picture>,
    /// Tables.
    pub tables: Vec<Table>,
    /// The one number to take away.
    pub headline: String,
}

/// The sections of a study, in order; parts that were not run have none.
pub fn sections(results: &Results) -> Vec<Section> {
    let Results { scaling, sizes, orthogonal, phase, bound, attention, training, anchors } = results;
    let mut sections = Vec::new();
    sections.extend(scaling.as_ref().map(scaling::section));
    sections.extend(sizes.as_ref().map(sizes::section));
    sections.extend(orthogonal.as_ref().map(orthogonal::section));
    sections.extend(phase.as_ref().map(phase::section));
    sections.extend(bound.as_ref().map(bound::section));
    sections.extend(attention.as_ref().map(attention::section));
    sections.extend(training.as_ref().map(training::section));
    sections.extend(anchors.as_ref().map(anchors::section));
    sections
}
