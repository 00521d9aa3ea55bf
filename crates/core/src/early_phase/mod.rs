//! The three-step early phase (theory: setting), exact and in its infinitesimal limit. Steps 2 and 3 may be repeated in rounds.

mod grouped;
mod groups;
mod limit;
mod placed;
mod rule;

pub use grouped::worth_grouping;
pub use groups::Groups;
pub use limit::{Limit, ValueStep};
pub use placed::{fact_frequency, fact_frequency_of, placed_moment, placed_step};
pub use rule::{output_covariance, polar};

use crate::backend::{Backend, Real, Result, narrow};
use crate::config::{Config, Regime};
use crate::model::{Attention, Model, Response, Want, descent};
use crate::numeric::dot;
use crate::task::Samples;
use grouped::value_gradient;

/// The result of the three steps.
///
/// In the exact regime `m1` and `m2` are `M1` and `M2`. In the infinitesimal one they are per unit of rate, `M1 / eta`
/// and `(M2 - M1) / eta2`, and recall is evaluated on `m2` alone.
#[derive(Clone, Debug)]
pub struct EarlyPhase<T> {
    /// After step 1, `dim` rows of `inputs`.
    pub m1: Vec<T>,
    /// `W1 = gamma u z_eos^T`: this is `gamma u` of the last round, or the sum over rounds if they accumulate.
    pub w1: Vec<T>,
    /// After the last memory step, which is step 3 of a single round.
    pub m2: Vec<T>,
    /// The rate of step 2.
    pub gamma: f64,
    /// The rate of step 3.
    pub eta2: f64,
    /// Sign of `u . z_trig`: negative when step 2 reduces the attention on the trigger, 0 when it has no effect.
    pub trigger_sign: i8,
}

impl<T: Real> EarlyPhase<T> {
    /// The trained attention.
    pub fn attention(&self, model: &Model<'_, T>, backend: &Backend) -> Result<Attention<T>> {
        model.attention(&query(&self.w1, &model.embeddings.z_eos), backend)
    }

    /// `W1` itself, `dim` rows of `dim`.
    pub fn w1_matrix(&self, model: &Model<'_, T>) -> Vec<T> {
        self.w1.iter().flat_map(|&u| model.embeddings.z_eos.iter().map(move |&z| u * z)).collect()
    }

    /// Whether every number is finite; very large rates overflow.
    pub fn is_finite(&self) -> bool {
        [&self.m1, &self.w1, &self.m2].into_iter().flatten().all(|x| x.to_f64().is_finite())
    }
}

/// Runs the three steps of a configuration on the given samples.
///
/// # Errors
/// When the backend's token was cancelled.
pub fn early_phase<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<EarlyPhase<T>> {
    match config.regime {
        Regime::Exact => backend.install(|| exact(config, model, samples, backend)),
        // On a thread of the pool these steps are slower, because one thread then clears large arrays page by page.
        Regime::Infinitesimal => Limit::new(model, samples, backend)?.run(config),
    }
}

/// The exact regime: three steps with the true softmax.
fn exact<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<EarlyPhase<T>> {
    // At M = W = 0 the softmax is uniform for every rate, so that step 1 is that of the limit times eta.
    let limit = Limit::new(model, samples, backend)?;
    let step = limit.memory_step(config.early_rule, &Attention::Uniform)?;
    let mut wide: Vec<f64> = step.iter().map(|x| config.eta * x).collect();
    let m1: Vec<T> = narrow(&wide);
    let mut rounds = Rounds::new(config, model, samples.length());
    for _ in 0..config.rounds {
        let m: Vec<T> = narrow(&wide);
        let response = Response::new(model, &m, samples.count(), backend)?;
        let want = Want { query: true, m: false, loss: false };
        let u = descent(model, &response, &rounds.start(), samples, want, backend)?.query;
        rounds.attend(&u);
        let query = rounds.query();
        let attention = model.attention(&query, backend)?;
        let gradient = value_gradient(&limit, &response, &attention)?;
        let sizes = [model.dim(), model.inputs()];
        let step =
            config.early_rule.step(gradient, sizes, T::EPSILON, || limit.hessian(&attention), backend)?;
        wide.iter_mut().zip(&step).for_each(|(m, step)| *m += rounds.phase.eta2 * step);
    }
    Ok(EarlyPhase { m1, m2: narrow(&wide), ..rounds.phase })
}

/// The attention over the rounds: one attention step per round, each from zero or added to those before.
struct Rounds<'a, T> {
    config: &'a Config,
    model: &'a Model<'a, T>,
    length: usize,
    /// The last attention step. `m1` and `m2` are empty.
    phase: EarlyPhase<T>,
}

impl<'a, T: Real> Rounds<'a, T> {
    fn new(config: &'a Config, model: &'a Model<'a, T>, length: usize) -> Self {
        let still = vec![0.0; model.dim()];
        let e = model.embeddings;
        Rounds { config, model, length, phase: second_step(config, &e.z_trig, &e.z_eos, length, &still) }
    }

    /// `W z_eos` where the next attention step starts.
    fn start(&self) -> Vec<T> {
        if self.config.accumulate { self.query() } else { vec![T::ZERO; self.model.dim()] }
    }

    /// `W z_eos` after the last attention step.
    fn query(&self) -> Vec<T> {
        query(&self.phase.w1, &self.model.embeddings.z_eos)
    }

    /// Takes the attention step of direction `u`.
    fn attend(&mut self, u: &[f64]) {
        let e = self.model.embeddings;
        let next = second_step(self.config, &e.z_trig, &e.z_eos, self.length, u);
        let before = std::mem::replace(&mut self.phase, next);
        if self.config.accumulate {
            self.phase.w1.iter_mut().zip(&before.w1).for_each(|(w, before)| *w += *before);
        }
    }
}

/// `W1 z_eos` of `W1 = w1 z_eos^T`.
pub fn query<T: Real>(w1: &[T], z_eos: &[T]) -> Vec<T> {
    let eos = dot(z_eos, z_eos);
    w1.iter().map(|x| T::from_f64(x.to_f64() * eos)).collect()
}

/// Step 2 once its direction `u` is known. `m1` and `m2` are left empty.
pub fn second_step<T: Real>(
    config: &Config,
    z_trig: &[T],
    z_eos: &[T],
    length: usize,
    u: &[f64],
) -> EarlyPhase<T> {
    let eos = dot(z_eos, z_eos);
    let trigger: f64 = u.iter().zip(z_trig).map(|(u, z)| u * z.to_f64()).sum();
    let trigger_sign = if trigger == 0.0 { 0 } else { trigger.signum() as i8 };
    let by_lead = || config.lead * libm::log1p(length as f64) / (eos * trigger.abs());
    let rate = config.gamma.or_else(|| (trigger_sign != 0).then(by_lead));
    let gamma = rate.unwrap_or(0.0);
    // When step 2 has no direction and therefore no rate, step 3 takes the rate of step 1.
    let eta2 = config.eta2.or(rate).unwrap_or(config.eta);
    let w1 = u.iter().map(|u| T::from_f64(gamma * u)).collect();
    EarlyPhase { m1: Vec::new(), w1, m2: Vec::new(), gamma, eta2, trigger_sign }
}
