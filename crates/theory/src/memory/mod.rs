//! x
mod race;
pub(crate) use race::{Output, Race};
