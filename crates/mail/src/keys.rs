//! The keys of a new identity: they are made, or those in its folder are used. No function here replaces a key.

use crate::home::Unlocked;
use crate::identity::{Identity, KeyFile, NewIdentity};
use crate::{Home, MailError, periods};
use chacha20::ChaCha20Rng;
use omr_client::locked::{self, LockError};
use omr_client::{SecretKey, Words, os_rng, write_detection_key};
use omr_protocol::frame::{FrameReader, Kind};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{
    ClueKey, ClueParams, EngineKind, Mismatch, ParamSet, Scheme, Sealing, VERIFYING_KEY_BYTES,
};
use omr_remote::KeyMaker;
use rand_core::{Rng, SeedableRng};
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;
use zeroize::Zeroizing;

pub(crate) const SECRET_KEY: &str = "secret.key";
pub(crate) const CLUE_KEY: &str = "clue.key";

/// Returns the file names of all detection keys.
pub(crate) fn detection_keys() -> impl Iterator<Item = &'static str> {
    EngineKind::ALL.into_iter().map(EngineKind::key_name)
}

impl Home {
    /// Returns whether the folder has a key of `omr keygen`, or of an interrupted `omr id new`.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        let mut names = [SECRET_KEY, CLUE_KEY].into_iter().chain(detection_keys());
        names.any(|name| self.has(name))
    }

    /// Returns whether a file exists, including a link to a missing file, which writing would replace.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    fn key_error(&self, name: &str, expected: impl ToString, found: impl ToString) -> MailError {
        let keys = Mismatch::new(expected.to_string(), found.to_string());
        MailError::Keys(self.path(name), keys)
    }
}

/// Reads the secret in a folder; it is wiped when dropped.
///
/// Errors: `NoIdentity`, `File`, `Locked`, `Unlock`, `Secret`.
pub(crate) fn secret(home: &Home, set: &ParamSet) -> Result<SecretKey, MailError> {
    Ok(SecretKey::from_bytes(set.clue(), &secret_bytes(home)?)?)
}

/// Reads the secret's file and removes the passphrase.
///
/// Errors: `NoIdentity`, `File`, `Locked`, `Unlock`.
pub(crate) fn secret_bytes(home: &Home) -> Result<Zeroizing<Vec<u8>>, MailError> {
    let file = home
        .read(SECRET_KEY)?
        .ok_or_else(|| MailError::NoIdentity(home.dir().to_owned()))?;
    within(home, file)
}

/// Returns the secret's file without its passphrase, which is that of the home.
///
/// Errors: `Locked`, `Unlock`.
pub(crate) fn within(
    home: &Home,
    file: Zeroizing<Vec<u8>>,
) -> Result<Zeroizing<Vec<u8>>, MailError> {
    if !locked::is_locked(&file) {
        return Ok(file);
    }
    let path = home.path(SECRET_KEY);
    let passphrase = home.passphrase();
    let passphrase = passphrase.ok_or_else(|| MailError::Locked(path.clone()))?;
    let mut last = home.unlocked.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = last.as_ref().filter(|last| last.locked == file) {
        return Ok(last.within.clone());
    }
    let within = locked::unlock(Kind::SecretKey, &file, passphrase)
        .map_err(|source| MailError::Unlock(path, source))?;
    *last = Some(Unlocked {
        locked: file,
        within: within.clone(),
    });
    Ok(within)
}

/// Returns the key of the inbox in a folder, which follows from the secret there.
///
/// Errors: `NoIdentity`, `File`, `Locked`, `Unlock`, `Frame`, `Params`, `Secret`.
pub(crate) fn storage_key(home: &Home) -> Result<omr_disk::Key, MailError> {
    let bytes = secret_bytes(home)?;
    let frame = FrameReader::read_header(&bytes[..], Kind::SecretKey, u64::MAX)?;
    let params = ClueParams::named(&frame.header().params_id)?;
    Ok(SecretKey::from_bytes(&params, &bytes)?.storage_key())
}

