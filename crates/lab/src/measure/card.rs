//! A graphics card: whether it computes what the processor does, and how fast.

use crate::measure::digest::{BenchError, DigestBench, timed};
use crate::measure::{Setting, median};
use chacha20::ChaCha20Rng;
use clap::Args;
use omr_cuda::{Arithmetic, Card, CudaRing, Kernel, Launch, Machine, MachineError, checks};
use omr_detector::sophomr::{BackendEngine, Detector, Output, digests};
use omr_detector::{MessageSource, Messages, Progress};
use omr_protocol::sophomr::{DetectionKey, DigestPlan, Params};
use omr_protocol::{ClueKey, SEED_BYTES, Sealing};
use omr_ring::{Coeff, Poly, Ring, RowTransform};
use rand_core::SeedableRng;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a batch of transforms.
const ROWS: usize = 256;
/// Batches of transforms that are timed together.
const BATCHES: usize = 8;
/// Runs of digests for several recipients.
const TOGETHER_RUNS: usize = 3;

/// Checks and times the first card.
#[derive(Clone, Debug, Args)]
pub struct CardBench {
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub setting: Setting,
    /// Digests that are timed
    #[arg(long, value_name = "R", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Recipients whose digests are made together
    #[arg(long, value_name = "R", default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=8))]
    pub recipients: u16,
    /// Only check what the card computes
    #[arg(long)]
    pub only_checks: bool,
}

/// What a card is, and what it did.
#[derive(Clone, Debug, Serialize)]
pub struct CardFigures {
    /// Its name.
    pub card: String,
    /// The driver's version.
    pub driver: i32,
    /// The parameter set.
    pub params: &'static str,
    /// Messages of a digest.
    pub messages: u64,
    /// Digests made on it.
    pub digests: usize,
    /// Of these, digests whose bytes were those of the processor.
    pub equal: usize,
    /// What was timed.
    #[serde(flatten)]
    pub times: Option<CardTimes>,
}

/// Medians.
#[derive(Clone, Debug, Serialize)]
pub struct CardTimes {
    /// Operations a second: fused multiply-adds of doubles, multiply-adds of 32-bit integers, the same into 64 bits.
    pub rates: [f64; 3],
    /// What transforms are computed in.
    pub arithmetic: String,
    /// Microseconds of the transform of a row, of 256.
    pub forward_us: f64,
    /// The same of inverse ones.
    pub inverse_us: f64,
    /// The same in the other arithmetic, there and back.
    pub other_us: [f64; 2],
    /// From the bytes of a detection key in memory to a detector.
    pub load_s: f64,
    /// Of these, from the key in this process's memory to the card.
    pub upload_s: f64,
    /// A digest, clues and payloads in memory.
    pub digest_s: f64,
    /// The least of the runs.
    pub least_digest_s: f64,
    /// Its parts.
    pub stages: BTreeMap<&'static str, f64>,
    /// Seconds of kernels in one digest.
    pub card_s: f64,
    /// The same by kernel.
    pub kernels: BTreeMap<&'static str, f64>,
    /// How often each ran.
    pub launches: BTreeMap<&'static str, usize>,
    /// The digest of the processor, on all its cores.
    pub processor_s: f64,
    /// Recipients whose digests were made together.
    pub recipients: usize,
    /// All their digests.
    pub together_s: f64,
    /// Each further one.
    pub further_s: f64,
    /// Bytes of the card that one recipient's digest took at most.
    pub bytes_one: usize,
    /// The same of all of them.
    pub bytes_all: usize,
}

/// Recipients of a board in memory.
struct World {
    params: Arc<Params>,
    plan: DigestPlan,
    /// Files of detection keys.
    keys: Vec<Vec<u8>>,
    board: Messages,
}

impl World {
    fn new(bench: &CardBench, params: &Arc<Params>) -> Result<Self, BenchError> {
        let (setting, digest) = (&bench.setting, DigestBench::new(bench.setting.clone()));
        let mut rng = ChaCha20Rng::seed_from_u64(setting.start.seed);
        let (mut keys, mut addresses) = (Vec::new(), Vec::<ClueKey>::new());
        for _ in 0..if bench.only_checks {
            1
        } else {
            bench.recipients
        } {
            let made = digest.keys(params, &mut rng);
            let mut file = Vec::new();
            made.detection.write(params, &mut file)?;
            keys.push(file);
            addresses.push(made.clue);
        }
        let digest = DigestBench {
            pertinent: (setting.messages as usize / addresses.len()).min(50),
            ..digest
        };
        let mut board = digest.board(&params.clue, addresses);
        let all = 0..setting.messages;
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| std::io::Error::other(error);
        let clues = board.clues(all.clone()).map_err(failed)?;
        let payloads = board.payloads(all.clone()).map_err(failed)?;
        Ok(Self {
            plan: DigestPlan::new(params, all.clone(), setting.shape.bound, setting.payload())?,
            params: params.clone(),
            keys,
            board: Messages::new(all, clues, payloads)?,
        })
    }

