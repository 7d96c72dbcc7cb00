//! Sums over messages as they come, and digests of them at any time.

mod room;
mod share;

pub use share::Share;

use super::{InstantDetector, Verdicts};
use crate::error::check_len;
use crate::progress::check_stopped;
use crate::source::kept_hashes;
use crate::{BoundTo, DetectorError, MessageSource, Progress, Stages};
use omr_compress::finish::scale;
use omr_protocol::Mismatch;
use omr_protocol::clue::HashesOf;
use omr_protocol::frame::FrameError;
use omr_protocol::instantomr::{
    Code, INSTANT_BODY_BITS, INSTANT_MASK_BITS, InstantDigest, InstantPlan, SUMS_MODULUS,
    SessionError, SessionFile,
};
use omr_protocol::{ClueKind, DigestHeader, PackedCiphertext, SEED_BYTES};
use omr_rlwe::SharedInput;
use omr_tfhe::{PlainSums, RingCipher};
use rayon::prelude::*;
use room::Room;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the weights of messages that are added together: of all that are looked at together, unless a
/// bound is large.
const WEIGHTS: usize = 16 << 20;

/// Why no digest was cut off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// Neither the next digest nor the last one again.
    #[error("expected digest number {}, or the one before again, found {}", .0.expected, .0.found)]
    Number(Mismatch<u64>),
    /// The digest's file.
    #[error(transparent)]
    Digest(#[from] omr_protocol::DigestError),
}

/// What a detector has added up for one recipient: takes messages as they come and gives a digest of
/// them at any time. What it does depends on how many messages came, never on what they are.
pub struct Session {
    detector: Arc<InstantDetector>,
    header: DigestHeader<InstantPlan>,
    codes: Vec<Code>,
    sums: Vec<PlainSums>,
    cuts: u64,
    last_cut: Option<Vec<u8>>,
    room: Room,
    /// Where the time went.
    pub stages: Stages,
    /// Clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

impl Session {
    /// A session that begins where the header's range starts and has seen nothing. Its seed must be
    /// random; sessions with one seed can be merged.
    pub fn new(detector: Arc<InstantDetector>, header: DigestHeader<InstantPlan>) -> Self {
        Self::begin(detector, header, None)
    }

    /// The same with room for so many messages until it is cut: the fewer, the more of them have their
    /// second layer in double precision ([`omr_protocol::instantomr::InstantParams::in_double_precision`]), which is faster.
    pub fn with_room(
        detector: Arc<InstantDetector>,
        header: DigestHeader<InstantPlan>,
        messages: u64,
    ) -> Self {
        Self::begin(detector, header, Some(messages))
    }

    fn begin(
        detector: Arc<InstantDetector>,
        mut header: DigestHeader<InstantPlan>,
        room: Option<u64>,
    ) -> Self {
        let plan = header.plan.until(header.plan.range().start);
        header.plan = plan.for_clues(detector.clues());
        header.key_id = detector.key_id();
        let mut session = Self {
            room: Room::new(&detector.params, &header.plan, room),
            detector,
            header,
            codes: Vec::new(),
            sums: Vec::new(),
            cuts: 0,
            last_cut: None,
            stages: Stages::default(),
            unusable_clues: 0,
        };
        session.open_groups();
        session
    }

    /// Goes on where a file stopped.
    ///
    /// Errors: `Frame` when it is another key's; `Clues` when it is of other clues than the key takes.
    pub fn resume(detector: Arc<InstantDetector>, file: SessionFile) -> Result<Self, SessionError> {
        let (expected, found) = (detector.key_id(), file.header.key_id);
        if expected != found {
            return Err(FrameError::KeyId(Mismatch::new(expected, found)).into());
        }
        if file.header.plan.for_clues(detector.clues()) != file.header.plan {
            let expected = detector.clues();
            return Err(SessionError::Clues(expected));
        }
        let mut session = Self {
            room: Room::new(&detector.params, &file.header.plan, file.room),
            detector,
            header: file.header,
            codes: Vec::new(),
            sums: file.sums,
            cuts: file.cuts,
            last_cut: file.last_cut,
            stages: Stages::default(),
            unusable_clues: 0,
        };
        session.open_groups();
        Ok(session)
    }

    /// What the session is made of, to be written out.
    pub fn to_file(&self) -> SessionFile {
        SessionFile {
            header: self.header.clone(),
            cuts: self.cuts,
            last_cut: self.last_cut.clone(),
            sums: self.sums.clone(),
            room: self.room.messages(),
        }
    }

    /// What it covers so far.
    pub fn header(&self) -> &DigestHeader<InstantPlan> {
        &self.header
    }

    /// The next message it waits for.
    pub fn next(&self) -> u64 {
        self.header.plan.range().end
    }

