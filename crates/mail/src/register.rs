//! Giving a server the detection keys, and taking them back.

use crate::keys::detection_maker;
use crate::send::{board_mark, board_place, check_clues};
use crate::{Identity, KeyFile, MailError, NewIdentity, check_bound, check_sealing};
use omr_inbox::Mark;
use omr_protocol::{Mismatch, ParamSet, Sealing};
use omr_remote::{Client, RemoteError, v1};

impl NewIdentity {
    /// This, for a server's board: everything that may forbid it is looked at before keys are made. `params` and
    /// `sealing` are what the person expects; the board says what she does not. Returns the board's length with its running
    /// hash, too.
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
        // A server talks nobody into the weaker kind of clues, or into letters that it can read.
        let set = ParamSet::named(&self.params)?;
        check_clues(&board, set.clue(), self.clues)?;
        check_sealing(sealing, place.sealing)?;
        self.sealing = place.sealing;
        self.board_id = Some(place.board_id);
        check_bound(&set, self.scheme, self.bound)?;
        check_limits(&client.limits().await?, self.bound, false)?;
        Ok((self, board_mark(&board)?))
    }
}

/// Uploads and registers all detection keys. What was done before is not done again: an interrupted
/// registration goes on, and a key whose file an import did not bring is made anew where the server has lost it.
/// `progress` is told the file, the bytes that are sent and their total.
///
/// Errors: `OtherParams`, `OtherBoard`, `OtherSealing`, `Unsealed`, `OtherClues`, `ServerBound`, `Remote`, `File`;
/// `Locked` where a key is made anew and the secret is under a passphrase.
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
    // A profile of an older version: sealed in this way from now on.
    identity.profile.sealing.get_or_insert(place.sealing);
    identity.save()?;
    for i in 0..identity.profile.keys.len() {
        let key = identity.profile.keys[i].clone();
        let hash = match registered_before(identity, &key, client).await? {
            Some(hash) => hash,
            None => {
                let tell = |sent, total| progress(&key.name, sent, total);
                // Asked again where it is registered already: the server may have lost it.
                let hash = if identity.home.has(&key.name) {
                    client
                        .upload_key(&identity.home.path(&key.name), tell)
                        .await?
                } else {
                    let make = detection_maker(identity, &key.name)?;
                    client.upload_made_key(make, tell).await?
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

/// The hash of a key whose file did not come with an import, if the server has it.
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

/// Checks that a server serves a bound; `fixed`: that of an identity that is made.
///
/// Errors: `ServerBound`.
pub fn check_limits(limits: &v1::Limits, bound: u32, fixed: bool) -> Result<(), MailError> {
    let (most, found) = (limits.bound, bound);
    // A server that tells no limit says 0.
    if most > 0 && found > most {
        Err(MailError::ServerBound { most, found, fixed })
    } else {
        Ok(())
    }
}

/// Ends the registration of all detection keys. Gives those that were registered and of which the server knew nothing
/// from this caller: a lost answer, or the keys are another token's.
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
