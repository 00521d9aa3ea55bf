//! All predictions at a point, and why some are missing (theory).

use std::fmt;

use serde::{Deserialize, Serialize};
use superpose_core::config::{EarlyRule, Labels, Regime};
use superpose_core::{Config, Measure, Measures, Settings};

use crate::attention::{Scores, kept_rate, kept_rate_of, lock_rate};
use crate::conditions::{Condition, Subject, conditions};
use crate::critical::Recall;
use crate::kernel::{Measured, Summary};
use crate::limit::limit;
use crate::memory::Memory;
use crate::noise::{LogitNoise, ScoreNoise, Term};
use crate::one_step::{one_step_accuracy, one_step_beside};
use crate::point::{Point, Zipf, without_formula};
use crate::recall::{MIN_TIGHT_LEAD, Nodes, Weights};
use crate::rounds::Rounds;
use crate::rows::Rows;
pub use crate::zipf::ByFact;
use crate::zipf::{Zipfian, muon};

/// Defines each reason by its text, which is also its description in schemas.
macro_rules! reasons {
    ($($variant:ident: $text:literal,)+) => {
        /// Why a quantity is not predicted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Reason { $(#[doc = $text] $variant),+ }

        impl Reason {
            /// The reason in words.
            pub fn text(self) -> &'static str {
                match self { $(Reason::$variant => $text),+ }
            }
        }
    };
}

reasons! {
    Zipf: "under Zipf's law the formulas are for the attention-only model with overlapping embeddings",
    ZipfLead: "under Zipf's law the formula is for a lead of at least 3",
    ZipfKeep: "under Zipf's law the formula is for attention on all tokens of a sequence",
    NoiseVocab: "the formulas are for noise tokens from the facts' vocabulary",
    LabelClasses: "the formulas are for one label per fact",
    ExactRegime: "the formulas are for the infinitesimal regime",
    EarlyRule: "the formulas are for gradient steps of the memory",
    Rounds: "the formulas are for one round of an attention and a memory step",
    Gamma: "the formulas are for a rate of step 2 that is set by the lead",
    SmallLeadKeep: "with tokens dropped, the formulas are for a lead of at least 3: with less, the dropped tokens had attention",
    Dropped: "the formula is for attention on all tokens of a sequence",
    FileEmbedding: "the embeddings come from a file: measure their statistics first",
    Structure: "the formulas are for rows without structure",
    Trained: "the formulas are for the three-step early phase, not for training that goes on",
    OutputEmbedding: "the formulas are for output embeddings that are independent of the input",
    Import: "imported tensors may be anything: measure their statistics first",
    OrthonormalMlp: "one step of an MLP over orthonormal embeddings has no formula",
    MeasuredKernel: "only memory accuracy follows from measured statistics",
    MeasuredRows: "with measured rows the formulas are for three steps of the attention-only model on uniform tokens",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// A measure that is not predicted, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gap {
    /// The measure.
    pub quantity: Measure,
    /// Why.
    pub reason: Reason,
}

superpose_core::words!(
    /// The part of the model that holds accuracy down.
    Part {
        /// What step 3 stores.
        Memory = "memory",
        /// What step 2 looks at.
        Attention = "attention",
    }
);

/// The largest noise term where it matters most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Dominant {
    /// Memory, or attention if its lock rate is the smaller of the two.
    pub part: Part,
    /// The largest term there. Coverage, when facts that no sample shows are half of the errors or more.
    pub term: Term,
}

/// Sizes of noise terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Of the logits, attention on `ell`.
    pub logits: Option<LogitNoise>,
    /// Of the token scores.
    pub scores: Option<ScoreNoise>,
}

/// What the theory says about a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The predicted measures. Recall is the lock rate times what a run with that lock rate has stored, averaged over runs.
    #[serde(flatten)]
    pub measures: Measures<Option<f64>>,
    /// The same with equal weights of facts; none for uniform tokens, where it makes no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_fact: Option<ByFact>,
    /// Statistics of the kernel.
    pub kernel: Option<Summary>,
    /// Sizes of noise terms.
    pub noise: Noise,
    /// The noise term that limits recall.
    pub dominant: Option<Dominant>,
    /// Leading-order conditions with their values.
    pub conditions: Vec<Condition>,
    /// What is not predicted, and why.
    pub gaps: Vec<Gap>,
}

