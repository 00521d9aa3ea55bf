//! x
#![forbid(unsafe_code)]
mod quadrature;
mod normal;
mod counts;
pub mod kernel;
mod point;mod memory;
pub use point::Point;
#[cfg(test)]
mod testing;
