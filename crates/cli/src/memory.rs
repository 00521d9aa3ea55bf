//! `superpose memory`: measures an associative memory alone: what it recalls, or how many facts it holds.

use std::sync::atomic::AtomicBool;

use clap::Args;
use superpose_associative::MemorySettings;
use superpose_lab::associative::{CapacityOptions, CapacitySearch, MemoryError, check_room, run};

use crate::interrupt::Interrupt;
use crate::progress::spinner;
use crate::setting_flags::SettingFlags;
use crate::shared::{Threads, available_memory, backend, print_record};

/// Arguments of `superpose memory`.
#[derive(Args, Clone, Debug)]
pub struct MemoryArguments {
    #[command(flatten)]
    settings: SettingFlags<MemorySettings>,
    #[command(flatten)]
    search: SettingFlags<CapacityOptions>,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn memory(arguments: &MemoryArguments) -> anyhow::Result<()> {
    let threads = arguments.threads.count()?;
    let settings = arguments.settings.read()?;
    let check_room = |settings: &MemorySettings| check_room(settings, threads, available_memory());
    let options = CapacityOptions::given(&arguments.search.values, &arguments.settings.values)?;
    let Some(options) = options else {
        let config = settings.check()?;
        check_room(&config)?;
        let backend = backend(threads)?;
        let record = spinner(|bar| {
            run(&config, &backend, &AtomicBool::new(false), &mut |done| {
                bar.say(format!("{done} of {} memories made", config.repeats));
            })
        });
        return print_record(arguments.json, &record?, superpose_report::memory);
    };
    let search = CapacitySearch::new(&settings, &options)?;
    check_room(search.largest())?;
    let interrupt = Interrupt::listen()?;
    let backend = backend(threads)?;
    let record = spinner(|bar| {
        search.record(&backend, interrupt.flag(), &mut |runs, facts| {
            bar.say(format!("{runs} memories made, now with {facts} facts"));
        })
    });
    let record = record.map_err(|error| match error {
        MemoryError::Cancelled(_) => {
            interrupt.stopped("stopped: a search for a capacity keeps no results".into())
        }
        error => error.into(),
    })?;
    print_record(arguments.json, &record, superpose_report::capacity)
}
