//! A disk without space: the error is clear, old content stays intact, and work continues once there is space.

use super::disk::{Disk, Kind};
use super::{Simulated, all, append, check_content, post};
use crate::{Change, StoreError};

/// Fills the disk at every operation of an append. Returns the number of appends that failed.
fn fill_everywhere(kind: Option<Kind>) -> u64 {
    let base = Simulated::create();
    append(&base.open().unwrap(), 0..7).unwrap();
    let whole = base.again();
    let store = whole.open().unwrap();
    let opened = whole.disk.operations();
    // The file has to grow for this number.
    append(&store, 7..900).unwrap();
    let end = whole.disk.operations();
    drop(store);
    let mut failures = 0;
    for at in opened..end {
        let simulated = base.again();
        let store = simulated.open().unwrap();
        simulated.disk.fill(at, kind);
        match append(&store, 7..900) {
            // An append that turns out to be written is accepted as well.
            Ok(range) => assert_eq!(range, 7..900, "full at {at}"),
            Err(StoreError::DiskFull(_)) => failures += 1,
            Err(error) => panic!("full at {at}: {error}"),
        }
        simulated.disk.free();
        // The repeated post is appended once, whether or not the first attempt was written.
        assert_eq!(append(&store, 7..900).unwrap(), 7..900, "full at {at}");
        assert_eq!(append(&store, 900..905).unwrap(), 900..905);
        check_content(&store).unwrap();
        drop(store);
        let store = simulated.open().unwrap();
        assert_eq!(store.len(), 905, "full at {at}");
        check_content(&store).unwrap();
    }
    failures
}

impl Simulated {
    /// Returns a store on the same disk and objects.
    fn again(&self) -> Self {
        Self::on(
            Disk::from_bytes(self.disk.bytes()),
            std::sync::Arc::new(self.objects.fork()),
        )
    }
}

#[test]
fn nothing_works_when_full() {
    assert!(fill_everywhere(None) > 0);
}

#[test]
fn writes_fail_when_full() {
    assert!(fill_everywhere(Some(Kind::Write)) > 0);
}

#[test]
fn growing_fails_when_full() {
    assert!(fill_everywhere(Some(Kind::SetLen)) > 0);
}

#[test]
fn syncs_fail_when_full() {
    assert!(fill_everywhere(Some(Kind::Sync)) > 0);
}

/// After a failed sync the system may contain pages that it will never write. Acknowledged messages must not depend on
/// them.
#[test]
fn a_failed_sync_acknowledges_nothing_that_a_crash_takes_away() {
    let base = Simulated::create();
    append(&base.open().unwrap(), 0..7).unwrap();
    let whole = base.again();
    let store = whole.open().unwrap();
    let opened = whole.disk.operations();
    append(&store, 7..30).unwrap();
    let end = whole.disk.operations();
    drop(store);
    let mut landed = 0;
    for at in opened..end {
        let simulated = base.again();
        let store = simulated.open().unwrap();
        simulated.disk.lose_failed_syncs();
        simulated.disk.fail_once(at, Kind::Sync);
        landed += u64::from(append(&store, 7..30).is_ok());
        assert_eq!(append(&store, 7..30).unwrap(), 7..30);
        let survivor = simulated.disk.after_crash(&mut || None);
        drop(store);
        let survivor = Simulated::on(survivor, std::sync::Arc::new(base.objects.fork()));
        let store = survivor.open().unwrap();
        assert_eq!(store.len(), 30, "sync failed at {at}");
        check_content(&store).unwrap();
        assert!(store.verify(&mut |_, _| {}).unwrap().is_sound());
    }
    assert!(landed > 0);
}

#[test]
fn reads_and_records_go_on_after_failures() {
    let simulated = Simulated::create();
    let store = simulated.open().unwrap();
    append(&store, 0..20).unwrap();
    let change = Change::Put {
        table: "t".into(),
        key: vec![1],
        value: vec![2],
    };
    for _ in 0..3 {
        simulated.disk.fill(0, None);
        let error = all(&store, &[post(20..40)]).unwrap_err();
        assert!(matches!(error, StoreError::DiskFull(_)), "{error}");
        assert!(error.to_string().contains("free some space"));
        store.write(std::slice::from_ref(&change)).unwrap_err();
        simulated.disk.free();
        check_content(&store).unwrap();
    }
    store.write(&[change]).unwrap();
    assert_eq!(store.get("t", &[1]).unwrap(), Some(vec![2]));
    simulated.disk.fill(0, Some(Kind::Object));
    let error = store.seal().unwrap_err();
    assert!(matches!(error, StoreError::Objects { .. }), "{error}");
    check_content(&store).unwrap();
    simulated.disk.free();
    assert_eq!(store.seal().unwrap(), 2);
    assert_eq!(append(&store, 20..40).unwrap(), 20..40);
    check_content(&store).unwrap();
}
