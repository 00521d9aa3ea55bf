//! Finds the CUDA libraries and their functions before anything of cudarc is called, which panics when one is missing.

use std::error::Error;
use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::{cublas, driver, nvrtc};
use libloading::Library;
use superpose_core::backend::DeviceError;

/// The functions of the driver that this crate and cudarc call.
const DRIVER: [&str; 31] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuMemGetInfo_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuDeviceGetDefaultMemPool",
    "cuMemPoolSetAttribute",
    "cuMemPoolGetAttribute",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuMemsetD2D8Async",
    "cuMemcpy2DAsync_v2",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
];
/// Those that only describe errors.
const MESSAGES: [&str; 2] = ["cuGetErrorName", "cuGetErrorString"];
const CUBLAS: [&str; 5] =
    ["cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2", "cublasSgemm_v2", "cublasDgemm_v2"];
const NVRTC: [&str; 7] = [
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcDestroyProgram",
];

/// Checks that the driver is there.
#[allow(unsafe_code)]
pub fn driver() -> Result<(), DeviceError> {
    // SAFETY: this loads the driver's library, whose initialisers run in every program that uses CUDA.
    if unsafe { !driver::sys::is_culib_present() } {
        return missing("the NVIDIA driver", "libcuda", "is not installed");
    }
    // SAFETY: as above.
    let library = unsafe { driver::sys::culib() };
    complete(library, "the NVIDIA driver (libcuda)", DRIVER.iter().chain(&MESSAGES))
}

/// Checks that cuBLAS is there.
#[allow(unsafe_code)]
pub fn cublas() -> Result<(), DeviceError> {
    preload();
    // SAFETY: as above.
    if unsafe { !cublas::sys::is_culib_present() } {
        return missing("cuBLAS", "libcublas", NOT_FOUND);
    }
    // SAFETY: as above.
    complete(unsafe { cublas::sys::culib() }, "cuBLAS (libcublas)", &CUBLAS)
}

/// Checks that the compiler of kernels is there.
#[allow(unsafe_code)]
pub fn nvrtc() -> Result<(), DeviceError> {
    preload();
    // SAFETY: as above.
    if unsafe { !nvrtc::sys::is_culib_present() } {
        return missing("NVRTC", "libnvrtc", NOT_FOUND);
    }
    // SAFETY: as above.
    complete(unsafe { nvrtc::sys::culib() }, "NVRTC (libnvrtc)", &NVRTC)
}

const NOT_FOUND: &str =
    "of CUDA 12 or 13 was not found; its folder may be given in LD_LIBRARY_PATH or CUDA_HOME";

fn unavailable(reason: String) -> Result<(), DeviceError> {
    Err(DeviceError::Unavailable { reason })
}

/// The error of a library that is absent, or that the loader finds and rejects.
#[allow(unsafe_code)]
fn missing(what: &str, library: &str, absent: &str) -> Result<(), DeviceError> {
    let rejected = ["", ".1", ".13", ".12"].into_iter().find_map(|version| {
        let name = format!("{library}.so{version}");
        // SAFETY: as in `driver`.
        let error = unsafe { Library::new(&name) }.err()?.source()?.to_string();
        let is_absent = error.contains("No such file") && error.starts_with(&name);
        (!is_absent && cfg!(target_os = "linux")).then_some(error)
    });
    unavailable(match rejected {
        Some(error) => format!("{what} ({library}) cannot be loaded ({error})"),
        None => format!("{what} ({library}) {absent}"),
    })
}

/// Checks that a library has all functions.
#[allow(unsafe_code)]
fn complete<'a>(
    library: &Library,
    what: &str,
    functions: impl IntoIterator<Item = &'a &'a str>,
) -> Result<(), DeviceError> {
    for name in functions {
        // SAFETY: the address is looked up and not used.
        if unsafe { library.get::<*const ()>(name.as_bytes()) }.is_err() {
            return unavailable(format!("{what} has no function {name}; CUDA 12 or later is needed"));
        }
    }
    Ok(())
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
                let files = ["lib64", "lib", ""].into_iter().flat_map(|inner| {
                    [".13", ".12"].map(|version| folder.join(inner).join(format!("{name}{version}")))
                });
                if let Some(path) = files.into_iter().find(|path| path.exists()) {
                    // SAFETY: a library of the CUDA toolkit; it stays loaded.
                    std::mem::forget(unsafe { Library::new(path) });
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The emulator has all functions that the tests of parity call.
    #[test]
    fn functions_are_those_of_the_emulator() {
        let text = include_str!("../tests/emulator/driver.cpp");
        let defined = |start: &str| {
            let mut names: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("int ")?.split_once('('))
                .map(|(name, _)| name)
                .filter(|name| name.starts_with(start))
                .collect();
            names.sort_unstable();
            names
        };
        for (start, names) in [
            ("cu", [&DRIVER[..], &MESSAGES, &CUBLAS].concat()),
            ("cublas", CUBLAS.to_vec()),
            ("nvrtc", NVRTC.to_vec()),
        ] {
            let mut names = names;
            names.sort_unstable();
            assert_eq!(defined(start), names);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    fn library_without_a_function_is_refused_by_name() {
        // SAFETY: the library of the C language, which the program uses already.
        let library = unsafe { Library::new("libc.so.6") }.unwrap();
        assert_eq!(complete(&library, "libc", &["malloc", "free"]), Ok(()));
        let error = complete(&library, "libc", &["malloc", "cuInit"]).unwrap_err().to_string();
        assert!(error.contains("libc has no function cuInit"), "{error}");
    }
}
