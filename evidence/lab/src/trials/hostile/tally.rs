//! Counts of attempts, answers and faults.

use super::wire::Answer;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tonic::Code;

/// The counts that all hostile clients share.
pub(super) struct Tally {
    pub(super) address: (&'static str, u16),
    over: AtomicBool,
    /// The number of open idle connections.
    pub(super) held: AtomicU64,
    attempts: Mutex<BTreeMap<String, u64>>,
    answers: Mutex<BTreeMap<String, u64>>,
    faults: Mutex<BTreeMap<String, u64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tally {
    pub(super) fn new(address: (&'static str, u16)) -> Self {
        Self {
            address,
            over: AtomicBool::new(false),
            held: AtomicU64::new(0),
            attempts: Mutex::default(),
            answers: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(super) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Counts an attempt.
    pub(super) fn count(&self, what: &str) {
        *lock(&self.attempts).entry(what.to_owned()).or_default() += 1;
    }

    /// Records a fault; a repeated one is reported once, with its number.
    pub(super) fn fault(&self, text: impl Into<String>) {
        *lock(&self.faults).entry(text.into()).or_default() += 1;
    }

    /// Counts an answer; one that blames the server is a fault. Returns whether the connection is gone.
    pub(super) fn answer(&self, what: &str, answer: Answer) -> bool {
        let name = match &answer {
            Answer::Grpc(code, _) => format!("{:?}", Code::from(*code)),
            Answer::Http(status) => format!("HTTP {status}"),
            Answer::Left => "left".into(),
            Answer::Broken => "broken off".into(),
        };
        *lock(&self.answers).entry(name.clone()).or_default() += 1;
        match &answer {
            Answer::Grpc(2 | 13, text) => self.fault(format!("{name}: {what}: {text}")),
            Answer::Http(500..) => self.fault(format!("{name}: {what}")),
            _ => {}
        }
        answer == Answer::Broken
    }

    pub(super) fn attempts(&self) -> BTreeMap<String, u64> {
        lock(&self.attempts).clone()
    }

    pub(super) fn answers(&self) -> BTreeMap<String, u64> {
        lock(&self.answers).clone()
    }

    pub(super) fn faults(&self) -> Vec<String> {
        let faults = lock(&self.faults);
        faults
            .iter()
            .map(|(text, count)| format!("{count} times: {text}"))
            .collect()
    }
}
