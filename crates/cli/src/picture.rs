//! Figures into files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::bail;
use superpose_figure::{Figure, Theme};

use crate::files::{can_be_written, whole_file};

/// Pixels of a PNG for each of the figure's own, for sharp screens and print.
const SCALE: f64 = 2.0;

/// A file for a figure: its ending says which kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Svg,
    Png,
}

impl Target {
    /// Fails unless the path ends in `.svg` or `.png`. `name` is the flag's.
    pub fn new(name: &str, path: &Path) -> anyhow::Result<Self> {
        let ending = path.extension().and_then(OsStr::to_str).map(str::to_lowercase);
        let kind = match ending.as_deref() {
            Some("svg") => Kind::Svg,
            Some("png") => Kind::Png,
            _ => bail!("{name} = {}: must end in .svg or .png", path.display()),
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// Fails unless the file can be written.
    pub fn check(&self) -> anyhow::Result<()> {
        can_be_written(&self.path)
    }

    /// Writes a figure.
    pub fn write(&self, figure: &Figure, theme: Theme) -> anyhow::Result<()> {
        let bytes = match self.kind {
            Kind::Svg => figure.svg(theme).into_bytes(),
            Kind::Png => figure.png(theme, SCALE)?,
        };
        whole_file(&self.path, &bytes)
    }
}
