//! The detector's key for InstantOMR and its file format.
//!
//! # File
//!
//! `docs/wire.md` defines the notation and the sections that are named here. The body is the 32-byte mask seed, then
//! bodies `c0` without gaps, in the evaluation domain, `pack(50; row)` (key switch: `pack(24; row)`). `z` is a
//! uniform ternary secret of dimension `N`, deleted afterwards.
//!
//! | part | bodies | mask index | encrypts |
//! |---|---|---|---|
//! | Bootstrap | coordinates `i` in blocks (1,020; tiny 60) × 2 digits `d` × 2 parts `h`, row `4 i + 2 d + h` | (0, row) | `s_i u_d` for `h` = 0, `s_i u_d z` for `h` = 1, under `z` |
//! | Switch | 2 halves (tiny: 8 parts) of `z` × 5 digits (`instantomr-v2`: 4) | (64 + half, digit) | `u_d z_half` under `s`, modulo `R` |
//! | Trace | 11 = `log2 N` steps `t` × 6 digits | (128 + t, digit) | `u_d z(X^g)`, `g = N / 2^t + 1`, under `z` |
//! | Last | 10 parts × 2 digits, rows of 10 bodies | (192, row) | `u_d z` in body `part`, 0 in the others, each under its own secret |
//!
//! `u_d = round(q / 2^(b (d + 1)))` with `b` = 16 (Bootstrap; `instantomr-v2` 17), 3 (Switch; `instantomr-v2` 5), 7
//! (Trace), 16 (Last). Errors are narrow Gaussian of parameter 0.62, in the Switch 112.1 (`instantomr-v2` 9.9), and
//! in Last centred binomial (21 coin pairs).
//!
//! Keys for bound clues end with `pack(w_c; o_0 .. o_(8 T - 1))`, `T` = 11 (`instantomr-v2` 4), LWE samples of the
//! offset under the clue secret: `o_(T i + t) = B^t w_i - <m, s> + e` modulo q, where `m` are the first `n_c` of
//! `Uniform(q; "omr instant offset v1", mask seed, (T i + t))`, `e` has the parameter of the errors of the secret's
//! beta, and `B` = 4 (`instantomr-v2` 32).
//!
//! The secrets of Last, `z_0 .. z_9`, are defined in section 16.

use super::OffsetKey;
use crate::frame::{
    FrameHeader, FrameReader, FrameWriter, Kind, pack_bits, packed_len, unpack_bits_u32,
};
use crate::instantomr::InstantParams;
use crate::key_file::{WriteBody, read_poly, write_poly};
use crate::{ClueKind, DetectionKeyError};
use omr_errors::Mismatch;
use omr_ring::{Eval, Gadget, Poly};
use omr_rlwe::{MaskSeed, SharedKey};
use omr_tfhe::{BootstrapKey, LweSwitchKey, RotationRing, TraceKey};
use std::io::{Read, Write};

/// An error of a detection key.
pub type InstantKeyError = DetectionKeyError;

/// A part of a key. The variants are in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Encryptions of the clue secret's bits under the ring's secret.
    Bootstrap,
    /// Switching keys from the ring's secret to the clue secret.
    Switch,
    /// Keys of the trace.
    Trace,
    /// Switching keys to the secrets of digests.
    Last,
}

impl Part {
    const ALL: [Self; 4] = [Self::Bootstrap, Self::Switch, Self::Trace, Self::Last];

    /// Returns the index of the part's first mask.
    pub fn index(self) -> u64 {
        match self {
            Self::Bootstrap => 0,
            Self::Switch => 64,
            Self::Trace => 128,
            Self::Last => 192,
        }
    }

    /// Returns the part's ring and its number of bodies.
    fn bodies(self, params: &InstantParams) -> (&RotationRing, usize) {
        let (ring, spec) = (&params.ring, params.spec());
        let digits = |gadget: Gadget| gadget.digits as usize;
        match self {
            Self::Bootstrap => (ring, params.bootstrap().rows()),
            Self::Switch => {
                let parts = ring.n() / params.small.n();
                (&params.small, parts * digits(spec.switch))
            }
            Self::Trace => (ring, ring.n().ilog2() as usize * digits(spec.trace)),
            Self::Last => {
                let shape = params.shared();
                (ring, shape.rows() * shape.bodies())
            }
        }
    }
}

