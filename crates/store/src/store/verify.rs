//! Verification of all that a server keeps, and repair of objects from a backup.

use std::path::Path;

use super::Store;
use super::objects::key_name;
use super::once::check_records;
use super::restore::{copy_key, copy_segment};
use super::sealed;
use crate::config::Clues;
use crate::error::StoreError;
use crate::hashes::drop_damaged;
use crate::segment::Segment;
use crate::tables::View;
use crate::verify::{Report, Tables};

/// What a repair calls the list of one-time keys.
const ONE_TIME_KEYS: &str = "one-time keys";
/// What a repair calls the hashes of messages.
const KEPT_HASHES: &str = "hashes";

impl Store {
    /// Reads everything and tests every checksum and hash; goes on after damage. Never writes.
    ///
    /// `progress(done, total)` counts bytes of objects.
    ///
    /// Errors: those that keep it from looking; damage found is in the [`Report`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, StoreError> {
        self.examine(progress, None)
    }

    /// Replaces damaged and missing objects by intact ones from the folder of a backup, any
    /// backup: objects never change; makes the list of one-time keys anew where it is wrong; and
    /// removes hashes that are damaged, which readers then take anew.
    /// What it cannot repair, it leaves and reports.
    ///
    /// Errors: as [`Store::verify`].
    pub fn repair(&self, from: &Path) -> Result<Report, StoreError> {
        self.examine(&mut |_, _| {}, Some(from))
    }

    fn examine(
        &self,
        progress: &mut dyn FnMut(u64, u64),
        from: Option<&Path>,
    ) -> Result<Report, StoreError> {
        let inner = self.inner();
        let _no_sweep = inner.keep_objects();
        let layout = inner.meta.layout;
        let board = &inner.meta.config.board_id;
        let (mut tables, counted) = Tables::of(&inner.meta, &mut |_| {})?;
        let segments = std::mem::take(&mut tables.segments);
        let keys = std::mem::take(&mut tables.keys);
        let unhashed = std::mem::take(&mut tables.unhashed);
        let in_tail = std::mem::take(&mut tables.unlisted);
        let mut unlisted: Vec<_> = counted.into_iter().collect();
        let mut report = Report {
            segments: segments.len() as u64,
            keys: keys.len() as u64,
            ..tables.report()
        };
        let bytes = segments.iter().map(|segment| segment.bytes);
        let bytes = bytes.chain(keys.iter().map(|(_, bytes)| *bytes));
        let total = bytes.fold(0, u64::saturating_add);
        let mut done = 0u64;
        for segment in &segments {
            let name = segment.name();
            let found = self.fetch(segment).map(drop);
            report.settle(found, name, from, &|from| {
                copy_segment(&inner.place, &layout, board, segment, from)
            });
            unlisted.extend(self.check_listed(segment).err());
            done = done.saturating_add(segment.bytes);
            progress(done, total);
        }
        for (hash, bytes) in &keys {
            let name = key_name(hash);
            report.settle(self.check_key(*hash, *bytes), name, from, &|from| {
                copy_key(&inner.place, hash, *bytes, from)
            });
            done = done.saturating_add(*bytes);
            progress(done, total);
        }
        unlisted.extend(in_tail);
        match from.is_some() && !unlisted.is_empty() {
            true => match self.list_all(&mut |_, _| {}) {
                Ok(()) => report.repaired.push(ONE_TIME_KEYS.into()),
                Err(fault) => report.faults.push(fault),
            },
            false => report.faults.extend(unlisted),
        }
        match from.is_some() && !unhashed.is_empty() {
            true => match drop_damaged(&inner.meta) {
                Ok(()) => report.repaired.push(KEPT_HASHES.into()),
                Err(fault) => report.faults.push(fault),
            },
            false => report.faults.extend(unhashed),
        }
        Ok(report)
    }

    /// Tests the list of keys against a segment; one that cannot be read is another fault.
    fn check_listed(&self, segment: &Segment) -> Result<(), StoreError> {
        let inner = self.inner();
        let layout = inner.meta.layout;
        if layout.clues == Clues::Plain {
            return Ok(());
        }
        let Ok(bytes) = self.fetch(segment) else {
            return Ok(());
        };
        let records = sealed::records(&bytes);
        let check = |view: &View| check_records(view, &layout, segment.first, &records);
        inner.meta.view(check)
    }

    /// Reads a key to its end. One that was revoked meanwhile is no fault.
    fn check_key(&self, hash: [u8; 32], bytes: u64) -> Result<(), StoreError> {
        let read = || -> Result<(), StoreError> {
            let mut reader = self.key_reader(hash, bytes)?;
            while !reader.next()?.is_empty() {}
            Ok(())
        };
        match read() {
            Err(_) if matches!(self.key_bytes(hash), Ok(None)) => Ok(()),
            other => other,
        }
    }
}

impl Report {
    /// Files the result of testing an object; replaces the object where there is a backup.
    fn settle(
        &mut self,
        found: Result<(), StoreError>,
        name: String,
        from: Option<&Path>,
        replace: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) {
        let Err(fault) = found else {
            return;
        };
        match from.map(replace) {
            Some(Ok(())) => self.repaired.push(name),
            // The backup's own fault says why it stays.
            Some(Err(also)) => self.faults.extend([fault, also]),
            None => self.faults.push(fault),
        }
    }
}
