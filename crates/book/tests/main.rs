//! The integration tests of the book, in one program: it is built sooner than one per file.
#![allow(clippy::unwrap_used)]

mod book;
mod reference;
