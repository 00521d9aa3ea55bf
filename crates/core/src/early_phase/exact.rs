//! The exact regime: three gradient steps with the true softmax.

use crate::backend::{Backend, Real};
use crate::config::Config;
use crate::model::{Attention, Model, Parameters, Want, descent, dot};
use crate::task::Samples;

use super::{EarlyPhase, Limit, SecondStep, narrow};

pub fn run<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> EarlyPhase<T> {
    let still = vec![T::ZERO; model.dim()];
    // At M = W = 0 the softmax is uniform whatever the rate, so that step 1 is the limit's, times eta.
    let m1 = Limit::new(model, samples, backend).value_step(&Attention::Uniform).m;
    let m1: Vec<f64> = m1.iter().map(|x| config.eta * x).collect();
    let mut parameters = Parameters { m: narrow(&m1), query: still };

    let want = Want { query: true, m: false, loss: false };
    let u = descent(model, &parameters, samples, want, backend).query;
    let second = SecondStep::new(config, model, samples.length(), &u);
    // A rate set by the lead is 0 when step 2 found nothing; step 3 then takes the rate of step 1.
    let eta2 = config.eta2.unwrap_or(if second.gamma == 0.0 { config.eta } else { second.gamma });

    let eos = dot(&model.embeddings.z_eos, &model.embeddings.z_eos);
    parameters.query = second.w1.iter().map(|x| T::from_f64(x.to_f64() * eos)).collect();
    let want = Want { m: true, query: false, loss: false };
    let step = descent(model, &parameters, samples, want, backend).m;
    let m2 = m1.iter().zip(&step).map(|(m1, step)| T::from_f64(m1 + eta2 * step)).collect();
    let SecondStep { gamma, w1, trigger_sign } = second;
    EarlyPhase { m1: parameters.m, w1, m2, gamma, eta2, trigger_sign }
}
