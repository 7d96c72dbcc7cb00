//! Clues and clue keys (private signaling; SophOMR, section 3.1).

mod bound;
mod kept;
mod kind;

pub use bound::{
    Binding, BoundClue, FingerprintKey, Hashed, OFFSET_LEN, message_hash, offset, post_hash,
    post_key, rows,
};
pub use kept::{HashesOf, KeptHashes};
pub use kind::{ClueKind, ClueKindError};
use omr_errors::Mismatch;

use crate::ClueParams;
use crate::frame::{
    self, FrameError, FrameHeader, Kind, copy_window, pack_bits, packed_len, unpack_bits_u32,
    unpack_window_u32, window_bytes,
};
use omr_ring::{Xof, uniform_residues};

/// The kind of a plain clue, its first byte.
pub const PLAIN: u8 = 1;
/// The kind of a bound clue, which ends with a key of 32 bytes and a signature of 64 bytes.
const HASH_BOUND: u8 = 2;
/// Bytes of a clue before its residues: kind and parameter tag.
pub const HEAD_BYTES: usize = 5;

/// Bytes of a recipient's public sealing keys: X25519 and X-Wing.
pub const SEAL_PUBLIC_BYTES: usize = 32 + 1216;

/// A clue or clue key that was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClueError {
    /// A clue key of no known kind.
    #[error(transparent)]
    KeyKind(#[from] ClueKindError),
    /// A wrong number of bytes.
    #[error("expected a clue of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<usize>),
    /// The clue is of another kind.
    #[error("expected a {} clue (kind {}), found {}kind {}", name(.0.expected), .0.expected, named(.0.found), .0.found)]
    Kind(Mismatch<u8>),
    /// The one-time key of a bound clue did not sign it, its payload and its board.
    #[error(
        "expected a clue signed by its one-time key for this payload and this board, found another signature"
    )]
    Signature,
    /// The clue was made under another parameter set.
    #[error("expected a clue of parameter set {}, found one of another set (tag {:02x?})", .0.expected, .0.found)]
    Params(Mismatch<&'static str, [u8; 4]>),
    /// A coordinate is not reduced.
    #[error("expected clue coordinates below {}, found {}", .0.expected, .0.found)]
    Coordinate(Mismatch<u64>),
    /// The vector is shorter or longer than uniform vectors. Short ones are pertinent for every recipient; long ones
    /// add noise to the clues of others.
    #[error(
        "expected a clue whose vector has a squared norm of {least:.3e} to {most:.3e}, as uniform ones have, found {norm:.3e}"
    )]
    Norm {
        /// The vector's squared norm.
        norm: f64,
        /// The least accepted.
        least: f64,
        /// The largest accepted.
        most: f64,
    },
    /// The clue lacks this property of honest clues; it has a vector for which every recipient's secret yields one
    /// result.
    #[error("expected a clue with {0}, found one that would be pertinent for every recipient")]
    Universal(&'static str),
    /// The frame of a clue key's file is wrong.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

fn name(kind: u8) -> &'static str {
    ClueKind::try_from(kind).map_or("unknown", ClueKind::name)
}

/// Returns words with the name of a kind, or nothing if the kind is unknown.
fn named(kind: u8) -> String {
    match kind {
        PLAIN | HASH_BOUND => format!("a {} clue, ", name(kind)),
        _ => String::new(),
    }
}

/// A clue: the ring LWE sample `(a, b)` with b cut to its first coordinates, both rounded to the modulus that the set
/// posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clue {
    /// `n` residues.
    pub a: Vec<u32>,
    /// `coordinates` residues.
    pub b: Vec<u32>,
}

/// Unpacks residues modulo `modulus`, each of [`residue_bits`] bits.
///
/// Errors: `Frame` (wrong length or padding), `Coordinate`.
pub fn read_residues(modulus: u64, bytes: &[u8], out: &mut [u32]) -> Result<(), ClueError> {
    unpack_bits_u32(bytes, residue_bits(modulus), out)?;
    // The search for the first residue out of range is slow, because it may leave early, and so runs only after a
    // failure.
    let largest = out.iter().copied().fold(0, u32::max);
    if u64::from(largest) < modulus {
        return Ok(());
    }
    let first = out.iter().map(|&x| u64::from(x)).find(|&x| x >= modulus);
    Err(ClueError::Coordinate(Mismatch::new(
        modulus,
        first.unwrap_or(u64::from(largest)),
    )))
}

/// Packs residues modulo `modulus`, as [`read_residues`] reads them.
pub fn write_residues<'a>(
    modulus: u64,
    residues: impl Iterator<Item = &'a u32>,
    out: &mut Vec<u8>,
) {
    let words: Vec<u64> = residues.map(|&x| u64::from(x)).collect();
    pack_bits(&words, residue_bits(modulus), out);
}

/// Returns the number of bits of a residue.
pub fn residue_bits(modulus: u64) -> u32 {
    u64::BITS - (modulus - 1).leading_zeros()
}

