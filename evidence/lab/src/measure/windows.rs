//! Counts of how often InstantOMR's first windows miss messages and let strangers' pass. Real clues, with coordinates
//! rounded as the detector does, are tested in the clear with the secret.

use crate::measure::BenchError;
use crate::measure::workload::uniform_clue;
use chacha20::ChaCha20Rng;
use omr_client::{Sender, identity};
use omr_detector::instantomr::coordinates;
use omr_protocol::instantomr::InstantParams;
use omr_protocol::{Clue, ClueKind};
use omr_tfhe::BlockSecret;
use rand_core::SeedableRng;
use rayon::prelude::*;
use serde::Serialize;

/// Counts compared with predictions.
#[derive(Clone, Debug, Serialize)]
pub struct WindowFigures {
    /// The name of the parameter set.
    pub params: &'static str,
    /// The number of the recipient's clues, and of strangers'.
    pub clues: u64,
    /// Half the window, in units of a turn.
    pub half: u32,
    /// The number of coordinates of the recipient's clues that are farther than `half` units from 0.
    pub missed: Vec<Line>,
    /// The number of strangers' clues with at least `half` coordinates in the window.
    pub hits: Vec<Line>,
    /// log2 of the rate at which messages are missed, by the distribution.
    pub miss_log2: f64,
    /// log2 of the rate at which strangers' messages pass.
    pub false_positive_log2: f64,
}

/// One count.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Line {
    /// Units, or coordinates.
    pub half: u32,
    /// The counted number.
    pub found: u64,
    /// The expected number.
    pub expected: f64,
}

/// The number of distances that are counted separately.
const DISTANCES: usize = 64;
/// The number of clues in one task.
const TASK: u64 = 1000;

#[derive(Clone)]
struct Counts {
    /// The number of coordinates of the recipient's clues, by distance from 0.
    distance: [u64; DISTANCES],
    /// The number of strangers' clues, by coordinates in the window.
    hits: Vec<u64>,
}

/// Counts over `clues` clues for one recipient and as many for nobody.
///
/// Errors: the secret is of a set without InstantOMR.
pub fn windows(params: &InstantParams, clues: u64, seed: u64) -> Result<WindowFigures, BenchError> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let (secret, address) = identity(&params.clue, ClueKind::Plain, &mut rng);
    let bits = secret.instant_secret().coeffs().iter().map(|&c| c as u64);
    let (block, _) = params.blocks();
    let secret = BlockSecret::from_bits(bits.collect(), block)
        .ok_or(omr_client::SecretKeyError::Coefficients)?;
    let sender = Sender::new(&params.clue, &address);
    let task = |task: u64| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        rng.set_stream(1 + task);
        let mut counts = Counts::new(params);
        for _ in task * TASK..clues.min((task + 1) * TASK) {
            counts.count(params, &secret, &sender, &mut rng);
        }
        counts
    };
    let counts = (0..clues.div_ceil(TASK))
        .into_par_iter()
        .map(task)
        .reduce(|| Counts::new(params), Counts::plus);
    Ok(counts.figures(params, &secret, clues))
}

impl Counts {
    fn new(params: &InstantParams) -> Self {
        Self {
            distance: [0; DISTANCES],
            hits: vec![0; params.coordinates() + 1],
        }
    }

    fn count(
        &mut self,
        params: &InstantParams,
        secret: &BlockSecret,
        sender: &Sender,
        rng: &mut ChaCha20Rng,
    ) {
        for distance in distances(params, secret, &sender.gen_clue(rng)) {
            self.distance[(distance as usize).min(DISTANCES - 1)] += 1;
        }
        let strangers = distances(params, secret, &uniform_clue(&params.clue, rng));
        let half = u64::from(params.spec().half);
        let hits = strangers.iter().filter(|&&distance| distance <= half);
        self.hits[hits.count()] += 1;
    }

    fn plus(mut self, other: Self) -> Self {
        let pairs = self.distance.iter_mut().zip(other.distance);
        pairs.for_each(|(x, y)| *x += y);
        let pairs = self.hits.iter_mut().zip(other.hits);
        pairs.for_each(|(x, y)| *x += y);
        self
    }

    fn figures(&self, params: &InstantParams, secret: &BlockSecret, clues: u64) -> WindowFigures {
        let coordinates = params.coordinates();
        let all = (clues * coordinates as u64) as f64;
        let error = params.phase_error(secret.weight());
        let missed = |half: u32| Line {
            half,
            found: self.distance[half as usize + 1..].iter().sum(),
            expected: all * error.rate(half),
        };
        let share = (params.false_positive_log2() / coordinates as f64).exp2();
        let hits = |least: usize| Line {
            half: least as u32,
            found: self.hits[least..].iter().sum(),
            expected: clues as f64 * at_least(coordinates, least, share),
        };
        let step = (params.spec().half / 9).max(1) as usize;
        WindowFigures {
            params: params.name(),
            clues,
            half: params.spec().half,
            missed: (0..=params.spec().half).step_by(step).map(missed).collect(),
            hits: (1..=coordinates).map(hits).collect(),
            miss_log2: params.miss_log2(),
            false_positive_log2: params.false_positive_log2(),
        }
    }
}

/// Returns the distances of a clue's coordinates from 0.
fn distances(params: &InstantParams, secret: &BlockSecret, clue: &Clue) -> Vec<u64> {
    let turn = 2 * params.ring.n() as u64;
    let spec = params.clue.spec();
    let posted = clue.a.iter().chain(&clue.b);
    let words: Vec<u32> = posted.map(|&x| spec.stands_for(x)).collect();
    let phases = coordinates(params, &words)
        .into_iter()
        .map(|ct| ct.phase(secret, turn));
    phases.map(|phase| phase.min(turn - phase)).collect()
}

/// Returns the probability that at least `least` of `count` independent events of probability `p` happen.
fn at_least(count: usize, least: usize, p: f64) -> f64 {
    let exactly = |k: usize| {
        let ways = (0..k).fold(1.0, |ways, i| ways * (count - i) as f64 / (i + 1) as f64);
        ways * p.powi(k as i32) * (1.0 - p).powi((count - k) as i32)
    };
    (least..=count).map(exactly).sum()
}
