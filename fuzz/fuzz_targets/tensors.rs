//! Reads any bytes as a tensor file, fits it to settings and imports its samples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use superpose_core::backend::Backend;
use superpose_core::config::Settings;
use superpose_core::task::Task;
use superpose_lab::run::Import;
use superpose_tensors::Tensors;

fuzz_target!(|bytes: &[u8]| {
    let Ok(tensors) = Tensors::parse(bytes) else { return };
    for name in tensors.names() {
        let _ = tensors.rows(&name, &[0, 3, usize::MAX]);
    }
    let Ok(import) = Import::read(&tensors) else { return };
    for noise_vocab in [None, Some(9)] {
        // Small defaults, because tensors that the file does not have are generated.
        let mut settings =
            Settings { vocab: 8, dim: 4, length: 3, samples: 16, noise_vocab, ..Settings::default() };
        if import.fit(&mut settings, |_| false).is_err() {
            continue;
        }
        let Ok(config) = settings.check() else { continue };
        if config.samples * config.length > 1 << 20 {
            continue;
        }
        let task = Task::new(&config);
        let _ = import.data(&config, task, &Backend::single());
    }
});
