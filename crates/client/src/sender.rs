use omr_protocol::{Clue, ClueKey, Params};
use omr_ring::{Eval, NarrowGaussian, Poly};
use omr_rlwe::Secret;
use rand_core::CryptoRng;

/// A sender to one recipient, with her address prepared for many clues.
pub struct Sender<'a> {
    params: &'a Params,
    alpha: Poly<Eval>,
    beta: Poly<Eval>,
    errors: NarrowGaussian,
}

impl<'a> Sender<'a> {
    /// Prepares an address.
    pub fn new(params: &'a Params, key: &ClueKey) -> Self {
        let ring = &params.clue_ring;
        let basis = ring.everything();
        let transform = |rows: Vec<u64>| ring.forward(Poly::from_rows(ring.n(), &basis, rows));
        Self {
            params,
            alpha: transform(key.alpha(params)),
            beta: transform(key.beta.iter().map(|&x| u64::from(x)).collect()),
            errors: NarrowGaussian::new(params.spec().clue.sigma),
        }
    }

    /// A fresh clue: `a = alpha x + e1`, `b` the first coordinates of `beta x + e2`.
    pub fn gen_clue(&self, rng: &mut impl CryptoRng) -> Clue {
        let (ring, spec) = (&self.params.clue_ring, &self.params.spec().clue);
        let x = Secret::fixed_weight(rng, spec.n, spec.weight, f64::INFINITY);
        let x = x.poly(ring, &ring.everything());
        let mut sample = |key: &Poly<Eval>, count: usize| -> Vec<u32> {
            let mut product = key.clone();
            ring.mul_assign(&mut product, &x);
            let product = ring.inverse(product);
            let errors = self.errors.sample(rng, count);
            let p = self.params.p();
            let with_error = |(&value, error): (&u64, i64)| p.add(value, p.from_i64(error)) as u32;
            product.row(0).iter().zip(errors).map(with_error).collect()
        };
        let a = sample(&self.alpha, spec.n);
        let b = sample(&self.beta, spec.coordinates);
        Clue { a, b }
    }
}
