//! Finds the CUDA libraries before anything of cudarc is called, which panics when one is missing.

use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::{cublas, driver, nvrtc};
use superpose_core::backend::DeviceError;

/// Checks that the driver is there.
#[allow(unsafe_code)]
pub fn driver() -> Result<(), DeviceError> {
    // SAFETY: this loads the driver's library, whose initialisers run in every program that uses CUDA.
    found(unsafe { driver::sys::is_culib_present() }, "the NVIDIA driver (libcuda) is not installed")
}

/// Checks that cuBLAS is there.
#[allow(unsafe_code)]
pub fn cublas() -> Result<(), DeviceError> {
    preload();
    // SAFETY: as above.
    let present = unsafe { cublas::sys::is_culib_present() };
    found(
        present,
        "cuBLAS (libcublas) of CUDA 12 or 13 was not found; its folder may be given in LD_LIBRARY_PATH",
    )
}

/// Checks that the compiler of kernels is there.
#[allow(unsafe_code)]
pub fn nvrtc() -> Result<(), DeviceError> {
    preload();
    // SAFETY: as above.
    let present = unsafe { nvrtc::sys::is_culib_present() };
    found(
        present,
        "NVRTC (libnvrtc) of CUDA 12 or 13 was not found; its folder may be given in LD_LIBRARY_PATH",
    )
}

fn found(present: bool, reason: &str) -> Result<(), DeviceError> {
    if present { Ok(()) } else { Err(DeviceError::Unavailable { reason: reason.into() }) }
}

/// Loads libraries from the usual folders of a CUDA toolkit, which are often not on the search path. A library that is loaded
/// is found by its name afterwards.
#[allow(unsafe_code)]
fn preload() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let folders = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
        for folder in folders.chain([PathBuf::from("/usr/local/cuda")]) {
            for name in ["libcublasLt.so", "libcublas.so", "libnvrtc.so"] {
                let path = ["13", "12"].map(|major| folder.join("lib64").join(format!("{name}.{major}")));
                if let Some(path) = path.iter().find(|path| path.exists()) {
                    // SAFETY: a library of the CUDA toolkit; it stays loaded.
                    std::mem::forget(unsafe { libloading::Library::new(path) });
                }
            }
        }
    });
}
