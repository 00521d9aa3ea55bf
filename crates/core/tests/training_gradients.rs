//! Gradients of every trained tensor against automatic differentiation: fixtures made by `fixtures/make_gradients.py` in
//! float64. And the same bits whatever the number of threads.

use std::collections::BTreeMap;

use crate::common::{Setting, distance};
use serde::Deserialize;
use superpose_core::Settings;
use superpose_core::backend::{Backend, Real};
use superpose_core::config::{Activation as Function, Positions, Training, Trigger};
use superpose_core::task::{Samples, Stored};
use superpose_core::train::{Activation, Network, Tensor, activations, gradient, loss};

#[derive(Deserialize)]
struct Case {
    name: String,
    settings: Settings,
    tokens: Vec<u32>,
    position: Vec<u32>,
    labels: Vec<u32>,
    tensors: BTreeMap<String, Vec<f64>>,
    gradients: BTreeMap<String, Vec<f64>>,
    loss: f64,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("fixtures/gradients.json")).unwrap()
}

impl Case {
    fn network<T: Real>(&self) -> Network<T> {
        let Setting { config, embeddings, .. } = Setting::<T>::new(self.settings.clone());
        let training = config.training.as_ref().unwrap();
        let mut network = Network::new(&config, training, embeddings, &Backend::single()).unwrap();
        let names: Vec<String> = network.trained().iter().map(ToString::to_string).collect();
        let mut expected: Vec<&String> = self.tensors.keys().collect();
        expected.sort_by_key(|name| names.iter().position(|own| own == *name));
        assert!(names.iter().eq(expected), "{}: everything is trained", self.name);
        for (name, values) in &self.tensors {
            let place = network.tensor_mut(name.parse().unwrap());
            assert_eq!(place.len(), values.len(), "{} {name}", self.name);
            place.iter_mut().zip(values).for_each(|(x, &value)| *x = T::from_f64(value));
        }
        network
    }

    fn samples(&self) -> Stored {
        let (tokens, position, labels) = (self.tokens.clone(), self.position.clone(), self.labels.clone());
        Stored::new(self.settings.length, tokens, position, labels)
    }
}

fn check<T: Real>(tolerance: f64) {
    let backend = Backend::single();
    let mut seen: Vec<Tensor> = Vec::new();
    for case in cases() {
        let (network, samples) = (case.network::<T>(), case.samples());
        let ids: Vec<u32> = (0..samples.count() as u32).collect();
        let found = gradient(&network, &samples, &ids, &backend).unwrap();
        assert!((found.loss / case.loss - 1.0).abs() < tolerance, "{}: loss {}", case.name, found.loss);
        assert_eq!(loss(&network, &samples, &ids, &backend).unwrap(), found.loss, "{}", case.name);
        for (tensor, got) in network.trained().iter().zip(&found.tensors) {
            let error = distance(got, &case.gradients[tensor.word()]);
            assert!(error < tolerance, "{} {tensor}: relative error {error:e}", case.name);
            seen.push(*tensor);
        }
    }
    assert!(Tensor::ALL.iter().all(|tensor| seen.contains(tensor)), "every tensor was trained somewhere");
}

#[test]
fn gradients_agree_in_f64() {
    check::<f64>(1e-10);
}

#[test]
fn gradients_agree_in_f32() {
    check::<f32>(1e-4);
}

/// The widest model, more samples than a block holds, at parameters away from zero.
fn wide<T: Real>(
    positions: Positions,
    trigger: Trigger,
    width: Option<usize>,
    train_embeddings: bool,
) -> (Network<T>, Stored) {
    let training = Training {
        positions,
        heads: 2,
        train_embeddings,
        train_first_layer: width.is_some(),
        ..Training::new(1)
    };
    let setting = Setting::<T>::new(Settings {
        vocab: 40,
        dim: 12,
        length: 7,
        samples: 3000,
        width,
        activation: Function::He2,
        trigger,
        training: Some(training.clone()),
        ..Settings::default()
    });
    let samples = Stored::copy(&setting.train(), &Backend::single()).unwrap();
    let mut network =
        Network::new(&setting.config, &training, setting.embeddings.clone(), &Backend::single()).unwrap();
    for (i, x) in network.tensor_mut(Tensor::M).iter_mut().enumerate() {
        *x = T::from_f64((i as f64 * 1.7).sin() * 2.0);
    }
    (network, samples)
}

