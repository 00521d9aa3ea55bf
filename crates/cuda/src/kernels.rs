//! Compiles the kernels with NVRTC for the GPU at hand, and caches the machine code in the user's cache folder.

use std::collections::HashMap;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, DriverError, sys};
use cudarc::nvrtc::{self, Ptx};
use superpose_core::backend::DeviceError;

use crate::geometry::{
    SCAN_THREADS, SHORT_SAMPLES, SHORT_TOKENS, SOFTMAX_BYTES, SOFTMAX_COLUMNS, SOFTMAX_LABELS,
    SOFTMAX_SAMPLES, THREADS,
};
use crate::lane::failed;
use crate::library;
use crate::session::{GRADIENTS, OUTPUTS, VALUES};

/// The files of kernels and the options that they need. Embeddings are drawn without fused multiply-add, like on the CPU.
pub const FILES: [(&str, &str, &[&str]); 8] = [
    ("draw.cu", include_str!("kernels/draw.cu"), &["--fmad=false"]),
    ("samples.cu", include_str!("kernels/samples.cu"), &[]),
    ("short.cu", include_str!("kernels/short.cu"), &[]),
    ("groups.cu", include_str!("kernels/groups.cu"), &[]),
    ("matrices.cu", include_str!("kernels/matrices.cu"), &[]),
    ("product.cu", include_str!("kernels/product.cu"), &[]),
    ("softmax.cu", include_str!("kernels/softmax.cu"), &[]),
    ("train.cu", include_str!("kernels/train.cu"), &[]),
];

const COMMON: &str = include_str!("kernels/common.cuh");

/// The program of a file for 32-bit (`single`) or 64-bit numbers.
pub fn program(text: &str, single: bool) -> String {
    let types = match single {
        true => "#define SINGLE\n#define REAL float\n#define COUNTER unsigned int\n",
        false => "#define REAL double\n#define COUNTER unsigned long long\n",
    };
    let constants = [
        ("THREADS", THREADS as usize),
        ("SCAN_THREADS", SCAN_THREADS),
        ("SHORT_TOKENS", SHORT_TOKENS),
        ("SHORT_SAMPLES", SHORT_SAMPLES),
        ("SOFTMAX_SAMPLES", SOFTMAX_SAMPLES),
        ("SOFTMAX_LABELS", SOFTMAX_LABELS),
        ("SOFTMAX_COLUMNS", SOFTMAX_COLUMNS),
        ("SOFTMAX_BYTES", SOFTMAX_BYTES),
        ("GRADIENTS", GRADIENTS),
        ("VALUES", VALUES),
        ("OUTPUTS", OUTPUTS),
    ];
    let constants: String = constants.map(|(name, value)| format!("#define {name} {value}\n")).concat();
    format!("{types}{constants}{COMMON}{text}")
}

