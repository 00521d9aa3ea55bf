//! The parameters of a sweep: the keys of a configuration file, by name.

use std::fmt;

use superpose_core::config::Settings;
use toml::de::DeValue;

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// A word.
    Word,
    /// true or false.
    Flag,
}

const PARAMETERS: [(&str, Kind); 38] = [
    ("vocab", Kind::Count),
    ("dim", Kind::Count),
    ("length", Kind::Count),
    ("samples", Kind::Count),
    ("width", Kind::Count),
    ("activation", Kind::Word),
    ("embedding", Kind::Word),
    ("output_embedding", Kind::Word),
    ("trigger", Kind::Word),
    ("labels", Kind::Word),
    ("zipf", Kind::Number),
    ("noise_vocab", Kind::Count),
    ("regime", Kind::Word),
    ("eta", Kind::Number),
    ("gamma", Kind::Number),
    ("eta2", Kind::Number),
    ("lead", Kind::Number),
    ("precision", Kind::Word),
    ("test_samples", Kind::Count),
    ("seed", Kind::Count),
    ("rank", Kind::Count),
    ("clusters", Kind::Count),
    ("spread", Kind::Number),
    ("steps", Kind::Count),
    ("optimiser", Kind::Word),
    ("rate", Kind::Number),
    ("schedule", Kind::Word),
    ("batch", Kind::Count),
    ("momentum", Kind::Number),
    ("weight_decay", Kind::Number),
    ("every", Kind::Count),
    ("early_stopping", Kind::Count),
    ("warm_start", Kind::Flag),
    ("heads", Kind::Count),
    ("positions", Kind::Word),
    ("factored", Kind::Flag),
    ("train_embeddings", Kind::Flag),
    ("train_first_layer", Kind::Flag),
];

/// A parameter of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter(usize);

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a whole number.
    Count(u64),
    /// Of a number.
    Number(f64),
    /// Of a word.
    Word(String),
    /// Of what is true or false.
    Flag(bool),
}

impl Parameter {
    /// By its name.
    pub fn named(name: &str) -> Option<Parameter> {
        PARAMETERS.iter().position(|(known, _)| *known == name).map(Parameter)
    }

    /// All names, for people.
    pub fn list() -> String {
        PARAMETERS.map(|(name, _)| name).join(", ")
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        PARAMETERS[self.0].0
    }

    /// Whether a formula can give it.
    pub fn is_number(self) -> bool {
        matches!(PARAMETERS[self.0].1, Kind::Count | Kind::Number)
    }

