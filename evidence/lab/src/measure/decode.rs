//! A test whether the time of decoding depends on the content of a digest.

use crate::measure::digest::{scan, timed};
use crate::measure::instant::Fixture;
use crate::measure::{BenchError, DigestBench, Setting};
use chacha20::ChaCha20Rng;
use clap::Args;
use omr_client::instantomr::InstantRecipient;
use omr_client::sophomr::Recipient;
use omr_detector::Progress;
use omr_detector::sophomr::Detector;
use omr_protocol::instantomr::{INSTANT_BODY_BITS, InstantParams};
use omr_protocol::sophomr::{BODY_BITS, DigestPlan, Params};
use omr_protocol::{EngineKind, Scheme};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::hint::black_box;
use std::sync::Arc;

/// The share of a class's slowest times that is dropped, because other work of the machine causes them.
const SLOWEST: f64 = 0.1;

/// A benchmark of decoding the digests of a setting.
#[derive(Clone, Debug, Args)]
pub struct DecodeBench {
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub setting: Setting,
    /// Times taken of each of the six digests
    #[arg(long, value_name = "R", default_value_t = 1000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(10..=1_000_000))]
    pub rounds: usize,
}

/// Times of decoding, by class.
#[derive(Clone, Debug, Serialize)]
pub struct DecodeTimes {
    /// The name of the parameter set.
    pub params: &'static str,
    /// The scheme of the digests.
    #[serde(serialize_with = "crate::measure::digest::by_name")]
    pub scheme: Scheme,
    /// The number of messages in the range.
    pub messages: u64,
    /// The bound of the digest.
    pub bound: usize,
    /// The bytes of a payload.
    pub payload_bytes: usize,
    /// The number of times measured for each class.
    pub rounds: usize,
    /// The classes; the first one has nothing pertinent.
    pub classes: Vec<DecodeClass>,
}

/// Digests of one class.
#[derive(Clone, Debug, Serialize)]
pub struct DecodeClass {
    /// The number of pertinent messages.
    pub pertinent: usize,
    /// True if the digest was changed after it was made.
    pub damaged: bool,
    /// True if the digest decoded.
    pub decodes: bool,
    /// The median time in microseconds.
    pub median_us: f64,
    /// The mean time without the slowest tenth, in microseconds.
    pub mean_us: f64,
    /// Welch's t of the mean against the first class's. Beyond 4.5 the times distinguish the classes.
    pub t: f64,
}

/// A digest to decode, with its class.
struct Case<'a> {
    pertinent: usize,
    damaged: bool,
    /// A function that decodes the digest, and returns whether it decoded and the seconds.
    decode: Box<dyn Fn() -> (bool, f64) + 'a>,
}

/// A digest of a class.
struct Made<D> {
    pertinent: usize,
    damaged: bool,
    digest: D,
}

impl DecodeBench {
    /// Measures the decoding of digests with nothing, one message, half the bound, the bound, and one message too
    /// many, and of a damaged digest.
    ///
    /// Errors: those of making the digests.
    pub fn run(&self, progress: &dyn Progress) -> Result<DecodeTimes, BenchError> {
        let set = self.setting.set()?;
        match self.setting.engine() {
            EngineKind::Sophomr => self.sophomr(set.sophomr()?, progress),
            EngineKind::Instantomr => self.instantomr(set.instantomr()?, progress),
            EngineKind::Rounds => Err(BenchError::TwoRounds),
        }
    }

    /// Returns the benchmark of a digest with `pertinent` pertinent messages.
    fn of(&self, pertinent: usize) -> DigestBench {
        DigestBench {
            pertinent,
            ..DigestBench::new(self.setting.clone())
        }
    }

    fn sophomr(
        &self,
        params: &Arc<Params>,
        progress: &dyn Progress,
    ) -> Result<DecodeTimes, BenchError> {
        let Setting {
            messages, shape, ..
        } = self.setting;
        let mut rng = self.rng();
        let keys = self.of(0).keys(params, &mut rng);
        let plan = DigestPlan::new(params, 0..messages, shape.bound, self.setting.payload())?;
        let detector = Detector::new(params.clone(), keys.detection);
        let recipient = Recipient::new(params.recipient(), &keys.secret);
        let mut digests = Vec::new();
        for (pertinent, damaged) in classes(shape.bound) {
            let mut board = self
                .of(pertinent)
                .board(&params.clue, vec![keys.clue.clone()]);
            let mut digest = scan(&detector, &mut board, &plan, &mut rng, progress)?.digest;
            if damaged {
                digest.ciphertexts[0].parts[0][1] ^= 1 << (BODY_BITS - 1);
            }
            digests.push(Made {
                pertinent,
                damaged,
                digest,
            });
        }
        let recipient = &recipient;
        let cases = digests
            .iter()
            .map(|made| case(made, |digest| recipient.decode(digest).is_ok()))
            .collect();
        Ok(self.times(params.name(), cases, rng))
    }

    fn instantomr(
        &self,
        params: &Arc<InstantParams>,
        progress: &dyn Progress,
    ) -> Result<DecodeTimes, BenchError> {
        let mut digests = Vec::new();
        for (pertinent, damaged) in classes(self.setting.shape.bound) {
            let mut fixture = Fixture::new(&self.of(pertinent), params)?;
            let (mut digest, _) = fixture.digest(progress)?;
            if damaged {
                digest.ciphertexts[0].parts[0][1] ^= 1 << (INSTANT_BODY_BITS - 1);
            }
            let made = Made {
                pertinent,
                damaged,
                digest,
            };
            digests.push((made, fixture.secret));
        }
        let cases = digests.iter().map(|(made, secret)| {
            let recipient = InstantRecipient::new(params, secret);
            case(made, move |digest| recipient.decode(digest).is_ok())
        });
        Ok(self.times(params.name(), cases.collect(), self.rng()))
    }

    fn rng(&self) -> ChaCha20Rng {
        ChaCha20Rng::seed_from_u64(self.setting.start.seed)
    }

    fn times(
        &self,
        params: &'static str,
        cases: Vec<Case<'_>>,
        mut rng: ChaCha20Rng,
    ) -> DecodeTimes {
        DecodeTimes {
            params,
            scheme: self.setting.scheme,
            messages: self.setting.messages,
            bound: self.setting.shape.bound,
            payload_bytes: self.setting.shape.payload_bytes,
            rounds: self.rounds,
            classes: measure(&cases, self.rounds, &mut rng),
        }
    }
}

fn case<'a, D: Clone>(made: &'a Made<D>, decode: impl Fn(&D) -> bool + 'a) -> Case<'a> {
    Case {
        pertinent: made.pertinent,
        damaged: made.damaged,
        decode: Box::new(move || on_copy(&made.digest, &decode)),
    }
}

/// Measures `decode` on a copy, so that the address in memory has no influence.
fn on_copy<D: Clone>(digest: &D, decode: impl FnOnce(&D) -> bool) -> (bool, f64) {
    let copy = black_box(digest.clone());
    timed(|| black_box(decode(&copy)))
}

/// Returns the number of pertinent messages of each class, and whether the digest is damaged.
fn classes(bound: usize) -> [(usize, bool); 6] {
    let [none, one, half, full, over] =
        [0, 1, bound.div_ceil(2), bound, bound + 1].map(|pertinent| (pertinent, false));
    [none, one, half, full, over, (bound, true)]
}

/// Measures all cases `rounds` times, each time in another order.
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

/// The mean of values, and the variance of that mean.
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
        if difference == 0.0 {
            0.0
        } else {
            difference / (self.variance + other.variance).sqrt()
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
