//! Rotation: an identity with new keys replaces one that is still read.
//!
//! The new keys are made and registered in the folder `next`. Once the file `ready` is in it, which contains the name
//! of the old identity's new folder, the switch is decided: every process that opens the identity completes it. The old
//! identity is then a home of its own in `retired`.
//!
//! A folder in `retired` whose name begins with `.omr-` is being created or removed, by a process that holds the lock
//! of `retired.lock`. The next process that opens the identity removes the parts that a crash left.

use crate::devices::{note_forgotten, note_replaced};
use crate::home::{SERVER, private_folder};
use crate::identity::PROFILE;
use crate::inbox::FILE as INBOX;
use crate::keys::{CLUE_KEY, SECRET_KEY, detection_keys};
use crate::{Home, Identity, Inbox, MailError, NewIdentity, Reader};
use omr_client::periods::PERIODS_KEY;
use omr_disk::temporary::PREFIX;
use omr_protocol::{Scheme, Sealing, from_hex};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) const FOLDER: &str = "retired";
const NEXT: &str = "next";
const READY: &str = "ready";
/// The name of the file that is locked while the folder of a retired identity is created or removed.
const LOCK: &str = "retired.lock";

/// Returns the names of the files that belong to one identity.
fn own() -> impl Iterator<Item = &'static str> {
    let files = [PROFILE, SERVER, SECRET_KEY, CLUE_KEY, PERIODS_KEY, INBOX];
    files.into_iter().chain(detection_keys())
}

/// The number of letters to a retired identity that are on the board and were not received completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The number of ranges whose digests overflowed and which the board still has.
    pub ranges: usize,
    /// The number of letters with missing parts.
    pub letters: usize,
    /// The number of messages that two rounds found and have yet to fetch.
    pub waiting: u64,
}

impl Unfinished {
    /// Returns the letters that an inbox lacks, besides digests that wait to be decoded.
    ///
    /// Errors: those of the inbox.
    pub fn of(inbox: &Inbox) -> Result<Self, MailError> {
        let coming = inbox.kept()?.into_iter().filter(|kept| !kept.expired);
        let (letters, _) = inbox.leftovers()?;
        Ok(Self {
            ranges: coming.count(),
            letters: letters.len(),
            waiting: inbox.waiting()?.messages,
        })
    }

    /// Returns whether nothing is missing.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self.ranges == 0 && self.letters == 0 && self.waiting == 0
    }
}

