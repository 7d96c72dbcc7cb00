//! Jobs over a store whose messages and keys mean nothing, for tests.

use super::{Bounds, Id, JobRecord, Jobs, Keep, Together};
use omr_detector::engines::Costs;
use omr_ops::Metrics;
use omr_protocol::{ParamSet, Scheme, Sealing};
use omr_store::Store;
use std::sync::Arc;
use std::time::Duration;

/// The jobs of a store.
pub(crate) fn jobs(store: &Store, keep: Keep) -> Jobs {
    let set = Arc::new(ParamSet::named("insecure-tiny-v3").unwrap());
    let bounds = Bounds {
        unfinished: 1,
        keep,
        costs: Costs::default(),
        together: Together {
            most: 1,
            wait: Duration::ZERO,
        },
        sealing: Sealing::None,
        lease: Duration::from_secs(60),
        shares_seeds: false,
    };
    Jobs::open(store.clone(), set, bounds, Metrics::new("0", "toy")).unwrap()
}

/// What an account asked for.
pub(crate) fn record(account: &str, client: u64) -> JobRecord {
    JobRecord {
        account: account.into(),
        client,
        keys: vec![[3; 32]],
        range: 0..10,
        step: 1,
        bound: 5,
        indices_only: false,
        scheme: Scheme::Sophomr.tag(),
        ..JobRecord::default()
    }
}

/// An id that tells a number.
pub(crate) fn id(number: u64) -> Id {
    u128::from(number).to_le_bytes()
}
