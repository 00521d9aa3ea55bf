//! Parser of sweep files (TOML). Errors name the line.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use superpose_core::config::{ConfigError, Kind, MAX_REPEATS, Setting, Value, Values, check_given};

use super::expression::Expression;
use super::{Point, Ray, Sweep, SweepError};
use crate::run::Inputs;
use crate::store::cell_settings;

const MAX_STEPS: usize = 1_000_000;

pub fn read(text: &str) -> Read<Sweep> {
    let table = DeTable::parse(text).map_err(|error| SweepError::Line {
        line: error.span().map_or(1, |span| line_at(text, span.start)),
        problem: error.message().replace('\n', " "),
    })?;
    Reader { text, given: Vec::new() }.file(table.get_ref())
}

/// The number of the line that contains the byte at `start`.
pub fn line_at(text: &str, start: usize) -> usize {
    text[..start.min(text.len())].matches('\n').count() + 1
}

fn wrong(line: usize, name: &str, value: &str, allowed: &str) -> SweepError {
    SweepError::Line { line, problem: format!("{name} = {value}: {allowed}") }
}

struct Reader<'a> {
    text: &'a str,
    given: Vec<&'static Setting>,
}

type Read<T> = Result<T, SweepError>;

type Entry<'a, 'i> = (&'a str, usize, &'a Spanned<DeValue<'i>>);

impl Reader<'_> {
    /// The entries of a table in the order of the file, with the lines of their names.
    fn entries<'a, 'i>(&self, table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let line = |name: &Spanned<_>| line_at(self.text, name.span().start);
        entries.into_iter().map(|(name, value)| (name.get_ref().as_ref(), line(name), value)).collect()
    }

    fn file(&mut self, table: &DeTable<'_>) -> Read<Sweep> {
        let (base, axes, rays, inputs) = (Values::default(), Vec::new(), Vec::new(), Arc::default());
        let mut sweep = Sweep { base, axes, rays, repeats: 1, noise: false, inputs };
        for (name, line, value) in self.entries(table) {
            let wrong = |allowed: &str| wrong(line, name, &show(value.get_ref()), allowed);
            match (name, value.get_ref()) {
                ("axes", DeValue::Table(axes)) => {
                    for entry in self.entries(axes) {
                        sweep.axes.push(self.axis(entry)?);
                    }
                }
                ("axes", _) => return Err(wrong("must be a table, [axes]")),
                ("points", DeValue::Array(points)) => sweep.axes.push(self.points(line, points)?),
                ("points", _) => return Err(wrong("must be tables, [[points]]")),
                ("rays", DeValue::Table(rays)) => {
                    for entry in self.entries(rays) {
                        sweep.rays.push(self.ray(entry)?);
                    }
                }
                ("rays", _) => return Err(wrong("must be a table, [rays]")),
                ("repeats", value) => {
                    let allowed = format!("must be a whole number from 1 to {MAX_REPEATS}");
                    sweep.repeats = whole(value, MAX_REPEATS).ok_or_else(|| wrong(&allowed))?;
                }
                ("noise", DeValue::Boolean(noise)) => sweep.noise = *noise,
                ("noise", _) => return Err(wrong("must be true or false")),
                _ => {
                    let parameter = self.parameter(name, line)?;
                    let value = self.value(parameter, line, value)?;
                    let failed = |error: ConfigError| SweepError::Line { line, problem: error.to_string() };
                    sweep.base.set(parameter, value).map_err(failed)?;
                }
            }
        }
        check_given(|name| self.given.iter().any(|parameter| parameter.name == name))?;
        sweep.rays = Self::in_order(sweep.rays)?;
        Ok(sweep)
    }

    /// A parameter that has not been given yet.
    fn parameter(&mut self, name: &str, line: usize) -> Read<&'static Setting> {
        let parameter = known(name, line)?;
        if self.given.contains(&parameter) {
            return Err(SweepError::Twice { line, name: name.into() });
        }
        self.given.push(parameter);
        Ok(parameter)
    }

    /// The same for a parameter that varies.
    fn varied(&mut self, name: &str, line: usize) -> Read<&'static Setting> {
        match Inputs::default().fixes(name) {
            Some(why) => Err(wrong(line, name, "(several values)", why)),
            None => self.parameter(name, line),
        }
    }

    fn value(&self, parameter: &'static Setting, line: usize, value: &Spanned<DeValue<'_>>) -> Read<Value> {
        let found = scalar(value.get_ref()).ok_or_else(|| parameter.kind.allowed());
        let converted = found.and_then(|value| parameter.convert(value));
        converted.map_err(|allowed| wrong(line, parameter.name, &show(value.get_ref()), &allowed))
    }

    /// A list of values, or a range. Equal neighbours are one value.
    fn axis(&mut self, (name, line, value): Entry<'_, '_>) -> Read<Vec<Point>> {
        let parameter = self.varied(name, line)?;
        let mut values = match value.get_ref() {
            DeValue::Array(list) => {
                let line = |value: &Spanned<_>| line_at(self.text, value.span().start);
                let values = list.iter().map(|value| self.value(parameter, line(value), value));
                values.collect::<Result<Vec<_>, _>>()?
            }
            DeValue::Table(range) => self.range(parameter, line, range)?,
            other => {
                let allowed = match other {
                    DeValue::String(_) => "must be a list or a range here; formulas stand under [rays]",
                    _ => "must be a list, or a range { from, to, steps, scale }",
                };
                return Err(wrong(line, name, &show(other), allowed));
            }
        };
        values.dedup();
        match values.is_empty() {
            true => Err(wrong(line, name, "[]", "must have a value")),
            false => Ok(values.into_iter().map(|value| vec![(parameter, value)]).collect()),
        }
    }

    /// `{ from = 64, to = 4096, steps = 7, scale = "geometric" }`
    fn range(&self, parameter: &'static Setting, line: usize, range: &DeTable<'_>) -> Read<Vec<Value>> {
        let wrong = |name: &str, value: &str, allowed: &str| {
            wrong(line, &format!("{}, {name}", parameter.name), value, allowed)
        };
        let finite = |name: &str, value: &DeValue<'_>| {
            let number = number(value).filter(|x| x.is_finite());
            number.ok_or_else(|| wrong(name, &show(value), "must be a number")).map(Some)
        };
        let counts = format!("must be given, a whole number from 1 to {MAX_STEPS}");
        let (mut from, mut to, mut steps, mut geometric) = (None, None, None, false);
        for (name, _, value) in self.entries(range) {
            let value = value.get_ref();
            match (name, value) {
                ("from", value) => from = finite("from", value)?,
                ("to", value) => to = finite("to", value)?,
                ("steps", value) => {
                    let count = whole(value, MAX_STEPS);
                    steps = Some(count.ok_or_else(|| wrong("steps", &show(value), &counts))?);
                }
                ("scale", DeValue::String(word)) if matches!(word.as_ref(), "linear" | "geometric") => {
                    geometric = word.as_ref() == "geometric";
                }
                ("scale", value) => return Err(wrong("scale", &show(value), "must be linear or geometric")),
                _ => return Err(wrong(name, &show(value), "a range has from, to, steps and scale")),
            }
        }
        let missing = |name, allowed| wrong(name, "(none)", allowed);
        let from = from.ok_or_else(|| missing("from", "must be given, a number"))?;
        let to = to.ok_or_else(|| missing("to", "must be given, a number"))?;
        let steps = steps.ok_or_else(|| missing("steps", &counts))?;
        if geometric && !(from > 0.0 && to > 0.0) {
            return Err(wrong("scale", "geometric", "needs from and to above 0"));
        }
        let at = |step: usize| {
            let share = step as f64 / (steps - 1).max(1) as f64;
            match (step, geometric) {
                (0, _) => from,
                (step, _) if step + 1 == steps => to,
                (_, true) => from * libm::pow(to / from, share),
                (_, false) => from + (to - from) * share,
            }
        };
        let value = |step: usize| {
            let x = at(step);
            from_number(parameter, x).map_err(|allowed| wrong("from or to", &x.to_string(), &allowed))
        };
        (0..steps).map(value).collect()
    }

    /// Settings that move together, point by point.
    fn points(&mut self, line: usize, points: &[Spanned<DeValue<'_>>]) -> Read<Vec<Point>> {
        let wrong = |line, allowed| wrong(line, "points", "(this one)", allowed);
        let mut axis: Vec<Point> = Vec::new();
        for (i, point) in points.iter().enumerate() {
            let line = line_at(self.text, point.span().start);
            let DeValue::Table(table) = point.get_ref() else {
                return Err(wrong(line, "must be a table of parameters"));
            };
            let mut values = Vec::new();
            for (name, line, value) in self.entries(table) {
                let parameter = if i == 0 { self.varied(name, line)? } else { known(name, line)? };
                values.push((parameter, self.value(parameter, line, value)?));
            }
            values.sort_by_key(|(parameter, _)| parameter.name);
            let names = |values: &Point| -> Vec<_> { values.iter().map(|v| v.0).collect() };
            if axis.first().is_some_and(|first| names(first) != names(&values)) {
                return Err(wrong(line, "must have the parameters of the first point"));
            }
            axis.push(values);
        }
        match axis.first().is_none_or(Vec::is_empty) {
            true => Err(wrong(line, "must have a parameter")),
            false => Ok(axis),
        }
    }

    fn ray(&mut self, (name, line, value): Entry<'_, '_>) -> Read<Ray> {
        let parameter = self.parameter(name, line)?;
        let wrong = |allowed: &str| wrong(line, name, &show(value.get_ref()), allowed);
        let DeValue::String(formula) = value.get_ref() else {
            let example = "must be a formula in quotation marks, such as \"sqrt(2 * vocab * ln(vocab))\"";
            return Err(wrong(example));
        };
        if !is_number(parameter) {
            return Err(wrong("no formula gives a word"));
        }
        let formula = Expression::parse(formula).map_err(|error| wrong(&error))?;
        for name in &formula.names {
            if !cell_settings().any(|setting| setting.name == name && is_number(setting)) {
                return Err(wrong(&format!("{name} is not a parameter that is a number")));
            }
        }
        Ok((parameter, formula))
    }

    /// Rays such that each comes after those it needs.
    fn in_order(mut rays: Vec<Ray>) -> Read<Vec<Ray>> {
        let mut ordered = Vec::new();
        while !rays.is_empty() {
            let needs = |ray: &Ray, name| ray.1.names.iter().any(|needed| needed == name);
            let waits = |ray: &Ray| rays.iter().any(|(parameter, _)| needs(ray, parameter.name));
            let Some(next) = rays.iter().position(|ray| !waits(ray)) else {
                return Err(SweepError::Circle { name: rays[0].0.name });
            };
            ordered.push(rays.remove(next));
        }
        Ok(ordered)
    }
}

