//! Predicted noise of answers.

use crate::fetch::Fetch;
use omr_bgv::doublings;
use omr_ring::Basis;
use omr_rlwe::noise::{NoiseModel, add};
use omr_rlwe::rounding_noise;

impl Fetch {
    /// Returns the standard deviation of the noise of a symbol in the answer to a query of this number of rows, without
    /// the rounding of bodies, in steps of a symbol. Symbols of payloads are uniform.
    pub fn noise(&self, rows: usize) -> f64 {
        let model = self.noise_model();
        let selected = self.row_parts(rows).into_iter().flat_map(|part| {
            let of_row = move |row| self.selected_noise(&model, doublings(row, part));
            (0..part).map(of_row)
        });
        let products = model.times_plain(selected.fold(f64::NEG_INFINITY, add));
        let packed = self.packed_noise(&model, products);
        let first = f64::from(self.spec().sum_bits);
        let in_first_prime = model.switched(packed, self.bits(self.sums()) - first);
        // A polynomial's embeddings are as large as a coefficient times the root of the dimension.
        let coefficient = in_first_prime - (self.spec().n as f64).log2() / 2.0;
        let (last, shape) = (&self.final_ring, self.final_shape());
        let key = shape.key_noise(last.n(), last.modulus(0).value());
        let mask = rounding_noise(last.n(), self.spec().mask_bits);
        let turn = shape.mask_noise(last.n()).hypot(key).hypot(mask);
        (coefficient - first)
            .exp2()
            .hypot(turn * self.spec().p as f64)
    }

    fn noise_model(&self) -> NoiseModel {
        NoiseModel {
            n: self.spec().n,
            p: self.spec().p,
            // Two of three coefficients of a uniform ternary secret are not 0.
            weight: self.spec().n as f64 * 2.0 / 3.0,
        }
    }

    fn bits(&self, primes: &Basis) -> f64 {
        self.ring.log2(primes)
    }

    /// Returns the noise of a row of the query, expanded with this number of doublings, times the positions.
    fn selected_noise(&self, model: &NoiseModel, doublings: u32) -> f64 {
        let query = self.bits(self.chain.basis(0));
        let (digits, special) = (self.shape.digits().len(), self.bits(self.shape.special()));
        let switch = model.key_switch(digits, query / digits as f64, special);
        // A level adds to a node its image, which has as much noise, and that of a key switch.
        let levels = f64::from(doublings);
        let row = add(
            model.fresh() + levels / 2.0,
            switch + (levels.exp2() - 1.0).log2() / 2.0,
        );
        let gadget = model.gadget(digits, query / digits as f64, special);
        // The noise of fresh positions does not contain the secret.
        model.relinearised(model.fresh() + row, gadget, query - self.bits(self.sums()))
    }

    /// Returns the noise of packed sums at the coefficients that are kept. A level doubles them.
    fn packed_noise(&self, model: &NoiseModel, products: f64) -> f64 {
        let lowered = self.lowered();
        let digit = self.bits(self.sums());
        let gadget = model.gadget(1, digit, self.bits(lowered.special())) + model.lowered_key();
        let levels = self.levels().count();
        let switches = (0..levels).map(|later| add(gadget, model.floor()) + later as f64);
        add(
            products + levels as f64,
            switches.fold(f64::NEG_INFINITY, add),
        )
    }
}
