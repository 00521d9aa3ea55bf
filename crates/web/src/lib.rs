//! The page of the recall laboratory and its API, on this machine alone.
//!
//! Everything is in the binary and nothing is fetched. The mathematics is elsewhere: a request is read (`refusal` says why one
//! is not accepted), handed to the laboratory on a thread of its own (`work`), and its record is written as JSON with the names of the
//! command line. `guard` keeps other sites out, `server` holds the connections.

mod about;
mod app;
mod body;
mod design;
mod events;
mod explore;
mod guard;
mod json;
mod openapi;
mod page;
mod patience;
mod refusal;
mod runs;
mod server;
mod studies;
mod work;

pub use app::ServerOptions;
pub use server::{ServeError, Server};
