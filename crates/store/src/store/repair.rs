//! Repair of a store: from its own objects, from a backup, or by removal of rows that are only memories.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use bytes::Bytes;
use redb::ReadableTable;

use super::frames::{Frames, KINDS, newest_first, one_history};
use super::objects::{KEYS_PREFIX, MARKER, key_name};
use super::restore::{copy_key, copy_segment};
use super::{Named, Store, marker_fault, sealed};
use crate::chain;
use crate::config::Clues;
use crate::error::{Redb, StoreError};
use crate::format::{
    KEYS, KEYS_CONFIG, META, ORDER, POSTS, RECORDS, SEGMENTS, SPENT, TAIL, encode_config,
    index_key, index_of, open_row, pack, seal_row,
};
use crate::hashes::drop_damaged;
use crate::meta::{Outcome, lock};
use crate::once::check_count;
use crate::segment::{SEGMENTS_PREFIX, Segment};
use crate::tables::short;
use crate::tail::tail_piece;
use crate::verify::{Report, Tables, meta_faults};
use omr_errors::hex;

impl Store {
    /// Mends what is damaged: the marker of the objects from the meta file; rows of keys from their objects; segments,
    /// keys, lost messages and records from the backups in the folder `from`, if there is one; the list of one-time
    /// keys from the messages. Damaged ids of posts and damaged hashes are removed.
    ///
    /// Without a backup, repair also removes what only a backup could mend: damaged rows of keys and records are
    /// deleted, and a mark replaces a damaged record of the tail. With a backup these stay and are reported, since
    /// another backup may have them.
    ///
    /// Errors: those of [`Store::verify`].
    pub fn repair(&self, from: Option<&Path>) -> Result<Report, StoreError> {
        let mut done = Vec::new();
        let mut also = Vec::new();
        self.mend_meta(&mut done)?;
        self.mend_marker(&mut done)?;
        self.mend_post_ids(&mut done)?;
        self.mend_keys(from, &mut done, &mut also)?;
        if let Some(from) = from {
            self.mend_records(from, &mut done)?;
            self.replace_segments(from, &mut done, &mut also)?;
            let back = self.bring_back(from)?;
            done.extend(back.iter().map(|index| format!("message {index}")));
        } else {
            self.drop_records(&mut done)?;
            self.mark_lost(&mut done)?;
        }
        self.mend_lists(&mut done)?;
        if !self.inner().meta.view(chain::faults)?.is_empty() {
            chain::mend(self)?;
            done.push("running hashes".into());
        }
        let mut report = self.verify(&mut |_, _| {})?;
        report.repaired = done;
        // A fault of the backup explains why some damage stays.
        report.faults.extend(also);
        Ok(report)
    }

    /// Writes the rows of the meta table again.
    fn mend_meta(&self, done: &mut Vec<String>) -> Result<(), StoreError> {
        let meta = &self.inner().meta;
        if meta.view(meta_faults)?.is_empty() {
            return Ok(());
        }
        meta.transact(|writing, _| {
            writing.clear(META)?;
            writing.put_version()?;
            writing.put_histories(&meta.histories())?;
            let mut table = writing.table(META)?;
            for key in KEYS_CONFIG {
                let config = encode_config(&meta.config);
                table.insert(key, config.as_slice()).map_err(Redb)?;
            }
            // Every transaction writes the state.
            Ok(Outcome::Commit(()))
        })?;
        done.push("rows of the meta table".into());
        Ok(())
    }

    fn mend_marker(&self, done: &mut Vec<String>) -> Result<(), StoreError> {
        let inner = self.inner();
        if marker_fault(&inner.place)?.is_some() {
            // Opening has tested that the place belongs to this board.
            let mark = Bytes::from(encode_config(&inner.meta.config));
            inner.place.put(MARKER, mark)?;
            done.push(MARKER.into());
        }
        Ok(())
    }

