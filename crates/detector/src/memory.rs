//! The memory that keys and runs take, predicted from the parameter set, so that a process can tell before a run whether
//! it has that much. Figures are those of the processor's engines; tests of omr-runner compare them with measured peaks.

use crate::sophomr::run_memory;
use omr_protocol::params::SetSpec;
use omr_protocol::sophomr::Outline;
use omr_protocol::{ClueKind, EngineKind, ParamSet, ParamsError};

/// What the memory of a run depends on.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Recipients whose digests it makes, at least 1.
    pub recipients: usize,
    /// Batches of messages, at least 1.
    pub batches: u64,
    /// Threads that work.
    pub threads: usize,
}

/// Bytes that InstantOMR works in beside its key and the weights of messages: a quarter of the key.
const OF_INSTANT_KEY: u64 = 4;
/// Bytes of the weights of messages that InstantOMR adds up together.
const WEIGHTS: u64 = 16 << 20;

/// Bytes of the tables that a set's engines work with, which are not made for this. Those of InstantOMR are small.
///
/// Errors: a specification that no set has.
pub fn table_bytes(spec: &SetSpec) -> Result<u64, ParamsError> {
    match &spec.sophomr {
        Some(sophomr) => Ok(Outline::new(sophomr.clone())?.table_bytes()),
        None => Ok(0),
    }
}

/// Bytes that a detection key takes once it is ready to work, from those of its file. A file holds seeds in place of masks,
/// and residues at their exact width, which then take words of 64 bits.
pub fn key_bytes(engine: EngineKind, file_bytes: u64) -> u64 {
    match engine {
        // Residues of 48 bits.
        EngineKind::Sophomr => file_bytes * 2 * 64 / 48,
        // Residues of 50 bits; both digits are kept in double precision as well where ranges of known length are asked for.
        EngineKind::Instantomr => file_bytes * 2 * 64 / 50 * 2,
    }
}

/// Bytes that one engine takes while it makes digests, beside keys.
///
/// Errors: `NoEngine` where the set has no such engine.
pub fn run_bytes(
    set: &ParamSet,
    engine: EngineKind,
    clues: ClueKind,
    shape: Shape,
) -> Result<u64, ParamsError> {
    Ok(match engine {
        EngineKind::Sophomr => run_memory(set.sophomr()?, clues, shape),
        EngineKind::Instantomr => {
            WEIGHTS + key_bytes(engine, set.key_file_bytes(engine, clues)?) / OF_INSTANT_KEY
        }
    })
}
