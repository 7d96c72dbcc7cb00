//! The time that a recipient waits if messages are processed as they arrive.

use crate::measure::digest::{Score, timed};
use crate::measure::instant::Fixture;
use crate::measure::yardstick::Yardstick;
use crate::measure::{BenchError, DigestBench, Setting, Shape, Start};
use chacha20::ChaCha20Rng;
use clap::Args;
use omr_client::instantomr::InstantRecipient;
use omr_console::{Access, stage_bytes};
use omr_detector::{DetectorError, MessageSource, Progress};
use omr_protocol::Scheme;
use omr_protocol::params::DEFAULT;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The largest number of messages that are processed together.
const CHUNK: usize = 64;

/// Messages that arrive at random, independently of each other, at a steady rate.
#[derive(Clone, Debug, Args)]
pub struct StreamBench {
    /// Messages a second: Bitcoin 7, Zcash 0.2362 (20,408 a day) to 0.8545 (73,826 a day)
    #[arg(long, value_name = "M", default_value_t = 0.2362)]
    pub rate: f64,
    /// Length of the replay; idle time is skipped
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    pub seconds: f64,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub shape: Shape,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub start: Start,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub params: String,
    /// Clues that are not bound to their payloads
    #[arg(long)]
    pub plain_clues: bool,
    /// Folder for the session's file; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// The results of a replay. Processing is real; idle time is skipped.
#[derive(Clone, Debug, Serialize)]
pub struct StreamFigures {
    /// The name of the parameter set.
    pub params: &'static str,
    /// Messages per second.
    pub rate: f64,
    /// The length of the replay.
    pub seconds: f64,
    /// The number of messages.
    pub messages: usize,
    /// The number of threads in use.
    pub threads: usize,
    /// Milliseconds from a message's arrival to a digest with it, for a recipient who asks when it arrives.
    pub wait_ms: Quantiles,
    /// Milliseconds from a message's arrival until it is in the session and the session on the disk.
    pub taken_ms: Quantiles,
    /// Milliseconds of making a digest's file.
    pub digest_ms: Quantiles,
    /// Milliseconds of writing the session to the disk.
    pub write_ms: Quantiles,
    /// The share of time that the detector is busy.
    pub busy: f64,
    /// Bytes of the session's file.
    pub session_bytes: usize,
    /// Bytes of the digest's file.
    pub digest_bytes: usize,
    /// The number of pertinent messages.
    pub pertinent: usize,
    /// The number of these that the last digest contains bit for bit.
    pub exact: usize,
    /// The number of other messages that it contains.
    pub false_positives: usize,
    /// The mean of the yardstick before and after, if built in.
    pub yardstick_us: Option<f64>,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest time.
    pub max: f64,
}

impl Quantiles {
    /// Returns the quantiles, in milliseconds, of times in seconds.
    ///
    /// Panics: without times.
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * seconds.len() as f64).ceil() as usize;
            seconds[rank.clamp(1, seconds.len()) - 1] * 1e3
        };
        Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

impl StreamBench {
    /// Returns the arrival times of messages; there is at least one.
    fn arrivals(&self) -> Vec<f64> {
        let mut rng = ChaCha20Rng::seed_from_u64(self.start.seed ^ 2);
        let mut gap = || {
            let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            -(1.0 - uniform).ln() / self.rate
        };
        let mut at = gap();
        let mut arrivals = vec![at];
        loop {
            at += gap();
            if at >= self.seconds {
                return arrivals;
            }
            arrivals.push(at);
        }
    }

    /// Replays the arrivals. The session is written to `file` after each chunk, as `omr stream` does.
    ///
    /// Errors: those of all steps and of the file.
    pub fn run(&self, file: &Path, progress: &dyn Progress) -> Result<StreamFigures, BenchError> {
        let arrivals = self.arrivals();
        let messages = arrivals.len();
        let bench = DigestBench {
            pertinent: self.shape.bound.min(messages / 4),
            ..DigestBench::new(Setting {
                scheme: Scheme::Instantomr,
                messages: messages as u64,
                shape: self.shape,
                start: self.start,
                params: Some(self.params.clone()),
                plain_clues: self.plain_clues,
            })
        };
        let params = bench.setting.set()?.instantomr()?.clone();
        let mut fixture = Fixture::new(&bench, &params)?;
        let mut session = fixture.session()?;
        let yardstick = Yardstick::start(true);
        let (mut now, mut busy, mut next) = (0.0f64, 0.0, 0);
        let (mut waits, mut taken, mut digests, mut writes) = (vec![], vec![], vec![], vec![]);
        let mut session_bytes = 0;
        progress.stage("messages", messages as u64);
        while next < messages {
            now = now.max(arrivals[next]);
            let waiting = arrivals[next..].iter().take_while(|&&at| at <= now).count();
            let chunk = next..next + waiting.min(CHUNK);
            let read = |error| BenchError::Detector(DetectorError::Source(error));
            let range = chunk.start as u64..chunk.end as u64;
            let clues = fixture.board.clues(range.clone()).map_err(read)?;
            let payloads = fixture.board.payloads(range).map_err(read)?;
            let clue_bytes = fixture.board.clue_bytes();
            let (pushed, push_s) = timed(|| session.push(&clues, clue_bytes, &payloads));
            pushed?;
            let (written, write_s) = timed(|| write(file, &session.to_file().to_bytes(&params)?));
            session_bytes = written?;
            let (digest, digest_s) = timed(|| session.digest().to_bytes(&params));
            digest?;
            now += push_s + write_s;
            busy += push_s + write_s;
            for &at in &arrivals[chunk.clone()] {
                taken.push(now - at);
                waits.push(now + digest_s - at);
            }
            digests.push(digest_s);
            writes.push(write_s);
            progress.advance(chunk.len() as u64);
            next = chunk.end;
        }
        let yardstick_us = yardstick.mean();
        let digest = session.digest();
        let found = InstantRecipient::new(&params, &fixture.secret).decode(&digest)?;
        let score = Score::new(&fixture.board, 0, &found);
        Ok(StreamFigures {
            params: params.name(),
            rate: self.rate,
            seconds: self.seconds,
            messages,
            threads: rayon::current_num_threads(),
            wait_ms: Quantiles::of(waits),
            taken_ms: Quantiles::of(taken),
            digest_ms: Quantiles::of(digests),
            write_ms: Quantiles::of(writes),
            busy: busy / now.max(self.seconds),
            session_bytes,
            digest_bytes: digest.to_bytes(&params)?.len(),
            pertinent: bench.pertinent,
            exact: score.exact,
            false_positives: score.false_positives,
            yardstick_us,
        })
    }
}

/// Writes a file as commands do: its content is on the disk before it has its name.
fn write(path: &Path, bytes: &[u8]) -> Result<usize, BenchError> {
    stage_bytes(path, Access::Public, bytes)?.commit(true)?;
    Ok(bytes.len())
}
