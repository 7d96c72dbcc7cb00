//! The detector's key of retrieval in two rounds, and its file.
//!
//! The file has the frame of all files, the seed of the recipient's own masks, the seed of the masks that several keys
//! share, and the parts of [`RoundsPart::all`] in this order, each with its bodies as in the key of SophOMR
//! ([`crate::sophomr::DetectionKey`]). The length shows whether the part for packing has rows for bound clues.

use crate::clue::OFFSET_LEN;
use crate::frame::{FrameHeader, FrameReader, FrameWriter, Kind};
use crate::key_file::{WriteBody, read_poly, row_bytes, write_poly};
use crate::rounds::RoundsParams;
use crate::{ClueKind, DetectionKeyError};
use omr_errors::Mismatch;
use omr_opening::PackingKey;
use omr_ring::{Basis, Eval, Poly, Ring};
use omr_rlwe::{MaskSeed, SharedKey, SwitchingKey};
use omr_rounds::fetch::FetchKey;
use omr_rounds::scan::{ScanKey, switch_key_of};
use std::io::{Read, Write};

/// The parts of a key in the order of the file. A part's number is the index of its first mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundsPart {
    /// The encrypted clue secret, at one small prime. For an address with bound clues it includes the encrypted `w`.
    Packing,
    /// The key that switches one rank of packed clues to the ring of scans, with shared masks.
    Switch(usize),
    /// Relinearisation in the ring of queries.
    Product,
    /// `X -> X^(2^l + 1)` in the ring of queries, which expands queries and packs sums.
    Merge(u32),
    /// The switching key to the ring of answers, with shared masks.
    Final,
}

/// The length in bytes of the two seeds at the beginning of the body.
const SEEDS_BYTES: u64 = 64;

impl RoundsPart {
    /// Returns the parts of a key, in the order of the file.
    pub fn all(params: &RoundsParams) -> Vec<Self> {
        let ranks = 0..params.scan.opening().spec().packing_rank;
        let mut parts = vec![Self::Packing];
        parts.extend(ranks.map(Self::Switch));
        parts.push(Self::Product);
        parts.extend(params.fetch.levels().map(Self::Merge));
        parts.push(Self::Final);
        parts
    }

    /// Returns the index of the part's first mask.
    pub fn index(self) -> u64 {
        match self {
            Self::Product => 2,
            Self::Final => 7,
            Self::Packing => 10,
            Self::Merge(level) => 16 + u64::from(level),
            Self::Switch(rank) => 64 + rank as u64,
        }
    }

    /// Returns whether the part belongs to the first round, whose masks several recipients may share.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Packing | Self::Switch(_))
    }

    /// Returns the part's ring, the primes of its bodies and their number.
    fn bodies(self, params: &RoundsParams, clues: ClueKind) -> (&Ring, Basis, usize) {
        let (scan, fetch) = (&params.scan, &params.fetch);
        match self {
            Self::Packing => {
                let extra = match clues {
                    ClueKind::Plain => 0,
                    ClueKind::Bound => OFFSET_LEN,
                };
                let ring = &scan.opening().packing;
                (
                    ring,
                    ring.everything(),
                    scan.opening().packing_bodies(extra),
                )
            }
            Self::Switch(_) => {
                let shape = scan.switch_shape();
                let count = shape.rows() * shape.bodies();
                (scan.ring(), scan.ring().everything(), count)
            }
            Self::Product | Self::Merge(_) => {
                let shape = &fetch.shape;
                (&fetch.ring, shape.extended(), shape.digits().len())
            }
            Self::Final => {
                let (ring, shape) = (&fetch.final_ring, fetch.final_shape());
                (ring, ring.everything(), shape.rows() * shape.bodies())
            }
        }
    }

    fn bytes(self, params: &RoundsParams, clues: ClueKind) -> u64 {
        let (ring, basis, count) = self.bodies(params, clues);
        let row = |&id: &usize| row_bytes(ring, id) as u64;
        basis.ids().iter().map(row).sum::<u64>() * count as u64
    }
}

/// A detector's key of retrieval in two rounds. It contains no secret in the clear.
pub struct RoundsKey {
    /// Name of the key, unrelated to the address's name.
    pub id: [u8; 16],
    /// The seed of the masks of the first round. A detector scans for recipients with one seed together.
    pub masks: [u8; 32],
    /// The kind of clues that the key is for.
    pub clues: ClueKind,
    /// The first round.
    pub scan: ScanKey,
    /// The second round.
    pub fetch: FetchKey,
}

impl RoundsKey {
    fn header(params: &RoundsParams, id: [u8; 16]) -> FrameHeader {
        FrameHeader::new(Kind::RoundsKey, params.name(), id)
    }

    /// Returns the length in bytes of the body of the file of a key for clues of a kind.
    fn body_bytes(params: &RoundsParams, clues: ClueKind) -> u64 {
        let parts = RoundsPart::all(params).into_iter();
        SEEDS_BYTES + parts.map(|part| part.bytes(params, clues)).sum::<u64>()
    }

    /// Returns the length in bytes of the file of a key for clues of a kind.
    pub fn file_bytes_of(params: &RoundsParams, clues: ClueKind) -> u64 {
        Self::header(params, [0; 16]).file_len(Self::body_bytes(params, clues))
    }

