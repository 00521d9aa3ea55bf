//! The book in `docs/`: generates its reference from the code ([`mod@reference`]), builds it ([`build`]) and checks its links
//! ([`links`]). The program itself does not use this crate.

pub mod links;
pub mod reference;

use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;

/// The root folder of the project.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Builds the book into a folder.
pub fn build(root: &Path, out: &Path) -> anyhow::Result<()> {
    let mut book = MDBook::load(root)?;
    book.config.build.build_dir = out.to_path_buf();
    book.build()
}
