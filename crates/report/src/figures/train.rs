//! The trajectory of a training run: recall, loss, and the direction and lead of the attention.

use superpose_core::Measure;
use superpose_core::train::TrajectoryPoint;
use superpose_figure::{Axis, Chart, Figure};
use superpose_lab::train::TrainingRecord;

use crate::numbers::count;

/// Recall, loss, direction and lead over the steps of a training run.
pub fn trajectory(record: &TrainingRecord) -> Figure {
    let config = &record.config;
    let training = config.training.clone().unwrap_or_default();
    let title = format!(
        "{} at rate {}: V = {}, d = {}, L = {}, N = {}",
        training.optimiser,
        training.rate,
        count(config.vocab),
        count(config.dim),
        count(config.length),
        count(config.samples),
    );
    let note = "Early cosine: W z_eos with the direction that step 2 of the early phase finds. Trigger lead: the \
                trigger's score over the standard deviation of the tokens' scores.";
    let spots = |of: fn(&TrajectoryPoint) -> f64| -> Vec<(f64, f64)> {
        record.trajectory.iter().map(|point| (point.step as f64, of(point))).collect()
    };
    let axis = || Axis::linear("step");
    let recall = Chart::new("Recall", axis(), Axis::linear("share").range(0.0, 1.0))
        .line("accuracy", spots(|p| p.measures[Measure::Accuracy]))
        .line("memory accuracy", spots(|p| p.measures[Measure::MemoryAccuracy]))
        .line("lock rate", spots(|p| p.measures[Measure::LockRate]))
        .horizontal(record.early_phase.measures[Measure::Accuracy].mean, "three steps");
    let loss = Chart::new("Loss", axis(), Axis::linear("cross-entropy, nats"))
        .line("training", spots(|p| p.loss))
        .line("test", spots(|p| p.test_loss));
    let direction = Chart::new("Direction of attention", axis(), Axis::linear("cosine"))
        .line("with step 2 of the early phase", spots(|p| p.early_cosine))
        .line("with the trigger", spots(|p| p.trigger_cosine));
    let lead = Chart::new("Score of the trigger", axis(), Axis::linear("trigger lead"))
        .line("over the spread of the tokens", spots(|p| p.trigger_lead));
    Figure::new().title(title).note(note).columns(2).panel(recall).panel(loss).panel(direction).panel(lead)
}
