//! Finds the CUDA libraries and their functions before anything of cudarc is called, which panics when one is missing.

use std::error::Error;
use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::{cublas, driver, nvrtc};
use libloading::Library;
use superpose_core::backend::DeviceError;

/// The functions of the driver that this crate and cudarc call.
const DRIVER: &[&str] = &[
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
    "cuGetErrorName",
    "cuGetErrorString",
];
const CUBLAS: &[&str] =
    &["cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2", "cublasSgemm_v2", "cublasDgemm_v2"];
const NVRTC: &[&str] = &[
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcDestroyProgram",
];

const NOT_FOUND: &str =
    "of CUDA 12 or 13 was not found; give its folder in LD_LIBRARY_PATH, or the CUDA toolkit in CUDA_HOME";

/// Checks that the driver is there.
#[allow(unsafe_code)]
pub fn driver() -> Result<(), DeviceError> {
    // SAFETY: this loads the driver's library, whose initialisers run in every program that uses CUDA.
    let library = unsafe { driver::sys::is_culib_present().then(|| driver::sys::culib()) };
    check(library, ["the NVIDIA driver", "libcuda"], "is not installed", DRIVER)
}

/// Checks that cuBLAS is there.
#[allow(unsafe_code)]
pub fn cublas() -> Result<(), DeviceError> {
    preload();
    // SAFETY: as above.
    let library = unsafe { cublas::sys::is_culib_present().then(|| cublas::sys::culib()) };
    check(library, ["cuBLAS", "libcublas"], NOT_FOUND, CUBLAS)
}

/// Checks that the compiler of kernels is there.
#[allow(unsafe_code)]
pub fn nvrtc() -> Result<(), DeviceError> {
    preload();
    // SAFETY: as above.
    let library = unsafe { nvrtc::sys::is_culib_present().then(|| nvrtc::sys::culib()) };
    check(library, ["NVRTC", "libnvrtc"], NOT_FOUND, NVRTC)
}

/// Fails if a library is absent, if the loader rejects it, or if it lacks a function.
#[allow(unsafe_code)]
fn check(
    library: Option<&Library>,
    [what, file]: [&str; 2],
    absent: &str,
    functions: &[&str],
) -> Result<(), DeviceError> {
    let problem = match library {
        // SAFETY: the addresses are looked up and not used.
        Some(library) => functions
            .iter()
            .find(|name| unsafe { library.get::<*const ()>(name.as_bytes()) }.is_err())
            .map(|name| format!("has no function {name}; CUDA 12 or later is needed")),
        None => Some(match rejection(file) {
            Some(error) => format!("cannot be loaded ({error})"),
            None => absent.to_string(),
        }),
    };
    match problem {
        Some(problem) => Err(DeviceError::Unavailable { reason: format!("{what} ({file}) {problem}") }),
        None => Ok(()),
    }
}

/// Why the loader rejects a library, if it finds one.
#[allow(unsafe_code)]
fn rejection(library: &str) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let names = ["", ".1", ".13", ".12"].map(|version| format!("{library}.so{version}"));
    let files = installed(library).map(|path| path.display().to_string());
    names.into_iter().chain(files).find_map(|name| {
        // SAFETY: as in `driver`.
        let error = unsafe { Library::new(&name) }.err()?.source()?.to_string();
        let is_absent = error.contains("No such file") && error.starts_with(&name);
        (!is_absent).then_some(error)
    })
}

/// The files of a library in the usual folders of a CUDA toolkit.
fn installed(library: &str) -> impl Iterator<Item = PathBuf> {
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let folders = toolkits
        .chain([PathBuf::from("/usr/local/cuda")])
        .flat_map(|toolkit| ["lib64", "lib", ""].map(|folder| toolkit.join(folder)));
    let files = folders
        .flat_map(move |folder| ["13", "12"].map(|version| folder.join(format!("{library}.so.{version}"))));
    files.filter(|path| path.exists())
}

/// Loads the files that [`installed`] finds, whose folders are often not on the search path. A library that is loaded is found by its
/// name afterwards.
#[allow(unsafe_code)]
fn preload() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        for library in ["libcublasLt", "libcublas", "libnvrtc"] {
            // SAFETY: a library of the CUDA toolkit; it stays loaded.
            let loaded = installed(library).find_map(|path| unsafe { Library::new(path) }.ok());
            std::mem::forget(loaded);
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
        for (start, names) in
            [("cu", [DRIVER, CUBLAS].concat()), ("cublas", CUBLAS.to_vec()), ("nvrtc", NVRTC.to_vec())]
        {
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
        let check = |functions: &[&str]| check(Some(&library), ["C", "libc"], "", functions);
        assert_eq!(check(&["malloc", "free"]), Ok(()));
        let error = check(&["malloc", "cuInit"]).unwrap_err().to_string();
        assert!(error.contains("C (libc) has no function cuInit"), "{error}");
    }
}