    fn key(&self, recipient: usize) -> Result<DetectionKey, BenchError> {
        Ok(DetectionKey::read(&self.params, &self.keys[recipient][..])?)
    }

    fn digests(
        &mut self,
        of: &[&Detector],
        progress: &dyn Progress,
    ) -> Result<(Vec<Output>, f64), BenchError> {
        let (board, seed) = (&mut self.board, [7; SEED_BYTES]);
        let (plan, sealing) = (&self.plan, Sealing::None);
        let (made, seconds) = timed(|| digests(of, board, plan, [0; 16], sealing, seed, progress));
        Ok((made?, seconds))
    }
}

impl CardBench {
    /// Runs it.
    ///
    /// Errors: no card, one that fails, one that computes something else than the processor.
    pub fn run(&self, progress: &dyn Progress) -> Result<CardFigures, BenchError> {
        let card = Arc::new(Card::new(0)?);
        let machine: Arc<dyn Machine> = card.clone();
        checks::rows(&machine)?;
        let set = self.setting.set()?;
        let params = set.sophomr()?;
        let levels = (0..params.chain.len()).map(|level| params.chain.basis(level));
        checks::switches(
            &machine,
            &params.ring,
            &levels.collect::<Vec<_>>(),
            params.p(),
        )?;
        let mut world = World::new(self, params)?;
        let here = Detector::new(params.clone(), world.key(0)?);
        let (expected, _) = world.digests(&[&here], progress)?;
        let processor_s = expected[0].stages.total();
        drop(here);

        let free = card.memory()?[0];
        let backend = Arc::new(CudaRing::new(machine.clone(), &params.ring)?);
        let ring = params.ring.with_backend(backend.clone());
        let engine = BackendEngine::new(params, backend);
        let engine = engine.ok_or_else(|| BenchError::CardSet(params.name().into()))?;
        let (read, read_s) = timed(|| world.key(0));
        let (away, upload_s) = timed(|| uploaded(&card, &engine, read?));
        let away = away?;
        let bytes = expected[0].digest.to_bytes(params)?;
        let (mut equal, mut outputs) = (0, Vec::new());
        for _ in 0..if self.only_checks { 1 } else { self.runs } {
            let (mut made, seconds) = world.digests(&[&away], progress)?;
            let made = made.remove(0);
            equal += usize::from(made.digest.to_bytes(params)? == bytes);
            outputs.push((made, seconds));
        }
        let mut figures = CardFigures {
            card: card.name(),
            driver: card.driver()?,
            params: params.name(),
            messages: self.setting.messages,
            digests: outputs.len(),
            equal,
            times: None,
        };
        if self.only_checks {
            return Ok(figures);
        }
        let bytes_one = free - card.memory()?[0];
        card.start_clock();
        world.digests(&[&away], progress)?;
        let kernels = card.stop_clock()?;
        let of_kernels = kernels.iter();
        let digest_s = median(outputs.iter().map(|(_, seconds)| *seconds));
        let together_s = self.together(&mut world, &engine, away, progress)?;
        let recipients = usize::from(self.recipients);
        let [forward_us, inverse_us] = transforms(&card, &ring)?;
        let other_us = in_other_arithmetic(&params.ring, machine.arithmetic())?;
        figures.times = Some(CardTimes {
            rates: rates(&card)?,
            arithmetic: format!("{:?}", machine.arithmetic()).to_lowercase(),
            forward_us,
            inverse_us,
            other_us,
            load_s: read_s + upload_s,
            upload_s,
            digest_s,
            least_digest_s: outputs
                .iter()
                .map(|(_, s)| *s)
                .fold(f64::INFINITY, f64::min),
            stages: stages(&outputs),
            card_s: of_kernels.clone().map(|(_, seconds, _)| seconds).sum(),
            launches: of_kernels
                .clone()
                .map(|(kernel, _, times)| (kernel.name(), *times))
                .collect(),
            kernels: of_kernels
                .map(|(kernel, seconds, _)| (kernel.name(), *seconds))
                .collect(),
            processor_s,
            recipients,
            together_s,
            further_s: (together_s - digest_s) / (recipients as f64 - 1.0),
            bytes_one,
            bytes_all: free - card.memory()?[0],
        });
        Ok(figures)
    }

