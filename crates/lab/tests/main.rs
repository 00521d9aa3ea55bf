//! The integration tests of measurements and stores, in one program: it is built sooner than one per file.
#![allow(clippy::unwrap_used)]

mod agreement;
mod associative;
mod damage;
mod device;
mod inputs;
mod known;
mod shards;
mod store;
mod threshold;
mod training;
