//! The early phase, training and their evaluation on NVIDIA GPUs: an implementation of [`Device`](superpose_core::backend::Device).
//!
//! The driver, cuBLAS and NVRTC are loaded when the first device is opened, so that the program starts without them. Kernels are
//! CUDA C in `src/kernels`, compiled by NVRTC for the GPU at hand and cached. Random numbers have the bits of the CPU's, so data
//! and embeddings are identical; sums differ in rounding alone. No kernel adds floating-point numbers atomically: sums that
//! threads share are integers or have a fixed order, so the same run gives the same bits on the same GPU.
//!
//! | module | content |
//! |---|---|
//! | `choice` | the device that a user asks for |
//! | `library` | finding the libraries |
//! | `kernels` | compiling the kernels |
//! | `gpu` | a device, its memory and its lanes |
//! | `buffer` | the memory of a lane |
//! | `lane` | a stream with its cuBLAS handle: copies, launches, products |
//! | `geometry` | block sizes, the choice of algorithm |
//! | `estimate` | memory estimates |
//! | `data` | data and embeddings of a run in device memory |
//! | `session` | a run, and the steps that all parts share |
//! | `attend` | head outputs, and coefficients of step 2 |
//! | `readout` | the softmax of a block, and its products |
//! | `limit`, `exact`, `grouped` | the three steps |
//! | `evaluate` | the measures |
//! | `train` | training beyond the early phase |

mod attend;
mod buffer;
mod choice;
mod data;
mod estimate;
mod evaluate;
mod exact;
mod geometry;
mod gpu;
mod grouped;
mod kernels;
mod lane;
mod library;
mod limit;
mod linear;
mod readout;
mod rule;
mod session;
mod train;

pub use choice::Choice;
pub use gpu::{Found, devices, missing_library, open};
pub use kernels::{FILES, compile, program};
