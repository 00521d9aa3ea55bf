//! Figures in files.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Context, bail};
use superpose_figure::{Figure, Theme};

use crate::files::{check_writable, write_file};

/// Pixels of a PNG per unit of the figure, for high-resolution screens and print.
pub const PNG_SCALE: f64 = 2.0;

/// The file of `--svg`; its extension decides the format.
pub struct FigureFile {
    path: PathBuf,
    png: bool,
}

impl FigureFile {
    /// Returns the file for a path, if one is given. Checks that it can be written, so that the user learns it before a long run.
    pub fn new(path: Option<&PathBuf>) -> anyhow::Result<Option<FigureFile>> {
        let Some(path) = path else { return Ok(None) };
        let extension = path.extension().and_then(OsStr::to_str).map(str::to_lowercase);
        let png = match extension.as_deref() {
            Some("svg") => false,
            Some("png") => true,
            _ => bail!("svg = {}: must end in .svg or .png", path.display()),
        };
        check_writable(path).context("svg")?;
        Ok(Some(FigureFile { path: path.clone(), png }))
    }

    pub fn write(&self, figure: &Figure) -> anyhow::Result<()> {
        let bytes = match self.png {
            false => figure.svg(Theme::Light).into_bytes(),
            true => figure.png(Theme::Light, PNG_SCALE)?,
        };
        write_file(&self.path, &bytes).context("svg")
    }
}
