//! Verification: every row and every record of a log, and the database under them.

use omr_mismatch::Mismatch;
use std::ops::{ControlFlow, Range};

use crate::board::Board;
use crate::config::Clues;
use crate::error::{Evidence, StoreError};
use crate::format::{
    KEYS, Layout, META, ORDER, POSTS, SEGMENTS, SPENT, TABLES, TAIL, hash_of, index_key, index_of,
    numbers,
};
use crate::hashes;
use crate::log::Log;
use crate::meta::Meta;
use crate::once;
use crate::segment::Segment;
use crate::structure::{Structure, check_structure};
use crate::tables::{View, miscounted, short};
use crate::tail::damaged_tail;

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
pub(crate) struct Tables {
    messages: u64,
    first: u64,
    bad_messages: u64,
    pub(crate) segments: Vec<Segment>,
    pub(crate) keys: Vec<([u8; 32], u64)>,
    faults: Vec<StoreError>,
    /// One-time keys of messages in the tail that are not listed as theirs, the first of them.
    pub(crate) unlisted: Vec<StoreError>,
    /// Rows of hashes that are damaged, the first of them.
    pub(crate) unhashed: Vec<StoreError>,
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
                let unhashed = std::mem::take(&mut tables.unhashed);
                let mut report = tables.report();
                report.faults.extend(counted);
                report.faults.extend(unlisted);
                report.faults.extend(unhashed);
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
    pub(crate) fn of(
        meta: &Meta,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Self, Option<StoreError>), StoreError> {
        let layout = meta.layout;
        let tables = meta.view(|view| Self::read(view, &layout, progress))?;
        let counted = meta.view(|view| once::check_count(view, &layout));
        Ok((tables, counted.err()))
    }

    pub(crate) fn report(self) -> Report {
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
        out.unhashed = hashes::faults(view, layout)?;
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
                self.faults.push(StoreError::row(
                    short(&SEGMENTS),
                    &index_key(next),
                    Mismatch::new(Evidence::Number(next), Evidence::Number(first)),
                ));
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
                    Mismatch::new(Evidence::Number(range.end), Evidence::Number(next)),
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
        let fault = damaged_tail(
            range.start,
            range.end,
            Mismatch::new(expected, Evidence::Missing),
        );
        note(&mut self.faults, fault);
    }

    /// Tests a run that begins with message `first`; gives the end of its messages.
    fn check_run(&mut self, view: &View, layout: &Layout, first: u64, run: &[u8]) -> u64 {
        let mut next = first;
        let mut records = run.chunks_exact(layout.record_bytes());
        for record in records.by_ref() {
            match layout.open_record(next, record) {
                Err(evidence) => {
                    self.bad_messages += 1;
                    let fault = damaged_tail(next, next + 1, evidence);
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
                damaged_tail(next, next + 1, Mismatch::new(expected, found)),
            );
        }
        next
    }
}

fn rows_are(name: &str, any: &[&str]) -> bool {
    any.contains(&name)
}
