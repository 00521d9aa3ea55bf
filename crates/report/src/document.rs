//! The document model: what is said about a record, as a list of blocks, before it becomes terminal text or HTML.

use superpose_figure::Figure;
use superpose_lab::interval::Interval;

pub(crate) use Align::{Left, Right};

/// What is said about one record.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The blocks, in order.
    pub blocks: Vec<Block>,
}

/// One block of a document.
#[derive(Clone, Debug)]
pub enum Block {
    /// A title; on a terminal an empty line separates it from the blocks before it.
    Heading(String),
    /// A sentence, or several.
    Line(String),
    /// A remark about the block before it, indented on a terminal.
    Note(String),
    /// A table.
    Table(Grid),
    /// Rows of a name, a value and a remark, and the widths of names and values on a terminal. A remark without a value takes
    /// the place of the value.
    Fields([usize; 2], Vec<[String; 3]>),
    /// Names with their sizes, and intervals where there are any, drawn as bars relative to the first one.
    Bars(Vec<(String, f64, Option<Interval>)>),
    /// A figure for HTML, and the same in characters for the terminal.
    Figure(Box<Figure>, String),
    /// An empty line on a terminal.
    Gap,
}

/// The side to which the text of a column is aligned: words to the left, numbers to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Align {
    Left,
    Right,
}

/// A table of strings.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Spaces before each line on a terminal.
    pub indent: usize,
    /// Alignment of each column.
    pub columns: Vec<Align>,
    /// Names of the columns; empty where they have none.
    pub header: Vec<String>,
    /// Rows; cells missing at the end of a row are empty.
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty table with these alignments and column names.
    pub fn new(columns: &[Align], header: &[&str]) -> Grid {
        let header = header.iter().map(ToString::to_string).collect();
        Grid { indent: 3, columns: columns.to_vec(), header, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<X: Into<String>>(&mut self, cells: impl IntoIterator<Item = X>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl From<Document> for String {
    fn from(document: Document) -> String {
        document.text()
    }
}

impl Document {
    /// A document that begins with a heading.
    pub(crate) fn new(heading: impl Into<String>) -> Document {
        Document { blocks: vec![Block::Heading(heading.into())] }
    }

    pub(crate) fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    pub(crate) fn line(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Line(text.into()));
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note(text.into()));
    }

    pub(crate) fn table(&mut self, grid: Grid) {
        self.blocks.push(Block::Table(grid));
    }

    pub(crate) fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    /// Adds a line after an empty one.
    pub(crate) fn paragraph(&mut self, text: impl Into<String>) {
        self.gap();
        self.line(text);
    }
}
