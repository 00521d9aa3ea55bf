//! Parameters with their gradients and moments, and the steps of the optimisers (see `crates/core/src/train/optimiser.rs`).

use superpose_core::config::Optimiser;
use superpose_core::train::{
    AdamFactors, MUON_MIN_NORM, MUON_ROUND, MUON_ROUNDS, Moments, Update, is_matrix,
};

use crate::geometry::linear;
use crate::lane::{Buffer, Done, Element, Lane, arguments, optional, plain, transposed};

use super::queue::Queue;

/// Entries between the starts of tensors, so that wide loads are aligned.
const ALIGN: usize = 64;

/// A tensor among all parameters.
#[derive(Clone, Copy)]
pub struct Span {
    pub start: usize,
    pub size: usize,
    pub columns: usize,
}

impl Span {
    /// Whether the optimiser has a first and a second moment of the tensor.
    pub fn kept(&self, update: &Update) -> [bool; 2] {
        match update.optimiser {
            Optimiser::Sgd => [update.momentum != 0.0, false],
            Optimiser::Muon if is_matrix(self.size, self.columns) => [true, false],
            Optimiser::Adam | Optimiser::AdamW | Optimiser::Muon => [true, true],
        }
    }
}

/// Trained tensors, one after another; the numbers between them are 0.
pub struct Parameters<T> {
    pub spans: Vec<Span>,
    pub values: Buffer<T>,
    pub gradients: Buffer<f64>,
    pub moments: [Buffer<f64>; 2],
    size: usize,
}

/// The numbers of a step of Adam, in the layout of the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct Adam {
    decays: [f64; 2],
    epsilon: f64,
    inside: f64,
    outside: f64,
    step: f64,
    root: f64,
}

/// What a step depends on beside gradients and moments.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub update: &'a Update,
    /// Steps taken, this one included.
    pub number: u64,
    pub rate: f64,
    /// Factor of the gradients.
    pub scale: f64,
    /// The greatest length of all gradients together after that.
    pub clip: Option<f64>,
}

impl<T: Element> Parameters<T> {
    /// Copies tensors, each with its columns, and their moments.
    pub fn new(lane: &Lane, tensors: &[(&[T], usize)], moments: &[Moments]) -> Done<Self> {
        let (mut spans, mut size) = (Vec::new(), 0);
        for (entries, columns) in tensors {
            spans.push(Span { start: size, size: entries.len(), columns: *columns });
            size = (size + entries.len()).next_multiple_of(ALIGN);
        }
        let mut values = vec![T::ZERO; size];
        for (span, (entries, _)) in spans.iter().zip(tensors) {
            values[span.start..][..span.size].copy_from_slice(entries);
        }
        let moment = |entries: fn(&Moments) -> &Vec<f64>| {
            let mut all = vec![0.0; size];
            for (span, moments) in spans.iter().zip(moments) {
                all[span.start..][..entries(moments).len()].copy_from_slice(entries(moments));
            }
            lane.upload(&all)
        };
        Ok(Parameters {
            values: lane.upload(&values)?,
            gradients: lane.zeros(size)?,
            moments: [moment(|moments| &moments.first)?, moment(|moments| &moments.second)?],
            spans,
            size,
        })
    }

    /// Sets all gradients to 0.
    pub fn clear_gradients(&self, lane: &Lane) -> Done {
        lane.clear(&self.gradients, 0, self.size)
    }

    /// Moves all tensors against their gradients.
    pub fn step(&self, queue: Queue<'_>, step: Step<'_>) -> Done {
        let (gradients, size) = (self.gradients.start(), self.size as u64);
        let square = step.clip.map(|_| queue.sum_squares(gradients, self.size)).transpose()?;
        let max = step.clip.unwrap_or(0.0);
        let to = arguments![gradients, size, step.scale, optional(square.as_ref()), max];
        queue.launch("scale_gradients", linear(self.size), to)?;
        // All tensors are updated together, unless some of them are matrices that Muon updates.
        let whole = [Span { start: 0, size: self.size, columns: 1 }];
        let muon = step.update.optimiser == Optimiser::Muon;
        (if muon { &self.spans[..] } else { &whole })
            .iter()
            .try_for_each(|span| self.update(queue, step, span))
    }

