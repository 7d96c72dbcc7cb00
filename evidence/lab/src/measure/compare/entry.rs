//! The figures of a scheme.

use crate::measure::{DigestCost, RoundsFigures, Subject};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The work of every scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The number of messages on the board.
    pub messages: u64,
    /// The largest number of messages run by schemes that process them one by one; the rest is extrapolated.
    pub sample: u64,
    /// The number of pertinent messages.
    pub pertinent: usize,
    /// The bound of the digest.
    pub bound: usize,
    /// The bytes of a payload.
    pub payload_bytes: usize,
    /// The number of runs of each scheme.
    pub runs: u32,
    /// The first seed.
    pub seed: u64,
    /// True for insecure tiny sets, which show only that everything works.
    pub tiny: bool,
}

/// The attacks that clues resist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClueKind {
    /// No attack: a poster can aim one clue at every recipient.
    Plain,
    /// Clues are bound to their payload, so that none can be aimed at every recipient.
    Bound,
    /// LWEmongrass: no clue can be aimed at every recipient, but clues can be copied and sent with other payloads.
    Lwemongrass,
}

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// A clue on the board.
    pub clue: u64,
    /// An address.
    pub clue_key: u64,
    /// The detection key of a recipient.
    pub detection_key: u64,
    /// A digest; in two rounds a scan and an answer.
    pub digest: u64,
    /// A recipient's query, in two rounds.
    pub query: Option<u64>,
}

/// The figures of a scheme: those of the run of median time, except for counts over all runs and for memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The name of the scheme.
    pub scheme: String,
    /// The name of the parameter set.
    pub params: String,
    /// True if digests contain payloads, not only indices.
    pub payloads: bool,
    /// The attacks that clues resist.
    pub clues: ClueKind,
    /// Bits of security, of the weaker of clue and detection key.
    pub security_bits: f64,
    /// log2 of the probability that a pertinent message is missed; `None` if it is 0, as for tiny sets.
    pub miss_log2: Option<f64>,
    /// log2 of the probability that a stranger's message passes.
    pub false_positive_log2: f64,
    /// log2 of the chance that a digest is wrong because of noise: extrapolated from the noise of its coefficients, for
    /// InstantOMR predicted; `None` if noise accounts for none of it, and for the papers' schemes.
    pub failure_log2: Option<f64>,
    /// The number of messages that were run.
    pub messages: u64,
    /// The number of messages that are processed together; time grows with the number of such batches.
    pub batch: u64,
    /// The number of runs.
    pub runs: u32,
    /// The number of runs that returned all pertinent messages, payloads bit for bit.
    pub exact: u32,
    /// The number of strangers' messages that all runs returned: false positives.
    pub strays: u64,
    /// Seconds from clues and payloads in memory to the digest, for the messages that were run.
    pub digest_s: f64,
    /// Seconds of each stage.
    pub stages: BTreeMap<String, f64>,
    /// The part of `digest_s` that does not grow with the messages.
    pub fixed_s: f64,
    /// Seconds of generating all keys.
    pub keygen_s: f64,
    /// Milliseconds of making a clue.
    pub clue_ms: f64,
    /// Milliseconds from a digest to payloads.
    pub decode_ms: f64,
    /// Sizes in bytes.
    pub bytes: Sizes,
    /// The peak memory of the process.
    pub peak_rss_bytes: u64,
    /// The yardstick beside the run; `None` in builds without it.
    pub yardstick_us: Option<f64>,
}

/// The stages whose time does not depend on the number of messages.
const FIXED: [&str; 4] = ["baby_steps", "secrets", "memory", "packing"];

/// The stage in which a query is answered: it grows with the messages, and all of it comes after the last post.
const ANSWER: &str = "answer";

