//! The report of the demonstration.

use super::cast::Cast;
use super::scan::Check;
use omr_client::Retrieved;
use omr_console::thousands;
use omr_transactions::RealPayloads;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct Source {
    name: &'static str,
    count: usize,
    note: &'static str,
}

/// The comparison of retrieved and sent messages.
#[derive(Serialize)]
pub(super) struct Outcome {
    pub(super) found: usize,
    pub(super) missed: usize,
    pub(super) false_positives: usize,
    pub(super) payloads_exact: usize,
}

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) scheme: &'static str,
    pub(super) params: &'static str,
    pub(super) security_bits: f64,
    pub(super) miss_log2: f64,
    pub(super) false_positive_log2: f64,
    pub(super) messages: u64,
    pub(super) recipients: u16,
    pub(super) pertinent: usize,
    pub(super) bound: usize,
    pub(super) payload_bytes: usize,
    pub(super) threads: usize,
    pub(super) kernels: &'static str,
    pub(super) sources: Vec<Source>,
    pub(super) records: usize,
    pub(super) keygen_s: f64,
    pub(super) addresses_s: f64,
    pub(super) secret_key_bytes: u64,
    pub(super) clue_key_bytes: u64,
    /// The names of the files.
    pub(super) detection_keys: Vec<String>,
    pub(super) detection_key_bytes: u64,
    pub(super) clue_bytes: usize,
    pub(super) clues_s: f64,
    pub(super) append_s: f64,
    pub(super) board_bytes: u64,
    pub(super) load_s: f64,
    pub(super) digest_s: f64,
    pub(super) stages: BTreeMap<&'static str, f64>,
    pub(super) digest_bytes: u64,
    pub(super) decode_s: f64,
    pub(super) peak_rss_bytes: u64,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    pub(super) checks: Vec<Check>,
}

pub(super) fn sources(payloads: &RealPayloads) -> Vec<Source> {
    let source = |s: &omr_transactions::Source| Source {
        name: s.name,
        count: s.count,
        note: s.note,
    };
    payloads.sources().iter().map(source).collect()
}

impl Outcome {
    /// Compares every payload bit for bit.
    pub(super) fn new(cast: &Cast, payloads: &RealPayloads, retrieved: &[Retrieved]) -> Self {
        let mine = |found: &&Retrieved| cast.pertinent.contains(&found.index);
        let found = retrieved.iter().filter(mine).count();
        let exact = |found: &&Retrieved| {
            found.payload.as_ref() == Some(&payloads.payload(found.index as usize))
        };
        Self {
            found,
            missed: cast.pertinent.len() - found,
            false_positives: retrieved.len() - found,
            payloads_exact: retrieved.iter().filter(mine).filter(exact).count(),
        }
    }
}

impl Report {
    /// Returns the whole report for people.
    pub(super) fn text(&self) -> String {
        [self.setting(), self.parties(), self.verdict()].join("\n")
    }

    fn setting(&self) -> String {
        let mut text = format!(
            "{} messages of {} bytes for {} recipients; one of them, with {} messages, asks for \
             a digest\n\nPayloads: real transactions, cut or padded to {} bytes\n",
            thousands(self.messages),
            self.payload_bytes,
            self.recipients,
            self.pertinent,
            self.payload_bytes,
        );
        for source in &self.sources {
            text += &format!(
                "  {:>6} {}: {}\n",
                thousands(source.count as u64),
                source.name,
                source.note
            );
        }
        let repeated = if self.messages > self.records as u64 {
            ", repeated with a counter in their last 8 bytes"
        } else {
            ""
        };
        text + &format!("  {:>6} in all{repeated}\n", thousands(self.records as u64))
    }

    fn parties(&self) -> String {
        let mut table = Table::new();
        self.senders_and_board(&mut table);
        self.detector_and_recipient(&mut table);
        table.0
    }

    fn posted_bytes(&self) -> u64 {
        self.messages * (self.clue_bytes + self.payload_bytes) as u64
    }