impl Home {
    /// Returns the identities that were replaced and are still read, by their names, oldest first.
    ///
    /// Errors: `File`.
    pub fn retired(&self) -> Result<Vec<(String, Self)>, MailError> {
        let folder = self.path(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(MailError::file(&folder))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(MailError::file(&folder))?;
            // The name of an unfinished folder begins with a dot.
            let name = entry.file_name().into_string();
            if let Some(name) = name.ok().filter(|name| !name.starts_with('.')) {
                let home = self.beside(entry.path());
                found.push((name, home));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Returns the home in which the keys are made that will replace those here.
    #[must_use]
    pub fn next(&self) -> Self {
        self.beside(self.path(NEXT))
    }

    /// Replaces the identity here by that of [`Home::next`]. The old identity becomes a retired one with a name that
    /// begins with `date`; returns this name. The old inbox must be open, so that no other process writes to it.
    ///
    /// Errors: `NoIdentity` where there is no next one; those of [`Inbox::open`].
    pub fn replace(&self, date: &str) -> Result<String, MailError> {
        let next = self.next();
        Identity::open(&next)?;
        // Without an inbox of its own it would use the old identity's.
        let letters = Inbox::open(&next)?;
        for sender in Inbox::beside(self)?.muted()? {
            if let Some(sender) = from_hex(&sender) {
                letters.mute(&sender)?;
            }
        }
        drop(letters);
        let name = self.free_name(date);
        note_replaced(self, &name)?;
        next.write_bytes(READY, name.as_bytes())?;
        self.settle()?;
        Ok(name)
    }

    /// Returns a name that begins with `date` and that no retired identity has.
    pub(crate) fn free_name(&self, date: &str) -> String {
        let folder = self.path(FOLDER);
        let later = (2..).map(|number| format!("{date}-{number}"));
        let mut names = std::iter::once(date.to_owned()).chain(later);
        let free = |name: &String| !folder.join(name).exists();
        names.find(free).unwrap_or_default()
    }

    /// Completes a switch that was decided, and removes the parts of retired identities that a crash left.
    pub(crate) fn settle(&self) -> Result<(), MailError> {
        let next = self.next();
        let folder = self.path(FOLDER);
        let unfinished = || dotted_folders(&folder).map_err(MailError::file(&folder));
        if next.read(READY)?.is_none() && unfinished()?.is_empty() {
            return Ok(());
        }
        let lock = self.lock_file(LOCK)?;
        omr_disk::lock(&lock).map_err(MailError::file(self.path(LOCK)))?;
        // Another process may have completed the switch meanwhile.
        if let Some(name) = next.read(READY)? {
            let name = String::from_utf8_lossy(&name).into_owned();
            self.retire(&name)?;
            for own in own().filter(|own| next.has(own)) {
                let moved = fs::rename(next.path(own), self.path(own));
                moved.map_err(MailError::file(self.path(own)))?;
            }
            let cleared = || {
                omr_disk::sync_folder(self.dir())?;
                fs::remove_dir_all(next.dir())?;
                // The decision must not reappear after a crash: the old identity may be forgotten by then.
                omr_disk::sync_folder(self.dir())
            };
            cleared().map_err(MailError::file(next.dir()))?;
        }
        clear(&folder).map_err(MailError::file(folder))
    }

    /// Links the files of the identity here into a folder of their own. No file here is replaced before that is
    /// complete.
    fn retire(&self, name: &str) -> Result<(), MailError> {
        if self.path(FOLDER).join(name).exists() {
            return Ok(());
        }
        self.place(name, |begun| {
            for own in own().filter(|own| self.has(own)) {
                twice(&self.path(own), &begun.path(own)).map_err(MailError::file(begun.dir()))?;
            }
            Ok(())
        })
    }

    /// Adds a retired identity, whose files `fill` writes to a new folder, and returns its name, which begins with
    /// `date`. The folder gets this name once it is complete.
    ///
    /// Errors: `File`; those of `fill`.
    pub(crate) fn add_retired(
        &self,
        date: &str,
        fill: impl FnOnce(&Self) -> Result<(), MailError>,
    ) -> Result<String, MailError> {
        let lock = self.lock_file(LOCK)?;
        omr_disk::lock(&lock).map_err(MailError::file(self.path(LOCK)))?;
        let name = self.free_name(date);
        self.place(&name, fill)?;
        Ok(name)
    }

    /// Creates the folder of a retired identity, which gets its name once `fill` has written its files. The caller holds
    /// the lock.
    fn place(
        &self,
        name: &str,
        fill: impl FnOnce(&Self) -> Result<(), MailError>,
    ) -> Result<(), MailError> {
        let folder = self.path(FOLDER);
        let begun = self.beside(folder.join(format!("{PREFIX}{name}")));
        let made = || {
            private_folder(&folder)?;
            clear(&folder)?;
            private_folder(begun.dir())
        };
        made().map_err(MailError::file(&folder))?;
        fill(&begun)?;
        let placed = || {
            omr_disk::sync_folder(begun.dir())?;
            fs::rename(begun.dir(), folder.join(name))?;
            omr_disk::sync_folder(&folder)
        };
        placed().map_err(MailError::file(&folder))
    }

    /// Decodes the waiting digests of a retired identity, and returns the number of letters that were not received
    /// completely.
    ///
    /// Errors: `NoRetired`, `File`; those of the inbox; `Locked` where digests wait to be decoded.
    pub fn unfinished(&self, name: &str) -> Result<Unfinished, MailError> {
        let (_, theirs) = self.taken_in(name)?;
        Unfinished::of(&theirs)
    }

    /// Returns a retired identity and its inbox, after decoding all digests that wait there.
    fn taken_in(&self, name: &str) -> Result<(Identity, Inbox), MailError> {
        let old = Identity::open(&self.retired_home(name)?)?;
        let theirs = Inbox::open(&old.home)?;
        if theirs.pending()? > 0 && old.profile.board_id.is_some() {
            theirs.take_in(&Reader::new(&old)?)?;
        }
        Ok((old, theirs))
    }

    /// Removes a retired identity: its letters stay in the inbox here, its keys are deleted, and letters that are
    /// written to its address later, or that are [`Self::unfinished`], are lost. This makes no call to the server.
    ///
    /// Errors: `NoRetired`, `File`; those of the inbox; `Locked` where digests wait to be decoded.
    pub fn forget(&self, name: &str) -> Result<(), MailError> {
        // The inbox stays open until the folder is gone, so that no process fetches letters into it that would be lost.
        let (old, theirs) = self.taken_in(name)?;
        Inbox::open(self)?.adopt(name, &old, &theirs)?;
        note_forgotten(self, &old)?;
        let lock = self.lock_file(LOCK)?;
        omr_disk::lock(&lock).map_err(MailError::file(self.path(LOCK)))?;
        let folder = self.path(FOLDER);
        let removed = || {
            fs::rename(old.home.dir(), folder.join(format!("{PREFIX}{name}")))?;
            // Under its own name the folder always has all files.
            omr_disk::sync_folder(&folder)?;
            clear(&folder)
        };
        removed().map_err(MailError::file(old.home.dir()))
    }

    /// Returns the home of a retired identity.
    ///
    /// Errors: `NoRetired`, `File`.
    pub fn retired_home(&self, name: &str) -> Result<Self, MailError> {
        let mut all = self.retired()?.into_iter();
        let found = all.find(|(known, _)| known == name);
        let missing = || MailError::NoRetired(name.to_owned());
        found.map(|(_, home)| home).ok_or_else(missing)
    }
}

/// Returns the folders of retired identities that are being created or removed. Empty where there is no such folder.
fn dotted_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut unfinished = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(unfinished),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && entry.file_type()?.is_dir() {
            unfinished.push(entry.path());
        }
    }
    Ok(unfinished)
}

/// Removes these folders. The caller holds the lock.
fn clear(folder: &Path) -> io::Result<()> {
    let unfinished = dotted_folders(folder)?;
    if unfinished.is_empty() {
        return Ok(());
    }
    for path in unfinished {
        fs::remove_dir_all(path)?;
    }
    omr_disk::sync_folder(folder)
}

/// Links a file under a second name, or copies it where the file system has no links.
fn twice(from: &Path, to: &Path) -> io::Result<()> {
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to)?;
        omr_disk::sync(&fs::File::open(to)?)?;
    }
    Ok(())
}

impl Identity {
    /// Returns the properties of an identity that replaces this one.
    ///
    /// Errors: `Params`, `Clue`, `File`.
    pub fn successor(&self) -> Result<NewIdentity, MailError> {
        let profile = &self.profile;
        let chosen = Scheme::from_tag(profile.scheme);
        // Keys are a choice too.
        let scheme = chosen.or(Scheme::of_engines(&profile.engines(), true));
        Ok(NewIdentity {
            params: profile.params.clone(),
            scheme,
            clues: self.clue_key(&self.set()?)?.kind,
            bound: profile.bound,
            spares: profile.spares,
            sealing: profile.sealing.unwrap_or(Sealing::HpkeX25519),
            board_id: profile.board_id,
            own_masks: profile.own_masks,
            batches: profile.batches,
        })
    }
}
