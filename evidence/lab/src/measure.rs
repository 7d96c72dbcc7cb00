//! Benchmarks whose figures the documentation quotes.

mod attacks;
mod builds;
mod card;
mod clear;
pub mod cluster;
pub mod compare;
mod cpu;
mod crossover;
mod decode;
mod digest;
mod instant;
mod median;
mod papers;
pub mod pdq;
mod places;
pub mod published;
mod recipients;
mod report;
mod rounds;
pub mod search;
pub mod set_file;
mod setting;
pub mod sizing;
mod soak;
mod strangers;
mod stream;
mod windows;
mod workload;
mod yardstick;

pub use attacks::{AttackLine, AttackTable, attacks};
pub(crate) use builds::printed;
pub use builds::{BuildError, BuildRatio, compare_builds};
pub use card::{CardBench, CardFigures, CardTimes, MessageBench, MessageFigures, MessageTimes};
pub use crossover::{Crossover, Point};
pub use decode::{DecodeBench, DecodeClass, DecodeTimes};
pub use digest::{BenchError, DigestBench, DigestCost, DigestFigures, Loading};
pub use instant::InstantUnits;
pub use median::median;
pub(crate) use median::median_of_runs;
pub use papers::{PaperBench, PaperBenchError, PaperFigures, PaperKeys};
pub use places::{LeftOut, PlacesFigures, Queries, places};
pub use recipients::{RecipientsBench, RecipientsFigures, RecipientsTimes};
pub use report::{Compared, Incomparable, Machine, Measurement, Rates, Report, Subject};
pub use rounds::{RoundsBench, RoundsFigures};
pub(crate) use setting::schemes;
pub use setting::{Setting, Shape, Start};
pub use soak::{
    Deviation, RoundsLine, RoundsTally, Soak, SoakDigest, SoakLine, SoakTally, Strain, failure_log2,
};
pub use strangers::{Hostile, Strangers};
pub use stream::{Quantiles, StreamBench, StreamFigures};
pub use windows::{Line, WindowFigures, windows};
pub use workload::Workload;
pub use yardstick::yardstick_us;
