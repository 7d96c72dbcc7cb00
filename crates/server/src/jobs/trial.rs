//! Jobs over a store with meaningless messages and keys, for tests.

use super::{Asking, Bounds, Id, JobRecord, Jobs, Keep, Kinds, Together};
use crate::caller::Caller;
use crate::pages::PageSecret;
use crate::registrations::{Key, Registrations};
use crate::room::Room;
use omr_detector::engines::Costs;
use omr_ops::Metrics;
use omr_protocol::frame::{FrameHeader, FrameWriter, Kind};
use omr_protocol::{EngineKind, ParamSet, Scheme, Sealing};
use omr_store::Store;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

const SET: &str = "insecure-tiny-v4";

/// Opens the jobs of a store.
pub(crate) fn jobs(store: &Store, keep: Keep) -> Jobs {
    let set = Arc::new(ParamSet::named(SET).unwrap());
    let bounds = Bounds {
        unfinished: 1,
        keep,
        costs: Costs::default(),
        together: Together {
            most: 1,
            wait: Duration::ZERO,
        },
        sealing: Sealing::None,
        pages: PageSecret::open(store).unwrap(),
        lease: Duration::from_secs(60),
        room: Arc::new(Room::boundless(&set)),
    };
    let keys = Registrations::open(store.clone(), 8).unwrap();
    Jobs::open(
        store.clone(),
        set,
        Arc::new(keys),
        bounds,
        Metrics::new("0", "toy"),
    )
    .unwrap()
}

/// Stores and registers a key file with a valid header and a meaningless body. Returns its hash.
pub(crate) fn put_key(store: &Store) -> [u8; 32] {
    let header = FrameHeader::new(Kind::DetectionKey, SET, [4; 16]);
    let mut file = Vec::new();
    let mut writer = FrameWriter::new(&mut file, &header, 64).unwrap();
    writer.write_all(&[0; 64]).unwrap();
    writer.finish().unwrap();
    let hash = *blake3::hash(&file).as_bytes();
    store.upload(hash, file.len() as u64).unwrap();
    store.upload_chunk(hash, 0, &file).unwrap();
    let key = Key {
        kind: EngineKind::Sophomr,
        id: [4; 16],
        masks: None,
    };
    let keys = Registrations::open(store.clone(), 8).unwrap();
    keys.add(&Caller::test("ann", 1), &hash, key).unwrap();
    hash
}

/// Returns the request of the server's own thread for work.
pub(crate) fn local() -> Asking {
    Asking {
        who: Arc::default(),
        most: 1,
        engines: Kinds::default(),
        lasts: None,
    }
}

/// Returns the record of a job that an account requested.
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

/// Returns an id that contains a number.
pub(crate) fn id(number: u64) -> Id {
    u128::from(number).to_le_bytes()
}