/// Returns the secret's file for a folder: under the passphrase, if there is one.
///
/// Errors: `Unlock`.
pub(crate) fn kept_bytes(home: &Home, secret: &[u8]) -> Result<Zeroizing<Vec<u8>>, MailError> {
    let kept = match home.passphrase() {
        Some(passphrase) => locked::lock(Kind::SecretKey, secret, passphrase),
        None => Ok(secret.to_vec()),
    };
    let unlocked = |source: LockError| MailError::Unlock(home.path(SECRET_KEY), source);
    kept.map(Zeroizing::new).map_err(unlocked)
}

/// The keys of a new identity.
pub(crate) struct Made {
    /// The detection keys.
    pub(crate) files: Vec<KeyFile>,
    /// The key that verifies the secret's signatures.
    pub(crate) verifying_key: [u8; VERIFYING_KEY_BYTES],
    /// The list of the public keys of periods, in base64.
    pub(crate) periods: Option<String>,
}

/// Makes all keys that are missing, the secret first: those of the words, or random ones. So an interrupted call can be
/// repeated, and the keys of `omr keygen` become an identity's.
///
/// Errors: `Keys` where a key is here that does not fit; `File`, `Secret`, `Params`.
pub(crate) fn complete(
    home: &Home,
    set: &ParamSet,
    new: &NewIdentity,
    words: Option<&Words>,
) -> Result<Made, MailError> {
    let secret = if home.has(SECRET_KEY) {
        fitting_secret(home, set, new, words)?
    } else {
        new_secret(home, set, new, words)?
    };
    let periods = periods::complete(home, set, &secret, words, new.sealing)?;
    complete_address(home, set, &secret)?;
    let make = Make {
        set,
        secret: &secret,
        epoch: epoch(new.own_masks, new.board_id),
        words,
    };
    Ok(Made {
        files: make.complete(home, new.scheme)?,
        verifying_key: secret.verifying_key(),
        periods,
    })
}

/// Returns the epoch whose masks a new detection key has: that of its board, where the board is known and `own_masks`
/// is false.
fn epoch(own_masks: bool, board_id: Option<[u8; 16]>) -> Option<Epoch> {
    let board = board_id.filter(|_| !own_masks)?;
    Some(Epoch::at(board, SystemTime::now()))
}

/// Makes a secret and its address in a folder without keys.
fn new_secret(
    home: &Home,
    set: &ParamSet,
    new: &NewIdentity,
    words: Option<&Words>,
) -> Result<SecretKey, MailError> {
    let mut others = [CLUE_KEY].into_iter().chain(detection_keys());
    if let Some(name) = others.find(|name| home.has(name)) {
        return Err(home.key_error(name, "its secret.key beside it", "found none"));
    }
    let (secret, clue) = match words {
        Some(words) => words.identity(set.clue(), new.clues),
        None => omr_client::identity(set.clue(), new.clues, &mut os_rng()),
    };
    let bytes = kept_bytes(home, &secret.to_bytes(set.clue())?)?;
    if new.sealing != Sealing::None {
        periods::begin(home, set, &secret, words)?;
    }
    home.write_new(SECRET_KEY, &bytes)?;
    home.write_new(CLUE_KEY, &clue.to_bytes(set.clue())?)?;
    Ok(secret)
}

/// Reads the secret, and checks that it is of the set, for the wanted clues, and that of the words, if there are any.
fn fitting_secret(
    home: &Home,
    set: &ParamSet,
    new: &NewIdentity,
    words: Option<&Words>,
) -> Result<SecretKey, MailError> {
    let expected = format!("keys of {} for {} clues", set.name(), new.clues);
    let bytes = secret_bytes(home)?;
    let frame = FrameReader::read_header(&bytes[..], Kind::SecretKey, u64::MAX)?;
    let found = &frame.header().params_id;
    if found != set.name() {
        return Err(home.key_error(SECRET_KEY, expected, format!("found one of {found}")));
    }
    let secret = SecretKey::from_bytes(set.clue(), &bytes)?;
    let clues = secret.clues();
    if clues != new.clues {
        return Err(home.key_error(SECRET_KEY, expected, format!("found one for {clues} clues")));
    }
    let own = words.map(|words| words.identity(set.clue(), clues).0.address_id);
    if own.is_some_and(|own| own != secret.address_id) {
        return Err(home.key_error(SECRET_KEY, "that of the words", "found another one"));
    }
    Ok(secret)
}

