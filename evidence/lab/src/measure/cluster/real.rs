//! Units of work that are run and timed: their costs, and a check of the simulation against a queue of them.

mod rounds;

use super::policy::{Run, Work};
use super::simulate::{Nodes, queue};
use super::{ClusterCosts, UnitCosts};
use crate::measure::cpu::process_seconds;
use crate::measure::{BenchError, DigestBench, InstantUnits, Setting, Shape};
use chacha20::ChaCha20Rng;
use omr_client::sophomr::Keys;
use omr_detector::memory::{self, key_bytes, run_bytes};
use omr_detector::sophomr::{Detector, TOGETHER, digests};
use omr_detector::{MessageSource, Messages, Progress};
use omr_protocol::clue::KeptHashes;
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan, Params};
use omr_protocol::{ClueKind, EngineKind, ParamSet, SEED_BYTES, Sealing};
use rand_core::SeedableRng;
use rounds::RealRounds;
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

/// The number of batches whose digests are measured.
const BATCHES: usize = 2;
/// The number of messages that InstantOMR processes at a time.
const CHUNK: usize = 64;

/// A board in memory, and keys as files.
pub struct Real<'a> {
    params: Arc<Params>,
    plan: DigestPlan,
    board: Messages,
    keys: Vec<Vec<u8>>,
    rounds: RealRounds,
    /// Bytes of memory of a run of digests and of one of scans, with their keys.
    memory: [u64; 2],
    instant: Option<InstantUnits>,
    progress: &'a dyn Progress,
}

/// The measured and the simulated time of a queue.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The name of the queue.
    pub queue: &'static str,
    /// The number of recipients.
    pub recipients: usize,
    /// The number of batches.
    pub batches: usize,
    /// The simulated core seconds, with one worker.
    pub predicted_s: f64,
    /// The measured core seconds.
    pub real_s: f64,
    /// The ratio of the simulated to the measured core seconds.
    pub predicted_over_real: f64,
}

impl<'a> Real<'a> {
    /// Makes messages of `batches` batches, and keys with shared masks for `recipients` recipients.
    ///
    /// Errors: those of all steps.
    pub fn new(
        set: &ParamSet,
        recipients: usize,
        batches: usize,
        shape: Shape,
        seed: u64,
        progress: &'a dyn Progress,
    ) -> Result<Self, BenchError> {
        let params = set.sophomr()?.clone();
        let messages = (params.slots() * batches) as u64;
        let bench = DigestBench {
            pertinent: 1,
            ..DigestBench::new(Setting {
                shape,
                ..Setting::of_batch(set, seed, messages)
            })
        };
        let (mut keys, mut clues) = (Vec::new(), Vec::new());
        let mut rounds = RealRounds::new(set, shape.payload_bytes)?;
        for recipient in 0..recipients as u64 {
            let mut rng = ChaCha20Rng::seed_from_u64(seed.wrapping_add(recipient));
            let Keys {
                secret,
                clue,
                detection,
            } = bench.keys(&params, &mut rng);
            rounds.add(&secret, &mut rng)?;
            let mut file = Vec::new();
            detection.write(&params, &mut file)?;
            keys.push(file);
            clues.push(clue);
        }
        let board = held(&mut bench.board(&params.clue, clues), messages)?;
        let plan = DigestPlan::new(&params, 0..messages, shape.bound, Some(shape.payload_bytes))?;
        // The memory that digests use is allocated once.
        Detector::new(params.clone(), DetectionKey::read(&params, &keys[0][..])?).take_memory();
        let memory = [
            memory_bytes(set, EngineKind::Sophomr, recipients)?,
            memory_bytes(set, EngineKind::Rounds, recipients)?,
        ];
        let instant = match set.instantomr() {
            Ok(instant) => Some(InstantUnits::new(instant, CHUNK as u64, None, seed)?),
            Err(_) => None,
        };
        Ok(Self {
            params,
            plan,
            board,
            keys,
            rounds,
            memory,
            instant,
            progress,
        })
    }

