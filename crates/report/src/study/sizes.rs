//! Part 2: small and large d by small and large L.

use superpose_figure::{Axis, Chart, Figure};
use superpose_study::{Finding, Sizes};

use super::findings::{steps, thresholds, thresholds_claim, verdicts};
use super::{Picture, Section, spot};
use crate::numbers::{count, interval};

pub fn section(sizes: &Sizes) -> Section {
    let ratios = sizes.findings.iter().filter_map(|f| Some((f, f.ratio()?)));
    let worst = ratios.max_by(|a, b| a.1.mean.ln().abs().total_cmp(&b.1.mean.ln().abs()));
    let headline = match worst {
        Some((finding @ Finding { dim, length, .. }, ratio)) => format!(
            "From small to large d and L the closed form predicts the critical N; the largest error is at d = {dim}, L = {length} after {}, where the ratio is {}.",
            steps(finding),
            interval(&ratio)
        ),
        None => "No threshold of the table was found.".into(),
    };
    let values = verdicts(&sizes.findings).len();
    let vocab = count(sizes.findings.first().map_or(0, |f| f.vocab));
    let sentences = vec![format!(
        "One step and three steps at small and large d and L with V = {vocab}, {values} critical values in all. Where d is small, facts interfere; where L is large, the attention must find one token among many. The closed form has no constant that was fitted to either."
    )];
    Section {
        title: "The prediction holds from small to large sizes",
        headline,
        sentences,
        pictures: vec![picture(sizes)],
        tables: vec![thresholds("sizes", "One step and three steps", &sizes.findings)],
        claims: vec![thresholds_claim("Small and large d and L", &sizes.findings)],
        ..Section::default()
    }
}

/// Measured over predicted critical N against the predicted one, a panel for each number of steps.
fn picture(sizes: &Sizes) -> Picture {
    let panel = |name: &str| {
        let ratio = Axis::log("measured over predicted N").range(0.7, 1.43).ticks([0.8, 0.9, 1.0, 1.1, 1.25]);
        let mut chart = Chart::new(name, Axis::log("predicted critical N"), ratio).horizontal(1.0, "ratio 1");
        for f in sizes.findings.iter().filter(|f| steps(f) == name) {
            let found = f.predicted.zip(f.ratio()).map(|(predicted, ratio)| spot(predicted, &ratio));
            chart = chart.points(format!("d = {}, L = {}", f.dim, f.length), found);
        }
        chart
    };
    let caption = "Measured over predicted critical N at small and large d and L, with 95% intervals.".into();
    let figure = Figure::new().frames(340.0, 240.0).panel(panel("one step")).panel(panel("three steps"));
    Picture { name: "sizes", caption, figure }
}
