//! Canaries: messages to oneself, whose absence shows a detector that leaves messages out.

use crate::Inbox;
use crate::job::random_id;
use crate::storage::{Edit, Storage};
use crate::table::CANARIES;
use omr_protocol::Stride;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of a canary: random, so that no letter of others is taken for one.
pub const CANARY_BYTES: usize = 32;

/// The state of a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanaryState {
    /// On its way to the board; repeated when the next one is posted.
    Posting,
    /// On the board; no digest that covers it was decoded yet.
    Posted,
    /// A digest held it.
    Returned,
    /// A digest that covers it did not hold it.
    Missing,
    /// The server went back to an older state of the board before a digest that covers it was decoded.
    Gone,
}

/// A canary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// The canary's place on the board, once it is known.
    pub index: Option<u64>,
    /// What became of it.
    pub state: CanaryState,
    /// The range whose digest lacks it.
    pub missing_from: Option<Range<u64>>,
    post_id: [u8; 16],
    /// Clue and payload, until they are posted.
    post: Option<(Vec<u8>, Vec<u8>)>,
}

/// All canaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Them, oldest first.
    pub canaries: Vec<Canary>,
}

impl Audit {
    /// How many are in a state.
    #[must_use]
    pub fn count(&self, state: CanaryState) -> usize {
        let mut all = self.canaries.iter();
        all.by_ref().filter(|canary| canary.state == state).count()
    }
}

/// A canary that is to be posted, under the same id until that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanaryPost {
    /// What it says: its name here.
    pub content: Vec<u8>,
    /// The id of the post.
    pub post_id: [u8; 16],
    /// Clue and payload of its message.
    pub message: Option<(Vec<u8>, Vec<u8>)>,
}

impl<S: Storage> Inbox<S> {
    /// What became of every canary.
    ///
    /// Errors: the storage's; `Record`.
    pub fn audit(&self) -> Result<Audit, S::Error> {
        let all = self.store.read(|tx| CANARIES.all(tx))?;
        let mut canaries: Vec<Canary> = all.into_iter().map(|(_, canary)| canary).collect();
        canaries.sort_by_key(|canary| (canary.made, canary.index));
        Ok(Audit { canaries })
    }

    /// Notes a canary, with clue and payload of its message, before it is posted. `now`: seconds since 1970.
    ///
    /// Errors: the storage's.
    pub fn note_canary(
        &self,
        content: [u8; CANARY_BYTES],
        message: Option<(Vec<u8>, Vec<u8>)>,
        now: u64,
    ) -> Result<(), S::Error> {
        let canary = Canary {
            made: now,
            index: None,
            state: CanaryState::Posting,
            missing_from: None,
            post_id: random_id(),
            post: message,
        };
        self.store
            .write(|tx| CANARIES.put(tx, &content.to_vec(), &canary))
    }

    /// Canaries to be posted now: the one that was noted, and those whose posting was interrupted, under their first
    /// ids, so that none is posted twice.
    ///
    /// Errors: the storage's; `Record`.
    pub fn canaries_to_post(&self) -> Result<Vec<CanaryPost>, S::Error> {
        let mut all = self.store.read(|tx| CANARIES.all(tx))?;
        all.retain(|(_, canary)| canary.state == CanaryState::Posting);
        let post = |(content, canary): (_, Canary)| CanaryPost {
            content,
            post_id: canary.post_id,
            message: canary.post,
        };
        Ok(all.into_iter().map(post).collect())
    }

    /// Notes where a canary is; a watch may have found it before its answer came.
    ///
    /// Errors: the storage's; `Record`.
    pub fn canary_posted(&self, content: &[u8], index: u64) -> Result<(), S::Error> {
        let content = &content.to_vec();
        self.store.write(|tx| {
            let Some(mut canary) = CANARIES.get(tx, content)? else {
                return Ok(());
            };
            canary.post = None;
            canary.index = Some(index);
            if canary.state == CanaryState::Posting {
                canary.state = CanaryState::Posted;
            }
            CANARIES.put(tx, content, &canary)
        })
    }
}

/// Whether a message is a canary at its place; it has then returned.
pub(crate) fn returned<T: Edit>(
    tx: &mut T,
    content: &Vec<u8>,
    index: u64,
) -> Result<bool, T::Error> {
    if content.len() != CANARY_BYTES {
        return Ok(false);
    }
    let Some(mut canary) = CANARIES.get(tx, content)? else {
        return Ok(false);
    };
    // One that a digest left out stays missing: another that holds it does not make up for that.
    let is_missing = canary.state == CanaryState::Missing;
    if *canary.index.get_or_insert(index) == index && !is_missing {
        canary.state = CanaryState::Returned;
        canary.missing_from = None;
        canary.post = None;
        CANARIES.put(tx, content, &canary)?;
    }
    // At another place it is a copy of somebody's: no letter either.
    Ok(true)
}

/// Notes the canaries that may be on the board no more, as it has another history from message `common` on.
pub(crate) fn go_back<T: Edit>(tx: &mut T, common: u64) -> Result<(), T::Error> {
    for (content, mut canary) in CANARIES.all(tx)? {
        let is_beyond = canary.index.is_some_and(|index| index >= common);
        if is_beyond && canary.state == CanaryState::Posted {
            (canary.index, canary.state) = (None, CanaryState::Gone);
            CANARIES.put(tx, &content, &canary)?;
        }
    }
    Ok(())
}

/// Notes the canaries that a decoded digest should have held and did not.
pub(crate) fn assess<T: Edit>(
    tx: &mut T,
    covered: &Stride,
    found: &BTreeSet<u64>,
) -> Result<(), T::Error> {
    for (content, mut canary) in CANARIES.all(tx)? {
        let is_covered = canary.index.is_some_and(|index| covered.contains(index));
        let returned = canary.index.is_some_and(|index| found.contains(&index));
        if is_covered && !returned && canary.state == CanaryState::Posted {
            canary.state = CanaryState::Missing;
            canary.missing_from = Some(covered.start..covered.end);
            CANARIES.put(tx, &content, &canary)?;
        }
    }
    Ok(())
}
