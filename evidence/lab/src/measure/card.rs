//! The check of a graphics card against the processor, and the measurement of its speed.

mod messages;
mod rates;
mod world;

pub use messages::{MessageBench, MessageFigures, MessageTimes};

use crate::measure::digest::{BenchError, timed};
use crate::measure::{Setting, median};
use clap::Args;
use omr_cuda::{BatchRings, Card, Kernel, Machine, MachineError, MessageRing, checks};
use omr_detector::Progress;
use omr_detector::sophomr::{BackendEngine, Detector, Output};
use omr_protocol::ParamSet;
use omr_protocol::instantomr::InstantParams;
use omr_protocol::params::DEFAULT;
use omr_protocol::sophomr::{DetectionKey, Params};
use omr_ring::Ring;
use rates::{in_other_arithmetic, rates, transforms};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use world::World;

/// The number of consecutive batches of InstantOMR's messages.
const BATCHES: u64 = 8;

/// The number of runs of digests for several recipients.
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

/// The properties and results of a card.
#[derive(Clone, Debug, Serialize)]
pub struct CardFigures {
    /// The name of the card.
    pub card: String,
    /// The version of the driver.
    pub driver: i32,
    /// The highest clocks of the card and of its memory, in MHz.
    pub clocks_mhz: [f64; 2],
    /// The name of the parameter set.
    pub params: &'static str,
    /// The number of messages of a digest.
    pub messages: u64,
    /// The number of digests computed on the card.
    pub digests: usize,
    /// The number of these digests that equal the processor's, byte for byte.
    pub equal: usize,
    /// The results for InstantOMR's messages, for cards that support them.
    pub instantomr: Option<MessageFigures>,
    /// The measured times.
    #[serde(flatten)]
    pub times: Option<CardTimes>,
}

/// Medians of the measured times.
#[derive(Clone, Debug, Serialize)]
pub struct CardTimes {
    /// Operations per second: fused multiply-adds of doubles, multiply-adds of 32-bit integers, and multiply-adds of
    /// 32-bit integers into 64 bits.
    pub rates: [f64; 3],
    /// The arithmetic of transforms.
    pub arithmetic: String,
    /// Microseconds of the forward transform of a row, in a batch of 256.
    pub forward_us: f64,
    /// Microseconds of the inverse transform of a row, in a batch of 256.
    pub inverse_us: f64,
    /// Microseconds of both transforms in the other arithmetic.
    pub other_us: [f64; 2],
    /// Seconds from the bytes of a detection key in memory to a detector.
    pub load_s: f64,
    /// Seconds of a digest, with clues and payloads in memory.
    pub digest_s: f64,
    /// The least `digest_s` of all runs.
    pub least_digest_s: f64,
    /// Seconds of each stage of a digest.
    pub stages: BTreeMap<&'static str, f64>,
    /// Seconds of all kernels of one digest.
    pub card_s: f64,
    /// Seconds of each kernel in one digest.
    pub kernels: BTreeMap<&'static str, f64>,
    /// The number of launches of each kernel in one digest.
    pub launches: BTreeMap<&'static str, usize>,
    /// Seconds of the processor's digest, on all cores.
    pub processor_s: f64,
    /// The number of recipients whose digests were computed together.
    pub recipients: usize,
    /// Seconds of all their digests.
    pub together_s: f64,
    /// Seconds that each recipient after the first adds.
    pub further_s: f64,
    /// The most bytes of the card's memory that one recipient's digest used.
    pub bytes_one: usize,
    /// The most bytes of the card's memory that all recipients' digests used.
    pub bytes_all: usize,
}

/// The state on a card.
struct OnCard {
    card: Arc<Card>,
    /// The number of bytes that were free at the start.
    free: usize,
    ring: Ring,
    engine: BackendEngine,
}

/// A detector on a card, and the seconds from the bytes of its key to it.
struct Loaded {
    detector: Detector,
    seconds: f64,
}

/// The digests of the first recipient.
struct Runs {
    outputs: Vec<(Output, f64)>,
    /// The number of these digests that equal the processor's, byte for byte.
    equal: usize,
}

impl CardBench {
    /// Runs the benchmark.
    ///
    /// Errors: `Machine` without a card, or if it fails; `Check` if a result differs from the processor's.
    pub fn run(&self, progress: &dyn Progress) -> Result<CardFigures, BenchError> {
        let card = Arc::new(Card::new(0)?);
        let set = self.setting.set()?;
        let params = set.sophomr()?;
        check(card.clone(), params)?;
        let instantomr = self.messages(&card, &set)?;
        let mut world = World::new(self, params)?;
        let here = Detector::new(params.clone(), DetectionKey::read(params, world.key(0))?);
        let (expected, _) = world.digests(&[&here], progress)?;
        drop(here);
        let bytes = expected[0].digest.to_bytes(params)?;
        let on_card = OnCard::new(card, params)?;
        let first = on_card.load(&world)?;
        let runs = self.runs(&mut world, &first.detector, &bytes, progress)?;
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
        let times = self.times(&mut world, &on_card, first, &runs, processor_s, progress)?;
        Ok(CardFigures {
            times: Some(times),
            ..figures
        })
    }

