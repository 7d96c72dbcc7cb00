//! The fixed properties of a recipient: every request has this form, whatever was found before.

use crate::call::{JobRequest, Limits, OrderRequest, SessionRequest};
use crate::job::{Batches, Form, Job, Session};
use crate::rounds::Sizes;
use crate::schedule::{MAX_LEVELS, largest_step};
use crate::storage::Storage;
use crate::{InboxError, Requests, check_sealing};
use omr_client::letter::Place;
use omr_protocol::Mismatch;
use omr_protocol::Sealing;

/// The properties that a board must have for a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The name of the recipient's parameter set.
    pub params: String,
    /// The id of the board where the recipient's keys are registered, if they are.
    pub board_id: Option<[u8; 16]>,
    /// The agreed sealing of letters to the recipient, see [`check_sealing`].
    pub sealing: Option<Sealing>,
}

impl Agreed {
    /// Checks that a board is the one where the recipient is registered, or could be.
    ///
    /// Errors:
    /// - `OtherParams` if the board has another parameter set.
    /// - `OtherBoard` if the keys are registered at another board.
    /// - `OtherSealing` or `Unsealed` if letters are not sealed as agreed.
    pub fn check(&self, place: &Place) -> Result<(), InboxError> {
        if place.params != self.params {
            let (expected, found) = (self.params.clone(), place.params.clone());
            return Err(InboxError::OtherParams(Mismatch::new(expected, found)));
        }
        check_sealing(self.sealing, place.sealing)?;
        match self.board_id {
            Some(expected) if expected != place.board_id => {
                let other = Mismatch::new(expected, place.board_id);
                Err(InboxError::OtherBoard(other))
            }
            _ => Ok(()),
        }
    }
}

/// A recipient, as visible in requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The properties that a board must have.
    pub agreed: Agreed,
    /// The hashes of the registered keys.
    pub keys: Vec<[u8; 32]>,
    /// The hash of the key for sessions, if there is one.
    pub instant: Option<[u8; 32]>,
    /// The tag of the scheme of every request; 0 for the scheme of the keys. With the tag of two rounds, fetches make scans
    /// and queries in place of digests; bounds, spare requests and batches then have no effect.
    pub scheme: u8,
    /// The bound of every request.
    pub bound: u32,
    /// The largest bound that the keys serve.
    pub largest_bound: u32,
    /// The number of times that fetches request every message again, at most [`MAX_LEVELS`].
    pub spares: u8,
    /// The index of the first message of the board that can be for the recipient.
    pub begins: u64,
    /// The number of messages of a batch, where only whole batches are fetched, which the server computes as soon as
    /// they are full.
    pub batch: Option<u64>,
}

/// Whether fetches request messages a second and a third time, see [`crate::Collected`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spares {
    /// They do.
    Made,
    /// The identity was made without spare requests.
    Off,
    /// The server cannot make digests with a step.
    NotServed,
    /// Two rounds need none: a scan has a place for every message.
    TwoRounds,
}

impl Recipient {
    /// Returns the form of all requests at a server with these limits.
    pub(crate) fn form(&self, limits: &Limits, batches: Option<Batches>) -> (Form, Spares) {
        let levels = self.spares.min(MAX_LEVELS);
        let spares = match (levels, limits.step >= largest_step(levels)) {
            (0, _) => Spares::Off,
            (_, true) => Spares::Made,
            (_, false) => Spares::NotServed,
        };
        // A limit of 0 means that the server states none.
        let allowed = Some(limits.bound).filter(|bound| *bound > 0);
        let largest = self.largest_bound.min(allowed.unwrap_or(u32::MAX));
        let form = Form {
            bound: self.bound.min(largest),
            most: limits.digest_messages,
            levels: if spares == Spares::Made { levels } else { 0 },
            batches,
            rounds: None,
        };
        (form, spares)
    }

    /// Returns the form of all requests of two rounds at a server with these limits.
    pub(crate) fn form_of_rounds(limits: &Limits, sizes: &Sizes) -> (Form, Spares) {
        // A limit of 0 means that the server states none.
        let allowed = Some(limits.digest_messages).filter(|messages| *messages > 0);
        let most = sizes.most.min(allowed.unwrap_or(u64::MAX));
        // A server that answers no queries refuses them with its reason.
        let answered = Some(limits.fetch_messages).filter(|messages| *messages > 0);
        let form = Form {
            bound: 0,
            most,
            levels: 0,
            batches: None,
            rounds: Some(Sizes {
                most,
                fetch: most.min(answered.unwrap_or(u64::MAX)),
                ..*sizes
            }),
        };
        (form, Spares::TwoRounds)
    }

    /// Returns the order of whole batches, if they are fetched. The id of the order depends on everything that it
    /// requests, so that a changed bound or key is another order.
    pub(crate) fn batches<S: Storage>(
        &self,
        requests: Requests<'_, S>,
    ) -> Result<Option<Batches>, S::Error> {
        let Some(messages) = self.batch else {
            return Ok(None);
        };
        let mut hasher = blake3::Hasher::new_derive_key("omr mail v1 order");
        hasher.update(&requests.order_seed()?);
        hasher.update(&[self.scheme]);
        hasher.update(&self.bound.to_le_bytes());
        for key in &self.keys {
            hasher.update(key);
        }
        let hash = hasher.finalize();
        let order = *hash.as_bytes().first_chunk().expect("32 bytes");
        Ok(Some(Batches { messages, order }))
    }

    pub(crate) fn order(&self, batches: Batches, bound: u32) -> OrderRequest {
        OrderRequest {
            request_id: batches.order,
            key_hashes: self.keys.clone(),
            start: self.begins,
            bound,
            scheme: self.scheme,
        }
    }

    /// Returns the request of a job. `query` is the file of the query of a fetch, and empty in other requests.
    pub(crate) fn job(&self, job: &Job, query: Vec<u8>) -> JobRequest {
        JobRequest {
            request_id: job.request_id,
            key_hashes: self.keys.clone(),
            start: job.start,
            end: job.end,
            bound: job.bound,
            scheme: self.scheme,
            step: if job.stride().has_gaps() { job.step } else { 0 },
            query,
        }
    }

    /// Returns the request for a session.
    ///
    /// Errors: `NoInstant` if the recipient has no key for sessions.
    pub(crate) fn session(&self, session: &Session) -> Result<SessionRequest, InboxError> {
        Ok(SessionRequest {
            request_id: session.request_id,
            key_hash: self.instant.ok_or(InboxError::NoInstant)?,
            start: session.start,
            bound: self.bound,
            room: session.room,
        })
    }
}
