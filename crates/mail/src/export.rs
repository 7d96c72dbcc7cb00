//! Exports an identity to one file, and imports it.
//!
//! A frame of kind 15 under the identity's parameter set and the id of its address; its body is
//!
//! ```text
//! LE32(count)   count times: LE16(length of the name)   name   LE64(length)   content
//! ```
//!
//! Names are those in the identity's folder, and contents are its files, unchanged: a secret under a passphrase stays
//! under it. Detection keys are left out, as the server has them and others can be made from the secret. The file must
//! be kept as secret as the identity, so it should be locked (`omr_client::locked`).

use crate::contacts::FOLDER as CONTACTS;
use crate::devices::FILE as DEVICES;
use crate::home::{SERVER, private_folder};
use crate::identity::PROFILE;
use crate::inbox::FILE as INBOX;
use crate::keys::{CLUE_KEY, SECRET_KEY, within};
use crate::retired::FOLDER as RETIRED;
use crate::{Home, Identity, Inbox, MailError, Profile, Server};
use omr_client::locked::{MAX_LOCKED_BYTES, is_locked};
use omr_client::periods::PERIODS_KEY;
use omr_protocol::Mismatch;
use omr_protocol::frame::{self, FrameHeader, FrameReader, Kind};
use omr_protocol::{ClueKey, ParamSet};
use std::collections::BTreeMap;
use std::fs;
use zeroize::Zeroizing;

/// The files of one identity, in the order in which they are written: once the profile is there, the folder contains an
/// identity.
const FILES: [&str; 6] = [SECRET_KEY, CLUE_KEY, PERIODS_KEY, SERVER, INBOX, PROFILE];

type Contents = BTreeMap<String, Zeroizing<Vec<u8>>>;

impl Identity {
    /// Returns this identity and the ones that it replaced, with their letters, as one file.
    ///
    /// Memory: about three times the bytes of the inboxes.
    /// Errors: `Export` where the identity was replaced meanwhile; `File`, `Damaged`, `Params`, `Clue`, `Frame`.
    pub fn export(&self) -> Result<Zeroizing<Vec<u8>>, MailError> {
        let mut contents = Contents::new();
        add(&self.home, "", &mut contents)?;
        for (name, home) in self.home.retired()? {
            add(&home, &format!("{RETIRED}/{name}/"), &mut contents)?;
        }
        for (name, address) in self.home.contacts()? {
            let text = Zeroizing::new(address.to_text().into_bytes());
            contents.insert(format!("{CONTACTS}/{name}"), text);
        }
        if let Some(bytes) = self.home.read(DEVICES)? {
            contents.insert(DEVICES.to_owned(), bytes);
        }
        let set = self.set()?;
        let header = FrameHeader::new(Kind::Identity, set.name(), self.clue_key(&set)?.id);
        let files: Vec<(&str, &[u8])> = contents
            .iter()
            .map(|(name, bytes)| (&name[..], &bytes[..]))
            .collect();
        // Another process may have replaced these keys while they were read.
        check(&groups(&files)?, &header)?;
        let body = body(&contents);
        Ok(Zeroizing::new(frame::write_frame_vec(&header, &body)?))
    }
}

/// Adds the files of one identity, while no other process can write to its inbox.
fn add(home: &Home, prefix: &str, contents: &mut Contents) -> Result<(), MailError> {
    Inbox::beside(home)?.held(|| {
        for name in FILES {
            if let Some(bytes) = home.read(name)? {
                contents.insert(format!("{prefix}{name}"), bytes);
            }
        }
        Ok(())
    })
}

fn body(contents: &Contents) -> Zeroizing<Vec<u8>> {
    let each = contents
        .iter()
        .map(|(name, bytes)| 10 + name.len() + bytes.len());
    let mut body = Zeroizing::new(Vec::with_capacity(4 + each.sum::<usize>()));
    body.extend((contents.len() as u32).to_le_bytes());
    for (name, bytes) in contents {
        body.extend((name.len() as u16).to_le_bytes());
        body.extend(name.as_bytes());
        body.extend((bytes.len() as u64).to_le_bytes());
        body.extend_from_slice(bytes);
    }
    body
}

