//! The engine against automatic differentiation: fixtures made by `fixtures/make_fixtures.py` in float64.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::PathBuf;

use superpose_core::backend::{Backend, Problem, Real};
use superpose_core::config::{Config, Precision, Regime, Settings};
use superpose_core::early_phase::early_phase;
use superpose_core::embedding::Embeddings;
use superpose_core::model::{Model, Response, Want, descent};
use superpose_core::task::{Samples, Stored, Task};
use superpose_cuda::Choice;
use superpose_tensors::{Tensor, TensorFile};

struct Fixture {
    name: String,
    file: TensorFile,
    metadata: HashMap<String, String>,
}

fn fixtures() -> Vec<Fixture> {
    // Where the tests run on another machine, the fixtures are beside them.
    let given = std::env::var_os("SUPERPOSE_FIXTURES").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
    let mut fixtures: Vec<Fixture> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .map(|path| {
            let bytes = std::fs::read(&path).unwrap();
            let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
            Fixture {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                file: TensorFile::open(&path).unwrap(),
                metadata: header.metadata().clone().unwrap(),
            }
        })
        .collect();
    fixtures.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(fixtures.len(), 25, "both models, both triggers, every activation, several shapes");
    fixtures
}

impl Fixture {
    fn floats(&self, name: &str) -> Tensor<f64> {
        self.file.tensors().floats(name).unwrap()
    }

    fn reals<T: Real>(&self, name: &str) -> Vec<T> {
        self.floats(name).data.into_iter().map(T::from_f64).collect()
    }

    fn get<V: std::str::FromStr>(&self, key: &str) -> V
    where
        V::Err: std::fmt::Debug,
    {
        self.metadata[key].parse().unwrap()
    }

    fn config(&self, precision: Precision) -> Config {
        let noise_vocab: usize = self.get("noise_vocab");
        let tokens = self.file.tensors().whole("tokens").unwrap().shape;
        Settings {
            vocab: self.get("vocab"),
            dim: self.floats("z_trig").data.len(),
            length: tokens[1],
            samples: tokens[0],
            width: (self.metadata["model"] == "mlp").then(|| self.floats("w_in").shape[0]),
            activation: self.get("activation"),
            trigger: self.get("trigger"),
            labels: self.get("labels"),
            noise_vocab: (noise_vocab > 0).then_some(noise_vocab),
            regime: Regime::Exact,
            eta: self.get("eta"),
            gamma: Some(self.get("gamma")),
            eta2: Some(self.get("eta2")),
            precision,
            ..Settings::default()
        }
        .check()
        .unwrap()
    }

    fn embeddings<T: Real>(&self) -> Embeddings<T> {
        Embeddings {
            dim: self.floats("z_trig").data.len(),
            z_in: self.reals("z_in"),
            z_out: self.reals("z_out"),
            z_trig: self.reals("z_trig"),
            z_eos: self.reals("z_eos"),
            w_in: (self.metadata["model"] == "mlp").then(|| self.reals("w_in")),
        }
    }

    fn samples(&self) -> Stored {
        let tensors = self.file.tensors();
        let whole = |name| tensors.whole(name).unwrap();
        let tokens = whole("tokens");
        Stored::new(tokens.shape[1], tokens.data, whole("position").data, whole("labels").data)
    }

    /// Returns the norm of the difference over the norm of the expected value.
    fn compare<T: Real>(&self, name: &str, got: &[T], tolerance: f64) {
        let expected = self.floats(name).data;
        assert_eq!(got.len(), expected.len(), "{} {name}", self.name);
        let norm = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        let difference = got.iter().zip(&expected).map(|(a, b)| (a.to_f64() - b).powi(2)).sum::<f64>().sqrt();
        let error = if norm == 0.0 { difference } else { difference / norm };
        assert!(error <= tolerance, "{} {name}: relative error {error:e}", self.name);
    }
}

fn outer<T: Real>(a: &[T], b: &[T]) -> Vec<T> {
    a.iter().flat_map(|&a| b.iter().map(move |&b| a * b)).collect()
}

/// Runs the three steps on the CPU, or on the device that `SUPERPOSE_DEVICE` names.
fn three_steps<T: Real>(precision: Precision, tolerance: f64) {
    let backend = Backend::single();
    let choice = std::env::var("SUPERPOSE_DEVICE").map_or(Choice::Cpu, |word| word.parse().unwrap());
    let device = choice.open().unwrap();
    for fixture in fixtures() {
        let config = fixture.config(precision);
        let embeddings = fixture.embeddings::<T>();
        let (samples, task) = (fixture.samples(), Task::new(&config));
        let phase = match &device {
            Some(device) => {
                let (host, observe) = (Backend::single(), |_: usize| {});
                let (embeddings, stored, host, observe) =
                    (Some(&embeddings), Some(&samples), &host, &observe);
                let (config, task) = (&config, &task);
                let problem = Problem { config, task, embeddings, stored, host, observe };
                T::solver(&**device).solve(&problem).unwrap().phase
            }
            None => early_phase(&config, &Model::new(&config, &embeddings), &samples, &backend).unwrap(),
        };
        fixture.compare("m1", &phase.m1, tolerance);
        fixture.compare("w1", &outer(&phase.w1, &embeddings.z_eos), tolerance);
        fixture.compare("m2", &phase.m2, tolerance);
    }
}

#[test]
fn three_steps_agree_in_f64() {
    three_steps::<f64>(Precision::F64, 1e-10);
}

#[test]
fn three_steps_agree_in_f32() {
    three_steps::<f32>(Precision::F32, 1e-4);
}

fn gradients<T: Real>(precision: Precision, tolerance: f64) {
    let backend = Backend::single();
    for fixture in fixtures() {
        let config = fixture.config(precision);
        let embeddings = fixture.embeddings::<T>();
        let model = Model::new(&config, &embeddings);
        let (m, query) = (fixture.reals::<T>("m"), model.query(&fixture.reals::<T>("w")));
        let samples = fixture.samples();
        let response = Response::new(&model, &m, samples.count(), &backend).unwrap();
        // Every combination uses a different path through the products.
        for (by_m, by_query) in [(true, true), (true, false), (false, true)] {
            let want = Want { loss: true, m: by_m, query: by_query };
            let descent = descent(&model, &response, &query, &samples, want, &backend).unwrap();
            fixture.compare("loss", &[descent.loss], tolerance);
            let up = |x: &[f64]| x.iter().map(|x| -x).collect::<Vec<f64>>();
            if by_m {
                fixture.compare("grad_m", &up(&descent.m), tolerance);
            }
            if by_query {
                let z_eos: Vec<f64> = embeddings.z_eos.iter().map(|x| x.to_f64()).collect();
                fixture.compare("grad_w", &outer(&up(&descent.query), &z_eos), tolerance);
            }
        }
    }
}

#[test]
fn gradients_agree_in_f64() {
    gradients::<f64>(Precision::F64, 1e-10);
}

#[test]
fn gradients_agree_in_f32() {
    gradients::<f32>(Precision::F32, 1e-4);
}
