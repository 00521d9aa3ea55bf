//! A training run.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use superpose_core::config::Settings;
use superpose_core::train::TrajectoryPoint;
use superpose_lab::train::TrainingRecord;
use superpose_lab::words::grouped;

/// What was learned, beside the early phase, and the way there.
pub fn train(record: &TrainingRecord) -> String {
    let config = &record.config;
    let mut text = headline(config);
    let _ = write!(text, "\n\n");
    let mut rows = Table::new();
    rows.load_style(presets::NOTHING);
    rows.set_header(["", "trained", "three steps"]);
    for ((name, trained), (_, early)) in record.outcome.named().into_iter().zip(record.early_phase.named()) {
        // A margin of the early phase is per unit of rate, and one step is the same for both.
        let early = match name {
            "margin" | "one_step_accuracy" => String::new(),
            _ => format!("{:.4}", early.mean),
        };
        rows.add_row([format!("  {}", name.replace('_', " ")), format!("{:.4}", trained.mean), early]);
    }
    push(&mut text, rows);
    let _ = writeln!(text, "\nThe way there");
    let mut rows = Table::new();
    rows.load_style(presets::NOTHING);
    rows.set_header(["step", "loss", "test loss", "accuracy", "lock rate", "early cosine", "trigger lead"]);
    for point in few(&record.trajectory) {
        rows.add_row([
            grouped(point.step as f64),
            format!("{:.4}", point.loss),
            format!("{:.4}", point.test_loss),
            format!("{:.4}", point.accuracy),
            format!("{:.4}", point.lock_rate),
            format!("{:.3}", point.early_cosine),
            format!("{:.2}", point.trigger_lead),
        ]);
    }
    push(&mut text, rows);
    let _ = writeln!(
        text,
        "Early cosine: of W z_eos with the direction that step 2 of the early phase finds. Trigger lead: the trigger's score over the spread of the tokens'."
    );
    if record.stopped_early {
        let _ = writeln!(
            text,
            "Stopped after {} steps: the loss on test samples no longer fell.",
            grouped(record.steps_taken as f64)
        );
    }
    text
}

fn headline(config: &Settings) -> String {
    let batch = match config.batch {
        Some(batch) => format!("batches of {}", grouped(batch as f64)),
        None => "all samples at once".into(),
    };
    let mut text = format!(
        "{} steps of {} at rate {} ({}), {batch}\n  V = {}, d = {}, L = {}, N = {}, {} embeddings, seed {}",
        grouped(config.steps as f64),
        config.optimiser,
        config.rate,
        config.schedule,
        grouped(config.vocab as f64),
        grouped(config.dim as f64),
        grouped(config.length as f64),
        grouped(config.samples as f64),
        config.embedding,
        config.seed,
    );
    if let Some(width) = config.width {
        let _ = write!(text, ", MLP of width m = {} ({})", grouped(width as f64), config.activation);
    }
    if config.heads > 1 {
        let _ = write!(text, ", {} heads", config.heads);
    }
    for (on, what) in [
        (config.warm_start, "from the early phase"),
        (config.factored, "factored W"),
        (config.train_embeddings, "trained embeddings"),
        (config.train_first_layer, "trained first layer"),
    ] {
        if on {
            let _ = write!(text, ", {what}");
        }
    }
    text
}

/// About a dozen points, the first and the last among them.
fn few(points: &[TrajectoryPoint]) -> Vec<&TrajectoryPoint> {
    let every = points.len().div_ceil(12).max(1);
    points
        .iter()
        .enumerate()
        .filter(|(i, _)| i % every == 0 || i + 1 == points.len())
        .map(|(_, p)| p)
        .collect()
}

fn push(text: &mut String, mut table: Table) {
    for i in 0.. {
        let Some(column) = table.column_mut(i) else { break };
        column.set_cell_alignment(CellAlignment::Right);
    }
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table.lines().for_each(|line| {
        let _ = writeln!(text, "{}", line.trim_end());
    });
}