    /// Measures the costs with a board of two batches.
    ///
    /// Errors: those of all steps.
    pub fn costs(&mut self, command: String, date: String) -> Result<ClusterCosts, BenchError> {
        let together = self.keys.len();
        let (detectors, load) = cpu(|| self.load(0..together))?;
        let one = &detectors[..1];
        let (_, first_s) = cpu(|| self.made(one, 0..1))?;
        let (both, both_s) = cpu(|| self.made(one, 0..BATCHES))?;
        let (_, all_s) = cpu(|| self.made(&detectors, 0..1))?;
        let (_, all_both_s) = cpu(|| self.made(&detectors, 0..BATCHES))?;
        let digest = both[0].to_bytes(&self.params)?.len();
        let further = (together - 1) as f64;
        let (next, more) = (both_s - first_s, (all_s - first_s) / further);
        let units = UnitCosts {
            batch_messages: self.params.slots() as u64,
            together: together as u64,
            first_core_s: first_s,
            next_batch_core_s: next,
            further_core_s: more,
            further_next_batch_core_s: (all_both_s - all_s - next) / further,
            load_core_s: load / together as f64,
            key_bytes: self.keys[0].len() as u64,
            message_bytes: (self.board.clue_bytes() + self.plan.payload_bytes().unwrap_or(0))
                as u64,
            digest_bytes: digest as u64,
            memory_bytes: self.memory[0],
            message_core_s: self.message_core_s()?,
            rounds: self.rounds.costs(&mut self.board, self.memory[1])?,
        };
        Ok(ClusterCosts::new(
            command,
            date,
            &self.params,
            rayon::current_num_threads(),
            units,
        ))
    }

    /// Runs queues with one worker and compares them with the simulation: digests one by one, digests together, digests
    /// of each batch for all recipients, and both of two rounds together.
    ///
    /// Errors: those of all steps.
    pub fn compare(&mut self, costs: &UnitCosts) -> Result<Vec<Compared>, BenchError> {
        let recipients = self.keys.len();
        let batches = self.plan.batches() as u64;
        let groups = |most: usize| -> Vec<Range<usize>> {
            let starts = (0..recipients).step_by(most);
            starts
                .map(|start| start..recipients.min(start + most))
                .collect()
        };
        let mut all = Vec::new();
        for (name, most) in [("one by one", 1), ("together", costs.together as usize)] {
            let groups = groups(most.min(TOGETHER));
            let (_, real_s) = cpu(|| self.digests(&groups, 0..self.plan.batches()))?;
            let runs: Vec<Run> = groups
                .iter()
                .map(|group| run(group.len(), Work::Digests { batches }))
                .collect();
            all.push(self.compared(name, real_s, &runs, costs));
        }
        let groups = groups(costs.together as usize);
        let mut numbers = 0..self.plan.batches();
        let (_, real_s) =
            cpu(|| numbers.try_for_each(|batch| self.digests(&groups, batch..batch + 1)))?;
        let of_batch = || {
            let work = Work::Digests { batches: 1 };
            groups.iter().map(move |group| run(group.len(), work))
        };
        let runs: Vec<Run> = (0..batches).flat_map(|_| of_batch()).collect();
        all.push(self.compared("batch by batch", real_s, &runs, costs));
        let messages = self.plan.range();
        let real_s = self
            .rounds
            .queue(&mut self.board, messages.clone(), &groups)?;
        let work = Work::Scans {
            board: messages.end,
        };
        let runs: Vec<Run> = groups
            .iter()
            .map(|group| Run {
                messages: messages.end,
                ..run(group.len(), work)
            })
            .collect();
        all.push(self.compared("two rounds", real_s, &runs, costs));
        Ok(all)
    }

