//! The figures of InstantOMR in `omr params show`.

use crate::commands::params::ParamsShow;
use crate::error::CliError;
use omr_console::thousands;
use omr_protocol::instantomr::{
    InstantDigest, InstantKey, InstantParams, InstantPlan, InstantSpec,
};
use omr_protocol::{ClueKind, Request};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Instant {
    coordinates: usize,
    sums_modulus: u32,
    miss_log2: f64,
    false_positive_log2: f64,
    /// log2 of the probability that a digest of a full group has a wrong coefficient.
    failure_log2: f64,
    group: u64,
    detection_key_bytes: u64,
    messages: u64,
    bound: u32,
    payload_bytes: u32,
    digest_bytes: u64,
    indices_digest_bytes: u64,
}

impl Instant {
    pub(super) fn new(params: &InstantParams, args: &ParamsShow) -> Result<Self, CliError> {
        // A set with both engines may allow larger bounds for the other engine.
        let bound = (args.bound as usize).min(InstantSpec::LARGEST_BOUND);
        let plan = |payload_bytes| {
            let request = Request::new(0..args.messages, bound, payload_bytes);
            let plan = InstantPlan::new(params, request);
            plan.map(|plan| plan.for_clues(ClueKind::Bound))
        };
        let with_payloads = plan(Some(args.payload_bytes as usize))?;
        Ok(Self {
            coordinates: params.coordinates(),
            sums_modulus: omr_protocol::instantomr::SUMS_MODULUS,
            miss_log2: params.miss_log2(),
            false_positive_log2: params.false_positive_log2(),
            failure_log2: params.failure_log2(with_payloads.sums()),
            group: params.spec().group,
            detection_key_bytes: InstantKey::file_bytes_of(params, ClueKind::Bound),
            messages: args.messages,
            bound: bound as u32,
            payload_bytes: args.payload_bytes,
            digest_bytes: InstantDigest::file_bytes(&with_payloads, params),
            indices_digest_bytes: InstantDigest::file_bytes(&plan(None)?, params),
        })
    }

    pub(super) fn text(&self) -> String {
        let number = thousands;
        format!(
            "\ninstantomr\n\
             clue coordinates      {}\n\
             missed                2^{:.1} of pertinent messages\n\
             false positives       2^{:.1} of others\n\
             wrong digests         2^{:.1}, of {} messages\n\
             detection key         {} bytes\n\
             digest                {} bytes ({} messages, bound {}, payloads of {} bytes)\n\
             digest of indices     {} bytes\n",
            self.coordinates,
            self.miss_log2,
            self.false_positive_log2,
            self.failure_log2,
            number(self.group),
            number(self.detection_key_bytes),
            number(self.digest_bytes),
            number(self.messages),
            self.bound,
            number(self.payload_bytes.into()),
            number(self.indices_digest_bytes),
        )
    }
}
