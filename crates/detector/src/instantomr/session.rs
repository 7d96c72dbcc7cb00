//! Sums over messages as they arrive, and digests of them at any time.

mod chunk;
mod room;
mod share;

pub use share::Share;

use super::InstantDetector;
use super::pipeline::{Chunk, Pipeline, Scanned};
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

/// Largest length in bytes of the weights of messages that are added together. All messages of a chunk are, unless a
/// bound is large.
const WEIGHTS: usize = 16 << 20;

/// An error of cutting off a digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// The number is neither that of the next digest nor that of the last one, which may be repeated.
    #[error("expected digest number {}, or the one before again, found {}", .0.expected, .0.found)]
    Number(Mismatch<u64>),
    /// Writing the digest's file failed.
    #[error(transparent)]
    Digest(#[from] omr_protocol::DigestError),
}

/// The sums that a detector has computed for one recipient. Messages are added as they arrive, and a digest of them can
/// be made at any time. Time depends on the number of messages, never on their content.
pub struct Session {
    detector: Arc<InstantDetector>,
    header: DigestHeader<InstantPlan>,
    codes: Vec<Code>,
    sums: Vec<PlainSums>,
    cuts: u64,
    last_cut: Option<Vec<u8>>,
    /// The running hash of the log at the first message that the session covers, if it is known.
    start_hash: Option<[u8; 32]>,
    /// The running hash of the log at the next message, if it is known.
    log_hash: Option<[u8; 32]>,
    room: Room,
    /// Seconds of each stage.
    pub stages: Stages,
    /// Number of clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

impl Session {
    /// Makes an empty session that begins at the start of the header's range. The header's seed must be random.
    /// Sessions with one seed can be merged.
    pub fn new(detector: Arc<InstantDetector>, header: DigestHeader<InstantPlan>) -> Self {
        Self::begin(detector, header, None)
    }

    /// Makes an empty session with room for a number of messages until it is cut. The fewer these are, the more of them
    /// have their second layer in double precision ([`omr_protocol::instantomr::InstantParams::in_double_precision`]),
    /// which is faster, except for a few messages for which its key would have to be made: these are exact.
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

    /// Continues a session from a file.
    ///
    /// Errors: `Frame` if the file belongs to another key; `Clues` if its clues are of another kind than the key
    /// accepts.
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

    /// Returns the content of a file, with which the session can be continued.
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

    /// Returns the header, with the plan of the messages covered so far.
    pub fn header(&self) -> &DigestHeader<InstantPlan> {
        &self.header
    }

    /// Returns the part of the log that the session covers, with the hashes that were passed to
    /// [`Session::note_log_hash`].
    pub fn seen(&self) -> Seen {
        let range = self.header.plan.range();
        Seen::new(&range, self.start_hash, self.log_hash)
    }

    /// Sets the running hash of the log at the next message, by which the board's history can be recognised later.
    /// Adding messages makes the hash unknown, so the caller sets the one at [`Session::next`] afterwards. If
    /// `hash` is `None`, a known hash remains.
    pub fn note_log_hash(&mut self, hash: Option<[u8; 32]>) {
        self.log_hash = hash.or(self.log_hash);
        if self.header.plan.range().is_empty() {
            self.start_hash = self.log_hash;
        }
    }

    /// Returns the index of the next message.
    pub fn next(&self) -> u64 {
        self.header.plan.range().end
    }

    /// Returns the number of messages that the session can cover until it is cut, if it is known.
    pub fn room(&self) -> Option<u64> {
        self.room.messages()
    }

    /// Returns the index after the last message that the session can cover until it is cut; the largest number if the
    /// room is unknown.
    pub fn end(&self) -> u64 {
        self.room.end()
    }

    /// Returns the best number of messages for one call, if there are many. It is several chunks if layers are
    /// evaluated on a device, because the first chunks fill the pipeline and the last ones empty it.
    pub fn turn(&self) -> u64 {
        let evaluation = &self.detector.evaluation;
        let chunks = if evaluation.is_away() { 4 } else { 1 };
        chunks * evaluation.together()
    }

    /// Returns the number of digests that were cut off.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Continues on the processor in exact arithmetic after a device has failed. The sums have the same bytes.
    fn stay_here(&mut self) {
        self.detector = Arc::new(self.detector.here());
    }

