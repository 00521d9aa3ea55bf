//! The web page of Superpose and its HTTP API, served on this machine only.
//!
//! The page's files are in the binary and nothing is fetched from elsewhere. `routes` lists the API; `openapi` describes it
//! from the types of requests and responses. A handler reads the request (`extract`, `json`), hands the computation to the
//! laboratory on a thread that may block (`work`), and returns the record as JSON, with the names of the command line.
//! `guard` refuses requests of other sites, `server` holds the connections.

mod about;
mod app;
mod design;
mod error;
mod events;
mod explore;
mod extract;
mod guard;
mod json;
mod openapi;
mod page;
mod routes;
mod runs;
mod server;
mod settings;
mod studies;
mod work;

pub use app::ServerOptions;
pub use server::{ServeError, Server};