/// Compiles a program for an architecture such as `sm_90`.
///
/// # Errors
/// NVRTC is missing or rejects the program.
#[allow(unsafe_code)]
pub fn compile(
    name: &str,
    program: &str,
    architecture: &str,
    options: &[&str],
) -> Result<Vec<u8>, DeviceError> {
    library::nvrtc()?;
    let options: Vec<String> = [format!("--gpu-architecture={architecture}"), "--std=c++17".into()]
        .into_iter()
        .chain(options.iter().map(ToString::to_string))
        .collect();
    let [source, file] = [program, name].map(|text| CString::new(text).expect("a source without zero bytes"));
    let handle = nvrtc::result::create_program(&source, Some(&file)).map_err(failed)?;
    // SAFETY: the handle is that of a program that was created, and is destroyed once, at the end.
    unsafe {
        let compiled = nvrtc::result::compile_program(handle, &options);
        let code = match compiled {
            Ok(()) => {
                let mut size = 0;
                nvrtc::sys::nvrtcGetCUBINSize(handle, &mut size).result().map_err(failed)?;
                let mut code = vec![0u8; size];
                nvrtc::sys::nvrtcGetCUBIN(handle, code.as_mut_ptr().cast()).result().map_err(failed)?;
                Ok(code)
            }
            Err(error) => {
                let log = nvrtc::result::get_program_log(handle).unwrap_or_default();
                let text: String = log.iter().map(|&c| c as u8 as char).filter(|&c| c != '\0').collect();
                Err(DeviceError::Failed {
                    reason: format!("{name} does not compile ({error:?}): {}", one_line(&text)),
                })
            }
        };
        let _ = nvrtc::result::destroy_program(handle);
        code
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The kernels of one floating-point type.
#[derive(Debug)]
pub struct Kernels {
    by_name: HashMap<String, CudaFunction>,
    /// Bytes of memory that the threads of a block may share.
    pub shared: usize,
    /// Whether the GPU has the instructions for tensor cores that `softmax_product` uses: from compute capability 8.0 on.
    pub tensor_cores: bool,
}

impl Kernels {
    /// Loads the kernels of all files, compiled now or before.
    pub fn load(
        context: &Arc<CudaContext>,
        architecture: &str,
        single: bool,
    ) -> Result<Kernels, DeviceError> {
        let mut by_name = HashMap::new();
        let limit = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        // The rest is for the kernels' own sums.
        let shared = context.attribute(limit).map_err(failed)? - 1024;
        for (file, text, options) in FILES {
            let program = program(text, single);
            let compiled = |renew| cached(file, &program, architecture, options, renew);
            // The driver may be older than the compiler that filled the cache, for example on another node of a cluster.
            let module = match context.load_module(Ptx::from_binary(compiled(false)?)) {
                Err(DriverError(
                    sys::CUresult::CUDA_ERROR_INVALID_IMAGE | sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
                )) => context.load_module(Ptx::from_binary(compiled(true)?)),
                loaded => loaded,
            };
            let module = module.map_err(failed)?;
            for name in names(text) {
                let function = module.load_function(name).map_err(failed)?;
                if ["scatter_by_rows", "softmax_product", "coefficients"].contains(&name) {
                    let kind = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                    function.set_attribute(kind, shared).map_err(failed)?;
                }
                by_name.insert(name.to_string(), function);
            }
        }
        let tensor_cores = context.compute_capability().map_err(failed)? >= (8, 0);
        Ok(Kernels { by_name, shared: shared.max(0) as usize, tensor_cores })
    }

    /// A kernel by name.
    pub fn get(&self, name: &str) -> Result<&CudaFunction, DeviceError> {
        self.by_name
            .get(name)
            .ok_or_else(|| DeviceError::Failed { reason: format!("there is no kernel {name}") })
    }
}

/// The names of the kernels in a file.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("__global__ void ").skip(1).filter_map(|rest| rest.split('(').next())
}

/// The machine code from the cache, or compiled and written there; `renew` ignores what is there. A cache that is damaged, or cannot be
/// read or written, is no error.
fn cached(
    file: &str,
    program: &str,
    architecture: &str,
    options: &[&str],
    renew: bool,
) -> Result<Vec<u8>, DeviceError> {
    let compile = || compile(file, program, architecture, options);
    let Some(folder) = folder() else { return compile() };
    let hash = blake3::hash(format!("{architecture} {options:?}\n{program}").as_bytes()).to_hex();
    let path = folder.join(format!("{hash}.cubin"));
    if let Some(code) = std::fs::read(&path).ok().and_then(unsealed).filter(|_| !renew) {
        return Ok(code);
    }
    let code = compile()?;
    // Written under another name first, so that no other process reads half a file.
    let part = folder.join(format!("{hash}.{}.part", std::process::id()));
    let _ = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&part, sealed(&code)))
        .and_then(|()| std::fs::rename(&part, &path));
    Ok(code)
}

/// Bytes with a checksum at their end.
fn sealed(code: &[u8]) -> Vec<u8> {
    [code, blake3::hash(code).as_bytes()].concat()
}

/// The bytes without their checksum; `None` if it is wrong.
fn unsealed(mut file: Vec<u8>) -> Option<Vec<u8>> {
    let checksum = file.split_off(file.len().checked_sub(blake3::OUT_LEN)?);
    (blake3::hash(&file).as_bytes()[..] == checksum).then_some(file)
}

fn folder() -> Option<PathBuf> {
    // By the XDG specification empty and relative paths are ignored.
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    absolute("XDG_CACHE_HOME").or_else(home).map(|folder| folder.join("superpose").join("kernels"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_name_of_its_own() {
        let mut all: Vec<&str> = FILES.iter().flat_map(|(_, text, _)| names(text)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() == count && count > 20, "{all:?}");
        assert!(all.contains(&"attend") && all.contains(&"draw_normals"));
    }

    #[test]
    fn damaged_cache_is_not_used() {
        let code = vec![1, 2, 3];
        assert_eq!(unsealed(sealed(&code)), Some(code.clone()));
        for place in 0..3 + blake3::OUT_LEN {
            let mut damaged = sealed(&code);
            damaged[place] ^= 1;
            assert_eq!(unsealed(damaged), None);
            assert_eq!(unsealed(sealed(&code)[..place].to_vec()), None);
        }
    }
}
