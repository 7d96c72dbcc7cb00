//! A recipient's keys and the fixed form of the recipient's requests.

use crate::keys::{self, CLUE_KEY};
use crate::sealing;
use crate::{Address, Home, Inbox, MAX_LEVELS, MailError, Terms, check_limits};
use omr_client::header::Signer;
use omr_client::letter::{LetterError, Place};
use omr_client::{SecretKey, Words};
use omr_inbox::{Agreed, Mark, Recipient};
use omr_protocol::{ClueKey, ClueKind, EngineKind, ParamSet, Scheme, Sealing, VERIFYING_KEY_BYTES};
use omr_remote::v1::Limits;
use serde::{Deserialize, Serialize};

pub(crate) const PROFILE: &str = "identity";

/// The highest number of parts of a letter, as a multiple of the bound. Spare requests carry seven times the bound.
const SPARED: u32 = 5;

/// The highest number of parts of a letter to an identity in two rounds: 80 MB in messages of 612 bytes.
const ROUNDS_PARTS: u32 = 1 << 17;

/// The properties of a new identity.
#[derive(Clone, Debug)]
pub struct NewIdentity {
    /// The name of the parameter set, which is that of the server's board.
    pub params: String,
    /// The scheme whose detection keys are made. `None` stands for two rounds where the set serves them and whole batches
    /// are not wanted, and otherwise for all engines that make digests.
    pub scheme: Option<Scheme>,
    /// The kind of clues that the address accepts, which is that of the server's board.
    pub clues: ClueKind,
    /// The highest number of pertinent messages in a digest, for every request.
    pub bound: u32,
    /// The sealing of letters: letters that are sealed in another way are not read.
    pub sealing: Sealing,
    /// The number of times that fetches request every message again, at most [`crate::MAX_LEVELS`].
    pub spares: u8,
    /// The id of the board, where it is known: the detection keys of its recipients share masks and are served
    /// together.
    pub board_id: Option<[u8; 16]>,
    /// Whether the detection keys have masks of their own in any case.
    pub own_masks: bool,
    /// Whether only whole batches are fetched, which the server computes as soon as they are full, without spare
    /// requests.
    pub batches: bool,
}

/// A detection key's file, and the state of its registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyFile {
    /// The name in the folder.
    pub name: String,
    /// The BLAKE3 hash of the file, once it is uploaded.
    pub hash: Option<[u8; 32]>,
    /// Whether the server has registered it.
    pub registered: bool,
}

/// The properties that are fixed when an identity is made: every request has this form, whatever was found before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The name of the parameter set.
    pub params: String,
    /// The tag of the scheme of every request; 0 for the scheme of the keys.
    pub scheme: u8,
    /// The bound of every request.
    pub bound: u32,
    /// The number of times that fetches request every message again, so that overflowing messages arrive too.
    #[serde(default = "all_levels")]
    pub spares: u8,
    /// The index of the first message of the board that can be for this identity: earlier ones are older than its keys.
    #[serde(default)]
    pub begins: u64,
    /// The id of the board, since the keys were registered there.
    pub board_id: Option<[u8; 16]>,
    /// The detection keys.
    pub keys: Vec<KeyFile>,
    /// Whether new detection keys have masks of their own.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub own_masks: bool,
    /// Whether only whole batches are fetched.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub batches: bool,
    /// The sealing of letters; `None` in profiles of older versions, which accept every kind of sealing.
    #[serde(default, with = "sealing::name")]
    pub sealing: Option<Sealing>,
    /// The key that verifies the identity's signatures, which is part of its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifying_key: Option<[u8; VERIFYING_KEY_BYTES]>,
    /// The signed list of the public keys of periods in base64, which is part of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods: Option<String>,
}

fn is_unset(flag: &bool) -> bool {
    !flag
}

fn all_levels() -> u8 {
    MAX_LEVELS
}

/// An identity on the disk.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The folder of the identity.
    pub home: Home,
    /// The identity's profile.
    pub profile: Profile,
}

