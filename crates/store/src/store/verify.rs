//! Verification of everything that a server stores.

use super::once::check_records;
use super::{Store, marker_fault, sealed};
use crate::config::Clues;
use crate::error::StoreError;
use crate::segment::Segment;
use crate::tables::View;
use crate::verify::{Report, Tables};

impl Store {
    /// Reads everything and tests every checksum and hash. Continues after damage. Never writes.
    ///
    /// `progress(done, total)` counts bytes of objects.
    ///
    /// Errors: those that prevent the test; damage is in the [`Report`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, StoreError> {
        let inner = self.inner();
        let _no_sweep = inner.keep_objects();
        let (mut tables, counted) = Tables::of(&inner.meta, &mut |_| {})?;
        let segments = std::mem::take(&mut tables.segments);
        let keys = std::mem::take(&mut tables.keys);
        let unhashed = std::mem::take(&mut tables.unhashed);
        let unlisted = std::mem::take(&mut tables.unlisted);
        let unchained = std::mem::take(&mut tables.unchained);
        let mut report = Report {
            segments: segments.len() as u64,
            keys: keys.len() as u64,
            ..tables.report()
        };
        report.faults.extend(marker_fault(&inner.place)?);
        let total = segments
            .iter()
            .map(|segment| segment.bytes)
            .chain(keys.iter().map(|(_, bytes)| *bytes))
            .fold(0, u64::saturating_add);
        let mut done = 0u64;
        for segment in &segments {
            match self.fetch(segment) {
                Ok(bytes) => {
                    let records = sealed::records(&bytes);
                    report.lost.extend(self.marks(segment, &records));
                    report
                        .faults
                        .extend(self.check_listed(segment, &records).err());
                }
                Err(fault) => report.faults.push(fault),
            }
            done = done.saturating_add(segment.bytes);
            progress(done, total);
        }
        for (hash, bytes) in &keys {
            report.faults.extend(self.check_key(*hash, *bytes).err());
            done = done.saturating_add(*bytes);
            progress(done, total);
        }
        report.lost.sort_unstable();
        report.faults.extend(counted);
        report.faults.extend(unlisted);
        report.faults.extend(unhashed);
        report.faults.extend(unchained);
        Ok(report)
    }

    /// Returns the messages of a segment that are marked as lost.
    pub(super) fn marks(&self, segment: &Segment, records: &[u8]) -> Vec<u64> {
        let layout = self.inner().meta.layout;
        (segment.first..)
            .zip(records.chunks_exact(layout.record_bytes()))
            .filter(|(index, record)| {
                let opened = layout.open_record(*index, record);
                opened.is_ok_and(|(clue, _)| clue.is_empty())
            })
            .map(|(index, _)| index)
            .collect()
    }

    /// Tests that the one-time keys of a segment's messages are listed.
    pub(super) fn check_listed(&self, segment: &Segment, records: &[u8]) -> Result<(), StoreError> {
        let inner = self.inner();
        let layout = inner.meta.layout;
        match layout.clues {
            Clues::Plain => Ok(()),
            Clues::Bound => {
                let check = |view: &View| check_records(view, &layout, segment.first, records);
                inner.meta.view(check)
            }
        }
    }

    /// Reads a key to its end. A key that was revoked meanwhile is not a fault.
    pub(super) fn check_key(&self, hash: [u8; 32], bytes: u64) -> Result<(), StoreError> {
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
