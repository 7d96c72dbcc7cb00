//! Prediction of the memory of keys and runs from the parameter set, so that a process can check before a run whether
//! it has enough. Figures are for the processor's engines; tests of omr-runner compare them with measured peaks.

use crate::rounds::run_memory as run_bytes_of_scan;
use crate::sophomr::run_memory;
use omr_protocol::params::SetSpec;
use omr_protocol::sophomr::Outline;
use omr_protocol::{ClueKind, EngineKind, ParamSet, ParamsError};

/// The properties of a run that determine its memory.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of recipients whose digests the run makes, at least 1.
    pub recipients: usize,
    /// Number of batches of messages, at least 1.
    pub batches: u64,
    /// Number of threads.
    pub threads: usize,
}

/// InstantOMR's working memory beside its key and the weights of messages is this fraction of the key's: one quarter.
const OF_INSTANT_KEY: u64 = 4;
/// Bytes of the weights of messages that InstantOMR adds up together.
const WEIGHTS: u64 = 16 << 20;

/// Returns the bytes of the tables of a set's engines, without making them. Those of InstantOMR are small.
///
/// Errors: those of an invalid specification.
pub fn table_bytes(spec: &SetSpec) -> Result<u64, ParamsError> {
    match &spec.sophomr {
        Some(sophomr) => Ok(Outline::new(sophomr.clone())?.table_bytes()),
        None => Ok(0),
    }
}

/// Returns the bytes of a loaded detection key with a file of `file_bytes`. A file contains seeds in place of masks,
/// and residues with their exact number of bits, which take words of 64 bits in memory.
pub fn key_bytes(engine: EngineKind, file_bytes: u64) -> u64 {
    match engine {
        // Residues of 48 bits.
        EngineKind::Sophomr => file_bytes * 2 * 64 / 48,
        // Residues of 50 bits. Both digits are stored in double precision as well, for ranges of known length.
        EngineKind::Instantomr => file_bytes * 2 * 64 / 50 * 2,
        // Residues of 50 bits.
        EngineKind::Rounds => file_bytes * 2 * 64 / 50,
    }
}

/// Returns the bytes that one engine takes for making digests, beside keys.
///
/// Errors: `NoEngine` if the set lacks the engine.
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
        EngineKind::Rounds => run_bytes_of_scan(set.rounds()?, clues, shape),
    })
}
