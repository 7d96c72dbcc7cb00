//! The affine transform of a parameter set, counted: rotations, rows, digits, plaintexts.

use crate::FpgaError;
use crate::device::{MAX_RING, WORD_BITS};
use omr_papers::clear::Params;
use omr_protocol::ClueKind;
use omr_protocol::clue::OFFSET_LEN;
use omr_ring::Basis;
use omr_rlwe::KeyShape;

/// What a key switch of one ciphertext is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Rows of each digit.
    pub digits: Vec<usize>,
    /// Special primes.
    pub special: usize,
}

impl Switch {
    fn new(shape: &KeyShape, basis: &Basis) -> Self {
        let own = shape
            .digits()
            .iter()
            .map(|digit| digit.intersection(basis).len());
        Self {
            digits: own.filter(|&rows| rows > 0).collect(),
            special: shape.special().len(),
        }
    }

    /// Rows of the ciphertext.
    #[must_use]
    pub fn limbs(&self) -> usize {
        self.digits.iter().sum()
    }

    /// Rows of a key: body and mask of every digit.
    #[must_use]
    pub fn key_rows(&self) -> usize {
        2 * self.digits.len() * (self.limbs() + self.special)
    }

    /// What raising all digits to the other primes takes, from the mask to what meets a key: transforms of its rows to
    /// coefficients and of raised ones back; products of the sources and a quotient with each target.
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

    /// What dividing both parts by the special primes takes: transforms of special rows to coefficients and of what is
    /// subtracted back; products as in [`Self::raising`].
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

/// Work of basis conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversions {
    /// Transforms of a row to coefficients.
    pub inverse: usize,
    /// Transforms of a row from coefficients.
    pub forward: usize,
    /// Products for each coefficient.
    pub products: usize,
}

/// The affine transform of one batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// The parameter set.
    pub set: &'static str,
    /// Coefficients of a row: messages of a batch.
    pub n: usize,
    /// Rows of a ciphertext.
    pub limbs: usize,
    /// Bits of the widest prime.
    pub prime_bits: u32,
    /// Bits of the plaintext modulus.
    pub plain_bits: u32,
    /// Coordinates of a clue.
    pub coordinates: usize,
    /// Rotations of the secret that are held.
    pub baby_steps: usize,
    /// Baby steps of each coordinate.
    pub baby: usize,
    /// Sums that are turned and added.
    pub giant_steps: usize,
    /// Plaintexts beside the diagonals, of bound clues.
    pub offsets: usize,
    /// Key switch of a baby step.
    pub step: Switch,
    /// Key switch of a giant step.
    pub giant: Switch,
    /// Rows that the move to the next level drops.
    pub dropped: usize,
    /// Rows of the result.
    pub result_limbs: usize,
}

impl Circuit {
    /// Counts the transform of a set with clues of a kind.
    ///
    /// Errors: `PrimeBits`, `Ring` where the RTL does not hold the set.
    pub fn new(params: &Params, clues: ClueKind) -> Result<Self, FpgaError> {
        let (spec, shape) = (params.spec(), params.circuit());
        let (basis, next) = (params.chain.basis(0), params.chain.basis(1));
        let step = Switch::new(&params.step_shape, basis);
        let giant = Switch::new(&params.giant_shape, basis);
        let used = [params.step_shape.extended(), params.giant_shape.extended()];
        let used = used.iter().fold(basis.union(next), |all, b| all.union(b));
        let bits = |&id: &usize| 64 - params.ring.modulus(id).value().leading_zeros();
        let circuit = Self {
            set: params.name(),
            n: params.ring.n(),
            limbs: basis.len(),
            prime_bits: used.ids().iter().map(bits).max().unwrap_or(0),
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

    /// Checks that the RTL's words and memories hold the set.
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

    /// Whether both are the same work on a card: all but the names of the sets.
    #[must_use]
    pub fn is_same_work(&self, other: &Self) -> bool {
        let set = other.set;
        Self {
            set,
            ..self.clone()
        } == *other
    }

    /// Rotations by the two keys.
    #[must_use]
    pub fn rotations(&self) -> [usize; 2] {
        [
            self.baby_steps - 1,
            self.coordinates * (self.giant_steps - 1),
        ]
    }

    /// Diagonals, which all coordinates share.
    #[must_use]
    pub fn diagonals(&self) -> usize {
        self.baby * self.giant_steps
    }

    /// Plaintexts: diagonals, and for bound clues an offset for each coordinate of the first giant steps.
    #[must_use]
    pub fn plaintexts(&self) -> usize {
        self.diagonals() + self.coordinates * self.offsets
    }

    /// Products of plaintexts with ciphertexts.
    #[must_use]
    pub fn plaintexts_products(&self) -> usize {
        self.coordinates * (self.diagonals() + self.offsets)
    }

    /// Transforms of all plaintexts, an inverse one modulo p, then one for each row.
    #[must_use]
    pub fn plaintext_transforms(&self) -> [usize; 2] {
        [self.plaintexts(), self.plaintexts() * self.limbs]
    }
}
