//! The integration tests of the command line, in one program: it is built sooner than one per file.
#![allow(clippy::unwrap_used)]

mod bound;
mod common;
mod device;
mod estimate;
mod inspect;
mod memory;
mod predict;
mod reference;
mod reproduce;
mod run;
mod serve;
mod slurm;
mod sweep;
mod threshold;
mod train;
mod trust;
