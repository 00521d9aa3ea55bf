//! The embedding matrix of a real model.

use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::inspect::{Geometry, Held, Inspection, Sizes};

use super::{expected_error, trigger};
use crate::document::{Document, Grid, Left, Right};
use crate::numbers::{count, decimal, fixed, grouped, plural, share};

const PREDICTED: &str = "Predicted for the three steps, attention on the trigger, trigger in the keys";

/// How the rows overlap, and how many facts they could hold.
pub fn inspect(found: &Inspection) -> Document {
    let name = plain(&found.tensor);
    let mut page = Document::new(format!(
        "Tensor {name}: {}, d = {}",
        plural(found.rows, "row", "rows"),
        count(found.dim)
    ));
    page.gap();
    let dim = found.dim as f64;
    let gaussian = Geometry {
        mean_square_cosine: 1.0 / dim,
        effective_dimension: dim,
        mean_cosine: 0.0,
        norm_mean: 1.0,
        norm_cv: (0.5 / dim).sqrt(),
    };
    let mut table =
        geometry(&["raw", "centred", "Gaussian"], &[found.raw.geometry, found.centred.geometry, gaussian]);
    let mut row = |label: String, facts: &[u64]| {
        table.row([label].into_iter().chain(facts.iter().map(|&facts| grouped(facts as f64))));
    };
    let label = format!("predicted facts at accuracy {}", found.accuracy);
    row(label, &[found.raw.facts, found.centred.facts, found.gaussian_facts]);
    let alike = [found.raw.facts_by_means, found.centred.facts_by_means];
    row("the same if all rows were alike".into(), &alike);
    page.table(table);
    let outputs = match &found.output {
        None => "Gaussian output embeddings".to_string(),
        Some(output) => {
            let name = plain(&output.tensor);
            page.heading(format!("Output tensor {name}: {}", plural(output.rows, "row", "rows")));
            page.gap();
            page.table(geometry(&["raw", "centred"], &[output.raw, output.centred]));
            format!("output embeddings from {name} (their mean has no effect)")
        }
    };
    let held = |facts: u64| match found.gaussian_facts {
        0 => grouped(facts as f64),
        gaussian => {
            format!("{} ({:.0}%)", grouped(facts as f64), 100.0 * facts as f64 / gaussian as f64)
        }
    };
    let gaussian = grouped(found.gaussian_facts as f64);
    let [raw, centred] = [found.raw.facts, found.centred.facts].map(held);
    page.paragraph(format!(
        "Of the {gaussian} facts of Gaussian vectors of the same dimension, these hold {raw} as they are and {centred} after their mean is subtracted."
    ));
    if found.raw.facts.max(found.centred.facts) > found.rows as u64 {
        let rows = count(found.rows);
        page.line(format!(
            "That is more than the {rows} rows of the tensor: it is the number for as many rows with the same overlaps."
        ));
    }
    page.line(format!("{PREDICTED}, {} samples per fact, {outputs}.", found.samples_per_fact));
    page.line("More steps can store more facts in the same vectors: train and memory measure that.");
    found.sizes.iter().for_each(|sizes| page.paragraph(needs(sizes, found.accuracy)));
    page
}

/// What a number of facts needs, in sentences.
fn needs(sizes: &Sizes, accuracy: f64) -> String {
    let [facts, length, samples] = [sizes.facts, sizes.length, sizes.samples].map(count);
    let trigger = trigger(sizes.trigger);
    let Some(predicted) = sizes.accuracy else {
        return format!(
            "There is no prediction for {facts} facts: all rows are 0, or their squared lengths are not finite."
        );
    };
    let fewest = match sizes.fewest_samples {
        Some(fewest) => format!(
            "Accuracy {accuracy} is predicted to need at least N = {} samples at L = {length}{}",
            grouped(fewest as f64),
            within_error(sizes)
        ),
        None => format!("No number of samples is predicted to give accuracy {accuracy} at L = {length}"),
    };
    let longest = match sizes.largest_length {
        Some(longest) => {
            format!("with N = {samples} sequences may have up to L = {} tokens", grouped(longest as f64))
        }
        None => format!("with N = {samples} no length gives it"),
    };
    let scaled = match sizes.scale {
        Some(scale) if (scale - 1.0).abs() > 0.05 => format!(
            " This is for rows multiplied by {}, so that their mean squared length is 1, about that of the trigger; multiply them before a run, too.",
            decimal(scale)
        ),
        _ => String::new(),
    };
    let error = expected_error(sizes.error, sizes.error_reason.as_deref());
    format!(
        "{facts} facts in sequences of L = {length} tokens, trigger in {trigger}: predicted recall {} with N = {samples} samples. {fewest}; {longest}.{scaled} Expected error: {error}.",
        share(predicted)
    )
}

/// The numbers of samples that the expected error allows, in words.
fn within_error(sizes: &Sizes) -> String {
    match (sizes.error, sizes.fewest_samples_low, sizes.fewest_samples_high) {
        (Some(_), Some(low), Some(high)) => {
            format!(" (within the expected error, {} to {})", grouped(low as f64), grouped(high as f64))
        }
        (Some(_), Some(low), None) => {
            format!(" (within the expected error, {} or more, and perhaps no number)", grouped(low as f64))
        }
        _ => String::new(),
    }
}

/// Memory accuracy against facts: the rows as they are, minus their mean, and Gaussian vectors beside them.
pub fn holdings(found: &Inspection, curve: &[Held]) -> Figure {
    let line = |name: &str, of: fn(&Held) -> f64| {
        Series::line(name, curve.iter().map(move |held| (held.facts as f64, of(held))))
    };
    let chart = Chart::new("", Axis::log("facts V"), Axis::linear("memory accuracy").range(0.0, 1.0))
        .with(line("rows as they are", |held| held.raw))
        .with(line("rows minus their mean", |held| held.centred))
        .with(line("Gaussian vectors", |held| held.gaussian).muted().dashed())
        .horizontal(found.accuracy, format!("accuracy {}", found.accuracy));
    Figure::new()
        .title(format!("What {} rows of dimension {} hold", count(found.rows), count(found.dim)))
        .note(format!("{PREDICTED}, {} samples per fact.", found.samples_per_fact))
        .frames(440.0, 280.0)
        .panel(chart)
}

/// A table of the statistics of several sets of rows, a column each.
fn geometry(names: &[&str], columns: &[Geometry]) -> Grid {
    let header: Vec<&str> = [""].iter().chain(names).copied().collect();
    let mut table = Grid::new(&[Left, Right, Right, Right][..header.len()], &header);
    let mut row = |name: &str, decimals, value: fn(&Geometry) -> f64| {
        let values = columns.iter().map(|geometry| fixed(value(geometry), decimals));
        table.row([name.to_string()].into_iter().chain(values));
    };
    row("mean square cosine", 6, |g| g.mean_square_cosine);
    row("effective dimension", 1, |g| g.effective_dimension);
    row("mean cosine", 4, |g| g.mean_cosine);
    row("mean length", 4, |g| g.norm_mean);
    row("spread of lengths", 4, |g| g.norm_cv);
    table
}

/// A name from a file with control characters escaped, because a terminal would interpret them.
fn plain(name: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_in_names_are_escaped() {
        assert_eq!(plain("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(plain("wörter.weight"), "wörter.weight");
    }
}
