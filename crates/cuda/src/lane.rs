//! A lane: a stream of work with its cuBLAS handle. Memory, launches and matrix products of a run go through its lane.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::cublas::{CudaBlas, result as blas, sys as blas_sys};
use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, ValidAsZeroBits, result};
use superpose_core::backend::{DeviceError, Real};

/// The error of a call that failed.
pub fn failed(error: impl Debug) -> DeviceError {
    DeviceError::Failed { reason: format!("{error:?}") }
}

pub type Done<T = ()> = Result<T, DeviceError>;

/// A floating-point type that cuBLAS multiplies.
pub trait Element: Real + DeviceRepr + ValidAsZeroBits {
    /// Whether this is the 32-bit type.
    const SINGLE: bool;

    /// `C = op(A) op(B)` for column-major matrices.
    ///
    /// # Safety
    /// The pointers must be device memory of the sizes given.
    #[allow(unsafe_code, clippy::too_many_arguments)]
    unsafe fn multiply(
        handle: blas_sys::cublasHandle_t,
        operations: [blas_sys::cublasOperation_t; 2],
        sizes: [i32; 3],
        a: u64,
        lda: i32,
        b: u64,
        ldb: i32,
        c: u64,
        ldc: i32,
    ) -> Result<(), blas::CublasError>;
}

macro_rules! element {
    ($float:ident, $single:literal, $gemm:ident) => {
        impl Element for $float {
            const SINGLE: bool = $single;

            #[allow(unsafe_code)]
            unsafe fn multiply(
                handle: blas_sys::cublasHandle_t,
                [first, second]: [blas_sys::cublasOperation_t; 2],
                [m, n, k]: [i32; 3],
                a: u64,
                lda: i32,
                b: u64,
                ldb: i32,
                c: u64,
                ldc: i32,
            ) -> Result<(), blas::CublasError> {
                let (one, zero): ($float, $float) = (1.0, 0.0);
                let (a, b, c) = (a as *const $float, b as *const $float, c as *mut $float);
                // SAFETY: promised by the caller; the scalars live until the call returns.
                unsafe { blas::$gemm(handle, first, second, m, n, k, &one, a, lda, b, ldb, &zero, c, ldc) }
            }
        }
    };
}

element!(f32, true, sgemm);
element!(f64, false, dgemm);

/// Memory of a lane that is not in use, by size. Asking the driver for memory takes longer than a small kernel.
type Cache = Arc<Mutex<BTreeMap<usize, Vec<CudaSlice<u8>>>>>;

/// Larger pieces of memory go back to the driver at once.
const MAX_CACHED: usize = 1 << 26;

/// Device memory. It is freed, or used again, in the order of the lane's work.
pub struct Buffer<X> {
    memory: Option<CudaSlice<u8>>,
    pointer: u64,
    size: usize,
    cache: Cache,
    entries: PhantomData<X>,
}

impl<X> Buffer<X> {
    /// The address of an entry.
    pub fn at(&self, index: usize) -> u64 {
        assert!(index <= self.size, "entry {index} of {}", self.size);
        self.pointer + (index * size_of::<X>()) as u64
    }

    /// The address of the first entry.
    pub fn start(&self) -> u64 {
        self.pointer
    }
}

impl<X> Drop for Buffer<X> {
    fn drop(&mut self) {
        if let (Some(memory), Ok(mut cache)) = (self.memory.take(), self.cache.lock())
            && memory.len() <= MAX_CACHED
        {
            cache.entry(memory.len()).or_default().push(memory);
        }
    }
}

/// The address of optional memory: 0 when it is absent.
pub fn optional<X>(buffer: Option<&Buffer<X>>) -> u64 {
    buffer.map_or(0, Buffer::start)
}

/// A matrix as an operand of a product: its address, and whether it is transposed.
#[derive(Clone, Copy)]
pub struct Operand<T>(u64, bool, PhantomData<T>);

/// Row-major entries, as they are.
pub fn plain<T>(address: u64) -> Operand<T> {
    Operand(address, false, PhantomData)
}

/// The transpose of row-major entries.
pub fn transposed<T>(address: u64) -> Operand<T> {
    Operand(address, true, PhantomData)
}

/// The arguments of a kernel, by address.
macro_rules! arguments {
    ($($argument:expr),* $(,)?) => { &mut [$((&$argument as *const _) as *mut std::ffi::c_void),*] };
}
pub(crate) use arguments;

/// The shape of a launch: blocks, threads of a block, bytes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub grid: (u32, u32),
    pub block: u32,
    pub shared: u32,
}

pub struct Lane {
    pub stream: Arc<CudaStream>,
    blas: CudaBlas,
    cache: Cache,
}

impl Lane {
    pub fn new(stream: Arc<CudaStream>) -> Done<Lane> {
        let blas = CudaBlas::new(stream.clone()).map_err(failed)?;
        Ok(Lane { stream, blas, cache: Cache::default() })
    }