/// A detector's key for InstantOMR. It contains no secret.
pub struct InstantKey {
    /// Random name of the key, unrelated to the names of the address and of SophOMR's key.
    pub id: [u8; 16],
    /// The seed of all masks.
    pub seed: [u8; 32],
    /// The bootstrapping key for blind rotation.
    pub bootstrap: BootstrapKey,
    /// The switching key from the first layer to the second.
    pub switch: LweSwitchKey,
    /// The key of the trace.
    pub trace: TraceKey,
    /// The switching key to the secrets of digests, which share a mask.
    pub last: SharedKey,
    /// The encrypted `w` of an address with bound clues. A detector with it accepts bound clues only.
    pub offset: Option<OffsetKey>,
}

impl InstantKey {
    fn body_bytes(params: &InstantParams, clues: ClueKind) -> u64 {
        let of = |part: Part| {
            let (ring, count) = part.bodies(params);
            let body = packed_len(ring.n(), ring.modulus(0).bits()).expect("rows fit memory");
            (count * body) as u64
        };
        let offset = match clues {
            ClueKind::Plain => 0,
            ClueKind::Bound => Self::offset_bytes(params),
        };
        32 + Part::ALL.into_iter().map(of).sum::<u64>() + offset
    }

    fn header(params: &InstantParams, id: [u8; 16]) -> FrameHeader {
        FrameHeader::new(Kind::InstantKey, params.name(), id)
    }

    /// Returns the kind of clues that a detector with this key accepts.
    pub fn clues(&self) -> ClueKind {
        match self.offset {
            Some(_) => ClueKind::Bound,
            None => ClueKind::Plain,
        }
    }

    fn offset_bytes(params: &InstantParams) -> u64 {
        let bits = params.clue.q().bits();
        packed_len(OffsetKey::samples(params), bits).expect("offsets are small") as u64
    }

    /// Returns the length in bytes of the whole file of a key for clues of a kind.
    pub fn file_bytes_of(params: &InstantParams, clues: ClueKind) -> u64 {
        Self::header(params, [0; 16]).file_len(Self::body_bytes(params, clues))
    }

    /// Writes the file: the seed, then the bodies with their exact number of bits.
    ///
    /// Errors: those of the writer.
    pub fn write(&self, params: &InstantParams, out: impl Write) -> Result<(), InstantKeyError> {
        let offset = self.offset.as_ref().map(OffsetKey::bodies);
        let each = |part, write: &mut WriteBody| self.bodies(params, part, write);
        Self::write_bodies(params, self.id, &self.seed, offset, out, each)
    }

    fn bodies(
        &self,
        params: &InstantParams,
        part: Part,
        write: &mut WriteBody,
    ) -> Result<(), InstantKeyError> {
        match part {
            Part::Bootstrap => {
                let (n, basis) = (params.ring.n(), params.ring.everything());
                (0..params.bootstrap().rows()).try_for_each(|row| {
                    write(&Poly::from_rows(n, &basis, self.bootstrap.body(row)))
                })
            }
            Part::Switch => self.switch.bodies().try_for_each(write),
            Part::Trace => self.trace.bodies().try_for_each(write),
            Part::Last => self.last.bodies().try_for_each(write),
        }
    }

    /// Writes the file of a key whose bodies are made while they are written: `each` passes the bodies of a part to the
    /// given function. `offset` has the bodies of the [`OffsetKey`] if the key is for bound clues.
    ///
    /// Errors: those of the writer; `BodyLength` if `each` passes too few or too many.
    pub fn write_bodies(
        params: &InstantParams,
        id: [u8; 16],
        seed: &[u8; 32],
        offset: Option<&[u32]>,
        out: impl Write,
        mut each: impl FnMut(Part, &mut WriteBody) -> Result<(), InstantKeyError>,
    ) -> Result<(), InstantKeyError> {
        let clues = match offset {
            Some(_) => ClueKind::Bound,
            None => ClueKind::Plain,
        };
        let (header, bytes) = (Self::header(params, id), Self::body_bytes(params, clues));
        let mut frame = FrameWriter::new(out, &header, bytes)?;
        frame.write_all(seed)?;
        for part in Part::ALL {
            let (ring, _) = part.bodies(params);
            each(part, &mut |body| Ok(write_poly(ring, body, &mut frame)?))?;
        }
        if let Some(residues) = offset {
            let words: Vec<u64> = residues.iter().map(|&x| x.into()).collect();
            let mut bytes = Vec::new();
            pack_bits(&words, params.clue.q().bits(), &mut bytes);
            frame.write_all(&bytes)?;
        }
        frame.finish()?;
        Ok(())
    }

