//! A prediction: quantities, noise terms, critical values and conditions.

use superpose_core::Measure;
use superpose_lab::predict::{LawRecord, PredictionRecord};
use superpose_lab::words::blame;
use superpose_theory::Point;
use superpose_theory::plan::validated;
use superpose_theory::predict::ByFact;

use super::{NOISE, embeddings, expected_error, measured, model, noise_parts, trigger};
use crate::document::{Document, Grid, Left, Right};
use crate::numbers::{count, decimal, grouped, share};

/// Quantities, noise terms, critical values and leading-order conditions.
pub fn predict(record: &PredictionRecord) -> Document {
    let config = &record.config;
    let [vocab, length, dim, samples] = [config.vocab, config.length, config.dim, config.samples].map(count);
    let mut page =
        Document::new(format!("Predicted recall of V = {vocab} facts from sequences of L = {length} tokens"));
    let (model, embeddings, trigger) =
        (model(config), embeddings(config, record.rows.is_some()), trigger(config.trigger));
    let keep = config.keep.map_or(String::new(), |keep| format!(", {} tokens kept at test", count(keep)));
    page.note(format!("{model}, d = {dim}, N = {samples} samples, {embeddings}, trigger in {trigger}{keep}"));
    if let Some(rows) = &record.rows {
        let (kernel, number) = (&rows.kernel, grouped(rows.count));
        let effective = 1.0 / (kernel.s2 + kernel.kappa * kernel.kappa);
        page.note(format!(
            "from the statistics of {number} rows: effective dimension {effective:.1}, mean overlap {:.4}, mean squared length {}",
            kernel.kappa,
            decimal(rows.square)
        ));
    }
    page.gap();
    let mut table = values();
    for (measure, value) in measured(config, &record.measures) {
        let gap = record.gaps.iter().find(|silence| silence.gap.quantity == measure);
        let reason = gap.map(|silence| silence.text.as_str());
        // A measure without a value and without a reason has no formula at all.
        if value.is_some() || reason.is_some() {
            let value = value.map_or("-".into(), |x| if measure.is_share() { share(x) } else { decimal(x) });
            table.row([measure.label(), &value, reason.unwrap_or("")]);
        }
    }
    if let Some(ByFact { accuracy, memory_accuracy, one_step_accuracy }) = record.by_fact {
        for (measure, value) in [
            (Measure::Accuracy, accuracy),
            (Measure::MemoryAccuracy, memory_accuracy),
            (Measure::OneStepAccuracy, one_step_accuracy),
        ] {
            if let Some(value) = value {
                let note = "share of facts, each with the same weight";
                table.row([format!("{} by fact", measure.label()), share(value), note.into()]);
            }
        }
    }
    page.table(table);
    let error = expected_error(record.error, record.error_reason.as_deref());
    let point = Point { rows: record.rows, ..Point::from(config) };
    let near = if record.rows.is_some() { "" } else { " near the critical number of samples" };
    let range = record.error.and_then(|_| validated(&point).ok());
    let range = range.map_or(String::new(), |range| format!("{near} ({})", range.sizes()));
    page.note(format!("Expected error of the recall accuracy: {error}{range}."));
    for (title, budget) in NOISE.into_iter().zip([&record.noise.logits, &record.noise.scores]) {
        let mut table = values();
        noise_parts(budget).into_iter().for_each(|(name, size)| table.row([name, decimal(size)]));
        if !table.rows.is_empty() {
            page.heading(title);
            page.table(table);
        }
    }
    if let Some((part, term)) = record.dominant.as_ref().map(blame) {
        page.paragraph(format!("The {part} limits recall; largest noise term there: {term}."));
    }
    let accuracy = record.target.accuracy;
    page.heading(format!("Critical values for recall accuracy {accuracy}, the other sizes as given"));
    let (at, why) = (&record.critical, &record.critical_reason);
    let mut table = values();
    for (name, value, reason) in [
        ("samples N at least", at.samples, &why.samples),
        ("dim d at least", at.dim, &why.dim),
        ("width m at least", at.width, &why.width),
        ("length L at most", at.length, &why.length),
        ("vocab V at most", at.vocab, &why.vocab),
    ] {
        let value = value.map_or("-".into(), |x| grouped(x as f64));
        table.row([name, &value, reason.as_deref().unwrap_or("")]);
    }
    page.table(table);
    if !record.laws.is_empty() {
        page.heading("Leading-order laws of the critical number of samples");
    }
    record.laws.iter().for_each(|law| page.note(sentence(law)));
    if !record.conditions.is_empty() {
        page.heading("Leading-order conditions");
    }
    record.conditions.iter().for_each(|condition| page.note(&condition.text));
    page
}

/// A law with its value, the term that binds, and its exponents.
fn sentence(law: &LawRecord) -> String {
    let LawRecord { name, samples, binds, formula, exponents } = law;
    match (samples, exponents) {
        (Some(samples), Some([d, l, v])) => {
            let samples = grouped(samples.ceil());
            format!(
                "{name}: N = {samples}, {binds} = {formula}, exponents of d, L, V: {d:.1}, {l:.1}, {v:.1}"
            )
        }
        _ => format!("{name}: no number of samples, {binds} fails: {formula}"),
    }
}

/// An empty table of names, numbers and remarks.
fn values() -> Grid {
    Grid::new(&[Left, Right, Left], &[])
}
