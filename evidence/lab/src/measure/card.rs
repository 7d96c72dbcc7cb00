//! A graphics card: whether it computes what the processor does, and how fast.

mod messages;
mod rates;
mod world;

pub use messages::{MessageBench, MessageFigures, MessageTimes};

use crate::measure::digest::{BenchError, timed};
use crate::measure::{Setting, median};
use clap::Args;
use omr_cuda::{Card, CudaRing, Kernel, Machine, MachineError, MessageRing, checks};
use omr_detector::Progress;
use omr_detector::sophomr::{BackendEngine, Detector, Output};
use omr_protocol::ParamSet;
use omr_protocol::instantomr::InstantParams;
use omr_protocol::params::DEFAULT;
use omr_protocol::sophomr::Params;
use omr_ring::Ring;
use rates::{in_other_arithmetic, rates, transforms};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use world::World;

/// Batches of InstantOMR's messages that come one after another.
const BATCHES: u64 = 8;

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
    #[arg(long, value_name = "R", default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=16))]
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
    /// The highest clocks of the card and of its memory.
    pub clocks_mhz: [f64; 2],
    /// The parameter set.
    pub params: &'static str,
    /// Messages of a digest.
    pub messages: u64,
    /// Digests made on it.
    pub digests: usize,
    /// Of these, digests whose bytes were those of the processor.
    pub equal: usize,
    /// InstantOMR's messages, on cards that serve them.
    pub instantomr: Option<MessageFigures>,
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

/// What a card works with.
struct OnCard {
    card: Arc<Card>,
    /// Bytes that were free before.
    free: usize,
    ring: Ring,
    engine: BackendEngine,
}

/// Digests of the first recipient.
struct Runs {
    outputs: Vec<(Output, f64)>,
    /// Those whose bytes were those of the processor.
    equal: usize,
}

impl CardBench {
    /// Runs it.
    ///
    /// Errors: no card, one that fails, one that computes something else than the processor.
    pub fn run(&self, progress: &dyn Progress) -> Result<CardFigures, BenchError> {
        let card = Arc::new(Card::new(0)?);
        let set = self.setting.set()?;
        let params = set.sophomr()?;
        check(card.clone(), params)?;
        let instantomr = self.messages(&card, &set)?;
        let mut world = World::new(self, params)?;
        let here = Detector::new(params.clone(), world.key(0)?);
        let (expected, _) = world.digests(&[&here], progress)?;
        drop(here);
        let bytes = expected[0].digest.to_bytes(params)?;
        let on_card = OnCard::new(card, params)?;
        let (first, loading) = on_card.load(&world)?;
        let runs = self.runs(&mut world, (&first, &bytes), progress)?;
        let figures = CardFigures {
            card: on_card.card.name(),
            driver: on_card.card.driver()?,
            clocks_mhz: on_card.card.clocks()?,
            params: params.name(),
            messages: self.setting.messages,
            digests: runs.outputs.len(),
            equal: runs.equal,
            instantomr,
            times: None,
        };
        if self.only_checks {
            return Ok(figures);
        }
        let processor_s = expected[0].stages.total();
        let times = self.times(
            &mut world,
            &on_card,
            first,
            (&runs, loading, processor_s),
            progress,
        )?;
        Ok(CardFigures {
            times: Some(times),
            ..figures
        })
    }

    /// InstantOMR's messages; none on a card that does not serve them.
    fn messages(
        &self,
        card: &Arc<Card>,
        set: &ParamSet,
    ) -> Result<Option<MessageFigures>, BenchError> {
        let params = match set.instantomr() {
            Ok(params) => params.clone(),
            Err(_) if set.spec().insecure => InstantParams::named("insecure-tiny-hybrid-v4")?,
            Err(_) => InstantParams::named(DEFAULT)?,
        };
        if MessageRing::new(card.clone(), &params.ring).is_err() {
            return Ok(None);
        }
        let free = card.memory()?[0];
        let (seed, batches) = (
            self.setting.start.seed,
            if self.only_checks { 1 } else { BATCHES },
        );
        let mut bench = MessageBench::new(card.clone(), &params, seed, batches)?;
        let figures = bench.compare()?;
        if self.only_checks {
            return Ok(Some(figures));
        }
        let bytes = free - card.memory()?[0];
        let times = bench.times(self.runs)?;
        card.start_clock();
        bench.push()?;
        let each = 1e6 / figures.in_flight as f64;
        let kernels = card.stop_clock()?.into_iter();
        let kernels = kernels.filter(|(_, seconds, _)| *seconds > 0.0);
        let kernels_us = by_name(&kernels.collect::<Vec<_>>(), |(_, seconds, _)| {
            each * seconds
        });
        let times = MessageTimes {
            card_us: kernels_us.values().sum(),
            kernels_us,
            bytes,
            ..times
        };
        Ok(Some(MessageFigures {
            times: Some(times),
            ..figures
        }))
    }

