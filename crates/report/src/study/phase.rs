//! Part 4: the phase diagram of the attention-MLP model.

use superpose_core::Settings;
use superpose_study::{LEVEL, MlpPhase};

use super::{Claim, Picture, Section};
use crate::numbers::{count, sizes};
use crate::records::{cause, cell_count, diagram};
use crate::table::Table;

pub fn section(phase: &MlpPhase) -> Section {
    let MlpPhase { config, x, y, diagram: map, rms } = phase;
    let (measured, all) = (count(map.measured), cell_count(map.cells.len()));
    let errors = || {
        map.cells.iter().filter(|cell| cell.measured).filter_map(|cell| Some(cell.predicted? - cell.value))
    };
    let worst = errors().map(f64::abs).fold(0.0, f64::max);
    let mean = errors().sum::<f64>() / errors().count().max(1) as f64;
    let side = if mean < 0.0 { "low" } else { "high" };
    let headline = format!(
        "With an MLP the closed form predicts recall with a root mean square error of {rms:.3} at {measured} measured cells; the largest error is {worst:.2}."
    );
    let bias = format!("On average the prediction is {:.3} too {side}.", mean.abs());
    let Settings { activation, vocab, dim, length, trigger, .. } = config;
    let sizes = sizes([("V", *vocab), ("d", *dim), ("L", *length)]);
    let model = format!(
        "The model takes three steps and has an MLP with activation {activation}, {sizes} and the trigger added to the {trigger}; its width m and N vary. Of {all} {measured} were run, chosen where recall changes fastest; the others are interpolated."
    );
    let share = |(dominant, share): &_| format!("{} in {:.0}%", cause(dominant), 100.0 * share);
    let causes = map.shares(LEVEL).iter().map(share).collect::<Vec<_>>().join(", ");
    let causes = format!("Below the boundary the closed form names what limits recall: {causes}.");
    let caption = "Recall over the number of parameters m d of the MLP and N. First: measured (dots mark cells that were run), with the measured and the predicted boundary at one half. Second: what limits recall below the predicted boundary.".into();
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
        claim: format!("Attention and MLP: recall at {measured} cells"),
        measured: format!("rms error {rms:.3}, largest {worst:.2}"),
        predicted: "0".into(),
        verdict: "not tested".into(),
        agreement: "none",
    };
    Section {
        title: "A phase diagram with an MLP",
        sentences: vec![model, bias, causes],
        headline,
        claims: vec![claim],
        pictures: vec![Picture { name: "phase", caption, figure }],
        tables: vec![table],
        ..Section::default()
    }
}
