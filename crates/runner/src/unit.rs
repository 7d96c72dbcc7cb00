//! What one run does.

use omr_detector::engines::Costs;
use omr_protocol::instantomr::{InstantDigest, InstantPlan};
use omr_protocol::sophomr::{Digest, DigestPlan};
use omr_protocol::{
    ClueKind, DigestError, EngineKind, Mismatch, ParamSet, PlanError, Request, Response,
    SEED_BYTES, Scheme, Sealing, Stride,
};
use std::ops::Range;
use std::time::Duration;

/// Names a unit: random.
pub type UnitId = [u8; 16];

/// Bytes of a digest of two parts beside those of its parts, at most.
const AROUND: u64 = 256;

/// A key that a job works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRef {
    /// BLAKE3 of its file.
    pub hash: [u8; 32],
    /// What it is for.
    pub kind: EngineKind,
    /// Bytes of its file.
    pub bytes: u64,
}

/// Where messages lie in the digests of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The engine.
    pub engine: EngineKind,
    /// Drawn after the messages were posted.
    pub seed: [u8; SEED_BYTES],
}

/// What one run does: digests of the same messages for one or several recipients.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Its name.
    pub id: UnitId,
    /// The board.
    pub board_id: [u8; 16],
    /// How its payloads are sealed.
    pub sealing: Sealing,
    /// Bytes of its payloads.
    pub payload_bytes: usize,
    /// The scheme that answers.
    pub scheme: Scheme,
    /// The messages.
    pub stride: Stride,
    /// Most pertinent messages of a digest.
    pub bound: u32,
    /// Indices without payloads.
    pub indices_only: bool,
    /// For each engine one seed, or one for each job in their order.
    pub seeds: Vec<Seed>,
    /// What decides where a hybrid's range is split.
    pub costs: Costs,
    /// The keys of each job.
    pub jobs: Vec<Vec<KeyRef>>,
    /// How long the lease lasts from each renewal on.
    pub lease: Duration,
}

/// Why a digest is not what a unit asks for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// It is none.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// The unit cannot be done.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The set has no such engine.
    #[error(transparent)]
    Params(#[from] omr_protocol::ParamsError),
    /// It was made by another scheme.
    #[error("expected a digest by {}, found one by {}", .0.expected, .0.found)]
    Scheme(Mismatch<Scheme>),
    /// Other messages, another bound, other payloads.
    #[error("expected {}, found {}", .0.expected, .0.found)]
    Request(Box<Mismatch<String>>),
    /// Of another board, or sealed otherwise.
    #[error("expected a digest of the unit's board and sealing, found another")]
    Board,
    /// Messages do not lie where the unit says.
    #[error("expected the seed of the unit for {0}, found another")]
    Seed(EngineKind),
    /// Made with another key.
    #[error("expected a digest by the job's key for {0}, found one by another")]
    Key(EngineKind),
}

/// A digest's part by one engine, as it must be.
enum Part {
    Sophomr(DigestPlan),
    Instantomr(InstantPlan),
}

impl Unit {
    /// What an engine is asked for, counted without gaps.
    #[must_use]
    pub fn request(&self) -> Request {
        let payloads = (!self.indices_only).then_some(self.payload_bytes);
        Request::new(self.stride.range(), self.bound as usize, payloads)
    }

    /// Where messages lie in the digest of a job by an engine; `None` where the unit does not say.
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
                    let request = Request {
                        range,
                        ..request.clone()
                    };
                    let plan = InstantPlan::new(set.instantomr()?, request);
                    Part::Instantomr(plan?.for_clues(clues))
                }
            })
        };
        parts.into_iter().map(part).collect()
    }

    /// Bytes that a digest of the unit has at most.
    ///
    /// Errors: `Plan`, `Params`.
    pub fn digest_bytes(&self, set: &ParamSet, clues: ClueKind) -> Result<u64, Misfit> {
        let mut bytes = AROUND;
        for part in self.parts(set, clues)? {
            bytes += match part {
                Part::Sophomr(plan) => Digest::file_bytes(&plan, set.sophomr()?),
                Part::Instantomr(plan) => InstantDigest::file_bytes(&plan, set.instantomr()?),
            };
        }
        Ok(bytes)
    }

    /// Checks that a digest's header says what the unit asks for a job whose keys have these ids. Whether its
    /// ciphertexts are right only the recipient can see.
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
        };
        let fits = self.parts(set, clues)?.iter().all(|part| match part {
            Part::Sophomr(plan) => batches.is_some_and(|header| header.plan == *plan),
            Part::Instantomr(plan) => messages.is_some_and(|header| header.plan == *plan),
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
}
