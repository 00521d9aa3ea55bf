//! What the API shows of a study, a store, a folder or an embedding file.

use schemars::JsonSchema;
use serde::Serialize;
use superpose_report::Section;

/// Rows of a table that are sent at most.
const MAX_ROWS: usize = 500;

/// What was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The folder of a study.
    Study,
    /// A store.
    Store,
    /// A folder with embedding files, or an empty one.
    Folder,
    /// An embedding file.
    Embedding,
}

/// Numbers of cells in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CellCounts {
    pub done: usize,
    pub failed: usize,
}

/// A file to download.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Download {
    pub name: String,
    /// Its size; null for a file that is made while it is sent.
    pub bytes: Option<u64>,
}

/// An embedding file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EmbeddingFile {
    pub file: String,
    pub bytes: u64,
    pub tensors: Vec<Matrix>,
    pub error: Option<String>,
}

/// A matrix of an embedding file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Matrix {
    pub name: String,
    #[schemars(range(min = 1))]
    pub rows: usize,
    #[schemars(range(min = 1))]
    pub columns: usize,
    /// Estimated seconds of its inspection on one thread.
    #[schemars(range(min = 0.0))]
    pub seconds: f64,
}

/// An entry of the list of studies.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StudySummary {
    pub id: usize,
    pub name: String,
    pub kind: Kind,
    pub cells: Option<CellCounts>,
    /// Grows whenever the sections change.
    pub revision: u64,
    pub files: Vec<Download>,
    pub embeddings: Vec<EmbeddingFile>,
    /// Why it cannot be read.
    pub error: Option<String>,
}

/// The list of studies.
#[derive(Serialize, JsonSchema)]
pub struct StudyList {
    pub studies: Vec<StudySummary>,
}

/// A study with its tables and figures.
#[derive(Serialize, JsonSchema)]
pub struct StudyDetail {
    #[serde(flatten)]
    summary: StudySummary,
    /// Names and values of the manifest.
    facts: Vec<(String, String)>,
    sections: Vec<Section>,
}

impl StudyDetail {
    /// The sections with the first rows of their tables; the files to download have all of them.
    pub fn new(summary: StudySummary, facts: Vec<(String, String)>, sections: &[Section]) -> StudyDetail {
        let mut sections = sections.to_vec();
        for table in sections.iter_mut().flat_map(|section| &mut section.tables) {
            table.rows.truncate(MAX_ROWS);
        }
        StudyDetail { summary, facts, sections }
    }
}
