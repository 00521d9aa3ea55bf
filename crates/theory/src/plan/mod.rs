//! Planning: the cheapest model that recalls a number of facts from sequences of a given length (theory: planning).
//!
//! The cheapest model has the fewest trained parameters, `d^2` for the attention-only model and `d m` with an MLP, and then
//! the fewest samples. A plan also has the trade-off curve: the samples or width that a larger dimension saves. Accuracy is
//! three-step recall, as in [`mod@crate::critical`]. Sizes are real numbers, so nothing overflows; [`expected_error`] returns
//! the error inside the validated range.

mod checked;

use serde::{Deserialize, Serialize, Serializer};
use superpose_core::config::{Activation, Embedding, Trigger};
use superpose_core::{Measure, Settings};

pub use checked::{Validated, checked_words, expected_error, validated};

use crate::attention::{kept_rate, tokens_to_keep};
use crate::conditions::{Condition, Subject};
use crate::critical::{Critical, Parameter, Target, critical};
use crate::point::{Point, Zipf};
use crate::predict::{Dominant, Prediction, predict_at};

/// The request for a plan. Sizes that are None are to be found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Request {
    /// Facts to recall, `V`, at least 2.
    #[serde(serialize_with = "whole")]
    #[schemars(with = "u64")]
    pub facts: f64,
    /// Sequence length, `L`.
    #[serde(serialize_with = "whole")]
    #[schemars(with = "u64")]
    pub length: f64,
    /// Accuracy to reach, above 0 and below 1.
    pub accuracy: f64,
    /// Dimension, `d`.
    #[serde(serialize_with = "whole_or_none")]
    #[schemars(with = "Option<u64>")]
    pub dim: Option<f64>,
    /// Width of the MLP, `m`.
    #[serde(serialize_with = "whole_or_none")]
    #[schemars(with = "Option<u64>")]
    pub width: Option<f64>,
    /// Activation of the MLP. A width or an activation selects the attention-MLP model.
    pub activation: Option<Activation>,
    /// How embeddings are made.
    pub embedding: Embedding,
    /// Where the trigger is added.
    pub trigger: Trigger,
    /// Available samples, `N`.
    #[serde(serialize_with = "whole_or_none")]
    #[schemars(with = "Option<u64>")]
    pub samples: Option<f64>,
    /// Largest allowed number of trained parameters.
    #[serde(serialize_with = "whole_or_none")]
    #[schemars(with = "Option<u64>")]
    pub max_parameters: Option<f64>,
}

/// Writes a whole number without a fraction, as `170` rather than `170.0`.
pub fn whole<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match x.fract() == 0.0 && (0.0..2f64.powi(64)).contains(x) {
        true => serializer.serialize_u64(*x as u64),
        false => serializer.serialize_f64(*x),
    }
}

/// The same of a number that may be absent.
pub fn whole_or_none<S: Serializer>(x: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match x {
        Some(x) => whole(x, serializer),
        None => serializer.serialize_none(),
    }
}

/// One model of the trade-off curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Row {
    /// Dimension, `d`.
    #[serde(serialize_with = "whole")]
    #[schemars(with = "u64")]
    pub dim: f64,
    /// Width of the MLP, `m`, the smallest that reaches the accuracy; None without an MLP or where no width does.
    #[serde(serialize_with = "whole_or_none")]
    #[schemars(with = "Option<u64>")]
    pub width: Option<f64>,
    /// Trained parameters, `d^2` or `d m`.
    #[serde(serialize_with = "whole_or_none")]
    #[schemars(with = "Option<u64>")]
    pub parameters: Option<f64>,
    /// Samples that this model needs.
    #[serde(serialize_with = "whole_or_none")]
    #[schemars(with = "Option<u64>")]
    pub samples: Option<f64>,
    /// The limiting noise term, where the accuracy is not reached.
    pub forbids: Option<Dominant>,
    /// Whether the model reaches the accuracy within the allowed samples and parameters.
    pub allowed: bool,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The request.
    pub request: Request,
    /// The accuracy that is planned for.
    pub target: Target,
    /// The cheapest model; None where no allowed model reaches the accuracy.
    pub cheapest: Option<Row>,
    /// Tokens that must be kept of every sequence for the accuracy: with fewer, the informative token is dropped too often even if the
    /// memory is read with attention on it. None where the memory itself does not reach the accuracy.
    #[serde(serialize_with = "whole_or_none")]
    pub keep: Option<f64>,
    /// The prediction for the cheapest model, with that number of kept tokens; without one, for the cheapest model that reaches the accuracy without the
    /// limits, or else for the largest that was tried.
    pub prediction: Prediction,
    /// The leading-order condition with the smallest margin there, except the one of the one-step accuracy.
    pub tightest: Option<Condition>,
    /// The trade-off, by dimension.
    pub curve: Vec<Row>,
    /// Expected rms error of the accuracy; None where the formulas are extrapolated.
    pub error: Option<f64>,
    /// Which sizes are extrapolated.
    pub error_reason: Option<String>,
}

/// Dimensions of the curve, relative to the smallest one.
const LADDER: [f64; 11] = [1.0, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0, 4.0, 8.0, 16.0];