    /// Writes a number that is not 0 to `wrong` if a parameter is not finite.
    pub fn find_infinite(&self, queue: Queue<'_>, wrong: u64) -> Done {
        let size = self.size as u64;
        queue.launch("find_infinite", linear(self.size), arguments![self.values.start(), size, wrong])
    }

    fn update(&self, queue: Queue<'_>, step: Step<'_>, span: &Span) -> Done {
        let Step { update, number, rate, .. } = step;
        let (size, shape) = (span.size as u64, linear(span.size));
        let (x, g) = (self.values.at(span.start), self.gradients.at(span.start));
        let [first, second] = [0, 1].map(|i| self.moments[i].at(span.start));
        match update.optimiser {
            Optimiser::Sgd => {
                let first = if update.momentum == 0.0 { 0 } else { first };
                let (momentum, decay) = (update.momentum, update.weight_decay);
                queue.launch("sgd", shape, arguments![x, g, first, size, rate, momentum, decay])
            }
            Optimiser::Muon if is_matrix(span.size, span.columns) => self.muon(queue, step, span),
            Optimiser::Adam | Optimiser::AdamW | Optimiser::Muon => {
                let AdamFactors { inside, outside, step, root } = update.adam_factors(number, rate);
                let decays = [update.first_decay, update.second_decay];
                let adam = Adam { decays, epsilon: update.epsilon, inside, outside, step, root };
                queue.launch("adam", shape, arguments![x, g, first, second, size, adam])
            }
        }
    }

    fn muon(&self, queue: Queue<'_>, step: Step<'_>, span: &Span) -> Done {
        let (Step { update, rate, .. }, lane) = (step, queue.lane);
        let (size, shape) = (span.size as u64, linear(span.size));
        let (rows, columns) = (span.size / span.columns, span.columns);
        let (kept, g, first) =
            (update.momentum, self.gradients.at(span.start), self.moments[0].at(span.start));
        queue.launch("muon_direction", shape, arguments![g, first, size, kept])?;
        let square = queue.sum_squares(g, span.size)?;
        let (x, next) = (lane.alloc::<T>(span.size)?, lane.alloc::<T>(span.size)?);
        queue.launch("shorten", shape, arguments![g, x.start(), size, square.start(), MUON_MIN_NORM])?;
        // The Gram matrix over the shorter side.
        let tall = rows > columns;
        let short = rows.min(columns);
        let (gram, power) = (lane.alloc::<T>(short * short)?, lane.alloc::<T>(short * short)?);
        let [a, b, c] = MUON_ROUND.map(T::from_f64);
        let here = x.start();
        for _ in 0..MUON_ROUNDS {
            let (turned, straight) = (transposed::<T>(here), plain::<T>(here));
            match tall {
                true => lane.product(gram.start(), [short, rows, short], turned, straight)?,
                false => lane.product(gram.start(), [short, columns, short], straight, turned)?,
            }
            let square = plain::<T>(gram.start());
            lane.product(power.start(), [short; 3], square, square)?;
            let entries = (short * short) as u64;
            let to = arguments![c, power.start(), b, gram.start(), entries];
            queue.launch("blend", linear(short * short), to)?;
            let (all, power) = ([rows, short, columns], plain::<T>(power.start()));
            match tall {
                true => lane.product(next.start(), all, straight, power)?,
                false => lane.product(next.start(), all, power, straight)?,
            }
            queue.launch("blend", shape, arguments![a, here, T::ONE, next.start(), size])?;
        }
        let step = rate * (rows as f64 / columns as f64).max(1.0).sqrt();
        let (x, kept) = (self.values.at(span.start), 1.0 - rate * update.weight_decay);
        queue.launch("muon_step", shape, arguments![x, here, size, kept, step])
    }
}