impl Identity {
    /// Makes keys, or uses the keys of `omr keygen` that are in the folder. The profile is written last: a folder
    /// without one contains no identity, and the next attempt uses the files of an interrupted one.
    ///
    /// Errors:
    /// - `Exists` if the folder has an identity.
    /// - `Keys` if it has keys that do not fit.
    /// - `Plan` if the set does not serve the bound.
    /// - `Scheme`, `NoBatches`, `Params`, `File`.
    pub fn create(home: &Home, new: &NewIdentity) -> Result<Self, MailError> {
        Self::make(home, new, None)
    }

    /// Makes an identity as [`Identity::create`] does, with the keys that are derived from words. Keys that are in the
    /// folder must be these. The address is the same as before if the properties are.
    ///
    /// Errors: those of [`Identity::create`]; `Keys` if the secret in the folder is another one.
    pub fn of_words(home: &Home, new: &NewIdentity, words: &Words) -> Result<Self, MailError> {
        Self::make(home, new, Some(words))
    }

    fn make(home: &Home, new: &NewIdentity, words: Option<&Words>) -> Result<Self, MailError> {
        let set = ParamSet::named(&new.params)?;
        if let Some(found) = new.scheme.filter(|scheme| scheme.is_for_indices()) {
            return Err(MailError::Scheme(found));
        }
        let new = &new.clone().with_scheme(&set);
        check_bound(&set, new.scheme, new.bound)?;
        check_batches(&set, new)?;
        home.create()?;
        let path = home.dir().to_owned();
        if home.path(PROFILE).exists() {
            return Err(MailError::Exists(path));
        }
        let made = keys::complete(home, &set, new, words)?;
        let profile = Profile {
            params: set.name().to_owned(),
            scheme: new.scheme.map_or(0, Scheme::tag),
            bound: new.bound,
            spares: if new.batches || new.scheme == Some(Scheme::TwoRounds) {
                0
            } else {
                new.spares.min(MAX_LEVELS)
            },
            begins: 0,
            board_id: None,
            keys: made.files,
            own_masks: new.own_masks,
            batches: new.batches,
            sealing: Some(new.sealing),
            verifying_key: Some(made.verifying_key),
            periods: made.periods,
        };
        let identity = Self {
            home: home.clone(),
            profile,
        };
        identity.save()?;
        Ok(identity)
    }

    /// Opens the identity in a folder, and completes an interrupted rotation first.
    ///
    /// Errors: `NoIdentity`, `File`, `Settings`.
    pub fn open(home: &Home) -> Result<Self, MailError> {
        home.settle()?;
        let path = home.dir().to_owned();
        let profile = home.read_json(PROFILE)?;
        Ok(Self {
            home: home.clone(),
            profile: profile.ok_or(MailError::NoIdentity(path))?,
        })
    }

    /// Records the length of the board before the keys were made: earlier messages cannot be for this identity.
    ///
    /// Errors: `File`, `Settings`; those of [`Inbox::open`].
    pub fn begin_at(&mut self, end: &Mark) -> Result<(), MailError> {
        Inbox::open(&self.home)?.begin_at(end.length, Some(end))?;
        self.profile.begins = end.length;
        self.save()
    }

    /// Records the birthday of keys that were made earlier: the index of the first message of the board that can be for
    /// them. The first fetch requests all messages from there on.
    ///
    /// Errors: `File`, `Settings`; those of [`Inbox::open`].
    pub fn born_at(&mut self, birthday: u64) -> Result<(), MailError> {
        Inbox::open(&self.home)?.begin_at(birthday, None)?;
        self.profile.begins = birthday;
        self.save()
    }

    /// Writes the profile.
    ///
    /// Errors: `File`, `Settings`.
    pub fn save(&self) -> Result<(), MailError> {
        self.home.write_json(PROFILE, &self.profile)
    }

    /// Returns the parameter set.
    ///
    /// Errors: `Params`.
    pub fn set(&self) -> Result<ParamSet, MailError> {
        Ok(ParamSet::named(&self.profile.params)?)
    }

