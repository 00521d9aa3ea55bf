//! Exact gradients against finite differences at random non-zero `M` and `W`, and the first-order form of the
//! softmax against the softmax itself.

use crate::common::{Setting, distance};
use superpose_core::backend::{Backend, Real};
use superpose_core::config::{Activation, Regime, Settings, Trigger};
use superpose_core::model::{Descent, Model, Response, Want, descent};
use superpose_core::random::{Stream, Words, normals};
use superpose_core::task::Samples;

const ALL: Want = Want { loss: true, m: true, query: true };

fn random(count: usize, scale: f64, index: u64) -> Vec<f64> {
    let mut x = vec![0.0; count];
    normals(&Words::new(99, Stream::FirstLayer, index), &mut x);
    x.iter().map(|x| x * scale).collect()
}

fn direction<T: Real>(model: &Model<'_, T>, m: &[T], query: &[T], samples: &dyn Samples) -> Descent {
    let backend = Backend::single();
    let response = Response::new(model, m, samples.count(), &backend).unwrap();
    descent(model, &response, query, samples, ALL, &backend).unwrap()
}

fn loss(model: &Model<'_, f64>, m: &[f64], w: &[f64], samples: &dyn Samples) -> f64 {
    direction(model, m, &model.query(w), samples).loss
}

#[test]
fn gradients_agree_with_finite_differences() {
    for &activation in Activation::ALL {
        for (trigger, width) in
            [(Trigger::Values, None), (Trigger::Values, Some(9)), (Trigger::Keys, Some(7))]
        {
            let setting = Setting::<f64>::new(Settings {
                vocab: 11,
                dim: 5,
                length: 4,
                samples: 30,
                width,
                activation,
                trigger,
                ..Settings::default()
            });
            let (model, samples) = (setting.model(), setting.train());
            let m = random(model.dim() * model.inputs(), 2.0, 1);
            let w = random(model.dim() * model.dim(), 1.5, 2);
            let found = direction(&model, &m, &model.query(&w), &samples);
            let slope = |at: &dyn Fn(f64) -> f64| (at(1e-6) - at(-1e-6)) / 2e-6;
            let moved = |x: &[f64], i: usize, h: f64| {
                let mut x = x.to_vec();
                x[i] += h;
                x
            };
            let by_m: Vec<f64> =
                (0..m.len()).map(|i| -slope(&|h| loss(&model, &moved(&m, i, h), &w, &samples))).collect();
            let by_w: Vec<f64> =
                (0..w.len()).map(|i| -slope(&|h| loss(&model, &m, &moved(&w, i, h), &samples))).collect();
            let eos = &setting.embeddings.z_eos;
            let w_found: Vec<f64> = found.query.iter().flat_map(|u| eos.iter().map(move |z| u * z)).collect();
            assert!(distance(&found.m, &by_m) < 1e-7, "{activation} {trigger} {width:?} M");
            assert!(distance(&w_found, &by_w) < 1e-7, "{activation} {trigger} {width:?} W");
        }
    }
}

/// At small logits single precision takes the first-order form. It must agree with the softmax in double precision up to rounding.
#[test]
fn linear_form_is_exact_to_rounding() {
    let settings = Settings { vocab: 200, dim: 24, length: 8, samples: 2000, ..Settings::default() };
    let (single, double) = (Setting::<f32>::new(settings.clone()), Setting::<f64>::new(settings));
    let phase = double.run(&Backend::single());
    for scale in [1e-6, 1e-3, 1.0, 30.0] {
        let m: Vec<f64> = phase.m1.iter().map(|x| x * scale).collect();
        let query = phase.w1.clone();
        let narrow = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let wide = direction(&double.model(), &m, &query, &double.train());
        let short = direction(&single.model(), &narrow(&m), &narrow(&query), &single.train());
        assert!(distance(&short.m, &wide.m) < 2e-6, "M at {scale}: {:e}", distance(&short.m, &wide.m));
        let error = distance(&short.query, &wide.query);
        assert!(error < 5e-6, "query at {scale}: {error:e}");
        assert!((short.loss - wide.loss).abs() < 2e-6, "loss at {scale}");
    }
}

/// Where the softmax is so close to the right labels that `1 - q` is 0 in single precision, the three steps keep their digits.
#[test]
fn small_residuals_keep_their_digits() {
    let confident = Settings {
        regime: Regime::Exact,
        trigger: Trigger::Keys,
        vocab: 4,
        noise_vocab: Some(64),
        dim: 64,
        length: 2,
        samples: 256,
        ..Settings::default()
    };
    let few = Settings { samples: 2, eta: 100.0, ..confident.clone() };
    let steep = Settings { eta: 1000.0, ..confident.clone() };
    for settings in
        [Settings { eta: 100.0, ..confident }, steep, Settings { width: Some(60), ..few.clone() }, few]
    {
        let single = Setting::<f32>::new(settings.clone()).run(&Backend::single());
        let double = Setting::<f64>::new(settings.clone()).run(&Backend::single());
        assert!((single.gamma / double.gamma - 1.0).abs() < 1e-5, "{} and {}", single.gamma, double.gamma);
        for (name, found, expected) in [("w1", &single.w1, &double.w1), ("m2", &single.m2, &double.m2)] {
            let wide: Vec<f64> = found.iter().map(|&x| f64::from(x)).collect();
            let error = distance(&wide, expected);
            assert!(error < 1e-5, "{name}: {error:e} with {settings:?}");
        }
    }
}
