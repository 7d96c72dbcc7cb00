//! Queries.

use crate::RoundsError;
use crate::fetch::Fetch;
use omr_bgv::{Ciphertext, Decryptor, doublings, encrypt_body};
use omr_ring::{Eval, Poly};
use omr_rlwe::{MaskSeed, Rlwe, Secret, SecretPoly};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// The place that a query asks for in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroize)]
pub struct Choice {
    /// The row: the number of the page among those of the range.
    pub row: usize,
    /// The position in the row.
    pub position: usize,
}

impl Choice {
    /// Returns 1 if this choice is the place in a row of its bucket, and else 0. Time: constant.
    pub fn is_at(&self, row: usize, position: usize) -> u32 {
        is_equal(self.row, row) & is_equal(self.position, position)
    }
}

/// An encrypted query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The number of rows of the range.
    pub rows: usize,
    /// The seed of the masks.
    pub seed: [u8; 32],
    /// The bodies: that of the positions, then those of the rows.
    pub bodies: Vec<Poly<Eval>>,
}

impl Query {
    /// Encrypts one choice for each bucket, among `rows` rows. The seed must be random and never used again.
    ///
    /// Time: that of the numbers of buckets and rows.
    /// Panics: unless there is a choice for each bucket.
    pub fn encrypt(
        fetch: &Fetch,
        secret: &SecretPoly,
        rows: usize,
        choices: &[Choice],
        seed: [u8; 32],
        rng: &mut impl CryptoRng,
    ) -> Self {
        assert_eq!(
            choices.len(),
            fetch.spec().buckets,
            "a choice for each bucket"
        );
        let mut slots = vec![position_slots(fetch, choices)];
        let mut first = 0;
        for part in fetch.row_parts(rows) {
            slots.push(row_slots(fetch, choices, first, part));
            first += part;
        }
        let basis = fetch.chain.basis(0);
        let mut bodies = Vec::with_capacity(slots.len());
        for (index, row) in (0..).zip(&mut slots) {
            let masks = MaskSeed::new(&seed, index);
            let (ring, plain) = (&fetch.ring, &fetch.plain);
            bodies.push(encrypt_body(ring, plain, secret, basis, row, masks, rng));
            row.zeroize();
        }
        Self { rows, seed, bodies }
    }

    /// Decrypts the choice of each bucket. Choices of a query that was encrypted with another secret have no meaning.
    ///
    /// Time: that of the numbers of buckets and rows.
    /// Errors: `Length` if there are more or fewer bodies than the rows take.
    pub fn decrypt(&self, fetch: &Fetch, secret: &Secret) -> Result<Vec<Choice>, RoundsError> {
        let decryptor = Decryptor {
            ring: &fetch.ring,
            plain: &fetch.plain,
            secret,
        };
        let mut choices = vec![
            Choice {
                row: 0,
                position: 0
            };
            fetch.spec().buckets
        ];
        let mut ciphertexts = self.ciphertexts(fetch)?.into_iter();
        let positions = ciphertexts.next().expect("checked");
        add_positions(fetch, decryptor.decrypt(&positions), &mut choices);
        let mut first = 0;
        for (ciphertext, part) in ciphertexts.zip(fetch.row_parts(self.rows)) {
            let slots = decryptor.decrypt(&ciphertext);
            add_rows(fetch, slots, first, part, &mut choices);
            first += part;
        }
        Ok(choices)
    }

    /// Returns the ciphertexts: that of the positions, then those of the rows.
    ///
    /// Errors: `Length` if there are more or fewer bodies than the rows take.
    pub(crate) fn ciphertexts(&self, fetch: &Fetch) -> Result<Vec<Ciphertext>, RoundsError> {
        let expected = fetch.query_ciphertexts(self.rows);
        RoundsError::length("ciphertexts", expected, self.bodies.len())?;
        let basis = fetch.chain.basis(0);
        let ciphertext = |(index, body): (u64, &Poly<Eval>)| {
            let mask = MaskSeed::new(&self.seed, index).mask(&fetch.ring, basis, &[]);
            Ciphertext::new(Rlwe::new(body.clone(), mask), 0, 1)
        };
        Ok((0..).zip(&self.bodies).map(ciphertext).collect())
    }
}

