//! The end of a sweep.

use std::collections::BTreeMap;
use std::path::Path;

use superpose_lab::cell::{CellError, Outcome};

use crate::document::Document;
use crate::numbers::{count, duration};

/// Reasons for failed cells that are listed.
const MAX_REASONS: usize = 5;

/// How many of the cells are done, and why some failed. `store` is the file with the results, if there is one.
pub fn sweep(
    store: Option<&Path>,
    cells: usize,
    outcomes: &[Result<Outcome, CellError>],
    seconds: f64,
) -> Document {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        *reasons.entry(error.to_string()).or_default() += 1;
    }
    let failed: usize = reasons.values().sum();
    let store = store.map_or(String::new(), |store| format!(" in {}", store.display()));
    let (all, done) = (cell_count(cells), count(cells.saturating_sub(failed)));
    let (failed, time) = (count(failed), duration(seconds));
    let mut page = Document::default();
    page.line(format!("{all}{store}: {done} done, {failed} failed. Took {time}."));
    for (reason, times) in reasons.iter().take(MAX_REASONS) {
        page.note(format!("failed, {times} times: {reason}"));
    }
    page
}

/// A number of cells with its noun: `1 cell`, `1,200 cells`.
pub fn cell_count(cells: usize) -> String {
    if cells == 1 { "1 cell".into() } else { format!("{} cells", count(cells)) }
}
