//! Shards: the results of one share of a sweep in a file of its own, merging them into a store, and how far a sweep is.

mod merge;
mod shard;
mod survey;

pub use merge::{Merged, merge, shards_in};
pub use shard::{Shard, ShardError};
pub use survey::{ShareSurvey, Survey};
