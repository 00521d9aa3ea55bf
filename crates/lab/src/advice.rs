//! Advice: what limits recall at a point, and which size helps most, by predicted recall at twice or half of each size.

use serde::{Deserialize, Serialize};
use superpose_core::Measure;
use superpose_core::config::Config;
use superpose_theory::Point;
use superpose_theory::critical::{Parameter, Recall};
use superpose_theory::predict::uncovered;

use crate::predict::PredictionRecord;
use crate::words::{blame, capital, grouped};

/// A size at twice its value, or at half where smaller is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Knob {
    /// The size that is changed.
    pub size: Parameter,
    /// Its symbol.
    pub symbol: String,
    /// Its present value.
    #[schemars(range(min = 1))]
    pub from: u64,
    /// Its changed value.
    #[schemars(range(min = 1))]
    pub to: u64,
    /// The predicted accuracy there.
    pub accuracy: f64,
}

/// Advice at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Advice {
    /// What limits recall and what helps most, in one sentence.
    pub sentence: String,
    /// The sizes that were tried, the best first. The number of facts is the goal; the sentence alone mentions fewer facts.
    pub knobs: Vec<Knob>,
}

const TRIED: [Parameter; 4] = [Parameter::Samples, Parameter::Dim, Parameter::Width, Parameter::Length];
/// Minimum gain in accuracy to be mentioned.
const MIN_GAIN: f64 = 0.01;
/// Accuracy from which nothing limits recall.
const ENOUGH: f64 = 0.99;

/// Returns advice on a configuration with its prediction.
pub fn advice(config: &Config, prediction: &PredictionRecord) -> Advice {
    let covered = uncovered(config, Measure::Accuracy).is_none();
    let tried = |sizes: &[Parameter]| if covered { knobs(&Point::from(config), sizes) } else { Vec::new() };
    let (knobs, fewer) = (tried(&TRIED), tried(&[Parameter::Vocab]));
    let sentence = match (prediction.measures[Measure::Accuracy], prediction.gaps.first()) {
        (Some(accuracy), _) => sentence(prediction, accuracy, &knobs, fewer.first()),
        (None, Some(gap)) => format!("No prediction here: {}.", gap.text),
        (None, None) => "No prediction here.".into(),
    };
    Advice { sentence, knobs }
}

fn knobs(point: &Point, sizes: &[Parameter]) -> Vec<Knob> {
    let knob = |size: Parameter| {
        let from = size.of(point)?;
        let to = if size.helps() { 2.0 * from } else { (from / 2.0).floor().max(1.0) };
        if to == from {
            return None;
        }
        let moved = size.set(point, to);
        let accuracy = Recall::new(&moved).accuracy(moved.length, moved.samples);
        Some(Knob { size, symbol: size.symbol().into(), from: from as u64, to: to as u64, accuracy })
    };
    let mut knobs: Vec<Knob> = sizes.iter().copied().filter_map(knob).collect();
    knobs.sort_by(|a, b| b.accuracy.total_cmp(&a.accuracy));
    knobs
}

fn sentence(
    prediction: &PredictionRecord,
    accuracy: f64,
    knobs: &[Knob],
    fewer_facts: Option<&Knob>,
) -> String {
    if accuracy >= ENOUGH {
        return format!("Nothing limits recall here: {} of the facts are recalled.", percent(accuracy));
    }
    let limit = match &prediction.dominant {
        Some(dominant) => {
            let (part, term) = blame(dominant);
            format!("{} in the {part} limits recall to {}", capital(&term), percent(accuracy))
        }
        None => format!("Recall is {}", percent(accuracy)),
    };
    let fewer =
        fewer_facts.filter(|fewer| fewer.accuracy >= accuracy + MIN_GAIN).map_or(String::new(), |fewer| {
            format!(
                "; with half the facts (V = {}) it would be {}",
                grouped(fewer.to as f64),
                percent(fewer.accuracy)
            )
        });
    if let Some(best) = knobs.first().filter(|best| best.accuracy >= accuracy + MIN_GAIN) {
        let (times, name) = (if best.size.helps() { "twice" } else { "half" }, name(best.size));
        let (symbol, to, accuracy) = (&best.symbol, grouped(best.to as f64), percent(best.accuracy));
        return format!("{limit}; {times} the {name} ({symbol} = {to}) helps most, to {accuracy}{fewer}.");
    }
    // A factor of 2 is too small, so name the size that needs the smallest factor.
    let target = percent(prediction.target.accuracy);
    let critical = &prediction.critical;
    let solved = [critical.samples, critical.dim, critical.width, critical.length];
    let ways = knobs.iter().filter_map(|knob| {
        let place = TRIED.iter().position(|&size| size == knob.size)?;
        let (value, now) = (solved[place]? as f64, knob.from as f64);
        let factor = if knob.size.helps() { value / now } else { now / value };
        (factor > 1.0).then_some((knob, value, factor))
    });
    match ways.min_by(|a, b| a.2.total_cmp(&b.2)) {
        Some((knob, value, factor)) => format!(
            "{limit}, and no size helps much by a factor of 2; the nearest way to {target} is {} = {}, a factor of {}{fewer}.",
            knob.symbol,
            grouped(value),
            if factor < 10.0 { format!("{factor:.1}") } else { grouped(factor) }
        ),
        None if accuracy >= prediction.target.accuracy => {
            format!("{limit}, and no size helps much by a factor of 2{fewer}.")
        }
        None => format!("{limit}, and no single size brings it to {target}{fewer}."),
    }
}

