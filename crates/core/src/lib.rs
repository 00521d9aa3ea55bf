//! Factual recall in a one-layer transformer with random embeddings, computed.
//!
//! Data flows one way: [`config`] -> [`task`] and [`embedding`] -> [`model`] -> [`early_phase`] -> [`evaluate`] and
//! [`noise`]. Random numbers come from [`random`], arithmetic from [`backend`]. Nothing here reads files, prints, or
//! asks the time. Sections named in the documentation are those of the project's theory page.
pub mod backend;
pub mod config;
pub mod early_phase;
pub mod embedding;
pub mod evaluate;
pub mod model;
pub mod noise;
pub mod random;
pub mod task;
mod words;

pub use config::{Config, ConfigError, Settings};
