//! Registers detection keys at a server, and revokes them.

use crate::keys::detection_maker;
use crate::send::{board_mark, board_place, check_clues};
use crate::{Identity, KeyFile, MailError, NewIdentity, check_bound, check_sealing};
use omr_inbox::Mark;
use omr_protocol::{Mismatch, ParamSet, Sealing};
use omr_remote::{Client, RemoteError, v1};

impl NewIdentity {
    /// Returns these properties adapted to a server's board, after all checks that can fail before keys are made.
    /// `params` and `sealing` are the values that the person expects; the board determines those that are not given.
    /// Also returns the board's length with its running hash.
    ///
    /// Errors: `OtherParams`, `OtherClues`, `OtherSealing`, `Unsealed`, `Plan`, `ServerBound`, `Params`, `Remote`.
    pub async fn for_board(
        mut self,
        client: &Client,
        params: Option<&str>,
        sealing: Option<Sealing>,
    ) -> Result<(Self, Mark), MailError> {
        let board = client.board().await?;
        let place = board_place(&board)?;
        match params {
            Some(expected) if *expected != place.params => {
                let names = Mismatch::new(expected.to_owned(), place.params);
                return Err(MailError::OtherParams(names));
            }
            _ => self.params = place.params,
        }
        // A server cannot impose the weaker kind of clues, or letters that it can read.
        let set = ParamSet::named(&self.params)?;
        check_clues(&board, set.clue(), self.clues)?;
        check_sealing(sealing, place.sealing)?;
        self.sealing = place.sealing;
        self.board_id = Some(place.board_id);
        let limits = client.limits().await?;
        if limits.fetch_messages > 0 {
            self = self.with_scheme(&set);
        } else if self.scheme.is_none() {
            self.scheme = Some(set.spec().scheme(true)?);
        }
        check_bound(&set, self.scheme, self.bound)?;
        check_limits(&limits, self.bound, false)?;
        Ok((self, board_mark(&board)?))
    }
}

/// Uploads and registers all detection keys. Completed steps are not repeated: an interrupted registration continues,
/// and a key whose file an import did not bring is made again where the server has lost it. `progress` receives the
/// file's name, the number of bytes sent and their total.
///
/// Errors: `OtherParams`, `OtherBoard`, `OtherSealing`, `Unsealed`, `OtherClues`, `ServerBound`, `Remote`, `File`;
/// `Locked` where a key must be made again and the secret is under a passphrase.
pub async fn register(
    identity: &mut Identity,
    client: &Client,
    progress: impl Fn(&str, u64, u64),
) -> Result<(), MailError> {
    let board = client.board().await?;
    let place = board_place(&board)?;
    identity.check(&place)?;
    let set = identity.set()?;
    check_clues(&board, set.clue(), identity.clue_key(&set)?.kind)?;
    check_limits(&client.limits().await?, identity.profile.bound, true)?;
    identity.profile.board_id = Some(place.board_id);
    // A profile of an older version has no sealing: that of the board is fixed from now on.
    identity.profile.sealing.get_or_insert(place.sealing);
    identity.save()?;
    for i in 0..identity.profile.keys.len() {
        let key = identity.profile.keys[i].clone();
        let hash = match registered_before(identity, &key, client).await? {
            Some(hash) => hash,
            None => {
                let report = |sent, total| progress(&key.name, sent, total);
                // A registered key is checked again: the server may have lost it.
                let hash = if identity.home.has(&key.name) {
                    client
                        .upload_key(&identity.home.path(&key.name), report)
                        .await?
                } else {
                    let make = detection_maker(identity, &key.name)?;
                    client.upload_made_key(make, report).await?
                };
                client.register_key(hash).await?;
                hash
            }
        };
        let kept = &mut identity.profile.keys[i];
        (kept.hash, kept.registered) = (Some(hash), true);
        identity.save()?;
    }
    Ok(())
}

/// Returns the hash of a key whose file did not come with an import, if the server has it.
async fn registered_before(
    identity: &Identity,
    key: &KeyFile,
    client: &Client,
) -> Result<Option<[u8; 32]>, MailError> {
    let Some(hash) = key.hash.filter(|_| !identity.home.has(&key.name)) else {
        return Ok(None);
    };
    match client.register_key(hash).await {
        Ok(_) => Ok(Some(hash)),
        Err(RemoteError::NotFound(..)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Checks that a server serves a bound. `fixed` is true for the bound of an existing identity.
///
/// Errors: `ServerBound`.
pub fn check_limits(limits: &v1::Limits, bound: u32, fixed: bool) -> Result<(), MailError> {
    let (most, found) = (limits.bound, bound);
    // A limit of 0 means that the server states none.
    if most > 0 && found > most {
        Err(MailError::ServerBound { most, found, fixed })
    } else {
        Ok(())
    }
}

/// Revokes the registration of all detection keys. Returns the names of registered keys that the server did not know as
/// those of this caller: an answer was lost, or the keys are registered with another token.
///
/// Errors: `Remote`, `File`; keys before the one that failed are revoked.
pub async fn revoke(identity: &mut Identity, client: &Client) -> Result<Vec<String>, MailError> {
    let mut unknown = Vec::new();
    for i in 0..identity.profile.keys.len() {
        let key = identity.profile.keys[i].clone();
        if let Some(hash) = key.hash {
            match client.revoke_key(hash).await {
                Ok(()) => {}
                Err(RemoteError::NotFound(..)) => {
                    unknown.extend(key.registered.then_some(key.name));
                }
                Err(error) => return Err(error.into()),
            }
            identity.profile.keys[i].registered = false;
            identity.save()?;
        }
    }
    Ok(unknown)
}

/// Revokes the registration of all detection keys at an operator that was added, and removes it from the identity. The
/// keys stay registered at the others. Returns the names of keys that it did not know, as [`revoke`] does.
///
/// Errors: `NoOperator`, `NoServer`, `Remote`, `File`.
pub async fn leave(
    identity: &mut Identity,
    client: &Client,
    url: &str,
) -> Result<Vec<String>, MailError> {
    let keys = identity.profile.keys.clone();
    let revoked = revoke(identity, client).await;
    identity.profile.keys = keys;
    identity.save()?;
    let unknown = revoked?;
    identity.home.remove_operator(url)?;
    Ok(unknown)
}
