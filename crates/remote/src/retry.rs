//! Decides when a call is made again, and after how long.

use crate::tls;
use crate::{Endpoint, Notice, RemoteError, Waiting};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tonic::{Code, Status};

/// How patient a client is. Pauses are drawn from 0 to a limit that doubles ("full jitter"), so that
/// clients which lost the same server do not return together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Limit of the first pause.
    pub first: Duration,
    /// Largest limit.
    pub most: Duration,
    /// Time without any success after which a call fails.
    pub total: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            most: Duration::from_secs(10),
            total: Duration::from_secs(120),
        }
    }
}

/// The time for which failures of a call are not reported.
const SILENT: Duration = Duration::from_secs(2);

/// A client's patience, and whether it has ever heard of its server.
#[derive(Clone, Default)]
pub(crate) struct Policy {
    retry: Retry,
    unreached: Option<Duration>,
    url: String,
    notice: Option<Notice>,
    reached: Arc<AtomicBool>,
    /// Whether a failure was reported since the last success.
    reported: Arc<AtomicBool>,
}

impl Policy {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        Self {
            retry: endpoint.retry.clone(),
            unreached: endpoint.unreached,
            url: endpoint.url.clone(),
            notice: endpoint.notice.clone(),
            ..Self::default()
        }
    }

    /// Notes that the server answered, even if it refused.
    fn note_answer(&self) {
        self.reached.store(true, Ordering::Relaxed);
    }

    /// A call has got on.
    pub(crate) fn note_success(&self) {
        self.note_answer();
        self.reported.store(false, Ordering::Relaxed);
    }

    /// Reports a call that has failed for `waited` once this exceeds [`SILENT`].
    fn log(&self, status: &Status, waited: Duration, pause: Duration) {
        let Some(notice) = &self.notice else {
            return;
        };
        let total = self.total();
        let due = waited + pause >= SILENT && total > SILENT;
        if due && !self.reported.swap(true, Ordering::Relaxed) {
            notice(&Waiting {
                url: self.url.clone(),
                last: innermost(status),
                left: total.saturating_sub(waited),
            });
        }
    }

    /// Time without any success after which a call fails.
    fn total(&self) -> Duration {
        let total = self.retry.total;
        match self.unreached {
            Some(short) if !self.reached.load(Ordering::Relaxed) => short.min(total),
            _ => total,
        }
    }
}

/// The failures of one call since it last got on.
pub(crate) struct Patience<'a> {
    policy: &'a Policy,
    call: &'static str,
    since: Instant,
    failures: u32,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(policy: &'a Policy, call: &'static str) -> Self {
        Self {
            policy,
            call,
            since: Instant::now(),
            failures: 0,
        }
    }

    /// Notes that data arrived: the count of failures starts again.
    pub(crate) fn progress(&mut self) {
        self.since = Instant::now();
        self.failures = 0;
        self.policy.note_success();
    }

    /// Drops a stream and waits before it is opened again.
    ///
    /// Errors: as of [`Patience::pause`].
    pub(crate) async fn reopen<S>(
        &mut self,
        open: &mut Option<S>,
        status: &Status,
    ) -> Result<(), RemoteError> {
        self.broken(open.take().is_some());
        self.pause(status).await
    }

    /// A call failed, perhaps on a stream that was open: there was nothing to wait for in vain before, however long nothing
    /// came.
    fn broken(&mut self, was_open: bool) {
        if was_open && self.failures == 0 {
            self.since = Instant::now();
        }
    }

    /// Waits before the next attempt.
    ///
    /// Errors: a refusal and `Tls` at once; `Unreachable`, `Exhausted` when time is up.
    pub(crate) async fn pause(&mut self, status: &Status) -> Result<(), RemoteError> {
        let waited = self.since.elapsed();
        let pause = self.next(status, waited)?;
        // Report before a pause that ends after the silent time.
        self.policy.log(status, waited, pause);
        tracing::debug!(call = self.call, ?pause, %status, "calling again");
        sleep(pause).await;
        Ok(())
    }

    /// The pause before the next attempt, after trying for so long.
    fn next(&mut self, status: &Status, waited: Duration) -> Result<Duration, RemoteError> {
        if is_answer(status) {
            self.policy.note_answer();
        }
        if let Some(fault) = tls::fault(&innermost(status)) {
            return Err(RemoteError::Tls(self.call, fault));
        }
        if !is_passing(status) {
            return Err(RemoteError::refusal(self.call, status));
        }
        // A pause of our own ends with the time that is left, for a last attempt then.
        let left = self.policy.total().saturating_sub(waited);
        let pause = retry_after(status).unwrap_or_else(|| self.jittered().min(left));
        self.failures += 1;
        if left.is_zero() || pause > left {
            Err(self.ended(waited, status))
        } else {
            Ok(pause)
        }
    }

    fn ended(&self, waited: Duration, status: &Status) -> RemoteError {
        match status.code() {
            Code::ResourceExhausted => RemoteError::refusal(self.call, status),
            _ => RemoteError::Unreachable {
                call: self.call,
                url: self.policy.url.clone(),
                waited,
                last: innermost(status),
            },
        }
    }

    fn jittered(&self) -> Duration {
        let Retry { first, most, .. } = self.policy.retry;
        let doubled = first.saturating_mul(1 << self.failures.min(20));
        let limit = doubled.min(most);
        let mut random = [0; 4];
        // Without randomness the pause is the longest: patient, never wrong.
        match getrandom::fill(&mut random) {
            Ok(()) => limit.mul_f64(f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX)),
            Err(_) => limit,
        }
    }
}

