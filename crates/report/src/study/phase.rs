//! Part 4: the phase diagram of the attention-MLP model.

use superpose_core::Settings;
use superpose_study::{LEVEL, MlpPhase};

use super::{Picture, Section};
use crate::records::{cause, diagram};
use crate::table::Table;

pub fn section(phase: &MlpPhase) -> Section {
    let MlpPhase { config, x, y, diagram: map, rms } = phase;
    let (measured, all) = (map.measured, map.cells.len());
    let headline = format!(
        "Phase diagram of the attention-MLP model: {measured} of {all} cells run; measured and predicted accuracy differ by {rms:.3} rms there."
    );
    let Settings { activation, vocab, dim, length, trigger, .. } = config;
    let model = format!(
        "Model: {activation}, V = {vocab}, d = {dim}, L = {length}, trigger in the {trigger}; the width m varies."
    );
    let share = |(dominant, share): &_| format!("{} in {:.0}%", cause(dominant), 100.0 * share);
    let causes = map.shares(LEVEL).iter().map(share).collect::<Vec<_>>().join(", ");
    let causes = format!("Predicted limiting noise terms below the boundary: {causes}.");
    let caption = "Left: accuracy (dots mark cells that were run, the rest is filled in) with the measured and the predicted boundary at 0.5. Right: what limits recall.".into();
    let figure = diagram("Attention-MLP: parameters against samples", x, y, "accuracy", map);
    let table = Table::new(
        "phase",
        "Every cell of the diagram.",
        &map.cells,
        &[
            ("parameters", |cell| (cell.x as usize).into()),
            ("samples", |cell| (cell.y as usize).into()),
            ("accuracy", |cell| cell.value.into()),
            ("source", |cell| if cell.measured { "measured" } else { "filled in" }.into()),
            ("predicted", |cell| cell.predicted.into()),
            ("limited by", |cell| cell.dominant.as_ref().map(cause).into()),
        ],
    );
    Section {
        title: "Phase diagram of the attention-MLP model",
        sentences: vec![model, headline.clone(), causes],
        headline,
        pictures: vec![Picture { name: "phase", caption, figure }],
        tables: vec![table],
    }
}
