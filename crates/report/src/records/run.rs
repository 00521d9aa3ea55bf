//! A run: measurements, the noise budget, and what limits recall.

use superpose_core::Measure;
use superpose_core::config::{EarlyRule, Labels, Regime, Settings};
use superpose_core::noise::{Budget, Parts};
use superpose_figure::{Axis, Bar, Bars, Figure};
use superpose_lab::interval::Interval;
use superpose_lab::run::{Noise, RunRecord, TestSource};
use superpose_theory::limit::limit;
use superpose_theory::noise::Term;
use superpose_theory::predict::Part;

use super::{
    NOISE, embeddings, measured, model, noise_parts, seeds, sizes, tested_on, trigger, unequal_lengths,
};
use crate::document::{Block, Document, Grid, Left, Right};
use crate::numbers::{count, percent, seconds, share};

/// Measurements with intervals, the noise budget as bars, and one sentence on what limits recall.
pub fn run(record: &RunRecord) -> Document {
    let config = &record.config;
    let (vocab, length) = (count(config.vocab), count(config.length));
    let mut page =
        Document::new(format!("Recall of V = {vocab} facts from sequences of L = {length} tokens"));
    page.note(about(config, record.rows_over_trigger.is_some()));
    let mut table = Grid::new(&[Left, Right, Left, Left], &[]);
    let exact = config.regime == Regime::Exact;
    for (measure, value) in measured(config, &record.measures) {
        // A margin has the size of a signal, which may be tiny.
        let digits = |x: f64| if measure.is_share() { share(x) } else { format!("{x:.2e}") };
        let interval = format!("[{}, {}]", digits(value.low), digits(value.high));
        let unit = if measure.is_share() || exact { "" } else { ", per unit of rate" };
        let note = match (measure, record.test) {
            (Measure::Accuracy, TestSource::Given) => "given sequences, trained attention",
            _ => measure.note(),
        };
        table.row([measure.label(), &digits(value.mean), &interval, &format!("{note}{unit}")]);
    }
    page.table(table);
    page.note(format!("Intervals: {}.", record.interval));
    tested_on(record.test).into_iter().for_each(|test| page.note(test));
    unequal_lengths(record.rows_over_trigger).into_iter().for_each(|warning| page.note(warning));
    let rate = if exact { ", in the limit of a small rate" } else { "" };
    let [logits, scores] = NOISE;
    for (title, parts) in
        [(format!("{logits}{rate}"), logit_parts(record)), (scores.into(), score_parts(record))]
    {
        page.heading(title);
        match parts {
            _ if config.early_rule != EarlyRule::Gradient => {
                page.note(format!("not defined with early_rule = {}", config.early_rule));
            }
            parts if parts.is_empty() && config.rounds > 1 => page.note("not defined with rounds above 1"),
            parts if parts.is_empty() && !record.has_logit_budget() => {
                page.note("not defined for labels that depend on more than the informative token");
            }
            parts if parts.is_empty() => page.note("none"),
            parts => page.blocks.push(Block::Bars(parts)),
        }
    }
    page.paragraph(verdict(record));
    let [train, data, evaluate] =
        [record.train_seconds, record.data_seconds, record.evaluate_seconds].map(seconds);
    let repeat = if record.repeats > 1 { ", per repeat" } else { "" };
    page.line(format!("Trained in {train}; data {data}, evaluation {evaluate}{repeat}."));
    page
}

/// The shares with their intervals, and the noise budgets.
pub fn run_figure(record: &RunRecord) -> Figure {
    let config = &record.config;
    let shares: Vec<_> =
        measured(config, &record.measures).filter(|(measure, _)| measure.is_share()).collect();
    let recall = Bars::new(
        "Measures",
        Axis::linear("share").range(0.0, 1.0),
        shares.iter().map(|(measure, _)| measure.label()),
    )
    .series("", shares.iter().map(|(_, value)| (value.mean, value.low, value.high)));
    let noise = |title: &str, parts: Vec<NoisePart>| {
        let bar = |(_, size, interval): &NoisePart| match interval {
            Some(Interval { low, high, .. }) => Bar::from((*size, *low, *high)),
            None => Bar::from(*size),
        };
        let names = parts.iter().map(|part| part.0.clone());
        Bars::new(title, Axis::linear("standard deviation over signal"), names)
            .series("", parts.iter().map(bar))
    };
    Figure::new()
        .title(sizes(config))
        .panel(recall)
        .panel(noise("Noise in the logits", logit_parts(record)))
        .panel(noise("Noise in the token scores", score_parts(record)))
}

fn about(config: &Settings, given: bool) -> String {
    let mut parts = vec![
        model(config),
        format!("d = {}", count(config.dim)),
        format!("N = {} samples", count(config.samples)),
        embeddings(config, given),
        format!("trigger in {}", trigger(config.trigger)),
        format!("{} regime", config.regime),
    ];
    if config.early_rule != EarlyRule::Gradient {
        parts.push(format!("memory steps by {}", config.early_rule));
    }
    if config.rounds > 1 {
        let how = if config.accumulate { "accumulated" } else { "from zero" };
        parts.push(format!("{} rounds, attention {how}", count(config.rounds)));
    }
    if let Labels::Mod(classes) = config.labels {
        parts.push(format!("{} classes", count(classes)));
    }
    parts.extend(config.zipf.map(|exponent| format!("Zipf exponent {exponent}")));
    parts.extend(config.noise_vocab.map(|size| format!("{} noise tokens", count(size))));
    parts.extend(config.keep.map(|keep| format!("{} tokens kept at test", count(keep))));
    parts.push(config.precision.to_string());
    parts.push(seeds(config));
    parts.join(", ")
}

