//! A run.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use superpose_core::config::{Embedding, Labels, Regime, Settings, Trigger};
use superpose_core::noise::Budget;
use superpose_lab::interval::Interval;
use superpose_lab::run::RunRecord;
use superpose_lab::words::grouped;

use crate::numbers::{number, percent, seconds};

/// Table of results, noise budget as bars, and one sentence on what limits recall.
pub fn run(record: &RunRecord) -> String {
    let mut text = headline(&record.config);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let row = |name: &str, value: &Interval, note: &str| {
        // A margin has the size of a signal, which may be tiny; everything else is a share.
        let digits = |x: f64| if name == "margin" { format!("{x:.2e}") } else { format!("{x:.4}") };
        vec![
            format!("  {name}"),
            digits(value.mean),
            format!("[{}, {}]", digits(value.low), digits(value.high)),
            note.to_string(),
        ]
    };
    table.add_row(row("recall accuracy", &record.accuracy, "fresh sequences, trained attention"));
    table.add_row(row("memory accuracy", &record.memory_accuracy, "attention placed on the trigger"));
    table.add_row(row("one-step accuracy", &record.one_step_accuracy, "the first gradient alone"));
    table.add_row(row("lock rate", &record.lock_rate, "largest attention weight on the trigger"));
    table.add_row(row("attention mass", &record.attention_mass, "attention weight on the trigger"));
    table.add_row(row("margin", &record.margin, margin_note(&record.config)));
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text);
    table.lines().for_each(|line| {
        let _ = writeln!(text, "{}", line.trim_end());
    });
    let _ = writeln!(text, "  Intervals: {}.", record.interval);
    let limit = if record.config.regime == Regime::Exact { ", in the limit of a small rate" } else { "" };
    let _ = writeln!(text, "\nNoise in the logits, standard deviation over the signal{limit}");
    bars(&mut text, &record.noise.logits);
    let _ = writeln!(text, "\nNoise in the token scores, standard deviation over the trigger's score");
    bars(&mut text, &record.noise.scores);
    let _ = writeln!(text, "\n{}", verdict(record));
    let _ = writeln!(
        text,
        "Trained in {}; data {}, evaluation {}{}.",
        seconds(record.train_seconds),
        seconds(record.data_seconds),
        seconds(record.evaluate_seconds),
        if record.repeats > 1 { ", per repeat" } else { "" }
    );
    text
}

fn headline(config: &Settings) -> String {
    let model = match config.width {
        Some(width) => {
            format!("attention and MLP (width m = {}, {})", grouped(width as f64), config.activation)
        }
        None => "attention only".into(),
    };
    let trigger = match config.trigger {
        Trigger::Values => "keys and values",
        Trigger::Keys => "keys only",
    };
    let mut text = format!(
        "Recall of V = {} facts from sequences of L = {} tokens\n  {model}, d = {}, N = {} samples, {} embeddings, trigger in {trigger}, {} regime",
        grouped(config.vocab as f64),
        grouped(config.length as f64),
        grouped(config.dim as f64),
        grouped(config.samples as f64),
        match (config.embedding, &config.import) {
            (_, Some(_)) => "imported",
            (Embedding::File, None) => "file's",
            (embedding, None) => embedding.word(),
        },
        config.regime,
    );
    if let Labels::Mod(classes) = config.labels {
        let _ = write!(text, ", {} classes", grouped(classes as f64));
    }
    if let Some(exponent) = config.zipf {
        let _ = write!(text, ", Zipf exponent {exponent}");
    }
    if let Some(size) = config.noise_vocab {
        let _ = write!(text, ", {} noise tokens", grouped(size as f64));
    }
    let seeds = match config.repeats {
        1 => format!("seed {}", config.seed),
        repeats => format!("seeds {} to {}", config.seed, config.seed + repeats as u64 - 1),
    };
    let _ = write!(text, ", {}, {seeds}", config.precision);
    text
}

fn margin_note(config: &Settings) -> &'static str {
    match config.regime {
        Regime::Infinitesimal => "right logit over the best wrong one, per unit of rate",
        Regime::Exact => "right logit over the best wrong one",
    }
}

/// Noise parts relative to the signal, largest first.
fn noise_parts(budget: &Budget) -> Vec<(&'static str, f64)> {
    let signal = budget.signal.unwrap_or(0.0).sqrt();
    let mut parts: Vec<_> = budget.named()[1..]
        .iter()
        .filter_map(|&(name, part)| Some((name, (*part)?.sqrt() / signal)))
        .filter(|(_, size)| size.is_finite() && *size > 0.0)
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts
}

fn bars(text: &mut String, budget: &Budget) {
    const WIDTH: f64 = 40.0;
    let parts = noise_parts(budget);
    let Some(&(_, largest)) = parts.first() else {
        let _ = writeln!(text, "  none");
        return;
    };
    for (name, size) in parts {
        let blocks = (WIDTH * size / largest).round() as usize;
        let line = format!("  {:<16} {:>9}  {}", name.replace('_', " "), number(size), "█".repeat(blocks));
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// What keeps recall from being perfect, in one sentence.
fn verdict(record: &RunRecord) -> String {
    let largest =
        |budget: &Budget| noise_parts(budget).first().map_or("none", |&(name, _)| name).replace('_', " ");
    let (logits, scores) = (largest(&record.noise.logits), largest(&record.noise.scores));
    let (memory, lock) = (record.memory_accuracy.mean, record.lock_rate.mean);
    let sign = match record.trigger_sign {
        1 => "",
        0 => " (step 2 found no direction, or not the same one in most repeats)",
        _ => " (step 2 learned to look away from the trigger)",
    };
    if record.accuracy.mean >= 0.99 {
        format!("Recall is all but perfect; the largest noise in the logits: {logits}.")
    } else if lock < memory || logits == "attention leak" {
        let found = percent(lock);
        format!(
            "The attention limits recall: it finds the trigger in {found} of sequences{sign}. Largest noise in the scores: {scores}."
        )
    } else {
        let what = if record.config.zipf.is_some() {
            "questions, by frequency, are answered"
        } else {
            "facts are recalled"
        };
        let share = percent(memory);
        format!(
            "The memory limits recall: with perfect attention {share} of {what}. Largest noise in the logits: {logits}."
        )
    }
}
