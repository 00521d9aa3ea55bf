//! `superpose devices`: lists where runs can be computed.

use clap::Args;
use serde::Serialize;
use superpose_core::backend::Numerics;
use superpose_lab::memory::{available, readable};
use superpose_report::{Align, Block, Document, Grid};

use crate::shared::{plural, print_record};

#[derive(Args, Clone, Debug)]
pub struct DevicesArguments {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What there is to compute on.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Devices {
    /// The CPU, then GPUs.
    devices: Vec<Described>,
    /// Why no GPU can be used, or which CUDA library is missing.
    unavailable: Option<String>,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
struct Described {
    /// The value of `--device`.
    device: String,
    /// Its name.
    name: String,
    /// Bytes of memory that are free.
    free: f64,
    /// The arithmetic that its results come from.
    numerics: String,
}

pub fn devices(arguments: &DevicesArguments) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = Described {
        device: "cpu".into(),
        name: plural(cores, "core", "cores"),
        free: available(),
        numerics: Numerics::this_cpu().to_string(),
    };
    let (found, unavailable) = match superpose_cuda::devices() {
        Ok(found) => (found, superpose_cuda::missing_library()),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let gpus = found.into_iter().map(|gpu| Described {
        numerics: gpu.architecture.replace("sm_", "cuda-sm"),
        device: gpu.word,
        name: gpu.name,
        free: gpu.free,
    });
    let devices = Devices { devices: std::iter::once(cpu).chain(gpus).collect(), unavailable };
    print_record(arguments.json, &devices, text)
}

fn text(devices: &Devices) -> String {
    let columns = [Align::Left, Align::Left, Align::Right, Align::Left];
    let mut table = Grid::new(&columns, &["device", "name", "free memory", "numerics"]);
    for device in &devices.devices {
        table.row([
            device.device.clone(),
            device.name.clone(),
            readable(device.free),
            device.numerics.clone(),
        ]);
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(devices.unavailable.clone().map(Block::Line));
    Document { blocks }.text()
}
