//! A lane: a stream of work with its cuBLAS handle. Memory, launches and matrix products of a run go through its lane.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use cudarc::cublas::{CudaBlas, result as blas, sys as blas_sys};
use cudarc::driver::{CudaFunction, CudaStream, DeviceRepr, ValidAsZeroBits, result, sys};
use superpose_core::backend::{DeviceError, Real};

use crate::buffer::Pool;
pub use crate::buffer::{Buffer, optional};

/// The error of a call that failed.
pub fn failed(error: impl Debug) -> DeviceError {
    let text = format!("{error:?}");
    let full =
        ["CUDA_ERROR_OUT_OF_MEMORY", "CUBLAS_STATUS_ALLOC_FAILED"].iter().any(|word| text.contains(word));
    let reason = match full {
        true => {
            "its memory is full, perhaps because other programs use it; use smaller sizes or the device cpu"
                .into()
        }
        false => text,
    };
    DeviceError::Failed { reason }
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

/// A matrix as an operand of a product: its address, and whether it is transposed.
#[derive(Clone, Copy)]
pub struct Operand<T>(pub u64, pub bool, pub PhantomData<T>);

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

/// The two ends of a copy.
enum End {
    Host(*mut c_void),
    Device(u64),
}

pub struct Lane {
    pub stream: Arc<CudaStream>,
    blas: CudaBlas,
    pool: Pool,
    /// Whether the GPU can read memory of the host that is not page-locked. A copy from it may then go on after its call has returned;
    /// otherwise the driver has copied that memory by then.
    reads_host: bool,
    /// The cells that every launch and copy is for, and the bytes from one's memory to the next one's.
    cells: Cell<usize>,
    stride: Cell<usize>,
}

impl Lane {
    pub fn new(stream: Arc<CudaStream>) -> Done<Lane> {
        let blas = CudaBlas::new(stream.clone()).map_err(failed)?;
        let kind = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
        let reads_host = stream.context().attribute(kind).map_err(failed)? != 0;
        let (pool, cells, stride) = (Pool::default(), Cell::new(1), Cell::new(0));
        Ok(Lane { stream, blas, pool, reads_host, cells, stride })
    }

    /// Returns unused memory to the driver.
    pub fn trim(&self) {
        self.pool.trim();
    }

    /// From now on launches and copies are for a batch of cells, each with at most `stride` bytes in one piece.
    pub fn begin(&self, cells: usize, stride: usize) {
        self.pool.begin(cells, stride);
        self.cells.set(cells);
        self.stride.set(stride);
    }

    /// Ends a batch, if there is one: launches and copies are for one cell.
    pub fn end(&self) {
        self.pool.end();
        self.cells.set(1);
    }

    /// The cells of the batch, 1 without a batch.
    pub fn cells(&self) -> usize {
        self.cells.get()
    }

    /// Memory of unspecified content, for each cell.
    pub fn alloc<X>(&self, size: usize) -> Done<Buffer<X>> {
        self.pool.alloc(&self.stream, size)
    }

    pub fn zeros<X: ValidAsZeroBits>(&self, size: usize) -> Done<Buffer<X>> {
        let buffer = self.alloc(size)?;
        self.clear(&buffer, 0, size)?;
        Ok(buffer)
    }

    /// Copies the data of each cell, one after another.
    #[allow(unsafe_code)]
    pub fn upload<X: DeviceRepr>(&self, data: &[X]) -> Done<Buffer<X>> {
        let size = data.len() / self.cells();
        assert_eq!(size * self.cells(), data.len(), "entries of each cell");
        let buffer = self.alloc(size)?;
        if size > 0 && self.cells() == 1 {
            // SAFETY: the buffer has the size of the data, which lives until the copy is done (`reads_host`).
            unsafe { result::memcpy_htod_async(buffer.start(), data, self.stream.cu_stream()) }
                .map_err(failed)?;
        } else if size > 0 {
            let from = End::Host(data.as_ptr().cast_mut().cast());
            self.copy_rows(from, End::Device(buffer.start()), size * size_of::<X>())?;
        }
        if self.reads_host {
            self.wait()?;
        }
        Ok(buffer)
    }

    /// A range of entries of each cell, one after another, after all work before.
    #[allow(unsafe_code)]
    pub fn download<X: DeviceRepr + Default + Clone>(
        &self,
        buffer: &Buffer<X>,
        range: Range<usize>,
    ) -> Done<Vec<X>> {
        assert!(range.end <= buffer.size());
        let mut data = vec![X::default(); range.len() * self.cells()];
        if !range.is_empty() && self.cells() == 1 {
            // SAFETY: the range is inside the buffer, and the data lives until the copy is done.
            unsafe { result::memcpy_dtoh_async(&mut data, buffer.at(range.start), self.stream.cu_stream()) }
                .map_err(failed)?;
        } else if !range.is_empty() {
            let to = End::Host(data.as_mut_ptr().cast());
            self.copy_rows(End::Device(buffer.at(range.start)), to, range.len() * size_of::<X>())?;
        }
        self.wait()?;
        Ok(data)
    }

    /// Copies one entry to the place of another.
    pub fn copy<X>(&self, from: &Buffer<X>, index: usize, to: &Buffer<X>, place: usize) -> Done {
        assert!(index < from.size() && place < to.size());
        self.copy_rows(End::Device(from.at(index)), End::Device(to.at(place)), size_of::<X>())
    }

    /// Copies bytes of each cell. Those of the host follow one another.
    #[allow(unsafe_code)]
    fn copy_rows(&self, from: End, to: End, bytes: usize) -> Done {
        use sys::CUmemorytype::{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST};
        let stride = if self.cells() == 1 { bytes } else { self.stride.get() };
        let end = |end| match end {
            End::Host(address) => (CU_MEMORYTYPE_HOST, address, 0, bytes),
            End::Device(address) => (CU_MEMORYTYPE_DEVICE, std::ptr::null_mut(), address, stride),
        };
        let (from, to) = (end(from), end(to));
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: from.0,
            srcHost: from.1,
            srcDevice: from.2,
            srcArray: std::ptr::null_mut(),
            srcPitch: from.3,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: to.0,
            dstHost: to.1,
            dstDevice: to.2,
            dstArray: std::ptr::null_mut(),
            dstPitch: to.3,
            WidthInBytes: bytes,
            Height: self.cells(),
        };
        // SAFETY: callers pass ranges of buffers, and memory of the host for all cells that lives until the copy is done.
        unsafe { sys::cuMemcpy2DAsync_v2(&copy, self.stream.cu_stream()) }.result().map_err(failed)
    }

    /// Sets entries from `first` on to zero bits.
    #[allow(unsafe_code)]
    pub fn clear<X>(&self, buffer: &Buffer<X>, first: usize, count: usize) -> Done {
        assert!(first + count <= buffer.size());
        let (stream, bytes) = (self.stream.cu_stream(), count * size_of::<X>());
        if bytes == 0 {
            return Ok(());
        }
        let address = buffer.at(first);
        // SAFETY: the range is inside the buffer, whose types may all be zero.
        unsafe {
            match self.cells() {
                1 => result::memset_d8_async(address, 0, bytes, stream),
                cells => sys::cuMemsetD2D8Async(address, self.stride.get(), 0, bytes, cells, stream).result(),
            }
        }
        .map_err(failed)
    }

    /// Waits until all work is done.
    pub fn wait(&self) -> Done {
        self.stream.synchronize().map_err(failed)
    }

    /// Launches a kernel for each cell. Arguments are made by [`arguments`]; their number and types must be those of the kernel,
    /// whose last one, the bytes from one cell to the next, is added here.
    #[allow(unsafe_code)]
    pub fn launch(&self, kernel: &CudaFunction, shape: Shape, arguments: &mut [*mut c_void]) -> Done {
        let Shape { grid, block, shared } = shape;
        if grid.0 == 0 || grid.1 == 0 {
            return Ok(());
        }
        let (stream, stride) = (self.stream.cu_stream(), self.stride.get() as u64);
        let grid = (grid.0, grid.1, self.cells() as u32);
        let mut all = Vec::with_capacity(arguments.len() + 1);
        all.extend_from_slice(arguments);
        all.push((&raw const stride).cast_mut().cast());
        // SAFETY: the arguments are alive during the call and agree with the kernel, which stays inside the memory that it is
        // given; compute-sanitizer checks both on the numerical tests.
        unsafe { result::launch_kernel(kernel.cu_function(), grid, (block, 1, 1), shared, stream, &mut all) }
            .map_err(failed)
    }

    /// `out = a b` of one cell for row-major matrices: `a` has m rows and k columns, `b` k rows and n columns, after transposition.
    #[allow(unsafe_code)]
    pub fn product<T: Element>(&self, out: u64, [m, k, n]: [usize; 3], a: Operand<T>, b: Operand<T>) -> Done {
        use blas_sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
        assert_eq!(self.cells(), 1, "cells of a product");
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
