//! Tests of runs without work and of runs that fail.

use super::*;
use crate::{KeyError, KeyRef};
use omr_detector::{MessageSource, Stages};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A source of units that has none for a number of requests, and then ends.
struct Idle(AtomicUsize);

impl Leases for Idle {
    fn lease(&self, wait: Duration) -> Leased {
        match self.0.fetch_sub(1, Ordering::Relaxed) {
            0 => Leased::Ended,
            _ => {
                std::thread::sleep(wait);
                Leased::Nothing
            }
        }
    }

    fn progress<'a>(&'a self, _: &'a Unit, _: usize) -> Box<dyn Progress + Send + 'a> {
        unreachable!("there is no unit")
    }

    fn complete(&self, _: &Unit, _: usize, _: Made) {}
    fn fail(&self, _: &Unit, _: usize, _: Failure) {}
    fn ran(&self, _: &Unit, _: &Stages) {}
}

impl Supplies for Idle {
    fn key(&self, _: &KeyRef) -> Result<Box<dyn Read + Send>, KeyError> {
        unreachable!("there is no unit")
    }

    fn messages(&self, _: &Unit) -> Box<dyn MessageSource + Send + '_> {
        unreachable!("there is no unit")
    }
}

fn pool() -> rayon::ThreadPool {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(1);
    builder.build().unwrap()
}

#[test]
fn a_worker_without_work_rests_once() {
    let idle = Idle(AtomicUsize::new(5));
    let worker = Worker {
        leases: &idle,
        supplies: &idle,
        set: &ParamSet::named("insecure-tiny-hybrid-v4").unwrap(),
        cards: &omr_cuda::Cards::none(),
        keys: 1,
        pages: &crate::Pages::new(0, true),
    };
    let rests = AtomicUsize::new(0);
    worker.run(&pool(), Duration::from_millis(1), || {
        rests.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(rests.into_inner(), 1);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_ends_a_job_and_the_log_has_the_cause_of_a_failure() {
    let panics = || -> Result<(), Failure> { panic!("the clues are on the moon") };
    assert_eq!(attempt(&pool(), panics), Err(Failure::Panicked));
    let log = Log::default();
    let to = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || to.clone());
    let fail = || {
        let cause = std::io::Error::other("the disk is on fire");
        Failure::of(DetectorError::Source(Box::new(DetectorError::Source(
            Box::new(cause),
        ))))
    };
    let failure = tracing::subscriber::with_default(subscriber.finish(), fail);
    assert!(matches!(failure, Failure::Unread(_)));
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for expected in ["a digest failed", "the disk is on fire"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(Failure::of(DetectorError::Stopped), Failure::Stopped);
}
