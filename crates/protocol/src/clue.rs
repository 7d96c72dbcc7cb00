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

/// The kind of a plain clue, the first byte on the wire.
pub const PLAIN: u8 = 1;
/// Offset bound to payload and one-time key; 32 bytes of key and 64 of signature follow.
const HASH_BOUND: u8 = 2;

/// Bytes of a recipient's public sealing keys: X25519 and X-Wing.
pub const SEAL_PUBLIC_BYTES: usize = 32 + 1216;

/// A clue or clue key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClueError {
    /// A clue key of no known kind.
    #[error(transparent)]
    KeyKind(#[from] ClueKindError),
    /// A wrong number of bytes.
    #[error("expected a clue of {} bytes, found {}", .0.expected, .0.found)]
    Length(Mismatch<usize>),
    /// Another kind of clue.
    #[error("expected a {} clue (kind {}), found {}kind {}", name(.0.expected), .0.expected, named(.0.found), .0.found)]
    Kind(Mismatch<u8>),
    /// The one-time key of a bound clue did not sign it, its payload and its board.
    #[error(
        "expected a clue signed by its one-time key for this payload and this board, found another signature"
    )]
    Signature,
    /// Made under other parameters.
    #[error("expected a clue of parameter set {}, found one of another set (tag {:02x?})", .0.expected, .0.found)]
    Params(Mismatch<&'static str, [u8; 4]>),
    /// A coordinate is not reduced.
    #[error("expected clue coordinates below {}, found {}", .0.expected, .0.found)]
    Coordinate(Mismatch<u64>),
    /// The vector is shorter or longer than uniform ones: short ones reach every recipient, long ones make others' clues
    /// noisy.
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
    /// A vector that meets every recipient's secret alike; what an honest clue has.
    #[error("expected a clue with {0}, found one that would reach every recipient")]
    Universal(&'static str),
    /// The file around a clue key.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

fn name(kind: u8) -> &'static str {
    ClueKind::try_from(kind).map_or("unknown", ClueKind::name)
}

/// The name of a kind that has one, to be put before it.
fn named(kind: u8) -> String {
    match kind {
        PLAIN | HASH_BOUND => format!("a {} clue, ", name(kind)),
        _ => String::new(),
    }
}

/// A clue: ring LWE sample `(a, b)`, b cut to the first coordinates, as the set posts residues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clue {
    /// `n` residues.
    pub a: Vec<u32>,
    /// `coordinates` residues.
    pub b: Vec<u32>,
}

/// Unpacks residues modulo `modulus`, `bits` each.
///
/// Errors: `Frame` (length, padding), `Coordinate`.
pub fn read_residues(modulus: u64, bytes: &[u8], out: &mut [u32]) -> Result<(), ClueError> {
    unpack_bits_u32(bytes, residue_bits(modulus), out)?;
    // The search for the first offender leaves early and so is slow: only when there is one.
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

/// Packs residues modulo `modulus`, [`read_residues`]'s reverse.
pub fn write_residues<'a>(
    modulus: u64,
    residues: impl Iterator<Item = &'a u32>,
    out: &mut Vec<u8>,
) {
    let words: Vec<u64> = residues.map(|&x| u64::from(x)).collect();
    pack_bits(&words, residue_bits(modulus), out);
}

/// Bits of a residue.
pub fn residue_bits(modulus: u64) -> u32 {
    u64::BITS - (modulus - 1).leading_zeros()
}

impl Clue {
    /// Bytes of a plain clue: kind, parameter tag, packed residues.
    pub fn bytes(params: &ClueParams) -> usize {
        let clue = params.spec();
        let bits = residue_bits(clue.posted_modulus());
        5 + packed_len(clue.n + clue.coordinates, bits).expect("clues are small")
    }

    /// Writes it.
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

    /// Reads it.
    ///
    /// Errors: `Length`, `Kind`, `Params`, `Coordinate`.
    pub fn from_bytes(params: &ClueParams, bytes: &[u8]) -> Result<Self, ClueError> {
        let parser = ClueParser::new(params);
        let mut a = vec![0; parser.residues()];
        parser.posted_into(bytes, &mut a)?;
        let b = a.split_off(params.spec().n);
        Ok(Self { a, b })
    }

    /// Refuses clues whose vector is far shorter than a uniform one, or longer than nearly all of them.
    ///
    /// A short one reaches every recipient; the test is a courtesy, no defence: honest clues are as short with
    /// probability below 2^-126 at n = 1024 and 2^-47 at n = 64. A long one adds noise to the other clues of its block
    /// ([`norms`]). An honest vector is too long with probability 2^-16 at n = 1024: senders draw again.
    ///
    /// Errors: `Norm`.
    pub fn check_norm(&self, params: &ClueParams) -> Result<(), ClueError> {
        check_norm(&self.a, params.spec().posted_modulus())
    }
}