/// Makes a plan.
pub fn plan(request: &Request) -> Plan {
    let (_, max_samples) = Parameter::Samples.range(&request.point(1.0));
    let data = request.samples.unwrap_or(max_samples);
    let mut curve: Vec<Row> = request.dims(data).into_iter().map(|dim| request.row(dim, data)).collect();
    if let (true, None, None) = (request.has_mlp(), request.dim, request.width) {
        refine(request, data, &mut curve);
    }
    let cheapest = cheapest_of(&curve, |row| row.allowed);
    let best =
        cheapest.or_else(|| cheapest_of(&curve, |row| row.samples.is_some())).or(curve.last().copied());
    let mut point = request.point(best.map_or(1.0, |row| row.dim));
    point.samples = request.samples.or(best.and_then(|row| row.samples)).unwrap_or(max_samples);
    if let Some(width) = best.and_then(|row| row.width) {
        point.width = Some(width);
    }
    let mut prediction = predict_at(&point);
    let memory = prediction.measures[Measure::MemoryAccuracy].filter(|&memory| memory >= request.accuracy);
    let keep = memory.map(|memory| tokens_to_keep(&point, request.accuracy / memory));
    prediction.measures[Measure::KeptRate] = Some(kept_rate(&Point { keep, ..point }));
    let three_step = prediction.conditions.iter().filter(|condition| condition.subject != Subject::OneStep);
    let tightest = three_step.min_by(|a, b| a.margin().total_cmp(&b.margin())).cloned();
    let expected = expected_error(&point);
    Plan {
        request: *request,
        target: Target::recall(request.accuracy),
        cheapest,
        keep,
        tightest,
        prediction,
        curve,
        error: expected.clone().ok(),
        error_reason: expected.err(),
    }
}

/// The order of models: by parameters, then by samples.
fn cost(row: &Row) -> f64 {
    row.parameters.unwrap_or(f64::INFINITY) + row.samples.unwrap_or(1e15) * 1e-16
}

fn cheapest_of(curve: &[Row], among: impl Fn(&&Row) -> bool) -> Option<Row> {
    curve.iter().filter(among).min_by(|a, b| cost(a).total_cmp(&cost(b))).copied()
}

/// Adds dimensions between those around the cheapest model, where the product of d and m is smallest.
fn refine(request: &Request, data: f64, curve: &mut Vec<Row>) {
    for _ in 0..3 {
        let cheapest = (0..curve.len()).filter(|&i| curve[i].allowed);
        let Some(i) = cheapest.min_by(|&a, &b| cost(&curve[a]).total_cmp(&cost(&curve[b]))) else { return };
        let middle = curve[i].dim;
        let near = [i.checked_sub(1), (i + 1 < curve.len()).then_some(i + 1)];
        for neighbour in near.into_iter().flatten() {
            let dim = (middle * curve[neighbour].dim).sqrt().round();
            if curve.iter().all(|row| row.dim != dim) {
                let row = request.row(dim, data);
                // Only better models are added to the curve.
                if row.allowed && cost(&row) < cost(&curve[i]) {
                    curve.push(row);
                }
            }
        }
        curve.sort_by(|a, b| a.dim.total_cmp(&b.dim));
    }
}

impl Request {
    /// Whether the model has an MLP.
    pub fn has_mlp(&self) -> bool {
        self.width.is_some() || self.activation.is_some()
    }

    /// The point of the request at a dimension; without samples it has one, and an MLP without a width has the largest.
    pub fn point(&self, dim: f64) -> Point {
        let max_width = 1e9;
        Point {
            vocab: self.facts,
            dim,
            length: self.length,
            samples: self.samples.unwrap_or(1.0),
            width: self.has_mlp().then(|| self.width.unwrap_or(max_width)),
            activation: self.activation.unwrap_or(Activation::Relu),
            embedding: self.embedding,
            trigger: self.trigger,
            keep: None,
            lead: Settings::default().lead,
            zipf: Zipf::default(),
            rows: None,
        }
    }

    /// The dimensions of the curve: the smallest that reaches the accuracy with the given samples, and some larger ones.
    fn dims(&self, data: f64) -> Vec<f64> {
        if let Some(dim) = self.dim {
            return vec![dim];
        }
        let point = Point { samples: data, ..self.point(1.0) };
        let (first, last) = Parameter::Dim.range(&point);
        let min_dim = critical(&point, Parameter::Dim, self.accuracy).value().unwrap_or(last).max(first);
        let mut dims: Vec<f64> = LADDER.iter().map(|factor| (min_dim * factor).ceil().min(last)).collect();
        dims.dedup();
        dims
    }

    fn row(&self, dim: f64, data: f64) -> Row {
        let mut point = Point { samples: data, ..self.point(dim) };
        let mut forbids = None;
        let mut note = |critical: Critical| {
            if let Critical::Unreachable { dominant, .. } = critical {
                forbids = dominant;
            }
            critical.value()
        };
        if self.has_mlp() && self.width.is_none() {
            point.width = note(critical(&point, Parameter::Width, self.accuracy));
            if point.width.is_none() {
                return Row { dim, width: None, parameters: None, samples: None, forbids, allowed: false };
            }
        }
        let samples = note(critical(&point, Parameter::Samples, self.accuracy));
        let parameters = dim * point.width.unwrap_or(dim);
        let enough = samples.is_some_and(|samples| self.samples.is_none_or(|max| samples <= max));
        let allowed = enough && self.max_parameters.is_none_or(|max| parameters <= max);
        Row { dim, width: point.width, parameters: Some(parameters), samples, forbids, allowed }
    }
}

#[cfg(test)]
mod tests;
