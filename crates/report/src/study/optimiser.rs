//! Part 9: rules of the memory steps on tokens with Zipf frequencies.

use superpose_core::config::{EarlyRule, Trigger};
use superpose_figure::{Axis, Chart, Figure};
use superpose_lab::interval::Interval;
use superpose_study::{MAX_THRESHOLD_SAMPLES, Optimiser, RulePoint, TEXT_EXPONENT};

use super::{Claim, Picture, Section, spot};
use crate::numbers::{self, grouped, interval, significant};
use crate::table::Table;

pub fn section(study: &Optimiser) -> Section {
    let seeds = study.seeds;
    let text = |rule, of: fn(&RulePoint) -> Interval| {
        study.point(rule, Trigger::Keys, TEXT_EXPONENT).map_or("-".into(), |p| significant(of(p).mean))
    };
    let [plain, muon] = [EarlyRule::Gradient, EarlyRule::Muon];
    let headline = format!(
        "On text-like frequencies (Zipf exponent 1) gradient steps find the trigger in {} of sequences and recall {}; Muon's steps find it in {} and recall {}.",
        text(plain, |p| p.lock),
        text(plain, |p| p.recall),
        text(muon, |p| p.lock),
        text(muon, |p| p.recall)
    );
    let others = format!(
        "The sign recalls {}, Newton's step {}. All at {}, trigger in keys, {seeds} seeds; only steps 1 and 3 follow the rule, and their norm is that of the gradient.",
        text(EarlyRule::Sign, |p| p.recall),
        text(EarlyRule::Newton, |p| p.recall),
        sizes(study)
    );
    let critical = study.thresholds.iter().map(|t| {
        let value = t.finding.observed().map_or("not reached".into(), |n| interval(&n));
        format!("{} at exponent {}: {value}", t.rule, t.exponent)
    });
    let critical =
        format!("Critical N for a recall of one half: {}.", critical.collect::<Vec<_>>().join("; "));
    Section {
        title: "Rules of the memory steps on Zipf frequencies",
        headline,
        sentences: vec![others, critical],
        pictures: vec![by_rank(study), by_exponent(study)],
        tables: vec![points_table(study), thresholds_table(study)],
        claims: vec![
            claim(study, "One step: Muon above the gradient under a power law (arXiv 2603.26554)", |p| {
                p.one_step
            }),
            locks(study),
            claim(study, "Three steps: Muon's recall above the gradient's under a power law", |p| p.recall),
        ],
        ..Section::default()
    }
}

fn sizes(study: &Optimiser) -> String {
    let &Optimiser { vocab, dim, length, samples, .. } = study;
    numbers::sizes([("V", vocab), ("d", dim), ("L", length), ("N", samples)])
}

/// Counts where Muon is above the gradient by more than the intervals, over the exponents above 0 and both triggers.
fn claim(study: &Optimiser, name: &str, of: fn(&RulePoint) -> Interval) -> Claim {
    let plain = study.points.iter().filter(|p| p.rule == EarlyRule::Gradient && p.exponent > 0.0);
    let pairs: Vec<(Interval, Interval)> = plain
        .filter_map(|p| Some((of(p), of(study.point(EarlyRule::Muon, p.trigger, p.exponent)?))))
        .collect();
    let above = pairs.iter().filter(|(plain, muon)| muon.low > plain.high).count();
    let below = pairs.iter().filter(|(plain, muon)| muon.high < plain.low).count();
    let (agreement, verdict) = match (below, pairs.len() - above) {
        (0, 0) => ("agrees", "agrees".into()),
        (0, open) => ("none", format!("intervals overlap at {open}")),
        _ => ("differs", "differs".into()),
    };
    Claim {
        claim: name.into(),
        measured: format!("above at {above} of {} points, below at {below}", pairs.len()),
        predicted: "above at all".into(),
        verdict,
        agreement,
    }
}

