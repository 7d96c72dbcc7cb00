//! Both rounds of many full batches with many fresh keys, and a check of every scan and every fetch.

mod tally;

pub use tally::{Deviation, RoundsTally};

use super::tally::Rounding;
use super::{Soak, Strain};
use crate::measure::digest::stages_without_reading;
use crate::measure::rounds::{BOARD, Person, in_memory, prepared};
use crate::measure::{BenchError, Hostile, Strangers, Workload, clear};
use chacha20::ChaCha20Rng;
use omr_console::peak_rss_bytes;
use omr_detector::rounds::{ScanRequest, scan};
use omr_detector::{DetectorError, MessageSource, Progress};
use omr_protocol::clue::norms;
use omr_protocol::rounds::{RoundsParams, RoundsPlan, Scanned};
use omr_protocol::{Clue, ClueKind, ParamSet, SEED_BYTES, Sealing};
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;

/// The number of coordinates of a scan.
const COORDINATES: usize = 2;

/// How much wider than the window of a scan, in each coordinate, the window is in which many strangers' clues lie by
/// chance.
const WIDER: f64 = 16.0;

/// The result of one batch in two rounds.
#[derive(Clone, Debug, Serialize)]
pub struct RoundsLine {
    /// The number of the key, from 0.
    pub key: u64,
    /// The seed of the key.
    pub seed: u64,
    /// The number of the key's batches before this one.
    pub nth: u64,
    /// The poster of the impertinent messages.
    pub strangers: Strain,
    /// The number of messages of the batch.
    pub messages: u64,
    /// The number of clues that did not parse.
    pub unusable_clues: usize,
    /// The number of pertinent messages posted.
    pub pertinent: usize,
    /// The number of these that came back.
    pub found: usize,
    /// The number of these that did not come back.
    pub missed: usize,
    /// The number of strangers' messages that came back.
    pub false_positives: usize,
    /// The number of honest strangers' messages in a window that is 16 times as wide in each coordinate.
    pub in_wider_window: Option<usize>,
    /// The number of fetches.
    pub fetches: usize,
    /// The number of symbols of all messages that came back.
    pub symbols: usize,
    /// The number of payloads that differ from those on the board, or from their checksum.
    pub inexact: usize,
    /// For each coordinate, the distances in the scan, in steps of a rounded body, from those in the clear.
    pub distances: [Deviation; COORDINATES],
    /// The distances of the answers' coefficients from symbols.
    #[serde(flatten)]
    pub rounding: Rounding,
    /// Seconds of a scan from clues in memory.
    pub scan_s: f64,
    /// Seconds of an answer to a query, the least of the batch.
    pub answer_s: f64,
    /// The peak memory of the process.
    pub peak_rss_bytes: u64,
}

impl RoundsLine {
    /// Returns whether all pertinent messages came back, and every payload bit for bit.
    pub fn is_exact(&self) -> bool {
        self.missed == 0 && self.inexact == 0
    }
}

impl Soak {
    /// Makes both rounds of each batch of a key and checks them. The strangers of every other key are hostile.
    ///
    /// Errors: those of parameters, plan, detector and files, and of `take`, which receives the result of each batch.
    pub fn run_rounds<E: From<BenchError>>(
        &self,
        set: &ParamSet,
        key: u64,
        progress: &dyn Progress,
        mut take: impl FnMut(RoundsLine) -> Result<(), E>,
    ) -> Result<(), E> {
        let params = set.rounds().map_err(BenchError::from)?;
        let seed = self.start.seed.wrapping_add(key);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let of_key = OfKey {
            set,
            params,
            person: Person::new(params, ClueKind::Plain, &mut rng),
            key,
            seed,
        };
        for nth in 0..self.batches_of(key) {
            take(self.batch_in_rounds(&of_key, nth, progress)?)?;
        }
        Ok(())
    }

    /// Compares the sums over batches with predictions.
    ///
    /// Errors: those of parameters and plan.
    pub fn compare_rounds(
        &self,
        set: &ParamSet,
        honest: &mut RoundsTally,
        hostile: &mut RoundsTally,
    ) -> Result<(), BenchError> {
        let params = set.rounds()?;
        let range = 0..set.sophomr()?.slots() as u64;
        let bytes = self.shape.payload_bytes;
        let rows = RoundsPlan::new(params, range, bytes, ClueKind::Plain)?.rows();
        let [_, longest] = norms(params.clue.spec().n);
        honest.compare(params, rows, 1.0, params.miss_log2());
        hostile.compare(params, rows, longest, params.hostile_miss_log2());
        Ok(())
    }

