//! Launches and products that all trainings share.

use std::ffi::c_void;

use crate::geometry::{INNER, linear};
use crate::kernels::Kernels;
use crate::lane::{Buffer, Done, Element, Lane, Shape, arguments, plain, transposed};

/// A small matrix as an argument of the kernel `contract`: address, strides of rows and columns, whether it has 64 bits.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Factor(u64, [u64; 2], u64);

impl Factor {
    /// A matrix of 64 bits.
    pub fn wide(address: u64, strides: [usize; 2]) -> Factor {
        Factor(address, strides.map(|stride| stride as u64), 1)
    }

    /// A matrix of the type of the parameters.
    pub fn real(address: u64, strides: [usize; 2]) -> Factor {
        Factor(address, strides.map(|stride| stride as u64), 0)
    }

    /// A matrix of ones, on the left.
    pub const ONES: Factor = Factor(0, [0; 2], 0);
}

/// Where the result of the kernel `contract` goes.
#[derive(Clone, Copy)]
pub enum Out {
    /// To numbers of the type of the parameters.
    Real(u64),
    /// To numbers of 64 bits.
    Wide(u64),
    /// Added to numbers of 64 bits.
    Add(u64),
}

/// The kernels of a type and the lane that they are launched in.
#[derive(Clone, Copy)]
pub struct Queue<'a> {
    pub kernels: &'a Kernels,
    pub lane: &'a Lane,
}

impl Queue<'_> {
    /// Launches a kernel by name.
    pub fn launch(&self, kernel: &str, shape: Shape, arguments: &mut [*mut c_void]) -> Done {
        self.lane.launch(self.kernels.get(kernel)?, shape, arguments)
    }

    /// A product of small matrices in 64 bits: `a` has `rows` rows, `b` has `columns` columns.
    pub fn contract(&self, [rows, inner, columns]: [usize; 3], a: Factor, b: Factor, out: Out) -> Done {
        let (address, wide, add) = match out {
            Out::Real(address) => (address, 0u32, 0u32),
            Out::Wide(address) => (address, 1, 0),
            Out::Add(address) => (address, 1, 1),
        };
        // Warps share long sums.
        let block = 32 * inner.div_ceil(8).clamp(1, 32) as u32;
        let shape = Shape { grid: ((rows * columns.div_ceil(32)) as u32, 1), block, shared: 0 };
        let (inner, columns) = (inner as u64, columns as u32);
        self.launch("contract", shape, arguments![a, b, inner, columns, address, wide, add])
    }

    /// Adds `a^T b`, for matrices of `count` rows of `m` and `n` numbers, to `sum`. `step` is scratch memory.
    pub fn add_product<T: Element>(
        &self,
        sum: u64,
        step: &Buffer<T>,
        count: usize,
        [m, n]: [usize; 2],
        a: u64,
        b: u64,
    ) -> Done {
        let (real, step) = (size_of::<T>(), step.start());
        for first in (0..count).step_by(INNER) {
            let inner = INNER.min(count - first);
            let (a, b) = (a + (first * m * real) as u64, b + (first * n * real) as u64);
            self.lane.product(step, [m, inner, n], transposed::<T>(a), plain(b))?;
            let (size, parts) = ((m * n) as u64, 1u32);
            self.launch("accumulate", linear(m * n), arguments![sum, step, size, parts])?;
        }
        Ok(())
    }

    /// The sum of squares of numbers of 64 bits.
    pub fn sum_squares(&self, x: u64, size: usize) -> Done<Buffer<f64>> {
        let shape = linear(size.min(1 << 16));
        let parts = shape.grid.0 as usize;
        let (partial, out) = (self.lane.alloc::<f64>(parts)?, self.lane.alloc::<f64>(1)?);
        let (entries, count, one, scale) = (size as u64, parts as u32, 1u64, 1.0);
        self.launch("wide_square_sums", shape, arguments![x, entries, partial.start()])?;
        let to = arguments![partial.start(), count, one, scale, out.start()];
        self.launch("add_parts", linear(1), to)?;
        Ok(out)
    }
}
