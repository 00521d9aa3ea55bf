//! Plans for people and programs: checked limits, one call, a record.

use serde::{Deserialize, Serialize};
use superpose_core::Measures;
use superpose_core::config::{Activation, ConfigError, Embedding, Trigger, share};
use superpose_theory::critical::Target;
use superpose_theory::plan::{Plan, Request, Row, checked};
use superpose_theory::predict::Dominant;

use crate::predict::Condition;
use crate::words::{blame, grouped};

/// What cheapest means.
pub const CRITERION: &str = "fewest trained parameters (d^2, or d m with an MLP), then fewest samples";

/// Largest number of facts, and of tokens in a sequence.
pub const MOST_FACTS: u64 = 1_000_000_000;
/// Largest dimension.
pub const MOST_DIM: u64 = 1_000_000;
/// Largest width.
pub const MOST_WIDTH: u64 = 1_000_000_000;
/// Largest number of samples, and of trained parameters.
pub const MOST_SAMPLES: u64 = 1_000_000_000_000_000;

/// What is asked of a plan, as it was typed. Sizes that are absent are to be found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanOptions {
    /// Facts to recall.
    #[schemars(range(min = 2, max = MOST_FACTS))]
    pub facts: u64,
    /// Sequence length.
    #[schemars(range(min = 1, max = MOST_FACTS))]
    pub length: u64,
    /// Accuracy to reach.
    #[serde(default = "accuracy")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub accuracy: f64,
    /// Embedding dimension.
    #[schemars(range(min = 1, max = MOST_DIM))]
    pub dim: Option<u64>,
    /// Width of the MLP. A width or an activation asks for the attention-MLP model.
    #[schemars(range(min = 1, max = MOST_WIDTH))]
    pub width: Option<u64>,
    /// Activation of the MLP.
    pub activation: Option<Activation>,
    /// Where the trigger is added.
    #[serde(default = "trigger")]
    pub trigger: Trigger,
    /// Samples at hand.
    #[schemars(range(min = 1, max = MOST_SAMPLES))]
    pub samples: Option<u64>,
    /// Most trained parameters that are allowed.
    #[schemars(range(min = 1, max = MOST_SAMPLES))]
    pub max_parameters: Option<u64>,
}

fn accuracy() -> f64 {
    0.99
}

fn trigger() -> Trigger {
    Trigger::Values
}

impl PlanOptions {
    /// So many facts from sequences of that length, everything else open.
    pub fn new(facts: u64, length: u64) -> PlanOptions {
        PlanOptions {
            facts,
            length,
            accuracy: accuracy(),
            dim: None,
            width: None,
            activation: None,
            trigger: trigger(),
            samples: None,
            max_parameters: None,
        }
    }

    /// Checks every value; the result can be planned for.
    pub fn check(&self) -> Result<Request, ConfigError> {
        share("accuracy", self.accuracy)?;
        let whole = |parameter, value: u64, least: u64, most: u64| match (least..=most).contains(&value) {
            true => Ok(value as f64),
            false => {
                let allowed = format!("must be a whole number from {least} to {}", grouped(most as f64));
                Err(ConfigError::value(parameter, value, allowed))
            }
        };
        let maybe = |parameter, value: Option<u64>, most: u64| {
            value.map(|value| whole(parameter, value, 1, most)).transpose()
        };
        Ok(Request {
            facts: whole("facts", self.facts, 2, MOST_FACTS)?,
            length: whole("length", self.length, 1, MOST_FACTS)?,
            accuracy: self.accuracy,
            dim: maybe("dim", self.dim, MOST_DIM)?,
            width: maybe("width", self.width, MOST_WIDTH)?,
            activation: self.activation,
            embedding: Embedding::Gaussian,
            trigger: self.trigger,
            samples: maybe("samples", self.samples, MOST_SAMPLES)?,
            max_parameters: maybe("max_parameters", self.max_parameters, MOST_SAMPLES)?,
        })
    }
}

/// A plan as a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanRecord {
    /// Whether any model within the limits reaches the accuracy.
    pub feasible: bool,
    /// What cheapest means.
    pub criterion: String,
    /// The accuracy that is planned for.
    pub target: Target,
    /// The cheapest model.
    pub cheapest: Option<Row>,
    /// The measures predicted there.
    #[serde(flatten)]
    pub measures: Measures<Option<f64>>,
    /// What stands in the way of a cheaper model.
    pub binds: Binds,
    /// Leading-order conditions with their values.
    pub conditions: Vec<Condition>,
    /// The trade-off, by dimension.
    pub curve: Vec<Row>,
    /// Rms error to expect of the accuracy; absent where the formulas are extrapolated.
    pub error: Option<f64>,
    /// What is extrapolated.
    pub error_reason: Option<String>,
    /// Where the formulas were checked.
    pub checked: String,
    /// The request.
    pub request: Request,
    /// The version that planned.
    pub version: String,
}

/// What stands in the way of a cheaper model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Binds {
    /// The noise term.
    pub dominant: Option<Dominant>,
    /// The leading-order condition with least room.
    pub condition: Option<Condition>,
    /// All of it in one sentence.
    pub text: String,
}

impl From<&Plan> for PlanRecord {
    fn from(plan: &Plan) -> PlanRecord {
        let p = &plan.prediction;
        PlanRecord {
            feasible: plan.cheapest.is_some(),
            criterion: CRITERION.into(),
            target: plan.target,
            cheapest: plan.cheapest,
            measures: p.measures,
            binds: Binds {
                dominant: p.dominant,
                condition: plan.tightest.as_ref().map(Condition::from),
                text: binds(plan),
            },
            conditions: p.conditions.iter().map(Condition::from).collect(),
            curve: plan.curve.clone(),
            error: plan.error,
            error_reason: plan.error_reason.clone(),
            checked: checked(plan.request.has_mlp()).words.into(),
            request: plan.request,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

/// What stands in the way of a cheaper model, in one sentence.
pub fn binds(plan: &Plan) -> String {
    let request = &plan.request;
    let over = |row: &Row| {
        let most = request.max_parameters?;
        row.parameters.filter(|&parameters| parameters > most).map(|parameters| (parameters, most))
    };
    let forbidden = plan.curve.last().and_then(|row| row.forbids);
    let possible = plan.curve.iter().filter(|row| row.samples.is_some()).filter_map(over);
    let least = possible.min_by(|a, b| a.0.total_cmp(&b.0));
    match (&plan.cheapest, least, forbidden.or(plan.prediction.dominant)) {
        (None, Some((parameters, most)), _) => format!(
            "max_parameters binds: {} are allowed, {} are needed.",
            grouped(most),
            grouped(parameters)
        ),
        (_, _, Some(dominant)) => {
            let (part, term) = blame(&dominant);
            format!("What binds: {term} in the {part}.")
        }
        (_, _, None) => "What binds: nothing; there is no noise.".into(),
    }
}
