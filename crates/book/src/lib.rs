//! The book in `docs/`: generates its reference from the code ([`mod@reference`]), builds it ([`build`]) with typeset formulas
//! ([`math`]) and checks its links ([`links`]). The program itself does not use this crate.

pub mod links;
pub mod math;
pub mod reference;

use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;

/// The root folder of the project.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Builds the book into a folder.
///
/// # Errors
/// A page that cannot be read or written, or an invalid formula, with the name of its page.
pub fn build(root: &Path, out: &Path) -> anyhow::Result<()> {
    let mut book = MDBook::load(root)?;
    book.config.build.build_dir = out.to_path_buf();
    let mut fault = Ok(());
    book.book.for_each_chapter_mut(|chapter| match math::typeset(&chapter.content) {
        Ok(content) => chapter.content = content,
        Err(error) => {
            fault = Err(error.context(chapter.source_path.clone().unwrap_or_default().display().to_string()))
        }
    });
    fault?;
    book.build()
}