impl Entry {
    /// Returns the entry of one run with its costs; its results are those of a run that returned nothing.
    pub(super) fn new(scheme: &str, batch: u64, subject: Subject, cost: DigestCost) -> Self {
        let stages = cost
            .stages
            .into_iter()
            .map(|(name, s)| (name.to_owned(), s))
            .collect();
        Self {
            scheme: scheme.to_owned(),
            params: subject.params,
            payloads: false,
            clues: ClueKind::Plain,
            security_bits: 0.0,
            miss_log2: None,
            false_positive_log2: 0.0,
            failure_log2: None,
            messages: subject.messages,
            batch,
            runs: 1,
            exact: 0,
            strays: 0,
            digest_s: cost.digest_s,
            fixed_s: Self::fixed(&stages),
            stages,
            keygen_s: cost.keygen_s,
            clue_ms: cost.clue_ms,
            decode_ms: cost.decode_ms,
            bytes: Sizes {
                clue: cost.clue_bytes as u64,
                clue_key: cost.clue_key_bytes as u64,
                detection_key: cost.detection_key_bytes,
                digest: cost.digest_bytes as u64,
                query: None,
            },
            peak_rss_bytes: cost.peak_rss_bytes,
            yardstick_us: cost.yardstick_us,
        }
    }

    /// Returns the entry of one run in two rounds for a single recipient. A batch is a block of the scan.
    pub(super) fn of_rounds(scheme: &str, batch: u64, run: RoundsFigures) -> Self {
        // The packing of a scan grows with the messages, unlike a digest's.
        let of_scan = run
            .stages
            .iter()
            .map(|(name, s)| (format!("scan_{name}"), *s));
        let mut stages: BTreeMap<_, _> = of_scan.collect();
        stages.insert(ANSWER.to_owned(), run.answer_s);
        Self {
            scheme: scheme.to_owned(),
            params: run.subject.params,
            payloads: true,
            clues: ClueKind::Bound,
            security_bits: 0.0,
            miss_log2: None,
            false_positive_log2: 0.0,
            failure_log2: run.failure_log2,
            messages: run.subject.messages,
            batch,
            runs: 1,
            exact: (run.exact == run.subject.pertinent).into(),
            strays: run.false_positives as u64,
            digest_s: run.rounds_s,
            fixed_s: 0.0,
            stages,
            keygen_s: run.keygen_s,
            clue_ms: run.clue_ms,
            decode_ms: run.find_ms + run.ask_ms + run.read_ms,
            bytes: Sizes {
                clue: run.clue_bytes as u64,
                clue_key: run.clue_key_bytes as u64,
                detection_key: run.key_bytes as u64,
                digest: (run.scan_bytes + run.answer_bytes) as u64,
                query: Some(run.query_bytes as u64),
            },
            peak_rss_bytes: run.peak_rss_bytes,
            yardstick_us: None,
        }
    }

    /// Returns the entry of several runs of one scheme; `None` without runs.
    pub(super) fn of_runs(mut runs: Vec<Self>) -> Option<Self> {
        let exact = runs.iter().map(|run| run.exact).sum();
        let strays = runs.iter().map(|run| run.strays).sum();
        let count = runs.len();
        runs.sort_by(|a, b| a.digest_s.total_cmp(&b.digest_s));
        let peak_rss_bytes = runs.iter().map(|run| run.peak_rss_bytes).max()?;
        let median = runs.into_iter().nth(count.div_ceil(2) - 1)?;
        Some(Self {
            runs: count as u32,
            exact,
            strays,
            peak_rss_bytes,
            ..median
        })
    }

    /// Returns whether a stage's time does not depend on the number of messages.
    pub fn is_fixed(stage: &str) -> bool {
        FIXED.contains(&stage)
    }

    /// Returns the seconds of the stages that do not grow.
    pub(super) fn fixed(stages: &BTreeMap<String, f64>) -> f64 {
        FIXED.iter().filter_map(|name| stages.get(*name)).sum()
    }

    /// Returns the number of batches of `messages` messages.
    fn batches(&self, messages: u64) -> f64 {
        messages.div_ceil(self.batch) as f64
    }

