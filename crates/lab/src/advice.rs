//! What limits recall at a point, and which size helps most: found by trying.

use serde::Serialize;
use superpose_core::config::{Config, Embedding};
use superpose_theory::critical::{Critical, Parameter, Recall};
use superpose_theory::predict::{Dominant, Part, uncovered};
use superpose_theory::{Point, Prediction};

/// A size at twice its value, or at half where less is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Knob {
    /// What is changed.
    pub size: Parameter,
    /// Its symbol.
    pub symbol: &'static str,
    /// Its value.
    pub from: u64,
    /// Its other value.
    pub to: u64,
    /// The predicted accuracy there.
    pub accuracy: f64,
}

/// Advice at a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What limits recall and what helps most, in one sentence.
    pub sentence: String,
    /// Sizes that were tried, the best first. Facts are what is wanted, so their number is left alone.
    pub knobs: Vec<Knob>,
}

/// Gains below this are not worth a sentence.
const WORTH: f64 = 0.01;
/// From here on nothing is in the way.
const ENOUGH: f64 = 0.99;

/// Looks around a configuration. `solved` are its critical values for the accuracy `target`.
pub fn advice(config: &Config, prediction: &Prediction, target: f64, solved: &[(Parameter, Critical)]) -> Advice {
    let knobs = if uncovered(config).is_some() { Vec::new() } else { knobs(&Point::from(config)) };
    let sentence = match (prediction.accuracy, prediction.gaps.first()) {
        (Some(accuracy), _) => sentence(config, accuracy, prediction.dominant, &knobs, target, solved),
        (None, Some(gap)) => format!("No prediction here: {}.", gap.reason.text()),
        (None, None) => "No prediction here.".into(),
    };
    Advice { sentence, knobs }
}

fn knobs(point: &Point) -> Vec<Knob> {
    let tried = [Parameter::Samples, Parameter::Dim, Parameter::Width, Parameter::Length];
    let mut knobs: Vec<Knob> = tried
        .into_iter()
        .filter_map(|size| {
            let from = size.of(point)?;
            let to = if size.helps() { 2.0 * from } else { (from / 2.0).floor().max(1.0) };
            let moved = size.set(point, to);
            (to != from).then(|| Knob {
                size,
                symbol: size.symbol(),
                from: from as u64,
                to: to as u64,
                accuracy: Recall::new(&moved).accuracy(moved.length, moved.samples),
            })
        })
        .collect();
    knobs.sort_by(|a, b| b.accuracy.total_cmp(&a.accuracy));
    knobs
}

fn sentence(
    config: &Config,
    accuracy: f64,
    dominant: Option<Dominant>,
    knobs: &[Knob],
    target: f64,
    solved: &[(Parameter, Critical)],
) -> String {
    if accuracy >= ENOUGH {
        return format!("Nothing limits recall here: {} of the facts are recalled.", percent(accuracy));
    }
    let limit = match dominant {
        Some(Dominant { part, term }) => {
            let part = if part == Part::Memory { "memory" } else { "attention" };
            format!("{} in the {part} limits recall to {}", capital(term.word()), percent(accuracy))
        }
        None => format!("Recall is {}", percent(accuracy)),
    };
    let helps = |knob: &Knob| {
        let (how, what) = words(knob.size);
        format!("{how} {what} ({} = {})", knob.symbol, grouped(knob.to))
    };
    match knobs.first() {
        Some(best) if best.accuracy >= accuracy + WORTH => {
            format!("{limit}; {} helps most, to {}.", helps(best), percent(best.accuracy))
        }
        _ => {
            let point = Point::from(config);
            let factor = |&(size, critical): &(Parameter, Critical)| {
                let (value, now) = (critical.value()?, size.of(&point)?);
                let factor = if size.helps() { value / now } else { now / value };
                (factor > 1.0 && size != Parameter::Vocab).then_some((size, value, factor))
            };
            match solved.iter().filter_map(factor).min_by(|a, b| a.2.total_cmp(&b.2)) {
                Some((size, value, factor)) => format!(
                    "{limit}, and no size helps much by a factor of 2; the nearest way to {} is {} = {}, a factor of {}.",
                    percent(target),
                    size.symbol(),
                    grouped(value as u64),
                    round(factor)
                ),
                None if config.embedding == Embedding::Orthonormal || knobs.is_empty() => format!("{limit}."),
                None => format!("{limit}, and no single size brings it to {}.", percent(target)),
            }
        }
    }
}

fn words(size: Parameter) -> (&'static str, &'static str) {
    match size {
        Parameter::Samples => ("twice the", "samples"),
        Parameter::Dim => ("twice the", "dimension"),
        Parameter::Width => ("twice the", "width"),
        Parameter::Length => ("half the", "length"),
        Parameter::Vocab => ("half the", "facts"),
    }
}

fn capital(term: &str) -> String {
    let text = term.replace('_', " ").replace("mlp", "MLP");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A share for people.
fn percent(share: f64) -> String {
    match 100.0 * share {
        x if x >= 9.95 || x == 0.0 => format!("{x:.0}%"),
        x if x >= 0.05 => format!("{x:.1}%"),
        _ => "less than 0.1%".into(),
    }
}

fn round(factor: f64) -> String {
    if factor < 10.0 { format!("{factor:.1}") } else { grouped(factor.round() as u64) }
}

/// With commas between thousands.
fn grouped(x: u64) -> String {
    let digits = x.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use superpose_core::Settings;
    use superpose_theory::{critical, predict};

    use super::*;

    fn at(settings: Settings) -> Advice {
        let config = settings.check().unwrap();
        let point = Point::from(&config);
        let solved: Vec<_> = Parameter::ALL.iter().map(|&p| (p, critical(&point, p, 0.5))).collect();
        advice(&config, &predict(&config), 0.5, &solved)
    }

    #[test]
    fn the_best_knob_is_the_best_of_those_tried() {
        let found = at(Settings { samples: 65_536, ..Settings::default() });
        assert!(found.sentence.contains("helps most"), "{}", found.sentence);
        let best = found.knobs[0];
        assert_eq!(best.to, 2 * best.from);
        let moved = Settings { samples: 65_536, ..Settings::default() };
        let moved = match best.size {
            Parameter::Dim => Settings { dim: best.to as usize, ..moved },
            Parameter::Samples => Settings { samples: best.to as usize, ..moved },
            other => panic!("{other}"),
        };
        let there = predict(&moved.check().unwrap()).accuracy.unwrap();
        assert!((there - best.accuracy).abs() < 1e-9, "{there} {}", best.accuracy);
        assert!(found.knobs.windows(2).all(|pair| pair[0].accuracy >= pair[1].accuracy));
    }

    #[test]
    fn every_case_has_its_sentence() {
        let plenty = at(Settings { vocab: 64, dim: 512, samples: 1_000_000, ..Settings::default() });
        assert!(plenty.sentence.starts_with("Nothing limits recall"), "{}", plenty.sentence);
        let far = at(Settings { vocab: 4000, dim: 32, samples: 1000, ..Settings::default() });
        assert!(far.sentence.contains("no s"), "{}", far.sentence);
        let silent = at(Settings { zipf: Some(1.0), ..Settings::default() });
        assert!(silent.sentence.contains("uniform tokens") && silent.knobs.is_empty());
        let long = at(Settings { length: 1000, vocab: 100, dim: 100, samples: 10_000, ..Settings::default() });
        assert!(long.sentence.contains("attention"), "{}", long.sentence);
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!([0.0, 0.0001, 0.0123, 0.5, 0.9999].map(percent), ["0%", "less than 0.1%", "1.2%", "50%", "100%"]);
    }
}
