//! Clues bound to their payload and to a one-time key, so that no clue is pertinent for everybody.
//!
//! A plain clue is a linear form of the recipient's secret: `(0, 0)` is near 0 under every secret. The b of a bound
//! clue carries an additional offset `<h_j, w>`, where `w` belongs to the recipient's public address and `h` is a hash
//! of the whole message except b. Under another recipient's w the clue is off by a random amount, and the sender can
//! influence h by trying hashes only.
//!
//! For M recipients with independent w, one hash query yields a clue that some b makes pertinent for T of them with
//! probability at most `C(M, T) T^l f^(l (T - 1)) (1 + 2^-12)`, for T up to [`OFFSET_LEN`], where f is the window's
//! share of the modulus, in the random-oracle model. A bound clue is a plain clue plus a public offset, and so it is as
//! private.

use super::{
    Clue, ClueError, ClueKey, ClueParser, HASH_BOUND, HEAD_BYTES, residue_bits, write_residues,
};
use crate::ClueParams;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use omr_marks::{publish, published};
use omr_ring::Xof;
use rand_core::Rng;

/// Number of residues of an address's `w` and of each row of `h`.
pub const OFFSET_LEN: usize = 8;

/// Bytes of the one-time key.
const KEY_BYTES: usize = 32;
/// Bytes of the signature.
const SIGNATURE_BYTES: usize = 64;

/// The board and the payload that a clue is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The board that the clue is posted to.
    pub board_id: &'a [u8; 16],
    /// The payload as the board stores it.
    pub payload: &'a [u8],
}

impl<'a> Binding<'a> {
    /// Returns the binding to a payload on a board.
    pub const fn new(board_id: &'a [u8; 16], payload: &'a [u8]) -> Self {
        Self { board_id, payload }
    }
}

/// A clue, the one-time key that it is bound to, and the signature of that key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundClue {
    /// The vector `a` of a plain clue, and `b_j` with the offset `<h_j, w>` added.
    pub clue: Clue,
    /// The Ed25519 public key. A board accepts one message for each key.
    pub key: [u8; KEY_BYTES],
    /// The signature of [`BoundClue::transcript`].
    pub signature: [u8; SIGNATURE_BYTES],
}

impl BoundClue {
    /// Returns the length in bytes of a bound clue: a plain clue, the key and the signature.
    pub fn bytes(params: &ClueParams) -> usize {
        Clue::bytes(params) + KEY_BYTES + SIGNATURE_BYTES
    }

    /// Returns the clue's bytes.
    pub fn to_bytes(&self, params: &ClueParams) -> Vec<u8> {
        let mut out = self.clue.to_bytes(params);
        out[0] = HASH_BOUND;
        out.extend(self.key);
        out.extend(self.signature);
        out
    }

    /// Reads a clue's bytes without verifying the signature, which [`BoundClue::verify`] does.
    ///
    /// Errors: `Kind`, `Params`, `Length`, `Coordinate`.
    pub fn from_bytes(params: &ClueParams, bytes: &[u8]) -> Result<Self, ClueError> {
        let parser = ClueParser::bound(params);
        let mut a = vec![0; parser.residues()];
        parser.posted_into(bytes, &mut a)?;
        let b = a.split_off(params.spec().n);
        let (key, signature) = bytes[Clue::bytes(params)..].split_at(KEY_BYTES);
        Ok(Self {
            clue: Clue { a, b },
            key: key.try_into().expect("32 bytes"),
            signature: signature.try_into().expect("checked length"),
        })
    }

    /// Binds a ring LWE sample to a payload: adds the offsets of `w` to b, rounds, and signs with the secret `one_time`
    /// of a one-time key.
    ///
    /// Shape:  `a` as posted, `b` the set's coordinates modulo q.
    pub fn bind(
        params: &ClueParams,
        mut a: Vec<u32>,
        b: &[u64],
        w: &[u32; OFFSET_LEN],
        to: Binding,
        one_time: &[u8; KEY_BYTES],
    ) -> Self {
        publish(&mut a);
        let signing = SigningKey::from_bytes(one_time);
        // b is public, as a is: both are posted. Making a payload's clue a second time yields the clue that was posted,
        // or one that the payload's sender could compute as well.
        let key = published(signing.verifying_key().to_bytes());
        let (q, spec) = (params.q(), params.spec());
        let rows = rows(params, to, &a, &key);
        let shifted = b.iter().zip(&rows);
        let b = shifted.map(|(&b, row)| spec.posted(q.add(b, offset(params, row, w))));
        let mut clue = Self {
            clue: Clue { b: b.collect(), a },
            key,
            signature: [0; SIGNATURE_BYTES],
        };
        clue.signature = signing.sign(&clue.transcript(params, to)).to_bytes();
        clue
    }

