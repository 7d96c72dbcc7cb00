//! Clues bound to their payload and to a one-time key, so that no clue reaches everybody.
//!
//! A plain clue is a linear form of the recipient's secret: `(0, 0)` is near 0 under every one. A bound clue's b
//! carries the offset `<h_j, w>` besides, with `w` the recipient's own, public with her address, and `h` a hash of
//! all that the message consists of but b. Under another recipient's w the same clue is off by a random amount, and
//! the sender chooses h by hashing alone.
//!
//! For M recipients with independent w, one hash query gives a clue that some b makes pertinent for T of them with
//! probability at most `C(M, T) T^l f^(l (T - 1)) (1 + 2^-12)`, T up to [`OFFSET_LEN`], f the share of the window
//! in the modulus, in the random-oracle model. b minus a public offset is a plain clue, so its privacy carries over.

use super::{Clue, ClueError, ClueKey, ClueParser, HASH_BOUND, residue_bits, write_residues};
use crate::ClueParams;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use omr_marks::{publish, published};
use omr_ring::Xof;
use rand_core::Rng;

/// Residues of an address's `w` and of each row of `h`.
pub const OFFSET_LEN: usize = 8;

/// Bytes before the residues: kind and tag.
const HEAD: usize = 5;
/// Bytes of the one-time key and of the signature.
const KEY_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;

/// What a clue is bound to, beside itself.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The board that it is posted to.
    pub board_id: &'a [u8; 16],
    /// The payload as it stands on the board.
    pub payload: &'a [u8],
}

impl<'a> Binding<'a> {
    /// A payload on a board.
    pub const fn new(board_id: &'a [u8; 16], payload: &'a [u8]) -> Self {
        Self { board_id, payload }
    }
}

/// A clue, the one-time key that it is bound to, and that key's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundClue {
    /// `a` as in a plain clue; `b_j` with the offset `<h_j, w>` added.
    pub clue: Clue,
    /// The Ed25519 key; a board takes one message for each.
    pub key: [u8; KEY_BYTES],
    /// Over [`BoundClue::transcript`].
    pub signature: [u8; SIGNATURE_BYTES],
}

impl BoundClue {
    /// Bytes of a bound clue: those of a plain one, the key, the signature.
    pub fn bytes(params: &ClueParams) -> usize {
        Clue::bytes(params) + KEY_BYTES + SIGNATURE_BYTES
    }

    /// Writes it.
    pub fn to_bytes(&self, params: &ClueParams) -> Vec<u8> {
        let mut out = self.clue.to_bytes(params);
        out[0] = HASH_BOUND;
        out.extend(self.key);
        out.extend(self.signature);
        out
    }

    /// Reads it; [`BoundClue::verify`] looks at the signature.
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

    /// Binds a ring LWE sample to a payload: adds the offsets of `w` to b, rounds, and signs with the one-time key
    /// whose secret is given.
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
        // Public, as a is: both are posted. Who makes the clue of a payload again makes what was posted, or what the
        // payload's sender knows as well.
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

    /// The rows `h_j`.
    pub fn rows(&self, params: &ClueParams, to: Binding) -> Vec<[u32; OFFSET_LEN]> {
        rows(params, to, &self.clue.a, &self.key)
    }

    /// What the one-time key signs.
    pub fn transcript(&self, params: &ClueParams, to: Binding) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("omr bound clue signature v1");
        hasher.update(to.board_id);
        hasher.update(&self.key);
        hasher.update(&self.clue.to_bytes(params)[1..]);
        *hasher.update(to.payload).finalize().as_bytes()
    }

    /// Whether the key's owner made this clue for this payload on this board: what a board checks before it takes
    /// a post. Without it, whoever sees a post could have its key refused by posting something else under it.
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

/// The one-time key of a bound clue on its way to a board, once all is well with it: form, length of its vector,
/// signature. A board takes one message for each key.
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

/// The rows `h_j`, one for each coordinate: a hash of the set, the board, `a`, the one-time key and the payload.
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

/// The hash of a message that a board keeps, once all is well with its clue as for [`post_key`]: of what the poster
/// sent, never given by her.
///
/// Errors: as [`post_key`].
pub fn post_hash(
    params: &ClueParams,
    board_id: &[u8; 16],
    clue: &[u8],
    payload: &[u8],
) -> Result<[u8; 32], ClueError> {
    post_key(params, board_id, clue, payload)?;
    Ok(message_hash(params, board_id, clue, payload))
}

