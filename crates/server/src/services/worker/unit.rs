//! Units of work as messages of the protocol.

use super::kind;
use omr_api::v1;
use omr_runner::{KeyRef, Unit};

/// Returns a unit of a board whose clues have `clue_bytes` bytes.
pub(super) fn message(unit: &Unit, clue_bytes: u32) -> v1::WorkUnit {
    let seed = |seed: &omr_runner::Seed| v1::PlacementSeed {
        engine: kind(seed.engine),
        seed: seed.seed.to_vec().into(),
    };
    let mut queries = unit.queries.iter();
    let job = |keys: &Vec<KeyRef>| v1::UnitJob {
        keys: keys.iter().map(key).collect(),
        query: queries.next().cloned().unwrap_or_default().into(),
    };
    v1::WorkUnit {
        unit_id: unit.id.to_vec().into(),
        scheme: i32::from(unit.scheme.tag()),
        span: Some(v1::Span {
            start: unit.stride.start,
            end: unit.stride.end,
            step: unit.stride.step(),
        }),
        bound: unit.bound,
        indices_only: unit.indices_only,
        board_id: unit.board_id.to_vec().into(),
        history_id: unit.history_id.to_vec().into(),
        sealing: unit.sealing.name().to_owned(),
        payload_bytes: unit.payload_bytes as u32,
        clue_bytes,
        seeds: unit.seeds.iter().map(seed).collect(),
        batch_seconds: unit.costs.batch_s,
        message_seconds: unit.costs.message_s,
        jobs: unit.jobs.iter().map(job).collect(),
        lease_seconds: unit.lease.as_secs() as u32,
    }
}

fn key(key: &KeyRef) -> v1::UnitKey {
    v1::UnitKey {
        key_hash: key.hash.to_vec().into(),
        kind: kind(key.kind),
        total_bytes: key.bytes,
    }
}
