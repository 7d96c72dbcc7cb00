//! The content of a letter to a person's other devices.

use crate::keys::secret_bytes;
use crate::{Identity, MailError, Profile, periods};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use omr_client::SecretKey;
use omr_client::periods::PeriodSecrets;
use omr_inbox::ReadMark;
use omr_protocol::{ClueKey, Mismatch, ParamSet, hex};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// The version of the content.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    version: u32,
    /// Contacts that changed, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) contacts: BTreeMap<String, Contact>,
    /// Letters that were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) read: Vec<ReadMark>,
    /// The ids of addresses that were forgotten, 32 hexadecimal digits each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) forgotten: Vec<String>,
    /// The identity that replaces the one to which the letter was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) successor: Option<Successor>,
}

/// A change of a contact.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contact {
    /// The time of the change in seconds since 1970.
    pub(super) time: u64,
    /// The text of the address; `None` if the contact was removed.
    pub(super) address: Option<String>,
}

/// An identity, without its letters. The secret is wiped when dropped.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Successor {
    /// The file of the secret, in base64.
    secret: String,
    /// The file of the clue key, in base64.
    clue_key: String,
    /// The number of the first period with a secret and its state, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    periods: Option<String>,
    pub(super) profile: Profile,
}

impl Drop for Successor {
    fn drop(&mut self) {
        self.secret.zeroize();
        self.periods.zeroize();
    }
}

/// Shows nothing of the secret.
impl fmt::Debug for Successor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Successor(..)")
    }
}

impl Default for Update {
    fn default() -> Self {
        Self {
            version: VERSION,
            contacts: BTreeMap::new(),
            read: Vec::new(),
            forgotten: Vec::new(),
            successor: None,
        }
    }
}

impl Update {
    pub(super) fn of_successor(successor: Successor) -> Self {
        Self {
            successor: Some(successor),
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let nothing = self.contacts.is_empty() && self.read.is_empty();
        nothing && self.forgotten.is_empty() && self.successor.is_none()
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, MailError> {
        serde_json::to_vec(self).map_err(|error| MailError::Update(error.to_string()))
    }

    /// Returns the update in a letter, or the reason why it cannot be read.
    pub(super) fn of_bytes(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if head.version != VERSION {
            return Err(Mismatch::new(VERSION, head.version).to_string());
        }
        let update: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if let Some(successor) = &update.successor {
            successor.check().map_err(|error| error.to_string())?;
        }
        Ok(update)
    }
}

impl Successor {
    /// Returns an identity as the other devices get it.
    ///
    /// Errors: `NoIdentity`, `File`, `Locked`, `Unlock`; `Keys` where secrets of periods are missing.
    pub(super) fn of(identity: &Identity) -> Result<Self, MailError> {
        let secret = identity.secret(&identity.set()?)?;
        let periods = periods::read(identity, &secret)?;
        Ok(Self {
            secret: STANDARD.encode(secret_bytes(&identity.home)?),
            clue_key: STANDARD.encode(identity.clue_key_bytes()?),
            periods: periods.map(|periods| STANDARD.encode(periods.to_bytes())),
            profile: identity.profile.clone(),
        })
    }

    /// Returns the file of the secret.
    pub(super) fn secret(&self) -> Result<Zeroizing<Vec<u8>>, MailError> {
        Ok(Zeroizing::new(decoded(&self.secret)?))
    }

    /// Returns the file of the clue key.
    pub(super) fn clue_key(&self) -> Result<Vec<u8>, MailError> {
        decoded(&self.clue_key)
    }

    /// Returns the secrets of periods; `None` if the identity has none.
    ///
    /// Errors: `Update`, `Period`.
    pub(super) fn periods(&self) -> Result<Option<PeriodSecrets>, MailError> {
        let Some(text) = &self.periods else {
            return Ok(None);
        };
        let bytes = Zeroizing::new(decoded(text)?);
        Ok(Some(PeriodSecrets::from_bytes(&bytes)?))
    }

    /// Returns the secret key.
    fn secret_key(&self) -> Result<SecretKey, MailError> {
        let set = ParamSet::named(&self.profile.params)?;
        Ok(SecretKey::from_bytes(set.clue(), &self.secret()?)?)
    }

    /// Returns the file of the secrets of periods; `None` if the identity has none.
    ///
    /// Errors: `Update`, `Period`, `Params`, `Secret`.
    pub(super) fn periods_file(&self) -> Result<Option<Vec<u8>>, MailError> {
        match self.periods()? {
            Some(periods) => Ok(Some(periods::sealed(&self.secret_key()?, &periods))),
            None => Ok(None),
        }
    }

    /// Returns the id of the address, as 32 hexadecimal digits.
    pub(super) fn address_id(&self) -> Result<String, MailError> {
        let set = ParamSet::named(&self.profile.params)?;
        Ok(hex(&ClueKey::from_bytes(set.clue(), &self.clue_key()?)?.id))
    }

    /// Checks that the files are those of one identity.
    fn check(&self) -> Result<(), MailError> {
        let secret = self.secret_key()?;
        if self.periods()?.is_none() && self.profile.periods.is_some() {
            let keys = Mismatch::new("secrets of the address's periods", "none");
            return Err(MailError::Update(keys.to_string()));
        }
        let (expected, found) = (hex(&secret.address_id), self.address_id()?);
        if expected == found {
            Ok(())
        } else {
            let ids = Mismatch::new(format!("the address {expected}"), found);
            Err(MailError::Update(ids.to_string()))
        }
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, MailError> {
    STANDARD
        .decode(text)
        .map_err(|error| MailError::Update(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Home, NewIdentity};
    use omr_protocol::{ClueKind, Scheme, Sealing};

    fn successor(dir: &std::path::Path) -> Successor {
        let new = NewIdentity {
            params: "insecure-tiny-hybrid-v4".into(),
            scheme: Some(Scheme::TwoRounds),
            clues: ClueKind::Bound,
            bound: 50,
            sealing: Sealing::HpkeX25519,
            spares: 0,
            board_id: None,
            own_masks: false,
            batches: false,
        };
        Successor::of(&Identity::create(&Home::new(dir), &new).unwrap()).unwrap()
    }

    #[test]
    fn updates_that_do_not_fit_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let one = successor(&dir.path().join("one"));
        let mut mixed = successor(&dir.path().join("two"));
        let update = Update::of_successor(one.clone());
        let bytes = update.to_bytes().unwrap();
        let read = Update::of_bytes(&bytes).unwrap().successor.unwrap();
        assert_eq!(read.address_id().unwrap(), one.address_id().unwrap());
        mixed.clue_key.clone_from(&one.clue_key);
        let mixed = Update::of_successor(mixed).to_bytes().unwrap();
        let mut cut = bytes.clone();
        cut.truncate(bytes.len() / 2);
        for (found, expected) in [
            (&mixed[..], "expected the address"),
            (&cut, "EOF"),
            (br#"{"version":2,"color":"red"}"#, "expected 1, found 2"),
            (br#"{"version":1,"color":"red"}"#, "unknown field"),
            (br#"{"contacts":{}}"#, "version"),
            (b"hello", "expected value"),
        ] {
            let reason = Update::of_bytes(found).err().unwrap();
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
