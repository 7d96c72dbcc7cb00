//! Rotation: an identity with new keys takes the place of one that is still read.
//!
//! The new keys are made and registered in the folder `next`. From the moment on when the file `ready` is in it, which
//! names the old identity's new folder, the switch is decided: whoever opens the identity afterwards completes it. The
//! old identity is then a home of its own in `retired`.

use crate::home::{SERVER, private_folder};
use crate::identity::PROFILE;
use crate::inbox::FILE as INBOX;
use crate::keys::{CLUE_KEY, SECRET_KEY, detection_keys};
use crate::{Home, Identity, Inbox, MailError, NewIdentity, Reader};
use omr_protocol::{Scheme, Sealing};
use std::fs;
use std::path::Path;

pub(crate) const FOLDER: &str = "retired";
const NEXT: &str = "next";
const READY: &str = "ready";

/// What is one identity's own.
fn own() -> impl Iterator<Item = &'static str> {
    let files = [PROFILE, SERVER, SECRET_KEY, CLUE_KEY, INBOX];
    files.into_iter().chain(detection_keys())
}

impl Home {
    /// Identities that were replaced and are still read, by their names, oldest first.
    ///
    /// Errors: `File`.
    pub fn retired(&self) -> Result<Vec<(String, Self)>, MailError> {
        let folder = self.path(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(MailError::file(&folder))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(MailError::file(&folder))?;
            // One that is being put together, or taken apart, begins with a dot.
            let name = entry.file_name().into_string();
            if let Some(name) = name.ok().filter(|name| !name.starts_with('.')) {
                let home = self.beside(entry.path());
                found.push((name, home));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Where the keys are made that will take the place of those here.
    #[must_use]
    pub fn next(&self) -> Self {
        self.beside(self.path(NEXT))
    }

    /// Puts the identity of [`Home::next`] in the place of the one here, which becomes a retired one under a name that
    /// begins with `date`; gives that name. To be called while the old inbox is open, so that nobody else writes to it.
    ///
    /// Errors: `NoIdentity` where there is no next one; `File`.
    pub fn replace(&self, date: &str) -> Result<String, MailError> {
        let next = self.next();
        Identity::open(&next)?;
        let folder = self.path(FOLDER);
        let later = (2..).map(|number| format!("{date}-{number}"));
        let mut names = std::iter::once(date.to_owned()).chain(later);
        let free = |name: &String| !folder.join(name).exists();
        let name = names.find(free).unwrap_or_default();
        next.write_bytes(READY, name.as_bytes())?;
        self.settle()?;
        Ok(name)
    }

    /// Completes a switch that was decided.
    pub(crate) fn settle(&self) -> Result<(), MailError> {
        let next = self.next();
        let Some(name) = next.read(READY)? else {
            return Ok(());
        };
        let name = String::from_utf8_lossy(&name).into_owned();
        self.retire(&name)
            .map_err(MailError::file(self.path(FOLDER)))?;
        for own in own().filter(|own| next.has(own)) {
            let moved = fs::rename(next.path(own), self.path(own));
            moved.map_err(MailError::file(self.path(own)))?;
        }
        let cleared = || {
            omr_disk::sync_folder(self.dir())?;
            fs::remove_dir_all(next.dir())
        };
        cleared().map_err(MailError::file(next.dir()))
    }

    /// Has the files of the identity here in a folder of their own too. Nothing here is replaced before they are.
    fn retire(&self, name: &str) -> std::io::Result<()> {
        let folder = self.path(FOLDER);
        let place = folder.join(name);
        if place.exists() {
            return Ok(());
        }
        let begun = folder.join(format!(".{name}"));
        private_folder(&folder)?;
        if begun.exists() {
            fs::remove_dir_all(&begun)?;
        }
        private_folder(&begun)?;
        for own in own().filter(|own| self.has(own)) {
            twice(&self.path(own), &begun.join(own))?;
        }
        omr_disk::sync_folder(&begun)?;
        fs::rename(&begun, &place)?;
        omr_disk::sync_folder(&folder)
    }

    /// Ends the life of a retired identity: its letters stay in the inbox here, its keys are gone, and what is written
    /// to its address is lost. The server is not told.
    ///
    /// Errors: `NoRetired`, `File`; those of the inbox; `Locked` where digests wait to be decoded.
    pub fn forget(&self, name: &str) -> Result<(), MailError> {
        let old = Identity::open(&self.retired_home(name)?)?;
        let theirs = Inbox::open(&old.home)?;
        if theirs.pending()? > 0 && old.profile.board_id.is_some() {
            theirs.take_in(&Reader::new(&old)?)?;
        }
        Inbox::open(self)?.adopt(name, &old, &theirs)?;
        drop(theirs);
        let gone = self.path(FOLDER).join(format!(".{name}"));
        let removed = || {
            fs::rename(old.home.dir(), &gone)?;
            fs::remove_dir_all(&gone)
        };
        removed().map_err(MailError::file(old.home.dir()))
    }

    /// The folder of a retired identity.
    ///
    /// Errors: `NoRetired`, `File`.
    pub fn retired_home(&self, name: &str) -> Result<Self, MailError> {
        let mut all = self.retired()?.into_iter();
        let found = all.find(|(known, _)| known == name);
        let missing = || MailError::NoRetired(name.to_owned());
        found.map(|(_, home)| home).ok_or_else(missing)
    }
}

/// A file under a second name, or a copy where the file system has no links.
fn twice(from: &Path, to: &Path) -> std::io::Result<()> {
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to)?;
        omr_disk::sync(&fs::File::open(to)?)?;
    }
    Ok(())
}

impl Identity {
    /// What an identity is like that takes the place of this one.
    ///
    /// Errors: `Params`, `Clue`, `File`.
    pub fn successor(&self, allow_old: bool) -> Result<NewIdentity, MailError> {
        let profile = &self.profile;
        let chosen = Scheme::from_tag(profile.scheme);
        // One key of several was a choice too; all of them are what a set has.
        let scheme = chosen.or(match profile.engines()[..] {
            [engine] => Scheme::of_engines(&[engine], true),
            _ => None,
        });
        Ok(NewIdentity {
            params: profile.params.clone(),
            scheme,
            clues: self.clue_key(&self.set()?)?.kind,
            bound: profile.bound,
            spares: profile.spares,
            sealing: profile.sealing.unwrap_or(Sealing::HpkeX25519),
            allow_old,
            board_id: profile.board_id,
            own_masks: profile.own_masks,
            batches: profile.batches,
        })
    }
}
