//! Part 2: small and large d by small and large L.

use superpose_lab::study::{Finding, Sizes};

use crate::Section;
use crate::scaling::thresholds;
use crate::words::{interval, tally};

pub fn section(sizes: &Sizes) -> Section {
    let findings: Vec<&Finding> = sizes.findings.iter().collect();
    let worst = findings
        .iter()
        .filter_map(|f| Some((f, f.ratio()?)))
        .max_by(|a, b| a.1.mean.ln().abs().total_cmp(&b.1.mean.ln().abs()));
    let mut sentences = vec![tally(&findings)];
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