    /// Seconds of the digests of all recipients.
    fn together(
        &self,
        world: &mut World,
        engine: &BackendEngine,
        first: Detector,
        progress: &dyn Progress,
    ) -> Result<f64, BenchError> {
        let mut detectors = vec![first];
        for recipient in 1..self.recipients.into() {
            detectors.push(engine.detector(world.key(recipient)?)?);
        }
        let all: Vec<&Detector> = detectors.iter().collect();
        let mut seconds = Vec::new();
        for _ in 0..=TOGETHER_RUNS {
            seconds.push(world.digests(&all, progress)?.1);
        }
        // The first one takes memory from the card.
        Ok(median(seconds.split_off(1)))
    }
}

fn uploaded(
    card: &Card,
    engine: &BackendEngine,
    key: DetectionKey,
) -> Result<Detector, BenchError> {
    let detector = engine.detector(key)?;
    card.wait()?;
    Ok(detector)
}

/// Medians by stage.
fn stages(outputs: &[(Output, f64)]) -> BTreeMap<&'static str, f64> {
    let seconds = |output: &Output, name: &str| -> f64 {
        let own = output.stages.seconds().iter();
        own.filter(|(own, _)| *own == name).map(|(_, s)| s).sum()
    };
    let names = outputs[0].0.stages.seconds().iter().map(|(name, _)| *name);
    let of = |name| median(outputs.iter().map(|(output, _)| seconds(output, name)));
    names.map(|name| (name, of(name))).collect()
}

/// Microseconds of a row of transforms to the evaluation domain and back, in batches: medians.
fn transforms(card: &Card, ring: &Ring) -> Result<[f64; 2], MachineError> {
    let basis = ring.everything();
    let polys = (0..ROWS.div_ceil(basis.len())).map(|_| Poly::<Coeff>::zero(ring, &basis));
    let polys: Vec<_> = polys.collect();
    let backend = ring.backend().expect("a ring on a card");
    let rows = polys.iter().flat_map(|poly| {
        let ids = basis.ids().iter();
        ids.map(|&id| RowTransform::in_place(id, poly.at(id)))
    });
    let rows: Vec<RowTransform> = rows.take(ROWS).collect();
    let inverse: Vec<(RowTransform, u64)> = rows.iter().map(|&row| (row, 1)).collect();
    let each = |batch: &dyn Fn()| -> Result<f64, MachineError> {
        let mut times = Vec::new();
        for _ in 0..20 {
            card.wait()?;
            let (done, seconds) = timed(|| {
                (0..BATCHES).for_each(|_| batch());
                card.wait()
            });
            done?;
            times.push(seconds * 1e6 / (ROWS * BATCHES) as f64);
        }
        Ok(median(times))
    };
    Ok([
        each(&|| backend.forward(&rows))?,
        each(&|| backend.inverse(&inverse))?,
    ])
}

/// The same with the arithmetic that is not the card's own.
fn in_other_arithmetic(ring: &Ring, own: Arithmetic) -> Result<[f64; 2], MachineError> {
    let mut card = Card::new(0)?;
    card.set_arithmetic(match own {
        Arithmetic::Whole => Arithmetic::Floating,
        Arithmetic::Floating => Arithmetic::Whole,
    });
    let card = Arc::new(card);
    let backend = CudaRing::new(card.clone(), ring)?;
    transforms(&card, &ring.with_backend(Arc::new(backend)))
}

/// Operations a second of each kind.
fn rates(card: &Card) -> Result<[f64; 3], MachineError> {
    const BLOCKS: u32 = 2112;
    const THREADS: u32 = 256;
    const CHAINS: f64 = 8.0;
    const ROUNDS: u64 = 1 << 14;
    let words = (BLOCKS * THREADS) as usize;
    let to = card.allocate(words)?;
    let rate = |kernel| {
        let launch = || {
            let call = &[ROUNDS, to];
            card.launch(Launch {
                kernel,
                blocks: BLOCKS,
                rows: 1,
                threads: THREADS,
                call,
            })?;
            card.wait()
        };
        launch()?;
        let (done, seconds) = timed(launch);
        done?;
        Ok(words as f64 * CHAINS * ROUNDS as f64 / seconds)
    };
    let rates: Result<Vec<f64>, MachineError> =
        [Kernel::RateFloating, Kernel::RateWhole, Kernel::RateWide]
            .into_iter()
            .map(rate)
            .collect();
    card.release(to, words);
    Ok(rates?.try_into().expect("three rates"))
}
