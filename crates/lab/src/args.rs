//! Arguments of the developers' commands.

mod bench;
mod bench_pdq;
mod compare;
mod search;
mod sizing;
mod trials;
mod trials_hostile;

pub use bench::BenchCommand;
pub(crate) use bench::{
    BenchAll, BenchClues, BenchCompare, BenchCrossover, BenchDecode, BenchDigest, BenchPost,
    BenchSoak, BenchStream, BenchWindows, CACHE_BYTES,
};
pub(crate) use bench_pdq::{BenchPdq, PdqCompress, PdqOracle, PdqQuestions, PdqWhole};
pub use compare::Compare;
pub use search::ParamsSearch;
pub(crate) use sizing::BenchSizing;
pub(crate) use trials::{BenchLoad, BenchMail, KeyChoice, LoadPart};
pub(crate) use trials_hostile::{BenchChaos, BenchHostile};
