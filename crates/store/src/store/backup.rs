//! Backups: immutable objects, and the tables of one moment as a portable file.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::frames::{KIND_END, KINDS, backup_name, header, push_frame, push_start};
use super::objects::key_name;
use super::{Store, keys, sealed};
use crate::database::{Guarded, guarded};
use crate::error::StoreError;
use crate::format::Rows;
use crate::segment::Segment;
use crate::tables::View;

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
    /// objects whose names are not in `have`, and, last, one file `meta-<number>.bak` with all
    /// tables as of one moment. Appends and reads go on meanwhile.
    ///
    /// An object that is damaged does not keep the others from being backed up; the error comes at
    /// the end then.
    ///
    /// Errors: [`StoreError::Damaged`], those of `each`, of the database and of the objects.
    pub fn backup(&self, have: &HashSet<String>, each: &mut Each<'_>) -> Result<(), StoreError> {
        let _no_sweep = self.inner().keep_objects();
        let mut copier = Copier {
            store: self,
            done: have.clone(),
            each,
            fault: None,
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
        copier.fault.map_or(Ok(()), Err)
    }
}

fn names(view: &View) -> Result<Names, StoreError> {
    Ok((sealed::list(view)?, keys::list(view)?))
}

struct Copier<'s, 'e> {
    store: &'s Store,
    /// Files that need no copying.
    done: HashSet<String>,
    each: &'s mut Each<'e>,
    /// The first damage.
    fault: Option<StoreError>,
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
                self.fault.get_or_insert(fault);
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
        let name = backup_name(state.sequence);
        let mut hasher = blake3::Hasher::new();
        let mut file = Output::new(&name, self.each);
        let mut frames = header();
        push_start(&self.store.inner().meta.config, &state, &mut frames);
        for (kind, rows) in KINDS {
            let mut from = Some(Vec::new());
            while let Some(key) = from {
                from = guarded(|| some_rows(view, kind, rows, &key, &mut frames))?;
                hasher.update(&frames);
                file.push(&frames)?;
                frames.clear();
            }
        }
        push_frame(KIND_END, &[], hasher.finalize().as_bytes(), &mut frames);
        file.push(&frames)?;
        file.finish()
    }
}

/// Frames of rows from `from` on; gives where to go on.
fn some_rows(
    view: &View,
    kind: u8,
    rows: Rows,
    from: &[u8],
    frames: &mut Vec<u8>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut next = None;
    view.each(rows, from, |key, row| {
        if frames.len() >= PIECE_BYTES {
            next = Some(key.to_vec());
            return Ok(ControlFlow::Break(()));
        }
        push_frame(kind, key, row, frames);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(next)
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
