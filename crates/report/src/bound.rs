//! Part 5: decoders over the lower bound.

use superpose_figure::{Axis, Bar, Bars, Figure};
use superpose_lab::decoders::{BoundRecord, Critical, DECODERS};
use superpose_lab::interval::Interval;
use superpose_lab::study::Bounds;

use crate::table::{Table, Value};
use crate::words::number;
use crate::{Picture, Section};

pub fn section(bounds: &Bounds) -> Section {
    let smallest = bounds.smallest_ratio();
    let headline = match smallest {
        Some(ratio) => format!(
            "No decoder of the first gradient does with fewer than {} times the samples of the surrogate lower bound.",
            number(ratio)
        ),
        None => "No decoder reached the accuracy.".into(),
    };
    let below: usize = bounds
        .records
        .iter()
        .flat_map(|record| record.decoders.values())
        .filter(|critical| {
            critical
                .high
                .zip(critical.ratio)
                .zip(critical.estimate)
                .is_some_and(|((high, ratio), at)| high / at * ratio < 1.0)
        })
        .count();
    let past: Vec<String> = bounds.records.iter().filter_map(past).collect();
    let verdict = match below {
        0 => "Agrees with the bound: no decoder's interval lies below it.".to_string(),
        count => format!("{count} decoders lie below the bound with their whole interval."),
    };
    Section {
        title: "Lower bound for anything that sees only the first gradient",
        sentences: vec![
            "The bound is a surrogate: it takes the gradient's noise as Gaussian of the same energy.".into(),
            verdict,
            headline.clone(),
            format!("The three-step algorithm sees more than the first gradient. It {}.", past.join("; ")),
        ],
        pictures: vec![picture(bounds)],
        tables: vec![table(bounds)],
        headline,
    }
}

/// Where the three-step algorithm lies beside the bound and the best decoder.
fn past(record: &BoundRecord) -> Option<String> {
    let best = record.decoders.values().filter_map(|critical| critical.estimate).min_by(f64::total_cmp)?;
    let (three, ratio) = (record.three_step.estimate?, record.three_step.ratio?);
    let (low, high) = (record.three_step.low? / three * ratio, record.three_step.high? / three * ratio);
    let place = if high < 1.0 {
        "gets past the bound"
    } else if low > 1.0 {
        "does not get past the bound"
    } else {
        "may or may not get past the bound"
    };
    let gain = number(best / three);
    Some(format!("{place} at {} (the best decoder needs {gain} times its samples)", model(record)))
}

fn model(record: &BoundRecord) -> String {
    format!("V = {}, d = {}, L = {}", record.config.vocab, record.config.dim, record.config.length)
}

fn samples(critical: &Critical) -> Value {
    match (critical.estimate, critical.low, critical.high) {
        (Some(mean), Some(low), Some(high)) => Interval { mean, low, high }.into(),
        (Some(mean), ..) => mean.into(),
        _ => Value::Absent,
    }
}

fn table(bounds: &Bounds) -> Table {
    let mut rows = Vec::new();
    for record in &bounds.records {
        let mut add = |name: &str, critical: &Critical| {
            rows.push(vec![
                model(record).as_str().into(),
                name.replace('_', " ").as_str().into(),
                record.bound.into(),
                samples(critical),
                critical.ratio.into(),
            ]);
        };
        for name in DECODERS {
            if let Some(critical) = record.decoders.get(name) {
                add(name, critical);
            }
        }
        add("three steps", &record.three_step);
    }
    Table {
        name: "bound",
        caption: "Critical N at accuracy 0.5 of each decoder of the first gradient, and of the three-step algorithm, over the surrogate lower bound.".into(),
        columns: vec!["model", "decoder", "surrogate bound", "critical N", "over bound"],
        rows,
    }
}

fn picture(bounds: &Bounds) -> Picture {
    let names: Vec<String> =
        DECODERS.iter().map(|name| name.replace('_', " ")).chain(["three steps".to_string()]).collect();
    let mut bars =
        Bars::new("critical N over the surrogate bound", Axis::linear("ratio to the bound"), names);
    for record in &bounds.records {
        let bar = |critical: Option<&Critical>| {
            let scaled =
                |x: Option<f64>, critical: &Critical| Some(x? / critical.estimate? * critical.ratio?);
            let ends = critical.and_then(|c| Some((c.ratio?, scaled(c.low, c)?, scaled(c.high, c)?)));
            ends.map_or(Bar::from(f64::NAN), Bar::from)
        };
        let values: Vec<Bar> = DECODERS
            .iter()
            .map(|name| bar(record.decoders.get(*name)))
            .chain([bar(Some(&record.three_step))])
            .collect();
        bars = bars.series(model(record), values);
    }
    Picture {
        name: "bound",
        caption: "Critical N of each decoder over the surrogate lower bound, with 95% intervals; below 1 would beat the bound, which only the three-step algorithm may.".into(),
        figure: Figure::new().panel(bars),
    }
}
