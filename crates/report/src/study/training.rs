//! Part 7: longer training against three steps.

use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::interval::Interval;
use superpose_study::{CAPACITY_LEVEL, Training, TrainingPoint};

use super::{Claim, Picture, Section, distinct, findings, spot};
use crate::numbers::{count, significant, sizes};
use crate::table::Table;

pub fn section(training: &Training) -> Section {
    let [vocab, steps] = [training.vocab, training.steps].map(count);
    let max_samples = training.points.iter().map(|p| p.samples).max().unwrap_or(0);
    let at = |of: fn(&TrainingPoint) -> Interval| {
        let points = || training.points.iter().filter(|p| p.samples == max_samples);
        let reached = points().filter(|p| of(p).mean >= 0.5).map(|p| p.dim).min();
        let short = reached.and_then(|dim| points().map(|p| p.dim).filter(|&other| other < dim).max());
        match (short, reached) {
            (Some(short), Some(dim)) => format!("between d = {short} and {dim}"),
            (None, Some(dim)) => format!("at or below d = {dim}"),
            _ => "at no d that was tried".into(),
        }
    };
    let (trained, three) = (at(|p| p.trained), at(|p| p.three_steps));
    let better = training.points.iter().filter(|p| p.trained.low > p.three_steps.high).count();
    let worse = training.points.iter().filter(|p| p.trained.high < p.three_steps.low).count();
    let hebbian = training.hebbian_dim.map_or("no dimension".into(), |dim| format!("d = {dim}"));
    let (seeds, all, optimal) = (training.seeds, training.points.len(), significant(training.optimal_dim));
    let sentences = vec![
        format!(
            "The task has {}. Training means {steps} steps of AdamW on both matrices from zero; it is compared with the three steps on the same samples, {seeds} seeds each. Of {all} points training is better by more than the intervals at {better} and worse at {worse}.",
            task(training)
        ),
        format!(
            "With unlimited data and the attention on the marked token, the memory of the three steps (Hebbian) holds {CAPACITY_LEVEL} of the facts from {hebbian} on, by the closed form; a formula for large d says that the best possible matrix holds all of them from d = sqrt(2 V log V) = {optimal} on (arXiv 2605.10795). At small d a trained matrix holds more than this formula says, as the section on memories without attention measures."
        ),
    ];
    let headline = format!(
        "Longer training needs a smaller dimension: with N = {}, recall of the {vocab} facts passes one half {trained} after {steps} steps of AdamW, and {three} after three steps.",
        count(max_samples)
    );
    let claim = Claim {
        claim: format!("Training is at least as good as three steps, {all} points"),
        measured: format!("better at {better}, worse at {worse}"),
        predicted: "worse at none".into(),
        verdict: if worse == 0 { "agrees".into() } else { findings::counted([all - worse, 0, worse]) },
        agreement: if worse == 0 { "agrees" } else { "differs" },
    };
    Section {
        title: "Longer training",
        headline,
        sentences,
        pictures: vec![picture(training)],
        tables: vec![table(training)],
        claims: vec![claim],
        ..Section::default()
    }
}

fn task(training: &Training) -> String {
    sizes([("V", training.vocab), ("L", training.length)])
}

fn picture(training: &Training) -> Picture {
    let mut chart =
        Chart::new("", Axis::log("dimension d"), Axis::linear("recall").range(0.0, 1.0)).ordered();
    for (color, samples) in distinct(&training.points, |p| p.samples).into_iter().enumerate() {
        let points = || training.points.iter().filter(|p| p.samples == samples);
        let name = format!("N = {}", count(samples));
        let line = |name: &str, of: fn(&TrainingPoint) -> Interval| {
            Series::line(name, points().map(move |p| (p.dim as f64, of(p).mean))).color(color)
        };
        let trained = points().map(|p| spot(p.dim as f64, &p.trained));
        chart = chart
            .with(Series::points(&name, trained).color(color))
            .with(line(&name, |p| p.trained))
            .with(line(&format!("{name}, three steps"), |p| p.three_steps).dashed());
    }
    chart = chart.vertical(training.optimal_dim, "best matrix, large d");
    if let Some(dim) = training.hebbian_dim {
        chart = chart.vertical(dim as f64, "Hebbian rule");
    }
    let title = format!("Accuracy at the end of training and after three steps, {}", task(training));
    let note = "Solid: trained, with 95% intervals. Dashed: three steps on the same samples. Upright lines: capacity of the Hebbian rule and, for large d, of the best matrix.";
    let figure = Figure::new().title(title).note(note).frames(560.0, 320.0).panel(chart);
    let caption = format!(
        "Recall at the end of training (solid) and after three steps (dashed) against the dimension, for several numbers of samples; upright lines: the dimensions from which the Hebbian rule holds {CAPACITY_LEVEL} of the facts and, by a formula for large d, the best matrix holds all."
    );
    Picture { name: "training", caption, figure }
}

fn table(training: &Training) -> Table {
    let (steps, task) = (count(training.steps), task(training));
    let caption = format!("Accuracy after {steps} steps of training and after three, {task}.");
    Table::new(
        "training",
        caption,
        &training.points,
        &[
            ("d", |p| p.dim.into()),
            ("N", |p| p.samples.into()),
            ("trained", |p| p.trained.into()),
            ("three steps", |p| p.three_steps.into()),
        ],
    )
}