/// Returns the files in a body; `None` where its lengths are inconsistent.
fn parse(mut body: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let count = u32::from_le_bytes(*take(&mut body)?);
    let mut files: Vec<(&str, &[u8])> = Vec::new();
    for _ in 0..count {
        let len = u16::from_le_bytes(*take(&mut body)?);
        let name = std::str::from_utf8(body.split_off(..usize::from(len))?).ok()?;
        let len = u64::from_le_bytes(*take(&mut body)?);
        let bytes = body.split_off(..usize::try_from(len).ok()?)?;
        let ascends = files.last().is_none_or(|(last, _)| *last < name);
        if !ascends {
            return None;
        }
        files.push((name, bytes));
    }
    body.is_empty().then_some(files)
}

fn take<'a, const N: usize>(body: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = body.split_first_chunk()?;
    *body = rest;
    Some(first)
}

impl Home {
    /// Restores an exported identity in this folder, which must be empty or absent. Its requests continue from their
    /// state at the time of the export. This makes no connection to the server.
    ///
    /// Errors: `NotEmpty`; `Frame`, `Export` and others for a file that contains no identity; `Locked` and `Unlock` if
    /// its secret is not under this home's passphrase; `File`.
    pub fn import(&self, file: &[u8]) -> Result<Identity, MailError> {
        let (header, body) = frame::read_frame(file, Kind::Identity, MAX_LOCKED_BYTES)?;
        let body = Zeroizing::new(body);
        let malformed = || wrong("files of the lengths that it states", "others");
        let files = parse(&body).ok_or_else(malformed)?;
        let groups = groups(&files)?;
        check(&groups, &header)?;
        let secret = groups.get("").and_then(|files| files.get(SECRET_KEY));
        within(
            self,
            Zeroizing::new(secret.map_or_else(Vec::new, |file| file.to_vec())),
        )?;
        self.check_empty()?;
        self.create()?;
        for (folder, files) in groups.iter().rev() {
            self.restore(folder, files)?;
        }
        let identity = Identity::open(self)?;
        // The session at the server may have been continued with the other copy.
        Inbox::open(self)?.requests().forget_session()?;
        Ok(identity)
    }

    fn check_empty(&self) -> Result<(), MailError> {
        let path = self.dir().to_owned();
        match fs::read_dir(&path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(MailError::NotEmpty(path)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(MailError::file(path)(error)),
        }
    }

    fn restore(&self, folder: &str, files: &BTreeMap<&str, &[u8]>) -> Result<(), MailError> {
        let home = self.beside(self.path(folder));
        let made = match folder {
            "" => Ok(()),
            CONTACTS => private_folder(home.dir()),
            _ => private_folder(&self.path(RETIRED)).and_then(|()| private_folder(home.dir())),
        };
        made.map_err(MailError::file(home.dir()))?;
        let rank = |name: &str| FILES.iter().position(|file| *file == name);
        let mut order: Vec<_> = files.iter().collect();
        order.sort_by_key(|(name, _)| rank(name));
        for (name, bytes) in order {
            home.write_new(name, bytes)?;
        }
        Ok(())
    }
}

fn wrong(expected: &'static str, found: impl ToString) -> MailError {
    MailError::Export(Mismatch::new(expected, found.to_string()))
}

/// Files by their folder: "" for the identity, `contacts`, and one for each retired identity.
type Groups<'a> = BTreeMap<&'a str, BTreeMap<&'a str, &'a [u8]>>;

/// Groups files by folder.
///
/// Errors: `Export` for a name that no export has, so that no file of a stranger is written elsewhere.
fn groups<'a>(files: &[(&'a str, &'a [u8])]) -> Result<Groups<'a>, MailError> {
    let mut groups = Groups::new();
    for &(path, bytes) in files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let known = match folder.strip_prefix(RETIRED) {
            Some(of) => of.strip_prefix('/').is_some_and(is_name) && FILES.contains(&name),
            None if folder == CONTACTS => is_name(name),
            None => folder.is_empty() && (name == DEVICES || FILES.contains(&name)),
        };
        if !known {
            return Err(wrong("files of an identity", format!("{path:?}")));
        }
        groups.entry(folder).or_default().insert(name, bytes);
    }
    Ok(groups)
}

