//! `superpose merge`: merges the shards of many machines into one store.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use superpose_lab::store::Store;
use superpose_lab::sweep::{merge as merge_shards, shards_in};
use superpose_lab::words::grouped;
use superpose_report::duration;

use crate::progress::Work;
use crate::shared::{message, plural, print};
use crate::sweep::shards_of;

#[derive(Args, Clone, Debug)]
pub struct MergeArguments {
    /// Shard files or folders of shards (default: the store's name with .shards)
    #[arg(value_name = "SHARDS")]
    shards: Vec<PathBuf>,
    /// Store to merge into
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
}

pub fn merge(arguments: &MergeArguments) -> anyhow::Result<()> {
    let started = Instant::now();
    let places = match arguments.shards.is_empty() {
        true => vec![shards_of(&arguments.store)],
        false => arguments.shards.clone(),
    };
    let shards = shards_in(&places)?;
    if shards.is_empty() {
        bail!("{}: no shards (*.jsonl) there", places[0].display());
    }
    let mut store = Store::open(&arguments.store)?;
    let work = Work::new();
    work.begin(shards.len(), shards.len() as f64);
    let merged = merge_shards(&shards, &mut store, &mut |_| work.advance(1.0));
    work.finish();
    let merged = merged?;

    for (path, line) in &merged.torn {
        message(format_args!(
            "note: {}, line {line}: incomplete, because its writer is still running or was killed; the lines before it are merged",
            path.display()
        ));
    }
    for (path, other) in &merged.copies {
        let (path, other) = (path.display(), other.display());
        message(format_args!(
            "note: {path}, line 1: the same cell as line 1 of {other}; a copy? Each cell is counted once"
        ));
    }
    for error in &merged.refused {
        message(format_args!("error: {error}; nothing of this shard was merged"));
    }
    let (shards, store) = (plural(merged.shards, "shard", "shards"), arguments.store.display());
    let [added, known] = [merged.added, merged.known].map(|cells| grouped(cells as f64));
    let time = duration(started.elapsed().as_secs_f64());
    print(&format!("{shards} into {store}: {added} new cells, {known} known already, in {time}.\n"))?;
    match merged.refused.len() {
        0 => Ok(()),
        refused => bail!("{} refused", plural(refused, "shard was", "shards were")),
    }
}
