//! Device memory of a lane, for one cell or for all cells of a batch.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use superpose_core::backend::DeviceError;

use crate::lane::{Done, failed};

/// Larger pieces of memory go back to the driver at once.
const MAX_CACHED: usize = 1 << 26;
/// With this environment variable each buffer outside batches is a piece of memory of exactly its size, so that tools such as
/// compute-sanitizer find accesses outside of it.
const EXACT_SIZES: &str = "SUPERPOSE_EXACT_MEMORY";
/// The driver's own alignment, which kernels may rely on.
const ALIGNMENT: usize = 512;

/// Memory of a lane that is not in use. Asking the driver for memory takes longer than a small kernel.
struct Free {
    by_size: BTreeMap<usize, Vec<CudaSlice<u8>>>,
    batch: Option<Arena>,
    /// Whether each buffer has a piece of exactly its size.
    exact_sizes: bool,
}

impl Default for Free {
    fn default() -> Free {
        Free { by_size: BTreeMap::new(), batch: None, exact_sizes: std::env::var_os(EXACT_SIZES).is_some() }
    }
}

/// The memory of a batch: every cell has a range of `stride` bytes of each chunk, and the layout of these ranges is the same.
struct Arena {
    cells: usize,
    stride: usize,
    chunks: Vec<CudaSlice<u8>>,
    /// The bytes in use of a cell's range of the last chunk.
    used: usize,
    /// Addresses in the range of the first cell that are free again, by size.
    by_size: BTreeMap<usize, Vec<u64>>,
}

impl Arena {
    fn alloc(&mut self, bytes: usize, stream: &Arc<CudaStream>) -> Done<u64> {
        if let Some(address) = self.by_size.get_mut(&bytes).and_then(Vec::pop) {
            return Ok(address);
        }
        if bytes > self.stride {
            let reason = format!("a cell of a batch needs {bytes} bytes at once, and has {}", self.stride);
            return Err(DeviceError::Failed { reason });
        }
        if self.chunks.is_empty() || self.used + bytes > self.stride {
            self.chunks.push(take(stream, self.cells * self.stride)?);
            self.used = 0;
        }
        let chunk = &self.chunks[self.chunks.len() - 1];
        let address = chunk.device_ptr(stream).0 + self.used as u64;
        self.used += bytes;
        Ok(address)
    }
}

/// Memory of unspecified content.
#[allow(unsafe_code)]
fn take(stream: &Arc<CudaStream>, bytes: usize) -> Done<CudaSlice<u8>> {
    // SAFETY: every kernel that reads the memory runs after one that has written it.
    unsafe { stream.alloc(bytes) }.map_err(failed)
}

/// Where buffers take their memory from.
#[derive(Clone, Default)]
pub struct Pool(Arc<Mutex<Free>>);

impl Pool {
    /// Returns unused memory to the driver.
    pub fn trim(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_size.clear();
    }

    /// From now on buffers are for this many cells, `stride` bytes apart. Memory of single cells goes back to the driver.
    pub fn begin(&self, cells: usize, stride: usize) {
        let arena = Arena { cells, stride, chunks: Vec::new(), used: 0, by_size: BTreeMap::new() };
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.by_size.clear();
        free.batch = Some(arena);
    }

    /// Ends the batch and returns its memory. No buffer of it is used afterwards.
    pub fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).batch = None;
    }

    pub fn alloc<X>(&self, stream: &Arc<CudaStream>, size: usize) -> Done<Buffer<X>> {
        let needed = (size * size_of::<X>()).max(1);
        let bytes = needed.next_multiple_of(ALIGNMENT);
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (memory, pointer, bytes) = match &mut free.batch {
            Some(arena) => (None, arena.alloc(bytes, stream)?, bytes),
            None => {
                let bytes = match bytes {
                    _ if free.exact_sizes => needed,
                    ..=MAX_CACHED => bytes.next_power_of_two(),
                    _ => bytes,
                };
                let memory = match free.by_size.get_mut(&bytes).and_then(Vec::pop) {
                    Some(memory) => memory,
                    None => take(stream, bytes).or_else(|_| {
                        // The lane's other sizes may be what is missing.
                        free.by_size.clear();
                        take(stream, bytes)
                    })?,
                };
                let pointer = memory.device_ptr(stream).0;
                (Some(memory), pointer, bytes)
            }
        };
        Ok(Buffer { memory, pointer, bytes, size, pool: self.clone(), entries: PhantomData })
    }
}

/// Device memory. It is freed, or used again, in the order of the lane's work.
pub struct Buffer<X> {
    /// Absent in a batch, whose memory the pool holds.
    memory: Option<CudaSlice<u8>>,
    pointer: u64,
    bytes: usize,
    size: usize,
    pool: Pool,
    entries: PhantomData<X>,
}

impl<X> Buffer<X> {
    /// The address of an entry, that of the first cell in a batch.
    pub fn at(&self, index: usize) -> u64 {
        assert!(index <= self.size, "entry {index} of {}", self.size);
        self.pointer + (index * size_of::<X>()) as u64
    }

    /// The address of the first entry.
    pub fn start(&self) -> u64 {
        self.pointer
    }

    /// The number of entries, of each cell in a batch.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl<X> Drop for Buffer<X> {
    fn drop(&mut self) {
        let Ok(mut free) = self.pool.0.lock() else { return };
        let exact_sizes = free.exact_sizes;
        match (self.memory.take(), &mut free.batch) {
            (Some(memory), _) if self.bytes <= MAX_CACHED && !exact_sizes => {
                free.by_size.entry(self.bytes).or_default().push(memory);
            }
            (None, Some(arena)) => arena.by_size.entry(self.bytes).or_default().push(self.pointer),
            _ => {}
        }
    }
}

/// The address of optional memory: 0 when it is absent.
pub fn optional<X>(buffer: Option<&Buffer<X>>) -> u64 {
    buffer.map_or(0, Buffer::start)
}