/// Predicts the outcome of a configuration.
pub fn predict(config: &Config) -> Prediction {
    predict_with(config, None)
}

/// Predicts the outcome of a configuration whose input embeddings were measured.
pub fn predict_with(config: &Config, rows: Option<Rows>) -> Prediction {
    let reasons = PREDICTED.map(|quantity| (quantity, uncovered_with(config, rows.is_some(), quantity)));
    let mut gaps = Vec::new();
    gaps.extend(reasons.iter().filter_map(|&(quantity, reason)| Some(Gap { quantity, reason: reason? })));
    if let Some([by_use, by_fact]) = muon::memory_accuracies(config).filter(|_| rows.is_none()) {
        gaps.retain(|gap| gap.quantity != Measure::MemoryAccuracy);
        let skewed = !Zipf::from(&**config).is_uniform();
        let by_fact = ByFact { accuracy: None, memory_accuracy: Some(by_fact), one_step_accuracy: None };
        let mut prediction = Prediction { by_fact: skewed.then_some(by_fact), gaps, ..Prediction::default() };
        prediction.measures[Measure::MemoryAccuracy] = Some(by_use);
        return prediction;
    }
    if gaps.len() == PREDICTED.len() {
        return Prediction { gaps, ..Prediction::default() };
    }
    let mut prediction = predict_at(&Point { rows, ..Point::from(config) });
    prediction.gaps.retain(|gap| gaps.iter().all(|other| other.quantity != gap.quantity));
    for gap in &gaps {
        prediction.measures[gap.quantity] = None;
        prediction.by_fact.iter_mut().for_each(|by_fact| by_fact.remove(gap.quantity));
    }
    let covered = gaps.iter().all(|gap| gap.reason == Reason::Rounds);
    prediction.gaps.extend(gaps);
    if config.rounds > 1 && covered {
        prediction.add_rounds(config);
    }
    prediction
}

/// Why the formula of a measure does not cover a configuration, if it does not. Every setting is named here, so that a new one
/// does not compile before it was decided whether the formulas cover it.
pub fn uncovered(config: &Config, measure: Measure) -> Option<Reason> {
    uncovered_with(config, false, measure)
}

/// The same where the input embeddings may have been measured.
pub fn uncovered_with(config: &Config, measured: bool, measure: Measure) -> Option<Reason> {
    let Settings {
        zipf: _,
        noise_zipf: _,
        noise_vocab,
        labels,
        regime,
        early_rule,
        rounds,
        gamma,
        lead,
        training,
        embedding,
        output_embedding,
        import,
        input_digest: _,
        length,
        // Recall with a large lead depends on the position with the largest score, which is always kept.
        keep,
        // What the formulas are functions of.
        vocab: _,
        dim: _,
        samples: _,
        width,
        activation: _,
        trigger: _,
        // Without effect in the infinitesimal regime.
        eta: _,
        eta2: _,
        // Without effect in one round.
        accumulate: _,
        // Accuracy of a single run, not of the mean over runs.
        precision: _,
        test_samples: _,
        repeats: _,
        seed: _,
    } = &**config;
    // The scale of the scores changes recall and attention, and their sign also the lock rate and kept rate, but not the other
    // measures.
    let signed = matches!(measure, Measure::LockRate | Measure::KeptRate);
    let dropped = keep.is_some_and(|keep| keep < *length);
    let (recall, mass) = (measure == Measure::Accuracy, measure == Measure::AttentionMass);
    let attended = !matches!(measure, Measure::MemoryAccuracy | Measure::OneStepAccuracy);
    let (skewed, point) = (!Zipf::from(&**config).is_uniform(), Point::from(config));
    let unscaled = gamma.is_some_and(|gamma| recall || mass || (signed && gamma <= 0.0));
    let reasons = [
        (skewed && !point.has_zipf_formulas()).then_some(Reason::Zipf),
        (skewed && recall && *lead < MIN_TIGHT_LEAD).then_some(Reason::ZipfLead),
        (skewed && dropped && measure == Measure::KeptRate).then_some(Reason::ZipfKeep),
        noise_vocab.is_some().then_some(Reason::NoiseVocab),
        (*labels != Labels::Permutation).then_some(Reason::LabelClasses),
        (*regime == Regime::Exact).then_some(Reason::ExactRegime),
        (*early_rule != EarlyRule::Gradient).then_some(Reason::EarlyRule),
        (*rounds > 1 && attended).then_some(Reason::Rounds),
        unscaled.then_some(Reason::Gamma),
        (dropped && recall && *lead < MIN_TIGHT_LEAD).then_some(Reason::SmallLeadKeep),
        (dropped && mass).then_some(Reason::Dropped),
        training.is_some().then_some(Reason::Trained),
        without_formula(embedding.kind()).filter(|_| !measured),
        output_embedding.is_some().then_some(Reason::OutputEmbedding),
        (import.is_some() && !measured).then_some(Reason::Import),
        (measured && (width.is_some() || skewed || measure == Measure::OneStepAccuracy))
            .then_some(Reason::MeasuredRows),
    ];
    reasons.into_iter().flatten().next()
}

