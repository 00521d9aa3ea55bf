//! Where the arithmetic happens: products, softmax, gathers and histograms behind one small interface.
//!
//! Everything above this module speaks of views, tasks and blocks, and calls these functions for what takes time. A
//! [`Backend`] is passed down as an argument and says how many threads work; there is no global pool.
//!
//! Results do not depend on the number of threads. Work is cut into tasks whose number and extent follow
//! from the sizes of the problem alone, each task runs on one thread, and results are combined in the order
//! of the tasks. Nor do they depend on the instruction set: kernels accumulate in a fixed number of lanes
//! and do not fuse multiplication and addition. Products use fused instructions where the machine has them
//! (every x86-64 machine since 2013 and every aarch64 one), with the inner sum cut at 512.

mod cancel;
mod gather;
mod product;
mod real;
mod softmax;
mod tasks;

pub use cancel::{CancelToken, Cancelled};
pub use gather::{Weights, add_rows, gather_dots, gather_sums, histogram, scatter_rows};
pub use product::{View, product};
pub use real::Real;
pub use softmax::{Top, residual, softmax, top};
pub use tasks::Backend;