    /// Returns the rows `h_j`.
    pub fn rows(&self, params: &ClueParams, to: Binding) -> Vec<[u32; OFFSET_LEN]> {
        rows(params, to, &self.clue.a, &self.key)
    }

    /// Returns the message that the one-time key signs.
    pub fn transcript(&self, params: &ClueParams, to: Binding) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("omr bound clue signature v1");
        hasher.update(to.board_id);
        hasher.update(&self.key);
        hasher.update(&self.clue.to_bytes(params)[1..]);
        *hasher.update(to.payload).finalize().as_bytes()
    }

    /// Checks that the key's owner made this clue for this payload on this board. A board checks this before it accepts
    /// a post; otherwise anybody who sees a post could use up its key by posting another message under it.
    ///
    /// Errors: `Signature`.
    pub fn verify(&self, params: &ClueParams, to: Binding) -> Result<(), ClueError> {
        let refused = |_| ClueError::Signature;
        let key = VerifyingKey::from_bytes(&self.key).map_err(refused)?;
        let signature = Signature::from_bytes(&self.signature);
        let transcript = self.transcript(params, to);
        key.verify_strict(&transcript, &signature).map_err(refused)
    }
}

/// Checks the form, the norm of the vector and the signature of a bound clue that is being posted, and returns its
/// one-time key. A board accepts one message for each key.
///
/// Errors: `Length`, `Kind`, `Params`, `Coordinate`, `Norm`, `Signature`.
pub fn post_key(
    params: &ClueParams,
    board_id: &[u8; 16],
    clue: &[u8],
    payload: &[u8],
) -> Result<[u8; KEY_BYTES], ClueError> {
    let bound = BoundClue::from_bytes(params, clue)?;
    bound.clue.check_norm(params)?;
    bound.verify(params, Binding::new(board_id, payload))?;
    Ok(bound.key)
}

/// Returns the rows `h_j`, one for each coordinate: a hash of the parameter set, the board, `a`, the one-time key and
/// the payload.
///
/// Range: out `[0, q)`.
pub fn rows(
    params: &ClueParams,
    to: Binding,
    a: &[u32],
    key: &[u8; KEY_BYTES],
) -> Vec<[u32; OFFSET_LEN]> {
    let mut packed = Vec::new();
    write_residues(params.spec().posted_modulus(), a.iter(), &mut packed);
    let mut rows = vec![[0; OFFSET_LEN]; params.spec().coordinates];
    rows_of(params, &hash(params, to, &packed, key), &mut rows);
    rows
}

/// Checks a bound clue that is being posted and returns the hash of its message, which a board computes itself and
/// stores.
///
/// Errors: those of [`post_key`].
pub fn post_hash(
    params: &ClueParams,
    board_id: &[u8; 16],
    clue: &[u8],
    payload: &[u8],
) -> Result<[u8; 32], ClueError> {
    post_key(params, board_id, clue, payload)?;
    Ok(message_hash(params, board_id, clue, payload))
}

/// Returns the hash that a board stores of a message whose bound clue has been checked.
///
/// Panics: if the clue has a wrong length.
#[must_use]
pub fn message_hash(
    params: &ClueParams,
    board_id: &[u8; 16],
    clue: &[u8],
    payload: &[u8],
) -> [u8; 32] {
    Hashed::new(params, Binding::new(board_id, payload), clue).hash()
}

/// The bytes of a bound clue and the hash from which its rows are derived.
pub struct Hashed<'a> {
    hash: [u8; 32],
    /// The bytes after `a`: b, the one-time key and the signature.
    rest: &'a [u8],
}

