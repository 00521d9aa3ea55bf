//! Planning the cheapest model for a number of facts: options, validation and the serialised result.

use serde::{Deserialize, Serialize};
use superpose_core::config::{
    Activation, ConfigError, Embedding, Trigger, between, check_ranges, counts, within,
};
use superpose_core::{Measures, settings};
use superpose_theory::critical::Target;
use superpose_theory::plan::{Plan, Request, Row, checked_words};
use superpose_theory::predict::Dominant;

use crate::predict::Condition;
use crate::words::{blame, grouped};

/// What cheapest means.
pub const CRITERION: &str = "fewest trained parameters (d^2, or d m with an MLP), then fewest samples";

/// Maximum number of facts, and of tokens in a sequence.
const MAX_FACTS: usize = 1_000_000_000;
const MAX_DIM: usize = 1_000_000;
const MAX_WIDTH: usize = 1_000_000_000;
/// Maximum number of samples, and of trained parameters.
const MAX_SAMPLES: usize = 1_000_000_000_000_000;

settings! {
    /// The options of a plan, not yet validated. The planner finds absent sizes.
    pub struct PlanOptions in "" requires facts length {
        /// Number of facts V.
        facts: u64 as "V" = 1000, counts(2, MAX_FACTS);
        /// Sequence length L.
        length: u64 as "L" = 32, counts(1, MAX_FACTS);
        /// Accuracy to reach.
        accuracy: f64 as "SHARE" = 0.99, between(0.0, 1.0);
        /// Embedding dimension d; absent: the smallest that reaches the accuracy.
        dim: Option<u64> as "D" = None, counts(1, MAX_DIM);
        /// Width m of the MLP. A width or an activation selects the attention-MLP model.
        width: Option<u64> as "M" = None, counts(1, MAX_WIDTH);
        /// Activation of the MLP; absent: relu if a width is given.
        activation: Option<Activation> = None;
        /// Trigger in keys and values (values), or in keys only (keys).
        trigger: Trigger = Trigger::Values;
        /// Exponent of Zipf's law; plans are for uniform tokens, so only 0 is allowed.
        zipf: f64 as "S" = 0.0, within(0.0, 10.0);
        /// Maximum number of training samples N; absent: no limit.
        samples: Option<u64> as "N" = None, counts(1, MAX_SAMPLES);
        /// Maximum number of trained parameters: d^2, or d m with an MLP; absent: no limit.
        max_parameters: Option<u64> as "P" = None, counts(1, MAX_SAMPLES);
    }
}

impl PlanOptions {
    /// Validates every value.
    ///
    /// # Errors
    /// Fails if a value is out of range; the error names the parameter.
    pub fn check(&self) -> Result<Request, ConfigError> {
        check_ranges(self, PlanOptions::settings())?;
        if self.zipf > 0.0 {
            let allowed = "plans are for uniform tokens; threshold and predict take zipf";
            return Err(ConfigError::value("zipf", self.zipf, allowed));
        }
        let number = |count: Option<u64>| count.map(|count| count as f64);
        Ok(Request {
            facts: self.facts as f64,
            length: self.length as f64,
            accuracy: self.accuracy,
            dim: number(self.dim),
            width: number(self.width),
            activation: self.activation,
            embedding: Embedding::Gaussian,
            trigger: self.trigger,
            samples: number(self.samples),
            max_parameters: number(self.max_parameters),
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
    /// Tokens that must be kept of every sequence for the accuracy; absent where the memory does not reach it.
    #[serde(serialize_with = "superpose_theory::plan::whole_or_none")]
    #[schemars(with = "Option<u64>")]
    pub keep: Option<f64>,
    /// The measures predicted there, with that number of kept tokens.
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
            keep: plan.keep,
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
            checked: checked_words(&plan.request.point(1.0)),
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
            format!("Parameters bind: {} are allowed, {} are needed.", grouped(max), grouped(parameters))
        }
        (_, _, Some(dominant)) => {
            let (part, term) = blame(&dominant);
            format!("What binds: {term} in the {part}.")
        }
        (_, _, None) => "What binds: nothing; there is no noise.".into(),
    }
}
