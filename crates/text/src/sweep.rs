//! The end of a sweep.

use std::collections::BTreeMap;
use std::path::Path;

use superpose_lab::cell::{CellError, Outcome};
use superpose_lab::words::grouped;

use crate::numbers::duration;

/// How many of the cells are done, and why some are not. `place` is where they are kept, if anywhere.
pub fn sweep(
    place: Option<&Path>,
    cells: usize,
    outcomes: &[Result<Outcome, CellError>],
    seconds: f64,
) -> String {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        *reasons.entry(error.to_string()).or_default() += 1;
    }
    let failed: usize = reasons.values().sum();
    let done = grouped((cells - failed.min(cells)) as f64);
    let place = place.map_or(String::new(), |place| format!(" in {}", place.display()));
    let mut text = format!("{}{place}: {done} done, {} failed. ", count(cells), grouped(failed as f64));
    text += &format!("Took {}.\n", duration(seconds));
    for (reason, count) in reasons.iter().take(5) {
        text += &format!("  failed, {count} times: {reason}\n");
    }
    text
}

/// So many cells, in words.
pub fn count(cells: usize) -> String {
    if cells == 1 { "1 cell".into() } else { format!("{} cells", grouped(cells as f64)) }
}
