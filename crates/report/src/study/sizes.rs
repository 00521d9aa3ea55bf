//! Part 2: small and large d by small and large L.

use superpose_figure::{Axis, Chart, Figure};
use superpose_study::{Finding, Sizes};

use super::findings::{thresholds, thresholds_claim, verdicts};
use super::{Picture, Section, spot};
use crate::numbers::interval;

pub fn section(sizes: &Sizes) -> Section {
    let ratios = sizes.findings.iter().filter_map(|f| Some((f, f.ratio()?)));
    let worst = ratios.max_by(|a, b| a.1.mean.ln().abs().total_cmp(&b.1.mean.ln().abs()));
    let headline = match worst {
        Some((Finding { dim, length, measure, .. }, ratio)) => format!(
            "From small to large d and L the closed form predicts the critical N; the largest error is at d = {dim}, L = {length} ({}), where the ratio is {}.",
            measure.label(),
            interval(&ratio)
        ),
        None => "No threshold of the table was found.".into(),
    };
    let count = verdicts(&sizes.findings).len();
    let sentences = vec![format!(
        "Both algorithms at the corners of a grid of d and L, {count} critical values in all. Where d is small, facts interfere; where L is large, the attention must find one token among many. The closed form has no constant that was fitted to either."
    )];
    Section {
        title: "The prediction holds from small to large sizes",
        headline,
        sentences,
        pictures: vec![picture(sizes)],
        tables: vec![thresholds("sizes", "Both algorithms", &sizes.findings)],
        claims: vec![thresholds_claim("Small and large d and L", &sizes.findings)],
        ..Section::default()
    }
}

/// Measured over predicted critical N against the predicted one.
fn picture(sizes: &Sizes) -> Picture {
    let ratio = Axis::log("measured over predicted N").range(0.7, 1.43).ticks([0.8, 0.9, 1.0, 1.1, 1.25]);
    let mut chart = Chart::new("", Axis::log("predicted critical N"), ratio).horizontal(1.0, "ratio 1");
    let mut names: Vec<&str> = sizes.findings.iter().map(|f| f.measure.label()).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let own = sizes.findings.iter().filter(|f| f.measure.label() == name);
        chart = chart.points(name, own.filter_map(|f| Some(spot(f.predicted?, &f.ratio()?))));
    }
    let caption = "Measured over predicted critical N at the corners of the grid, with 95% intervals.".into();
    Picture { name: "sizes", caption, figure: Figure::new().frames(440.0, 240.0).panel(chart) }
}