    /// Returns unused memory to the driver.
    pub fn trim(&self) {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Memory of unspecified content.
    #[allow(unsafe_code)]
    pub fn alloc<X>(&self, size: usize) -> Done<Buffer<X>> {
        let bytes = (size * size_of::<X>()).max(512);
        let bytes = if bytes <= MAX_CACHED { bytes.next_power_of_two() } else { bytes };
        let cached = self.cache.lock().ok().and_then(|mut cache| cache.get_mut(&bytes)?.pop());
        let memory = match cached {
            Some(memory) => memory,
            // SAFETY: every kernel that reads the memory runs after one that has written it.
            None => unsafe { self.stream.alloc(bytes) }.map_err(failed)?,
        };
        let pointer = memory.device_ptr(&self.stream).0;
        Ok(Buffer {
            memory: Some(memory),
            pointer,
            size,
            cache: Arc::clone(&self.cache),
            entries: PhantomData,
        })
    }

    pub fn zeros<X: ValidAsZeroBits>(&self, size: usize) -> Done<Buffer<X>> {
        let buffer = self.alloc(size)?;
        self.clear(&buffer, 0, size)?;
        Ok(buffer)
    }

    #[allow(unsafe_code)]
    pub fn upload<X: DeviceRepr>(&self, data: &[X]) -> Done<Buffer<X>> {
        let buffer = self.alloc(data.len())?;
        if !data.is_empty() {
            // SAFETY: the buffer has the size of the data. The driver copies memory that is not page-locked before it returns.
            unsafe { result::memcpy_htod_async(buffer.start(), data, self.stream.cu_stream()) }
                .map_err(failed)?;
        }
        Ok(buffer)
    }

    /// A range of entries, after all work before.
    #[allow(unsafe_code)]
    pub fn download<X: DeviceRepr + Default + Clone>(
        &self,
        buffer: &Buffer<X>,
        range: Range<usize>,
    ) -> Done<Vec<X>> {
        assert!(range.end <= buffer.size);
        let mut data = vec![X::default(); range.len()];
        if !range.is_empty() {
            // SAFETY: the range is inside the buffer, and the data lives until the copy is done.
            unsafe { result::memcpy_dtoh_async(&mut data, buffer.at(range.start), self.stream.cu_stream()) }
                .map_err(failed)?;
        }
        self.wait()?;
        Ok(data)
    }

    /// Copies one entry to the place of another.
    #[allow(unsafe_code)]
    pub fn copy<X>(&self, from: &Buffer<X>, index: usize, to: &Buffer<X>, place: usize) -> Done {
        assert!(index < from.size && place < to.size);
        let (from, to) = (from.at(index), to.at(place));
        // SAFETY: both entries are inside their buffers.
        unsafe { result::memcpy_dtod_async(to, from, size_of::<X>(), self.stream.cu_stream()) }
            .map_err(failed)
    }

    /// Sets entries from `first` on to zero bits.
    #[allow(unsafe_code)]
    pub fn clear<X>(&self, buffer: &Buffer<X>, first: usize, count: usize) -> Done {
        assert!(first + count <= buffer.size);
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the range is inside the buffer; all types here may be zero.
        unsafe {
            result::memset_d8_async(buffer.at(first), 0, count * size_of::<X>(), self.stream.cu_stream())
        }
        .map_err(failed)
    }

    /// Waits until all work is done.
    pub fn wait(&self) -> Done {
        self.stream.synchronize().map_err(failed)
    }

    /// Launches a kernel. Arguments are made by [`arguments`]; their number and types must be those of the kernel.
    #[allow(unsafe_code)]
    pub fn launch(&self, kernel: &CudaFunction, shape: Shape, arguments: &mut [*mut c_void]) -> Done {
        let Shape { grid, block, shared } = shape;
        if grid.0 == 0 || grid.1 == 0 {
            return Ok(());
        }
        let (stream, grid) = (self.stream.cu_stream(), (grid.0, grid.1, 1));
        // SAFETY: the arguments are alive during the call and agree with the kernel, which stays inside the memory that it is
        // given; compute-sanitizer checks both on the numerical tests.
        unsafe { result::launch_kernel(kernel.cu_function(), grid, (block, 1, 1), shared, stream, arguments) }
            .map_err(failed)
    }

    /// `out = a b` for row-major matrices: `a` has m rows and k columns, `b` k rows and n columns, after transposition.
    #[allow(unsafe_code)]
    pub fn product<T: Element>(&self, out: u64, [m, k, n]: [usize; 3], a: Operand<T>, b: Operand<T>) -> Done {
        use blas_sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
        if m == 0 || n == 0 {
            return Ok(());
        }
        let whole = |size: usize| i32::try_from(size).map_err(failed);
        let operation = |transposed| if transposed { CUBLAS_OP_T } else { CUBLAS_OP_N };
        let (lda, ldb) = (whole(if a.1 { m } else { k })?, whole(if b.1 { k } else { n })?);
        // cuBLAS takes column-major matrices, which are the transposes of ours: out^T = b^T a^T.
        let (operations, sizes) = ([operation(b.1), operation(a.1)], [whole(n)?, whole(m)?, whole(k)?]);
        // SAFETY: callers pass addresses of buffers that hold matrices of these sizes.
        unsafe { T::multiply(*self.blas.handle(), operations, sizes, b.0, ldb, a.0, lda, out, sizes[0]) }
            .map_err(failed)
    }
}
