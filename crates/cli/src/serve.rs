//! `superpose serve`: the page, on this machine alone.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use superpose_web::{Server, ServerOptions};

use crate::arguments::{Count, threads};
use crate::interrupt::Interrupt;
use crate::run::available_memory;

/// Arguments of `superpose serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArguments {
    /// Port on 127.0.0.1; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 7333)]
    port: u16,
    /// A folder of `reproduce`, a store, a file or folder of embeddings to show; may be given several times
    #[arg(long, value_name = "PATH")]
    open: Vec<PathBuf>,
    /// Threads (default: all cores); results do not depend on it
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    threads: Option<Count>,
}

/// Memory that a run of the page may take at most: it shares the machine with the browser.
const MOST_MEMORY: f64 = 4e9;

/// Runs the command until Ctrl-C.
pub fn serve(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    let threads = threads(arguments.threads)?;
    let interrupt = Interrupt::listen()?;
    let memory = (0.5 * available_memory()).min(MOST_MEMORY);
    let server =
        Server::bind(arguments.port, ServerOptions { open: arguments.open.clone(), threads, memory })?;
    let _ = writeln!(std::io::stdout(), "http://{}", server.address());
    let _ =
        writeln!(std::io::stderr(), "The page is at that address, for this machine alone. Ctrl-C ends it.");
    server.serve(interrupt.flag());
    Ok(ExitCode::SUCCESS)
}
