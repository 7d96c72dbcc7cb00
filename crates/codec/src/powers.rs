//! Powers of a field's generator from two short tables.

use crate::finite::FiniteField;

/// `g^i` and `g^(i * 2^low_bits)`, so that any power is one product.
#[derive(Debug, Clone)]
pub(crate) struct Powers<F: FiniteField> {
    field: F,
    low: Vec<F::Element>,
    high: Vec<F::Element>,
    low_bits: u32,
}

impl<F: FiniteField> Powers<F> {
    pub(crate) fn new(field: F) -> Self {
        let order = field.size() - 1;
        let low_bits = (32 - order.leading_zeros()).div_ceil(2);
        let step = field.pow(field.generator(), 1 << low_bits);
        Self {
            field,
            low: powers(&field, field.generator(), 1 << low_bits),
            high: powers(&field, step, (order as usize >> low_bits) + 1),
            low_bits,
        }
    }

    /// `g^exponent`. Range: `exponent` at most the group's order.
    #[inline]
    pub(crate) fn power(&self, exponent: usize) -> F::Element {
        let low = self.low[exponent & ((1 << self.low_bits) - 1)];
        self.field.mul(low, self.high[exponent >> self.low_bits])
    }
}

fn powers<F: FiniteField>(field: &F, base: F::Element, count: usize) -> Vec<F::Element> {
    std::iter::successors(Some(field.scalar(1)), |&power| Some(field.mul(power, base)))
        .take(count)
        .collect()
}
