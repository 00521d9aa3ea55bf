//! x
#![forbid(unsafe_code)]
mod quadrature;
mod normal;
mod counts;
pub mod kernel;
mod point;mod memory;mod noise;pub use memory::Memory;
pub use point::Point;
#[cfg(test)]
mod testing;