fn name(size: Parameter) -> &'static str {
    match size {
        Parameter::Dim => "dimension",
        Parameter::Vocab => "facts",
        other => other.word(),
    }
}

/// A share in percent with one decimal, so that it agrees with the three decimals of a share.
fn percent(share: f64) -> String {
    match 100.0 * share {
        // Only what is exactly 1 is all.
        x if x >= 99.95 && share < 1.0 => "more than 99.9%".into(),
        x if x > 0.0 && x < 0.05 => "less than 0.1%".into(),
        x => format!("{x:.1}%").replace(".0%", "%"),
    }
}

#[cfg(test)]
mod tests {
    use superpose_core::Settings;

    use super::*;
    use crate::predict::predict;

    fn at(settings: Settings) -> Advice {
        let config = settings.check().unwrap();
        advice(&config, &predict(&config, 0.5).unwrap())
    }

    #[test]
    fn best_knob_comes_first() {
        let settings = Settings { samples: 65_536, ..Settings::default() };
        let found = at(settings.clone());
        assert!(found.sentence.contains("helps most"), "{}", found.sentence);
        let best = found.knobs[0].clone();
        assert_eq!(best.to, 2 * best.from);
        let moved = match best.size {
            Parameter::Dim => Settings { dim: best.to as usize, ..settings },
            Parameter::Samples => Settings { samples: best.to as usize, ..settings },
            other => panic!("{other}"),
        };
        let there = predict(&moved.check().unwrap(), 0.5).unwrap().measures[Measure::Accuracy].unwrap();
        assert!((there - best.accuracy).abs() < 1e-9, "{there} {}", best.accuracy);
        assert!(found.knobs.windows(2).all(|pair| pair[0].accuracy >= pair[1].accuracy));
    }

    #[test]
    fn every_case_has_a_sentence() {
        let at_sizes = |vocab, dim, length, samples| {
            at(Settings { vocab, dim, length, samples, ..Settings::default() }).sentence
        };
        let length = Settings::default().length;
        for (sentence, part) in [
            (at_sizes(64, 512, length, 1_000_000), "Nothing limits recall"),
            (at_sizes(4000, 32, length, 1000), "no s"),
            (at_sizes(100, 100, 1000, 10_000), "attention"),
        ] {
            assert!(sentence.contains(part), "{sentence}");
        }
        let silent = at(Settings { zipf: Some(1.0), width: Some(64), ..Settings::default() });
        assert!(silent.sentence.contains("attention-only model") && silent.knobs.is_empty());
    }

    #[test]
    fn fewer_facts_are_mentioned() {
        let settings = Settings { samples: 65_536, ..Settings::default() };
        let sentence = at(settings).sentence;
        assert!(sentence.contains("; with half the facts (V = 256) it would be "), "{sentence}");
    }

    #[test]
    fn percentages_are_rounded() {
        assert_eq!(
            [0.0, 0.0001, 0.0123, 0.4049, 0.5, 0.9951, 0.9999, 1.0].map(percent),
            ["0%", "less than 0.1%", "1.2%", "40.5%", "50%", "99.5%", "more than 99.9%", "100%"]
        );
    }
}
