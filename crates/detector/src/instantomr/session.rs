//! Sums over messages as they come, and digests of them at any time.

mod lot;
mod room;
mod share;

pub use share::Share;

use super::InstantDetector;
use super::line::{Judged, Line, Lot};
use crate::progress::check_stopped;
use crate::{DetectorError, MessageSource, Progress, Quiet, Stages};
use omr_protocol::Mismatch;
use omr_protocol::frame::FrameError;
use omr_protocol::instantomr::{
    Code, INSTANT_BODY_BITS, INSTANT_MASK_BITS, InstantDigest, InstantPlan, SUMS_MODULUS, Seen,
    SessionError, SessionFile,
};
use omr_protocol::{DigestHeader, PackedCiphertext, SEED_BYTES};
use omr_ring::Rescale;
use omr_rlwe::SharedInput;
use omr_tfhe::{PlainSums, RingCipher};
use rayon::prelude::*;
use room::Room;
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
    /// The running hash of the log at the first message that it covers, if it is known.
    start_hash: Option<[u8; 32]>,
    /// The running hash of the log at the next message, if it is known.
    log_hash: Option<[u8; 32]>,
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
            start_hash: None,
            log_hash: None,
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
            start_hash: file.start_hash,
            log_hash: file.log_hash,
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
            start_hash: self.start_hash,
            log_hash: self.log_hash,
            sums: self.sums.clone(),
            room: self.room.messages(),
        }
    }

    /// What it covers so far.
    pub fn header(&self) -> &DigestHeader<InstantPlan> {
        &self.header
    }

    /// The part of the log that the session covers, with the hashes that [`Session::note_log_hash`] was given.
    pub fn seen(&self) -> Seen {
        let range = self.header.plan.range();
        Seen::new(&range, self.start_hash, self.log_hash)
    }

    /// Notes the running hash of the log at the next message, of which the board's history can be recognised later. Taking
    /// messages makes the hash unknown; the caller notes the one at [`Session::next`] afterwards. A hash that is known
    /// stays where `hash` is None.
    pub fn note_log_hash(&mut self, hash: Option<[u8; 32]>) {
        self.log_hash = hash.or(self.log_hash);
        if self.header.plan.range().is_empty() {
            self.start_hash = self.log_hash;
        }
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

    /// Messages that it is best given at once when there are many: several lots where layers are evaluated elsewhere, as the
    /// first ones fill the line and the last ones empty it.
    pub fn turn(&self) -> u64 {
        let evaluation = &self.detector.evaluation;
        let lots = if evaluation.is_away() { 4 } else { 1 };
        lots * evaluation.together()
    }

    /// Digests cut off so far.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Goes on here, exactly, where layers were evaluated elsewhere until that failed: it adds up to the same bytes.
    fn stay_here(&mut self) {
        self.detector = Arc::new(self.detector.here());
    }

    /// Takes the messages up to `end` from a source, some at a time; after each lot `saved` is called. While some are
    /// looked at elsewhere, those before are added up and those after are read.
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
        let detector = self.detector.clone();
        let (mut line, mut behind, mut failed) = (Line::default(), self.next(), None);
        while behind < end || !line.is_empty() {
            let range = behind..end.min(behind + detector.evaluation.together());
            behind = range.end;
            let lot = (!range.is_empty()).then(|| Lot::read(self, source, range));
            let lot = lot.transpose().unwrap_or_else(|error| {
                // What was read before is still taken.
                (behind, failed) = (end, Some(error));
                None
            });
            if let Some(judged) = line.take(&detector, lot, progress)? {
                progress.advance(self.add(judged));
                check_stopped(progress)?;
                saved(self)?;
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// The same; where layers are evaluated elsewhere and that fails, `told` hears why, and what is left is taken here,
    /// exactly: it adds up to the same bytes. Not if somebody `insists` on elsewhere.
    ///
    /// Errors: as above.
    pub fn advance_or_here(
        &mut self,
        source: &mut dyn MessageSource,
        end: u64,
        progress: &dyn Progress,
        insists: bool,
        told: impl FnOnce(&DetectorError),
    ) -> Result<(), DetectorError> {
        let saved = |_: &Self| Ok(());
        match self.advance(source, end, progress, saved) {
            Err(error @ DetectorError::Engine { .. }) if !insists => told(&error),
            done => return done,
        }
        self.stay_here();
        self.advance(source, end, progress, saved)
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
        let first = self.next();
        let lot = Lot::new(self, first, (clues, clue_bytes), payloads.into(), None)?;
        let judged = Line::alone(&self.detector, lot, &Quiet)?;
        self.add(judged);
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

    /// Adds up messages that were looked at; how many.
    fn add(&mut self, judged: Judged<'_>) -> u64 {
        let count = judged.found.verdicts.len() as u64;
        self.header.plan = self.header.plan.until(judged.first + count);
        self.log_hash = None;
        self.unusable_clues += judged.found.unusable;
        self.open_groups();
        let mut stages = std::mem::take(&mut self.stages);
        stages.add(&judged.stages);
        stages.time("sums", || self.add_weighted(judged));
        self.stages = stages;
        count
    }

    fn add_weighted(&mut self, judged: Judged<'_>) {
        let (plan, first) = (&self.header.plan, judged.first);
        let mut verdicts = judged.found.verdicts;
        let weights = |i: usize| {
            let bytes = plan.payload_bytes().unwrap_or(0);
            let payload = &judged.payloads[i * bytes..(i + 1) * bytes];
            let index = first + i as u64;
            let (group, number) = plan.place(index);
            let fingerprint = judged.found.fingerprints.get(i).copied().unwrap_or(0);
            self.codes[group].weights(plan, index, number, payload, fingerprint)
        };
        let together = (WEIGHTS / plan.sums()).max(1);
        let (ring, p) = (&self.detector.params.ring, SUMS_MODULUS as u8);
        let mut at = 0;
        while at < verdicts.len() {
            let (group, number) = plan.place(first + at as u64);
            let left = self.detector.params.spec().group - number;
            let end = verdicts.len().min(at + together.min(left as usize));
            let weights: Vec<Vec<u8>> = (at..end).into_par_iter().map(weights).collect();
            self.sums[group].add(ring, &mut verdicts[at..end], &weights, p);
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
        let rescale = Rescale::new(params.ring.q(), 1 << params.shared().mask_bits());
        let scaled = |&x: &u64| rescale.round(x);
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
            let rescale = Rescale::new(ring.q(), 1 << bits);
            row[..len].iter().map(|&x| rescale.round(x)).collect()
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
        header.plan = InstantPlan::new(&self.detector.params, request)
            .map_err(omr_protocol::DigestError::from)?;
        header.seed = seed;
        let next = Self::begin(self.detector.clone(), header, self.room.messages());
        *self = Self {
            cuts: self.cuts + 1,
            last_cut: Some(bytes.clone()),
            start_hash: self.log_hash,
            log_hash: self.log_hash,
            stages: std::mem::take(&mut self.stages),
            unusable_clues: self.unusable_clues,
            ..next
        };
        Ok(bytes)
    }
}