/// The hash of a message that a board keeps, of a bound clue that has been tested.
///
/// Panics: on a clue of another length.
#[must_use]
pub fn message_hash(
    params: &ClueParams,
    board_id: &[u8; 16],
    clue: &[u8],
    payload: &[u8],
) -> [u8; 32] {
    Hashed::new(params, Binding::new(board_id, payload), clue).hash()
}

/// A bound clue's bytes and the hash that its rows follow from.
pub struct Hashed<'a> {
    hash: [u8; 32],
    /// Behind `a`: b, the one-time key, the signature.
    rest: &'a [u8],
}

impl<'a> Hashed<'a> {
    /// Hashes a bound clue's bytes that [`ClueParser::parse_into`] took.
    ///
    /// Panics: on another length.
    pub fn new(params: &ClueParams, to: Binding, clue: &'a [u8]) -> Self {
        let (a, rest) = split(params, clue);
        let key = &clue[Clue::bytes(params)..][..KEY_BYTES];
        let hash = hash(params, to, a, key);
        Self { hash, rest }
    }

    /// The same where the hash was kept: [`super::KeptHashes`] says of which set and board it is.
    ///
    /// Panics: on another length.
    pub fn kept(params: &ClueParams, hash: [u8; 32], clue: &'a [u8]) -> Self {
        let (_, rest) = split(params, clue);
        Self { hash, rest }
    }

    /// The hash: of set, board, one-time key, a and payload.
    pub const fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// The rows `h_j`, as many as there is room for.
    pub fn rows_into(&self, params: &ClueParams, out: &mut [[u32; OFFSET_LEN]]) {
        rows_of(params, &self.hash, out);
    }

    /// What a digest says of the clue beside its payload: 32 bits of a hash of all of it. Whoever does not know the
    /// digest's seed finds no other clue with the same ones but by a chance of 2^-32.
    pub fn fingerprint(&self, key: &FingerprintKey) -> u32 {
        let mut hasher = blake3::Hasher::new_keyed(&key.0);
        let hash = hasher.update(&self.hash).update(self.rest).finalize();
        u32::from_le_bytes(*hash.as_bytes().first_chunk().expect("four bytes"))
    }
}

/// What fingerprints of a digest are keyed with, from the digest's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintKey([u8; 32]);

impl FingerprintKey {
    /// That of a digest's seed.
    pub fn new(seed: &[u8; crate::SEED_BYTES]) -> Self {
        Self(blake3::derive_key("omr clue fingerprint v1", seed))
    }
}

/// The bytes of `a`, and all behind it.
fn split<'a>(params: &ClueParams, clue: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    assert_eq!(clue.len(), BoundClue::bytes(params), "a bound clue");
    // Dimensions are multiples of eight, so a ends with a byte.
    let packed = params.spec().n * residue_bits(params.spec().posted_modulus()) as usize / 8;
    clue[HEAD..].split_at(packed)
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

/// `<h_j, w>` modulo q.
pub fn offset(params: &ClueParams, row: &[u32; OFFSET_LEN], w: &[u32; OFFSET_LEN]) -> u64 {
    let q = params.q();
    let products = row.iter().zip(w).map(|(&h, &w)| q.mul(h.into(), w.into()));
    products.fold(0, |sum, product| q.add(sum, product))
}

impl ClueKey {
    /// The address's `w`, uniform, from its own seed.
    pub fn offset(&self, params: &ClueParams) -> [u32; OFFSET_LEN] {
        let mut stream = Xof::stream("omr clue key offset v1", &self.seed, &[]);
        residues(params, &mut stream)
    }
}

/// As [`uniform_residues`](omr_ring::uniform_residues), a word at a time: of a stream no more is made than is used.
fn residues(params: &ClueParams, stream: &mut impl Rng) -> [u32; OFFSET_LEN] {
    let (q, mask) = (params.q().value(), u64::MAX >> (64 - params.q().bits()));
    let mut candidates = std::iter::repeat_with(|| stream.next_u64() & mask);
    let mut next = || candidates.find(|&x| x < q).expect("an endless stream");
    std::array::from_fn(|_| next() as u32)
}
