//! Plaintext slots: encoding into polynomials and decoding.

use omr_ring::{Basis, Eval, Kernels, Modulus, NttTable, Poly, Ring, RingError, SlotOrder, Values};

/// The encoding of `n` slots modulo a prime `p = 1 mod 2n`, as two rows of `n/2` (Smart, Vercauteren).
pub struct Plain {
    table: NttTable,
    order: SlotOrder,
    kernels: &'static Kernels,
}

impl Plain {
    /// Prepares the encoding of slots modulo `p` in dimension `n`.
    ///
    /// Errors: if `p` is not a prime of this form.
    pub fn new(p: u64, n: usize, kernels: &'static Kernels) -> Result<Self, RingError> {
        let table = NttTable::new(Modulus::new(p)?, n)?;
        Ok(Self {
            table,
            order: SlotOrder::new(n),
            kernels,
        })
    }

    /// Returns the plaintext modulus.
    pub fn p(&self) -> &Modulus {
        self.table.modulus()
    }

    /// Returns the number of slots.
    pub fn n(&self) -> usize {
        self.table.n()
    }

    /// Returns the position of each slot in the evaluation domain.
    pub fn order(&self) -> &SlotOrder {
        &self.order
    }

    /// Returns the `psi^e` at which slot values are evaluations.
    pub fn root(&self, exponent: usize) -> u64 {
        self.p().pow(self.table.psi(), exponent as u64)
    }

    /// Writes the polynomial whose slots (row 0, then row 1) are `slots`, residues modulo p. `scratch` has n
    /// words.
    ///
    /// Panics: if a length is wrong.
    pub fn encode_into(&self, slots: &[u32], scratch: &mut [u64], out: &mut [u32]) {
        assert_eq!(slots.len(), self.n(), "one value a slot");
        for (&slot, &position) in slots.iter().zip(self.order.positions()) {
            scratch[position as usize] = u64::from(slot);
        }
        self.interpolate_into(scratch, out);
    }

    /// Writes the polynomial with these values in the order of the evaluation domain
    /// ([`SlotOrder::positions`]). `values` is overwritten.
    ///
    /// Panics: if a length is wrong.
    pub fn interpolate_into(&self, values: &mut [u64], out: &mut [u32]) {
        self.kernels.ntt_inverse(&self.table, values);
        out.iter_mut().zip(values).for_each(|(o, s)| *o = *s as u32);
    }

    /// Returns the polynomials with these values over primes of a ring of the same dimension: several for each column of
    /// values, column by column. `order` has, for each polynomial of a column and each place of the evaluation domain,
    /// the place of the value in the column.
    pub fn interpolated(
        &self,
        ring: &Ring,
        basis: &Basis,
        columns: &[&[u32]],
        order: &[u32],
    ) -> Vec<Poly<Eval>> {
        let values = Values {
            table: &self.table,
            columns,
            order,
        };
        ring.interpolated(&values, basis)
    }

    /// Replaces values modulo p, in the order of the evaluation domain ([`SlotOrder::slot`]), by coefficients.
    /// `scratch` has n words.
    ///
    /// Panics: if a length is wrong.
    pub fn interpolate(&self, values: &mut [u32], scratch: &mut [u64]) {
        assert_eq!(values.len(), self.n(), "one value a slot");
        for (word, &value) in scratch.iter_mut().zip(values.iter()) {
            *word = value.into();
        }
        self.kernels.ntt_inverse(&self.table, scratch);
        for (value, &word) in values.iter_mut().zip(scratch.iter()) {
            *value = word as u32;
        }
    }

    /// Returns the polynomial whose slots are `slots`.
    pub fn encode(&self, slots: &[u32]) -> Vec<u32> {
        let mut out = vec![0; self.n()];
        self.encode_into(slots, &mut vec![0; self.n()], &mut out);
        out
    }

    /// Returns the slots of a polynomial modulo p.
    pub fn decode(&self, mut coeffs: Vec<u64>) -> Vec<u32> {
        self.kernels.ntt_forward(&self.table, &mut coeffs);
        self.order
            .positions()
            .iter()
            .map(|&i| coeffs[i as usize] as u32)
            .collect()
    }
}
