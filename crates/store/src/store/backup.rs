//! Backups: immutable objects, and the tables of one moment as a portable file.

use std::collections::HashSet;
use std::ops::ControlFlow;

use redb::TableHandle;

use super::frames::{
    KIND_END, KINDS, backup_name, check_row, header, precedes, push_frame, push_start,
};
use super::objects::key_name;
use super::{Store, keys, sealed};
use crate::config::POST_KEY_BYTES;
use crate::database::{Guarded, guarded};
use crate::error::StoreError;
use crate::format::{Layout, Rows, SPENT, TAIL, index_key, index_of, pack, seal_row};
use crate::segment::Segment;
use crate::tables::{View, short};
use crate::tail::{lost_record, run_bytes, tail_piece};

/// Bytes of a piece, at most.
const PIECE_BYTES: usize = 1 << 20;

/// A part of a file of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Path of the file in the backup's folder, with `/`.
    pub name: &'a str,
    /// Where in the file `data` begins.
    pub offset: u64,
    /// At most 1 MiB.
    pub data: &'a [u8],
    /// Nothing of this file follows, and what came is whole. A file without it must be dropped.
    pub last: bool,
}

/// What takes the pieces.
type Each<'e> = dyn FnMut(Piece<'_>) -> Result<(), StoreError> + 'e;

/// Segments and keys of a moment.
type Names = (Vec<Segment>, Vec<([u8; 32], u64)>);

impl Store {
    /// Gives `each` everything the store holds but unfinished uploads, as files: the immutable
    /// objects whose names are not in `have`, and, last, one file `meta-<number>-<history>.bak` with
    /// all tables as of one moment. Appends and reads go on meanwhile.
    ///
    /// Every object and every row is tested as restoring tests it. What is damaged does not keep the rest from being
    /// backed up: it is returned, each fault, and the backup is whole but for that. Damaged rows are left out, a mark
    /// takes the place of a lost message, and a damaged row of a one-time key of an expired message is written anew.
    ///
    /// Errors: [`StoreError::OtherHistory`] where `have` has a file that is no earlier state of this board, before
    /// anything is copied; those of `each`, of the database and of the objects.
    pub fn backup(
        &self,
        have: &HashSet<String>,
        each: &mut Each<'_>,
    ) -> Result<Vec<StoreError>, StoreError> {
        for name in have {
            precedes(name, &self.inner().meta.histories)?;
        }
        let _no_sweep = self.inner().keep_objects();
        let mut copier = Copier {
            store: self,
            done: have.clone(),
            each,
            faults: Vec::new(),
        };
        // Most objects without holding a view, which keeps the meta file from reusing its pages.
        let early = self.inner().meta.view(names)?;
        copier.objects(&early)?;
        let view = self.inner().meta.begin_view()?;
        // `each` is code of others: only what comes from the database is guarded.
        let view = Guarded::new(view);
        let all = guarded(|| names(view.get()?))?;
        copier.objects(&all)?;
        copier.tables(view.get()?)?;
        Ok(copier.faults)
    }
}

fn names(view: &View) -> Result<Names, StoreError> {
    Ok((sealed::list(view)?.intact, keys::list(view)?.intact))
}

struct Copier<'s, 'e> {
    store: &'s Store,
    /// Files that need no copying.
    done: HashSet<String>,
    each: &'s mut Each<'e>,
    /// The damage found.
    faults: Vec<StoreError>,
}

impl Copier<'_, '_> {
    fn objects(&mut self, (segments, keys): &Names) -> Result<(), StoreError> {
        for segment in segments {
            if self.done.insert(segment.name()) {
                let copied = self.segment(segment);
                self.note(copied)?;
            }
        }
        for (hash, bytes) in keys {
            if self.done.insert(key_name(hash)) {
                let copied = self.key(*hash, *bytes);
                self.note(copied)?;
            }
        }
        Ok(())
    }

    /// Keeps damage for the end; another error is one at once.
    fn note(&mut self, copied: Result<(), StoreError>) -> Result<(), StoreError> {
        match copied {
            Err(fault @ StoreError::Damaged { .. }) => {
                self.faults.push(fault);
                Ok(())
            }
            other => other,
        }
    }

    fn segment(&mut self, segment: &Segment) -> Result<(), StoreError> {
        let name = segment.name();
        let bytes = self.store.fetch(segment)?;
        let mut file = Output::new(&name, self.each);
        file.push(&bytes)?;
        file.finish()
    }

    fn key(&mut self, hash: [u8; 32], bytes: u64) -> Result<(), StoreError> {
        let mut reader = self.store.key_reader(hash, bytes)?;
        let name = key_name(&hash);
        let mut file = Output::new(&name, self.each);
        loop {
            let data = reader.next()?;
            if data.is_empty() {
                return file.finish();
            }
            file.push(&data)?;
        }
    }

