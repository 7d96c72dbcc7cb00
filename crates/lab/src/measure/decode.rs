//! Whether the time of decoding tells what a digest holds.

use crate::measure::digest::timed;
use crate::measure::instant::InstantBench;
use crate::measure::{BenchError, DigestBench, Workload};
use chacha20::ChaCha20Rng;
use omr_client::instantomr::InstantRecipient;
use omr_client::sophomr::Recipient;
use omr_detector::Progress;
use omr_detector::sophomr::Detector;
use omr_protocol::sophomr::DigestPlan;
use omr_protocol::{SEED_BYTES, Scheme, Sealing};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::hint::black_box;

/// The slowest part of the times of a class is left out: other work of the machine.
const SLOWEST: f64 = 0.1;

/// Times of decoding, class by class.
#[derive(Clone, Debug, Serialize)]
pub struct DecodeTimes {
    /// Name of the parameter set.
    pub params: &'static str,
    /// How digests are made.
    #[serde(serialize_with = "crate::measure::digest::by_name")]
    pub scheme: Scheme,
    /// Messages in the range.
    pub messages: u64,
    /// The bound asked for.
    pub bound: usize,
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// Times taken of each class.
    pub rounds: usize,
    /// The first one is that of nothing pertinent.
    pub classes: Vec<DecodeClass>,
}

/// Digests that hold as much.
#[derive(Clone, Debug, Serialize)]
pub struct DecodeClass {
    /// Pertinent messages.
    pub pertinent: usize,
    /// Whether the digest was changed on its way.
    pub damaged: bool,
    /// Whether it decoded.
    pub decodes: bool,
    /// The median time.
    pub median_us: f64,
    /// The mean time without the slowest tenth.
    pub mean_us: f64,
    /// Welch's t of the mean against the first class's; beyond 4.5 times tell them apart.
    pub t: f64,
}

/// A digest to decode, and what it holds.
struct Case<'a> {
    pertinent: usize,
    damaged: bool,
    /// Whether it decoded, and the seconds that it took.
    decode: Box<dyn Fn() -> (bool, f64) + 'a>,
}

/// Times the decoding of digests with nothing, one message, half the bound, the bound, one message
/// too many, and of a damaged one.
///
/// Errors: those of the digests.
pub fn decode_times(
    bench: &DigestBench,
    rounds: usize,
    progress: &dyn Progress,
) -> Result<DecodeTimes, BenchError> {
    let params = &bench.params;
    let mut rng = ChaCha20Rng::seed_from_u64(bench.seed);
    let keys = bench.keys(&mut rng);
    let payload = (bench.scheme == Scheme::Sophomr).then_some(bench.payload_bytes);
    let plan = DigestPlan::new(params, 0..bench.messages, bench.bound, payload)?;
    let detector = Detector::new(params.clone(), keys.detection);
    let recipient = Recipient::new(params, &keys.secret);
    let mut digests = Vec::new();
    for (pertinent, damaged) in classes(bench.bound) {
        let (clue, key) = (params.clue.clone(), keys.clue.clone());
        let (messages, bytes) = (bench.messages, bench.payload_bytes);
        let mut board = Workload::new(clue, key, messages, pertinent, bytes, bench.seed);
        if bench.bound_clues {
            board = board.bound_to([0; 16]);
        }
        let mut seed = [0; SEED_BYTES];
        rng.fill_bytes(&mut seed);
        let out = detector.digest(&mut board, &plan, [0; 16], Sealing::None, seed, progress)?;
        let mut digest = out.digest;
        if damaged {
            let coefficient = &mut digest.ciphertexts[0].parts[0][1];
            *coefficient ^= 1 << (omr_protocol::sophomr::BODY_BITS - 1);
        }
        digests.push((pertinent, damaged, digest));
    }
    let recipient = &recipient;
    let cases = digests.iter().map(|(pertinent, damaged, digest)| Case {
        pertinent: *pertinent,
        damaged: *damaged,
        decode: Box::new(move || on_copy(digest, |digest| recipient.decode(digest).is_ok())),
    });
    Ok(DecodeTimes {
        params: params.name(),
        scheme: bench.scheme,
        messages: bench.messages,
        bound: bench.bound,
        payload_bytes: bench.payload_bytes,
        rounds,
        classes: measure(&cases.collect::<Vec<_>>(), rounds, &mut rng),
    })
}

