//! Part 5: decoders of the first gradient beside the lower bounds.

use superpose_figure::{Axis, Bar, Bars, Figure};
use superpose_lab::decoders::{BoundRecord, Critical, DECODERS};
use superpose_lab::interval::Interval;
use superpose_study::Bounds;

use super::{Claim, Picture, Section, findings};
use crate::numbers::{significant, sizes};
use crate::table::{Table, Value};

pub fn section(bounds: &Bounds) -> Section {
    let smallest = bounds.smallest_ratio().map(significant);
    let count = DECODERS.len();
    let headline = match &smallest {
        Some(ratio) => format!(
            "None of the {count} decoders of the first gradient that were tried beats the lower bound; the closest needs {ratio} times as many samples."
        ),
        None => "No decoder reached the accuracy.".into(),
    };
    let decoders = bounds.records.iter().flat_map(|record| record.decoders.values());
    let ratios: Vec<Interval> = decoders.filter_map(ratio).collect();
    let below = ratios.iter().filter(|ratio| ratio.high < 1.0).count();
    let past: Vec<String> = bounds.records.iter().filter_map(past).collect();
    let verdict = if below == 0 { "agrees" } else { "differs" };
    let claim = Claim {
        claim: format!("{count} decoders at {} sizes: samples over lower bound", bounds.records.len()),
        measured: format!("smallest ratio {}", smallest.as_deref().unwrap_or("-")),
        predicted: "at least 1".into(),
        verdict: if below == 0 {
            "agrees".into()
        } else {
            findings::counted([ratios.len() - below, 0, below])
        },
        agreement: verdict,
    };
    Section {
        title: "How close to optimal: lower bounds for one step",
        headline,
        sentences: vec![
            "A decoder reads the first gradient and answers with a label for each token. Argmax takes the largest score; MMSE first corrects the scores for the overlaps of the embeddings; assignment gives each label to exactly one token. A fact that no sample shows can only be guessed: this bound (coverage) holds for every method. Argmax and MMSE compute scores that are linear in the gradient; a larger bound holds for them, to leading order.".into(),
            format!(
                "Three steps see more than the first gradient, so the bound of linear decoders does not hold for them. They need {}.",
                past.join("; ")
            ),
        ],
        pictures: vec![picture(bounds)],
        tables: vec![table(bounds)],
        claims: vec![claim],
        ..Section::default()
    }
}

/// Where the three-step algorithm lies beside the bound of linear decoders and the best decoder.
fn past(record: &BoundRecord) -> Option<String> {
    let best = record.decoders.values().filter_map(|critical| critical.estimate).min_by(f64::total_cmp)?;
    let (three, linear) = (&record.three_step, record.bounds.largest_for_linear()?);
    let place = match () {
        () if three.high? < linear => "fewer samples than this bound",
        () if three.low? > linear => "more samples than this bound",
        () => "about as many samples as this bound",
    };
    let (model, gain) = (model(record), significant(best / three.estimate?));
    Some(format!("{place} at {model} (the best of the decoders needs {gain} times as many as three steps)"))
}

/// Critical N over the bound that holds for it, with its interval.
fn ratio(critical: &Critical) -> Option<Interval> {
    let over = |n: Option<f64>| Some(n? / critical.bound?);
    Some(Interval { mean: critical.ratio?, low: over(critical.low)?, high: over(critical.high)? })
}

fn model(record: &BoundRecord) -> String {
    sizes([("V", record.config.vocab), ("d", record.config.dim), ("L", record.config.length)])
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
        "Critical N at accuracy 0.5 of each decoder of the first gradient, and of the three-step algorithm, over the largest lower bound that holds for it.",
        found,
        &[
            ("model", |(record, ..)| model(record).into()),
            ("decoder", |(_, name, _)| name.as_str().into()),
            ("largest bound", |(.., critical)| critical.bound.into()),
            ("critical N", |(.., critical)| samples(critical)),
            ("over bound", |(.., critical)| critical.ratio.into()),
        ],
    )
}

fn picture(bounds: &Bounds) -> Picture {
    let names: Vec<String> =
        DECODERS.iter().map(|name| name.replace('_', " ")).chain(["three steps".to_string()]).collect();
    let mut bars =
        Bars::new("critical N over the largest bound that holds", Axis::linear("ratio to the bound"), names)
            .reference(1.0);
    for record in &bounds.records {
        let bar = |(_, critical): (String, Option<&Critical>)| {
            let ratio = critical.and_then(ratio);
            ratio.map_or(Bar::from(f64::NAN), |ratio| Bar::from((ratio.mean, ratio.low, ratio.high)))
        };
        bars = bars.series(model(record), named(record).map(bar));
    }
    let caption = "Critical N of each decoder over the largest lower bound that holds for it, with 95% intervals: coverage, and for argmax and MMSE the bound of linear decoders. The dashed line is the bound.".into();
    Picture { name: "bound", caption, figure: Figure::new().panel(bars) }
}
