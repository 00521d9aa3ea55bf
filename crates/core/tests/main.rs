//! The integration tests of the engine, in one program: it is built sooner than one per file.
#![allow(clippy::unwrap_used)]

mod common;
mod early_rules;
mod evaluation;
mod gradient;
mod limit;
mod noise;
mod optimisers;
mod properties;
mod threads;
mod training;
mod training_gradients;