/// The same for InstantOMR.
///
/// Errors: those of the digests.
pub fn instant_decode_times(
    bench: &InstantBench,
    (name, scheme): (&'static str, Scheme),
    rounds: usize,
    progress: &dyn Progress,
) -> Result<DecodeTimes, BenchError> {
    let mut digests = Vec::new();
    for (pertinent, damaged) in classes(bench.bound) {
        let bench = InstantBench {
            pertinent,
            ..bench.clone()
        };
        let mut bed = bench.bed()?;
        let mut session = bench.session(&bed)?;
        let nothing = |_: &_| Ok::<(), omr_detector::DetectorError>(());
        session.advance(&mut bed.board, bench.messages, progress, nothing)?;
        let mut digest = session.digest();
        if damaged {
            let coefficient = &mut digest.ciphertexts[0].parts[0][1];
            *coefficient ^= 1 << (omr_protocol::instantomr::INSTANT_BODY_BITS - 1);
        }
        digests.push((pertinent, damaged, digest, bed.secret));
    }
    let params = &bench.params;
    let cases = digests.iter().map(|(pertinent, damaged, digest, secret)| {
        let recipient = InstantRecipient::new(params, secret);
        Case {
            pertinent: *pertinent,
            damaged: *damaged,
            decode: Box::new(move || on_copy(digest, |digest| recipient.decode(digest).is_ok())),
        }
    });
    let mut rng = ChaCha20Rng::seed_from_u64(bench.seed);
    Ok(DecodeTimes {
        params: name,
        scheme,
        messages: bench.messages,
        bound: bench.bound,
        payload_bytes: bench.payload_bytes,
        rounds,
        classes: measure(&cases.collect::<Vec<_>>(), rounds, &mut rng),
    })
}

/// Times `decode` on a copy, so that the place in memory tells nothing.
fn on_copy<D: Clone>(digest: &D, decode: impl FnOnce(&D) -> bool) -> (bool, f64) {
    let copy = black_box(digest.clone());
    timed(|| black_box(decode(&copy)))
}

/// Pertinent messages of each class, and whether the digest is damaged.
fn classes(bound: usize) -> [(usize, bool); 6] {
    let whole = |pertinent| (pertinent, false);
    let [none, one, half, full, over] = [0, 1, bound.div_ceil(2), bound, bound + 1].map(whole);
    [none, one, half, full, over, (bound, true)]
}

/// Times all cases `rounds` times, each time in another order.
fn measure(cases: &[Case], rounds: usize, rng: &mut impl Rng) -> Vec<DecodeClass> {
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    let mut order: Vec<usize> = (0..cases.len()).collect();
    for _ in 0..rounds {
        for i in (1..order.len()).rev() {
            order.swap(i, rng.next_u32() as usize % (i + 1));
        }
        for &case in &order {
            let (_, seconds) = (cases[case].decode)();
            times[case].push(seconds * 1e6);
        }
    }
    for times in &mut times {
        times.sort_unstable_by(f64::total_cmp);
    }
    let kept = (rounds as f64 * (1.0 - SLOWEST)).ceil() as usize;
    let first = Moments::of(&times[0][..kept]);
    let class = |(case, times): (&Case, &Vec<f64>)| {
        let moments = Moments::of(&times[..kept]);
        DecodeClass {
            pertinent: case.pertinent,
            damaged: case.damaged,
            decodes: (case.decode)().0,
            median_us: times[times.len() / 2],
            mean_us: moments.mean,
            t: moments.welch(&first),
        }
    };
    cases.iter().zip(&times).map(class).collect()
}

/// Mean of values, and the variance of that mean.
struct Moments {
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let variance = squares / (count - 1.0).max(1.0) / count;
        Self { mean, variance }
    }

    fn welch(&self, other: &Self) -> f64 {
        let difference = self.mean - other.mean;
        match difference == 0.0 {
            true => 0.0,
            false => difference / (self.variance + other.variance).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welch_by_hand() {
        let (a, b) = (Moments::of(&[1.0, 3.0]), Moments::of(&[4.0, 6.0]));
        assert_eq!((a.mean, a.variance), (2.0, 1.0));
        assert!((b.welch(&a) - 3.0 / 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(a.welch(&a), 0.0);
    }

    #[test]
    fn every_case_is_timed_and_compared_with_the_first() {
        let case = |pertinent| Case {
            pertinent,
            damaged: pertinent == 2,
            decode: Box::new(move || (pertinent != 2, 1.0)),
        };
        let cases: Vec<Case> = (0..3).map(case).collect();
        let classes = measure(&cases, 20, &mut ChaCha20Rng::seed_from_u64(1));
        let outcomes: Vec<_> = classes.iter().map(|c| (c.pertinent, c.decodes)).collect();
        assert_eq!(outcomes, [(0, true), (1, true), (2, false)]);
        assert_eq!(classes[0].t, 0.0);
        assert!(classes.iter().all(|c| c.mean_us >= 0.0 && c.t.is_finite()));
    }

    #[test]
    fn classes_of_the_smallest_bound() {
        let expected = [
            (0, false),
            (1, false),
            (1, false),
            (1, false),
            (2, false),
            (1, true),
        ];
        assert_eq!(classes(1), expected);
    }
}
