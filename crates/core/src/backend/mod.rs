//! The arithmetic kernels: products, softmax, gathers and histograms, and the threads that they run on.
//!
//! Other modules call these functions for all expensive computation. A [`Backend`] is passed down as an argument and holds the
//! threads and the cancel token; there is no global pool.
//!
//! Results do not depend on the number of threads: the backend splits work into tasks by problem size alone, runs each task on
//! one thread, and combines results in task order. Long sums are split into blocks that any thread computes; the blocks of a sum
//! are added in their order ([`Blocks`]). Kernels give equal results on every instruction set: they use a fixed number
//! of lanes and no fused multiply-add. Matrix products use fused multiply-add where the processor has it, so only processors
//! without it differ ([`Numerics`]).

/// Compiles functions for several instruction sets and chooses at run time. Without the feature `avx512`, AVX-512 is left
/// out, so that tests can compare the bits of narrower vectors.
macro_rules! simd {
    ($($function:item)*) => {$(
        #[cfg_attr(
            feature = "avx512",
            multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))
        )]
        #[cfg_attr(not(feature = "avx512"), multiversion::multiversion(targets("x86_64+avx2")))]
        $function
    )*};
}
pub(crate) use simd;

mod cancel;
mod device;
mod gather;
mod numerics;
mod product;
mod real;
mod softmax;
mod sums;
mod tasks;

pub use cancel::{CancelToken, Cancelled, Result};
pub use device::{
    Cost, Device, DeviceError, Facts, Measured, MemoryLearner, MemorySizes, Problem, Solution, Solver,
};
pub use gather::{Weights, add_rows, gather_dots, gather_sums, histogram, scatter_rows};
pub use numerics::Numerics;
pub use product::{View, product};
pub use real::{Real, narrow, wide};
pub use softmax::{Top, residual, softmax, softmax_of_largest, top};
pub use sums::{Blocks, SUMS, parts};
pub use tasks::Backend;
