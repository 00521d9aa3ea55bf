//! The integration tests of the theory, in one program: it is built sooner than one per file.
#![allow(clippy::unwrap_used)]

mod common;
mod critical;
mod properties;
mod simulated;