/// The measures that have a formula.
const PREDICTED: [Measure; 6] = [
    Measure::Accuracy,
    Measure::MemoryAccuracy,
    Measure::LockRate,
    Measure::KeptRate,
    Measure::AttentionMass,
    Measure::OneStepAccuracy,
];

/// The prediction of one measure at a point; `None` when there is no formula for it.
pub fn predict_measure(measure: Measure, point: &Point) -> Option<f64> {
    if !point.zipf.is_uniform() {
        return point.has_zipf_formulas().then(|| Zipfian::new(point).measure(measure))?;
    }
    match measure {
        Measure::Accuracy => Some(Recall::new(point).accuracy(point.length, point.samples)),
        Measure::MemoryAccuracy => Some(Memory::new(point).accuracy(point.samples)),
        Measure::OneStepAccuracy => has_one_step(point).then(|| one_step_accuracy(point)),
        Measure::LockRate => Some(lock_rate(point)),
        Measure::KeptRate => Some(kept_rate(point)),
        Measure::AttentionMass => {
            let nodes = Nodes::of(point);
            Some(nodes.attention_mass(&nodes.weights(point, &Scores::of(point))))
        }
        Measure::Top5Accuracy | Measure::Margin => None,
    }
}

/// Whether one-step accuracy has a formula. With orthonormal embeddings counts decide, and an MLP transforms them.
fn has_one_step(point: &Point) -> bool {
    (!point.orthonormal() || point.width.is_none()) && point.rows.is_none()
}

/// Predicts at a point. Embeddings from a file count as Gaussian here; see [`predict_measured`].
pub fn predict_at(point: &Point) -> Prediction {
    if !point.zipf.is_uniform() {
        let prediction = point.has_zipf_formulas().then(|| Zipfian::new(point).predict());
        return prediction.unwrap_or_default().with_gaps(Reason::Zipf);
    }
    let memory = Memory::new(point);
    let one_step_accuracy = has_one_step(point).then(|| one_step_beside(point, memory.race.as_ref()));
    let scores = Scores::of(point);
    let nodes = Nodes::of(point);
    let weights = nodes.weights(point, &scores);
    let attention = Attention { nodes: &nodes, weights: &weights, kept_rate: kept_rate_of(point, &scores) };
    Prediction::assemble(point, &memory, Some(attention), one_step_accuracy, Some(scores.noise()))
}

/// Predicts memory accuracy at a point from measured statistics of the kernel and of the output embeddings.
pub fn predict_measured(point: &Point, measured: &Measured) -> Prediction {
    let memory = Memory::measured(point.vocab, measured);
    Prediction::assemble(point, &memory, None, None, None)
}

