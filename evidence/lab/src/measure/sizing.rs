//! The requirements of a service: cores, memory, disk and network for a load, from measured costs and exact sizes.

mod costs;

pub use costs::{COSTS_FORMAT, MeasuredCosts};

use crate::measure::{BenchError, Shape};
use clap::Args;
use omr_detector::engines::Costs;
use omr_protocol::instantomr::{InstantDigest, InstantKey, InstantParams, InstantPlan};
use omr_protocol::sophomr::{DetectionKey, Digest, DigestPlan, Params};
use omr_protocol::{ClueKind, EngineKind, ParamSet, Request};
use serde::Serialize;

const DAY_S: f64 = 86_400.0;
const YEAR_DAYS: u64 = 365;
/// Bytes of a board's record in addition to clue and payload.
const RECORD_BYTES: u64 = 4;
/// Bytes of a message's one-time key and index in a tree whose pages are two thirds full.
const ONCE_BYTES: u64 = 40 * 3 / 2;
/// The days that a server keeps finished digests by default.
const DIGEST_DAYS: u64 = 7;
/// The share of time that a core should be busy at most, so that queues stay short.
pub(crate) const BUSY: f64 = 0.7;

/// Returns the bytes that a board stores for a message of `message` bytes.
pub(crate) fn kept_bytes(message: u64) -> u64 {
    message + RECORD_BYTES + ONCE_BYTES
}

/// The load of a service.
#[derive(Clone, Copy, Debug, Serialize, Args)]
pub struct Load {
    /// Messages posted in a day: Zcash 20,408, Bitcoin 604,800
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub messages_a_day: u64,
    /// Recipients, each of whom has all messages looked at
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub recipients: u64,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub shape: Shape,
    /// Digests a recipient asks for in a day
    #[arg(long, value_name = "D", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub digests_a_day: u64,
}

/// The requirements of a service.
#[derive(Clone, Debug, Serialize)]
pub struct Sizing {
    /// The name of the parameter set.
    pub params: &'static str,
    /// The load.
    pub load: Load,
    /// The measured costs, with the conditions of their measurement.
    pub costs: MeasuredCosts,
    /// The factor by which the machine in question is slower.
    pub slower: f64,
    /// The bytes by which the board grows in a day.
    pub board_bytes_a_day: u64,
    /// The requirements of each scheme.
    pub schemes: Vec<SchemeSizing>,
}

/// The requirements of one scheme.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeSizing {
    /// The name of the scheme: `sophomr`, `instantomr` or `hybrid`.
    pub scheme: &'static str,
    /// Core seconds in a day.
    pub core_seconds_a_day: f64,
    /// The number of cores that would be busy all the time.
    pub cores_busy: f64,
    /// The number of cores that are then busy 70 % of the time.
    pub cores: u64,
    /// Bytes of memory with one key of each kind in it.
    pub memory_bytes: u64,
    /// Bytes of memory with all recipients' keys in it.
    pub memory_all_keys_bytes: u64,
    /// Bytes on the disk after a year: the board, keys, sessions, digests of a week.
    pub disk_bytes_a_year: u64,
    /// Bytes of posts in a day.
    pub received_bytes_a_day: u64,
    /// Bytes of digests sent in a day.
    pub sent_bytes_a_day: u64,
    /// Bytes of a recipient's keys, which are sent once.
    pub key_bytes: u64,
    /// Bytes of a digest.
    pub digest_bytes: u64,
}

/// The requirements of a recipient with one scheme.
struct Part {
    core_seconds_a_day: f64,
    /// Bytes of memory in use during work, in addition to keys.
    work_bytes: u64,
    key_memory_bytes: u64,
    key_bytes: u64,
    session_bytes: u64,
    digest_bytes: u64,
}

impl Sizing {
    /// Computes the requirements of `load` with bound clues and a set with both engines, on a machine that is
    /// `slower` times as slow as the one with these costs.
    ///
    /// Errors: `Params` if the set lacks an engine, `Plan` if bound or payloads do not suit it.
    pub fn new(
        set: &ParamSet,
        load: Load,
        costs: MeasuredCosts,
        slower: f64,
    ) -> Result<Self, BenchError> {
        let (bulk, instant) = (set.sophomr()?, set.instantomr()?);
        let message = (ClueKind::Bound.bytes(set.clue()) + load.shape.payload_bytes) as u64;
        let board_bytes_a_day = load.messages_a_day * kept_bytes(message);
        let digests = load.digests_a_day.max(1);
        let model = Model {
            messages: load.messages_a_day.div_ceil(digests).max(1),
            digests: digests as f64,
            load,
            costs: &costs,
        };
        let parts = [
            ("sophomr", model.sophomr(bulk)?),
            ("instantomr", model.instantomr(instant)?),
            ("hybrid", model.hybrid(bulk, instant)?),
        ];
        let received = load.messages_a_day * message;
        let schemes = parts.map(|(scheme, part)| SchemeSizing {
            received_bytes_a_day: received,
            ..part.of_all(scheme, load, slower, board_bytes_a_day)
        });
        Ok(Self {
            params: set.name(),
            load,
            slower,
            board_bytes_a_day,
            schemes: schemes.into(),
            costs,
        })
    }
}