impl Clue {
    /// Returns the length in bytes of a plain clue: kind, parameter tag, packed residues.
    pub fn bytes(params: &ClueParams) -> usize {
        let clue = params.spec();
        let bits = residue_bits(clue.posted_modulus());
        HEAD_BYTES + packed_len(clue.n + clue.coordinates, bits).expect("clues are small")
    }

    /// Returns the clue's bytes.
    pub fn to_bytes(&self, params: &ClueParams) -> Vec<u8> {
        let mut out = vec![PLAIN];
        out.extend(params.tag());
        write_residues(
            params.spec().posted_modulus(),
            self.a.iter().chain(&self.b),
            &mut out,
        );
        out
    }

    /// Reads a clue's bytes.
    ///
    /// Errors: `Length`, `Kind`, `Params`, `Coordinate`.
    pub fn from_bytes(params: &ClueParams, bytes: &[u8]) -> Result<Self, ClueError> {
        let parser = ClueParser::new(params);
        let mut a = vec![0; parser.residues()];
        parser.posted_into(bytes, &mut a)?;
        let b = a.split_off(params.spec().n);
        Ok(Self { a, b })
    }

    /// Refuses a clue whose vector is far shorter than a uniform one, or longer than nearly all of them.
    ///
    /// A short vector is pertinent for every recipient. This check is no complete defence against that. An honest clue
    /// is as short with probability below 2^-126 at n = 1024 and 2^-47 at n = 64. A long vector adds noise to the other
    /// clues of its block ([`norms`]). An honest vector is too long with probability 2^-16 at n = 1024; senders then
    /// draw another.
    ///
    /// Errors: `Norm`.
    pub fn check_norm(&self, params: &ClueParams) -> Result<(), ClueError> {
        check_norm(&self.a, params.spec().posted_modulus())
    }
}

/// Returns the least and the largest accepted squared norm of a clue's vector of `n` residues, in units of the mean
/// squared norm of uniform vectors.
///
/// The largest norm determines how often an honest message among hostile ones is missed (`reference/miss.py`); vectors
/// of ±q/2 have 3. Norms of vectors with fewer coordinates scatter more.
pub const fn norms(n: usize) -> [f64; 2] {
    if n >= 1024 { [0.65, 1.12] } else { [0.25, 2.0] }
}

/// Refuses a vector modulo `q` that is pertinent for every recipient or adds noise to other clues.
///
/// Errors: `Norm` if the vector is far shorter than a uniform one, or longer than nearly all of them ([`norms`]).
pub fn check_norm(a: &[u32], q: u64) -> Result<(), ClueError> {
    let modulus = q as f64;
    let centered = |x: f64| if x > modulus / 2.0 { x - modulus } else { x };
    let square = |&x: &u32| centered(x.into()).powi(2);
    let norm: f64 = a.iter().map(square).sum();
    let [least, most] =
        norms(a.len()).map(|share| share * a.len() as f64 * modulus * modulus / 12.0);
    if norm < least || norm > most {
        return Err(ClueError::Norm { norm, least, most });
    }
    Ok(())
}

/// Checks kind, parameter tag and length of a clue.
///
/// Errors: `Kind`, `Params`, `Length`.
pub fn check_head(
    bytes: &[u8],
    kind: u8,
    name: &'static str,
    tag: [u8; 4],
    length: usize,
) -> Result<(), ClueError> {
    if let Some(&found) = bytes.first().filter(|&&found| found != kind) {
        let expected = kind;
        return Err(ClueError::Kind(Mismatch::new(expected, found)));
    }
    if let Some(&found) = bytes.get(1..).and_then(|rest| rest.first_chunk())
        && found != tag
    {
        let expected = name;
        return Err(ClueError::Params(Mismatch::new(expected, found)));
    }
    let (expected, found) = (length, bytes.len());
    if expected == found {
        Ok(())
    } else {
        Err(ClueError::Length(Mismatch::new(expected, found)))
    }
}

/// A parser of the clues of one parameter set, which allocates nothing.
pub struct ClueParser<'a> {
    params: &'a ClueParams,
    kind: u8,
    tag: [u8; 4],
    bytes: usize,
}

impl<'a> ClueParser<'a> {
    /// Makes a parser of the set's plain clues.
    pub fn new(params: &'a ClueParams) -> Self {
        Self {
            params,
            kind: PLAIN,
            tag: params.tag(),
            bytes: Clue::bytes(params),
        }
    }

    /// Makes a parser of the set's bound clues. It does not verify signatures.
    pub fn bound(params: &'a ClueParams) -> Self {
        Self {
            kind: HASH_BOUND,
            bytes: BoundClue::bytes(params),
            ..Self::new(params)
        }
    }

    /// Returns the number of residues of a clue: those of a, then those of b.
    pub fn residues(&self) -> usize {
        self.params.spec().n + self.params.spec().coordinates
    }