/// Whether attention finds the trigger in most sequences exactly where its leading-order score is the largest.
fn locks(study: &Optimiser) -> Claim {
    let sides: Vec<(bool, bool)> =
        study.points.iter().filter_map(|p| Some((p.lock.mean > 0.75, p.frequent? < 1.0))).collect();
    let right = sides.iter().filter(|(measured, predicted)| measured == predicted).count();
    let agreement = if right == sides.len() { "agrees" } else { "differs" };
    Claim {
        claim: "Lock rate above 0.75 where the trigger's leading-order score is the largest".into(),
        measured: format!("{right} of {} points", sides.len()),
        predicted: "all".into(),
        verdict: agreement.into(),
        agreement,
    }
}

fn by_rank(study: &Optimiser) -> Picture {
    let recall = Axis::linear("recall of the fact").range(0.0, 1.0);
    let mut chart = Chart::new("", Axis::log("rank of the fact by frequency"), recall);
    for curve in &study.curves {
        let name = curve.rule.word();
        let seen = curve.points.iter().map(|p| spot(p.rank, &p.recall));
        let line = curve.points.iter().map(|p| (p.rank, p.recall.mean));
        chart = chart.points(name, seen).line(name, line);
    }
    let title = format!("Recall of facts ordered by frequency, {}", sizes(study));
    let note =
        "Zipf exponent 1, trigger in keys. Facts of similar rank together, with 95% intervals over seeds.";
    let figure = Figure::new().title(title).note(note).frames(560.0, 320.0).panel(chart);
    let caption = "Recall of a fact against its rank by frequency, one curve per rule of the memory steps, at Zipf exponent 1.".into();
    Picture { name: "optimiser_rank", caption, figure }
}

fn by_exponent(study: &Optimiser) -> Picture {
    let mut figure = Figure::new()
        .title("Recall and lock rate against the exponent of Zipf's law")
        .note("Recall is by frequency of use. Points: measured with 95% intervals over seeds. Exponent 0: uniform tokens.")
        .columns(2);
    type Value = fn(&RulePoint) -> Interval;
    for (label, of) in [("recall", (|p| p.recall) as Value), ("lock rate", |p| p.lock)] {
        for trigger in [Trigger::Keys, Trigger::Values] {
            let axis = Axis::linear(label).range(0.0, 1.0);
            let title = format!("trigger in {trigger}");
            let mut chart = Chart::new(title, Axis::linear("Zipf exponent"), axis);
            for &rule in EarlyRule::ALL {
                let points = || study.points.iter().filter(|p| p.rule == rule && p.trigger == trigger);
                let seen = points().map(|p| spot(p.exponent, &of(p)));
                chart = chart
                    .points(rule.word(), seen)
                    .line(rule.word(), points().map(|p| (p.exponent, of(p).mean)));
            }
            figure = figure.panel(chart);
        }
    }
    let caption = "Recall and lock rate against the exponent of Zipf's law, by rule of the memory steps and place of the trigger.".into();
    Picture { name: "optimiser_exponent", caption, figure }
}

fn points_table(study: &Optimiser) -> Table {
    let caption = format!("Measures by rule of the memory steps, by frequency of use, {}.", sizes(study));
    Table::new(
        "optimiser",
        caption,
        &study.points,
        &[
            ("trigger", |p| p.trigger.word().into()),
            ("exponent", |p| p.exponent.into()),
            ("rule", |p| p.rule.word().into()),
            ("recall", |p| p.recall.into()),
            ("memory", |p| p.memory.into()),
            ("one step", |p| p.one_step.into()),
            ("lock rate", |p| p.lock.into()),
            ("top token over trigger", |p| p.frequent.into()),
        ],
    )
}

fn thresholds_table(study: &Optimiser) -> Table {
    let max = grouped(MAX_THRESHOLD_SAMPLES as f64);
    Table::new(
        "optimiser_thresholds",
        format!(
            "Critical N for a recall of one half by frequency of use, trigger in keys, at most {max} samples."
        ),
        &study.thresholds,
        &[
            ("exponent", |t| t.exponent.into()),
            ("rule", |t| t.rule.word().into()),
            ("critical N", |t| t.finding.observed().into()),
            ("runs", |t| t.finding.runs.into()),
        ],
    )
}
