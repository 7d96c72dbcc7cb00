//! Folders of backups: verified without a restore, and reduced to the newest backups.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use super::Store;
use super::frames::{newest_first, one_history};
use super::objects::{KEYS_PREFIX, key_name};
use super::restore::{Manifest, key_in, segment_in};
use crate::database::sync_dir;
use crate::error::StoreError;
use crate::segment::{SEGMENTS_PREFIX, Segment};
use crate::verify::Report;

/// The amount of data removed from a folder of backups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Pruned {
    /// The number of backups.
    pub backups: u64,
    /// The number of segments and keys that no remaining backup names.
    pub objects: u64,
    /// The bytes of both.
    pub bytes: u64,
}

impl Store {
    /// Tests all backups of a folder as a restore does: every frame and row of their tables, and every object that they
    /// name. The counts of messages and objects are those of the newest readable backup.
    ///
    /// `progress(done, total)` counts files.
    ///
    /// Errors: [`StoreError::NoBackup`], [`StoreError::OtherHistory`], and those that prevent the test; damage is in
    /// the [`Report`].
    pub fn verify_backups(
        from: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Report, StoreError> {
        let files = newest_first(from)?;
        let mut report = Report::default();
        let (mut segments, mut keys) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        let mut newest = true;
        for file in &files {
            match Manifest::read(file, from) {
                Ok(mut manifest) => {
                    report.faults.append(&mut manifest.faults);
                    if newest {
                        one_history(&files, &manifest.state, &manifest.histories)?;
                        (report.messages, report.first) =
                            (manifest.state.len, manifest.state.first);
                        report.segments = manifest.segments.len() as u64;
                        report.keys = manifest.keys.len() as u64;
                        newest = false;
                    }
                    let layout = (manifest.layout, manifest.board.board_id);
                    for segment in manifest.segments {
                        if seen.insert(segment.name()) {
                            segments.push((layout, segment));
                        }
                    }
                    for (hash, bytes) in manifest.keys {
                        if seen.insert(key_name(&hash)) {
                            keys.push((hash, bytes));
                        }
                    }
                }
                Err(fault @ StoreError::Io(_)) => return Err(fault),
                Err(fault) => report.faults.push(fault),
            }
        }
        let total = (segments.len() + keys.len()) as u64;
        let mut done = 0;
        for ((layout, board_id), segment) in &segments {
            report
                .faults
                .extend(segment_in(layout, board_id, segment, from).err());
            done += 1;
            progress(done, total);
        }
        for (hash, bytes) in &keys {
            report
                .faults
                .extend(key_in(hash, *bytes, from, &mut |_| Ok(())).err());
            done += 1;
            progress(done, total);
        }
        Ok(report)
    }

    /// Removes all backups of a folder except the newest `keep`, and at least one. Then removes the objects
    /// that no remaining backup names, such as expired segments and revoked keys.
    ///
    /// Errors: [`StoreError::NoBackup`], [`StoreError::OtherHistory`]; the fault of a backup that stays but cannot be
    /// read, in which case nothing is removed; those of the disk.
    pub fn prune_backups(from: &Path, keep: usize) -> Result<Pruned, StoreError> {
        let files = newest_first(from)?;
        let (kept, old) = files.split_at(files.len().min(keep.max(1)));
        let mut named = HashSet::new();
        for file in kept {
            let manifest = Manifest::read(file, from)?;
            one_history(&files, &manifest.state, &manifest.histories)?;
            named.extend(manifest.segments.iter().map(Segment::name));
            named.extend(manifest.keys.iter().map(|(hash, _)| key_name(hash)));
        }
        let mut pruned = Pruned::default();
        for file in old {
            pruned.bytes += fs::metadata(file)?.len();
            fs::remove_file(file).map_err(StoreError::file)?;
            pruned.backups += 1;
        }
        sync_dir(from)?;
        for folder in [SEGMENTS_PREFIX, KEYS_PREFIX] {
            let entries = match fs::read_dir(from.join(folder)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(StoreError::file)?,
            };
            for entry in entries {
                let entry = entry?;
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if !named.contains(&name) {
                    pruned.bytes += entry.metadata()?.len();
                    fs::remove_file(entry.path()).map_err(StoreError::file)?;
                    pruned.objects += 1;
                }
            }
        }
        Ok(pruned)
    }
}
