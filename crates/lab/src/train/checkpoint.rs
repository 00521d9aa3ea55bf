//! Checkpoints: safetensors files with the trained tensors and the optimiser's moments; the header has the configuration, the
//! counters and the trajectory so far. A checkpoint is written to a temporary file that then replaces the old one.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use superpose_core::backend::{Numerics, Real};
use superpose_core::config::{Config, Settings};
use superpose_core::train::{Counters, Moments, Network, State, Tensor, TrajectoryPoint};
use superpose_tensors::{Element, Entry, TensorError, TensorFile};

use crate::cell::NUMERICS_REVISION;
use crate::run::{Digests, RunError};

use super::Function;

const KIND: &str = "superpose checkpoint";

fn moments_of(tensor: Tensor) -> [String; 2] {
    ["first", "second"].map(|name| format!("{tensor}.{name}"))
}

pub fn write<T: Real + Element>(
    path: &Path,
    config: &Config,
    origin: &Origin,
    state: &State<T>,
    trajectory: &[TrajectoryPoint],
) -> Result<(), TensorError> {
    let network = &state.network;
    let mut entries = Vec::new();
    for (&tensor, moments) in network.trained().iter().zip(&state.moments) {
        let data = network.tensor(tensor);
        let shape = [data.len() / network.columns(tensor), network.columns(tensor)];
        entries.push(T::entry(tensor.word(), &shape, data.to_vec()));
        let memories = moments_of(tensor).into_iter().zip([&moments.first, &moments.second]);
        let kept = memories.filter(|(_, memory)| !memory.is_empty());
        entries.extend(kept.map(|(name, memory)| Entry::f64(&name, &shape, memory.clone())));
    }
    let texts = [
        ("kind", KIND.to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_string()),
        ("numerics_revision", NUMERICS_REVISION.to_string()),
        ("numerics", origin.numerics.to_string()),
        ("inputs", text(&origin.inputs)),
        ("functions", text(&origin.functions)),
        ("config", text(&**config)),
        ("counters", text(&state.counters)),
        ("trajectory", text(&trajectory)),
    ];
    let metadata: HashMap<String, String> = texts.map(|(name, text)| (name.to_string(), text)).into();
    superpose_tensors::write_with(path, &entries, metadata)
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values, all finite")
}

/// What a run depends on beside its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The arithmetic.
    pub numerics: Numerics,
    /// Digests of the input tensors, by the setting that gives them.
    pub inputs: Digests,
    /// Functions of the caller that take part.
    pub functions: Vec<Function>,
}

/// A saved run.
#[derive(Debug)]
pub struct Checkpoint {
    file: TensorFile,
    origin: Origin,
    /// The configuration of the run.
    pub settings: Settings,
    /// Steps, records and the best loss so far.
    pub counters: Counters,
    /// The trajectory so far.
    pub trajectory: Vec<TrajectoryPoint>,
}

impl Checkpoint {
    /// Opens a checkpoint.
    ///
    /// # Errors
    /// Fails if the file is damaged or not a valid checkpoint of this numerics revision.
    pub fn open(path: &Path) -> Result<Checkpoint, TensorError> {
        let file = TensorFile::open(path)?;
        let header = file.metadata();
        let wrong = |what: String| file.inside(TensorError::Format(what));
        if header.get("kind").map(String::as_str) != Some(KIND) {
            return Err(wrong("it is not a checkpoint of superpose train".into()));
        }
        let revision = header.get("numerics_revision").map_or("", String::as_str);
        if revision != NUMERICS_REVISION.to_string() {
            return Err(wrong(format!(
                "its numerics revision is {revision} and this program's is {NUMERICS_REVISION}: the run would continue differently"
            )));
        }
        file.verify()?;
        fn read<V: DeserializeOwned>(header: &HashMap<String, String>, name: &str) -> Result<V, String> {
            let text = header.get(name).ok_or_else(|| format!("its header has no {name}"))?;
            serde_json::from_str(text).map_err(|error| format!("{name} in its header: {error}"))
        }
        let settings = read(&header, "config").map_err(wrong)?;
        let counters = read(&header, "counters").map_err(wrong)?;
        let trajectory = read(&header, "trajectory").map_err(wrong)?;
        let numerics = header.get("numerics").cloned().unwrap_or_default();
        let numerics = Numerics::try_from(numerics).map_err(|error| wrong(error.into()))?;
        let inputs = read(&header, "inputs").map_err(wrong)?;
        let functions = read(&header, "functions").map_err(wrong)?;
        let origin = Origin { numerics, inputs, functions };
        Ok(Checkpoint { file, origin, settings, counters, trajectory })
    }

    /// Fails if the checkpoint has another configuration; the error names the setting.
    pub fn check(&self, given: &Settings) -> Result<(), RunError> {
        let keys = |settings: &Settings| match serde_json::to_value(settings) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let show = |value: Option<&Value>| value.map_or("its default".into(), Value::to_string);
        let (given, saved) = (keys(given), keys(&self.settings));
        // Imported tensors decide sizes, so a difference there comes first.
        let import = "import".to_string();
        for name in [&import].into_iter().chain(given.keys()).chain(saved.keys()) {
            let (given, saved) = (given.get(name), saved.get(name));
            if given != saved {
                let (name, given, saved) = (name.clone(), show(given), show(saved));
                return Err(RunError::Checkpoint { name, given, saved });
            }
        }
        Ok(())
    }

    /// Fails if the checkpoint was made with other arithmetic, other contents of an input or a function that is not given now.
    pub fn check_origin(&self, now: &Origin) -> Result<(), RunError> {
        let Origin { numerics, inputs, functions } = &self.origin;
        if let Some(&function) = functions.iter().find(|function| !now.functions.contains(function)) {
            return Err(RunError::CheckpointFunction { function });
        }
        if *numerics != now.numerics {
            let now = &now.numerics;
            return Err(RunError::CheckpointNumerics { now: now.clone(), saved: numerics.clone() });
        }
        let keys = inputs.keys().chain(now.inputs.keys());
        match keys.into_iter().find(|name| inputs.get(*name) != now.inputs.get(*name)) {
            Some(name) => Err(RunError::CheckpointInput { name: name.clone() }),
            None => Ok(()),
        }
    }

    /// Returns the saved state; `network` is the untrained network of the configuration.
    ///
    /// # Errors
    /// Fails if a tensor is missing or does not fit the configuration.
    pub fn state<T: Real>(&self, mut network: Network<T>) -> Result<State<T>, TensorError> {
        let tensors = self.file.tensors();
        let read = |name: &str, size: usize| {
            let tensor = tensors.floats(name)?;
            match tensor.data.len() == size {
                true => Ok(tensor.data),
                false => Err(tensor.shaped(format!("must have {size} entries to fit the configuration"))),
            }
        };
        let mut moments = Vec::new();
        for tensor in network.trained().to_vec() {
            let place = network.tensor_mut(tensor);
            let inside = |error| self.file.inside(error);
            let values = read(tensor.word(), place.len()).map_err(inside)?;
            place.iter_mut().zip(values).for_each(|(x, value)| *x = T::from_f64(value));
            let memory = |name: String| match tensors.has(&name) {
                true => read(&name, place.len()).map_err(inside),
                false => Ok(Vec::new()),
            };
            let [first, second] = moments_of(tensor).map(memory);
            moments.push(Moments { steps: self.counters.step as u64, first: first?, second: second? });
        }
        Ok(State { network, moments, counters: self.counters.clone() })
    }
}
