//! Part 2: small and large d by small and large L.

use superpose_study::{Finding, Sizes};

use super::Section;
use super::findings::{tally, thresholds};
use crate::numbers::interval;

pub fn section(sizes: &Sizes) -> Section {
    let ratios = sizes.findings.iter().filter_map(|f| Some((f, f.ratio()?)));
    let worst = ratios.max_by(|a, b| a.1.mean.ln().abs().total_cmp(&b.1.mean.ln().abs()));
    let mut sentences = vec![tally(&sizes.findings)];
    let mut headline = "No threshold of the table was found.".to_string();
    if let Some((Finding { dim, length, measure, .. }, ratio)) = worst {
        let (ratio, measure) = (interval(&ratio), measure.label());
        headline = format!(
            "Small and large d by small and large L: observed over predicted critical N is {ratio} at worst (d = {dim}, L = {length}, {measure})."
        );
        sentences.push(headline.clone());
    }
    let tables = vec![thresholds("sizes", "Both algorithms", &sizes.findings)];
    let title = "Small and large d by small and large L";
    Section { title, sentences, pictures: Vec::new(), tables, headline }
}