    fn senders_and_board(&self, table: &mut Table) {
        let message = (self.clue_bytes + self.payload_bytes) as u64;
        let clue_s = Some(self.clues_s / self.messages as f64);
        let seen = format!("{} messages, no names", thousands(self.messages));
        table.row(
            "Sender",
            "sees",
            "a recipient's clue.key",
            self.clue_key_bytes,
            None,
        );
        table.row("", "sends", "a message: clue and payload", message, clue_s);
        table.row("Board", "sees", &seen, self.posted_bytes(), None);
        table.row(
            "",
            "keeps",
            "them, durably",
            self.board_bytes,
            Some(self.append_s),
        );
        table.row(
            "",
            "sends",
            "them to the detector",
            self.posted_bytes(),
            None,
        );
    }

    fn detector_and_recipient(&self, table: &mut Table) {
        let seen = format!("{} messages", thousands(self.messages));
        let decoded = format!("{} messages", self.outcome.found);
        let decoded_bytes = (self.outcome.found * self.payload_bytes) as u64;
        let (load_s, digest_s) = (Some(self.load_s), Some(self.digest_s));
        let keys_bytes = self.clue_key_bytes + self.detection_key_bytes;
        table.row(
            "Detector",
            "sees",
            &format!("{}, once", self.detection_keys.join(", ")),
            self.detection_key_bytes,
            load_s,
        );
        table.row("", "sees", &seen, self.posted_bytes(), None);
        table.row("", "sends", "the digest", self.digest_bytes, digest_s);
        table.row(
            "Recipient",
            "keeps",
            "secret.key",
            self.secret_key_bytes,
            None,
        );
        table.row(
            "",
            "sends",
            "the other keys, once",
            keys_bytes,
            Some(self.keygen_s),
        );
        table.row("", "sees", "the digest", self.digest_bytes, None);
        table.row("", "decodes", &decoded, decoded_bytes, Some(self.decode_s));
    }

    fn verdict(&self) -> String {
        let outcome = &self.outcome;
        let mut text = format!(
            "Found {} of {}, missed {}, false positives {}; {} payloads exact bit for bit\n",
            outcome.found,
            self.pertinent,
            outcome.missed,
            outcome.false_positives,
            outcome.payloads_exact,
        );
        let (pieces, bytes) = (
            self.checks.first().map_or(0, |check| check.pieces),
            self.checks.iter().map(|check| check.bytes).sum(),
        );
        let places: Vec<&str> = self.checks.iter().map(|check| check.place).collect();
        text += &format!(
            "No secret in {}: searched {} bytes for {pieces} pieces of the clue secret, the \
             seed of the digest's secrets and the sealing seed, in {} encodings\n",
            places.join(", "),
            thousands(bytes),
            super::scan::ENCODINGS,
        );
        text += &format!(
            "Scheme {}, parameters {}: {:.1} bits of security; misses 2^{:.1}, false positives 2^{:.1} a \
             message\n",
            self.scheme, self.params, self.security_bits, self.miss_log2, self.false_positive_log2,
        );
        text += &format!(
            "{} threads, {} kernels; peak memory of all parties together {} bytes\n",
            self.threads,
            self.kernels,
            thousands(self.peak_rss_bytes),
        );
        text
    }
}

/// Lines with aligned columns.
struct Table(String);

impl Table {
    fn new() -> Self {
        let mut table = Self(String::new());
        table.line(["Party", "", "What", "Bytes", "Seconds"]);
        table
    }

    fn row(&mut self, party: &str, verb: &str, what: &str, bytes: u64, seconds: Option<f64>) {
        let time = match seconds {
            Some(seconds) => format!("{seconds:.4}"),
            None => String::new(),
        };
        self.line([party, verb, what, &thousands(bytes), &time]);
    }

    fn line(&mut self, [party, verb, what, bytes, seconds]: [&str; 5]) {
        let line = format!("{party:<10} {verb:<8} {what:<32} {bytes:>13} {seconds:>10}");
        self.0 += line.trim_end();
        self.0.push('\n');
    }
}
