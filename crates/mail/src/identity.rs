//! A recipient's keys and the fixed form of her requests.

use crate::{Home, MailError};
use omr_client::letter::Place;
use omr_client::{SecretKey, detection_key, instantomr, os_rng};
use omr_protocol::{ClueKey, ClueKind, ParamSet, Scheme};
use serde::{Deserialize, Serialize};

const SECRET_KEY: &str = "secret.key";
const CLUE_KEY: &str = "clue.key";
const DETECTION_KEY: &str = "detection.key";
const INSTANT_KEY: &str = "instant.key";
const PROFILE: &str = "identity";

/// What a new identity is like.
#[derive(Clone, Debug)]
pub struct NewIdentity {
    /// Parameter set: that of the server's board.
    pub params: String,
    /// Which detection keys are made; all that the set has unless given.
    pub scheme: Option<Scheme>,
    /// Clues that the address takes: those of the server's board.
    pub clues: ClueKind,
    /// Pertinent messages that a digest may carry: the same at every request.
    pub bound: u32,
}

/// A detection key's file, and how far it got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyFile {
    /// Name in the folder.
    pub name: String,
    /// BLAKE3 of the file, once it is uploaded.
    pub hash: Option<[u8; 32]>,
    /// Whether the server has registered it.
    pub registered: bool,
}

/// What is fixed when an identity is made: every request has this form, whatever was found before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Parameter set.
    pub params: String,
    /// Scheme of every request, by its tag; 0: what the keys serve.
    pub scheme: u8,
    /// Bound of every request.
    pub bound: u32,
    /// The board, since the keys were registered there.
    pub board_id: Option<[u8; 16]>,
    /// The detection keys.
    pub keys: Vec<KeyFile>,
}

/// An identity on the disk.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its folder.
    pub home: Home,
    /// Its form.
    pub profile: Profile,
}

impl Identity {
    /// Makes keys. The profile comes last: a folder without it holds no identity.
    ///
    /// Errors: `Exists`, `Scheme`, `Params`, `File`.
    pub fn create(home: &Home, new: &NewIdentity) -> Result<Self, MailError> {
        let set = ParamSet::named(&new.params)?;
        if let Some(found) = new.scheme.filter(|scheme| scheme.is_for_indices()) {
            return Err(MailError::Scheme { found });
        }
        home.create()?;
        let path = home.dir().to_owned();
        // A secret without a profile is one of an interrupted attempt: nobody has its address yet.
        if home.path(PROFILE).exists() {
            return Err(MailError::Exists { path });
        }
        let (secret, clue) = omr_client::identity(set.clue(), new.clues, &mut os_rng());
        let keys = write_detection_keys(home, &set, new.scheme, &secret)?;
        home.write_bytes(SECRET_KEY, &secret.to_bytes(set.clue())?)?;
        home.write_bytes(CLUE_KEY, &clue.to_bytes(set.clue())?)?;
        let profile = Profile {
            params: set.name().to_owned(),
            scheme: new.scheme.map_or(0, Scheme::tag),
            bound: new.bound,
            board_id: None,
            keys,
        };
        let identity = Self {
            home: home.clone(),
            profile,
        };
        identity.save()?;
        Ok(identity)
    }

    /// The identity in a folder.
    ///
    /// Errors: `NoIdentity`, `File`, `Settings`.
    pub fn open(home: &Home) -> Result<Self, MailError> {
        let path = home.dir().to_owned();
        let profile = home.read_json(PROFILE)?;
        Ok(Self {
            home: home.clone(),
            profile: profile.ok_or(MailError::NoIdentity { path })?,
        })
    }

    /// Writes the profile.
    ///
    /// Errors: `File`, `Settings`.
    pub fn save(&self) -> Result<(), MailError> {
        self.home.write_json(PROFILE, &self.profile)
    }

    /// Her parameter set.
    ///
    /// Errors: `Params`.
    pub fn set(&self) -> Result<ParamSet, MailError> {
        Ok(ParamSet::named(&self.profile.params)?)
    }

    /// Her secret; wiped when dropped.
    ///
    /// Errors: `NoIdentity`, `File`, `Secret`.
    pub fn secret(&self, set: &ParamSet) -> Result<SecretKey, MailError> {
        Ok(SecretKey::from_bytes(set.clue(), &self.file(SECRET_KEY)?)?)
    }

    /// Her address's file.
    ///
    /// Errors: `NoIdentity`, `File`.
    pub fn clue_key_bytes(&self) -> Result<Vec<u8>, MailError> {
        Ok(self.file(CLUE_KEY)?.to_vec())
    }

    /// Her address.
    ///
    /// Errors: `NoIdentity`, `File`, `Clue`.
    pub fn clue_key(&self, set: &ParamSet) -> Result<ClueKey, MailError> {
        Ok(ClueKey::from_bytes(set.clue(), &self.file(CLUE_KEY)?)?)
    }

    fn file(&self, name: &str) -> Result<zeroize::Zeroizing<Vec<u8>>, MailError> {
        let path = self.home.dir().to_owned();
        let file = self.home.read(name)?;
        file.ok_or(MailError::NoIdentity { path })
    }

    /// Checks that a board is the one that she is registered at, or could be.
    ///
    /// Errors: `OtherParams`, `OtherBoard`.
    pub fn check(&self, place: &Place) -> Result<(), MailError> {
        if place.params != self.profile.params {
            return Err(MailError::OtherParams {
                expected: self.profile.params.clone(),
                found: place.params.clone(),
            });
        }
        match self.profile.board_id {
            Some(expected) if expected != place.board_id => Err(MailError::OtherBoard {
                expected,
                found: place.board_id,
            }),
            _ => Ok(()),
        }
    }

    /// Hashes of the registered keys.
    ///
    /// Errors: `NotRegistered` unless all are.
    pub fn registered(&self) -> Result<Vec<[u8; 32]>, MailError> {
        let hash = |key: &KeyFile| key.hash.filter(|_| key.registered);
        let hashes: Option<Vec<_>> = self.profile.keys.iter().map(hash).collect();
        hashes.ok_or(MailError::NotRegistered)
    }

    /// Hash of the registered key for InstantOMR.
    ///
    /// Errors: `NoInstant`, `NotRegistered`.
    pub fn instant(&self) -> Result<[u8; 32], MailError> {
        let mut keys = self.profile.keys.iter();
        let key = keys.find(|key| key.name == INSTANT_KEY);
        let key = key.ok_or(MailError::NoInstant)?;
        key.hash
            .filter(|_| key.registered)
            .ok_or(MailError::NotRegistered)
    }
}

/// Makes the detection keys that a scheme needs.
fn write_detection_keys(
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
        let key = detection_key(params, secret, &mut os_rng());
        home.write(DETECTION_KEY, |file| Ok(key.write(params, file)?))?;
        names.push(DETECTION_KEY);
    }
    if instant {
        let params = set.instant()?;
        let key = instantomr::detection_key(params, secret, &mut os_rng())?;
        home.write(INSTANT_KEY, |file| Ok(key.write(params, file)?))?;
        names.push(INSTANT_KEY);
    }
    let file = |name: &str| KeyFile {
        name: name.to_owned(),
        hash: None,
        registered: false,
    };
    Ok(names.into_iter().map(file).collect())
}
