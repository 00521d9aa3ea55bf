//! The sections of a study's report: sentences, tables and figures, one file per part of the study.

mod anchors;
mod attention;
mod bound;
mod findings;
mod optimiser;
mod orthogonal;
mod phase;
mod questions;
mod scaling;
mod sizes;
mod store;
mod training;

use schemars::JsonSchema;
use serde::Serialize;
use superpose_figure::Figure;
use superpose_lab::interval::Interval;
use superpose_study::{Part, Results, Verdict};

pub(crate) use findings::counted;
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

/// A comparison of a measured value with its prediction, or with a reference value.
///
/// In all texts of a section, `^{...}` is raised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Claim {
    /// What is compared.
    pub claim: String,
    /// The measured value.
    pub measured: String,
    /// The predicted or the reference value.
    pub predicted: String,
    /// How they compare, in words.
    pub verdict: String,
    /// The same as one word: agrees, close (within 15%), differs, or none.
    pub agreement: &'static str,
}

impl Claim {
    /// A claim with the verdict on it; several verdicts are counted, and the worst decides.
    fn new(
        claim: impl Into<String>,
        measured: impl Into<String>,
        predicted: impl Into<String>,
        verdicts: &[Verdict],
    ) -> Claim {
        let counts = findings::count(verdicts);
        let agreement = match counts {
            [0, 0, 0] => "none",
            [_, 0, 0] => "agrees",
            [_, _, 0] => "close",
            _ => "differs",
        };
        let verdict = match verdicts {
            [] => "no prediction".to_owned(),
            [one] => one.word().to_owned(),
            _ => counted(counts),
        };
        Claim {
            claim: claim.into(),
            measured: measured.into(),
            predicted: predicted.into(),
            verdict,
            agreement,
        }
    }
}

/// A part of the report.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Section {
    /// The word of the part of the study.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The result in one sentence.
    pub headline: String,
    /// What else was found.
    pub sentences: Vec<String>,
    /// Figures.
    pub pictures: Vec<Picture>,
    /// Tables.
    pub tables: Vec<Table>,
    /// What was compared.
    pub claims: Vec<Claim>,
}

/// The sections of a study, in order; a part that was not run has none.
pub fn sections(results: &Results) -> Vec<Section> {
    let Results {
        scaling,
        sizes,
        orthogonal,
        phase,
        bound,
        attention,
        training,
        anchors,
        optimiser,
        questions,
    } = results;
    let sections = [
        scaling.as_ref().map(scaling::section),
        sizes.as_ref().map(sizes::section),
        orthogonal.as_ref().map(orthogonal::section),
        phase.as_ref().map(phase::section),
        bound.as_ref().map(bound::section),
        attention.as_ref().map(attention::section),
        training.as_ref().map(training::section),
        anchors.as_ref().map(anchors::section),
        optimiser.as_ref().map(optimiser::section),
        questions.as_ref().map(questions::section),
    ];
    let named = |(part, section): (&Part, Option<Section>)| Some(Section { id: part.word(), ..section? });
    Part::ALL.iter().zip(sections).filter_map(named).collect()
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