    /// Reads a key's file and derives the masks.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Residue`.
    pub fn read(params: &InstantParams, from: impl Read) -> Result<Self, InstantKeyError> {
        let expected = Self::body_bytes(params, ClueKind::Plain);
        let mut frame = FrameReader::read_header(from, Kind::InstantKey, 1 << 33)?;
        frame.header().expect_params(params.name())?;
        let found = frame.body_len();
        let bound = found == Self::body_bytes(params, ClueKind::Bound);
        if found != expected && !bound {
            return Err(InstantKeyError::Length(Mismatch::new(expected, found)));
        }
        let mut seed = [0; 32];
        frame.read_exact(&mut seed)?;
        let next = |part: Part| -> Result<Vec<Poly<Eval>>, InstantKeyError> {
            let (ring, count) = part.bodies(params);
            let basis = ring.everything();
            (0..count)
                .map(|_| read_poly(ring, &basis, &mut frame))
                .collect()
        };
        let key = Self::from_bodies(params, [0; 16], &seed, next)?;
        let offset = if bound {
            Some(read_offset(params, &seed, &mut frame)?)
        } else {
            None
        };
        let id = frame.finish()?.key_id;
        Ok(Self { id, offset, ..key })
    }

    /// Makes a key for plain clues from the seed of its masks and from its bodies, which `next` returns part by part in
    /// the order of the file.
    ///
    /// Errors: those of `next`.
    pub fn from_bodies<E>(
        params: &InstantParams,
        id: [u8; 16],
        seed: &[u8; 32],
        mut next: impl FnMut(Part) -> Result<Vec<Poly<Eval>>, E>,
    ) -> Result<Self, E> {
        let at = |part: Part| MaskSeed::new(seed, part.index());
        let bodies = next(Part::Bootstrap)?;
        let rows = bodies.iter().map(|body| body.row(0));
        let bootstrap =
            BootstrapKey::from_bodies(&params.ring, params.bootstrap(), rows, at(Part::Bootstrap));
        let spec = params.spec();
        let bodies = grouped(next(Part::Switch)?, spec.switch);
        let switch =
            LweSwitchKey::from_bodies(&params.small, spec.switch, bodies, at(Part::Switch));
        let bodies = grouped(next(Part::Trace)?, spec.trace);
        let trace = TraceKey::from_bodies(&params.ring, spec.trace, bodies, at(Part::Trace));
        let bodies = next(Part::Last)?;
        let last = SharedKey::from_bodies(&params.ring, params.shared(), bodies, at(Part::Last));
        Ok(Self {
            id,
            seed: *seed,
            bootstrap,
            switch,
            trace,
            last,
            offset: None,
        })
    }
}

fn read_offset(
    params: &InstantParams,
    seed: &[u8; 32],
    from: &mut impl Read,
) -> Result<OffsetKey, InstantKeyError> {
    let samples = OffsetKey::samples(params);
    let (q, mut bodies) = (params.clue.q(), vec![0; samples]);
    let mut bytes = vec![0; InstantKey::offset_bytes(params) as usize];
    from.read_exact(&mut bytes)?;
    unpack_bits_u32(&bytes, q.bits(), &mut bodies)?;
    let modulus = q.value();
    match bodies.iter().find(|&&x| u64::from(x) >= modulus) {
        Some(&found) => Err(InstantKeyError::Residue(Mismatch::new(
            modulus,
            found.into(),
        ))),
        None => Ok(OffsetKey::from_bodies(params, bodies, seed)),
    }
}

/// Splits the bodies of a list of keys by key.
fn grouped(bodies: Vec<Poly<Eval>>, gadget: Gadget) -> Vec<Vec<Poly<Eval>>> {
    let digits = gadget.digits as usize;
    let keys = bodies.len() / digits;
    let mut rest = bodies.into_iter();
    (0..keys)
        .map(|_| rest.by_ref().take(digits).collect())
        .collect()
}