fn known(name: &str, line: usize) -> Read<&'static Setting> {
    cell_settings().find(|setting| setting.name == name).ok_or_else(|| {
        let names: Vec<&str> = cell_settings().map(|setting| setting.name).collect();
        let note = format!("there are axes, points, rays, repeats, noise, {}", names.join(", "));
        SweepError::Line { line, problem: format!("unknown key {name}: {note}") }
    })
}

/// Whether a formula can give the value of a setting.
fn is_number(setting: &Setting) -> bool {
    matches!(setting.kind, Kind::Count | Kind::Number)
}

/// The value that a number stands for: whole numbers are rounded. The error says what is allowed.
pub fn from_number(setting: &Setting, x: f64) -> Result<Value, String> {
    let x = if setting.kind == Kind::Count { x.round() } else { x };
    setting.kind.convert(Value::Number(x))
}

/// A number, word or flag as it stands in a file. Whole numbers do not pass through floating point.
pub fn scalar(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::String(text) => Some(Value::Text(text.to_string().into())),
        DeValue::Boolean(flag) => Some(Value::Flag(*flag)),
        DeValue::Integer(whole) => {
            let digits = whole.as_str().replace('_', "");
            let count = u64::from_str_radix(&digits, whole.radix()).map(Value::Count);
            count.or_else(|_| digits.parse().map(Value::Number)).ok()
        }
        DeValue::Float(float) => float.as_str().replace('_', "").parse().map(Value::Number).ok(),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    scalar(value)?.as_f64()
}

/// A whole number from 1 to `max`.
fn whole(value: &DeValue<'_>, max: usize) -> Option<usize> {
    number(value).filter(|x| x.fract() == 0.0 && (1.0..=max as f64).contains(x)).map(|x| x as usize)
}

/// A value as a person would recognise it.
pub fn show(value: &DeValue<'_>) -> String {
    let text = match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.as_str().into(),
        DeValue::Float(number) => number.as_str().into(),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) => "(a list)".into(),
        DeValue::Table(_) => "(a table)".into(),
    };
    if text.chars().count() > 60 { text.chars().take(57).chain("...".chars()).collect() } else { text }
}