impl Part {
    fn of_all(self, scheme: &'static str, load: Load, slower: f64, board: u64) -> SchemeSizing {
        let recipients = load.recipients;
        let seconds = self.core_seconds_a_day * recipients as f64 * slower;
        let cores_busy = seconds / DAY_S;
        let sent = recipients * load.digests_a_day * self.digest_bytes;
        let kept = recipients * (self.key_bytes + self.session_bytes) + DIGEST_DAYS * sent;
        SchemeSizing {
            scheme,
            core_seconds_a_day: seconds,
            cores_busy,
            cores: ((cores_busy / BUSY).ceil() as u64).max(1),
            memory_bytes: self.work_bytes + self.key_memory_bytes,
            memory_all_keys_bytes: self.work_bytes + recipients.max(1) * self.key_memory_bytes,
            disk_bytes_a_year: YEAR_DAYS * board + kept,
            received_bytes_a_day: 0,
            sent_bytes_a_day: sent,
            key_bytes: self.key_bytes,
            digest_bytes: self.digest_bytes,
        }
    }
}

/// The model of one recipient's day.
struct Model<'a> {
    load: Load,
    costs: &'a MeasuredCosts,
    /// The number of messages in a digest, at least one.
    messages: u64,
    digests: f64,
}

impl Model<'_> {
    /// Returns the requirements with SophOMR, where every digest takes whole batches.
    fn sophomr(&self, params: &Params) -> Result<Part, BenchError> {
        let batches = self.messages.div_ceil(params.slots() as u64);
        let key_bytes = DetectionKey::file_bytes_of(params, ClueKind::Bound);
        let key_memory_bytes = omr_detector::memory::key_bytes(EngineKind::Sophomr, key_bytes);
        Ok(Part {
            core_seconds_a_day: self.digests * batches as f64 * self.costs.batch_core_s,
            work_bytes: self.costs.bulk_peak_bytes.saturating_sub(key_memory_bytes),
            key_memory_bytes,
            key_bytes,
            session_bytes: 0,
            digest_bytes: self.bulk_digest_bytes(params, self.messages)?,
        })
    }

    /// Returns the requirements with InstantOMR, where a session processes every message once.
    fn instantomr(&self, params: &InstantParams) -> Result<Part, BenchError> {
        let plan = self.instant_plan(params, self.messages)?;
        let digest_bytes = InstantDigest::file_bytes(&plan, params);
        let key_memory_bytes = self.costs.instant_key_memory_bytes;
        Ok(Part {
            core_seconds_a_day: self.load.messages_a_day as f64 * self.costs.message_core_s,
            work_bytes: self
                .costs
                .instant_peak_bytes
                .saturating_sub(key_memory_bytes),
            key_memory_bytes,
            key_bytes: InstantKey::file_bytes_of(params, ClueKind::Bound),
            session_bytes: session_bytes(&plan, params) + digest_bytes,
            digest_bytes,
        })
    }

    /// Returns the requirements with full batches by SophOMR and the cheaper engine for the rest.
    fn hybrid(&self, bulk: &Params, instant: &InstantParams) -> Result<Part, BenchError> {
        let slots = bulk.slots() as u64;
        let costs = Costs {
            batch_s: self.costs.batch_core_s,
            message_s: self.costs.message_core_s,
        };
        let first = costs.split(&(0..self.messages), slots);
        let rest = self.messages - first;
        let seconds = first.div_ceil(slots) as f64 * costs.batch_s + rest as f64 * costs.message_s;
        let (a, b) = (self.sophomr(bulk)?, self.instantomr(instant)?);
        let of_rest = InstantDigest::file_bytes(&self.instant_plan(instant, rest)?, instant);
        let of_first = match first {
            0 => 0,
            _ => self.bulk_digest_bytes(bulk, first)?,
        };
        Ok(Part {
            core_seconds_a_day: self.digests * seconds,
            work_bytes: a.work_bytes + b.work_bytes,
            key_memory_bytes: a.key_memory_bytes + b.key_memory_bytes,
            key_bytes: a.key_bytes + b.key_bytes,
            session_bytes: 0,
            digest_bytes: of_first + if rest == 0 { 0 } else { of_rest },
        })
    }

    fn bulk_digest_bytes(&self, params: &Params, messages: u64) -> Result<u64, BenchError> {
        let Load {
            shape: Shape {
                bound,
                payload_bytes,
            },
            ..
        } = self.load;
        let plan = DigestPlan::new(params, 0..messages, bound, Some(payload_bytes))?
            .for_clues(params, ClueKind::Bound);
        Ok(Digest::file_bytes(&plan, params))
    }

    fn instant_plan(&self, params: &InstantParams, end: u64) -> Result<InstantPlan, BenchError> {
        let request = Request::new(
            0..end,
            self.load.shape.bound,
            Some(self.load.shape.payload_bytes),
        );
        let plan = InstantPlan::new(params, request)?;
        Ok(plan.for_clues(ClueKind::Bound))
    }
}

/// Returns the bytes of both halves of all sums at their exact width.
fn session_bytes(plan: &InstantPlan, params: &InstantParams) -> u64 {
    let bits = params.ring.modulus(0).bits() as usize;
    (plan.parts() * 2 * (params.ring.n() * bits).div_ceil(8)) as u64
}

#[cfg(test)]
mod tests;
