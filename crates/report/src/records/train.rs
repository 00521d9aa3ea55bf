//! A training run: the trained network beside the early phase, and the trajectory as text, figure and CSV.

use superpose_core::Measure;
use superpose_core::config::{Settings, Training};
use superpose_core::train::TrajectoryPoint;
use superpose_figure::{Axis, Chart, Figure};
use superpose_lab::csv;
use superpose_lab::train::{Function, TrainingRecord};

use super::{embeddings, measured, seeds, sizes, tested_on, trigger, unequal_lengths};
use crate::document::{Document, Grid, Left, Right};
use crate::numbers::{count, decimal, share};

/// About as many points of the trajectory are shown, the first and the last among them.
const POINTS: usize = 12;

/// Measurements of the trained network and of the early phase on the same samples, and the trajectory.
pub fn train(record: &TrainingRecord) -> Document {
    let config = &record.config;
    let training = config.training.clone().unwrap_or_default();
    let batch =
        training.batch.map_or("all samples at once".into(), |size| format!("batches of {}", count(size)));
    let Training { optimiser, rate, schedule, .. } = &training;
    let steps = count(training.steps);
    let functions: Vec<String> = record.functions.iter().map(|function| format!("a {function}")).collect();
    let functions = match functions.is_empty() {
        true => String::new(),
        false => format!(", with {} of the caller", functions.join(" and ")),
    };
    let mut page = Document::new(format!(
        "{steps} steps of {optimiser} at rate {rate} ({schedule}), {batch}{functions}"
    ));
    page.note(about(config, &training, record.rows_over_trigger.is_some()));
    page.gap();
    let mut table = Grid::new(&[Left, Right, Left, Right], &["", "trained", "", "three steps"]);
    for (measure, trained) in measured(config, &record.outcome.measures) {
        // A margin of the early phase is per unit of rate, and one step is the same for both.
        let early = match measure {
            Measure::Margin | Measure::OneStepAccuracy => String::new(),
            _ => share(record.early_phase.measures[measure].mean),
        };
        let digits = |x: f64| if measure.is_share() { share(x) } else { format!("{x:.4}") };
        let interval = format!("[{}, {}]", digits(trained.low), digits(trained.high));
        table.row([measure.label().into(), digits(trained.mean), interval, early]);
    }
    page.table(table);
    let over =
        if record.repeats > 1 { "repeats and test samples" } else { "test samples alone (one repeat)" };
    page.note(format!("Intervals: 95%, over {over}."));
    tested_on(record.test).into_iter().for_each(|test| page.note(test));
    unequal_lengths(record.rows_over_trigger).into_iter().for_each(|warning| page.note(warning));
    if training.heads > 1 {
        page.note("Lock rate and attention mass: of the head with the highest lock rate.");
    }
    if record.functions.contains(&Function::Hook) {
        page.note("The hook may have replaced steps of the optimiser.");
    }
    if !record.functions.is_empty() {
        page.note("The configuration alone does not make this run again: functions of the caller took part.");
    }
    if let Some(bits) = record.bits_per_parameter {
        let (parameters, [mean, low, high]) =
            (count(record.parameters), [bits.mean, bits.low, bits.high].map(decimal));
        page.line(format!(
            "Bits of labels stored per parameter: {mean} [{low}, {high}], of {parameters} parameters."
        ));
    }
    page.heading(if record.repeats > 1 { "Trajectory of the first repeat" } else { "Trajectory" });
    page.table(points_table(&record.trajectory));
    page.line(
        "Early cosine: of W z_eos with the direction that step 2 of the early phase finds. Trigger lead: the trigger's score over the spread of the tokens'.",
    );
    if record.stopped_early {
        let steps = count(record.steps_taken);
        let why = match (record.functions.contains(&Function::Hook), training.early_stopping.is_some()) {
            (true, false) => "the hook stopped it",
            (true, true) => "the hook stopped it, or the loss on test samples no longer fell",
            (false, _) => "the loss on test samples no longer fell",
        };
        page.line(format!("Stopped after {steps} steps: {why}."));
    }
    page
}

