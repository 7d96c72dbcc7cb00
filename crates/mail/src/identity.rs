//! A recipient's keys and the fixed form of her requests.

use crate::keys::{self, CLUE_KEY};
use crate::sealing;
use crate::{Address, Home, Inbox, MAX_LEVELS, MailError, Terms, check_limits};
use omr_client::SecretKey;
use omr_client::letter::Place;
use omr_inbox::{Agreed, Mark, Recipient};
use omr_protocol::{ClueKey, ClueKind, EngineKind, ParamSet, Scheme, Sealing};
use omr_remote::v1::Limits;
use serde::{Deserialize, Serialize};

pub(crate) const PROFILE: &str = "identity";

/// How many times the bound a letter may have in parts, of the seven that spare requests carry.
const SPARED: u32 = 5;

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
    /// How letters to her are sealed: those that are sealed otherwise are not read.
    pub sealing: Sealing,
    /// How often a fetch asks for every message once more, at most [`crate::MAX_LEVELS`].
    pub spares: u8,
    /// The board, where it is known: its recipients' detection keys have masks in common and are served together.
    pub board_id: Option<[u8; 16]>,
    /// Whether her detection keys have masks of their own all the same.
    pub own_masks: bool,
    /// Whether fetches take whole batches alone, which the server works when they fill; then without spare requests.
    pub batches: bool,
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
    /// How often a fetch asks for every message once more, so that what overflows comes all the same.
    #[serde(default = "all_levels")]
    pub spares: u8,
    /// The first message of the board that can be hers: those before are older than her keys.
    #[serde(default)]
    pub begins: u64,
    /// The board, since the keys were registered there.
    pub board_id: Option<[u8; 16]>,
    /// The detection keys.
    pub keys: Vec<KeyFile>,
    /// Whether detection keys that are made anew have masks of their own.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub own_masks: bool,
    /// Whether fetches take whole batches alone.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub batches: bool,
    /// How letters to her are sealed; `None` in profiles of older versions: in any way, but sealed.
    #[serde(default, with = "sealing::name")]
    pub sealing: Option<Sealing>,
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
    /// Makes keys, or takes over those of `omr keygen` that are in the folder. The profile comes last: a folder without
    /// it holds no identity, and what an interrupted attempt left is taken over by the next.
    ///
    /// Errors: `Exists`, `Scheme`, `Params`, `Plan` for a bound that the set does not serve; `Keys` where keys are here
    /// that do not fit; `File`.
    pub fn create(home: &Home, new: &NewIdentity) -> Result<Self, MailError> {
        let set = ParamSet::named(&new.params)?;
        if let Some(found) = new.scheme.filter(|scheme| scheme.is_for_indices()) {
            return Err(MailError::Scheme(found));
        }
        check_bound(&set, new.scheme, new.bound)?;
        check_batches(&set, new)?;
        home.create()?;
        let path = home.dir().to_owned();
        if home.path(PROFILE).exists() {
            return Err(MailError::Exists(path));
        }
        let profile = Profile {
            params: set.name().to_owned(),
            scheme: new.scheme.map_or(0, Scheme::tag),
            bound: new.bound,
            spares: if new.batches {
                0
            } else {
                new.spares.min(MAX_LEVELS)
            },
            begins: 0,
            board_id: None,
            keys: keys::complete(home, &set, new)?,
            own_masks: new.own_masks,
            batches: new.batches,
            sealing: Some(new.sealing),
        };
        let identity = Self {
            home: home.clone(),
            profile,
        };
        identity.save()?;
        Ok(identity)
    }

    /// The identity in a folder. A rotation that was interrupted is completed first.
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

    /// Notes where the board ended before her keys were made: nobody can have written to her before.
    ///
    /// Errors: `File`, `Settings`; those of [`Inbox::open`].
    pub fn begin_at(&mut self, end: &Mark) -> Result<(), MailError> {
        Inbox::open(&self.home)?.begin_at(end.length, Some(end))?;
        self.profile.begins = end.length;
        self.save()
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
    /// Errors: `NoIdentity`, `File`, `Locked`, `Unlock`, `Secret`.
    pub fn secret(&self, set: &ParamSet) -> Result<SecretKey, MailError> {
        keys::secret(&self.home, set)
    }

    /// What she gives to people.
    ///
    /// Errors: `NoIdentity`, `File`, `Settings`.
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
        })
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
        file.ok_or(MailError::NoIdentity(path))
    }

    /// Checks that a board is the one that she is registered at, or could be.
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

    /// She, as her requests show her.
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

    /// The scheme of her requests: the one she chose, or what her keys serve.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        let served = Scheme::of_engines(&self.profile.engines(), true);
        let chosen = Scheme::from_tag(self.profile.scheme);
        chosen.or(served).unwrap_or(Scheme::Sophomr)
    }

    /// The largest bound that her keys' engines and a server allow.
    ///
    /// Errors: `Params`, `Plan` where the set lacks an engine of her scheme.
    pub fn largest_bound(&self, limits: &Limits) -> Result<u32, MailError> {
        // A server that names no limit.
        let allowed = Some(limits.bound).filter(|bound| *bound > 0);
        Ok(self.largest_served()?.min(allowed.unwrap_or(u32::MAX)))
    }

    /// The largest bound that her keys' engines serve.
    fn largest_served(&self) -> Result<u32, MailError> {
        let largest = self.set()?.spec().largest_bound(self.scheme())?;
        Ok(u32::try_from(largest).unwrap_or(u32::MAX))
    }

    /// Checks a bound where it is typed, so that nothing is asked for that is never served.
    ///
    /// Errors: `Plan`, `ServerBound`; `Params`.
    pub fn check_bound(&self, bound: u32, limits: &Limits) -> Result<(), MailError> {
        check_bound(&self.set()?, Some(self.scheme()), bound)?;
        check_limits(limits, bound, false)
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
        let key = keys.find(|key| key.name == EngineKind::Instantomr.key_name());
        let key = key.ok_or(MailError::NoInstant)?;
        key.hash
            .filter(|_| key.registered)
            .ok_or(MailError::NotRegistered)
    }
}

impl Profile {
    /// The engines that there are detection keys for.
    #[must_use]
    pub fn engines(&self) -> Vec<EngineKind> {
        let engine = |key: &KeyFile| EngineKind::of_key_name(&key.name);
        self.keys.iter().filter_map(engine).collect()
    }

    /// Messages that one letter to her may take: as many as one digest carries, or as come by the first level of
    /// spare requests, with room for letters of others.
    #[must_use]
    pub fn letter_parts(&self) -> u32 {
        match self.spares {
            0 => self.bound,
            _ => self.bound.saturating_mul(SPARED),
        }
    }
}

/// Checks that keys of an identity that takes whole batches serve them.
///
/// Errors: `NoBatches`; `Params`.
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
/// Errors: `Plan`; `Params`.
pub fn check_bound(set: &ParamSet, scheme: Option<Scheme>, bound: u32) -> Result<(), MailError> {
    let spec = set.spec();
    let scheme = match scheme {
        Some(scheme) => scheme,
        None => spec.scheme(true)?,
    };
    Ok(spec.check_bound(scheme, bound as usize)?)
}