    /// The value that a number stands for: whole numbers are rounded. The error says what is allowed.
    pub fn from_number(self, x: f64) -> Result<Value, &'static str> {
        match PARAMETERS[self.0].1 {
            Kind::Count if x >= 0.0 && x.round() <= 2_f64.powi(53) => Ok(Value::Count(x.round() as u64)),
            Kind::Count => Err("must be a whole number"),
            Kind::Number if x.is_finite() => Ok(Value::Number(x)),
            Kind::Number => Err("must be a number"),
            Kind::Word => Err("must be a word"),
            Kind::Flag => Err("must be true or false"),
        }
    }

    /// The value that stands in a file. The error says what is allowed.
    pub fn from_toml(self, value: &DeValue<'_>) -> Result<Value, String> {
        match (PARAMETERS[self.0].1, value) {
            (Kind::Word, DeValue::String(word)) => {
                let value = Value::Word(word.to_string());
                self.set(&mut Settings::default(), &value)?;
                Ok(value)
            }
            (Kind::Word, _) => Err("must be a word in quotation marks".into()),
            (Kind::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
            (Kind::Flag, _) => Err("must be true or false".into()),
            (Kind::Count, value) => {
                let allowed = "must be a whole number such as 4096, 65_536 or 1e6";
                let x = number(value).filter(|x| x.fract() == 0.0 && *x >= 0.0).ok_or(allowed)?;
                if let Some(whole) = integer(value) {
                    return Ok(Value::Count(whole));
                }
                Ok(self.from_number(x)?)
            }
            (Kind::Number, value) => Ok(self.from_number(number(value).ok_or("must be a number")?)?),
        }
    }

    /// Puts a value into the settings. The error says what is allowed.
    pub fn set(self, settings: &mut Settings, value: &Value) -> Result<(), String> {
        let size = |count: &u64| usize::try_from(*count).map_err(|_| "too large for this machine");
        match (self.name(), value) {
            ("vocab", Value::Count(count)) => settings.vocab = size(count)?,
            ("dim", Value::Count(count)) => settings.dim = size(count)?,
            ("length", Value::Count(count)) => settings.length = size(count)?,
            ("samples", Value::Count(count)) => settings.samples = size(count)?,
            ("width", Value::Count(count)) => settings.width = Some(size(count)?),
            ("noise_vocab", Value::Count(count)) => settings.noise_vocab = Some(size(count)?),
            ("test_samples", Value::Count(count)) => settings.test_samples = size(count)?,
            ("seed", Value::Count(count)) => settings.seed = *count,
            ("zipf", Value::Number(x)) => settings.zipf = Some(*x),
            ("eta", Value::Number(x)) => settings.eta = *x,
            ("gamma", Value::Number(x)) => settings.gamma = Some(*x),
            ("eta2", Value::Number(x)) => settings.eta2 = Some(*x),
            ("lead", Value::Number(x)) => settings.lead = *x,
            ("activation", Value::Word(word)) => settings.activation = word.parse()?,
            ("embedding", Value::Word(word)) => settings.embedding = word.parse()?,
            ("output_embedding", Value::Word(word)) => settings.output_embedding = Some(word.clone()),
            ("trigger", Value::Word(word)) => settings.trigger = word.parse()?,
            ("labels", Value::Word(word)) => settings.labels = word.parse()?,
            ("regime", Value::Word(word)) => settings.regime = word.parse()?,
            ("precision", Value::Word(word)) => settings.precision = word.parse()?,
            ("rank", Value::Count(count)) => settings.rank = Some(size(count)?),
            ("clusters", Value::Count(count)) => settings.clusters = Some(size(count)?),
            ("spread", Value::Number(x)) => settings.spread = Some(*x),
            ("steps", Value::Count(count)) => settings.steps = size(count)?,
            ("optimiser", Value::Word(word)) => settings.optimiser = word.parse()?,
            ("rate", Value::Number(x)) => settings.rate = *x,
            ("schedule", Value::Word(word)) => settings.schedule = word.parse()?,
            ("batch", Value::Count(count)) => settings.batch = Some(size(count)?),
            ("momentum", Value::Number(x)) => settings.momentum = Some(*x),
            ("weight_decay", Value::Number(x)) => settings.weight_decay = *x,
            ("every", Value::Count(count)) => settings.every = Some(size(count)?),
            ("early_stopping", Value::Count(count)) => settings.early_stopping = Some(size(count)?),
            ("warm_start", Value::Flag(flag)) => settings.warm_start = *flag,
            ("heads", Value::Count(count)) => settings.heads = size(count)?,
            ("positions", Value::Word(word)) => settings.positions = word.parse()?,
            ("factored", Value::Flag(flag)) => settings.factored = *flag,
            ("train_embeddings", Value::Flag(flag)) => settings.train_embeddings = *flag,
            ("train_first_layer", Value::Flag(flag)) => settings.train_first_layer = *flag,
            // A value of another kind; the test below has every name.
            _ => {
                return Err(match PARAMETERS[self.0].1 {
                    Kind::Count => "must be a whole number".into(),
                    Kind::Number => "must be a number".into(),
                    Kind::Word => "must be a word".into(),
                    Kind::Flag => "must be true or false".into(),
                });
            }
        }
        Ok(())
    }

    /// Its value as a number; `None` for words and for what is not set.
    pub fn get(self, settings: &Settings) -> Option<f64> {
        let count = |size: usize| Some(size as f64);
        match self.name() {
            "vocab" => count(settings.vocab),
            "dim" => count(settings.dim),
            "length" => count(settings.length),
            "samples" => count(settings.samples),
            "width" => settings.width.and_then(count),
            "noise_vocab" => settings.noise_vocab.and_then(count),
            "test_samples" => count(settings.test_samples),
            "seed" => Some(settings.seed as f64),
            "zipf" => settings.zipf,
            "eta" => Some(settings.eta),
            "gamma" => settings.gamma,
            "eta2" => settings.eta2,
            "lead" => Some(settings.lead),
            "rank" => settings.rank.and_then(count),
            "clusters" => settings.clusters.and_then(count),
            "spread" => settings.spread,
            "steps" => count(settings.steps),
            "rate" => Some(settings.rate),
            "batch" => settings.batch.and_then(count),
            "momentum" => settings.momentum,
            "weight_decay" => Some(settings.weight_decay),
            "every" => settings.every.and_then(count),
            "early_stopping" => settings.early_stopping.and_then(count),
            "heads" => count(settings.heads),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(count) => count.fmt(f),
            Value::Number(x) => x.fmt(f),
            Value::Word(word) => word.fmt(f),
            Value::Flag(flag) => flag.fmt(f),
        }
    }
}