    /// Writes the file of a key whose bodies are made while they are written: `each` passes the bodies of a part to the
    /// given function. The first seed is that of the recipient's own masks, the second that of shared ones.
    ///
    /// Errors: those of the writer; `Frame` if `each` passes too few or too many.
    pub fn write_bodies(
        params: &RoundsParams,
        id: [u8; 16],
        seeds: [[u8; 32]; 2],
        clues: ClueKind,
        out: impl Write,
        mut each: impl FnMut(RoundsPart, &mut WriteBody) -> Result<(), DetectionKeyError>,
    ) -> Result<(), DetectionKeyError> {
        let bytes = Self::body_bytes(params, clues);
        let mut frame = FrameWriter::new(out, &Self::header(params, id), bytes)?;
        for seed in seeds {
            frame.write_all(&seed)?;
        }
        for part in RoundsPart::all(params) {
            let (ring, ..) = part.bodies(params, clues);
            each(part, &mut |body| Ok(write_poly(ring, body, &mut frame)?))?;
        }
        frame.finish()?;
        Ok(())
    }

    /// Reads a key's file and derives the masks.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Residue`.
    pub fn read(params: &RoundsParams, from: impl Read) -> Result<Self, DetectionKeyError> {
        let mut file = Bodies::open(params, from)?;
        let (seeds, clues) = (file.seeds, file.clues);
        let key = Self::from_bodies(params, [0; 16], seeds, clues, |part| file.next(part))?;
        let id = file.frame.finish()?.key_id;
        Ok(Self { id, ..key })
    }

    /// Reads a key's file to its end and checks it, without keeping it.
    ///
    /// Errors: those of [`RoundsKey::read`].
    pub fn check(params: &RoundsParams, from: impl Read) -> Result<(), DetectionKeyError> {
        let mut file = Bodies::open(params, from)?;
        for part in RoundsPart::all(params) {
            file.next(part)?;
        }
        file.frame.finish()?;
        Ok(())
    }

    /// Reads the seed of shared masks from the head of a key's file.
    ///
    /// Errors: `Frame`, `Length`.
    pub fn read_masks(
        params: &RoundsParams,
        from: impl Read,
    ) -> Result<[u8; 32], DetectionKeyError> {
        let [_, shared] = Bodies::open(params, from)?.seeds;
        Ok(shared)
    }

    /// Makes a key from its bodies, which `next` returns part by part in the order of the file, and from two seeds: of the
    /// recipient's own masks, and of shared ones.
    ///
    /// Errors: those of `next`.
    pub fn from_bodies<E>(
        params: &RoundsParams,
        id: [u8; 16],
        seeds: [[u8; 32]; 2],
        clues: ClueKind,
        mut next: impl FnMut(RoundsPart) -> Result<Vec<Poly<Eval>>, E>,
    ) -> Result<Self, E> {
        let (scan, fetch) = (&params.scan, &params.fetch);
        let masks = |part: RoundsPart| part.mask_seed(&seeds);
        let packing = next(RoundsPart::Packing)?;
        let seed = masks(RoundsPart::Packing);
        let packing_masks = PackingKey::masks(scan.opening(), packing.len(), seed);
        let mut switch = Vec::new();
        for rank in 0..scan.opening().spec().packing_rank {
            let part = RoundsPart::Switch(rank);
            switch.push(switch_key_of(scan, next(part)?, masks(part)));
        }
        let switching = |part: RoundsPart, bodies| {
            let shape = &fetch.shape;
            let own = SwitchingKey::masks(&fetch.ring, shape, masks(part));
            SwitchingKey::from_bodies(shape, bodies, own)
        };
        let product = switching(RoundsPart::Product, next(RoundsPart::Product)?);
        let mut merge = Vec::new();
        for level in fetch.levels() {
            let part = RoundsPart::Merge(level);
            merge.push(switching(part, next(part)?));
        }
        let last = SharedKey::from_bodies(
            &fetch.final_ring,
            fetch.final_shape(),
            next(RoundsPart::Final)?,
            masks(RoundsPart::Final),
        );
        Ok(Self {
            id,
            masks: seeds[1],
            clues,
            scan: ScanKey {
                packing: PackingKey::from_bodies(scan.opening(), packing, packing_masks),
                switch,
            },
            fetch: FetchKey::new(fetch, merge, product, last),
        })
    }
}

impl RoundsPart {
    /// Returns the seed and the index of the part's masks, from the seed of the recipient's own masks and that of shared
    /// ones.
    pub fn mask_seed(self, seeds: &[[u8; 32]; 2]) -> MaskSeed<'_> {
        let [own, shared] = seeds;
        let seed = if self.is_shared() { shared } else { own };
        MaskSeed::new(seed, self.index())
    }
}

/// The file of a key whose header and length have been checked.
struct Bodies<'a, R: Read> {
    params: &'a RoundsParams,
    clues: ClueKind,
    seeds: [[u8; 32]; 2],
    frame: FrameReader<R>,
}

impl<'a, R: Read> Bodies<'a, R> {
    fn open(params: &'a RoundsParams, from: R) -> Result<Self, DetectionKeyError> {
        let mut frame = FrameReader::read_header(from, Kind::RoundsKey, 1 << 33)?;
        frame.header().expect_params(params.name())?;
        let found = frame.body_len();
        let of_length = |kind: &ClueKind| RoundsKey::body_bytes(params, *kind) == found;
        let clues = ClueKind::ALL.into_iter().find(of_length).ok_or_else(|| {
            let expected = RoundsKey::body_bytes(params, ClueKind::Plain);
            DetectionKeyError::Length(Mismatch::new(expected, found))
        })?;
        let mut seeds = [[0; 32]; 2];
        for seed in &mut seeds {
            frame.read_exact(seed)?;
        }
        Ok(Self {
            params,
            clues,
            seeds,
            frame,
        })
    }

    /// Reads the bodies of the next part of the file, which must be `part`.
    fn next(&mut self, part: RoundsPart) -> Result<Vec<Poly<Eval>>, DetectionKeyError> {
        let (ring, basis, count) = part.bodies(self.params, self.clues);
        (0..count)
            .map(|_| read_poly(ring, &basis, &mut self.frame))
            .collect()
    }
}