    /// The most messages that it takes until it is cut, if that is known.
    pub fn room(&self) -> Option<u64> {
        self.room.messages()
    }

    /// Behind the last message that it takes until it is cut; the largest number where nobody knows.
    pub fn end(&self) -> u64 {
        self.room.end()
    }

    /// Messages that it looks at together when there are many.
    pub fn together(&self) -> u64 {
        self.detector.evaluation.together()
    }

    /// Digests cut off so far.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Goes on here, exactly, where layers were evaluated elsewhere until that failed: it adds up to the same bytes.
    pub fn stay_here(&mut self) {
        self.detector = Arc::new(self.detector.here());
    }

    /// Takes the messages up to `end` from a source, some at a time; after each lot `saved` is called.
    ///
    /// Errors: the source's; `Stopped`; `Engine`; `Full` at the latest where its room ends; those of `saved`. What
    /// was taken before stays taken.
    pub fn advance<E: From<DetectorError>>(
        &mut self,
        source: &mut dyn MessageSource,
        end: u64,
        progress: &dyn Progress,
        mut saved: impl FnMut(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        progress.stage("messages", end.saturating_sub(self.next()));
        while self.next() < end {
            let lot = self.next()..end.min(self.next() + self.together());
            let count = lot.end - lot.start;
            self.take(source, lot)?;
            progress.advance(count);
            check_stopped(progress)?;
            saved(self)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        source: &mut dyn MessageSource,
        lot: Range<u64>,
    ) -> Result<(), DetectorError> {
        let stages = &mut self.stages;
        let clue_bytes = source.clue_bytes().max(1);
        self.detector.check_board(clue_bytes)?;
        let clues = stages.time("read", || source.clues(lot.clone()));
        let clues = clues.map_err(DetectorError::Source)?;
        let of = HashesOf::new(&self.detector.params.clue, &self.header.board_id);
        let kept = match self.detector.clues() {
            ClueKind::Plain => None,
            ClueKind::Bound => stages.time("read", || kept_hashes(source, of, lot.clone()))?,
        };
        let wanted = self.header.plan.payload_bytes().is_some();
        let hashed = self.detector.clues() == ClueKind::Bound && kept.is_none();
        let payloads = match wanted || hashed {
            false => Vec::new(),
            true => stages
                .time("read", || source.payloads(lot.clone()))
                .map_err(DetectorError::Source)?,
        };
        let count = (lot.end - lot.start) as usize;
        check_len("clues", count * clue_bytes, clues.len())?;
        self.push_with(&clues, clue_bytes, &payloads, kept.as_deref())
    }

    /// Takes the next messages: clues of `clue_bytes` and payloads, one after another. Payloads of a
    /// session of indices are looked at where clues are bound to them.
    ///
    /// Errors: `SourceLength`, `Full`, `Engine`; then nothing was taken.
    pub fn push(
        &mut self,
        clues: &[u8],
        clue_bytes: usize,
        payloads: &[u8],
    ) -> Result<(), DetectorError> {
        self.push_with(clues, clue_bytes, payloads, None)
    }

    /// The same with hashes that were kept: then payloads of a session of indices are not looked at.
    fn push_with(
        &mut self,
        clues: &[u8],
        clue_bytes: usize,
        payloads: &[u8],
        kept: Option<&[[u8; 32]]>,
    ) -> Result<(), DetectorError> {
        let count = clues.len() / clue_bytes.max(1);
        check_len("clues", count * clue_bytes, clues.len())?;
        let first = self.next();
        let doubles = self.room.doubles(first, count)?;
        let detector = self.detector.clone();
        let at = (&self.header.board_id, &self.header.seed);
        let bytes = self.header.plan.payload_bytes();
        let hashed = detector.clues() == ClueKind::Bound && kept.is_none();
        let to = match bytes.is_some() || hashed {
            true => BoundTo::new(at, payloads, count, bytes)?,
            false => BoundTo::new(at, &[], 0, None)?,
        };
        let to = kept.map_or(to, |hashes| BoundTo::kept(at, hashes));
        let found = detector.verdicts(clues, clue_bytes, &to, doubles, &mut self.stages)?;
        self.header.plan = self.header.plan.until(first + count as u64);
        self.unusable_clues += found.unusable;
        self.open_groups();
        let mut stages = std::mem::take(&mut self.stages);
        stages.time("sums", || self.add(first, &found, payloads));
        self.stages = stages;
        Ok(())
    }

    /// Sums and codes for all groups there are messages of.
    fn open_groups(&mut self) {
        let plan = &self.header.plan;
        let ring = &self.detector.params.ring;
        while self.codes.len() < plan.groups() {
            let group = self.codes.len();
            self.codes.push(Code::new(plan, &self.header.seed, group));
        }
        while self.sums.len() < plan.groups() {
            let sums = PlainSums::new(ring, plan.parts_of_group());
            self.sums.push(sums);
        }
    }

    fn add(&mut self, first: u64, found: &Verdicts, payloads: &[u8]) {
        let plan = &self.header.plan;
        let verdicts = &found.verdicts;
        let weights = |i: usize| {
            let bytes = plan.payload_bytes().unwrap_or(0);
            let payload = &payloads[i * bytes..(i + 1) * bytes];
            let index = first + i as u64;
            let (group, number) = plan.place(index);
            let fingerprint = found.fingerprints.get(i).copied().unwrap_or(0);
            self.codes[group].weights(plan, (index, number), (payload, fingerprint))
        };
        let together = (WEIGHTS / plan.sums()).max(1);
        let (ring, p) = (&self.detector.params.ring, SUMS_MODULUS as u8);
        let mut at = 0;
        while at < verdicts.len() {
            let (group, number) = plan.place(first + at as u64);
            let left = self.detector.params.spec().group - number;
            let end = verdicts.len().min(at + together.min(left as usize));
            let weights: Vec<Vec<u8>> = (at..end).into_par_iter().map(weights).collect();
            let terms: Vec<(&RingCipher, &[u8])> = verdicts[at..end]
                .iter()
                .zip(weights.iter().map(Vec::as_slice))
                .collect();
            self.sums[group].add(ring, &terms, p);
            at = end;
        }
    }

    /// The digest of all messages taken so far, in milliseconds.
    pub fn digest(&self) -> InstantDigest {
        let params = &self.detector.params;
        let mut inputs: Vec<SharedInput> = self
            .sums
            .par_iter()
            .flat_map(|sums| sums.ciphers(&params.ring))
            .map(|ct| self.input(&ct))
            .collect();
        // A last group that is not full may have fewer counters than parts were kept for.
        inputs.truncate(self.header.plan.parts());
        let together = params.spec().bodies;
        let share = |(i, inputs): (usize, &[SharedInput])| self.packed(i * together, inputs);
        let shared = inputs.par_chunks(together).enumerate().map(share);
        InstantDigest {
            ciphertexts: shared.collect(),
            header: self.header.clone(),
        }
    }

    fn input(&self, ct: &RingCipher) -> SharedInput {
        let params = &self.detector.params;
        let bits = params.shared().mask_bits();
        let scaled = |&x: &u64| scale(x, params.ring.q(), 1 << bits);
        SharedInput {
            body: ct.body.to_vec(),
            mask: ct.mask.iter().map(scaled).collect(),
        }
    }

    /// Parts from `first` on under one mask, rounded.
    fn packed(&self, first: usize, inputs: &[SharedInput]) -> PackedCiphertext {
        let (ring, plan) = (&self.detector.params.ring, &self.header.plan);
        let shared = self.detector.key.last.switch(ring, inputs);
        let rounded = |row: &[u64], len: usize, bits: u32| -> Vec<u64> {
            let row = row[..len].iter();
            row.map(|&x| scale(x, ring.q(), 1 << bits)).collect()
        };
        let part = |(i, body): (usize, &omr_ring::Poly<_>)| {
            rounded(body.row(0), plan.part_len(first + i), INSTANT_BODY_BITS)
        };
        PackedCiphertext {
            mask: rounded(shared.mask.row(0), ring.n(), INSTANT_MASK_BITS),
            parts: shared.bodies.iter().enumerate().map(part).collect(),
        }
    }

    /// Cuts off digest `number` (counted from 0): the file of a digest of all messages so far, and the
    /// session goes on empty behind them with a new seed. The last one may be asked for again, so that
    /// a lost answer loses no message and doubles none.
    ///
    /// Errors: `Number`.
    pub fn cut(&mut self, number: u64, seed: [u8; SEED_BYTES]) -> Result<Vec<u8>, CutError> {
        if let Some(last) = self.last_cut.as_ref()
            && number.checked_add(1) == Some(self.cuts)
        {
            return Ok(last.clone());
        }
        if number != self.cuts {
            return Err(CutError::Number(Mismatch::new(self.cuts, number)));
        }
        let bytes = self.digest().to_bytes(&self.detector.params)?;
        let mut header = self.header.clone();
        let mut request = header.plan.request().clone();
        request.range.start = request.range.end;
        header.plan = InstantPlan::new(&self.detector.params, header.plan.encoding(), request)
            .map_err(omr_protocol::DigestError::from)?;
        header.seed = seed;
        let next = Self::begin(self.detector.clone(), header, self.room.messages());
        *self = Self {
            cuts: self.cuts + 1,
            last_cut: Some(bytes.clone()),
            stages: std::mem::take(&mut self.stages),
            unusable_clues: self.unusable_clues,
            ..next
        };
        Ok(bytes)
    }
}