#[test]
fn gradients_do_not_depend_on_the_threads() {
    for (positions, trigger, width) in [
        (Positions::Learned, Trigger::Values, None),
        (Positions::Rotary, Trigger::Values, Some(20)),
        (Positions::Sinusoidal, Trigger::Keys, None),
    ] {
        let (network, samples) = wide::<f32>(positions, trigger, width, true);
        let ids: Vec<u32> = (0..3000).rev().collect();
        let one = gradient(&network, &samples, &ids, &Backend::single()).unwrap();
        let many = gradient(&network, &samples, &ids, &Backend::cpu(3).unwrap()).unwrap();
        assert_eq!(one.loss.to_bits(), many.loss.to_bits());
        assert!(
            one.tensors.iter().flatten().map(|x| x.to_bits()).eq(many
                .tensors
                .iter()
                .flatten()
                .map(|x| x.to_bits()))
        );
    }
}

/// A network at zero takes the first-order form of the softmax in single precision; it must agree with double
/// precision, which does not.
#[test]
fn first_order_form_agrees_with_several_heads() {
    let scale = 1e-6;
    let (mut single, samples) = wide::<f32>(Positions::None, Trigger::Values, None, false);
    let (mut double, _) = wide::<f64>(Positions::None, Trigger::Values, None, false);
    single.tensor_mut(Tensor::M).iter_mut().for_each(|x| *x *= scale as f32);
    double.tensor_mut(Tensor::M).iter_mut().for_each(|x| *x *= scale);
    let ids: Vec<u32> = (0..3000).collect();
    let backend = Backend::single();
    let (a, b) = (
        gradient(&single, &samples, &ids, &backend).unwrap(),
        gradient(&double, &samples, &ids, &backend).unwrap(),
    );
    assert!((a.loss - b.loss).abs() < 1e-6);
    for ((tensor, a), b) in single.trained().iter().zip(&a.tensors).zip(&b.tensors) {
        assert!(distance(a, b) < 1e-4, "{tensor}: {:e}", distance(a, b));
    }
}

/// Activations are those of the definition: weights are the softmax of the scores and sum to 1, logits are `Z_out` times the output,
/// and the loss is their cross-entropy.
#[test]
fn activations_follow_the_definition() {
    for width in [None, Some(20)] {
        let (network, samples) = wide::<f64>(Positions::Learned, Trigger::Values, width, true);
        let ids: Vec<u32> = (0..700).collect();
        let backend = Backend::cpu(2).unwrap();
        let found = activations(&network, &samples, &ids, Activation::ALL, &backend).unwrap();
        let get = |name: Activation| &found[Activation::ALL.iter().position(|&one| one == name).unwrap()];
        let (heads, length) = (network.heads(), network.length());
        for (name, data) in Activation::ALL.iter().zip(&found) {
            let (rows, columns) = name.shape(&network, length);
            assert_eq!(data.len(), ids.len() * rows * columns, "{name}");
        }
        for (scores, weights) in
            get(Activation::Scores).chunks(length).zip(get(Activation::Attention).chunks(length))
        {
            let sum: f64 = scores.iter().map(|s| s.exp()).sum();
            let close = |(s, w): (&f64, &f64)| (s.exp() / sum - w).abs() < 1e-12;
            assert!(scores.iter().zip(weights).all(close));
        }
        assert_eq!(get(Activation::Attention).len(), ids.len() * heads * length);
        let (dim, z_out) = (network.dim(), network.tensor(Tensor::ZOut));
        let labels = z_out.len() / dim;
        let (output, logits) = (get(Activation::Output), get(Activation::Logits));
        let mut total = 0.0;
        for (id, row) in logits.chunks(labels).enumerate() {
            for (label, logit) in row.iter().enumerate() {
                let vectors = output[id * dim..][..dim].iter().zip(&z_out[label * dim..][..dim]);
                assert!((vectors.map(|(a, b)| a * b).sum::<f64>() - logit).abs() < 1e-10);
            }
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            total += sum.ln() - row[samples.fact(id as u32).1 as usize];
        }
        let mean = loss(&network, &samples, &ids, &backend).unwrap();
        assert!((total / ids.len() as f64 - mean).abs() < 1e-10);
    }
}
