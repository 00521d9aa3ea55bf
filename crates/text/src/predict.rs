//! A prediction.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use superpose_lab::predict::PredictionRecord;
use superpose_lab::words::{blame, grouped};
use superpose_theory::plan::checked;
use superpose_theory::predict::Quantity;

use crate::numbers::number;

/// Quantities, noise terms, critical values and conditions.
pub fn predict(report: &PredictionRecord) -> String {
    let config = &report.config;
    let model = match config.width {
        Some(width) => {
            format!("attention and MLP (width m = {}, {})", grouped(width as f64), config.activation)
        }
        None => "attention only".into(),
    };
    let mut text = format!(
        "Predicted recall of V = {} facts from sequences of L = {} tokens\n  {model}, d = {}, N = {} samples, {} embeddings, trigger in {}\n\n",
        grouped(config.vocab as f64),
        grouped(config.length as f64),
        grouped(config.dim as f64),
        grouped(config.samples as f64),
        config.embedding,
        if config.trigger.t() > 0.0 { "keys and values" } else { "keys only" },
    );
    let gap = |quantity: Quantity| {
        let silence = report.gaps.iter().find(|silence| silence.gap.quantity == quantity);
        silence.map_or("", |silence| silence.text.as_str())
    };
    let mut rows = Vec::new();
    for (name, value, quantity) in [
        ("recall accuracy", report.accuracy, Quantity::Accuracy),
        ("memory accuracy", report.memory_accuracy, Quantity::MemoryAccuracy),
        ("one-step accuracy", report.one_step_accuracy, Quantity::OneStepAccuracy),
        ("lock rate", report.lock_rate, Quantity::LockRate),
    ] {
        let shown = value.map_or("-".into(), |x| format!("{x:.4}"));
        rows.push([name.to_owned(), shown, gap(quantity).to_owned()]);
    }
    text += &columns(rows);
    let error = match (&report.error, &report.error_reason) {
        (Some(error), _) => {
            let range = checked(report.config.width.is_some()).words;
            format!("rms {error:.3} near the critical number of samples ({range})")
        }
        (None, reason) => format!("not known; {}", reason.as_deref().unwrap_or("not checked")),
    };
    let _ = writeln!(text, "  Expected error of the recall accuracy: {error}.");
    for (title, budget) in [
        ("Noise in the logits, standard deviation over the signal", &report.noise.logits),
        ("Noise in the token scores, standard deviation over the trigger's score", &report.noise.scores),
    ] {
        let signal = budget.signal.unwrap_or(0.0);
        let size = |(name, part): (&str, &Option<f64>)| {
            let size = ((*part)? / signal).sqrt();
            (size.is_finite() && size > 0.0).then(|| [name.replace('_', " "), number(size), String::new()])
        };
        let rows: Vec<_> = budget.named().into_iter().skip(1).filter_map(size).collect();
        if !rows.is_empty() {
            let _ = write!(text, "\n{title}\n{}", columns(rows));
        }
    }
    if let Some((part, term)) = report.dominant.as_ref().map(blame) {
        let _ = writeln!(text, "\nThe {part} limits recall; what is most in the way there: {term}.");
    }
    let target = report.target.accuracy;
    let _ = writeln!(text, "\nCritical values for recall accuracy {target}, the other sizes as given");
    let rows = critical_rows(report);
    text += &columns(rows);
    if !report.conditions.is_empty() {
        let _ = writeln!(text, "\nLeading-order conditions");
    }
    for condition in &report.conditions {
        let _ = writeln!(text, "  {}", condition.text);
    }
    text
}

fn critical_rows(report: &PredictionRecord) -> Vec<[String; 3]> {
    let (at, why) = (&report.critical, &report.critical_reason);
    [
        ("samples N at least", at.samples, &why.samples),
        ("dim d at least", at.dim, &why.dim),
        ("width m at least", at.width, &why.width),
        ("length L at most", at.length, &why.length),
        ("vocab V at most", at.vocab, &why.vocab),
    ]
    .map(|(name, value, why)| {
        [name.to_owned(), value.map_or("-".into(), |x| grouped(x as f64)), why.clone().unwrap_or_default()]
    })
    .to_vec()
}

/// Rows of a name, a number and a remark, without lines.
fn columns(rows: Vec<[String; 3]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for [name, value, note] in rows {
        table.add_row(vec![format!("  {name}"), value, note]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
