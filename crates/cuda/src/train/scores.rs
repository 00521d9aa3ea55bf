//! Queries and scores from the attention matrices, and the gradients of these matrices from sums of coefficients (see
//! `crates/core/src/train/scores.rs`). All sums have 64 bits.

use superpose_core::train::Tensor;

use crate::geometry::linear;
use crate::lane::{Buffer, Done, Element, arguments, plain, transposed};

use super::Training;
use super::memory::Sizes;
use super::queue::{Factor, Out};

/// The queries of all heads and the scores that follow.
pub struct Scores<T> {
    /// The queries before the key matrices, turned by positions.
    turned: Buffer<f64>,
    queries: Buffer<T>,
    /// Of each token, for each query.
    pub tokens: Buffer<T>,
    /// What the trigger adds, for each query.
    pub trigger: Buffer<T>,
    /// What each position adds; without added positions empty.
    pub positions: Option<Buffer<T>>,
}

impl<T: Element> Training<'_, T> {
    /// The matrix that the end-of-sequence vector is multiplied with.
    fn asking(&self) -> Tensor {
        if self.is_factored() { Tensor::Query } else { Tensor::W }
    }

    fn is_factored(&self) -> bool {
        self.state.network.tensor(Tensor::W).is_empty()
    }

    /// The address of head `k`'s key matrix.
    fn key(&self, k: usize) -> u64 {
        let Sizes { dim, asked, .. } = self.sizes;
        self.tensors.at(Tensor::Key) + (k * asked * dim * size_of::<T>()) as u64
    }

    /// The scores of the present parameters.
    pub fn scores(&self) -> Done<Scores<T>> {
        let Sizes { dim, heads, queries: each, asked, tokens, length, .. } = self.sizes;
        let (lane, all) = (self.lane(), self.sizes.all_queries());
        let vector = |tensor| Factor::real(self.tensors.at(tensor), [0, 1]);
        let question = lane.alloc::<f64>(heads * asked)?;
        let matrix = Factor::real(self.tensors.at(self.asking()), [1, dim]);
        let sizes = [1, dim, heads * asked];
        self.contract(sizes, vector(Tensor::ZEos), matrix, Out::Wide(question.start()))?;
        let turned = match each {
            1 => question,
            _ => self.turn("turn", &question, all * asked)?,
        };
        let queries = lane.alloc::<T>(all * dim)?;
        if self.is_factored() {
            for k in 0..heads {
                let from = Factor::wide(turned.at(k * each * asked), [asked, 1]);
                let key = Factor::real(self.key(k), [dim, 1]);
                self.contract([each, asked, dim], from, key, Out::Real(queries.at(k * each * dim)))?;
            }
        } else {
            let (one, none, zero, size) = (1.0, 0u64, 0.0, (all * dim) as u64);
            let to = arguments![one, turned.start(), zero, none, none, queries.start(), size];
            self.launch("combine", linear(all * dim), to)?;
        }
        let by_query = |tensor, count: usize| -> Done<Buffer<T>> {
            let out = lane.alloc(all * count)?;
            let with = transposed(self.tensors.at(tensor));
            lane.product(out.start(), [all, dim, count], plain::<T>(queries.start()), with)?;
            Ok(out)
        };
        let (by_token, trigger) = (by_query(Tensor::ZIn, tokens)?, lane.alloc(all)?);
        let from = Factor::real(queries.start(), [1, dim]);
        self.contract([1, dim, all], vector(Tensor::ZTrig), from, Out::Real(trigger.start()))?;
        let positions = self.sizes.positions.then(|| by_query(Tensor::Positions, length)).transpose()?;
        Ok(Scores { turned, queries, tokens: by_token, trigger, positions })
    }

    /// Turns vectors of all heads by positions, or back.
    fn turn(&self, kernel: &str, from: &Buffer<f64>, size: usize) -> Done<Buffer<f64>> {
        let Sizes { heads, length, asked, .. } = self.sizes;
        let (out, turns) = (self.lane().alloc(size)?, &self.tensors.turns);
        let (heads, length, each) = (heads as u32, length as u32, asked as u32);
        let to = arguments![from.start(), heads, length, each, turns.start(), out.start()];
        self.launch(kernel, linear(size), to)?;
        Ok(out)
    }

    /// Adds the derivatives that go through the scores to the gradients.
    pub fn back_through(&self, scores: &Scores<T>) -> Done {
        let Sizes { dim, heads, queries: each, asked, tokens, length, .. } = self.sizes;
        let (lane, work, tensors) = (self.lane(), &self.work, &self.tensors);
        let all = self.sizes.all_queries();
        let vector = |tensor| Factor::real(tensors.at(tensor), [0, 1]);
        let rows = |tensor| Factor::real(tensors.at(tensor), [dim, 1]);
        let at_trigger = work.totals.at(all * tokens);

        let by_query = lane.alloc::<f64>(all * dim)?;
        let sums = Factor::wide(work.totals.start(), [tokens, 1]);
        self.contract([all, tokens, dim], sums, rows(Tensor::ZIn), Out::Wide(by_query.start()))?;
        let sums = Factor::wide(at_trigger, [1, 0]);
        self.contract([all, 1, dim], sums, vector(Tensor::ZTrig), Out::Add(by_query.start()))?;
        if self.sizes.positions {
            let sums = Factor::wide(work.by_position.start(), [length, 1]);
            self.contract([heads, length, dim], sums, rows(Tensor::Positions), Out::Add(by_query.start()))?;
        }

        let by_turned = match self.is_factored() {
            false => by_query,
            true => {
                let out = lane.alloc::<f64>(all * asked)?;
                for k in 0..heads {
                    let from = by_query.at(k * each * dim);
                    let key = Factor::real(self.key(k), [1, dim]);
                    let to = Out::Wide(out.at(k * each * asked));
                    self.contract([each, dim, asked], Factor::wide(from, [dim, 1]), key, to)?;
                    if let Some(span) = tensors.span(Tensor::Key) {
                        let turned = Factor::wide(scores.turned.at(k * each * asked), [1, asked]);
                        let to = Out::Add(tensors.parameters.gradients.at(span.start + k * asked * dim));
                        self.contract([asked, each, dim], turned, Factor::wide(from, [dim, 1]), to)?;
                    }
                }
                out
            }
        };
        let by_asked = match each {
            1 => by_turned,
            _ => self.turn("turn_back", &by_turned, heads * asked)?,
        };
        if let Some(gradient) = tensors.gradient(self.asking()) {
            let from = Factor::wide(by_asked.start(), [1, 0]);
            self.contract([heads * asked, 1, dim], from, vector(Tensor::ZEos), Out::Add(gradient))?;
        }
        if let Some(gradient) = tensors.gradient(Tensor::ZEos) {
            let from = Factor::wide(by_asked.start(), [0, 1]);
            self.contract([1, heads * asked, dim], from, rows(self.asking()), Out::Add(gradient))?;
        }

        let queries = Factor::real(scores.queries.start(), [dim, 1]);
        if let Some(gradient) = tensors.gradient(Tensor::ZIn) {
            let sums = Factor::wide(work.totals.start(), [1, tokens]);
            self.contract([tokens, all, dim], sums, queries, Out::Add(gradient))?;
        }
        if let Some(gradient) = tensors.gradient(Tensor::ZTrig) {
            let sums = Factor::wide(at_trigger, [0, 1]);
            self.contract([1, all, dim], sums, queries, Out::Add(gradient))?;
        }
        if let Some(gradient) = tensors.gradient(Tensor::Positions) {
            let sums = Factor::wide(work.by_position.start(), [1, length]);
            self.contract([length, heads, dim], sums, queries, Out::Add(gradient))?;
        }
        Ok(())
    }
}
