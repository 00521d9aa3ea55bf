//! The book of `docs/`: the part of it that is written from the code ([`mod@reference`]), and its building ([`build`]) and checking
//! ([`links`]). Nothing here is in the program.

pub mod links;
pub mod reference;

use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;

/// The folder of the project.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Builds the book of the project into a folder.
pub fn build(root: &Path, out: &Path) -> anyhow::Result<()> {
    let mut book = MDBook::load(root)?;
    book.config.build.build_dir = out.to_path_buf();
    book.build()
}