    /// Removes damaged ids of posts, and makes their order again.
    pub(super) fn mend_post_ids(&self, done: &mut Vec<String>) -> Result<(), StoreError> {
        let meta = &self.inner().meta;
        let sound = meta.view(|view| {
            let posts = view.list(POSTS, |_, _| Ok(()))?;
            let order = view.list(ORDER, |_, _| Ok(()))?;
            let sound = posts.faults.is_empty() && order.faults.is_empty();
            Ok(sound && posts.intact.len() == order.intact.len())
        })?;
        if sound {
            return Ok(());
        }
        meta.transact(|writing, _| {
            writing.drop_damaged(POSTS)?;
            writing.clear(ORDER)?;
            let (posts, mut order) = (writing.table(POSTS)?, writing.table(ORDER)?);
            for row in posts.iter().map_err(Redb)? {
                let (id, row) = row.map_err(Redb)?;
                let value = open_row(writing.seed(), short(&POSTS), id.value(), row.value())?;
                let first = value.first_chunk::<8>().copied().unwrap_or_default();
                let key = index_key(u64::from_le_bytes(first));
                let row = seal_row(writing.seed(), short(&ORDER), &key, id.value());
                order.insert(key.as_slice(), row.as_slice()).map_err(Redb)?;
            }
            Ok(Outcome::Commit(()))
        })?;
        done.push("post ids".into());
        Ok(())
    }