impl<'a> Hashed<'a> {
    /// Hashes the bytes of a bound clue that [`ClueParser::parse_into`] accepted.
    ///
    /// Panics: if the clue has a wrong length.
    pub fn new(params: &ClueParams, to: Binding, clue: &'a [u8]) -> Self {
        let (a, rest) = split(params, clue);
        let key = &clue[Clue::bytes(params)..][..KEY_BYTES];
        let hash = hash(params, to, a, key);
        Self { hash, rest }
    }

    /// Combines a clue with its stored hash, which must be of this parameter set and board ([`super::KeptHashes`]).
    ///
    /// Panics: if the clue has a wrong length.
    pub fn kept(params: &ClueParams, hash: [u8; 32], clue: &'a [u8]) -> Self {
        let (_, rest) = split(params, clue);
        Self { hash, rest }
    }

    /// Returns the hash of the parameter set, the board, the one-time key, a and the payload.
    pub const fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// Fills `out` with the first rows `h_j`.
    pub fn rows_into(&self, params: &ClueParams, out: &mut [[u32; OFFSET_LEN]]) {
        rows_of(params, &self.hash, out);
    }

    /// Returns the fingerprint that a digest contains of the clue beside its payload: 32 bits of a keyed hash of the
    /// message. Without the digest's seed, another clue has the fingerprint with probability 2^-32.
    pub fn fingerprint(&self, key: &FingerprintKey) -> u32 {
        let mut hasher = blake3::Hasher::new_keyed(&key.0);
        let hash = hasher.update(&self.hash).update(self.rest).finalize();
        u32::from_le_bytes(*hash.as_bytes().first_chunk().expect("four bytes"))
    }
}

/// The key of the fingerprints of a digest, derived from the digest's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintKey([u8; 32]);

impl FingerprintKey {
    /// Derives the key from a digest's seed.
    pub fn new(seed: &[u8; crate::SEED_BYTES]) -> Self {
        Self(blake3::derive_key("omr clue fingerprint v1", seed))
    }
}

/// Returns the bytes of `a` and all bytes after it.
fn split<'a>(params: &ClueParams, clue: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    assert_eq!(clue.len(), BoundClue::bytes(params), "a bound clue");
    // Dimensions are multiples of eight, so a ends at a byte boundary.
    let packed = params.spec().n * residue_bits(params.spec().posted_modulus()) as usize / 8;
    clue[HEAD_BYTES..].split_at(packed)
}

fn hash(params: &ClueParams, to: Binding, a: &[u8], key: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("omr bound clue hash v1");
    hasher.update(&params.tag());
    hasher.update(to.board_id);
    hasher.update(key);
    hasher.update(a); // of the set's length, as all before it
    *hasher.update(to.payload).finalize().as_bytes()
}

fn rows_of(params: &ClueParams, seed: &[u8; 32], out: &mut [[u32; OFFSET_LEN]]) {
    let mut stream = Xof::stream("omr bound clue rows v1", seed, &[]);
    out.fill_with(|| residues(params, &mut stream));
}

/// Returns `<h_j, w>` modulo q.
pub fn offset(params: &ClueParams, row: &[u32; OFFSET_LEN], w: &[u32; OFFSET_LEN]) -> u64 {
    let q = params.q();
    let products = row.iter().zip(w).map(|(&x, &y)| q.mul(x.into(), y.into()));
    products.fold(0, |sum, product| q.add(sum, product))
}

impl ClueKey {
    /// Returns the address's `w`, uniform, derived from the address's own seed.
    pub fn offset(&self, params: &ClueParams) -> [u32; OFFSET_LEN] {
        let mut stream = Xof::stream("omr clue key offset v1", &self.seed, &[]);
        residues(params, &mut stream)
    }
}

/// Draws residues as [`omr_ring::uniform_residues`] does, but a word at a time, so that no more of the stream is made
/// than is used.
fn residues(params: &ClueParams, stream: &mut impl Rng) -> [u32; OFFSET_LEN] {
    let (q, mask) = (params.q().value(), u64::MAX >> (64 - params.q().bits()));
    let mut candidates = std::iter::repeat_with(|| stream.next_u64() & mask);
    let mut next = || candidates.find(|&x| x < q).expect("an endless stream");
    std::array::from_fn(|_| next() as u32)
}
