//! What is fixed of a recipient: every request has this form, whatever was found before.

use crate::call::{JobRequest, Limits, OrderRequest, SessionRequest};
use crate::job::{Batches, Form, Job, Session};
use crate::schedule::{MAX_LEVELS, largest_step};
use crate::storage::Storage;
use crate::{InboxError, Requests, check_sealing};
use omr_client::letter::Place;
use omr_protocol::Mismatch;
use omr_protocol::Sealing;

/// What a board must be for her.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Her parameter set.
    pub params: String,
    /// The board where her keys are registered, if they are.
    pub board_id: Option<[u8; 16]>,
    /// How letters to her are sealed, see [`check_sealing`].
    pub sealing: Option<Sealing>,
}

impl Agreed {
    /// Checks that a board is the one that she is registered at, or could be.
    ///
    /// Errors: `OtherParams`, `OtherBoard`, `OtherSealing`, `Unsealed`.
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

/// A recipient, as her requests show her.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// What a board must be for her.
    pub agreed: Agreed,
    /// Hashes of her registered keys.
    pub keys: Vec<[u8; 32]>,
    /// Hash of the one for sessions, if she has it.
    pub instant: Option<[u8; 32]>,
    /// Scheme of every request, by its tag; 0: what the keys serve.
    pub scheme: u8,
    /// Bound of every request.
    pub bound: u32,
    /// The largest bound that her keys serve.
    pub largest_bound: u32,
    /// How often a fetch asks for every message once more, at most [`MAX_LEVELS`].
    pub spares: u8,
    /// The first message of the board that can be hers.
    pub begins: u64,
    /// Messages of a batch, where fetches take whole batches alone, which the server works when they fill.
    pub batch: Option<u64>,
}

/// Whether a fetch asks for its messages a second and a third time, see [`crate::Collected`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spares {
    /// It does.
    Made,
    /// The identity was made without.
    Off,
    /// The server cannot make digests with a step.
    NotServed,
}

impl Recipient {
    /// The form of all requests at a server.
    pub(crate) fn form(&self, limits: &Limits, batches: Option<Batches>) -> (Form, Spares) {
        let levels = self.spares.min(MAX_LEVELS);
        let spares = match (levels, limits.step >= largest_step(levels)) {
            (0, _) => Spares::Off,
            (_, true) => Spares::Made,
            (_, false) => Spares::NotServed,
        };
        // A server that names no limit.
        let allowed = Some(limits.bound).filter(|bound| *bound > 0);
        let largest = self.largest_bound.min(allowed.unwrap_or(u32::MAX));
        let form = Form {
            bound: self.bound.min(largest),
            most: limits.digest_messages,
            levels: if spares == Spares::Made { levels } else { 0 },
            batches,
        };
        (form, spares)
    }

    /// How fetches take batches, if they do. The id of the order depends on everything that it asks for, so that a
    /// changed bound or key is another order.
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

    pub(crate) fn job(&self, job: &Job) -> JobRequest {
        JobRequest {
            request_id: job.request_id,
            key_hashes: self.keys.clone(),
            start: job.start,
            end: job.end,
            bound: job.bound,
            scheme: self.scheme,
            step: if job.stride().has_gaps() { job.step } else { 0 },
        }
    }

    /// Errors: `NoInstant`.
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