    /// The file of the tables.
    fn tables(&mut self, view: &View) -> Result<(), StoreError> {
        let state = guarded(|| view.state())?;
        let meta = &self.store.inner().meta;
        let name = backup_name(state.sequence, &meta.history().id);
        let mut hasher = blake3::Hasher::new();
        let mut file = Output::new(&name, self.each);
        let layout = meta.layout;
        let mut rows_out = RowsOut {
            frames: header(),
            faults: Vec::new(),
        };
        push_start(&meta.config, &state, &meta.histories, &mut rows_out.frames);
        for (kind, rows) in KINDS {
            let mut from = Some(if rows.name() == TAIL.name() {
                index_key(state.sealed).to_vec()
            } else {
                Vec::new()
            });
            while let Some(key) = from {
                from = guarded(|| {
                    if rows.name() == TAIL.name() {
                        some_runs(view, &layout, kind, &key, state.len, &mut rows_out)
                    } else {
                        some_rows(view, kind, rows, &key, &mut rows_out)
                    }
                })?;
                hasher.update(&rows_out.frames);
                file.push(&rows_out.frames)?;
                rows_out.frames.clear();
            }
        }
        let RowsOut { mut frames, faults } = rows_out;
        self.faults.extend(faults);
        push_frame(KIND_END, &[], hasher.finalize().as_bytes(), &mut frames);
        file.push(&frames)?;
        file.finish()
    }
}

/// Frames under way, and what is wrong with the rows that are not among them.
struct RowsOut {
    frames: Vec<u8>,
    faults: Vec<StoreError>,
}

/// Frames of rows from `from` on; returns where to go on.
fn some_rows(
    view: &View,
    kind: u8,
    rows: Rows,
    from: &[u8],
    out: &mut RowsOut,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut next = None;
    view.each(rows, from, |key, row| {
        if out.frames.len() >= PIECE_BYTES {
            next = Some(key.to_vec());
            return Ok(ControlFlow::Break(()));
        }
        match check_row(view.seed, rows, key, row) {
            Ok(()) => push_frame(kind, key, row, &mut out.frames),
            Err(fault) => {
                if rows.name() == SPENT.name() && key.len() == POST_KEY_BYTES {
                    // The key was used, whatever message had it.
                    let row = seal_row(view.seed, short(&rows), key, &pack([u64::MAX]));
                    push_frame(kind, key, &row, &mut out.frames);
                }
                out.faults.push(fault);
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(next)
}

/// Frames of runs of the tail from the message of key `from` on; returns where to go on.
fn some_runs(
    view: &View,
    layout: &Layout,
    kind: u8,
    from: &[u8],
    len: u64,
    out: &mut RowsOut,
) -> Result<Option<Vec<u8>>, StoreError> {
    let first = index_of(short(&TAIL), from)?;
    if first >= len {
        return Ok(None);
    }
    let piece = tail_piece(view, layout, first, len)?;
    out.faults
        .extend(piece.lost.iter().map(|index| lost_record(*index)));
    let mut next = first;
    for run in piece.records.chunks(run_bytes(layout)) {
        push_frame(kind, &index_key(next), run, &mut out.frames);
        next += (run.len() / layout.record_bytes()) as u64;
    }
    Ok(Some(index_key(next).to_vec()))
}

/// A file on its way out.
struct Output<'n, 'o, 'e> {
    name: &'n str,
    each: &'o mut Each<'e>,
    offset: u64,
    held: Vec<u8>,
}

impl<'n, 'o, 'e> Output<'n, 'o, 'e> {
    fn new(name: &'n str, each: &'o mut Each<'e>) -> Self {
        Self {
            name,
            each,
            offset: 0,
            held: Vec::new(),
        }
    }

    /// Sends full pieces; the rest waits, since the last piece says that it is the last.
    fn push(&mut self, data: &[u8]) -> Result<(), StoreError> {
        self.held.extend_from_slice(data);
        let mut sent = 0;
        while self.held.len() - sent > PIECE_BYTES {
            let end = sent + PIECE_BYTES;
            (self.each)(Piece {
                name: self.name,
                offset: self.offset,
                data: &self.held[sent..end],
                last: false,
            })?;
            self.offset += PIECE_BYTES as u64;
            sent = end;
        }
        self.held.drain(..sent);
        Ok(())
    }

    fn finish(self) -> Result<(), StoreError> {
        (self.each)(Piece {
            name: self.name,
            offset: self.offset,
            data: &self.held,
            last: true,
        })
    }
}