    /// Reads the secret, which is wiped when dropped.
    ///
    /// Errors: `NoIdentity`, `File`, `Locked`, `Unlock`, `Secret`.
    pub fn secret(&self, set: &ParamSet) -> Result<SecretKey, MailError> {
        keys::secret(&self.home, set)
    }

    /// Returns the address to give to senders.
    ///
    /// Errors: `NoIdentity`, `File`, `Settings`, `Period`.
    pub fn address(&self) -> Result<Address, MailError> {
        let server = match self.home.server() {
            Ok(server) => Some(server.url.clone()),
            Err(MailError::NoServer) => None,
            Err(error) => return Err(error),
        };
        Ok(Address {
            server,
            clue_key: self.clue_key_bytes()?,
            terms: Some(Terms {
                sealing: self.profile.sealing.unwrap_or(Sealing::HpkeX25519),
                bound: self.profile.bound,
                parts: self.profile.letter_parts(),
            }),
            verifying_key: self.profile.verifying_key,
            period_keys: self.period_keys()?,
        })
    }

    /// Returns the signer of this identity's letters, who is named by the address.
    ///
    /// Errors: `NoSigner` where the address has no verifying key, or another secret's; those of [`Identity::secret`] and
    /// [`Identity::address`]; `Letter`.
    pub fn signer(&self) -> Result<Signer, MailError> {
        let secret = self.secret(&self.set()?)?;
        if self.profile.verifying_key != Some(secret.verifying_key()) {
            return Err(MailError::NoSigner(self.home.dir().to_owned()));
        }
        let address = self.address()?;
        let (unsigned, server) = (address.unsigned_fingerprint(), address.server.as_deref());
        Ok(Signer::new(&secret, unsigned, server).map_err(LetterError::from)?)
    }

    /// Reads the file of the clue key.
    ///
    /// Errors: `NoIdentity`, `File`.
    pub fn clue_key_bytes(&self) -> Result<Vec<u8>, MailError> {
        Ok(self.file(CLUE_KEY)?.to_vec())
    }

    /// Reads the clue key.
    ///
    /// Errors: `NoIdentity`, `File`, `Clue`.
    pub fn clue_key(&self, set: &ParamSet) -> Result<ClueKey, MailError> {
        Ok(ClueKey::from_bytes(set.clue(), &self.file(CLUE_KEY)?)?)
    }

    fn file(&self, name: &str) -> Result<zeroize::Zeroizing<Vec<u8>>, MailError> {
        let path = self.home.dir().to_owned();
        let file = self.home.read(name)?;
        file.ok_or(MailError::NoIdentity(path))
    }

    /// Checks that a board is the one where the identity is registered, or could be.
    ///
    /// Errors: `OtherParams`, `OtherBoard`, `OtherSealing`, `Unsealed`.
    pub fn check(&self, place: &Place) -> Result<(), MailError> {
        Ok(self.agreed().check(place)?)
    }

    fn agreed(&self) -> Agreed {
        Agreed {
            params: self.profile.params.clone(),
            board_id: self.profile.board_id,
            sealing: self.profile.sealing,
        }
    }

    /// Returns the identity's recipient, as visible in its requests.
    ///
    /// Errors: `NotRegistered`, `Params`, `Plan`.
    pub(crate) fn recipient(&self) -> Result<Recipient, MailError> {
        let profile = &self.profile;
        let instant = match self.instant() {
            Err(MailError::NoInstant) => None,
            hash => Some(hash?),
        };
        let batch = if profile.batches {
            Some(self.set()?.sophomr_recipient()?.slots() as u64)
        } else {
            None
        };
        Ok(Recipient {
            agreed: self.agreed(),
            keys: self.registered()?,
            instant,
            scheme: profile.scheme,
            bound: profile.bound,
            largest_bound: self.largest_served()?,
            spares: profile.spares,
            begins: profile.begins,
            batch,
        })
    }

