//! The first-order form of the softmax (see `crates/core/src/model/linear.rs`), with the bound that says where it holds.

use superpose_core::model::{Bound, norm_of_squarings, worth_a_bound};

use crate::exact::Response;
use crate::geometry::{FEW_LOGITS, linear};
use crate::lane::{Buffer, Done, Element, arguments, plain, transposed};
use crate::session::{GRADIENTS, Session, Sizes};

impl<T: Element> Session<'_, T> {
    /// The first-order form, if its remainder is below rounding.
    pub fn linear_response<'b>(&self, m: &'b Buffer<T>) -> Done<Option<Response<'b, T>>> {
        let Sizes { dim, inputs, labels, samples, .. } = self.sizes;
        if samples * labels * inputs < FEW_LOGITS || !worth_a_bound(inputs, labels, samples) {
            return Ok(None);
        }
        let readout = self.lane.alloc::<T>(labels * inputs)?;
        let (z, a) = (self.centred.start(), readout.start());
        self.product(a, [labels, dim, inputs], plain::<T>(z), plain(m.start()))?;
        // Sums of squares: of Z and of A, then of Z^T Z and its two squarings, and of A^T A and its two.
        let squares = self.lane.alloc::<f64>(8)?;
        self.sum_squares(z, labels * dim, 1.0, &squares, 0)?;
        self.sum_squares(a, labels * inputs, 1.0, &squares, 1)?;
        self.longest(a, labels, inputs, None, (&self.lengths, GRADIENTS))?;
        let (lengths, sizes) =
            (self.lane.download(&self.lengths, 0..2)?, self.lane.download(&squares, 0..2)?);
        // Whether the remainder is negligible in each cell, for its bounds of the operator norms.
        let negligible = |bounds: Vec<[f64; 2]>| {
            self.agreed(bounds.iter().zip(lengths.chunks(2)).zip(sizes.chunks(2)).map(
                |((bounds, lengths), sizes)| {
                    let (z, a) = ((bounds[0], sizes[0]), (bounds[1], sizes[1]));
                    Bound { head: lengths[1], longest: lengths[0], labels, z, a }.below_rounding(T::EPSILON)
                },
            ))
        };
        let roots = |divisors: [f64; 2]| -> Vec<[f64; 2]> {
            sizes.chunks(2).map(|sizes| [0, 1].map(|i| sizes[i].sqrt() / divisors[i].sqrt())).collect()
        };
        // The Frobenius norm is an upper bound of the operator norm and, over the square root of the columns, a lower one. Where
        // they do not decide, a closer bound does.
        if !negligible(roots([dim as f64, inputs as f64]))? {
            return Ok(None);
        }
        if !negligible(roots([1.0, 1.0]))? {
            self.squarings(z, labels, dim, &squares, 2)?;
            self.squarings(a, labels, inputs, &squares, 5)?;
            let squares = self.lane.download(&squares, 2..8)?;
            let norm = |squares: &[f64]| norm_of_squarings([0, 1, 2].map(|i| squares[i].sqrt()));
            if !negligible(squares.chunks(6).map(|cell| [norm(cell), norm(&cell[3..])]).collect())? {
                return Ok(None);
            }
        }
        let scaled = |left: u64, size: usize| -> Done<Buffer<T>> {
            let sum = self.lane.zeros(size * inputs)?;
            self.add_product(&sum, labels, [size, inputs], left, a)?;
            self.scaled(1.0 / labels as f64, &sum, size * inputs)
        };
        let (coupling, curvature) = (scaled(z, dim)?, scaled(a, inputs)?);
        Ok(Some(Response::Linear { readout, coupling, curvature }))
    }

    /// Sums of squares of the entries of `X^T X` and of its two squarings, each scaled to norm 1 before it is squared.
    fn squarings(&self, x: u64, count: usize, columns: usize, squares: &Buffer<f64>, place: usize) -> Done {
        let size = columns * columns;
        let mut power = [self.lane.alloc::<T>(size)?, self.lane.alloc::<T>(size)?];
        self.product(power[0].start(), [columns, count, columns], transposed::<T>(x), plain(x))?;
        self.sum_squares(power[0].start(), size, 1.0, squares, place)?;
        for i in 1..3 {
            let (entries, before) = (size as u64, plain::<T>(power[0].start()));
            let to = arguments![power[0].start(), entries, squares.at(place + i - 1)];
            self.launch("normalise", linear(size), to)?;
            self.product(power[1].start(), [columns; 3], before, before)?;
            self.sum_squares(power[1].start(), size, 1.0, squares, place + i)?;
            power.swap(0, 1);
        }
        Ok(())
    }

    /// `scale` times the sum of squares of numbers.
    pub fn sum_squares(&self, x: u64, size: usize, scale: f64, out: &Buffer<f64>, place: usize) -> Done {
        let shape = linear(size.min(1 << 16));
        let partial = self.lane.alloc::<f64>(shape.grid.0 as usize)?;
        let (entries, parts, one) = (size as u64, shape.grid.0, 1u64);
        self.launch("square_sums", shape, arguments![x, entries, partial.start()])?;
        self.launch("add_parts", linear(1), arguments![partial.start(), parts, one, scale, out.at(place)])
    }
}
