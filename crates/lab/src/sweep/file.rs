//! A sweep as a person writes it, in TOML. Errors name the line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use superpose_core::config::Settings;

use super::expression::Expression;
use super::parameter::{Parameter, Value, integer, number};
use super::{Axis, Sweep, SweepError};

/// Values of one axis, at most.
const STEPS: u64 = 1_000_000;

/// Reads a sweep.
pub fn read(text: &str) -> Result<Sweep, SweepError> {
    let line = |start: usize| text[..start.min(text.len())].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| SweepError::Toml {
        line: error.span().map_or(1, |span| line(span.start)),
        reason: error.message().replace('\n', " "),
    })?;
    let mut reader = Reader { line: &line, given: Vec::new() };
    reader.file(table.get_ref())
}

struct Reader<'a> {
    line: &'a dyn Fn(usize) -> usize,
    given: Vec<Parameter>,
}

type Entry<'a, 'i> = (&'a str, usize, &'a Spanned<DeValue<'i>>);

impl Reader<'_> {
    /// The entries of a table in the order of the file, with the lines of their names.
    fn entries<'a, 'i>(&self, table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let line = |name: &Spanned<_>| (self.line)(name.span().start);
        entries.into_iter().map(|(name, value)| (name.get_ref().as_ref(), line(name), value)).collect()
    }

    fn file(&mut self, table: &DeTable<'_>) -> Result<Sweep, SweepError> {
        let mut sweep =
            Sweep { base: Settings::default(), axes: Vec::new(), rays: Vec::new(), repeats: 1, noise: false };
        for (name, line, value) in self.entries(table) {
            let wrong = |allowed: &'static str| SweepError::Value {
                line,
                name: name.into(),
                value: show(value.get_ref()),
                allowed: allowed.into(),
            };
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
                    let repeats = number(value).filter(|x| x.fract() == 0.0 && (1.0..=1e6).contains(x));
                    sweep.repeats =
                        repeats.ok_or_else(|| wrong("must be a whole number from 1 to 1000000"))? as usize;
                }
                ("noise", DeValue::Boolean(noise)) => sweep.noise = *noise,
                ("noise", _) => return Err(wrong("must be true or false")),
                _ => {
                    let parameter = self.parameter(name, line)?;
                    let value = self.value(parameter, line, value)?;
                    parameter.set(&mut sweep.base, &value).map_err(|allowed| SweepError::Value {
                        line,
                        name: name.into(),
                        value: value.to_string(),
                        allowed,
                    })?;
                }
            }
        }
        self.together()?;
        sweep.rays = self.in_order(sweep.rays)?;
        Ok(sweep)
    }

    /// A parameter that has not been given yet.
    fn parameter(&mut self, name: &str, line: usize) -> Result<Parameter, SweepError> {
        let parameter = known(name, line)?;
        if self.given.contains(&parameter) {
            return Err(SweepError::Twice { line, name: name.into() });
        }
        self.given.push(parameter);
        Ok(parameter)
    }

    fn value(
        &self,
        parameter: Parameter,
        line: usize,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Value, SweepError> {
        parameter.from_toml(value.get_ref()).map_err(|allowed| SweepError::Value {
            line,
            name: parameter.name().into(),
            value: show(value.get_ref()),
            allowed,
        })
    }

    /// A list of values, or a range.
    fn axis(&mut self, (name, line, value): Entry<'_, '_>) -> Result<Axis, SweepError> {
        let parameter = self.parameter(name, line)?;
        let values = match value.get_ref() {
            DeValue::Array(list) => {
                let line = |value: &Spanned<_>| (self.line)(value.span().start);
                list.iter()
                    .map(|value| self.value(parameter, line(value), value))
                    .collect::<Result<Vec<_>, _>>()?
            }
            DeValue::Table(range) => self.range(parameter, line, range)?,
            other => {
                let allowed = match other {
                    DeValue::String(_) => "must be a list or a range here; formulas stand under [rays]",
                    _ => "must be a list, or a range { from, to, steps, scale }",
                };
                return Err(SweepError::Value {
                    line,
                    name: name.into(),
                    value: show(other),
                    allowed: allowed.into(),
                });
            }
        };
        let mut points: Vec<Vec<(Parameter, Value)>> = Vec::with_capacity(values.len());
        for value in values {
            let point = vec![(parameter, value)];
            if points.last() != Some(&point) {
                points.push(point);
            }
        }
        match points.is_empty() {
            true => Err(SweepError::Value {
                line,
                name: name.into(),
                value: "[]".into(),
                allowed: "must have a value".into(),
            }),
            false => Ok(Axis { points }),
        }
    }

    /// `{ from = 64, to = 4096, steps = 7, scale = "geometric" }`
    fn range(
        &self,
        parameter: Parameter,
        line: usize,
        range: &DeTable<'_>,
    ) -> Result<Vec<Value>, SweepError> {
        let wrong = |name: &str, value: String, allowed: &str| SweepError::Value {
            line,
            name: format!("{}, {name}", parameter.name()),
            value,
            allowed: allowed.into(),
        };
        let (mut from, mut to, mut steps, mut geometric) = (None, None, None, false);
        for (name, _, value) in self.entries(range) {
            let value = value.get_ref();
            match (name, value) {
                ("from", value) => from = number(value).filter(|x| x.is_finite()),
                ("to", value) => to = number(value).filter(|x| x.is_finite()),
                ("steps", value) => steps = integer(value).filter(|steps| (1..=STEPS).contains(steps)),
                ("scale", DeValue::String(word)) if matches!(word.as_ref(), "linear" | "geometric") => {
                    geometric = word.as_ref() == "geometric";
                }
                ("scale", value) => return Err(wrong("scale", show(value), "must be linear or geometric")),
                _ => return Err(wrong(name, show(value), "a range has from, to, steps and scale")),
            }
        }
        let number = "must be given, a number";
        let from = from.ok_or_else(|| wrong("from", "(none)".into(), number))?;
        let to = to.ok_or_else(|| wrong("to", "(none)".into(), number))?;
        let steps = steps.ok_or_else(|| {
            wrong("steps", "(none)".into(), "must be given, a whole number from 1 to 1000000")
        })?;
        if geometric && !(from > 0.0 && to > 0.0) {
            return Err(wrong("scale", "geometric".into(), "needs from and to above 0"));
        }
        let at = |step: u64| {
            let share = step as f64 / (steps - 1).max(1) as f64;
            match (step, geometric) {
                (0, _) => from,
                (step, _) if step + 1 == steps => to,
                (_, true) => from * libm::pow(to / from, share),
                (_, false) => from + (to - from) * share,
            }
        };
        let value = |step: u64| {
            let x = at(step);
            parameter.from_number(x).map_err(|allowed| wrong("from or to", x.to_string(), allowed))
        };
        (0..steps).map(value).collect()
    }

    /// Parameters that move together, point by point.
    fn points(&mut self, line: usize, points: &[Spanned<DeValue<'_>>]) -> Result<Axis, SweepError> {
        let wrong = |line, allowed: &str| SweepError::Value {
            line,
            name: "points".into(),
            value: "(this one)".into(),
            allowed: allowed.into(),
        };
        let mut axis = Axis { points: Vec::new() };
        for (i, point) in points.iter().enumerate() {
            let line = (self.line)(point.span().start);
            let DeValue::Table(table) = point.get_ref() else {
                return Err(wrong(line, "must be a table of parameters"));
            };
            let mut values = Vec::new();
            for (name, line, value) in self.entries(table) {
                let parameter = if i == 0 { self.parameter(name, line)? } else { known(name, line)? };
                values.push((parameter, self.value(parameter, line, value)?));
            }
            values.sort_by_key(|(parameter, _)| parameter.name());
            let names =
                |values: &[(Parameter, Value)]| -> Vec<Parameter> { values.iter().map(|v| v.0).collect() };
            if axis.points.first().is_some_and(|first| names(first) != names(&values)) {
                return Err(wrong(line, "must have the parameters of the first point"));
            }
            axis.points.push(values);
        }
        match axis.points.first().is_none_or(Vec::is_empty) {
            true => Err(wrong(line, "must have a parameter")),
            false => Ok(axis),
        }
    }

    /// A parameter that follows from the others.
    fn ray(&mut self, (name, line, value): Entry<'_, '_>) -> Result<(Parameter, Expression), SweepError> {
        let parameter = self.parameter(name, line)?;
        let wrong = |allowed: String| SweepError::Value {
            line,
            name: name.into(),
            value: show(value.get_ref()),
            allowed,
        };
        let DeValue::String(formula) = value.get_ref() else {
            return Err(wrong(
                "must be a formula in quotation marks, such as \"sqrt(2 * vocab * ln(vocab))\"".into(),
            ));
        };
        if !parameter.is_number() {
            return Err(wrong("no formula gives a word".into()));
        }
        let formula = Expression::parse(formula).map_err(|error| wrong(error.to_string()))?;
        for name in formula.names() {
            if !Parameter::named(name).is_some_and(Parameter::is_number) {
                return Err(wrong(format!("{name} is not a parameter that is a number")));
            }
        }
        Ok((parameter, formula))
    }

    /// Rays such that each comes after those it needs.
    fn in_order(
        &self,
        mut rays: Vec<(Parameter, Expression)>,
    ) -> Result<Vec<(Parameter, Expression)>, SweepError> {
        let mut ordered: Vec<(Parameter, Expression)> = Vec::new();
        while !rays.is_empty() {
            let waits = |ray: &(Parameter, Expression)| {
                rays.iter().any(|(parameter, _)| ray.1.names().contains(&parameter.name()))
            };
            let Some(next) = rays.iter().position(|ray| !waits(ray)) else {
                return Err(SweepError::Circle { name: rays[0].0.name() });
            };
            ordered.push(rays.remove(next));
        }
        Ok(ordered)
    }

    /// Rules about parameters beside each other, those of `superpose run`.
    fn together(&self) -> Result<(), SweepError> {
        let gives = |name: &str| self.given.iter().any(|parameter| parameter.name() == name);
        if gives("gamma") && gives("lead") {
            return Err(SweepError::Together {
                names: "gamma and lead",
                why: "the lead sets gamma; give one of them",
            });
        }
        if gives("activation") && !gives("width") {
            let why = "only the attention-MLP model has an activation; give a width";
            return Err(SweepError::Together { names: "activation without width", why });
        }
        Ok(())
    }
}

fn known(name: &str, line: usize) -> Result<Parameter, SweepError> {
    Parameter::named(name).ok_or_else(|| SweepError::Unknown {
        line,
        name: name.into(),
        note: match name {
            "import" | "embedding_file" | "embedding_tensor" => {
                "a sweep takes no files, since a result must follow from its configuration; superpose run does".into()
            }
            _ => format!("there are axes, points, rays, repeats, noise, {}", Parameter::list()),
        },
    })
}

/// A value as a person would recognise it.
fn show(value: &DeValue<'_>) -> String {
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
