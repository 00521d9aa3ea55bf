//! The sums of the memory and the attention step over pieces of labels, which the backend divides among threads.

use std::ops::Range;

use super::{Limit, Pass, ValueStep, Way};
use crate::backend::{Blocks, Real, Result, View, product};
use crate::model::{Attention, Coefficients};

/// The sums of [`Limit::value_step`] over pieces of labels.
pub(super) struct ValueSums<'a, T> {
    pub limit: &'a Limit<'a, T>,
    pub attention: &'a Attention<T>,
    pub pieces: Vec<Vec<Range<usize>>>,
}

impl<T: Real> Blocks for ValueSums<'_, T> {
    type Work = Pass<T>;
    type Sum = ValueStep;

    fn work(&self) -> Pass<T> {
        Pass::default()
    }

    fn start(&self) -> ValueStep {
        ValueStep::new(self.limit.model.dim(), self.limit.model.inputs())
    }

    fn compute(&self, sum: usize, block: usize, pass: &mut Pass<T>) -> Result<()> {
        let (limit, labels) = (self.limit, &self.pieces[sum][block]);
        let (dim, inputs) = (limit.model.dim(), limit.model.inputs());
        match limit.way {
            Way::Tables => limit.label_sums_by_tables(labels, self.attention, pass)?,
            Way::Rows => limit.label_sums_by_rows(labels, self.attention, pass)?,
        }
        pass.step.resize(dim * inputs, T::ZERO);
        let by_label = View::new(&pass.by_label, labels.len(), inputs);
        product(&mut pass.step, limit.centred(labels).t(), by_label, false);
        Ok(())
    }

    fn add(&self, pass: &mut Pass<T>, sum: &mut ValueStep) -> Result<()> {
        sum.m.iter_mut().zip(&pass.step).for_each(|(sum, x)| *sum += x.to_f64());
        for row in pass.by_label.chunks_exact(self.limit.model.inputs()) {
            sum.mean_features.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64());
        }
        Ok(())
    }
}

/// The sums of [`Limit::query_step`] over pieces of labels.
pub(super) struct QuerySums<'a, T> {
    pub limit: &'a Limit<'a, T>,
    pub m: View<'a, T>,
    pub attention: &'a Attention<T>,
    pub pieces: Vec<Vec<Range<usize>>>,
}

impl<T: Real> QuerySums<'_, T> {
    /// Tables hold a number for each token of a label, which is enough where all positions have equal weights.
    fn by_tables(&self) -> bool {
        self.limit.way == Way::Tables && matches!(self.attention, Attention::Uniform)
    }
}

impl<T: Real> Blocks for QuerySums<'_, T> {
    type Work = Pass<T>;
    type Sum = Coefficients;

    fn work(&self) -> Pass<T> {
        Pass::default()
    }

    fn start(&self) -> Coefficients {
        Coefficients::new(self.limit.model.tokens())
    }

    fn compute(&self, sum: usize, block: usize, pass: &mut Pass<T>) -> Result<()> {
        pass.labels = self.pieces[sum][block].clone();
        // The derivative by the features depends on the label alone.
        pass.by_label.resize(pass.labels.len() * self.limit.model.inputs(), T::ZERO);
        product(&mut pass.by_label, self.limit.centred(&pass.labels), self.m, false);
        if self.by_tables() {
            self.limit.table(pass);
        }
        Ok(())
    }

    /// Reads the samples, since the coefficients of all of them may not fit in memory.
    fn add(&self, pass: &mut Pass<T>, sum: &mut Coefficients) -> Result<()> {
        if self.by_tables() {
            self.limit.coefficients_by_tables(pass, sum)
        } else {
            self.limit.coefficients_by_rows(self.attention, pass, sum)
        }
    }
}
