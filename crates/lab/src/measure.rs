//! Benchmarks whose figures the documentation quotes.

mod attacks;
pub mod compare;
pub mod cost;
mod cpu;
mod crossover;
mod decode;
mod digest;
mod earlier;
mod instant;
pub mod pdq;
mod recipients;
mod report;
pub mod search;
pub mod sizing;
mod soak;
mod strangers;
mod stream;
mod units;
mod windows;
mod workload;
mod yardstick;

pub use attacks::{AttackLine, AttackTable, attacks};
pub use crossover::{Crossover, Point};
pub use decode::{DecodeClass, DecodeTimes, decode_times, instant_decode_times};
pub use digest::{BenchError, DigestBench, DigestFigures};
pub use earlier::{EarlierBench, EarlierBenchError, EarlierFigures, EarlierKeys};
pub use instant::{InstantBench, InstantUnits};
pub use recipients::{RecipientsBench, RecipientsFigures, RecipientsTimes};
pub use report::{Compared, Figure, Incomparable, Machine, Report, Setting};
pub use soak::{Soak, SoakDigest, SoakLine, SoakTally, Strain, failure_log2};
pub use strangers::{Hostile, Strangers};
pub use stream::{Quantiles, StreamBench, StreamFigures};
pub use units::Units;
pub use windows::{Line, WindowFigures, windows};
pub use workload::Workload;
pub use yardstick::yardstick_us;