/// The least and the largest squared norm of a clue's vector of `n` residues, in the mean one of uniform vectors.
///
/// The largest decides how often an honest message among hostile ones is missed (`reference/miss.py`); vectors of +-q/2
/// have 3. Norms of fewer coordinates scatter more.
pub const fn norms(n: usize) -> [f64; 2] {
    if n >= 1024 { [0.65, 1.12] } else { [0.25, 2.0] }
}

/// Refuses vectors that reach everybody, and those that disturb others.
///
/// Errors: `Norm` where a vector modulo `q` is far shorter than a uniform one, or longer than nearly all of them ([`norms`]).
pub fn check_norm(a: &[u32], q: u64) -> Result<(), ClueError> {
    let q = q as f64;
    let centered = |x: f64| if x > q / 2.0 { x - q } else { x };
    let square = |&x: &u32| centered(x.into()).powi(2);
    let norm: f64 = a.iter().map(square).sum();
    let [least, most] = norms(a.len()).map(|share| share * a.len() as f64 * q * q / 12.0);
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
    (name, tag): (&'static str, [u8; 4]),
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

/// Reads clues of one parameter set, without allocation.
pub struct ClueParser<'a> {
    params: &'a ClueParams,
    kind: u8,
    tag: [u8; 4],
    bytes: usize,
}

impl<'a> ClueParser<'a> {
    /// A parser of plain clues of this set.
    pub fn new(params: &'a ClueParams) -> Self {
        Self {
            params,
            kind: PLAIN,
            tag: params.tag(),
            bytes: Clue::bytes(params),
        }
    }

    /// A parser of bound clues of this set; signatures are not looked at.
    pub fn bound(params: &'a ClueParams) -> Self {
        Self {
            kind: HASH_BOUND,
            bytes: BoundClue::bytes(params),
            ..Self::new(params)
        }
    }

    /// Residues of a clue: a, then b.
    pub fn residues(&self) -> usize {
        self.params.spec().n + self.params.spec().coordinates
    }

    /// Checks a clue and puts what its a, then b, stand for into `out`, whose content is undefined after an error.
    ///
    /// Shape:  [`ClueParser::residues`] words.   Range: out below [`crate::params::ClueSpec::modulus`].
    /// Errors: `Length`, `Kind`, `Params`, `Coordinate`.   Panics: on a wrong length of `out`.
    pub fn parse_into(&self, bytes: &[u8], out: &mut [u32]) -> Result<(), ClueError> {
        self.posted_into(bytes, out)?;
        let spec = self.params.spec();
        out.iter_mut().for_each(|x| *x = spec.stands_for(*x));
        Ok(())
    }

    /// The same as posted.
    pub(crate) fn posted_into(&self, bytes: &[u8], out: &mut [u32]) -> Result<(), ClueError> {
        assert_eq!(out.len(), self.residues(), "one word a residue");
        check_head(bytes, self.kind, (self.params.name(), self.tag), self.bytes)?;
        let residues = &bytes[5..Clue::bytes(self.params)];
        read_residues(self.params.spec().posted_modulus(), residues, out)
    }

    /// Bytes of a window of `groups` groups of eight residues.
    pub fn window_bytes(&self, groups: usize) -> usize {
        window_bytes(residue_bits(self.params.spec().posted_modulus()), groups)
    }

    /// Copies the bytes of residue `first`'s group of eight, and of those after it, of a clue that
    /// [`ClueParser::parse_into`] took.
    ///
    /// Panics: past the end of the clue.
    pub fn copy_window(&self, bytes: &[u8], first: usize, window: &mut [u8]) {
        let bits = residue_bits(self.params.spec().posted_modulus());
        copy_window(&bytes[5..], bits, first, window);
    }

    /// Unpacks a window, whole groups of eight.
    ///
    /// Panics: when the window is shorter than [`ClueParser::window_bytes`].
    pub fn unpack_window(&self, window: &[u8], out: &mut [u32]) {
        unpack_window_u32(
            window,
            residue_bits(self.params.spec().posted_modulus()),
            out,
        );
    }
}

/// A recipient's public address: what senders need for clues and for sealing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClueKey {
    /// Which clues the address takes.
    pub kind: ClueKind,
    /// Names the address; unrelated to the detection key's name.
    pub id: [u8; 16],
    /// The seed of alpha.
    pub seed: [u8; 32],
    /// `beta = alpha s + e`, `n` residues modulo q; of every clue secret, one after another.
    pub beta: Vec<u32>,
    /// Public sealing keys.
    pub seal: [u8; SEAL_PUBLIC_BYTES],
}

impl ClueKey {
    /// `alpha`, uniform, from the recipient's own seed.
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

    /// The file: kind of clue, seed, beta, sealing keys, framed.
    pub fn to_bytes(&self, params: &ClueParams) -> Result<Vec<u8>, ClueError> {
        let mut body = vec![self.kind.tag()];
        body.extend(self.seed);
        write_residues(params.spec().q, self.beta.iter(), &mut body);
        body.extend(self.seal);
        let header = FrameHeader::new(Kind::ClueKey, params.name(), self.id);
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads the file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `KeyKind`, `Coordinate`.
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
