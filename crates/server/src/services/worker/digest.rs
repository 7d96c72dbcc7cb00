//! A digest that a worker sends: its length is checked before it is read, and its content before it is stored.

use super::{Workers, refused};
use crate::jobs::{Ending, WorkerId};
use crate::parts::clue_kind;
use crate::refuse::{self, blocking};
use crate::shared::Shared;
use crate::tokens::Right;
use omr_api::v1;
use omr_protocol::{ClueKind, EngineKind};
use omr_runner::{KeyRef, Unit, UnitId};
use tonic::{Request, Status, Streaming};

/// The content of the first message.
struct Brought {
    who: WorkerId,
    unit: UnitId,
    job: usize,
    bytes: usize,
    hash: [u8; 32],
}

impl Workers {
    /// Receives a digest. Returns `false` if it is not wanted any more.
    pub(super) async fn take_digest(
        &self,
        request: Request<Streaming<v1::CompleteRequest>>,
    ) -> Result<bool, Status> {
        // The token is checked before anything is read.
        let caller = self.0.caller(&request, Right::Work)?;
        let _room = self.0.stream(&caller)?;
        let mut pieces = request.into_inner();
        let first = self
            .0
            .next(&mut pieces)
            .await?
            .ok_or_else(|| refuse::invalid("pieces", "at least one", 0))?;
        let brought = Brought {
            who: super::named(caller.account, first.worker.as_ref())?,
            unit: refuse::id("unit_id", &first.unit_id)?,
            job: first.job as usize,
            bytes: usize::try_from(first.total_bytes).unwrap_or(usize::MAX),
            hash: refuse::hash("hash", &first.hash)?,
        };
        let (unit, _) = self
            .0
            .jobs
            .leased(&brought.who, &brought.unit, brought.job)
            .map_err(refused)?;
        let read = match self.measure(&unit, &brought) {
            Ok(()) => self.read(first.data, &mut pieces, &brought).await?,
            Err(status) => Err(status),
        };
        let shared = self.0.clone();
        blocking(move || take(&shared, &unit, &brought, read)).await
    }

    /// Checks the length of a digest.
    ///
    /// Errors: INVALID_ARGUMENT where it is longer than any digest of the unit.
    fn measure(&self, unit: &Unit, brought: &Brought) -> Result<(), Status> {
        let most = unit
            .digest_bytes(&self.0.set, clues(&self.0))
            .map_err(|error| Status::internal(error.to_string()))?;
        if brought.bytes as u64 <= most {
            Ok(())
        } else {
            Err(refuse::invalid(
                "total_bytes",
                format_args!("at most {most}"),
                brought.bytes,
            ))
        }
    }

    /// Reads the whole digest. The inner error is a wrong content; the outer one is a broken stream, which is not the
    /// worker's fault.
    async fn read(
        &self,
        first: bytes::Bytes,
        pieces: &mut Streaming<v1::CompleteRequest>,
        brought: &Brought,
    ) -> Result<Result<Vec<u8>, Status>, Status> {
        let mut digest = first.to_vec();
        while digest.len() < brought.bytes {
            match self.0.next(pieces).await? {
                Some(piece) if !piece.data.is_empty() => digest.extend_from_slice(&piece.data),
                _ => break,
            }
        }
        let found = digest.len();
        if found < brought.bytes {
            return Err(refuse::invalid("data", brought.bytes, found));
        }
        if found > brought.bytes {
            return Ok(Err(refuse::invalid("data", brought.bytes, found)));
        }
        if *blake3::hash(&digest).as_bytes() == brought.hash {
            Ok(Ok(digest))
        } else {
            Err(Status::data_loss(
                "expected a digest with the announced hash, found another: send it again",
            ))
        }
    }
}

fn clues(shared: &Shared) -> ClueKind {
    clue_kind(shared.store.board())
}

/// Stores a digest that fits its unit. Another digest is a failed attempt.
fn take(
    shared: &Shared,
    unit: &Unit,
    brought: &Brought,
    read: Result<Vec<u8>, Status>,
) -> Result<bool, Status> {
    let checked = read.and_then(|digest| {
        let ids = key_ids(shared, &unit.jobs[brought.job]);
        unit.check(&shared.set, clues(shared), brought.job, &ids, &digest)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(digest)
    });
    let Brought { who, unit, job, .. } = brought;
    match checked {
        Ok(digest) => shared
            .jobs
            .complete(who, unit, *job, digest, None)
            .map_err(refused),
        Err(status) => {
            tracing::warn!(worker = who.worker, token = who.account, %status, "a digest is refused");
            let ending = Ending::Attempt("its worker sent no digest of this job".to_owned());
            shared.jobs.fail(who, unit, *job, ending).map_err(refused)?;
            Err(status)
        }
    }
}

/// Returns the ids of a job's keys. A missing key was revoked together with its job.
fn key_ids(shared: &Shared, keys: &[KeyRef]) -> Vec<(EngineKind, [u8; 16])> {
    let id = |key: &KeyRef| {
        let known = shared.registrations.key(&key.hash)?;
        Some((known.kind, known.id))
    };
    keys.iter().filter_map(id).collect()
}
