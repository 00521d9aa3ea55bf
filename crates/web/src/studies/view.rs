//! What the API shows of a study, a store, a folder or an embedding file.

use schemars::JsonSchema;
use serde::Serialize;
use superpose_lab::interval::Interval;
use superpose_report::{Section, Table, Value};

/// Rows of a table that are sent; the file to download has all of them.
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
    pub summary: StudySummary,
    /// Names and values of the manifest.
    pub facts: Vec<(String, String)>,
    pub sections: Vec<SectionView>,
}

/// A section of a report.
#[derive(Serialize, JsonSchema)]
pub struct SectionView {
    title: &'static str,
    headline: String,
    sentences: Vec<String>,
    pictures: Vec<PictureView>,
    tables: Vec<TableView>,
}

#[derive(Serialize, JsonSchema)]
struct PictureView {
    name: &'static str,
    caption: String,
}

#[derive(Serialize, JsonSchema)]
struct TableView {
    name: &'static str,
    caption: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<ValueView>>,
    /// Rows of the whole table.
    total: usize,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ValueView {
    Absent(()),
    Text(String),
    Count(usize),
    Number(f64),
    Interval(Interval),
}

impl From<&Section> for SectionView {
    fn from(section: &Section) -> SectionView {
        let pictures = section.pictures.iter();
        SectionView {
            title: section.title,
            headline: section.headline.clone(),
            sentences: section.sentences.clone(),
            pictures: pictures.map(|p| PictureView { name: p.name, caption: p.caption.clone() }).collect(),
            tables: section.tables.iter().map(TableView::from).collect(),
        }
    }
}

impl From<&Table> for TableView {
    fn from(table: &Table) -> TableView {
        let value = |value: &Value| match value {
            Value::Text(text) => ValueView::Text(text.clone()),
            Value::Count(count) => ValueView::Count(*count),
            Value::Number(number) => ValueView::Number(*number),
            Value::Interval(interval) => ValueView::Interval(*interval),
            Value::Absent => ValueView::Absent(()),
        };
        TableView {
            name: table.name,
            caption: table.caption.clone(),
            columns: table.columns.clone(),
            rows: table.rows.iter().take(MAX_ROWS).map(|row| row.iter().map(value).collect()).collect(),
            total: table.rows.len(),
        }
    }
}
