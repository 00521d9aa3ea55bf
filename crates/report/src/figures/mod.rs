//! Figures of single records, for the command line and the page.

mod inspect;
mod phase;
mod plan;
mod train;

pub use inspect::holdings;
pub(crate) use phase::cause;
pub use phase::diagram;
pub use plan::trade_off;
pub use train::trajectory;
