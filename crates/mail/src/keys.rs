//! The keys of a new identity: made, or taken over where they are in its folder already. Nothing here replaces a key.

use crate::identity::{KeyFile, NewIdentity};
use crate::{Home, MailError};
use omr_client::{SecretKey, detection_key, instantomr, os_rng};
use omr_protocol::frame::{FrameReader, Kind};
use omr_protocol::{ClueKey, ParamSet, Scheme};
use std::fs::File;

pub(crate) const SECRET_KEY: &str = "secret.key";
pub(crate) const CLUE_KEY: &str = "clue.key";
pub(crate) const DETECTION_KEY: &str = "detection.key";
pub(crate) const INSTANT_KEY: &str = "instant.key";

impl Home {
    /// Whether a key of `omr keygen`, or of an `omr id new` that was interrupted, is here.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        let mut names = [SECRET_KEY, CLUE_KEY, DETECTION_KEY, INSTANT_KEY].into_iter();
        names.any(|name| self.has(name))
    }

    /// Also where a link leads nowhere: writing would replace it.
    fn has(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    fn key_error(&self, name: &str, expected: impl ToString, found: impl ToString) -> MailError {
        MailError::Keys {
            path: self.path(name),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

/// The secret in a folder; wiped when dropped.
///
/// Errors: `NoIdentity`, `File`, `Secret`.
pub(crate) fn secret(home: &Home, set: &ParamSet) -> Result<SecretKey, MailError> {
    let path = home.dir().to_owned();
    let file = home.read(SECRET_KEY)?;
    let file = file.ok_or(MailError::NoIdentity { path })?;
    Ok(SecretKey::from_bytes(set.clue(), &file)?)
}

/// Makes all keys, the secret first; of those that are here the missing ones. So an interrupted call goes on, and the
/// keys of `omr keygen` become an identity's.
///
/// Errors: `Keys` where a key is here that does not fit; `File`, `Secret`, `Params`.
pub(crate) fn complete(
    home: &Home,
    set: &ParamSet,
    new: &NewIdentity,
) -> Result<Vec<KeyFile>, MailError> {
    if !home.has(SECRET_KEY) {
        let others = [CLUE_KEY, DETECTION_KEY, INSTANT_KEY];
        if let Some(name) = others.into_iter().find(|name| home.has(name)) {
            return Err(home.key_error(name, "its secret.key beside it", "found none"));
        }
        let (secret, clue) = omr_client::identity(set.clue(), new.clues, &mut os_rng());
        home.write_new(SECRET_KEY, &secret.to_bytes(set.clue())?)?;
        home.write_new(CLUE_KEY, &clue.to_bytes(set.clue())?)?;
    }
    let secret = fitting_secret(home, set, new)?;
    complete_address(home, set, &secret)?;
    complete_detection(home, set, new.scheme, &secret)
}

/// The secret, if it is of the set and for the clues that are wanted.
fn fitting_secret(home: &Home, set: &ParamSet, new: &NewIdentity) -> Result<SecretKey, MailError> {
    let expected = format!("keys of {} for {} clues", set.name(), new.clues);
    let bytes = home.read(SECRET_KEY)?.unwrap_or_default();
    let frame = FrameReader::read_header(&bytes[..], Kind::SecretKey, u64::MAX)?;
    let found = &frame.header().params_id;
    if found != set.name() {
        return Err(home.key_error(SECRET_KEY, expected, format!("found one of {found}")));
    }
    let secret = secret(home, set)?;
    match secret.clues() {
        clues if clues == new.clues => Ok(secret),
        clues => Err(home.key_error(SECRET_KEY, expected, format!("found one for {clues} clues"))),
    }
}

/// Has the address beside its secret.
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

/// Has the detection keys that a scheme needs.
fn complete_detection(
    home: &Home,
    set: &ParamSet,
    scheme: Option<Scheme>,
    secret: &SecretKey,
) -> Result<Vec<KeyFile>, MailError> {
    let spec = set.spec();
    let [bulk, instant] = scheme.map_or(
        [spec.bulk.is_some(), spec.instant.is_some()],
        Scheme::engines,
    );
    let mut names = Vec::new();
    if bulk {
        let params = set.bulk()?;
        if !has_detection(
            home,
            set,
            (DETECTION_KEY, Kind::DetectionKey),
            &secret.detection_id,
        )? {
            let key = detection_key(params, secret, &mut os_rng());
            home.write(DETECTION_KEY, |file| Ok(key.write(params, file)?))?;
        }
        names.push(DETECTION_KEY);
    }
    if instant {
        let params = set.instant()?;
        if !has_detection(
            home,
            set,
            (INSTANT_KEY, Kind::InstantKey),
            &secret.instant_id(),
        )? {
            let key = instantomr::detection_key(params, secret, &mut os_rng())?;
            home.write(INSTANT_KEY, |file| Ok(key.write(params, file)?))?;
        }
        names.push(INSTANT_KEY);
    }
    let file = |name: &str| KeyFile {
        name: name.to_owned(),
        hash: None,
        registered: false,
    };
    Ok(names.into_iter().map(file).collect())
}

/// Whether a detection key is here; one of another secret, and a damaged one, is an error.
fn has_detection(
    home: &Home,
    set: &ParamSet,
    (name, kind): (&str, Kind),
    id: &[u8; 16],
) -> Result<bool, MailError> {
    if !home.has(name) {
        return Ok(false);
    }
    let path = home.path(name);
    let file = File::open(&path).map_err(MailError::file(&path))?;
    let bytes = file.metadata().map_err(MailError::file(&path))?.len();
    let frame = FrameReader::read_header(file, kind, u64::MAX)?;
    let header = frame.header();
    let expected = format!("that of secret.key, of {}", set.name());
    if header.params_id != set.name() || header.key_id != *id {
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
