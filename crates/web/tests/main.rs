//! The integration tests of the server, in one program: it is built sooner than one per file.
#![allow(clippy::unwrap_used)]

mod api;
mod common;
mod flood;
mod limits;
mod refusals;
mod stores;
mod streams;
