//! Verification of everything, and repair of objects from a backup.

use std::ops::ControlFlow;
use std::path::Path;

use omr_board::Clues;

use crate::error::{Evidence, StoreError};
use crate::format::{
    KEYS, Layout, META, ORDER, POSTS, SEGMENTS, SPENT, TABLES, TAIL, index_of, numbers,
};
use crate::keys::hash_of;
use crate::log::damaged_tail;
use crate::once;
use crate::restore::{copy_key, copy_segment};
use crate::segment::{self, Segment};
use crate::store::Store;
use crate::tables::{View, short};

/// What a repair calls the list of one-time keys.
const ONE_TIME_KEYS: &str = "one-time keys";

/// What a verification or a repair found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// Messages on the board, those that have expired among them.
    pub messages: u64,
    /// The first message that is kept.
    pub first: u64,
    /// Segments tested.
    pub segments: u64,
    /// Keys tested.
    pub keys: u64,
    /// Everything that is not as it was written: [`StoreError::Damaged`], [`StoreError::Row`],
    /// [`StoreError::KeyCount`], and errors of objects that cannot be read.
    pub faults: Vec<StoreError>,
    /// Names of the objects that a repair has replaced; they are not among the faults.
    pub repaired: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong (any more).
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// What the tables say and what is wrong with them.
#[derive(Default)]
struct Tables {
    messages: u64,
    sealed: u64,
    first: u64,
    segments: Vec<Segment>,
    keys: Vec<([u8; 32], u64)>,
    faults: Vec<StoreError>,
}

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
    /// backup: objects never change; and makes the list of one-time keys anew where it is wrong.
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
        let tables = inner.meta.view(|view| Tables::read(view, &layout))?;
        let mut report = Report {
            messages: tables.messages,
            first: tables.first,
            segments: tables.segments.len() as u64,
            keys: tables.keys.len() as u64,
            faults: tables.faults,
            repaired: Vec::new(),
        };
        let segments = tables.segments.iter().map(|segment| segment.bytes);
        let keys = tables.keys.iter().map(|(_, bytes)| *bytes);
        let total = segments.chain(keys).fold(0, u64::saturating_add);
        let mut done = 0u64;
        let counted = inner.meta.view(|view| once::check_count(view, &layout));
        let mut listed = vec![counted];
        for segment in &tables.segments {
            let name = segment.name();
            let found = self.fetch(segment).map(drop);
            report.settle(found, name, from, &|from| {
                copy_segment(&inner.place, &layout, board, segment, from)
            });
            listed.push(self.check_listed(segment));
            done = done.saturating_add(segment.bytes);
            progress(done, total);
        }
        for (hash, bytes) in &tables.keys {
            let name = crate::objects::key_name(hash);
            report.settle(self.check_key(*hash, *bytes), name, from, &|from| {
                copy_key(&inner.place, hash, *bytes, from)
            });
            done = done.saturating_add(*bytes);
            progress(done, total);
        }
        listed.push(self.check_tail_listed(tables.sealed..tables.messages));
        let faults: Vec<_> = listed.into_iter().filter_map(Result::err).collect();
        match from.is_some() && !faults.is_empty() {
            true => match self.list_all(&mut |_, _| {}) {
                Ok(()) => report.repaired.push(ONE_TIME_KEYS.into()),
                Err(fault) => report.faults.push(fault),
            },
            false => report.faults.extend(faults),
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
        let records = segment::records(&bytes);
        let check = |view: &View| once::check_records(view, &layout, segment.first, &records);
        inner.meta.view(check)
    }

    /// The same of messages in the tail.
    fn check_tail_listed(&self, range: std::ops::Range<u64>) -> Result<(), StoreError> {
        let layout = self.inner().meta.layout;
        if layout.clues == Clues::Plain || range.is_empty() {
            return Ok(());
        }
        let (first, mut records) = (range.start, Vec::new());
        // One that cannot be read is another fault.
        let _ = self.read(range, &mut |index, clue, payload| {
            layout.push_record(index, clue, payload, &mut records);
            ControlFlow::Continue(())
        });
        let check = |view: &View| once::check_records(view, &layout, first, &records);
        self.inner().meta.view(check)
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

impl Tables {
    fn read(view: &View, layout: &Layout) -> Result<Self, StoreError> {
        let mut out = Self::default();
        let state = view.state()?;
        out.messages = state.len;
        out.sealed = state.sealed;
        out.first = state.first;
        for (rows, name) in TABLES {
            let mut seen = 0;
            view.each(rows, &[], |key, row| {
                seen += 1;
                // Runs of the tail have checksums of their own, version and configuration too.
                if rows_are(name, &[short(&TAIL), short(&META)]) {
                    return Ok(ControlFlow::Continue(()));
                }
                let added = view
                    .open(rows, key, row)
                    .and_then(|value| out.add(name, key, value));
                out.faults.extend(added.err());
                Ok(ControlFlow::Continue(()))
            })?;
            let count = view.count(rows)?;
            if count != seen {
                out.faults.push(miscounted(name, count, seen));
            }
        }
        let (posts, order) = (view.count(POSTS)?, view.count(ORDER)?);
        if posts != order {
            out.faults.push(miscounted(short(&ORDER), posts, order));
        }
        let spent = match layout.clues {
            Clues::Plain => 0,
            Clues::Bound => state.first,
        };
        let found = view.count(SPENT)?;
        if found != spent {
            out.faults.push(miscounted(short(&SPENT), spent, found));
        }
        out.check_segments(state.sealed);
        out.check_tail(view, layout, state.sealed..state.len)?;
        Ok(out)
    }

    fn add(&mut self, table: &str, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if table == short(&SEGMENTS) {
            self.segments.push(Segment::decode(key, value)?);
        } else if table == short(&KEYS) {
            let [bytes] = numbers(table, key, value)?;
            self.keys.push((hash_of(table, key)?, bytes));
        }
        Ok(())
    }

    /// Segments leave nothing out before `sealed` but what has expired.
    fn check_segments(&mut self, sealed: u64) {
        let mut next = self.first;
        let ends = self
            .segments
            .iter()
            .map(|segment| (segment.first, segment.end()));
        for (first, end) in ends.chain([(sealed, sealed)]) {
            if first != next {
                self.faults.push(StoreError::Row {
                    table: short(&SEGMENTS).into(),
                    key: crate::error::hex(&next.to_be_bytes()),
                    expected: Evidence::Number(next),
                    found: Evidence::Number(first),
                });
            }
            next = end;
        }
    }

    /// Runs leave nothing out of `range`, and every record is intact.
    fn check_tail(
        &mut self,
        view: &View,
        layout: &Layout,
        range: std::ops::Range<u64>,
    ) -> Result<(), StoreError> {
        let mut next = range.start;
        let missing = |from, to| damaged_tail(from, to, Evidence::Number(from), Evidence::Missing);
        view.each(TAIL, &[], |key, run| {
            let first = match index_of(short(&TAIL), key) {
                Ok(first) => first,
                Err(fault) => {
                    self.faults.push(fault);
                    return Ok(ControlFlow::Continue(()));
                }
            };
            if first != next {
                self.faults.push(missing(next, first));
            }
            next = first;
            let mut records = run.chunks_exact(layout.record_bytes());
            for record in records.by_ref() {
                if let Err((expected, found)) = layout.open_record(next, record) {
                    self.faults
                        .push(damaged_tail(next, next + 1, expected, found));
                }
                next += 1;
            }
            if !records.remainder().is_empty() {
                let expected = Evidence::Bytes(layout.record_bytes() as u64);
                let found = Evidence::Bytes(records.remainder().len() as u64);
                self.faults
                    .push(damaged_tail(next, next + 1, expected, found));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if next != range.end {
            self.faults.push(missing(next, range.end));
        }
        Ok(())
    }
}

fn rows_are(name: &str, any: &[&str]) -> bool {
    any.contains(&name)
}

fn miscounted(table: &str, expected: u64, found: u64) -> StoreError {
    StoreError::Row {
        table: table.into(),
        key: String::new(),
        expected: Evidence::Number(expected),
        found: Evidence::Number(found),
    }
}
