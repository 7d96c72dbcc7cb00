//! The work of one run.

use omr_detector::engines::Costs;
use omr_protocol::instantomr::{InstantDigest, InstantPlan};
use omr_protocol::rounds::{
    FetchAnswer, RoundsError, RoundsHeader, RoundsPlan, Scanned, page_seeds,
};
use omr_protocol::sophomr::{Digest, DigestPlan};
use omr_protocol::{
    ClueKind, DigestError, EngineKind, Mismatch, ParamSet, PlanError, Request, Response,
    SEED_BYTES, Scheme, Sealing, Stride,
};
use std::ops::Range;
use std::time::Duration;

/// Random name of a unit.
pub type UnitId = [u8; 16];

/// Largest length in bytes of a digest of two parts without its parts.
const AROUND: u64 = 256;

/// A key that a job uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRef {
    /// BLAKE3 of the key's file.
    pub hash: [u8; 32],
    /// The engine of the key.
    pub kind: EngineKind,
    /// Length in bytes of the key's file.
    pub bytes: u64,
}

/// The seed of the messages' places in digests of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The engine.
    pub engine: EngineKind,
    /// The seed, drawn after the messages were posted.
    pub seed: [u8; SEED_BYTES],
}

/// The work of one run: digests of the same messages for one or more recipients.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The name of the unit.
    pub id: UnitId,
    /// The board.
    pub board_id: [u8; 16],
    /// The id of the board's history. Another history may have other messages at the same places.
    pub history_id: [u8; 16],
    /// The sealing of payloads.
    pub sealing: Sealing,
    /// Length in bytes of a payload.
    pub payload_bytes: usize,
    /// The scheme of the digests.
    pub scheme: Scheme,
    /// The messages.
    pub stride: Stride,
    /// Largest number of pertinent messages of a digest.
    pub bound: u32,
    /// Whether digests contain indices without payloads.
    pub indices_only: bool,
    /// One seed for each engine, or one for each engine and job, in the order of jobs.
    pub seeds: Vec<Seed>,
    /// The costs that determine where the range of a hybrid scheme is divided.
    pub costs: Costs,
    /// The keys of each job.
    pub jobs: Vec<Vec<KeyRef>>,
    /// For a fetch the file of each job's query; empty for other units.
    pub queries: Vec<Vec<u8>>,
    /// The time for which the lease lasts after each renewal.
    pub lease: Duration,
}