/// What the theory says about attention at a point.
#[derive(Clone, Copy)]
struct Attention<'a> {
    nodes: &'a Nodes,
    weights: &'a Weights,
    kept_rate: f64,
}

impl Prediction {
    fn assemble(
        point: &Point,
        memory: &Memory,
        attention: Option<Attention>,
        one_step_accuracy: Option<f64>,
        scores: Option<ScoreNoise>,
    ) -> Prediction {
        let memory_accuracy = memory.accuracy(point.samples);
        let logits = memory.noise(point.samples);
        let kernel = memory.kernel().summary();
        let lock_rate = attention.map(|Attention { weights, .. }| weights.lock_rate());
        let accuracy =
            attention.map(|Attention { nodes, weights, .. }| nodes.recall(memory, weights, point.samples));
        let attention_mass = attention.map(|Attention { nodes, weights, .. }| nodes.attention_mass(weights));
        let measures = Measures::from_fn(|measure| match measure {
            Measure::Accuracy => accuracy,
            Measure::MemoryAccuracy => Some(memory_accuracy),
            Measure::OneStepAccuracy => one_step_accuracy,
            Measure::LockRate => lock_rate,
            Measure::KeptRate => attention.map(|attention| attention.kept_rate),
            Measure::AttentionMass => attention_mass,
            Measure::Top5Accuracy | Measure::Margin => None,
        });
        let reason = match (attention.is_some(), point.rows.is_some()) {
            (true, true) => Reason::MeasuredRows,
            (true, false) => Reason::OrthonormalMlp,
            (false, _) => Reason::MeasuredKernel,
        };
        Prediction {
            measures,
            by_fact: None,
            kernel: Some(kernel),
            noise: Noise { logits: Some(logits), scores },
            dominant: dominant(point, memory_accuracy, lock_rate, &logits, scores.as_ref()),
            // The leading-order conditions are for random vectors.
            conditions: if point.rows.is_some() { Vec::new() } else { conditions(point, &kernel) },
            gaps: Vec::new(),
        }
        .with_gaps(reason)
    }

    /// Adds what is known about more than one round: the lock rate of the second, and the condition for it to be higher.
    fn add_rounds(&mut self, config: &Config) {
        let Some(rounds) = Rounds::of(config) else { return };
        let [first, second] = rounds.means();
        if config.rounds == 2 {
            self.measures[Measure::LockRate] = Some(second);
            self.gaps.retain(|gap| gap.quantity != Measure::LockRate);
        }
        self.conditions.extend(rounds.fixed_point().map(|fixed_point| Condition {
            subject: Subject::Rounds,
            statement: "lock rate of round 1 > unstable fixed point".into(),
            left: first,
            right: fixed_point,
        }));
    }

    /// The prediction with a reason for every measure that has a formula elsewhere but not here.
    fn with_gaps(mut self, reason: Reason) -> Prediction {
        let missing = PREDICTED.into_iter().filter(|&measure| self.measures[measure].is_none());
        self.gaps = missing.map(|quantity| Gap { quantity, reason }).collect();
        self
    }
}

/// The limiting part and noise term of a prediction.
pub(crate) fn dominant(
    point: &Point,
    memory_accuracy: f64,
    lock_rate: Option<f64>,
    logits: &LogitNoise,
    scores: Option<&ScoreNoise>,
) -> Option<Dominant> {
    dominant_of(libm::exp(-point.coverage()), memory_accuracy, lock_rate, logits, scores)
}

/// The same for a given share of uses of facts that no sample shows.
pub(crate) fn dominant_of(
    unseen: f64,
    memory_accuracy: f64,
    lock_rate: Option<f64>,
    logits: &LogitNoise,
    scores: Option<&ScoreNoise>,
) -> Option<Dominant> {
    let scores = scores.map(ScoreNoise::terms);
    let attention = lock_rate.zip(scores.as_ref().map(|terms| &terms[..]));
    let (part, term) = limit(memory_accuracy, attention, Some(unseen), &logits.terms());
    term.map(|term| Dominant { part, term })
}

#[cfg(test)]
mod tests;
