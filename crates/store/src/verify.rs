//! Verification of everything, and repair of objects from a backup.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use crate::board::Board;
use crate::config::Clues;
use crate::error::{Evidence, StoreError};
use crate::format::{
    KEYS, Layout, META, ORDER, POSTS, SEGMENTS, SPENT, TABLES, TAIL, index_of, numbers,
};
use crate::keys::hash_of;
use crate::log::{Log, damaged_tail};
use crate::meta::Meta;
use crate::once;
use crate::restore::{copy_key, copy_segment};
use crate::segment::{self, Segment};
use crate::store::Store;
use crate::structure::{Structure, check_structure};
use crate::tables::{View, miscounted, short};

/// What a repair calls the list of one-time keys.
const ONE_TIME_KEYS: &str = "one-time keys";
/// Faults of messages that are listed in full; the others are counted.
const MAX_LISTED: usize = 16;

/// What a verification or a repair found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// Messages on the board, those that have expired among them.
    pub messages: u64,
    /// The first message that is kept.
    pub first: u64,
    /// Messages outside segments that cannot be read as they were appended.
    pub bad_messages: u64,
    /// Segments tested.
    pub segments: u64,
    /// Keys tested.
    pub keys: u64,
    /// Everything that is not as it was written: [`StoreError::Damaged`], [`StoreError::Row`],
    /// [`StoreError::KeyCount`], and errors of objects that cannot be read. Of messages outside
    /// segments the first 16 alone.
    pub faults: Vec<StoreError>,
    /// The database of a local board under its rows; none where that of a server was not looked at.
    pub structure: Option<Structure>,
    /// Names of the objects that a repair has replaced; they are not among the faults.
    pub repaired: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong (any more).
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty() && matches!(self.structure, None | Some(Structure::Sound))
    }
}

/// What the tables say and what is wrong with them.
#[derive(Default)]
struct Tables {
    messages: u64,
    sealed: u64,
    first: u64,
    bad_messages: u64,
    segments: Vec<Segment>,
    keys: Vec<([u8; 32], u64)>,
    faults: Vec<StoreError>,
    /// One-time keys of messages in the tail that are not listed as theirs, the first of them.
    unlisted: Vec<StoreError>,
}

impl Board {
    /// Reads the whole file and tests every record, every row and the database under them; goes on
    /// after damage. Never writes.
    ///
    /// `progress(done, total)` counts messages. Not found by this or any other reading: damage to
    /// the one bit that names the root of a file left by a crash, which can hide its last append.
    ///
    /// Errors: those that keep it from looking; damage found is in the [`Report`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, StoreError> {
        let (first, len) = (self.first(), self.len());
        let structure = check_structure(self.meta().source())?;
        let mut done = |end: u64| progress(end.saturating_sub(first).min(len - first), len - first);
        let mut report = match Tables::of(self.meta(), &mut done) {
            Ok((mut tables, counted)) => {
                let unlisted = std::mem::take(&mut tables.unlisted);
                let mut report = tables.report();
                report.faults.extend(counted);
                report.faults.extend(unlisted);
                report
            }
            // So damaged that the database itself stopped.
            Err(fault) if fault.is_damage() => {
                let mut lost = Tables {
                    messages: len,
                    first,
                    bad_messages: len - first,
                    ..Tables::default()
                };
                lost.faults.push(fault);
                lost.report()
            }
            Err(other) => return Err(other),
        };
        report.structure = Some(structure);
        Ok(report)
    }
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
        let (mut tables, counted) = Tables::of(&inner.meta, &mut |_| {})?;
        let segments = std::mem::take(&mut tables.segments);
        let keys = std::mem::take(&mut tables.keys);
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
            let name = crate::objects::key_name(hash);
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

/// Lists a fault unless there are enough.
fn note(faults: &mut Vec<StoreError>, fault: StoreError) {
    if faults.len() < MAX_LISTED {
        faults.push(fault);
    }
}

impl Tables {
    /// Reads all tables, and tells where there are more or fewer one-time keys than messages.
    ///
    /// `progress` is given the end of the messages tested in the tail.
    fn of(
        meta: &Meta,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Self, Option<StoreError>), StoreError> {
        let layout = meta.layout;
        let tables = meta.view(|view| Self::read(view, &layout, progress))?;
        let counted = meta.view(|view| once::check_count(view, &layout));
        Ok((tables, counted.err()))
    }

    fn report(self) -> Report {
        Report {
            messages: self.messages,
            first: self.first,
            bad_messages: self.bad_messages,
            segments: 0,
            keys: 0,
            faults: self.faults,
            structure: None,
            repaired: Vec::new(),
        }
    }

    fn read(
        view: &View,
        layout: &Layout,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self, StoreError> {
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
        out.check_tail(view, layout, state.sealed..state.len, progress)?;
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

    /// Runs leave nothing out of `range`, every record is intact, and its one-time key is listed.
    fn check_tail(
        &mut self,
        view: &View,
        layout: &Layout,
        range: Range<u64>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let mut next = range.start;
        view.each(TAIL, &[], |key, run| {
            match index_of(short(&TAIL), key) {
                Ok(first) => {
                    self.miss(next..first);
                    next = self.check_run(view, layout, first, run);
                    progress(next);
                }
                Err(fault) => note(&mut self.faults, fault),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        match next <= range.end {
            true => self.miss(next..range.end),
            // More than there should be: behind the end, or twice.
            false => note(
                &mut self.faults,
                damaged_tail(
                    range.end,
                    next,
                    Evidence::Number(range.end),
                    Evidence::Number(next),
                ),
            ),
        }
        Ok(())
    }

    /// Notes that messages are missing, if any are.
    fn miss(&mut self, range: Range<u64>) {
        if range.start == range.end {
            return;
        }
        self.bad_messages += range.end.saturating_sub(range.start);
        let expected = Evidence::Number(range.start);
        let fault = damaged_tail(range.start, range.end, expected, Evidence::Missing);
        note(&mut self.faults, fault);
    }

    /// Tests a run that begins with message `first`; gives the end of its messages.
    fn check_run(&mut self, view: &View, layout: &Layout, first: u64, run: &[u8]) -> u64 {
        let mut next = first;
        let mut records = run.chunks_exact(layout.record_bytes());
        for record in records.by_ref() {
            match layout.open_record(next, record) {
                Err((expected, found)) => {
                    self.bad_messages += 1;
                    let fault = damaged_tail(next, next + 1, expected, found);
                    note(&mut self.faults, fault);
                }
                Ok((clue, _)) => {
                    if let Err(fault) = once::check_listed(view, layout, next, clue) {
                        note(&mut self.unlisted, fault);
                    }
                }
            }
            next = next.saturating_add(1);
        }
        if !records.remainder().is_empty() {
            let expected = Evidence::Bytes(layout.record_bytes() as u64);
            let found = Evidence::Bytes(records.remainder().len() as u64);
            note(
                &mut self.faults,
                damaged_tail(next, next + 1, expected, found),
            );
        }
        next
    }
}

fn rows_are(name: &str, any: &[&str]) -> bool {
    any.contains(&name)
}