/// Writes the address of the secret, or checks the one that is there.
fn complete_address(home: &Home, set: &ParamSet, secret: &SecretKey) -> Result<(), MailError> {
    if !home.has(CLUE_KEY) {
        let missing = || home.key_error(SECRET_KEY, "its clue.key beside it", "found none");
        let address = secret.address().ok_or_else(missing)?;
        return home.write_new(CLUE_KEY, &address.to_bytes(set.clue())?);
    }
    let bytes = home.read(CLUE_KEY)?.unwrap_or_default();
    let address = ClueKey::from_bytes(set.clue(), &bytes)?;
    let same = match secret.address() {
        Some(own) => own.to_bytes(set.clue())? == bytes[..],
        None => (address.id, address.kind) == (secret.address_id, secret.clues()),
    };
    let other = || home.key_error(CLUE_KEY, "that of secret.key", "found another address");
    same.then_some(()).ok_or_else(other)
}

/// The properties of detection keys to make.
struct Make<'a> {
    set: &'a ParamSet,
    secret: &'a SecretKey,
    /// The epoch whose masks they have, unless they have masks of their own.
    epoch: Option<Epoch>,
    /// The words that they are derived from, unless they are random.
    words: Option<&'a Words>,
}

impl Make<'_> {
    /// Makes the detection keys of a scheme that are missing.
    fn complete(&self, home: &Home, scheme: Option<Scheme>) -> Result<Vec<KeyFile>, MailError> {
        let mut files = Vec::new();
        for engine in self.set.spec().engines_for(scheme) {
            if !has_detection(home, self.set, engine, self.secret)? {
                self.write(home, engine)?;
            }
            files.push(KeyFile {
                name: engine.key_name().to_owned(),
                hash: None,
                registered: false,
            });
        }
        Ok(files)
    }

    /// Makes a detection key and writes it.
    fn write(&self, home: &Home, engine: EngineKind) -> Result<(), MailError> {
        let (set, secret) = (self.set, self.secret);
        let mut rng = match self.words {
            Some(words) => words.detection_rng(set.clue(), secret.clues()),
            None => os_rng(),
        };
        home.write(engine.key_name(), |file| {
            let epoch = self.epoch.as_ref();
            Ok(write_detection_key(
                set, engine, secret, epoch, &mut rng, file,
            )?)
        })
    }
}

/// Returns the maker of a detection key of an imported identity: another key of its secret.
///
/// Errors: `Locked`, `Unlock`, `Secret`, `Keys`, `Params`.
pub(crate) fn detection_maker(identity: &Identity, name: &str) -> Result<KeyMaker, MailError> {
    let (home, profile, set) = (&identity.home, &identity.profile, identity.set()?);
    let expected = || detection_keys().collect::<Vec<_>>().join(" or ");
    let engine = EngineKind::of_key_name(name)
        .ok_or_else(|| home.key_error(name, expected(), "found another name in the profile"))?;
    let epoch = epoch(profile.own_masks, profile.board_id);
    let secret = secret(home, &set)?;
    // Every key that this maker makes is the same one, and the seed is forgotten with this process.
    let mut seed = Zeroizing::new([0; 32]);
    os_rng().fill_bytes(&mut seed[..]);
    Ok(Arc::new(move |mut out: &mut dyn Write| {
        let rng = &mut ChaCha20Rng::from_seed(*seed);
        write_detection_key(&set, engine, &secret, epoch.as_ref(), rng, &mut out)
            .map_err(io::Error::other)
    }))
}