    /// Mends rows of keys from the objects, and objects from the backup.
    fn mend_keys(
        &self,
        from: Option<&Path>,
        done: &mut Vec<String>,
        also: &mut Vec<StoreError>,
    ) -> Result<(), StoreError> {
        let inner = self.inner();
        let damaged = inner.meta.view(|view| {
            let mut damaged = Vec::new();
            view.each(KEYS, &[], |key, row| {
                if view.open(KEYS, key, row).is_err() {
                    damaged.push(key.to_vec());
                }
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(damaged)
        })?;
        let named = inner.meta.view(Named::of)?;
        if !damaged.is_empty() {
            let names = named.names();
            let mut hashes: HashSet<[u8; 32]> = damaged
                .iter()
                .filter_map(|key| key.as_slice().try_into().ok())
                .collect();
            // If the hash in a row is damaged, the object with the right hash has no row.
            for (name, _) in inner.place.list(KEYS_PREFIX)? {
                if !names.contains(&name) {
                    hashes.extend(hash_in(&name));
                }
            }
            let mut mended = Vec::new();
            for hash in hashes {
                let found = match self.object_bytes(&hash)? {
                    Some(bytes) => Some(bytes),
                    None => self.fetch_key(&hash, from)?,
                };
                if let Some(bytes) = found {
                    mended.push((hash, bytes));
                }
            }
            inner.meta.transact(|writing, _| {
                // Rows that are still damaged have no object: the owner has to register the key again.
                writing.drop_damaged(KEYS)?;
                for (hash, bytes) in &mended {
                    writing.put(KEYS, hash, &pack([*bytes]))?;
                }
                Ok(Outcome::Commit(()))
            })?;
            for key in damaged {
                done.push(if mended.iter().any(|(hash, _)| hash[..] == key[..]) {
                    format!("row of key {}", hex(&key))
                } else {
                    format!(
                        "row of key {}, dropped: its owner registers it again",
                        hex(&key)
                    )
                });
            }
            self.count()?;
        }
        let Some(from) = from else {
            return Ok(());
        };
        for (hash, bytes) in named.keys.intact {
            if self.check_key(hash, bytes).is_err() {
                match copy_key(&inner.place, &hash, bytes, from) {
                    Ok(()) => done.push(key_name(&hash)),
                    Err(fault) => also.push(fault),
                }
            }
        }
        Ok(())
    }

    /// Returns the length of a key's object in bytes, or `None` if the object is missing or damaged.
    fn object_bytes(&self, hash: &[u8; 32]) -> Result<Option<u64>, StoreError> {
        let Some(mut reader) = self.inner().place.reader(&key_name(hash))? else {
            return Ok(None);
        };
        let (mut hasher, mut bytes) = (blake3::Hasher::new(), 0);
        loop {
            let piece = reader.next()?;
            if piece.is_empty() {
                break;
            }
            bytes += piece.len() as u64;
            hasher.update(&piece);
        }
        Ok((hasher.finalize().as_bytes() == hash).then_some(bytes))
    }

    /// Copies a key from a backup and returns its length in bytes, or `None` if the backup does not have it intact.
    fn fetch_key(&self, hash: &[u8; 32], from: Option<&Path>) -> Result<Option<u64>, StoreError> {
        let Some(from) = from else {
            return Ok(None);
        };
        let found = match fs::metadata(from.join(key_name(hash))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(StoreError::file)?,
        };
        match copy_key(&self.inner().place, hash, found.len(), from) {
            Ok(()) => Ok(Some(found.len())),
            Err(StoreError::Damaged { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    fn damaged_records(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        self.inner().meta.view(|view| {
            let mut damaged = Vec::new();
            view.each(RECORDS, &[], |key, row| {
                if view.open(RECORDS, key, row).is_err() {
                    damaged.push(key.to_vec());
                }
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(damaged)
        })
    }

    /// Replaces damaged records by those of the newest backup that has them intact.
    fn mend_records(&self, from: &Path, done: &mut Vec<String>) -> Result<(), StoreError> {
        let meta = &self.inner().meta;
        let mut damaged = self.damaged_records()?;
        let mut found = Vec::new();
        each_frame(from, &meta.config.board_id, &mut |table, key, row| {
            let intact = open_row(meta.layout.seed, table, key, row).is_ok();
            if table == short(&RECORDS)
                && intact
                && let Some(at) = damaged.iter().position(|other| other == key)
            {
                found.push((damaged.swap_remove(at), row.to_vec()));
            }
            !damaged.is_empty()
        })?;
        if found.is_empty() {
            return Ok(());
        }
        meta.transact(|writing, _| {
            let mut table = writing.table(RECORDS)?;
            for (key, row) in &found {
                table.insert(key.as_slice(), row.as_slice()).map_err(Redb)?;
            }
            Ok(Outcome::Commit(()))
        })?;
        done.extend(found.iter().map(|(key, _)| format!("record {}", hex(key))));
        Ok(())
    }

    fn drop_records(&self, done: &mut Vec<String>) -> Result<(), StoreError> {
        let damaged = self.damaged_records()?;
        if !damaged.is_empty() {
            self.inner().meta.transact(|writing, _| {
                writing.drop_damaged(RECORDS)?;
                Ok(Outcome::Commit(()))
            })?;
        }
        done.extend(
            damaged
                .iter()
                .map(|key| format!("record {}, dropped", hex(key))),
        );
        Ok(())
    }

    fn replace_segments(
        &self,
        from: &Path,
        done: &mut Vec<String>,
        also: &mut Vec<StoreError>,
    ) -> Result<(), StoreError> {
        let inner = self.inner();
        let (layout, board) = (&inner.meta.layout, &inner.meta.config.board_id);
        for segment in self.segments()? {
            if self.fetch(&segment).is_err() {
                match copy_segment(&inner.place, layout, board, &segment, from) {
                    Ok(()) => done.push(segment.name()),
                    Err(fault) => also.push(fault),
                }
            }
        }
        Ok(())
    }

    /// Returns the indices of lost messages. Segments that cannot be read are left out.
    pub(super) fn lost(&self) -> Result<Vec<u64>, StoreError> {
        let mut lost = Vec::new();
        for segment in self.segments()? {
            if let Ok(bytes) = self.fetch(&segment) {
                lost.extend(self.marks(&segment, &sealed::records(&bytes)));
            }
        }
        let sealed = self.inner().meta.view(|view| Ok(view.state()?.sealed))?;
        self.read(sealed..self.len(), &mut |index, clue, _| {
            if clue.is_empty() {
                lost.push(index);
            }
            ControlFlow::Continue(())
        })?;
        Ok(lost)
    }

    /// Restores lost messages from a backup, and returns the indices of those that it has.
    pub(super) fn bring_back(&self, from: &Path) -> Result<Vec<u64>, StoreError> {
        let _one_at_a_time = lock(&self.inner().sealing);
        let lost = self.lost()?;
        if lost.is_empty() {
            return Ok(lost);
        }
        let records = self.records_in(from, &lost)?;
        for segment in self.segments()? {
            let own: Vec<_> = records.range(segment.first..segment.end()).collect();
            if !own.is_empty() {
                self.replace_records(&segment, &own)?;
            }
        }
        self.put_in_tail(&records)?;
        Ok(records.into_keys().collect())
    }

    /// Returns the intact records of lost messages that the backups in a folder have in a tail or a segment. A message
    /// with the same index in another history of the board is refused: its running hash differs.
    fn records_in(&self, from: &Path, lost: &[u64]) -> Result<BTreeMap<u64, Vec<u8>>, StoreError> {
        let meta = &self.inner().meta;
        let (layout, board_id) = (&meta.layout, &meta.config.board_id);
        let mut found = BTreeMap::new();
        let mut take = |first: u64, records: &[u8]| {
            for (index, record) in (first..).zip(records.chunks_exact(layout.record_bytes())) {
                let Ok((clue, payload)) = layout.open_record(index, record) else {
                    continue;
                };
                if clue.is_empty() || lost.binary_search(&index).is_err() {
                    continue;
                }
                let own = meta.view(|view| chain::is_own(view, index, clue, payload));
                if !matches!(own, Ok(Some(false)) | Err(_)) {
                    found.entry(index).or_insert_with(|| record.to_vec());
                }
            }
            found.len() < lost.len()
        };
        let more = each_frame(
            from,
            board_id,
            &mut |table, key, run| match index_of(table, key) {
                Ok(first) if table == short(&TAIL) => take(first, run),
                _ => true,
            },
        )?;
        let folder = match fs::read_dir(from.join(SEGMENTS_PREFIX)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            folder => folder.map_err(StoreError::file)?,
        };
        if more {
            for entry in folder {
                let path = entry?.path();
                let name = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .unwrap_or_default();
                let Some(Ok(first)) = name.get(..20).map(str::parse::<u64>) else {
                    continue;
                };
                let bytes = Bytes::from(fs::read(&path).map_err(StoreError::file)?);
                if let Ok(segment) = sealed::described(layout, board_id, first, &bytes)
                    && segment.name() == format!("{SEGMENTS_PREFIX}/{name}")
                {
                    take(first, &sealed::records(&bytes));
                }
            }
        }
        Ok(found)
    }

    /// Makes a segment again with some of its records replaced.
    fn replace_records(
        &self,
        segment: &Segment,
        records: &[(&u64, &Vec<u8>)],
    ) -> Result<(), StoreError> {
        let inner = self.inner();
        let layout = &inner.meta.layout;
        let mut all = sealed::records(&self.fetch(segment)?).to_vec();
        for (index, record) in records {
            let at = (**index - segment.first) as usize * layout.record_bytes();
            all[at..at + layout.record_bytes()].copy_from_slice(record);
        }
        let board = &inner.meta.config.board_id;
        let (mut mended, bytes) = sealed::build(layout, board, segment.first, &all);
        mended.sealed_at = segment.sealed_at;
        inner.place.put(&mended.name(), bytes)?;
        inner.meta.transact(|writing, _| {
            writing.put(SEGMENTS, &index_key(mended.first), &mended.encode())?;
            Ok(Outcome::Commit(()))
        })
    }

    /// Stores those of the records that belong into the tail.
    fn put_in_tail(&self, records: &BTreeMap<u64, Vec<u8>>) -> Result<(), StoreError> {
        self.inner().meta.transact(|writing, state| {
            let mut table = writing.table(TAIL)?;
            for (index, record) in records.range(state.sealed..state.len) {
                let key = index_key(*index);
                let mut run = record.clone();
                // A run may begin at this message; its other records stay.
                if let Some(old) = table.get(key.as_slice()).map_err(Redb)? {
                    run.extend_from_slice(old.value().get(record.len()..).unwrap_or_default());
                }
                table.insert(key.as_slice(), run.as_slice()).map_err(Redb)?;
            }
            Ok(Outcome::Commit(()))
        })
    }

    /// Replaces damaged records of the tail by marks.
    fn mark_lost(&self, done: &mut Vec<String>) -> Result<(), StoreError> {
        let meta = &self.inner().meta;
        let lost = meta.view(|view| {
            let state = view.state()?;
            let (mut next, mut lost) = (state.sealed, Vec::new());
            while next < state.len {
                let piece = tail_piece(view, &meta.layout, next, state.len)?;
                next += (piece.records.len() / meta.layout.record_bytes()) as u64;
                lost.extend(piece.lost);
            }
            Ok(lost)
        })?;
        if lost.is_empty() {
            return Ok(());
        }
        let mut marks = BTreeMap::new();
        for index in lost {
            let mut mark = Vec::new();
            meta.layout.push_lost(index, &mut mark);
            marks.insert(index, mark);
            done.push(format!("message {index}, marked as lost"));
        }
        self.put_in_tail(&marks)
    }

    /// Makes the list of one-time keys again if it is wrong, and removes damaged hashes.
    fn mend_lists(&self, done: &mut Vec<String>) -> Result<(), StoreError> {
        let meta = &self.inner().meta;
        if meta.layout.clues == Clues::Plain {
            return Ok(());
        }
        let spent = meta.view(|view| view.list(SPENT, |_, _| Ok(())))?;
        if !spent.faults.is_empty() {
            meta.transact(|writing, _| {
                let mut table = writing.table(SPENT)?;
                let mut damaged = Vec::new();
                for row in table.iter().map_err(Redb)? {
                    let (key, row) = row.map_err(Redb)?;
                    if open_row(writing.seed(), short(&SPENT), key.value(), row.value()).is_err() {
                        damaged.push(key.value().to_vec());
                    }
                }
                for key in damaged {
                    // The key was used; which message had it no longer matters.
                    let row = seal_row(writing.seed(), short(&SPENT), &key, &pack([u64::MAX]));
                    table.insert(key.as_slice(), row.as_slice()).map_err(Redb)?;
                }
                Ok(Outcome::Commit(()))
            })?;
            done.push("one-time keys of expired messages".into());
        }
        let (tables, counted) = Tables::of(meta, &mut |_| {})?;
        let mut listed = tables.unlisted.is_empty() && counted.is_none();
        for segment in &tables.segments {
            if let Ok(bytes) = self.fetch(segment) {
                listed &= self.check_listed(segment, &sealed::records(&bytes)).is_ok();
            }
        }
        if !listed {
            self.list_all(&mut |_, _| {})?;
            done.push("one-time keys".into());
        }
        meta.view(|view| check_count(view, &meta.layout))?;
        if !tables.unhashed.is_empty() {
            drop_damaged(meta)?;
            done.push("hashes".into());
        }
        Ok(())
    }
}

/// Returns the hash in the name of a key's object.
fn hash_in(name: &str) -> Option<[u8; 32]> {
    let digits = name.strip_prefix(KEYS_PREFIX)?.strip_prefix('/')?;
    let mut hash = [0; 32];
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(hash)
}

/// A visitor of rows, called with table, key and value. It returns whether it wants more.
type EachRow<'e> = dyn FnMut(&str, &[u8], &[u8]) -> bool + 'e;

/// Calls `each` with table, key and value of all intact frames of a board's backups in a folder, the newest backup
/// first, while it returns true. Returns whether it still did at the end. A file is left at the first frame that cannot
/// be read.
fn each_frame(
    from: &Path,
    board_id: &[u8; 16],
    each: &mut EachRow<'_>,
) -> Result<bool, StoreError> {
    let files = match newest_first(from) {
        Err(StoreError::NoBackup(_)) => return Ok(true),
        files => files?,
    };
    let mut newest = true;
    for file in &files {
        let Ok((mut frames, start)) = Frames::open(file) else {
            continue;
        };
        if newest {
            one_history(&files, &start.state, &start.histories)?;
            newest = false;
        }
        if start.config.board_id != *board_id {
            continue;
        }
        while let Ok(Some(frame)) = frames.next() {
            if let Some((_, rows)) = KINDS.iter().find(|(kind, _)| *kind == frame.kind)
                && !each(short(rows), &frame.key, &frame.value)
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