/// An error of a digest that does not answer its unit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// The file is no digest.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// No digest can answer the unit.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The set lacks the engine.
    #[error(transparent)]
    Params(#[from] omr_protocol::ParamsError),
    /// The file is no scan or answer, a scan of other messages, or the answer to another query.
    #[error(transparent)]
    Rounds(#[from] RoundsError),
    /// The digest is of another scheme.
    #[error("expected a digest by {}, found one by {}", .0.expected, .0.found)]
    Scheme(Mismatch<Scheme>),
    /// The digest has other messages, another bound or other payloads.
    #[error("expected {}, found {}", .0.expected, .0.found)]
    Request(Box<Mismatch<String>>),
    /// The digest is of another board or sealing.
    #[error("expected a digest of the unit's board and sealing, found another")]
    Board,
    /// The seed differs from the unit's.
    #[error("expected the seed of the unit for {0}, found another")]
    Seed(EngineKind),
    /// The digest was made with another key.
    #[error("expected a digest by the job's key for {0}, found one by another")]
    Key(EngineKind),
}

/// The required shape of an engine's part of a digest.
enum Part {
    Sophomr(DigestPlan),
    Instantomr(InstantPlan),
    Scan(RoundsHeader),
}

impl Unit {
    /// Returns the request, with messages numbered without gaps.
    #[must_use]
    pub fn request(&self) -> Request {
        let payloads = (!self.indices_only).then_some(self.payload_bytes);
        Request::new(self.stride.range(), self.bound as usize, payloads)
    }

    /// Returns the seed of a job's digest by an engine; `None` if the unit has none.
    #[must_use]
    pub fn seed(&self, engine: EngineKind, job: usize) -> Option<[u8; SEED_BYTES]> {
        let of_engine = self.seeds.iter().filter(|seed| seed.engine == engine);
        let seeds: Vec<_> = of_engine.map(|seed| seed.seed).collect();
        match seeds[..] {
            [all] => Some(all),
            _ => seeds.get(job).copied(),
        }
    }

    fn parts(&self, set: &ParamSet, clues: ClueKind) -> Result<Vec<Part>, Misfit> {
        let request = self.request();
        let batch = set.sophomr().map_or(1, |params| params.slots() as u64);
        let parts = self.costs.parts(self.scheme, &request.range, batch);
        let part = |(engine, range): (EngineKind, Range<u64>)| {
            Ok(match engine {
                EngineKind::Sophomr => {
                    let params = set.sophomr()?;
                    let plan = DigestPlan::new(params, range, request.bound, request.payload_bytes);
                    Part::Sophomr(plan?.for_clues(params, clues))
                }
                EngineKind::Instantomr => {
                    let of_range = Request {
                        range,
                        ..request.clone()
                    };
                    let plan = InstantPlan::new(set.instantomr()?, of_range);
                    Part::Instantomr(plan?.for_clues(clues))
                }
                EngineKind::Rounds => Part::Scan(self.subject(set, clues, range)?),
            })
        };
        parts.into_iter().map(part).collect()
    }

    /// Returns the subject of scans and queries, for a key without a name.
    fn subject(
        &self,
        set: &ParamSet,
        clues: ClueKind,
        range: Range<u64>,
    ) -> Result<RoundsHeader, Misfit> {
        let params = set.rounds()?;
        let plan = RoundsPlan::new(params, range.clone(), self.payload_bytes, clues)?;
        let secret = self.seed(EngineKind::Rounds, 0);
        Ok(RoundsHeader {
            key_id: [0; 16],
            board_id: self.board_id,
            range,
            payload_bytes: self.payload_bytes,
            sealing: self.sealing,
            clues,
            seeds: page_seeds(&secret.ok_or(Misfit::Seed(EngineKind::Rounds))?, &plan),
        })
    }

    /// Returns the largest length in bytes of a digest of the unit.
    ///
    /// Errors: `Plan`, `Params`, `Rounds`, `Seed`.
    pub fn digest_bytes(&self, set: &ParamSet, clues: ClueKind) -> Result<u64, Misfit> {
        let mut bytes = AROUND;
        for part in self.parts(set, clues)? {
            bytes += match part {
                Part::Scan(subject) if self.queries.is_empty() => {
                    Scanned::file_bytes(set.rounds()?, &subject)?
                }
                Part::Scan(subject) => FetchAnswer::file_bytes(set.rounds()?, &subject)?,
                Part::Sophomr(plan) => Digest::file_bytes(&plan, set.sophomr()?),
                Part::Instantomr(plan) => InstantDigest::file_bytes(&plan, set.instantomr()?),
            };
        }
        Ok(bytes)
    }

    /// Checks that a digest's header answers the unit for a job whose keys have these ids. Only the recipient can check
    /// its ciphertexts.
    ///
    /// Errors: any `Misfit`.
    pub fn check(
        &self,
        set: &ParamSet,
        clues: ClueKind,
        job: usize,
        key_ids: &[(EngineKind, [u8; 16])],
        digest: &[u8],
    ) -> Result<(), Misfit> {
        if let Some(query) = self.queries.get(job) {
            return self.check_answer(set, clues, key_ids, query, digest);
        }
        let response = Response::from_bytes(set, digest)?;
        if response.scheme() != self.scheme {
            return Err(Misfit::Scheme(Mismatch::new(
                self.scheme,
                response.scheme(),
            )));
        }
        if response.board_id() != self.board_id || response.sealing() != self.sealing {
            return Err(Misfit::Board);
        }
        let (batches, messages) = match &response {
            Response::Sophomr(digest) => (Some(&digest.header), None),
            Response::Instantomr(digest) => (None, Some(&digest.header)),
            Response::Hybrid(first, second) => (Some(&first.header), Some(&second.header)),
            Response::Scan(scan) => {
                return self.check_subject(set, clues, key_ids, &scan.header);
            }
        };
        let fits = self.parts(set, clues)?.iter().all(|part| match part {
            Part::Sophomr(plan) => batches.is_some_and(|header| header.plan == *plan),
            Part::Instantomr(plan) => messages.is_some_and(|header| header.plan == *plan),
            Part::Scan(_) => false,
        });
        if !fits {
            let found = format!("{:?}", response.request());
            let misfit = Mismatch::new(format!("{:?}", self.request()), found);
            return Err(Misfit::Request(Box::new(misfit)));
        }
        let headers = [
            batches.map(|header| (EngineKind::Sophomr, header.seed, header.key_id)),
            messages.map(|header| (EngineKind::Instantomr, header.seed, header.key_id)),
        ];
        for (engine, seed, key_id) in headers.into_iter().flatten() {
            if self.seed(engine, job) != Some(seed) {
                return Err(Misfit::Seed(engine));
            }
            if !key_ids.contains(&(engine, key_id)) {
                return Err(Misfit::Key(engine));
            }
        }
        Ok(())
    }

    /// Checks that an answer is one to a query of the unit.
    ///
    /// Errors: any `Misfit`.
    fn check_answer(
        &self,
        set: &ParamSet,
        clues: ClueKind,
        key_ids: &[(EngineKind, [u8; 16])],
        query: &[u8],
        digest: &[u8],
    ) -> Result<(), Misfit> {
        let params = set.rounds()?;
        let answer = FetchAnswer::from_bytes(params, digest)?;
        let key_id = answer.key_id;
        if !key_ids.contains(&(EngineKind::Rounds, key_id)) {
            return Err(Misfit::Key(EngineKind::Rounds));
        }
        let subject = self.subject(set, clues, self.stride.range())?;
        let header = RoundsHeader { key_id, ..subject };
        answer.ciphertexts(params, &header, query)?;
        Ok(())
    }

    /// Checks that a scan is about the messages of the unit.
    ///
    /// Errors: `Key`, `Rounds`, `Plan`, `Seed`.
    fn check_subject(
        &self,
        set: &ParamSet,
        clues: ClueKind,
        key_ids: &[(EngineKind, [u8; 16])],
        found: &RoundsHeader,
    ) -> Result<(), Misfit> {
        let key_id = found.key_id;
        if !key_ids.contains(&(EngineKind::Rounds, key_id)) {
            return Err(Misfit::Key(EngineKind::Rounds));
        }
        let subject = self.subject(set, clues, self.stride.range())?;
        let expected = RoundsHeader { key_id, ..subject };
        Ok(expected.expect(found)?)
    }
}
