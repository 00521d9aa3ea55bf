//! The exact regime: three gradient steps with the true softmax.

use crate::backend::{Backend, Real};
use crate::config::Config;
use crate::model::{Attention, Model, Response, Want, descent, dot};
use crate::task::Samples;

use super::{EarlyPhase, Limit, SecondStep, narrow};

pub fn run<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> EarlyPhase<T> {
    // At M = W = 0 the softmax is uniform whatever the rate, so that step 1 is the limit's, times eta.
    let step = Limit::new(model, samples, backend).value_step(&Attention::Uniform).m;
    let wide: Vec<f64> = step.iter().map(|x| config.eta * x).collect();
    let m1: Vec<T> = narrow(&wide);
    let response = Response::new(model, &m1, samples.count(), backend);

    let still = vec![T::ZERO; model.dim()];
    let want = Want { query: true, m: false, loss: false };
    let u = descent(model, &response, &still, samples, want, backend).query;
    let second = SecondStep::new(config, model, samples.length(), &u);
    // A rate set by the lead is 0 when step 2 found nothing; step 3 then takes the rate of step 1.
    let eta2 = config.eta2.unwrap_or(if second.gamma == 0.0 { config.eta } else { second.gamma });

    let eos = dot(&model.embeddings.z_eos, &model.embeddings.z_eos);
    let query: Vec<T> = second.w1.iter().map(|x| T::from_f64(x.to_f64() * eos)).collect();
    let want = Want { m: true, query: false, loss: false };
    let step = descent(model, &response, &query, samples, want, backend).m;
    let m2 = wide.iter().zip(&step).map(|(m1, step)| T::from_f64(m1 + eta2 * step)).collect();
    let SecondStep { gamma, w1, trigger_sign } = second;
    EarlyPhase { m1, w1, m2, gamma, eta2, trigger_sign }
}