    /// Returns the seconds for `messages` messages, measured or extrapolated: the growing part is proportional to the
    /// batches.
    pub fn seconds(&self, messages: u64) -> f64 {
        let growing = self.digest_s - self.fixed_s;
        self.fixed_s + growing * self.batches(messages) / self.batches(self.messages)
    }

    /// Returns whether the seconds for `messages` messages were not measured.
    pub fn is_extrapolated(&self, messages: u64) -> bool {
        self.batches(messages) != self.batches(self.messages)
    }

    /// Returns the time for `messages` messages in yardstick NTTs.
    pub fn ntts(&self, messages: u64) -> Option<f64> {
        Some(self.seconds(messages) * 1e6 / self.yardstick_us?)
    }

    /// Returns the seconds from the last of `messages` posts to the recipient's payloads: the last batch, the stages
    /// that run once at the end, and decoding. Earlier batches, and stages that need no messages, are finished
    /// before.
    pub fn latency_s(&self) -> f64 {
        let stage = |name| self.stages.get(name).copied().unwrap_or(0.0);
        let (packing, answer) = (stage("packing"), stage(ANSWER));
        let last = (self.digest_s - self.fixed_s - answer) / self.batches(self.messages);
        last + packing + answer + self.decode_ms / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(digest_s: f64, messages: u64, batch: u64, exact: u32) -> Entry {
        let stages: BTreeMap<_, _> = [
            ("baby_steps", 2.0),
            ("packing", 1.0),
            ("affine", digest_s - 3.0),
        ]
        .map(|(name, s)| (name.to_owned(), s))
        .into();
        Entry {
            scheme: "some".to_owned(),
            params: "insecure".to_owned(),
            payloads: true,
            clues: ClueKind::Plain,
            security_bits: 0.0,
            miss_log2: Some(-30.0),
            false_positive_log2: -20.0,
            failure_log2: None,
            messages,
            batch,
            runs: 1,
            exact,
            strays: 1,
            digest_s,
            fixed_s: Entry::fixed(&stages),
            stages,
            keygen_s: 0.0,
            clue_ms: 0.0,
            decode_ms: 500.0,
            bytes: Sizes {
                clue: 1,
                clue_key: 1,
                detection_key: 1,
                digest: 1,
                query: None,
            },
            peak_rss_bytes: digest_s as u64,
            yardstick_us: Some(100.0),
        }
    }

    #[test]
    fn time_grows_by_whole_batches_but_for_what_is_fixed() {
        let bulk = entry(13.0, 100, 100, 1);
        assert_eq!(bulk.seconds(100), 13.0);
        assert_eq!(bulk.seconds(1), 13.0);
        assert_eq!(bulk.seconds(101), 23.0);
        assert!(bulk.is_extrapolated(101) && !bulk.is_extrapolated(99));
        assert_eq!(bulk.latency_s(), 11.5);
        assert_eq!(bulk.ntts(101), Some(230_000.0));
        let single = entry(13.0, 100, 1, 1);
        assert_eq!(single.seconds(1000), 103.0);
        assert!(single.is_extrapolated(99));
        assert!((single.latency_s() - 1.6).abs() < 1e-9);
        let mut rounds = entry(13.0, 1000, 100, 1);
        rounds.stages.insert(ANSWER.to_owned(), 4.0);
        assert_eq!(rounds.latency_s(), 0.6 + 1.0 + 4.0 + 0.5);
    }

    #[test]
    fn several_runs_are_their_median_with_all_failures() {
        let runs = [(20.0, 1), (10.0, 1), (30.0, 0)].map(|(s, exact)| entry(s, 100, 100, exact));
        let all = Entry::of_runs(runs.to_vec()).unwrap();
        assert_eq!((all.digest_s, all.runs, all.exact), (20.0, 3, 2));
        assert_eq!(all.strays, 3);
        assert_eq!(all.peak_rss_bytes, 30);
        assert!(Entry::of_runs(Vec::new()).is_none());
    }
}