    /// Returns the scheme of the requests: the chosen one, or that of the keys.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        let served = Scheme::of_engines(&self.profile.engines(), true);
        let chosen = Scheme::from_tag(self.profile.scheme);
        chosen.or(served).unwrap_or(Scheme::Sophomr)
    }

    /// Returns the largest bound that the keys' engines and a server allow.
    ///
    /// Errors: `Params`; `Plan` where the set lacks an engine of the scheme.
    pub fn largest_bound(&self, limits: &Limits) -> Result<u32, MailError> {
        // A limit of 0 means that the server states none.
        let allowed = Some(limits.bound).filter(|bound| *bound > 0);
        Ok(self.largest_served()?.min(allowed.unwrap_or(u32::MAX)))
    }

    /// Returns the largest bound that the keys' engines serve.
    fn largest_served(&self) -> Result<u32, MailError> {
        let largest = self.set()?.spec().largest_bound(self.scheme())?;
        Ok(u32::try_from(largest).unwrap_or(u32::MAX))
    }

    /// Checks a bound that a person entered, so that no request is made that can never be served.
    ///
    /// Errors: `Plan`, `ServerBound`, `Params`.
    pub fn check_bound(&self, bound: u32, limits: &Limits) -> Result<(), MailError> {
        check_bound(&self.set()?, Some(self.scheme()), bound)?;
        check_limits(limits, bound, false)
    }

    /// Returns the hashes of the registered keys.
    ///
    /// Errors: `NotRegistered` unless all are registered.
    pub fn registered(&self) -> Result<Vec<[u8; 32]>, MailError> {
        let hash = |key: &KeyFile| key.hash.filter(|_| key.registered);
        let hashes: Option<Vec<_>> = self.profile.keys.iter().map(hash).collect();
        hashes.ok_or(MailError::NotRegistered)
    }

    /// Returns the hash of the registered key for InstantOMR.
    ///
    /// Errors: `NoInstant`, `NotRegistered`.
    pub fn instant(&self) -> Result<[u8; 32], MailError> {
        let key = self
            .profile
            .keys
            .iter()
            .find(|key| key.name == EngineKind::Instantomr.key_name())
            .ok_or(MailError::NoInstant)?;
        key.hash
            .filter(|_| key.registered)
            .ok_or(MailError::NotRegistered)
    }
}

impl NewIdentity {
    /// Returns these properties with the scheme of two rounds where it is the default.
    pub(crate) fn with_scheme(mut self, set: &ParamSet) -> Self {
        let serves = set.spec().serves(Scheme::TwoRounds);
        if self.scheme.is_none() && serves && !self.batches {
            self.scheme = Some(Scheme::TwoRounds);
        }
        self
    }
}

impl Profile {
    /// Returns the engines for which there are detection keys.
    #[must_use]
    pub fn engines(&self) -> Vec<EngineKind> {
        let engine = |key: &KeyFile| EngineKind::of_key_name(&key.name);
        self.keys.iter().filter_map(engine).collect()
    }

    /// Returns the highest number of messages of one letter to this identity: as many as one digest carries, or as the
    /// first level of spare requests brings, with room for other letters. In two rounds nothing overflows.
    #[must_use]
    pub fn letter_parts(&self) -> u32 {
        match self.spares {
            _ if self.scheme == Scheme::TwoRounds.tag() => ROUNDS_PARTS,
            0 => self.bound,
            _ => self.bound.saturating_mul(SPARED),
        }
    }
}

/// Checks that the keys of an identity that fetches whole batches serve them.
///
/// Errors: `NoBatches`, `Params`.
fn check_batches(set: &ParamSet, new: &NewIdentity) -> Result<(), MailError> {
    let scheme = new.scheme.map_or_else(|| set.spec().scheme(true), Ok)?;
    if new.batches && !scheme.engines().contains(&EngineKind::Sophomr) {
        Err(MailError::NoBatches(scheme))
    } else {
        Ok(())
    }
}

/// Checks that all engines of a scheme, or of the set, serve a bound.
///
/// Errors: `Plan`, `Params`.
pub fn check_bound(set: &ParamSet, scheme: Option<Scheme>, bound: u32) -> Result<(), MailError> {
    let spec = set.spec();
    let scheme = match scheme {
        Some(scheme) => scheme,
        None => spec.scheme(true)?,
    };
    Ok(spec.check_bound(scheme, bound as usize)?)
}
