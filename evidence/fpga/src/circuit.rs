//! Counts of a parameter set's affine transform: rotations, rows, digits, plaintexts.

use crate::FpgaError;
use crate::device::{MAX_RING, WORD_BITS};
use omr_papers::clear::Params;
use omr_protocol::ClueKind;
use omr_protocol::clue::OFFSET_LEN;
use omr_ring::Basis;
use omr_rlwe::KeyShape;

/// The shape of a key switch of one ciphertext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The number of rows in each digit.
    pub digits: Vec<usize>,
    /// The number of special primes.
    pub special: usize,
}

impl Switch {
    fn new(shape: &KeyShape, basis: &Basis) -> Self {
        let digits = shape
            .digits()
            .iter()
            .map(|digit| digit.intersection(basis).len())
            .filter(|&rows| rows > 0);
        Self {
            digits: digits.collect(),
            special: shape.special().len(),
        }
    }

    /// Returns the number of rows in the ciphertext.
    #[must_use]
    pub fn limbs(&self) -> usize {
        self.digits.iter().sum()
    }

    /// Returns the number of rows in a key: body and mask of every digit.
    #[must_use]
    pub fn key_rows(&self) -> usize {
        2 * self.digits.len() * (self.limbs() + self.special)
    }

    /// Returns the work of raising all digits to the other primes, from the mask to the input of the products
    /// with a key: inverse transforms of the mask's rows, forward transforms of the raised rows, products of
    /// the sources, and one quotient with each target.
    #[must_use]
    pub fn raising(&self) -> Conversions {
        let all = self.limbs() + self.special;
        let digits = || self.digits.iter();
        Conversions {
            inverse: self.limbs(),
            forward: digits().map(|own| all - own).sum(),
            products: digits().map(|own| (own + 1) * (all - own)).sum(),
        }
    }

    /// Returns the work of dividing both parts by the special primes: inverse transforms of the special rows,
    /// forward transforms of the subtracted rows, and products as in [`Self::raising`].
    #[must_use]
    pub fn dividing(&self) -> Conversions {
        let (limbs, special) = (self.limbs(), self.special);
        Conversions {
            inverse: 2 * special,
            forward: 2 * limbs,
            products: 2 * (special + 1) * limbs,
        }
    }
}

/// The work of basis conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversions {
    /// The number of transforms of a row to coefficients.
    pub inverse: usize,
    /// The number of transforms of a row from coefficients.
    pub forward: usize,
    /// The number of products for each coefficient.
    pub products: usize,
}

/// The affine transform of one batch, as counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// The name of the parameter set.
    pub set: &'static str,
    /// The number of coefficients in a row, which is the number of messages in a batch.
    pub n: usize,
    /// The number of rows in a ciphertext.
    pub limbs: usize,
    /// The number of bits of the widest prime.
    pub prime_bits: u32,
    /// The number of bits of the plaintext modulus.
    pub plain_bits: u32,
    /// The number of coordinates of a clue.
    pub coordinates: usize,
    /// The number of rotations of the secret that are stored.
    pub baby_steps: usize,
    /// The number of baby steps of each coordinate.
    pub baby: usize,
    /// The number of giant steps: sums that are rotated and added.
    pub giant_steps: usize,
    /// The number of plaintexts for bound clues, in addition to the diagonals.
    pub offsets: usize,
    /// The key switch of a baby step.
    pub step: Switch,
    /// The key switch of a giant step.
    pub giant: Switch,
    /// The number of rows that the move to the next level drops.
    pub dropped: usize,
    /// The number of rows in the result.
    pub result_limbs: usize,
}

impl Circuit {
    /// Counts the transform of a set with clues of one kind.
    ///
    /// Errors: `PrimeBits`, `Ring` if the RTL cannot hold the set.
    pub fn new(params: &Params, clues: ClueKind) -> Result<Self, FpgaError> {
        let (spec, shape) = (params.spec(), params.circuit());
        let (basis, next) = (params.chain.basis(0), params.chain.basis(1));
        let step = Switch::new(&params.step_shape, basis);
        let giant = Switch::new(&params.giant_shape, basis);
        let extended = [params.step_shape.extended(), params.giant_shape.extended()];
        let used = extended
            .iter()
            .fold(basis.union(next), |all, b| all.union(b));
        let circuit = Self {
            set: params.name(),
            n: params.ring.n(),
            limbs: basis.len(),
            prime_bits: used
                .ids()
                .iter()
                .map(|&id| 64 - params.ring.modulus(id).value().leading_zeros())
                .max()
                .unwrap_or(0),
            plain_bits: 64 - params.p().value().leading_zeros(),
            coordinates: shape.coordinates,
            baby_steps: shape.baby_steps(spec),
            baby: spec.baby,
            giant_steps: spec.clue.n / spec.baby,
            offsets: match clues {
                ClueKind::Bound => OFFSET_LEN,
                ClueKind::Plain => 0,
            },
            step,
            giant,
            dropped: basis.minus(next).len(),
            result_limbs: next.len(),
        };
        circuit.check()?;
        Ok(circuit)
    }

    /// Checks that the RTL's words and memories can hold the set.
    ///
    /// Errors: `PrimeBits`, `Ring`.
    pub fn check(&self) -> Result<(), FpgaError> {
        let set = self.set;
        if self.prime_bits > WORD_BITS {
            let (most, found) = (WORD_BITS, self.prime_bits);
            return Err(FpgaError::PrimeBits { set, most, found });
        }
        if self.n > MAX_RING {
            let (most, found) = (MAX_RING, self.n);
            return Err(FpgaError::Ring { set, most, found });
        }
        Ok(())
    }

    /// Returns whether both circuits are equal except for the names of their sets, and so need equal work.
    #[must_use]
    pub fn is_same_work(&self, other: &Self) -> bool {
        let set = other.set;
        Self {
            set,
            ..self.clone()
        } == *other
    }

    /// Returns the numbers of rotations with the key of baby steps and with that of giant steps.
    #[must_use]
    pub fn rotations(&self) -> [usize; 2] {
        [
            self.baby_steps - 1,
            self.coordinates * (self.giant_steps - 1),
        ]
    }

    /// Returns the number of diagonals, which all coordinates share.
    #[must_use]
    pub fn diagonals(&self) -> usize {
        self.baby * self.giant_steps
    }

    /// Returns the number of plaintexts: diagonals, and for bound clues an offset for each coordinate of the
    /// first giant steps.
    #[must_use]
    pub fn plaintexts(&self) -> usize {
        self.diagonals() + self.coordinates * self.offsets
    }

    /// Returns the number of products of plaintexts with ciphertexts.
    #[must_use]
    pub fn plaintexts_products(&self) -> usize {
        self.coordinates * (self.diagonals() + self.offsets)
    }

    /// Returns the numbers of transforms of all plaintexts: an inverse transform modulo p for each, then a
    /// forward transform for each row.
    #[must_use]
    pub fn plaintext_transforms(&self) -> [usize; 2] {
        [self.plaintexts(), self.plaintexts() * self.limbs]
    }
}
