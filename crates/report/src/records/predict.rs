//! A prediction: quantities, noise terms, critical values and conditions.

use superpose_lab::predict::Record;
use superpose_lab::words::blame;
use superpose_theory::plan::checked;
use superpose_theory::predict::Quantity;

use super::{model, noise_parts, trigger};
use crate::document::Align::{Left, Right};
use crate::document::{Document, Grid};
use crate::numbers::{count, decimal, grouped};

/// Quantities, noise terms, critical values and leading-order conditions.
pub fn predict(record: &Record) -> Document {
    let config = &record.config;
    let mut page = Document::new(format!(
        "Predicted recall of V = {} facts from sequences of L = {} tokens",
        count(config.vocab),
        count(config.length)
    ));
    page.note(format!(
        "{}, d = {}, N = {} samples, {} embeddings, trigger in {}",
        model(config),
        count(config.dim),
        count(config.samples),
        config.embedding,
        trigger(config.trigger),
    ));
    page.gap();
    let mut table = values();
    for (name, value, quantity) in [
        ("recall accuracy", record.accuracy, Quantity::Accuracy),
        ("memory accuracy", record.memory_accuracy, Quantity::MemoryAccuracy),
        ("one-step accuracy", record.one_step_accuracy, Quantity::OneStepAccuracy),
        ("lock rate", record.lock_rate, Quantity::LockRate),
    ] {
        let gap = record.gaps.iter().find(|silence| silence.gap.quantity == quantity);
        let reason = gap.map_or("", |silence| silence.text.as_str());
        table.row([name, &value.map_or("-".into(), |x| format!("{x:.4}")), reason]);
    }
    page.table(table);
    let error = match (&record.error, &record.error_reason) {
        (Some(error), _) => {
            let range = checked(config.width.is_some()).words;
            format!("rms {error:.3} near the critical number of samples ({range})")
        }
        (None, reason) => format!("not known; {}", reason.as_deref().unwrap_or("not checked")),
    };
    page.note(format!("Expected error of the recall accuracy: {error}."));
    for (title, budget) in [
        ("Noise in the logits, standard deviation over the signal", &record.noise.logits),
        ("Noise in the token scores, standard deviation over the trigger's score", &record.noise.scores),
    ] {
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
    page.heading(format!(
        "Critical values for recall accuracy {}, the other sizes as given",
        record.target.accuracy
    ));
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
    if !record.conditions.is_empty() {
        page.heading("Leading-order conditions");
    }
    record.conditions.iter().for_each(|condition| page.note(&condition.text));
    page
}

/// An empty table of names, numbers and remarks.
fn values() -> Grid {
    Grid::new(&[Left, Right, Left], &[])
}
