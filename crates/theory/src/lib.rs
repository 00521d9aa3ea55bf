//! Predictions of factual recall in a one-layer transformer with random embeddings.
//!
//! Closed forms and short sums, without fitted constants, for the quantities that `superpose-core` simulates. A [`Point`]
//! is a set of sizes, [`predict()`] returns the prediction:
//!
//! ```
//! use superpose_core::{Measure, Settings};
//! use superpose_theory::predict;
//!
//! let config = Settings { vocab: 500, dim: 200, samples: 500_000, ..Settings::default() }.check()?;
//! let prediction = predict(&config);
//! assert!(prediction.measures[Measure::Accuracy].is_some_and(|accuracy| accuracy > 0.9));
//! for condition in &prediction.conditions {
//!     println!("{condition}");
//! }
//! # Ok::<(), superpose_core::ConfigError>(())
//! ```
//!
//! Data flows one way: [`kernel`] (similarity of facts) -> [`memory`] (what step 3 stores); independently of it
//! [`attention`] (what step 2 learns), [`one_step`] (reading the first gradient alone) and [`bound`] (limits for
//! decoders of that gradient); then [`noise`], [`laws`] and [`conditions`] (what limits accuracy) and [`mod@predict`] (all results
//! together). On top of that, [`mod@critical`] solves for a size, [`mod@map`] fills a grid and [`mod@plan`] finds the
//! cheapest model. Everything is a pure function of its arguments. "Theory: name" refers to a chapter in `docs/theory`.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

pub mod attention;
pub mod bound;
pub mod capacity;
pub mod conditions;
mod counts;
pub mod critical;
pub mod frequency;
mod heads;
pub mod kernel;
pub mod laws;
pub mod limit;
pub mod map;
pub mod memory;
pub mod noise;
pub mod normal;
pub mod one_step;
pub mod plan;
mod point;
pub mod predict;
mod quadrature;
mod recall;
pub mod rounds;
pub mod rows;
#[cfg(test)]
mod testing;
pub mod words;
mod zipf;

pub use critical::critical;
pub use kernel::Measured;
pub use memory::Memory;
pub use plan::plan;
pub use point::{Point, Zipf};
pub use predict::{Prediction, predict, predict_at, predict_measured, predict_with};
pub use recall::MIN_TIGHT_LEAD;
pub use rows::Rows;
