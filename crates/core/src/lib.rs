//! Simulation of factual recall in a one-layer transformer with random embeddings.
//!
//! Data flows one way: [`config`] -> [`task`], [`embedding`] -> [`model`] -> [`early_phase`], [`train`] -> [`evaluate`],
//! [`noise`]. Random numbers come from [`random`], arithmetic from [`backend`], small numerical routines from [`numeric`].
//! Nothing here reads files, prints, or reads the clock. "Theory: name" refers to a chapter in `docs/theory`. Functions that take a
//! backend return an error when its cancel token is set.
//!
//! ```
//! use superpose_core::backend::Backend;
//! use superpose_core::early_phase::{early_phase, fact_frequency};
//! use superpose_core::embedding::Embeddings;
//! use superpose_core::evaluate::evaluate;
//! use superpose_core::model::Model;
//! use superpose_core::random::Stream;
//! use superpose_core::task::{Drawn, Task};
//! use superpose_core::{Measure, Settings};
//!
//! let config = Settings { vocab: 64, dim: 64, samples: 4096, ..Settings::default() }.check()?;
//! let backend = Backend::single();
//! let embeddings = Embeddings::<f32>::draw(&config, &backend)?;
//! let (task, model) = (Task::new(&config), Model::new(&config, &embeddings));
//! let samples = Drawn::new(&task, config.seed, Stream::Train, config.samples);
//! let phase = early_phase(&config, &model, &samples, &backend)?;
//!
//! let frequency = fact_frequency(&samples, config.vocab, &backend)?;
//! let test = Drawn::new(&task, config.seed, Stream::Test, config.test_samples);
//! let evaluation = evaluate(&config, &model, &task, &phase, &frequency, &test, &backend)?;
//! assert!(evaluation[Measure::LockRate].mean() > 0.99);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod backend;
pub mod config;
pub mod early_phase;
pub mod embedding;
pub mod evaluate;
pub mod measure;
pub mod model;
pub mod noise;
pub mod numeric;
pub mod random;
pub mod task;
pub mod train;
mod words;

pub use config::{Config, ConfigError, Settings};
pub use measure::{Measure, Measures};
