//! `superpose serve`: serves the web page to this machine only.

use std::path::PathBuf;

use clap::Args;
use superpose_web::{Server, ServerOptions};

use crate::interrupt::Interrupt;
use crate::shared::{DeviceFlag, Threads, available_memory, message, print};

#[derive(Args, Clone, Debug)]
pub struct ServeArguments {
    /// Port on 127.0.0.1; 0 chooses a free port
    #[arg(long, value_name = "PORT", default_value_t = 7333)]
    port: u16,
    /// Study folder, store, or embedding file or folder to show; repeatable
    #[arg(long, value_name = "PATH")]
    open: Vec<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    device: DeviceFlag,
}

/// Maximum memory of a run of the page in bytes; the rest is left for the browser.
const MAX_MEMORY: f64 = 4e9;

/// Runs the command until Ctrl-C.
pub fn serve(arguments: &ServeArguments) -> anyhow::Result<()> {
    let threads = arguments.threads.count()?;
    let device = arguments.device.open()?;
    let interrupt = Interrupt::listen()?;
    let memory = (0.5 * available_memory()).min(MAX_MEMORY);
    let server = Server::bind(
        arguments.port,
        ServerOptions { open: arguments.open.clone(), threads, memory, device },
    )?;
    print(&format!("http://{}\n", server.address()))?;
    message("The page is at that address, for this machine only. Ctrl-C ends it.");
    server.serve(interrupt.flag());
    Ok(())
}
