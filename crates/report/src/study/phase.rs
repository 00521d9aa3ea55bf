//! Part 4: the phase diagram of the attention-MLP model.

use superpose_core::Settings;
use superpose_study::{LEVEL, MlpPhase};

use super::{Claim, Picture, Section};
use crate::records::{cause, diagram};
use crate::table::Table;

pub fn section(phase: &MlpPhase) -> Section {
    let MlpPhase { config, x, y, diagram: map, rms } = phase;
    let (measured, all) = (map.measured, map.cells.len());
    let headline = format!(
        "With an MLP the boundary of recall lies where the closed form predicts it: accuracies differ by {rms:.3} (root mean square) at {measured} measured places."
    );
    let Settings { activation, vocab, dim, length, trigger, .. } = config;
    let model = format!(
        "The model has an MLP with activation {activation}, V = {vocab}, d = {dim}, L = {length} and the trigger in the {trigger}; its width m and N vary. Of {all} cells {measured} were run, most of them near the boundary; the others are interpolated."
    );
    let share = |(dominant, share): &_| format!("{} in {:.0}%", cause(dominant), 100.0 * share);
    let causes = map.shares(LEVEL).iter().map(share).collect::<Vec<_>>().join(", ");
    let causes = format!("Below the boundary the closed form names what limits recall: {causes}.");
    let caption = "Accuracy over the number of parameters m d and N. First: measured (dots mark cells that were run), with the measured and the predicted boundary at one half. Second: what limits recall below the predicted boundary.".into();
    let figure = diagram("Attention-MLP: parameters against samples", x, y, "accuracy", LEVEL, map);
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
    let claim = Claim {
        claim: format!("Attention and MLP: accuracy at {measured} places"),
        measured: format!("rms difference {rms:.3}"),
        predicted: "0".into(),
        verdict: "no interval".into(),
        agreement: "none",
    };
    Section {
        title: "A phase diagram with an MLP",
        sentences: vec![model, causes],
        headline,
        claims: vec![claim],
        pictures: vec![Picture { name: "phase", caption, figure }],
        tables: vec![table],
        ..Section::default()
    }
}