/// A whole number as it stands in a file, without a detour through floating point.
pub fn integer(value: &DeValue<'_>) -> Option<u64> {
    let DeValue::Integer(integer) = value else { return None };
    u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

/// A number as it stands in a file.
pub fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(whole) => match integer(value) {
            Some(whole) => Some(whole as f64),
            None => whole.as_str().replace('_', "").parse().ok(),
        },
        DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every parameter goes where its name says, and nothing else moves.
    #[test]
    fn what_is_set_is_what_is_read() {
        let settings = |settings: &Settings| match serde_json::to_value(settings) {
            Ok(serde_json::Value::Object(map)) => map,
            other => panic!("{other:?}"),
        };
        let before = settings(&Settings::default());
        for (i, &(name, kind)) in PARAMETERS.iter().enumerate() {
            let parameter = Parameter::named(name).unwrap();
            assert_eq!((parameter, parameter.name()), (Parameter(i), name));
            let word = match name {
                "activation" => "gelu",
                "embedding" => "sphere",
                "output_embedding" => "tied",
                "trigger" => "keys",
                "labels" => "mod:7",
                "regime" => "exact",
                "precision" => "f64",
                "optimiser" => "muon",
                "schedule" => "cosine",
                "positions" => "rotary",
                _ => "",
            };
            let value = match kind {
                Kind::Count => Value::Count(77 + i as u64),
                Kind::Number => Value::Number(0.5 + i as f64),
                Kind::Word => Value::Word(word.into()),
                Kind::Flag => Value::Flag(true),
            };
            let mut changed = Settings::default();
            parameter.set(&mut changed, &value).unwrap();
            let number = match value {
                Value::Count(count) => Some(count as f64),
                Value::Number(x) => Some(x),
                Value::Word(_) | Value::Flag(_) => None,
            };
            assert_eq!(parameter.get(&changed), number, "{name}");
            let after = settings(&changed);
            let moved = |key: &&String| before.get(*key) != after.get(*key);
            let keys: Vec<&String> = after.keys().filter(moved).collect();
            assert_eq!(keys, [name], "{name} = {value}");
            match (number, kind) {
                (Some(number), _) => assert_eq!(after[name].as_f64(), Some(number)),
                (None, Kind::Flag) => assert_eq!(after[name].as_bool(), Some(true)),
                (None, _) => assert_eq!(after[name].as_str(), Some(word)),
            }
            let other = if kind == Kind::Word { Value::Count(1) } else { Value::Word("relu".into()) };
            assert!(parameter.set(&mut changed, &other).is_err(), "{name}");
        }
    }
}