    /// Recipients who have keys.
    fn keys(&self) -> u16 {
        if self.only_checks { 1 } else { self.recipients }
    }

    fn runs(
        &self,
        world: &mut World,
        (detector, bytes): (&Detector, &[u8]),
        progress: &dyn Progress,
    ) -> Result<Runs, BenchError> {
        let mut runs = Runs {
            outputs: Vec::new(),
            equal: 0,
        };
        for _ in 0..if self.only_checks { 1 } else { self.runs } {
            let (mut made, seconds) = world.digests(&[detector], progress)?;
            let made = made.remove(0);
            runs.equal += usize::from(made.digest.to_bytes(detector.params())? == bytes);
            runs.outputs.push((made, seconds));
        }
        Ok(runs)
    }

    fn times(
        &self,
        world: &mut World,
        on_card: &OnCard,
        first: Detector,
        (runs, [read_s, upload_s], processor_s): (&Runs, [f64; 2], f64),
        progress: &dyn Progress,
    ) -> Result<CardTimes, BenchError> {
        let card = &on_card.card;
        let bytes_one = on_card.taken()?;
        card.start_clock();
        world.digests(&[&first], progress)?;
        let kernels = card.stop_clock()?;
        let digest_s = median(runs.outputs.iter().map(|(_, seconds)| *seconds));
        let together_s = self.together(world, &on_card.engine, first, progress)?;
        let [forward_us, inverse_us] = transforms(card, &on_card.ring)?;
        let least = runs.outputs.iter().map(|(_, seconds)| *seconds);
        Ok(CardTimes {
            rates: rates(card)?,
            arithmetic: format!("{:?}", card.arithmetic()).to_lowercase(),
            forward_us,
            inverse_us,
            other_us: in_other_arithmetic(&on_card.ring, card.arithmetic())?,
            load_s: read_s + upload_s,
            upload_s,
            digest_s,
            least_digest_s: least.fold(f64::INFINITY, f64::min),
            stages: stages(&runs.outputs),
            card_s: kernels.iter().map(|(_, seconds, _)| seconds).sum(),
            kernels: by_name(&kernels, |(_, seconds, _)| *seconds),
            launches: by_name(&kernels, |(_, _, times)| *times),
            processor_s,
            recipients: self.recipients.into(),
            together_s,
            further_s: (together_s - digest_s) / (f64::from(self.recipients) - 1.0),
            bytes_one,
            bytes_all: on_card.taken()?,
        })
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

/// What every card has to pass.
fn check(machine: Arc<dyn Machine>, params: &Params) -> Result<(), BenchError> {
    checks::rows(&machine)?;
    let levels = (0..params.chain.len()).map(|level| params.chain.basis(level));
    let levels: Vec<_> = levels.collect();
    Ok(checks::switches(
        &machine,
        &params.ring,
        &levels,
        params.p(),
    )?)
}

impl OnCard {
    fn new(card: Arc<Card>, params: &Arc<Params>) -> Result<Self, BenchError> {
        let free = card.memory()?[0];
        let backend = Arc::new(CudaRing::new(card.clone(), &params.ring)?);
        let engine = BackendEngine::new(params, backend.clone());
        Ok(Self {
            card,
            free,
            ring: params.ring.with_backend(backend),
            engine,
        })
    }

    /// Bytes taken since.
    fn taken(&self) -> Result<usize, MachineError> {
        Ok(self.free - self.card.memory()?[0])
    }

    /// The first recipient's detector; the seconds of reading her key and of bringing it here.
    fn load(&self, world: &World) -> Result<(Detector, [f64; 2]), BenchError> {
        let (key, read_s) = timed(|| world.key(0));
        let key = key?;
        let (detector, upload_s) = timed(|| {
            let detector = self.engine.detector(key)?;
            self.card.wait()?;
            Ok::<_, BenchError>(detector)
        });
        Ok((detector?, [read_s, upload_s]))
    }
}

/// A figure of each kernel.
fn by_name<T>(
    kernels: &[(Kernel, f64, usize)],
    figure: impl Fn(&(Kernel, f64, usize)) -> T,
) -> BTreeMap<&'static str, T> {
    kernels
        .iter()
        .map(|one| (one.0.name(), figure(one)))
        .collect()
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
