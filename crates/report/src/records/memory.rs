//! Associative memories: their accuracy, or how many facts they hold.

use schemars::JsonSchema;
use superpose_associative::{MemorySettings, Rule};
use superpose_core::config::{Group, Labels};
use superpose_lab::associative::{
    CapacityOptions, CapacityRecord, CapacitySearch, MemoryRecord, check_room, open_keys, run,
};
use superpose_lab::interval::Interval;
use superpose_lab::threshold::{Threshold, Why};

use super::interval;
use crate::document::{Block, Document};
use crate::experiment::{Experiment, Finding};
use crate::numbers::{count, decimal, duration, grouped, plural, share, significant};

pub const EXPERIMENT: Experiment = Experiment {
    name: "memory",
    about: "Measure the recall or capacity of an associative memory without attention",
    settings: || [MemorySettings::definitions(), CapacityOptions::definitions()].concat(),
    device: true,
    cpu_part: |values| {
        let settings = MemorySettings::read(values).ok()?;
        (!settings.rule.runs_on_device()).then_some("this rule is computed on the CPU")
    },
    run: |values, context| {
        let (backend, observe) = (context.backend, context.observe);
        let mut settings = MemorySettings::read(values)?;
        let keys = open_keys(&mut settings, context.arrays, |name| values.gives(name))?;
        let check_room = |settings: &MemorySettings| check_room(settings, backend.threads(), context.memory);
        let Some(options) = CapacityOptions::given(values)? else {
            let config = settings.check()?.with_keys(keys)?;
            check_room(&config)?;
            let repeats = config.repeats;
            let record = run(&config, backend, &mut |done| {
                observe(done, repeats, format!("{done} of {repeats} memories made"));
            })?;
            return Ok(Finding::new(record, memory));
        };
        let search = CapacitySearch::with_keys(&settings, &options, keys)?;
        check_room(&search.largest)?;
        let record = search.record(backend, &mut |runs, facts| {
            let made = plural(runs, "memory", "memories");
            observe(0, 0, format!("{made} made, now with {} facts", grouped(facts as f64)));
        })?;
        Ok(Finding::new(record, capacity))
    },
    records: &[("", MemoryRecord::json_schema), (" --find facts", CapacityRecord::json_schema)],
};

/// The share of facts that memories recall, with intervals.
fn memory(record: &MemoryRecord) -> Document {
    let config = &record.config;
    let (facts, margin, over) = match config.rule {
        Rule::Hopfield => ("patterns", "final overlap", ""),
        _ => ("facts", "margin", "right logit over the best wrong one"),
    };
    let MemorySettings { repeats, seed, accuracy, .. } = config;
    let (number, about, repeats) =
        (count(config.facts), about(config), plural(*repeats, "repeat", "repeats"));
    let mut page = Document::new(format!("Recall of {number} {facts}: {about}, {repeats} from seed {seed}"));
    type Digits = fn(f64) -> String;
    let success = format!("share of repeats with accuracy of at least {accuracy}");
    let rows: [(&str, &Interval, String, Digits); 3] = [
        ("accuracy", &record.accuracy, format!("share of {facts} recalled"), share),
        ("success", &record.success, success, share),
        (margin, &record.margin, over.into(), decimal),
    ];
    let bits = record.bits_per_parameter.as_ref();
    let bits =
        bits.map(|bits| ("bits/parameter", bits, "of labels, from the accuracy".into(), decimal as Digits));
    let rows = rows.into_iter().chain(bits).map(|(name, value, note, digits)| {
        let [low, high] = [value.low, value.high].map(digits);
        [name.into(), digits(value.mean), format!("[{low}, {high}]  {note}")]
    });
    page.blocks.push(Block::Fields([16, 10], rows.collect()));
    page.note("Intervals: 95%, over repeats and facts.");
    if record.steps > 0.0 {
        page.line(format!("Steps: {} on average.", grouped(record.steps.round())));
    }
    page.line(format!("Done in {}.", duration(record.seconds)));
    page
}

