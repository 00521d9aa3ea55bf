//! The exact regime: three gradient steps with the true softmax.

use crate::backend::{Backend, Real, Result};
use crate::config::Config;
use crate::model::{Attention, Model, Response, Want, descent};
use crate::task::Samples;

use super::{EarlyPhase, Limit, narrow, query, second_step};

pub fn run<T: Real>(
    config: &Config,
    model: &Model<'_, T>,
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<EarlyPhase<T>> {
    // At M = W = 0 the softmax is uniform for every rate, so that step 1 is that of the limit times eta.
    let step = Limit::new(model, samples, backend)?.value_step(&Attention::Uniform)?.m;
    let wide: Vec<f64> = step.iter().map(|x| config.eta * x).collect();
    let m1: Vec<T> = narrow(&wide);
    let response = Response::new(model, &m1, samples.count(), backend)?;

    let still = vec![T::ZERO; model.dim()];
    let want = Want { query: true, m: false, loss: false };
    let u = descent(model, &response, &still, samples, want, backend)?.query;
    let phase = second_step(config, model, samples.length(), &u);
    let query = query(&phase.w1, model);

    let want = Want { m: true, query: false, loss: false };
    let step = descent(model, &response, &query, samples, want, backend)?.m;
    let m2 = wide.iter().zip(&step).map(|(m1, step)| T::from_f64(m1 + phase.eta2 * step)).collect();
    Ok(EarlyPhase { m1, m2, ..phase })
}