/// Whether another attempt may do. Statuses with a source were made here, by a connection that broke; a
/// server's have none.
fn is_passing(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted => true,
        Code::Unknown | Code::Internal | Code::Cancelled => status.source().is_some(),
        _ => false,
    }
}

/// Whether a status came from the server: those made here have a source, or are of its silence.
fn is_answer(status: &Status) -> bool {
    status.source().is_none() && status.code() != Code::DeadlineExceeded
}

/// The pause that the server asks for.
fn retry_after(status: &Status) -> Option<Duration> {
    let text = status.metadata().get("retry-after-ms")?.to_str().ok()?;
    Some(Duration::from_millis(text.parse().ok()?))
}

/// The message of the innermost cause, which is the most specific: "connection refused" rather than
/// "transport error".
fn innermost(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = status.source();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for code in [
            Code::Unavailable,
            Code::DeadlineExceeded,
            Code::ResourceExhausted,
        ] {
            assert!(is_passing(&Status::new(code, "")));
        }
        for code in [
            Code::InvalidArgument,
            Code::NotFound,
            Code::AlreadyExists,
            Code::PermissionDenied,
            Code::Unauthenticated,
            Code::FailedPrecondition,
            Code::Internal,
            Code::Unknown,
            Code::Cancelled,
            Code::DataLoss,
            Code::Aborted,
        ] {
            assert!(!is_passing(&Status::new(code, "")), "{code:?}");
        }
        let mut broken = Status::unknown("transport error");
        broken.set_source(Arc::new(std::io::Error::other("reset")));
        assert!(is_passing(&broken));
    }

    #[test]
    fn a_connection_that_no_retry_mends_is_given_up_at_once() {
        let whole = Policy::default();
        let failing = |text: &str| {
            let mut status = Status::unavailable("transport error");
            status.set_source(Arc::new(std::io::Error::other(text.to_owned())));
            Patience::new(&whole, "call").next(&status, Duration::ZERO)
        };
        assert!(failing("connection refused").is_ok());
        for lasting in [
            "received corrupt message of type InvalidContentType",
            "invalid peer certificate: UnknownIssuer",
        ] {
            let ended = failing(lasting);
            assert!(
                matches!(ended, Err(RemoteError::Tls("call", _))),
                "{ended:?}"
            );
        }
    }

    #[test]
    fn pauses_stay_below_a_doubling_limit() {
        let whole = Policy::default();
        let policy = &whole.retry;
        let mut patience = Patience::new(&whole, "call");
        for failures in 0..40 {
            patience.failures = failures;
            let limit = policy.first.saturating_mul(1 << failures.min(20));
            assert!(patience.jittered() <= limit.min(policy.most));
        }
    }

    #[test]
    fn the_servers_pause_is_kept_and_time_is_bounded() {
        let whole = Policy::default();
        let policy = &whole.retry;
        let mut patience = Patience::new(&whole, "call");
        let mut status = Status::resource_exhausted("busy");
        status
            .metadata_mut()
            .insert("retry-after-ms", "7000".parse().unwrap());
        let seven = Duration::from_secs(7);
        assert_eq!(patience.next(&status, Duration::ZERO).unwrap(), seven);
        let last = policy.total - seven;
        assert_eq!(patience.next(&status, last).unwrap(), seven);
        let late = last + Duration::from_millis(1);
        let ended = patience.next(&status, late);
        assert!(matches!(ended, Err(RemoteError::Exhausted(..))));
        let ended = patience.next(&Status::unavailable(""), policy.total * 2);
        assert!(matches!(ended, Err(RemoteError::Unreachable { .. })));
    }

    #[test]
    fn a_stream_that_was_silent_for_long_is_opened_again() {
        let whole = Policy::default();
        let broken = Status::unavailable("stream closed because of a broken pipe");
        let mut patience = Patience::new(&whole, "WatchJob");
        let silent = 2 * whole.retry.total;
        patience.since -= silent;
        patience.broken(true);
        let waited = patience.since.elapsed();
        assert!(patience.next(&broken, waited).is_ok());
        // One that opens and breaks again and again is not.
        patience.since -= silent;
        patience.broken(true);
        let waited = patience.since.elapsed();
        let ended = patience.next(&broken, waited);
        assert!(matches!(ended, Err(RemoteError::Unreachable { .. })));
        // Neither is a call without an answer.
        let mut patience = Patience::new(&whole, "GetJob");
        patience.since -= silent;
        patience.broken(false);
        assert!(patience.since.elapsed() >= silent);
    }

    #[test]
    fn a_server_that_never_answered_is_given_up_sooner() {
        let short = Duration::from_secs(2);
        let endpoint = Endpoint {
            unreached: Some(short),
            ..Endpoint::default()
        };
        let policy = Policy::new(&endpoint);
        let mut broken = Status::unavailable("transport error");
        broken.set_source(Arc::new(std::io::Error::other("refused")));
        let late = Status::deadline_exceeded("no answer in time");
        for status in [&broken, &late] {
            let ended = Patience::new(&policy, "call").next(status, short);
            assert!(matches!(ended, Err(RemoteError::Unreachable { .. })));
        }
        // A word of the server's, even a bad one, and it is worth waiting for.
        let busy = Status::unavailable("the server stops");
        assert!(Patience::new(&policy, "call").next(&busy, short).is_ok());
        assert!(Patience::new(&policy, "call").next(&broken, short).is_ok());
    }

    #[test]
    fn who_waits_is_told_once_until_a_call_succeeds() {
        let told: Arc<Mutex<Vec<Waiting>>> = Arc::default();
        let endpoint = Endpoint {
            unreached: Some(Duration::from_secs(60)),
            notice: Some({
                let told = Arc::clone(&told);
                Arc::new(move |waiting| told.lock().unwrap().push(waiting.clone()))
            }),
            ..Endpoint::new("http://localhost:1")
        };
        let policy = Policy::new(&endpoint);
        let mut broken = Status::unavailable("transport error");
        broken.set_source(Arc::new(std::io::Error::other("connection refused")));
        let busy = Status::unavailable("the server stops");
        let after = |status: &Status, ms| {
            policy.log(status, Duration::from_millis(ms), Duration::ZERO);
            told.lock().unwrap().len()
        };
        assert_eq!(
            [
                after(&broken, 1999),
                after(&broken, 2000),
                after(&broken, 9000)
            ],
            [0, 1, 1]
        );
        // An answer that does not help is none to this end, but the server is worth two minutes from then on.
        Patience::new(&policy, "call")
            .next(&busy, Duration::ZERO)
            .unwrap();
        assert_eq!(after(&busy, 9000), 1);
        policy.note_success();
        assert_eq!([after(&busy, 1000), after(&busy, 3000)], [1, 2]);
        let told = told.lock().unwrap();
        let left = |seconds| Duration::from_secs(seconds);
        assert_eq!(
            (&*told[0].url, &*told[0].last),
            ("http://localhost:1", "connection refused")
        );
        assert_eq!((told[0].left, told[1].left), (left(58), left(117)));
        assert_eq!(told[1].last, "the server stops");
    }
}
