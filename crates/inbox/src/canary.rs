//! Canaries: messages to oneself; their absence shows that a detector leaves messages out.

use crate::Inbox;
use crate::job::random_id;
use crate::storage::{Edit, Storage};
use crate::table::CANARIES;
use omr_protocol::Stride;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// The number of bytes of a canary. They are random, so that no letter is taken for a canary.
pub const CANARY_BYTES: usize = 32;

/// The state of a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanaryState {
    /// It is being posted; the post is repeated when the next one is posted.
    Posting,
    /// It is on the board, and no digest that covers it was decoded yet.
    Posted,
    /// A digest contained it.
    Returned,
    /// A digest that covers it did not contain it.
    Missing,
    /// The server went back to an older state of the board before a digest that covers it was decoded.
    Gone,
}

/// A canary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// The time when it was made, in seconds since 1970.
    pub made: u64,
    /// The index of the canary on the board, once it is known.
    pub index: Option<u64>,
    /// The canary's state.
    pub state: CanaryState,
    /// The range whose digest lacks it.
    pub missing_from: Option<Range<u64>>,
    post_id: [u8; 16],
    /// The clue and payload, until they are posted.
    post: Option<(Vec<u8>, Vec<u8>)>,
}

/// All canaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// The canaries, oldest first.
    pub canaries: Vec<Canary>,
}

impl Audit {
    /// Returns the number of canaries in a state.
    #[must_use]
    pub fn count(&self, state: CanaryState) -> usize {
        let mut all = self.canaries.iter();
        all.by_ref().filter(|canary| canary.state == state).count()
    }
}

/// A canary that is to be posted, with the same id until that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanaryPost {
    /// The content, by which the inbox identifies the canary.
    pub content: Vec<u8>,
    /// The id of the post.
    pub post_id: [u8; 16],
    /// The clue and payload of the message.
    pub message: Option<(Vec<u8>, Vec<u8>)>,
}

impl<S: Storage> Inbox<S> {
    /// Returns the states of all canaries.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn audit(&self) -> Result<Audit, S::Error> {
        let all = self.store.read(|tx| CANARIES.all(tx))?;
        let mut canaries: Vec<Canary> = all.into_iter().map(|(_, canary)| canary).collect();
        canaries.sort_by_key(|canary| (canary.made, canary.index));
        Ok(Audit { canaries })
    }

    /// Records a canary, with clue and payload of its message, before it is posted. `now` is the time in seconds since
    /// 1970.
    ///
    /// Errors: those of the storage.
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

    /// Returns the canaries that must be posted now: the recorded one, and those whose post was interrupted, with their
    /// first ids, so that none is posted twice.
    ///
    /// Errors: those of the storage; `Record`.
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

    /// Records the index of a posted canary. A watch may have found it before the answer of the post came.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn canary_posted(&self, content: &[u8], index: u64) -> Result<(), S::Error> {
        let key = content.to_vec();
        self.store.write(|tx| {
            let Some(mut canary) = CANARIES.get(tx, &key)? else {
                return Ok(());
            };
            canary.post = None;
            canary.index = Some(index);
            if canary.state == CanaryState::Posting {
                canary.state = CanaryState::Posted;
            }
            CANARIES.put(tx, &key, &canary)
        })
    }
}

/// Returns whether a message is a canary. A canary at its own place is then marked as returned.
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
    // A canary that a digest left out stays missing, even if another digest contains it.
    let is_missing = canary.state == CanaryState::Missing;
    if *canary.index.get_or_insert(index) == index && !is_missing {
        canary.state = CanaryState::Returned;
        canary.missing_from = None;
        canary.post = None;
        CANARIES.put(tx, content, &canary)?;
    }
    // At another place it is somebody's copy of a canary: not a letter either.
    Ok(true)
}

/// Marks posted canaries from message `common` on as gone, because the board now has another history there.
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

/// Marks the canaries that the parts of a decoded digest, scan or answer cover and do not contain as missing.
pub(crate) fn assess<T: Edit>(
    tx: &mut T,
    covered: &[Stride],
    found: &BTreeSet<u64>,
) -> Result<(), T::Error> {
    for (content, mut canary) in CANARIES.all(tx)? {
        let Some(index) = canary.index.filter(|index| !found.contains(index)) else {
            continue;
        };
        let part = covered.iter().find(|of| of.contains(index));
        if let Some(of) = part.filter(|_| canary.state == CanaryState::Posted) {
            canary.state = CanaryState::Missing;
            canary.missing_from = Some(of.start..of.end);
            CANARIES.put(tx, &content, &canary)?;
        }
    }
    Ok(())
}
