//! The number of messages from which a batch by SophOMR costs less than InstantOMR.

use crate::measure::digest::timed;
use crate::measure::median::median_of_runs;
use crate::measure::yardstick::Yardstick;
use crate::measure::{BenchError, DigestBench, InstantUnits, Setting};
use omr_detector::Progress;
use omr_detector::engines::Costs;
use omr_protocol::ParamSet;
use serde::Serialize;

/// The number of messages that are processed at a time.
const CHUNK: usize = 64;
/// The number of messages that sessions have room for: the remainder after full batches is short, and its length is
/// known.
const REST: u64 = 256;
/// The number of runs of each measurement; the median counts.
const RUNS: usize = 5;

/// Both engines on one machine, measured within the same minutes.
#[derive(Clone, Debug, Serialize)]
pub struct Crossover {
    /// The name of the parameter set.
    pub params: &'static str,
    /// The number of threads in use.
    pub threads: usize,
    /// Seconds of a digest of one full batch by SophOMR.
    pub batch_s: f64,
    /// The number of messages in a batch.
    pub batch: u64,
    /// Seconds of a message by InstantOMR, 64 at a time.
    pub message_s: f64,
    /// Seconds of a single message.
    pub latency_s: f64,
    /// The number of messages from which the batch costs less.
    pub crossover: u64,
    /// Seconds by number of messages.
    pub points: Vec<Point>,
    /// The mean of the yardstick before and after, if built in.
    pub yardstick_us: Option<f64>,
}

/// The times for a number of messages.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// The number of messages.
    pub messages: u64,
    /// All messages by SophOMR.
    pub sophomr_s: f64,
    /// All messages by InstantOMR.
    pub instantomr_s: f64,
    /// Full batches by SophOMR, the rest by the cheaper engine.
    pub hybrid_s: f64,
}

impl Crossover {
    /// Measures both engines of a set with payloads of 612 bytes and a bound of 50.
    ///
    /// Errors: those of all steps; `Params` if the set lacks an engine.
    pub fn measure(set: &ParamSet, seed: u64, progress: &dyn Progress) -> Result<Self, BenchError> {
        let bulk = set.sophomr()?;
        let yardstick = Yardstick::start(true);
        let mut units = InstantUnits::new(set.instantomr()?, CHUNK as u64, Some(REST), seed)?;
        let mut pushed = |count| {
            median_of_runs(RUNS, || {
                let (pushed, seconds) = timed(|| units.push(count));
                pushed.map(|()| seconds)
            })
        };
        let latency_s = pushed(1)?;
        let message_s = pushed(CHUNK)? / CHUNK as f64;
        let batch = bulk.slots() as u64;
        let digest = DigestBench::new(Setting::of_batch(set, seed, batch));
        let batch_s = digest.run(progress)?.cost.digest_s;
        let yardstick_us = yardstick.mean();
        let costs = Costs { batch_s, message_s };
        Ok(Self {
            params: set.name(),
            threads: rayon::current_num_threads(),
            batch_s,
            batch,
            message_s,
            latency_s,
            crossover: costs.crossover(),
            points: points(costs, batch, latency_s),
            yardstick_us,
        })
    }
}

/// Returns the points at powers of two, at the crossover, and on both sides of up to four full batches.
fn points(costs: Costs, batch: u64, latency_s: f64) -> Vec<Point> {
    let mut messages: Vec<u64> = (0..)
        .map(|k| 1 << k)
        .take_while(|&n| n <= 4 * batch)
        .collect();
    messages.extend([costs.crossover(), batch + costs.crossover()]);
    messages.extend((1..4).map(|batches| batches * batch + 1));
    messages.push(3 * batch);
    messages.sort_unstable();
    messages.dedup();
    let point = |&messages: &u64| {
        let single = |n: u64| {
            if n == 0 {
                0.0
            } else {
                latency_s.max(n as f64 * costs.message_s)
            }
        };
        let first = costs.split(&(0..messages), batch);
        Point {
            messages,
            sophomr_s: messages.div_ceil(batch) as f64 * costs.batch_s,
            instantomr_s: single(messages),
            hybrid_s: first.div_ceil(batch) as f64 * costs.batch_s + single(messages - first),
        }
    };
    messages.iter().map(point).collect()
}