    fn batch_in_rounds(
        &self,
        of_key: &OfKey<'_>,
        nth: u64,
        progress: &dyn Progress,
    ) -> Result<RoundsLine, BenchError> {
        let OfKey {
            set,
            params,
            person,
            key,
            seed,
        } = of_key;
        let strain = Strain::of_key(*key);
        let mut board = self.board_of_rounds(of_key, nth)?;
        let mut rng = ChaCha20Rng::seed_from_u64(self.board_seed(*key, nth));
        // The board takes the first stream.
        rng.set_stream(1);
        let range = 0..set.sophomr()?.slots() as u64;
        let bytes = self.shape.payload_bytes;
        let plan = RoundsPlan::new(params, range.clone(), bytes, ClueKind::Plain)?;
        let mut messages = in_memory(&mut board, range.clone())?;
        let mut secret = [0; SEED_BYTES];
        rng.fill_bytes(&mut secret);
        let request = ScanRequest {
            range: range.clone(),
            payload_bytes: bytes,
            board_id: BOARD,
            sealing: Sealing::None,
            secret,
        };
        let output = scan(&[&person.detector], &mut messages, &request, progress)?.remove(0);
        let pages = prepared(params, &plan, ClueKind::Plain, &mut messages, &secret)?;
        let got = person.retrieve(params, &output.scanned, &pages, &mut rng)?;
        let measured = Measured::new(params, person, &output.scanned, &mut messages)?;
        let pertinent = board.pertinent();
        let is_own = |index: &u64| pertinent.binary_search(index).is_ok();
        let found = got.messages.iter().filter(|one| is_own(&one.index)).count();
        let differs = got
            .messages
            .iter()
            .filter(|one| one.payload.as_deref() != Some(&board.payload(one.index)[..]));
        Ok(RoundsLine {
            key: *key,
            seed: *seed,
            nth,
            strangers: strain,
            messages: range.end,
            unusable_clues: output.unusable_clues,
            pertinent: pertinent.len(),
            found,
            missed: pertinent.len() - found,
            false_positives: got.messages.len() - found,
            in_wider_window: (strain == Strain::Honest)
                .then(|| measured.in_wider_window(params, &is_own)),
            fetches: got.fetches,
            symbols: got.messages.len() * plan.symbols(),
            inexact: differs.count() + got.unreadable,
            distances: measured.deviations(params),
            rounding: Rounding::new(&got.roundings),
            scan_s: stages_without_reading(&output.stages).values().sum(),
            answer_s: got.answer_s,
            peak_rss_bytes: peak_rss_bytes(),
        })
    }

    fn board_of_rounds(&self, of_key: &OfKey<'_>, nth: u64) -> Result<Workload, BenchError> {
        let (params, bytes) = (of_key.params, self.shape.payload_bytes);
        let bulk = of_key.set.sophomr()?;
        let (address, messages) = (of_key.person.address.clone(), bulk.slots() as u64);
        let (clue, seed) = (params.clue.clone(), self.board_seed(of_key.key, nth));
        let board = Workload::new(clue, address, messages, self.pertinent, bytes, seed);
        if Strain::of_key(of_key.key) == Strain::Honest {
            return Ok(board);
        }
        let hostile = Hostile::of_rounds(bulk, params, bytes, seed / 2)?;
        Ok(board.with_strangers(Strangers::Hostile(Box::new(hostile))))
    }
}

/// A key of a soak test, and its recipient.
struct OfKey<'a> {
    set: &'a ParamSet,
    params: &'a Arc<RoundsParams>,
    person: Person,
    key: u64,
    seed: u64,
}

/// The distances of a batch, in steps of a rounded body, for each coordinate.
struct Measured {
    /// The distances in the scan.
    scanned: [Vec<f64>; COORDINATES],
    /// The distances of the clues in the clear; `None` for a clue that does not parse.
    clear: Vec<Option<[f64; COORDINATES]>>,
}

impl Measured {
    fn new(
        params: &RoundsParams,
        person: &Person,
        scanned: &Scanned,
        messages: &mut dyn MessageSource,
    ) -> Result<Self, BenchError> {
        let of = |coordinate| person.recipient.distances(scanned, coordinate);
        let clues = messages.clues(scanned.header.range.clone());
        let clues = clues.map_err(DetectorError::Source)?;
        let ring = &params.clue.ring;
        let secret = person.secret.clue_secret();
        let secret = secret.poly(ring, &ring.everything());
        let bits = params.scan.spec().body_bits;
        let distance = |bytes: &[u8]| {
            let clue = Clue::from_bytes(&params.clue, bytes).ok()?;
            let a = clear::vector(&params.clue, &clue.a);
            let b = clear::doubled(&params.clue, &clue.b[..COORDINATES]);
            let twice = clear::distances(&params.clue, &secret, &a, &b);
            let turn = 2.0 * params.clue.spec().q as f64;
            Some([0, 1].map(|c| twice[c] as f64 / turn * f64::from(bits[c]).exp2()))
        };
        let clues = clues.par_chunks_exact(messages.clue_bytes());
        Ok(Self {
            scanned: [of(0)?, of(1)?],
            clear: clues.map(distance).collect(),
        })
    }

    /// Returns how far the scan's distances are from those in the clear.
    fn deviations(&self, params: &RoundsParams) -> [Deviation; COORDINATES] {
        [0, 1].map(|c| {
            let turn = f64::from(params.scan.spec().body_bits[c]).exp2();
            let mut deviation = Deviation::default();
            for (scanned, clear) in self.scanned[c].iter().zip(&self.clear) {
                if let Some(clear) = clear {
                    let off = scanned - clear[c];
                    deviation.take(off - (off / turn).round() * turn);
                }
            }
            deviation
        })
    }

    /// Returns how many messages of strangers lie in the wider window.
    fn in_wider_window(&self, params: &RoundsParams, is_own: &dyn Fn(&u64) -> bool) -> usize {
        let limits = params.scan.spec().limits.map(|limit| WIDER * limit);
        let pairs = self.scanned[0].iter().zip(&self.scanned[1]);
        let inside = (0..)
            .zip(pairs)
            .filter(|(_, (x, y))| x.abs() <= limits[0] && y.abs() <= limits[1]);
        inside.filter(|(index, _)| !is_own(index)).count()
    }
}
