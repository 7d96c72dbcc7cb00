//! Verification of every row and every record of a log, and of the database under them.

use omr_errors::Mismatch;
use std::ops::{ControlFlow, Range};

use crate::board::Board;
use crate::config::Clues;
use crate::error::{Evidence, StoreError};
use crate::format::{
    KEYS, KEYS_CONFIG, KEYS_HISTORY, KEYS_STATE, KEYS_VERSION, LOG, Layout, META, META_VERSION,
    ORDER, POSTS, SEGMENTS, SPENT, TABLES, TAIL, decode_config, hash_of, index_key, numbers,
};
use crate::hashes;
use crate::log::Log;
use crate::meta::Meta;
use crate::once;
use crate::segment::Segment;
use crate::structure::{Structure, check_structure};
use crate::tables::{View, miscounted, short};
use crate::tail::{damaged_tail, tail_piece};

/// The greatest number of faults of messages that are listed; further ones are only counted.
const MAX_LISTED: usize = 16;

/// The findings of a verification or a repair.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The number of messages on the board, including those that have expired.
    pub messages: u64,
    /// The index of the first message that has not expired.
    pub first: u64,
    /// The number of messages outside segments that cannot be read as they were appended.
    pub bad_messages: u64,
    /// The messages that are marked as lost, because their records were damaged. They are not among the faults.
    pub lost: Vec<u64>,
    /// The number of segments tested.
    pub segments: u64,
    /// The number of keys tested.
    pub keys: u64,
    /// The differences from what was written: [`StoreError::Damaged`], [`StoreError::Row`], [`StoreError::KeyCount`],
    /// and errors of objects that cannot be read. At most 16 of them are of messages outside segments.
    pub faults: Vec<StoreError>,
    /// The state of the database under the rows of a local board. It is `None` where a server's database was not
    /// tested.
    pub structure: Option<Structure>,
    /// The names of the objects that a repair has replaced. They are not among the faults.
    pub repaired: Vec<String>,
}

impl Report {
    /// Returns whether nothing is wrong, or a repair has mended everything that was.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty() && matches!(self.structure, None | Some(Structure::Sound))
    }
}

/// The content of the tables, and their faults.
#[derive(Default)]
pub(crate) struct Tables {
    messages: u64,
    first: u64,
    bad_messages: u64,
    pub(crate) lost: Vec<u64>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) keys: Vec<([u8; 32], u64)>,
    faults: Vec<StoreError>,
    /// The first faults of one-time keys of messages in the tail that are not listed with their message.
    pub(crate) unlisted: Vec<StoreError>,
    /// The first faults of rows of hashes.
    pub(crate) unhashed: Vec<StoreError>,
    /// The faults of rows of running hashes.
    pub(crate) unchained: Vec<StoreError>,
}

impl Board {
    /// Reads the whole file and tests every record, every row and the database under them. Continues after damage.
    /// Never writes.
    ///
    /// `progress(done, total)` counts messages. One kind of damage is found by no reading: damage to the bit that names
    /// the root of a file that a crash left, which can hide the last append.
    ///
    /// Errors: those that prevent the test; damage is in the [`Report`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, StoreError> {
        let (first, len) = (self.first(), self.len());
        let structure = check_structure(self.meta().source())?;
        let mut done = |end: u64| progress(end.saturating_sub(first).min(len - first), len - first);
        let mut report = match Tables::of(self.meta(), &mut done) {
            Ok((mut tables, counted)) => {
                let unlisted = std::mem::take(&mut tables.unlisted);
                let unhashed = std::mem::take(&mut tables.unhashed);
                let unchained = std::mem::take(&mut tables.unchained);
                let mut report = tables.report();
                report.faults.extend(counted);
                report.faults.extend(unlisted);
                report.faults.extend(unhashed);
                report.faults.extend(unchained);
                report
            }
            // The database itself stopped because of the damage.
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

/// Adds a fault to a list, unless the list is full.
fn note(faults: &mut Vec<StoreError>, fault: StoreError) {
    if faults.len() < MAX_LISTED {
        faults.push(fault);
    }
}

impl Tables {
    /// Reads all tables. The second value is the error of a wrong number of one-time keys.
    ///
    /// `progress` is called with the end of the messages that were tested in the tail.
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
            lost: self.lost,
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
                // Runs of the tail have checksums of their own; so do the version and the configuration.
                if rows_are(name, &[short(&TAIL), short(&META)]) {
                    return Ok(ControlFlow::Continue(()));
                }
                let added = view
                    .open(rows, key, row)
                    .and_then(|value| out.add(name, key, value));
                let faults = if name == short(&LOG) {
                    &mut out.unchained
                } else {
                    &mut out.faults
                };
                faults.extend(added.err());
                Ok(ControlFlow::Continue(()))
            })?;
            let count = view.count(rows)?;
            if count != seen {
                out.faults.push(miscounted(name, count, seen));
            }
        }
        out.faults.extend(meta_faults(view)?);
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

    /// Tests that the segments contain all messages before `sealed` that have not expired.
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

    /// Tests that every message of `range` has an intact record or is marked as lost, and that its one-time key is
    /// listed.
    fn check_tail(
        &mut self,
        view: &View,
        layout: &Layout,
        range: Range<u64>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let mut next = range.start;
        while next < range.end {
            let piece = tail_piece(view, layout, next, range.end)?;
            self.bad_messages += piece.lost.len() as u64;
            for missing in piece.lost.chunk_by(|a, b| a + 1 == *b) {
                let (first, end) = (missing[0], missing[0] + missing.len() as u64);
                let evidence = Mismatch::new(Evidence::Present, Evidence::Malformed);
                note(&mut self.faults, damaged_tail(first, end, evidence));
            }
            for record in piece.records.chunks(layout.record_bytes()) {
                match layout.open_record(next, record) {
                    Ok(([], _)) if piece.lost.contains(&next) => {}
                    Ok(([], _)) => self.lost.push(next),
                    Ok((clue, _)) => {
                        if let Err(fault) = once::check_listed(view, layout, next, clue) {
                            note(&mut self.unlisted, fault);
                        }
                    }
                    Err(evidence) => note(&mut self.faults, piece.damaged(next, evidence)),
                }
                next += 1;
            }
            progress(next);
        }
        Ok(())
    }
}

/// Returns the faults of the rows of the meta table. One row of each pair was intact when the file was opened.
pub(crate) fn meta_faults(view: &View) -> Result<Vec<StoreError>, StoreError> {
    let mut faults = Vec::new();
    let mut note = |key: &[u8], intact: bool| {
        if !intact {
            let evidence = Mismatch::new(Evidence::Present, Evidence::Malformed);
            faults.push(StoreError::row(short(&META), key, evidence));
        }
    };
    for key in KEYS_STATE.into_iter().chain(KEYS_HISTORY) {
        note(key, view.get(META, key).is_ok_and(|value| value.is_some()));
    }
    for key in KEYS_CONFIG {
        note(
            key,
            view.raw(META, key)?
                .and_then(|row| decode_config(&row))
                .is_some(),
        );
    }
    for key in KEYS_VERSION {
        note(
            key,
            view.raw(META, key)?.as_deref() == Some(&META_VERSION.to_le_bytes()[..]),
        );
    }
    let keys = [KEYS_STATE, KEYS_HISTORY, KEYS_CONFIG, KEYS_VERSION];
    let expected = keys.as_flattened().len() as u64;
    let found = view.count(META)?;
    if found != expected {
        faults.push(miscounted(short(&META), expected, found));
    }
    Ok(faults)
}

fn rows_are(name: &str, any: &[&str]) -> bool {
    any.contains(&name)
}
