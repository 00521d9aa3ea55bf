//! Part 2: small and large d by small and large L.

use superpose_lab::study::Sizes;

use super::Section;
use super::findings::{tally, thresholds};
use crate::numbers::interval;

pub fn section(sizes: &Sizes) -> Section {
    let ratios = sizes.findings.iter().filter_map(|f| Some((f, f.ratio()?)));
    let worst = ratios.max_by(|a, b| a.1.mean.ln().abs().total_cmp(&b.1.mean.ln().abs()));
    let mut sentences = vec![tally(&sizes.findings)];
    let mut headline = "No threshold of the table was found.".to_string();
    if let Some((finding, ratio)) = worst {
        headline = format!(
            "Small and large d by small and large L: observed over predicted critical N is {} at worst (d = {}, L = {}, {}).",
            interval(&ratio),
            finding.dim,
            finding.length,
            finding.measure.label(),
        );
        sentences.push(headline.clone());
    }
    Section {
        title: "Small and large d by small and large L",
        sentences,
        pictures: Vec::new(),
        tables: vec![thresholds("sizes", "Both algorithms", &sizes.findings)],
        headline,
    }
}
