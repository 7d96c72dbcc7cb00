//! Where messages lie: slots, blocks and coefficients.

use crate::Opening;

/// A place of a message in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Block of messages that are packed together.
    pub block: usize,
    /// Coefficient of the packed polynomial.
    pub coefficient: usize,
}

impl Opening {
    /// The place whose coefficient comes to a slot (row 0, then row 1).
    ///
    /// Column u of a row of slots holds every `n / points`-th coefficient of a block, in its order; `n / points`
    /// columns in a row hold a block.
    pub fn place(&self, slot: usize) -> Place {
        let half = self.slots() / 2;
        let (row, column) = (slot / half, slot % half);
        let (point, u) = (column / self.columns(), column % self.columns());
        let number = row * self.columns() + u;
        Place {
            block: number / self.of_block(),
            coefficient: number % self.of_block() + self.of_block() * point,
        }
    }

    /// The slot that a place comes to. Undoes [`Opening::place`].
    pub fn slot(&self, place: Place) -> usize {
        let number = place.block * self.of_block() + place.coefficient % self.of_block();
        let (row, u) = (number / self.columns(), number % self.columns());
        let point = place.coefficient / self.of_block();
        row * (self.slots() / 2) + point * self.columns() + u
    }
}
