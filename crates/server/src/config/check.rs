//! The ranges of a configuration's values.

use super::{Config, Detector};
use crate::error::ServerError;
use crate::host_rules::check_origins;
use crate::proxies::Proxies;
use omr_detector::sophomr::TOGETHER;

/// The greatest bound of any scheme.
const MOST_BOUND: u32 = 4096;
/// The greatest number of bits of work; more would take a client hours.
const MOST_WORK_BITS: u32 = 32;
/// The greatest duration of a lease: the time for which an ended lease is remembered.
const MOST_LEASE_SECONDS: u64 = 3600;
/// The greatest wait for jobs that run together, which is longer than a digest takes.
const MOST_TOGETHER_SECONDS: f64 = 60.0;

impl Config {
    /// Checks all values.
    ///
    /// Errors: `Setting`.
    pub fn check(&self) -> Result<(), ServerError> {
        let limits = &self.limits;
        let at_least_1 = [
            ("limits.post_messages", u64::from(limits.post_messages)),
            (
                "limits.messages_per_second",
                u64::from(limits.messages_per_second),
            ),
            ("limits.posting_bytes", limits.posting_bytes as u64),
            ("limits.digest_messages", limits.digest_messages),
            ("limits.bound", u64::from(limits.bound)),
            ("limits.session_hours", limits.session_hours),
            ("limits.order_days", limits.order_days),
            ("limits.key_days", limits.key_days),
            ("limits.address_days", limits.address_days),
            ("limits.connections", limits.connections as u64),
            ("limits.all_connections", limits.all_connections as u64),
            ("limits.streams", limits.streams as u64),
            ("limits.idle_seconds", limits.idle_seconds),
            (
                "detector.keys_in_memory",
                self.detector.keys_in_memory as u64,
            ),
            (
                "detector.session_keys_in_memory",
                self.detector.session_keys_in_memory as u64,
            ),
        ];
        if let Some((key, found)) = at_least_1.into_iter().find(|(_, value)| *value == 0) {
            return Err(ServerError::setting(key, "at least 1", found));
        }
        if limits.bound > MOST_BOUND {
            return Err(ServerError::setting(
                "limits.bound",
                "at most 4096, the largest that a scheme serves",
                limits.bound,
            ));
        }
        if self.access.posting_work_bits > MOST_WORK_BITS {
            let found = self.access.posting_work_bits;
            return Err(ServerError::setting(
                "access.posting_work_bits",
                "at most 32",
                found,
            ));
        }
        if let Some(tls) = &self.tls {
            for (key, path) in [("tls.certificate", &tls.certificate), ("tls.key", &tls.key)] {
                if path.as_os_str().is_empty() {
                    return Err(ServerError::setting(key, "a file", "none"));
                }
            }
        }
        check_origins(&self.access)?;
        Proxies::new(&self.access.proxies)?;
        for (key, found) in [
            ("detector.batch_seconds", self.detector.batch_seconds),
            ("detector.message_seconds", self.detector.message_seconds),
        ] {
            if !(found.is_finite() && found > 0.0) {
                return Err(ServerError::setting(key, "a number above 0", found));
            }
        }
        self.detector.check_lease()?;
        self.detector.check_together()
    }
}

impl Detector {
    fn check_lease(&self) -> Result<(), ServerError> {
        if (1..=MOST_LEASE_SECONDS).contains(&self.lease_seconds) {
            Ok(())
        } else {
            Err(ServerError::setting(
                "detector.lease_seconds",
                format!("1 to {MOST_LEASE_SECONDS}"),
                self.lease_seconds,
            ))
        }
    }

    fn check_together(&self) -> Result<(), ServerError> {
        if !(1..=TOGETHER).contains(&self.together) {
            let expected = format!("1 to {TOGETHER}");
            return Err(ServerError::setting(
                "detector.together",
                expected,
                self.together,
            ));
        }
        let seconds = self.together_seconds;
        if (0.0..=MOST_TOGETHER_SECONDS).contains(&seconds) {
            Ok(())
        } else {
            Err(ServerError::setting(
                "detector.together_seconds",
                format!("0 to {MOST_TOGETHER_SECONDS}"),
                seconds,
            ))
        }
    }
}
