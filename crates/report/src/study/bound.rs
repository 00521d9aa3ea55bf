//! Part 5: decoders of the first gradient beside the lower bound.

use superpose_figure::{Axis, Bar, Bars, Figure};
use superpose_lab::decoders::{BoundRecord, Critical, DECODERS};
use superpose_lab::interval::Interval;
use superpose_study::Bounds;

use super::{Picture, Section};
use crate::numbers::significant;
use crate::table::{Table, Value};

pub fn section(bounds: &Bounds) -> Section {
    let headline = match bounds.smallest_ratio().map(significant) {
        Some(ratio) => format!(
            "Every decoder of the first gradient needs at least {ratio} times the samples of the surrogate lower bound."
        ),
        None => "No decoder reached the accuracy.".into(),
    };
    let decoders = bounds.records.iter().flat_map(|record| record.decoders.values());
    let below = decoders.filter_map(ratio).filter(|ratio| ratio.high < 1.0).count();
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
    let (three, ratio) = (record.three_step.estimate?, ratio(&record.three_step)?);
    let place = match ratio {
        Interval { high, .. } if high < 1.0 => "gets",
        Interval { low, .. } if low > 1.0 => "does not get",
        _ => "may or may not get",
    };
    let (model, gain) = (model(record), significant(best / three));
    Some(format!("{place} past the bound at {model} (the best decoder needs {gain} times its samples)"))
}

/// Critical N over the bound, with its interval.
fn ratio(critical: &Critical) -> Option<Interval> {
    let scaled = |x: Option<f64>| Some(x? / critical.estimate? * critical.ratio?);
    Some(Interval { mean: critical.ratio?, low: scaled(critical.low)?, high: scaled(critical.high)? })
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

/// The decoders of a record and the three-step algorithm, by name.
fn named(record: &BoundRecord) -> impl Iterator<Item = (String, Option<&Critical>)> {
    let decoders = DECODERS.iter().map(|name| (name.replace('_', " "), record.decoders.get(*name)));
    decoders.chain([("three steps".into(), Some(&record.three_step))])
}

fn table(bounds: &Bounds) -> Table {
    let found = bounds
        .records
        .iter()
        .flat_map(|record| named(record).filter_map(move |(name, critical)| Some((record, name, critical?))));
    Table::new(
        "bound",
        "Critical N at accuracy 0.5 of each decoder of the first gradient, and of the three-step algorithm, over the surrogate lower bound.",
        found,
        &[
            ("model", |(record, ..)| model(record).into()),
            ("decoder", |(_, name, _)| name.as_str().into()),
            ("surrogate bound", |(record, ..)| record.bound.into()),
            ("critical N", |(.., critical)| samples(critical)),
            ("over bound", |(.., critical)| critical.ratio.into()),
        ],
    )
}

fn picture(bounds: &Bounds) -> Picture {
    let names: Vec<String> =
        DECODERS.iter().map(|name| name.replace('_', " ")).chain(["three steps".to_string()]).collect();
    let mut bars =
        Bars::new("critical N over the surrogate bound", Axis::linear("ratio to the bound"), names);
    for record in &bounds.records {
        let bar = |(_, critical): (String, Option<&Critical>)| {
            let ratio = critical.and_then(ratio);
            ratio.map_or(Bar::from(f64::NAN), |ratio| Bar::from((ratio.mean, ratio.low, ratio.high)))
        };
        bars = bars.series(model(record), named(record).map(bar));
    }
    let caption = "Critical N of each decoder over the surrogate lower bound, with 95% intervals; below 1 would beat the bound, which only the three-step algorithm may.".into();
    Picture { name: "bound", caption, figure: Figure::new().panel(bars) }
}