/// Returns whether a name is that of a file, not a path to another folder.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(plain)
}

/// Checks everything before anything is written.
fn check(groups: &Groups, header: &FrameHeader) -> Result<(), MailError> {
    let empty = BTreeMap::new();
    check_identity(groups.get("").unwrap_or(&empty), Some(header))?;
    let retired = groups
        .iter()
        .filter(|(folder, _)| folder.starts_with(RETIRED));
    for (_, files) in retired {
        check_identity(files, None)?;
    }
    Ok(())
}

/// Checks that files belong to one identity, that of the header if there is one.
fn check_identity(
    files: &BTreeMap<&str, &[u8]>,
    header: Option<&FrameHeader>,
) -> Result<(), MailError> {
    let file = |name: &'static str| files.get(name).copied().ok_or_else(|| wrong(name, "none"));
    let json = |source| MailError::Settings(PROFILE.into(), source);
    let profile: Profile = serde_json::from_slice(file(PROFILE)?).map_err(json)?;
    if let Some(server) = files.get(SERVER) {
        let _: Server = serde_json::from_slice(server).map_err(json)?;
    }
    let set = ParamSet::named(&profile.params)?;
    let address = ClueKey::from_bytes(set.clue(), file(CLUE_KEY)?)?;
    if let Some(header) = header {
        header.expect_params(set.name())?;
        header.expect_key(&address.id)?;
    }
    let secret = file(SECRET_KEY)?;
    let kind = if is_locked(secret) {
        Kind::Locked
    } else {
        Kind::SecretKey
    };
    let frame = FrameReader::read_header(secret, kind, u64::MAX)?;
    frame.header().expect_params(set.name())?;
    Ok(frame.header().expect_key(&address.id)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> Contents {
        let content = |byte| Zeroizing::new(vec![byte; 3]);
        let names = [PROFILE, SECRET_KEY, "retired/2026-11-23/inbox.redb"];
        names
            .into_iter()
            .zip(1..)
            .map(|(name, byte)| (name.to_owned(), content(byte)))
            .collect()
    }

    #[test]
    fn the_bytes_are_frozen() {
        let body = body(&contents());
        let mut expected = vec![3, 0, 0, 0];
        for (name, byte) in [
            ("identity", 1),
            ("retired/2026-11-23/inbox.redb", 3),
            ("secret.key", 2),
        ] {
            expected.extend([name.len() as u8, 0]);
            expected.extend(name.as_bytes());
            expected.extend([3, 0, 0, 0, 0, 0, 0, 0, byte, byte, byte]);
        }
        assert_eq!(**body, expected);
        let files = parse(&body).unwrap();
        assert_eq!(files.len(), 3);
        assert_eq!(files[2], ("secret.key", &[2, 2, 2][..]));
    }

    #[test]
    fn nothing_malformed_passes() {
        let body = body(&contents());
        for len in 0..body.len() {
            assert!(parse(&body[..len]).is_none(), "{len} bytes");
        }
        let more = [&body[..], &[0]].concat();
        assert!(parse(&more).is_none());
        // The bytes of counts and lengths.
        for at in [0, 3, 4, 5, 14, 21] {
            let mut bad = body.to_vec();
            bad[at] ^= 0x80;
            assert!(parse(&bad).is_none(), "{at}");
        }
    }

    #[test]
    fn no_file_goes_elsewhere() {
        for name in [
            "/etc/passwd",
            "../secret.key",
            "retired/../secret.key",
            "retired/x/../secret.key",
            "retired/x/other",
            "retired/secret.key",
            "retired//secret.key",
            "retiredx/secret.key",
            "contacts/../../x",
            "contacts/.x",
            "contacts/",
            "next/ready",
            "detection.key",
            "",
        ] {
            assert!(groups(&[(name, &b"x"[..])]).is_err(), "{name}");
        }
        for name in [
            "identity",
            "inbox.redb",
            "contacts/bob",
            "retired/2026-11-23-2/server",
        ] {
            assert!(groups(&[(name, &b"x"[..])]).is_ok(), "{name}");
        }
    }
}
