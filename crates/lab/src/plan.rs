//! Plans: the options of the cheapest model for a number of facts, their validation, and the record.

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

/// Maximum number of facts, and of tokens in a sequence.
pub const MAX_FACTS: u64 = 1_000_000_000;
/// Maximum dimension.
pub const MAX_DIM: u64 = 1_000_000;
/// Maximum width.
pub const MAX_WIDTH: u64 = 1_000_000_000;
/// Maximum number of samples, and of trained parameters.
pub const MAX_SAMPLES: u64 = 1_000_000_000_000_000;

/// The options of a plan, not yet validated. Absent sizes are found by the planner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanOptions {
    /// Facts to recall.
    #[schemars(range(min = 2, max = MAX_FACTS))]
    pub facts: u64,
    /// Sequence length.
    #[schemars(range(min = 1, max = MAX_FACTS))]
    pub length: u64,
    /// Accuracy to reach.
    #[serde(default = "accuracy")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub accuracy: f64,
    /// Embedding dimension.
    #[schemars(range(min = 1, max = MAX_DIM))]
    pub dim: Option<u64>,
    /// Width of the MLP. A width or an activation asks for the attention-MLP model.
    #[schemars(range(min = 1, max = MAX_WIDTH))]
    pub width: Option<u64>,
    /// Activation of the MLP.
    pub activation: Option<Activation>,
    /// Where the trigger is added.
    #[serde(default = "trigger")]
    pub trigger: Trigger,
    /// Samples available.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub samples: Option<u64>,
    /// Maximum number of trained parameters.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub max_parameters: Option<u64>,
}

fn accuracy() -> f64 {
    0.99
}

fn trigger() -> Trigger {
    Trigger::Values
}

impl PlanOptions {
    /// Validates every value.
    ///
    /// # Errors
    /// Fails if a value is out of range; the error names the parameter.
    pub fn check(&self) -> Result<Request, ConfigError> {
        share("accuracy", self.accuracy)?;
        let whole = |parameter, value: u64, min: u64, max: u64| match (min..=max).contains(&value) {
            true => Ok(value as f64),
            false => {
                let allowed = format!("must be a whole number from {min} to {}", grouped(max as f64));
                Err(ConfigError::value(parameter, value, allowed))
            }
        };
        let maybe = |parameter, value: Option<u64>, max: u64| {
            value.map(|value| whole(parameter, value, 1, max)).transpose()
        };
        Ok(Request {
            facts: whole("facts", self.facts, 2, MAX_FACTS)?,
            length: whole("length", self.length, 1, MAX_FACTS)?,
            accuracy: self.accuracy,
            dim: maybe("dim", self.dim, MAX_DIM)?,
            width: maybe("width", self.width, MAX_WIDTH)?,
            activation: self.activation,
            embedding: Embedding::Gaussian,
            trigger: self.trigger,
            samples: maybe("samples", self.samples, MAX_SAMPLES)?,
            max_parameters: maybe("max_parameters", self.max_parameters, MAX_SAMPLES)?,
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
    /// What prevents a cheaper model.
    pub binds: Binds,
    /// Leading-order conditions with their values.
    pub conditions: Vec<Condition>,
    /// The trade-off, by dimension.
    pub curve: Vec<Row>,
    /// Expected rms error of the accuracy; absent where the formulas are extrapolated.
    pub error: Option<f64>,
    /// Which values are extrapolated.
    pub error_reason: Option<String>,
    /// Where the formulas were validated.
    pub checked: String,
    /// The request.
    pub request: Request,
    /// The version of superpose.
    pub version: String,
}

/// What prevents a cheaper model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Binds {
    /// The limiting noise term.
    pub dominant: Option<Dominant>,
    /// The leading-order condition with the smallest margin.
    pub condition: Option<Condition>,
    /// Both as a sentence.
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

/// Returns a sentence that says what prevents a cheaper model.
pub fn binds(plan: &Plan) -> String {
    let request = &plan.request;
    let over = |row: &Row| {
        let max = request.max_parameters?;
        row.parameters.filter(|&parameters| parameters > max).map(|parameters| (parameters, max))
    };
    let forbidden = plan.curve.last().and_then(|row| row.forbids);
    let possible = plan.curve.iter().filter(|row| row.samples.is_some()).filter_map(over);
    let smallest = possible.min_by(|a, b| a.0.total_cmp(&b.0));
    match (&plan.cheapest, smallest, forbidden.or(plan.prediction.dominant)) {
        (None, Some((parameters, max)), _) => {
            format!("max_parameters binds: {} are allowed, {} are needed.", grouped(max), grouped(parameters))
        }
        (_, _, Some(dominant)) => {
            let (part, term) = blame(&dominant);
            format!("What binds: {term} in the {part}.")
        }
        (_, _, None) => "What binds: nothing; there is no noise.".into(),
    }
}
