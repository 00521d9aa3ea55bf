//! The arithmetic kernels: products, softmax, gathers and histograms, and the threads that they run on.
//!
//! Other modules work with views, tasks and blocks and call these functions for everything that takes time. A [`Backend`] is passed
//! down as an argument and holds the threads and the cancel token; there is no global pool.
//!
//! Results do not depend on the number of threads. Work is cut into tasks whose number and extent follow
//! from the sizes of the problem alone, each task runs on one thread, and results are combined in the order
//! of the tasks. Nor do they depend on the instruction set: kernels accumulate in a fixed number of lanes
//! and do not fuse multiplication and addition. Products use fused instructions where the processor has them
//! (every x86-64 machine since 2013 and every aarch64 one), with the inner sum cut at 512.

mod cancel;
mod gather;
mod product;
mod real;
mod softmax;
mod tasks;

pub use cancel::{CancelToken, Cancelled, Result};
pub use gather::{Weights, add_rows, gather_dots, gather_sums, histogram, scatter_rows};
pub use product::{View, product};
pub use real::Real;
pub use softmax::{Top, residual, softmax, top};
pub use tasks::Backend;