/// Returns slots with 1 at the position of each bucket's choice and 0 elsewhere. Time: constant.
fn position_slots(fetch: &Fetch, choices: &[Choice]) -> Vec<u32> {
    let value = |[bucket, position]: [usize; 2]| is_equal(choices[bucket].position, position);
    fetch.slot_places().into_iter().map(value).collect()
}

/// Returns the slots of the polynomial that selects rows `first` to `first + rows`: `X^j` times the polynomial of
/// row j in `X^positions`, whose value in a bucket is a constant if the bucket's choice lies in the row, and else 0.
/// The constants undo all factors of the circuit. Time: constant.
fn row_slots(fetch: &Fetch, choices: &[Choice], first: usize, rows: usize) -> Vec<u32> {
    let (p, buckets, positions) = (fetch.p(), fetch.spec().buckets, fetch.positions());
    let scale = |row: usize| {
        let expansion = p.reduce(1 << doublings(row, rows));
        p.mul(
            circuit_scale(fetch),
            p.inv(p.mul(expansion, buckets as u64)),
        )
    };
    let scales: Vec<u64> = (0..rows).map(scale).collect();
    let roots: Vec<u64> = (0..2 * buckets).map(|e| fetch.bucket_root(e)).collect();
    let mut coefficients = vec![0_u64; fetch.spec().n];
    for (bucket, choice) in choices.iter().enumerate() {
        for i in 0..buckets {
            // Coefficient i of the polynomial that is 1 in this bucket and 0 in others, times the number of buckets.
            let exponent = (2 * bucket + 1) * i % (2 * buckets);
            let root = roots[(2 * buckets - exponent) % (2 * buckets)];
            for (row, &own) in scales.iter().enumerate() {
                let chosen = u64::from(is_equal(choice.row, first + row));
                let coefficient = &mut coefficients[positions * i + row];
                *coefficient = p.add(*coefficient, p.mul(root, own) & chosen.wrapping_neg());
            }
        }
    }
    fetch.plain.decode(coefficients)
}

/// Reads the positions that [`position_slots`] contains. Time: constant.
fn add_positions(fetch: &Fetch, mut slots: Vec<u32>, choices: &mut [Choice]) {
    for ([bucket, position], &value) in fetch.slot_places().into_iter().zip(&slots) {
        choices[bucket].position |= position * is_equal(value as usize, 1) as usize;
    }
    slots.zeroize();
}

/// Reads the rows that [`row_slots`] contains. Time: constant.
fn add_rows(fetch: &Fetch, mut slots: Vec<u32>, first: usize, rows: usize, choices: &mut [Choice]) {
    let (p, buckets, positions) = (fetch.p(), fetch.spec().buckets, fetch.positions());
    let roots: Vec<u64> = (0..2 * buckets).map(|e| fetch.bucket_root(e)).collect();
    let mut coefficients = fetch.plain.encode(&slots);
    slots.zeroize();
    for (bucket, choice) in choices.iter_mut().enumerate() {
        for row in 0..rows {
            // Products are below 2^40, and there are 64 at most.
            let terms = (0..buckets).map(|i| {
                let root = roots[(2 * bucket + 1) * i % (2 * buckets)];
                u64::from(coefficients[positions * i + row]) * root
            });
            let value = p.reduce(terms.sum());
            choice.row |= (first + row) * (1 - is_equal(value as usize, 0)) as usize;
        }
    }
    coefficients.zeroize();
}

/// Returns the factor that the circuit divides by: a product drops one prime, and the change to the ring of responses
/// the others.
fn circuit_scale(fetch: &Fetch) -> u64 {
    let p = fetch.p();
    let query = fetch.chain.basis(0);
    let prime = |&id: &usize| p.reduce(fetch.ring.modulus(id).value());
    let product = query
        .ids()
        .iter()
        .map(prime)
        .fold(1, |all, q| p.mul(all, q));
    p.neg(product)
}

/// Returns 1 for equal numbers and else 0, without a branch.
fn is_equal(a: usize, b: usize) -> u32 {
    let difference = (a ^ b) as u64;
    // The highest bit of x or -x is set unless x is 0.
    let differs = (difference | difference.wrapping_neg()) >> 63;
    1 - differs as u32
}