/// How many facts a memory holds, with an interval.
fn capacity(record: &CapacityRecord) -> Document {
    let config = &record.config;
    let facts = if config.rule == Rule::Hopfield { "patterns" } else { "facts" };
    let mut page = Document::new(format!(
        "Capacity: largest number of {facts} at which half of the repeats reach accuracy {}",
        config.accuracy
    ));
    page.note(about(config));
    page.gap();
    let mut row = |name: &str, width: usize, value: String, note: String| {
        page.blocks.push(Block::Fields([name.len(), width], vec![[name.into(), value, note]]));
    };
    match record.threshold {
        Threshold::Found(e) => {
            row(facts, 13, grouped(e.estimate as f64), interval(Some(e.low), Some(e.high)));
        }
        Threshold::Imprecise { estimate, low, high, .. } => {
            let (interval, half_width) = (interval(low, high), record.half_width);
            let note = format!("{interval}; not as precise as {half_width}: the runs were used up");
            row(facts, 13, grouped(estimate as f64), note);
        }
        Threshold::Unreached(tried) => {
            let [low, high] = [tried.low, tried.high].map(|facts| grouped(facts as f64));
            let success = format!("success in {:.2} to {:.2} of repeats", tried.least, tried.best);
            let end = match tried.why {
                Why::Undecided => "not decided (too close to one half, or too few runs)",
                _ => "not found",
            };
            row("", 0, String::new(), format!("{end} between {low} and {high} {facts}: {success}"));
        }
    }
    if let Some(interval) = record.threshold.interval() {
        if config.rule == Rule::Hopfield {
            let load = format!("{:.4}", interval.mean / config.dim as f64);
            row("load", 16, load, "patterns per neuron".into());
        } else {
            let name = if config.width.is_some() { "m d/(N log N)" } else { "d^2/(N log N)" };
            let ratio = format!("{:.2}", record.parameters_per_fact.unwrap_or(f64::NAN));
            row(name, 8, ratio, "parameters over N log N".into());
        }
    }
    if let Some(bits) = record.bits_per_parameter {
        let note = format!("[{:.2}, {:.2}]  of labels, at the required accuracy", bits.low, bits.high);
        row("bits/parameter", 7, format!("{:.2}", bits.mean), note);
    }
    if let Some(predicted) = record.predicted {
        let note = if config.top.is_some() {
            "right label above the mean of the list, d large"
        } else {
            "best linear memory"
        };
        row("predicted", 9, significant(predicted), note.into());
    }
    let memories = plural(record.runs, "memory", "memories");
    page.paragraph(format!("{memories} in {}.", duration(record.seconds)));
    page
}

/// The kind and the sizes of the memory, and how it is trained.
fn about(config: &MemorySettings) -> String {
    let mut parts = vec![match (config.rule, config.width) {
        (Rule::Hopfield, _) => format!("Hopfield network of {}", plural(config.dim, "neuron", "neurons")),
        (_, Some(width)) => format!("MLP memory, d = {}, width m = {}", count(config.dim), count(width)),
        (rule, None) => format!("linear memory, {rule}, d = {}", count(config.dim)),
    }];
    match (&config.embedding_file, config.rule) {
        (_, Rule::Hopfield) => {}
        (Some(file), _) => parts.push(format!("keys from {file}, {} values", config.embedding)),
        (None, _) => parts.push(format!("{} embeddings", config.embedding)),
    }
    if let Labels::Mod(classes) = config.labels {
        parts.push(plural(classes, "class", "classes"));
    }
    parts.extend(config.zipf.map(|zipf| format!("Zipf exponent {zipf}")));
    parts.extend(config.top.map(|top| format!("right label in a list of the share {top}")));
    let text = parts.join(", ");
    if config.rule != Rule::Trained {
        return text;
    }
    let batch = config.batch.map_or("all facts".into(), |batch| format!("batches of {}", count(batch)));
    let (steps, rate) = (count(config.training_steps()), config.training_rate());
    format!("{text}\n  {}, rate {rate}, {batch} for at most {steps} steps", config.optimiser)
}
