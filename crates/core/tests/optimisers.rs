//! Steps of the optimisers and rates of the schedules against PyTorch's: fixtures made by `fixtures/make_optimisers.py`.

use serde::Deserialize;
use superpose_core::backend::{Backend, Real};
use superpose_core::config::{Optimiser, Schedule};
use superpose_core::train::{Moments, Update};

#[derive(Deserialize)]
struct Fixtures {
    cases: Vec<Case>,
    cosine: Vec<f64>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(flatten)]
    update: Update,
    columns: usize,
    tolerance: f64,
    start: Vec<f64>,
    rates: Vec<f64>,
    gradients: Vec<Vec<f64>>,
    after: Vec<Vec<f64>>,
}

fn fixtures() -> Fixtures {
    serde_json::from_str(include_str!("fixtures/optimisers.json")).unwrap()
}

fn check<T: Real>(case: &Case, tolerance: f64) {
    let mut parameters: Vec<T> = case.start.iter().map(|&x| T::from_f64(x)).collect();
    let mut moments = Moments::default();
    for ((&rate, gradient), after) in case.rates.iter().zip(&case.gradients).zip(&case.after) {
        case.update
            .step(&mut moments, &mut parameters, case.columns, gradient, rate, &Backend::single())
            .unwrap();
        for (x, y) in parameters.iter().zip(after) {
            assert!((x.to_f64() - y).abs() <= tolerance, "{}: {x:?} for {y}", case.name);
        }
    }
}

#[test]
fn steps_agree_with_pytorch() {
    let cases = fixtures().cases;
    for &optimiser in Optimiser::ALL {
        assert!(cases.iter().filter(|case| case.update.optimiser == optimiser).count() >= 2, "{optimiser}");
    }
    for case in &cases {
        check::<f64>(case, case.tolerance);
        check::<f32>(case, case.tolerance.max(1e-5));
    }
}

#[test]
fn vectors_take_the_step_of_adamw_under_muon() {
    for shape in [1, 6] {
        let mut both = [vec![1.0; 6], vec![1.0; 6]];
        for (tensor, optimiser) in both.iter_mut().zip([Optimiser::Muon, Optimiser::AdamW]) {
            let update = Update { weight_decay: 0.1, ..Update::new(optimiser) };
            let gradient = [0.1, -0.2, 0.3, 0.0, 0.5, -0.1];
            update.step(&mut Moments::default(), tensor, shape, &gradient, 0.01, &Backend::single()).unwrap();
        }
        assert_eq!(both[0], both[1]);
    }
}

#[test]
fn cosine_agrees_with_pytorch() {
    let rates = fixtures().cosine;
    for (step, rate) in rates.iter().enumerate() {
        let share = Schedule::Cosine.share(step as u64, rates.len() as u64);
        assert!((0.3 * share - rate).abs() < 1e-12, "step {step}");
    }
    assert_eq!(Schedule::Constant.share(7, 10), 1.0);
}

#[test]
fn optimiser_continues_from_its_moments() {
    for case in &fixtures().cases {
        let backend = Backend::cpu(3).unwrap();
        let mut parameters = case.start.clone();
        let mut moments = Moments::default();
        let half = case.rates.len() / 2;
        let mut steps = case.rates.iter().zip(&case.gradients);
        for (&rate, gradient) in steps.by_ref().take(half) {
            case.update.step(&mut moments, &mut parameters, case.columns, gradient, rate, &backend).unwrap();
        }
        let text = serde_json::to_string(&moments).unwrap();
        let mut again: Moments = serde_json::from_str(&text).unwrap();
        let mut copy = parameters.clone();
        for (&rate, gradient) in steps {
            case.update.step(&mut moments, &mut parameters, case.columns, gradient, rate, &backend).unwrap();
            case.update
                .step(&mut again, &mut copy, case.columns, gradient, rate, &Backend::single())
                .unwrap();
        }
        assert!(parameters.iter().zip(&copy).all(|(a, b)| a.to_bits() == b.to_bits()), "{}", case.name);
    }
}
