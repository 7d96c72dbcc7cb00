//! Backups: copies of the immutable objects, and the tables at one moment as a portable file.

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

/// The greatest length of a piece, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// A part of a file of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The path of the file in the folder of backups, with `/` between its parts.
    pub name: &'a str,
    /// The offset of `data` in the file.
    pub offset: u64,
    /// The bytes, at most 1 MiB.
    pub data: &'a [u8],
    /// Whether the file ends after this piece. A file without a last piece is incomplete and must be deleted.
    pub last: bool,
}

/// The receiver of pieces.
type Each<'e> = dyn FnMut(Piece<'_>) -> Result<(), StoreError> + 'e;

/// The segments and keys of one moment.
struct Names {
    segments: Vec<Segment>,
    /// The hash and the length in bytes of each key.
    keys: Vec<([u8; 32], u64)>,
}

impl Store {
    /// Calls `each` with everything that the store contains, except unfinished uploads, as files. These are the
    /// immutable objects whose names are not in `have` and, last, a file `meta-<number>-<history>.bak` with all tables
    /// at one moment. Appends and reads continue meanwhile.
    ///
    /// Every object and every row is tested as a restore tests it. Damage does not prevent the backup of the rest:
    /// every fault is returned, and the backup is complete except for these. Damaged rows are left out, a mark replaces
    /// a lost message, and a damaged row of an expired message's one-time key is written again.
    ///
    /// Errors: [`StoreError::OtherHistory`] where `have` contains a file that is not an earlier state of this board,
    /// before anything is copied; those of `each`, of the database and of the objects.
    pub fn backup(
        &self,
        have: &HashSet<String>,
        each: &mut Each<'_>,
    ) -> Result<Vec<StoreError>, StoreError> {
        let histories = self.inner().meta.histories();
        for name in have {
            precedes(name, &histories)?;
        }
        let _no_sweep = self.inner().keep_objects();
        let mut copier = Copier {
            store: self,
            done: have.clone(),
            each,
            faults: Vec::new(),
        };
        // Most objects are copied without a view, which would keep the meta file from reusing its pages.
        let early = self.inner().meta.view(names)?;
        copier.objects(&early)?;
        // `each` belongs to another crate, so only calls to the database are guarded.
        let view = Guarded::new(self.inner().meta.begin_view()?);
        let all = guarded(|| names(view.get()?))?;
        copier.objects(&all)?;
        copier.tables(view.get()?)?;
        Ok(copier.faults)
    }
}

fn names(view: &View) -> Result<Names, StoreError> {
    Ok(Names {
        segments: sealed::list(view)?.intact,
        keys: keys::list(view)?.intact,
    })
}

struct Copier<'s, 'e> {
    store: &'s Store,
    /// The names of the files that need no copy.
    done: HashSet<String>,
    each: &'s mut Each<'e>,
    /// The faults of damaged objects and rows.
    faults: Vec<StoreError>,
}

impl Copier<'_, '_> {
    fn objects(&mut self, names: &Names) -> Result<(), StoreError> {
        for segment in &names.segments {
            if self.done.insert(segment.name()) {
                let copied = self.segment(segment);
                self.note(copied)?;
            }
        }
        for (hash, bytes) in &names.keys {
            if self.done.insert(key_name(hash)) {
                let copied = self.key(*hash, *bytes);
                self.note(copied)?;
            }
        }
        Ok(())
    }

    /// Notes damage for the end. Returns any other error at once.
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

    /// Writes the file of the tables.
    fn tables(&mut self, view: &View) -> Result<(), StoreError> {
        let state = guarded(|| view.state())?;
        let meta = &self.store.inner().meta;
        // Those of the view's moment, unless both of their rows are damaged.
        let histories = guarded(|| view.histories()).unwrap_or_else(|_| meta.histories());
        let last = histories.last().map_or([0; 16], |history| history.id);
        let name = backup_name(state.sequence, &last);
        let mut hasher = blake3::Hasher::new();
        let mut file = Output::new(&name, self.each);
        let layout = meta.layout;
        let mut rows_out = RowsOut {
            frames: header(),
            faults: Vec::new(),
        };
        push_start(&meta.config, &state, &histories, &mut rows_out.frames);
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

/// Finished frames, and the faults of the rows that were left out.
struct RowsOut {
    frames: Vec<u8>,
    faults: Vec<StoreError>,
}

/// Writes frames of rows from key `from` on. Returns the key at which to continue.
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
                    // The key was used; which message had it no longer matters.
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

/// Writes frames of runs of the tail from the message with key `from` on. Returns the key at which to continue.
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

/// A file that is sent in pieces.
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

    /// Sends full pieces. The rest waits, since the last piece must be marked as the last.
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
