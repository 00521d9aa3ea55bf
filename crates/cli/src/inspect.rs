//! `superpose inspect`: measures how the rows of a real embedding matrix overlap, and how many facts they could hold.

use std::path::PathBuf;

use clap::Args;
use superpose_core::config::Trigger;
use superpose_lab::inspect::{InspectError, SizesOptions, inspect_with_sizes};
use superpose_tensors::TensorFile;

use crate::arguments::Count;
use crate::progress::Bar;
use crate::shared::{Threads, backend, print_record};

#[derive(Args, Clone, Debug)]
pub struct InspectArguments {
    /// File with the embedding matrix (safetensors; F32, F16, BF16 or F64)
    #[arg(value_name = "FILE.safetensors")]
    file: PathBuf,
    /// The matrix of input embeddings, a row per token (default: the largest matrix of the file)
    #[arg(long, value_name = "NAME")]
    tensor: Option<String>,
    /// The matrix of output embeddings, a row per label (default: Gaussian vectors of the same dimension)
    #[arg(long, value_name = "NAME")]
    output_tensor: Option<String>,
    /// Memory accuracy that the counted facts must reach
    #[arg(long, value_name = "SHARE", default_value = "0.99", allow_hyphen_values = true)]
    accuracy: f64,
    /// Also predict the recall of this many facts, the samples that they need and the longest sequences
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    facts: Option<Count>,
    /// Sequence length L, with --facts
    #[arg(long, value_name = "L", default_value = "16", requires = "facts", allow_hyphen_values = true)]
    length: Count,
    /// Where the trigger is, with --facts: keys, or values (keys and values)
    #[arg(long, value_name = "TRIGGER", default_value = "keys", requires = "facts")]
    trigger: Trigger,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub fn inspect(arguments: &InspectArguments) -> anyhow::Result<()> {
    let backend = backend(arguments.threads.count()?)?;
    let file = TensorFile::open(&arguments.file)?;
    let sizes = |Count(facts)| {
        let Count(length) = arguments.length;
        SizesOptions { facts: facts as usize, length: length as usize, trigger: arguments.trigger }
    };
    let bar = Bar::new(0);
    bar.say("reading".into());
    let found = inspect_with_sizes(
        &file.tensors(),
        arguments.tensor.as_deref(),
        arguments.output_tensor.as_deref(),
        arguments.facts.map(sizes),
        arguments.accuracy,
        &backend,
        &mut |done, total| bar.set(done as u64, total as u64),
    );
    bar.finish();
    let found = found.map_err(|error| match error {
        InspectError::Tensors(error) => file.inside(error).into(),
        other => anyhow::Error::from(other),
    })?;
    print_record(arguments.json, &found, superpose_report::inspect)
}