    /// Adds the messages of a source up to `end`, in chunks, and calls `saved` after each chunk. While a device scans
    /// one chunk, the sums of the chunk before are computed and the chunk after is read.
    ///
    /// Errors: those of the source; `Stopped`; `Engine`; `Full` at the latest where the session's room ends; those of
    /// `saved`. Chunks that were added before remain added.
    pub fn advance<E: From<DetectorError>>(
        &mut self,
        source: &mut dyn MessageSource,
        end: u64,
        progress: &dyn Progress,
        mut saved: impl FnMut(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        progress.stage("messages", end.saturating_sub(self.next()));
        let detector = self.detector.clone();
        let (mut pipeline, mut behind, mut failed) = (Pipeline::default(), self.next(), None);
        while behind < end || !pipeline.is_empty() {
            let range = behind..end.min(behind + detector.evaluation.together());
            behind = range.end;
            let chunk = if range.is_empty() {
                None
            } else {
                match Chunk::read(self, source, range) {
                    Ok(read) => Some(read),
                    Err(error) => {
                        // The chunks that were read before are still added.
                        behind = end;
                        failed = Some(error);
                        None
                    }
                }
            };
            if let Some(scanned) = pipeline.take(&detector, chunk, progress)? {
                progress.advance(self.add(scanned));
                check_stopped(progress)?;
                saved(self)?;
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Adds messages as [`Self::advance`] does. If layers are evaluated on a device and the device fails, calls
    /// `notify` with the error and adds the remaining messages on the processor, in exact arithmetic, with the same
    /// bytes. If `insists` is set, returns the error instead.
    ///
    /// Errors: those of [`Self::advance`].
    pub fn advance_or_here(
        &mut self,
        source: &mut dyn MessageSource,
        end: u64,
        progress: &dyn Progress,
        insists: bool,
        notify: impl FnOnce(&DetectorError),
    ) -> Result<(), DetectorError> {
        let saved = |_: &Self| Ok(());
        match self.advance(source, end, progress, saved) {
            Err(error @ DetectorError::Engine { .. }) if !insists => notify(&error),
            done => return done,
        }
        self.stay_here();
        self.advance(source, end, progress, saved)
    }

    /// Adds the next messages. Clues of `clue_bytes` bytes and payloads each follow one another. A session of indices
    /// needs payloads if clues are bound to them.
    ///
    /// Errors: `SourceLength`, `Full`, `Engine`; then nothing was added.
    pub fn push(
        &mut self,
        clues: &[u8],
        clue_bytes: usize,
        payloads: &[u8],
    ) -> Result<(), DetectorError> {
        let first = self.next();
        let chunk = Chunk::new(self, first, clues, clue_bytes, payloads.into(), None)?;
        let scanned = Pipeline::alone(&self.detector, chunk, &Quiet)?;
        self.add(scanned);
        Ok(())
    }

    /// Makes sums and codes for all groups with messages.
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

    /// Adds a scanned chunk to the sums; returns the number of its messages.
    fn add(&mut self, scanned: Scanned<'_>) -> u64 {
        let count = scanned.found.verdicts.len() as u64;
        self.header.plan = self.header.plan.until(scanned.first + count);
        self.log_hash = None;
        self.unusable_clues += scanned.found.unusable;
        self.open_groups();
        let mut stages = std::mem::take(&mut self.stages);
        stages.add(&scanned.stages);
        stages.time("sums", || self.add_weighted(scanned));
        self.stages = stages;
        count
    }

    fn add_weighted(&mut self, scanned: Scanned<'_>) {
        let (plan, first) = (&self.header.plan, scanned.first);
        let mut verdicts = scanned.found.verdicts;
        let weights = |i: usize| {
            let bytes = plan.payload_bytes().unwrap_or(0);
            let payload = &scanned.payloads[i * bytes..(i + 1) * bytes];
            let index = first + i as u64;
            let (group, number) = plan.place(index);
            let fingerprint = scanned.found.fingerprints.get(i).copied().unwrap_or(0);
            self.codes[group].weights(plan, index, number, payload, fingerprint)
        };
        let together = (WEIGHTS / plan.sums()).max(1);
        let (ring, p) = (&self.detector.params.ring, SUMS_MODULUS as u8);
        let mut at = 0;
        while at < verdicts.len() {
            let (group, number) = plan.place(first + at as u64);
            let left = self.detector.params.spec().group - number;
            let end = verdicts.len().min(at + together.min(left as usize));
            let of_chunk: Vec<Vec<u8>> = (at..end).into_par_iter().map(weights).collect();
            self.sums[group].add(ring, &mut verdicts[at..end], &of_chunk, p);
            at = end;
        }
    }

    /// Makes the digest of all messages added so far, in milliseconds.
    pub fn digest(&self) -> InstantDigest {
        let params = &self.detector.params;
        let mut inputs: Vec<SharedInput> = self
            .sums
            .par_iter()
            .flat_map(|sums| sums.ciphers(&params.ring))
            .map(|ct| self.input(&ct))
            .collect();
        // A last group that is not full may have fewer counters than there are parts.
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

    /// Packs parts from `first` on under one mask and rounds them.
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

    /// Cuts off digest `number` (counted from 0): returns the file of a digest of all messages so far, and continues as
    /// an empty session after them with a new seed. The last digest can be returned again, so that a lost reply neither
    /// loses messages nor delivers them twice.
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