    /// Returns the results for InstantOMR's messages; `None` if the card does not support them.
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
        let kernels = card
            .stop_clock()?
            .into_iter()
            .filter(|(_, seconds, _)| *seconds > 0.0);
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

    /// Returns the number of recipients with keys.
    fn keys(&self) -> u16 {
        if self.only_checks { 1 } else { self.recipients }
    }

    fn runs(
        &self,
        world: &mut World,
        detector: &Detector,
        expected: &[u8],
        progress: &dyn Progress,
    ) -> Result<Runs, BenchError> {
        let mut runs = Runs {
            outputs: Vec::new(),
            equal: 0,
        };
        for _ in 0..if self.only_checks { 1 } else { self.runs } {
            let (mut made, seconds) = world.digests(&[detector], progress)?;
            let made = made.remove(0);
            runs.equal += usize::from(made.digest.to_bytes(detector.params())? == expected);
            runs.outputs.push((made, seconds));
        }
        Ok(runs)
    }

    fn times(
        &self,
        world: &mut World,
        on_card: &OnCard,
        first: Loaded,
        runs: &Runs,
        processor_s: f64,
        progress: &dyn Progress,
    ) -> Result<CardTimes, BenchError> {
        let card = &on_card.card;
        let bytes_one = on_card.taken()?;
        card.start_clock();
        world.digests(&[&first.detector], progress)?;
        let kernels = card.stop_clock()?;
        let digest_s = median(runs.outputs.iter().map(|(_, seconds)| *seconds));
        let together_s = self.together(world, &on_card.engine, first.detector, progress)?;
        let [forward_us, inverse_us] = transforms(card, &on_card.ring)?;
        let least = runs.outputs.iter().map(|(_, seconds)| *seconds);
        Ok(CardTimes {
            rates: rates(card)?,
            arithmetic: format!("{:?}", card.arithmetic()).to_lowercase(),
            forward_us,
            inverse_us,
            other_us: in_other_arithmetic(&on_card.ring, card.arithmetic())?,
            load_s: first.seconds,
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

    /// Returns the seconds of the digests of all recipients.
    fn together(
        &self,
        world: &mut World,
        engine: &BackendEngine,
        first: Detector,
        progress: &dyn Progress,
    ) -> Result<f64, BenchError> {
        let mut detectors = vec![first];
        for recipient in 1..self.recipients.into() {
            detectors.push(engine.detector(world.key(recipient))?);
        }
        let all: Vec<&Detector> = detectors.iter().collect();
        let mut seconds = Vec::new();
        for _ in 0..=TOGETHER_RUNS {
            seconds.push(world.digests(&all, progress)?.1);
        }
        // The first run allocates the card's memory.
        Ok(median(seconds.split_off(1)))
    }
}

/// Runs the checks that every card must pass.
fn check(machine: Arc<dyn Machine>, params: &Params) -> Result<(), BenchError> {
    checks::rows(&machine)?;
    let levels: Vec<_> = (0..params.chain.len())
        .map(|level| params.chain.basis(level))
        .collect();
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
        let rings = BatchRings::new(card.clone(), params)?;
        Ok(Self {
            card,
            free,
            ring: params.ring.with_backend(rings.large().clone()),
            engine: rings.engine(params),
        })
    }

    /// Returns the bytes allocated since.
    fn taken(&self) -> Result<usize, MachineError> {
        Ok(self.free - self.card.memory()?[0])
    }

    /// Loads the first recipient's detector.
    fn load(&self, world: &World) -> Result<Loaded, BenchError> {
        let (detector, seconds) = timed(|| {
            let detector = self.engine.detector(world.key(0))?;
            self.card.wait()?;
            Ok::<_, BenchError>(detector)
        });
        Ok(Loaded {
            detector: detector?,
            seconds,
        })
    }
}

/// Returns a figure of each kernel, by name.
fn by_name<T>(
    kernels: &[(Kernel, f64, usize)],
    figure: impl Fn(&(Kernel, f64, usize)) -> T,
) -> BTreeMap<&'static str, T> {
    kernels
        .iter()
        .map(|one| (one.0.name(), figure(one)))
        .collect()
}

/// Returns the medians of each stage.
fn stages(outputs: &[(Output, f64)]) -> BTreeMap<&'static str, f64> {
    let seconds = |output: &Output, name: &str| -> f64 {
        let own = output.stages.seconds().iter();
        own.filter(|(own, _)| *own == name).map(|(_, s)| s).sum()
    };
    let names = outputs[0].0.stages.seconds().iter().map(|(name, _)| *name);
    let of = |name| median(outputs.iter().map(|(output, _)| seconds(output, name)));
    names.map(|name| (name, of(name))).collect()
}