/// Returns whether a detection key is here. A key of another secret and a damaged key are errors.
fn has_detection(
    home: &Home,
    set: &ParamSet,
    engine: EngineKind,
    secret: &SecretKey,
) -> Result<bool, MailError> {
    let name = engine.key_name();
    if !home.has(name) {
        return Ok(false);
    }
    let path = home.path(name);
    let file = File::open(&path).map_err(MailError::file(&path))?;
    let bytes = file.metadata().map_err(MailError::file(&path))?.len();
    let frame = FrameReader::read_header(file, engine.key_file(), u64::MAX)?;
    let header = frame.header();
    let expected = format!("that of secret.key, of {}", set.name());
    if header.params_id != set.name() || header.key_id != secret.key_id(engine) {
        let found = format!("found one of another secret, of {}", header.params_id);
        return Err(home.key_error(name, expected, found));
    }
    match header.file_len(frame.body_len()) {
        whole if whole == bytes => Ok(true),
        whole => {
            let found = format!("found {bytes} of its {whole} bytes");
            Err(home.key_error(name, expected, found))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::ClueKind;
    use omr_protocol::sophomr::DetectionKey;

    const BOARD: [u8; 16] = [7; 16];

    fn wanted(own_masks: bool) -> NewIdentity {
        NewIdentity {
            // A set whose recipients share masks.
            params: "insecure-tiny-v4".into(),
            scheme: Some(Scheme::Sophomr),
            clues: ClueKind::Bound,
            bound: 10,
            sealing: Sealing::HpkeX25519,
            spares: 2,
            board_id: Some(BOARD),
            own_masks,
            batches: false,
        }
    }

    /// Returns the seed of the detection key's masks, and whether it is that of the board's recipients now.
    fn masks(identity: &Identity, since: SystemTime) -> ([u8; 32], bool) {
        let set = identity.set().unwrap();
        let file = File::open(identity.home.path("detection.key")).unwrap();
        let masks = DetectionKey::read_masks(set.sophomr().unwrap(), file);
        let masks = masks.unwrap();
        let of = |time| Epoch::at(BOARD, time).masks(set.name());
        (masks, [since, SystemTime::now()].map(of).contains(&masks))
    }

    /// Returns a registered identity after an import, which brings no detection key.
    fn restored(identity: &mut Identity) {
        identity.profile.board_id = Some(BOARD);
        std::fs::remove_file(identity.home.path("detection.key")).unwrap();
        let make = detection_maker(identity, "detection.key").unwrap();
        let mut made = [Vec::new(), Vec::new()];
        made.iter_mut().for_each(|key| make(key).unwrap());
        assert!(made[0] == made[1], "the same whenever it is made");
        std::fs::write(identity.home.path("detection.key"), &made[0]).unwrap();
    }

    #[test]
    fn recipients_of_a_board_share_masks_unless_they_want_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let since = SystemTime::now();
        let made = |name: &str, new: &NewIdentity| {
            Identity::create(&Home::new(dir.path().join(name)), new).unwrap()
        };
        let mut ann = made("ann", &wanted(false));
        assert!(masks(&ann, since).1);
        restored(&mut ann);
        assert!(masks(&ann, since).1, "also a key that is made again");
        let mut own = made("own", &wanted(true));
        let first = masks(&own, since);
        restored(&mut own);
        let second = masks(&own, since);
        assert!(!first.1 && !second.1 && first != second);
        // A successor keeps the choice of own masks, also on the disk.
        let successor = Identity::open(&own.home).unwrap().successor().unwrap();
        assert!(successor.own_masks);
        assert!(!ann.successor().unwrap().own_masks);
        assert_eq!(ann.successor().unwrap().board_id, Some(BOARD));
        let nowhere = NewIdentity {
            board_id: None,
            ..wanted(false)
        };
        assert!(!masks(&made("nowhere", &nowhere), since).1);
    }
}