/// The name of a noise part, its standard deviation over the signal, and the interval over several repeats.
type NoisePart = (String, f64, Option<Interval>);

fn logit_parts(record: &RunRecord) -> Vec<NoisePart> {
    largest_first(&record.noise.logits, record.noise_intervals.map(|intervals| intervals.logits))
}

fn score_parts(record: &RunRecord) -> Vec<NoisePart> {
    largest_first(&record.noise.scores, record.noise_intervals.map(|intervals| intervals.scores))
}

fn largest_first(budget: &Budget, intervals: Option<Parts<Option<Interval>>>) -> Vec<NoisePart> {
    let intervals = intervals.unwrap_or_default();
    let interval = |name: &str| {
        *intervals
            .named()
            .into_iter()
            .find(|part| part.0.replace('_', " ") == name)
            .map_or(&None, |part| part.1)
    };
    let measured = |(name, size): (String, f64)| {
        let interval = interval(&name);
        (name, size, interval)
    };
    let mut parts: Vec<NoisePart> = noise_parts(budget).into_iter().map(measured).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts
}

/// What limits recall in one sentence.
fn verdict(record: &RunRecord) -> String {
    let mean = |measure| record.measures[measure].mean;
    let has_budget = record.has_logit_budget();
    if mean(Measure::Accuracy) >= 0.99 && !has_budget {
        return "Recall is all but perfect.".into();
    }
    if mean(Measure::Accuracy) >= 0.99 {
        let parts = logit_parts(record);
        let noise = parts.first().map_or("none", |part| &part.0);
        return format!("Recall is all but perfect; the largest noise in the logits: {noise}.");
    }
    let (memory, lock) = (mean(Measure::MemoryAccuracy), mean(Measure::LockRate));
    let (part, term) = limit_of(&record.config, memory, lock, &record.noise);
    let noise = term.map_or("none".into(), |term| term.word().replace('_', " "));
    let largest =
        |what| if has_budget { format!(" Largest noise in the {what}: {noise}.") } else { String::new() };
    if part == Part::Attention {
        let sign = match record.trigger_sign {
            1 => "",
            0 => " (step 2 found no direction, or not the same one in most repeats)",
            _ => " (step 2 learned to look away from the trigger)",
        };
        return format!(
            "The attention limits recall: it finds the trigger in {} of sequences{sign}.{}",
            percent(lock),
            largest("scores")
        );
    }
    let what = match record.config.zipf {
        Some(_) => "questions, by frequency, are answered",
        None => "facts are recalled",
    };
    let unseen = percent(unseen(&record.config).unwrap_or(0.0));
    let reason = match term {
        Some(Term::Coverage) => format!(" Coverage: about {unseen} of facts are in no sample."),
        _ => largest("logits"),
    };
    format!("The memory limits recall: with perfect attention {} of {what}.{reason}", percent(memory))
}

/// What limits recall, by the theory's rule applied to measurements. The part of the logits that imperfect attention adds is not
/// a term of the memory, which is judged with the attention placed on the trigger.
fn limit_of(config: &Settings, memory_accuracy: f64, lock_rate: f64, noise: &Noise) -> (Part, Option<Term>) {
    let terms = |budget: &Budget| -> Vec<(Term, f64)> {
        let named = budget.named();
        let size = |term: Term| *named.iter().find(|part| part.0 == term.word())?.1;
        Term::ALL.iter().filter_map(|&term| Some((term, size(term)?))).collect()
    };
    let attention = (lock_rate, &terms(&noise.scores)[..]);
    limit(memory_accuracy, Some(attention), unseen(config), &terms(&noise.logits))
}

/// The expected share of facts that no sample shows. It is not known where facts are not drawn uniformly.
fn unseen(config: &Settings) -> Option<f64> {
    let uniform = config.zipf.is_none_or(|exponent| exponent == 0.0) && config.import.is_none();
    uniform.then(|| (-(config.samples as f64) / config.vocab as f64).exp())
}

#[cfg(test)]
mod tests {
    use superpose_core::config::Trigger;
    use superpose_lab::predict::predict;
    use superpose_theory::predict::Dominant;

    use super::*;

    #[test]
    fn measured_and_predicted_numbers_have_the_same_limit() {
        let keys = Settings { vocab: 1000, dim: 60, trigger: Trigger::Keys, ..Settings::default() };
        for settings in [
            Settings { samples: 10_000_000, ..keys.clone() },
            Settings { samples: 10_000, trigger: Trigger::Values, ..keys.clone() },
            Settings { vocab: 200, dim: 400, samples: 200, length: 4, ..keys.clone() },
            Settings { vocab: 100, dim: 100, length: 1000, samples: 10_000, ..keys },
        ] {
            let predicted = predict(&settings.clone().check().unwrap(), 0.5).unwrap();
            let value = |measure| predicted.measures[measure].unwrap();
            let (memory, lock) = (value(Measure::MemoryAccuracy), value(Measure::LockRate));
            let mut noise = predicted.noise;
            // Runs have this part, predictions do not: it must not decide.
            noise.logits.attention_leak = Some(1e9);
            let Dominant { part, term } = predicted.dominant.unwrap();
            assert_eq!(limit_of(&settings, memory, lock, &noise), (part, Some(term)), "{settings:?}");
        }
    }
}