fn about(config: &Settings, training: &Training, given: bool) -> String {
    let trigger = trigger(config.trigger);
    let mut text =
        format!("{}, {}, trigger in {trigger}, {}", sizes(config), embeddings(config, given), seeds(config));
    if let Some(width) = config.width {
        text += &format!(", MLP of width m = {} ({})", count(width), config.activation);
    }
    if training.heads > 1 {
        text += &format!(", {} heads", training.heads);
    }
    for (on, what) in [
        (training.warm_start, ", from the early phase"),
        (training.factored, ", factored W"),
        (training.train_embeddings, ", trained embeddings"),
        (training.train_first_layer, ", trained first layer"),
    ] {
        if on {
            text += what;
        }
    }
    text
}

fn points_table(points: &[TrajectoryPoint]) -> Grid {
    let columns = ["step", "loss", "test loss", "accuracy", "lock rate", "early cosine", "trigger lead"];
    let mut table = Grid::new(&[Left, Right, Right, Right, Right, Right, Right], &columns);
    table.indent = 1;
    let every = points.len().div_ceil(POINTS).max(1);
    for (_, point) in points.iter().enumerate().filter(|(i, _)| i % every == 0 || i + 1 == points.len()) {
        let (accuracy, lock_rate) = (point.measures[Measure::Accuracy], point.measures[Measure::LockRate]);
        let numbers = [point.loss, point.test_loss, accuracy, lock_rate].map(|x| format!("{x:.4}"));
        let attention = [format!("{:.3}", point.early_cosine), format!("{:.2}", point.trigger_lead)];
        table.row([count(point.step)].into_iter().chain(numbers).chain(attention));
    }
    table
}

/// Recall, loss, direction and lead over the steps of a training run.
pub fn trajectory(record: &TrainingRecord) -> Figure {
    let config = &record.config;
    let training = config.training.clone().unwrap_or_default();
    let first = if record.repeats > 1 { ", first repeat" } else { "" };
    let title = format!("{} at rate {}: {}{first}", training.optimiser, training.rate, sizes(config));
    let note = "Early cosine: W z_eos with the direction that step 2 of the early phase finds. Trigger lead: the \
                trigger's score over the standard deviation of the tokens' scores.";
    let spots = |of: fn(&TrajectoryPoint) -> f64| -> Vec<(f64, f64)> {
        record.trajectory.iter().map(|point| (point.step as f64, of(point))).collect()
    };
    let chart = |title: &str, y: Axis| Chart::new(title, Axis::linear("step"), y);
    let recall = chart("Recall", Axis::linear("share").range(0.0, 1.0))
        .line("accuracy", spots(|p| p.measures[Measure::Accuracy]))
        .line("memory accuracy", spots(|p| p.measures[Measure::MemoryAccuracy]))
        .line("lock rate", spots(|p| p.measures[Measure::LockRate]))
        .horizontal(record.early_phase.measures[Measure::Accuracy].mean, "three steps");
    let loss = chart("Loss", Axis::linear("cross-entropy, nats"))
        .line("training", spots(|p| p.loss))
        .line("test", spots(|p| p.test_loss));
    let direction = chart("Direction of attention", Axis::linear("cosine"))
        .line("with step 2 of the early phase", spots(|p| p.early_cosine))
        .line("with the trigger", spots(|p| p.trigger_cosine));
    let lead = chart("Score of the trigger", Axis::linear("trigger lead"))
        .line("over the spread of the tokens", spots(|p| p.trigger_lead));
    Figure::new().title(title).note(note).columns(2).panel(recall).panel(loss).panel(direction).panel(lead)
}

/// The whole trajectory as CSV, with every digit.
pub fn train_csv(points: &[TrajectoryPoint]) -> String {
    let mut text = String::new();
    csv::line(&mut text, ["step"].into_iter().chain(TrajectoryPoint::names()));
    for point in points {
        // A measure that was added after the record was written is missing.
        let number = |x: f64| if x.is_nan() { String::new() } else { format!("{x:?}") };
        let numbers = point.numbers().into_iter().map(number);
        csv::line(&mut text, [point.step.to_string()].into_iter().chain(numbers));
    }
    text
}
