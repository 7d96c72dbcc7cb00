//! The moduli of a parameter set without its tables.

use super::chain::{BASE_PRIMES, Primes};
use super::{ParamsSpec, RingsSpec};
use crate::ClueKind;
use crate::ParamsError;
use crate::clue::OFFSET_LEN;
use crate::params::largest_log_pq;
use omr_bgv::{Chain, RangePolynomial};
use omr_opening::OpeningSpec;
use omr_ring::{Basis, Modulus};
use omr_rlwe::KeyShape;

/// The moduli of a parameter set without its tables. They are derived in milliseconds, so that many sets can be
/// compared.
pub struct Outline {
    spec: ParamsSpec,
    large: Vec<u64>,
    small: Vec<u64>,
    /// `prod (Y - i^2)` for the window of the clue's noise.
    pub window: RangePolynomial,
    /// Modulus chain of the large ring.
    pub chain: Chain,
    /// Gadget of the baby step's key.
    pub step_shape: KeyShape,
    /// Gadget of the giant step's key.
    pub giant_shape: KeyShape,
    /// Gadget of the relinearisation key.
    pub product_shape: KeyShape,
    /// Gadgets of the keys that detectors derive from the relinearisation key for lower levels, with fewer and fewer
    /// primes.
    pub lowered_shapes: Vec<KeyShape>,
    /// Gadget of the ring-switching key.
    pub descent_shape: KeyShape,
    /// Gadget of the small ring's keys.
    pub small_shape: KeyShape,
}

impl Outline {
    /// Checks a specification of SophOMR and derives its moduli as [`super::Params::new`] does.
    ///
    /// Errors: dimensions that do not fit; keys or clues below 128 bits of security, unless the set is marked insecure.
    pub fn new(spec: ParamsSpec) -> Result<Self, ParamsError> {
        spec.check()?;
        let rings: RingsSpec = spec.rings();
        let primes = Primes::derive(&rings, &spec.front_end()?)?;
        let chain = primes.chain();
        let p = Modulus::new(spec.p).map_err(omr_ring::RingError::from)?;
        let special = primes.descent_special();
        let small_special = Basis::new(BASE_PRIMES..BASE_PRIMES + special.len());
        let outline = Self {
            large: primes.universe(),
            small: primes.small_universe(),
            step_shape: primes.step_shape(&rings),
            giant_shape: primes.giant_shape(&rings),
            product_shape: primes.product_shape(),
            lowered_shapes: primes.lowered_shapes(&rings),
            descent_shape: KeyShape::new(chain.basis(chain.len() - 1), 1, &special),
            small_shape: KeyShape::new(&Basis::new(0..BASE_PRIMES), 1, &small_special),
            window: RangePolynomial::new(&p, spec.range, spec.block),
            chain,
            spec,
        };
        outline.check_security()?;
        Ok(outline)
    }

    fn check_security(&self) -> Result<(), ParamsError> {
        let log2 = |moduli: &[u64], basis: &Basis| -> f64 {
            let bits = |&id: &usize| (moduli[id] as f64).log2();
            basis.ids().iter().map(bits).sum()
        };
        let (n, small_n) = (self.spec.n, self.spec.small_n);
        let weight = Some(self.spec.weight);
        for (n, weight, moduli, shape) in [
            (n, weight, &self.large, &self.step_shape),
            (n, weight, &self.large, &self.giant_shape),
            (n, weight, &self.large, &self.product_shape),
            // The ring-switching key hides a secret of the small ring.
            (small_n, None, &self.large, &self.descent_shape),
            (small_n, None, &self.small, &self.small_shape),
        ] {
            let (limit, found) = (largest_log_pq(n, weight), log2(moduli, &shape.extended()));
            if found > limit && !self.spec.insecure {
                return Err(ParamsError::Insecure { n, limit, found });
            }
        }
        Ok(())
    }

    /// Returns the specification.
    pub fn spec(&self) -> &ParamsSpec {
        &self.spec
    }

    /// Returns the length in bytes of the tables of the two rings once both directions of every transform have been
    /// used: two words for each point, prime and direction. All other data of a set is small in comparison.
    pub fn table_bytes(&self) -> u64 {
        let words = self.large.len() * self.spec.n + self.small.len() * self.spec.small_n;
        (words * 2 * 2 * size_of::<u64>()) as u64
    }

    fn final_key_bytes(&self) -> usize {
        let ring = &self.spec.final_ring;
        let shape = ring.shape(self.spec.small_n);
        // The prime is the largest with this number of bits.
        let body = (ring.n * ring.modulus_bits as usize).div_ceil(8);
        shape.rows() * shape.bodies() * body
    }

    /// Returns the length in bytes of the keys to the two small primes.
    fn opening_bytes(&self, opening: &OpeningSpec, clues: ClueKind) -> usize {
        let body = |bits: usize| (opening.n * bits).div_ceil(8);
        let extra = match clues {
            ClueKind::Plain => 0,
            ClueKind::Bound => OFFSET_LEN,
        };
        let packing = self.spec.clue.n + ParamsSpec::COORDINATES - 1 + extra;
        let narrow = opening.packing_rank * opening.gadget.digits as usize;
        packing * body(opening.packing_bits as usize)
            + narrow * body(opening.narrow_bits.ceil() as usize)
    }

    /// Returns the length in bytes of the body of the file of a detection key for clues of a kind.
    pub fn detection_key_bytes(&self, clues: ClueKind) -> u64 {
        let large = |basis: &Basis| rows(self.spec.n, &self.large, basis);
        let large_key = |shape: &KeyShape| large(&shape.extended()) * shape.digits().len();
        let small_key = rows(self.spec.small_n, &self.small, &self.small_shape.extended())
            * self.small_shape.digits().len();
        let merges = omr_compress::merge_levels(self.spec.small_n, omr_compress::MIN_WIDTH);
        let small_keys = 2 + merges.count();
        // Two seeds, and one encrypted secret.
        let bytes = 2 * 32
            + self.opening_bytes(&self.spec.opening, clues)
            + 2 * large_key(&self.step_shape)
            + large_key(&self.giant_shape)
            + large_key(&self.product_shape)
            + large_key(&self.descent_shape)
            + small_keys * small_key
            + large(self.chain.basis(0))
            + self.final_key_bytes();
        bytes as u64
    }
}

/// Returns the length in bytes of a polynomial of `n` coefficients over `basis`, each residue with the bits of its prime.
fn rows(n: usize, moduli: &[u64], basis: &Basis) -> usize {
    let bytes = |&id: &usize| (n * (64 - moduli[id].leading_zeros()) as usize).div_ceil(8);
    basis.ids().iter().map(bytes).sum()
}
