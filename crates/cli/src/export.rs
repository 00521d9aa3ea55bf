//! `superpose export`: writes the results of a store in formats that other programs read.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use superpose_lab::store::{ExportError, Store, csv, json_lines};

use crate::files::write_file_with;

#[derive(Args, Clone, Debug)]
pub struct ExportArguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,
    /// Output format (default: from the extension of --out, else csv)
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Where to write (default: standard output)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table with a header
    Csv,
    /// One JSON object per line, with the full configuration
    Jsonl,
    /// Parquet file, if built with --features parquet
    Parquet,
}

pub fn export(arguments: &ExportArguments) -> anyhow::Result<()> {
    let ending = arguments.out.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
    let format = arguments.format.unwrap_or(match ending {
        Some("jsonl" | "ndjson") => Format::Jsonl,
        Some("parquet") => Format::Parquet,
        _ => Format::Csv,
    });
    if format == Format::Parquet && !cfg!(feature = "parquet") {
        bail!(
            "format = parquet: not in this build; cargo install --path crates/cli --features parquet includes it"
        );
    }
    if format == Format::Parquet && arguments.out.is_none() {
        bail!("format = parquet: cannot be written to standard output; give --out FILE.parquet");
    }
    let store = Store::open_to_read(&arguments.store)?;
    let Some(out) = &arguments.out else {
        let mut out = BufWriter::new(std::io::stdout());
        let written = write(&store, format, &mut out).and_then(|()| Ok(out.flush()?));
        return match written {
            // A reader that closes the pipe early is not an error.
            Err(ExportError::Io(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            written => written.context("standard output"),
        };
    };
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    if real(out).is_some_and(|out| real(&arguments.store) == Some(out)) {
        bail!("out = {}: is the store itself; give another file", out.display());
    }
    write_file_with(out, |file| Ok(write(&store, format, file)?))
}

fn write(store: &Store, format: Format, out: &mut (impl Write + Send)) -> Result<(), ExportError> {
    match format {
        Format::Csv => csv(store, out),
        Format::Jsonl => json_lines(store, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => superpose_lab::store::parquet(store, out),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Ok(()),
    }
}