    /// Computes digests of some batches for all recipients.
    fn digests(
        &mut self,
        groups: &[Range<usize>],
        batches: Range<usize>,
    ) -> Result<(), BenchError> {
        for group in groups {
            let detectors = self.load(group.clone())?;
            self.made(&detectors, batches.clone())?;
        }
        Ok(())
    }

    fn compared(
        &self,
        queue_name: &'static str,
        real_s: f64,
        runs: &[Run],
        costs: &UnitCosts,
    ) -> Compared {
        let worker = Nodes {
            node_cores: 1,
            efficiency: 1.0,
            // Everything is in memory.
            node_bandwidth: f64::INFINITY,
            nodes: Some(1),
            digest_hours: 1,
        };
        let done = queue(runs, 1, &worker, costs, u64::MAX, 1);
        let predicted_s = done.busy_us as f64 / 1e6;
        Compared {
            queue: queue_name,
            recipients: self.keys.len(),
            batches: self.plan.batches(),
            predicted_s,
            real_s,
            predicted_over_real: predicted_s / real_s,
        }
    }

    fn message_core_s(&mut self) -> Result<Option<f64>, BenchError> {
        let measured = self
            .instant
            .as_mut()
            .map(|units| units.message_core_s(CHUNK));
        measured.transpose()
    }

    fn load(&self, recipients: Range<usize>) -> Result<Vec<Detector>, BenchError> {
        let detector = |file: &Vec<u8>| {
            let key = DetectionKey::read(&self.params, &file[..])?;
            Ok(Detector::new(self.params.clone(), key))
        };
        self.keys[recipients].iter().map(detector).collect()
    }

    /// Computes the digests of one run.
    fn made(
        &mut self,
        detectors: &[Detector],
        batches: Range<usize>,
    ) -> Result<Vec<Digest>, BenchError> {
        let range = self.plan.batch(batches.start).start..self.plan.batch(batches.end - 1).end;
        let (bound, bytes) = (self.plan.bound(), self.plan.payload_bytes());
        let plan = DigestPlan::new(&self.params, range, bound, bytes)?;
        let detectors: Vec<&Detector> = detectors.iter().collect();
        let made = digests(
            &detectors,
            &mut self.board,
            &plan,
            [0; 16],
            Sealing::None,
            [1; SEED_BYTES],
            self.progress,
        )?;
        Ok(made.into_iter().map(|output| output.digest).collect())
    }
}

fn run(recipients: usize, work: Work) -> Run {
    Run {
        at_us: 0,
        begun_us: 0,
        recipients: recipients as u64,
        work,
        piece: 0,
        messages: 0,
    }
}

/// Returns the bytes of memory of a run for some recipients over one batch, with their keys.
fn memory_bytes(set: &ParamSet, engine: EngineKind, recipients: usize) -> Result<u64, BenchError> {
    let clues = ClueKind::Bound;
    let shape = memory::Shape {
        recipients,
        batches: 1,
        threads: rayon::current_num_threads(),
    };
    let key = key_bytes(engine, set.key_file_bytes(engine, clues)?);
    Ok(run_bytes(set, engine, clues, shape)? + recipients as u64 * key)
}

/// Reads messages into memory, so that making them is not measured.
fn held(source: &mut dyn MessageSource, messages: u64) -> Result<Messages, BenchError> {
    let read = omr_detector::DetectorError::Source;
    let clues = source.clues(0..messages).map_err(read)?;
    let payloads = source.payloads(0..messages).map_err(read)?;
    let hashes: Option<KeptHashes> = source.hashes(0..messages).map_err(read)?;
    let board = Messages::new(0..messages, clues, payloads)?;
    Ok(match hashes {
        Some(hashes) => board.with_hashes(hashes)?,
        None => board,
    })
}

/// Returns the result and the core seconds of `work`.
fn cpu<T>(work: impl FnOnce() -> Result<T, BenchError>) -> Result<(T, f64), BenchError> {
    let before = process_seconds();
    let done = work()?;
    Ok((done, process_seconds() - before))
}
