//! Associative memories.

use std::fmt::Write;

use superpose_core::associative::{MemorySettings, Rule};
use superpose_core::config::Labels;
use superpose_lab::associative::{CapacityRecord, MemoryRecord};
use superpose_lab::interval::Interval;
use superpose_lab::threshold::Threshold;
use superpose_lab::words::grouped;

use crate::numbers::number;

/// What memories recall, with intervals.
pub fn memory(record: &MemoryRecord) -> String {
    let config = &record.config;
    let (facts, margin) = match config.rule {
        Rule::Hopfield => ("patterns", "final overlap"),
        _ => ("facts", "margin"),
    };
    let mut text = format!(
        "Recall of {} {facts}: {}, {} repeats from seed {}\n",
        grouped(config.facts as f64),
        described(config),
        config.repeats,
        config.seed
    );
    let mut row = |name: &str, value: &Interval, note: &str| {
        let line = format!(
            "  {name:<16} {:>9}  [{}, {}]  {note}",
            number(value.mean),
            number(value.low),
            number(value.high)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    };
    row("accuracy", &record.accuracy, &format!("share of {facts} recalled"));
    row(
        "success",
        &record.success,
        &format!("share of repeats with accuracy of at least {}", config.accuracy),
    );
    row(margin, &record.margin, if margin == "margin" { "right logit over the best wrong one" } else { "" });
    let _ = writeln!(text, "  Intervals: 95%, over repeats and facts.");
    if record.steps > 0.0 {
        let _ = writeln!(text, "Steps: {} on average.", grouped(record.steps.round()));
    }
    let _ = writeln!(text, "Done in {:.1} s.", record.seconds);
    text
}

/// How many facts a memory holds, with an interval.
pub fn capacity(record: &CapacityRecord) -> String {
    let config = &record.config;
    let facts = if config.rule == Rule::Hopfield { "patterns" } else { "facts" };
    let mut text = format!(
        "Most {facts} with accuracy of at least {} in half of the repeats\n  {}\n\n",
        config.accuracy,
        described(config)
    );
    let end = |end: Option<u64>| end.map_or("?".into(), |end| grouped(end as f64));
    let _ = match record.threshold {
        Threshold::Found(e) => writeln!(
            text,
            "  {facts} {:>12}  [{}, {}]  95% interval",
            grouped(e.estimate as f64),
            grouped(e.low as f64),
            grouped(e.high as f64)
        ),
        Threshold::Imprecise { estimate, low, high, .. } => writeln!(
            text,
            "  {facts} {:>12}  [{}, {}]  95% interval; not as precise as {}: the runs were used up",
            grouped(estimate as f64),
            end(low),
            end(high),
            record.half_width
        ),
        Threshold::Unreached(tried) => writeln!(
            text,
            "  not found between {} and {} {facts}: success in {:.2} to {:.2} of repeats",
            grouped(tried.low as f64),
            grouped(tried.high as f64),
            tried.least,
            tried.best
        ),
    };
    if let Some(interval) = record.threshold.interval() {
        let _ = match config.rule {
            Rule::Hopfield => {
                writeln!(text, "  load  {:>14.4}  patterns per neuron", interval.mean / config.dim as f64)
            }
            _ => writeln!(
                text,
                "  {} {:>7.2}  parameters over N log N",
                if config.width.is_some() { "m d/(N log N)" } else { "d^2/(N log N)" },
                record.parameters_per_fact.unwrap_or(f64::NAN)
            ),
        };
    }
    let _ = writeln!(text, "\n{} memories in {:.1} s.", record.runs, record.seconds);
    text
}

/// What the memory is, in words.
fn described(config: &MemorySettings) -> String {
    let size = match (config.rule, config.width) {
        (Rule::Hopfield, _) => format!("Hopfield network of {} neurons", grouped(config.dim as f64)),
        (_, Some(width)) => format!("MLP memory, d = {}, width m = {}", config.dim, grouped(width as f64)),
        (rule, None) => format!("linear memory, {rule}, d = {}", grouped(config.dim as f64)),
    };
    let mut text = size;
    if config.rule != Rule::Hopfield {
        let _ = write!(text, ", {} embeddings", config.embedding);
    }
    if let Labels::Mod(classes) = config.labels {
        let _ = write!(text, ", {classes} classes");
    }
    if let Some(zipf) = config.zipf {
        let _ = write!(text, ", Zipf exponent {zipf}");
    }
    if config.rule == Rule::Trained {
        let batch = config.batch.map_or("all facts".into(), |batch| format!("batches of {batch}"));
        let (steps, rate) = (grouped(config.training_steps() as f64), config.training_rate());
        let _ = write!(text, "\n  {}, rate {rate}, {batch} for at most {steps} steps", config.optimiser);
    }
    text
}