    /// Checks a clue and writes its a, then its b, to `out`, scaled back from the posted modulus. After an error the
    /// content of `out` is undefined.
    ///
    /// Shape:  [`ClueParser::residues`] words.   Range: out below [`crate::params::ClueSpec::modulus`].
    /// Errors: `Length`, `Kind`, `Params`, `Coordinate`.   Panics: if `out` has a wrong length.
    pub fn parse_into(&self, bytes: &[u8], out: &mut [u32]) -> Result<(), ClueError> {
        self.posted_into(bytes, out)?;
        let spec = self.params.spec();
        out.iter_mut().for_each(|x| *x = spec.stands_for(*x));
        Ok(())
    }

    /// Checks a clue and writes the residues of its a, then of its b, to `out` as posted.
    pub(crate) fn posted_into(&self, bytes: &[u8], out: &mut [u32]) -> Result<(), ClueError> {
        assert_eq!(out.len(), self.residues(), "one word a residue");
        check_head(bytes, self.kind, self.params.name(), self.tag, self.bytes)?;
        let residues = &bytes[HEAD_BYTES..Clue::bytes(self.params)];
        read_residues(self.params.spec().posted_modulus(), residues, out)
    }

    /// Returns the length in bytes of a window of `groups` groups of eight residues.
    pub fn window_bytes(&self, groups: usize) -> usize {
        window_bytes(residue_bits(self.params.spec().posted_modulus()), groups)
    }

    /// Copies a window of a clue that [`ClueParser::parse_into`] accepted: the bytes of the group of eight residues
    /// that contains residue `first`, and of the groups after it.
    ///
    /// Panics: if `first` is past the end of the clue.
    pub fn copy_window(&self, bytes: &[u8], first: usize, window: &mut [u8]) {
        let bits = residue_bits(self.params.spec().posted_modulus());
        copy_window(&bytes[HEAD_BYTES..], bits, first, window);
    }

    /// Unpacks a window of whole groups of eight residues.
    ///
    /// Panics: if the window is shorter than [`ClueParser::window_bytes`].
    pub fn unpack_window(&self, window: &[u8], out: &mut [u32]) {
        unpack_window_u32(
            window,
            residue_bits(self.params.spec().posted_modulus()),
            out,
        );
    }
}

/// A recipient's public address, with which senders make clues and seal payloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClueKey {
    /// The kind of the clues that are made with this key.
    pub kind: ClueKind,
    /// Random name of the address, unrelated to the name of the detection key.
    pub id: [u8; 16],
    /// The seed of `alpha` and of the offset `w`.
    pub seed: [u8; 32],
    /// `beta = alpha s + e`, `n` residues modulo q for each clue secret, one secret after another.
    pub beta: Vec<u32>,
    /// The recipient's public sealing keys.
    pub seal: [u8; SEAL_PUBLIC_BYTES],
}

impl ClueKey {
    /// Returns `alpha`, uniform, derived from the recipient's own seed.
    pub fn alpha(&self, params: &ClueParams) -> Vec<u64> {
        let mut alpha = vec![0; params.spec().n];
        let mut stream = Xof::stream("omr clue key alpha v1", &self.seed, &[]);
        uniform_residues(&mut stream, params.q(), &mut alpha);
        alpha
    }

    fn body_bytes(params: &ClueParams) -> usize {
        let clue = params.spec();
        let beta = packed_len(clue.beta_len(), residue_bits(clue.q)).expect("keys are small");
        1 + 32 + beta + SEAL_PUBLIC_BYTES
    }

    /// Returns the file: kind of clue, seed, beta and sealing keys in a frame.
    pub fn to_bytes(&self, params: &ClueParams) -> Result<Vec<u8>, ClueError> {
        let mut body = vec![self.kind.tag()];
        body.extend(self.seed);
        write_residues(params.spec().q, self.beta.iter(), &mut body);
        body.extend(self.seal);
        let header = FrameHeader::new(Kind::ClueKey, params.name(), self.id);
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads a clue key's file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `KeyKind`, `Length`, `Coordinate`.
    pub fn from_bytes(params: &ClueParams, bytes: &[u8]) -> Result<Self, ClueError> {
        let expected = Self::body_bytes(params);
        let (header, body) = frame::read_frame(&mut &bytes[..], Kind::ClueKey, 1 << 20)?;
        header.expect_params(params.name())?;
        if body.len() != expected {
            return Err(ClueError::Length(Mismatch::new(expected, body.len())));
        }
        let kind = ClueKind::try_from(body[0])?;
        let end = expected - SEAL_PUBLIC_BYTES;
        let mut beta = vec![0; params.spec().beta_len()];
        read_residues(params.spec().q, &body[33..end], &mut beta)?;
        Ok(Self {
            kind,
            id: header.key_id,
            seed: body[1..33].try_into().expect("32 bytes"),
            beta,
            seal: body[end..].try_into().expect("checked length"),
        })
    }
}
