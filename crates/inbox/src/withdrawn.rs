//! Letters whose messages the board no longer has, because a ledger took another branch or a server was restored. They
//! stay in the inbox, and are marked until their messages are on the board again.

use crate::history::Hash;
use crate::storage::{Edit, Look};
use crate::table::{MESSAGES, PLACES, SEEN, WITHDRAWN};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A message that was withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The place that it had.
    index: u64,
    /// The hash of its payload: boards of several histories have several messages at one place.
    hash: Hash,
    /// The number of the letter that it belongs to.
    letter: u64,
}

fn places<T: Look>(tx: &T) -> Result<BTreeSet<Place>, T::Error> {
    Ok(PLACES.get(tx, &WITHDRAWN)?.unwrap_or_default())
}

/// Returns the withdrawn messages that had this index.
fn at(places: &BTreeSet<Place>, index: u64) -> impl Iterator<Item = &Place> {
    let first = Place {
        index,
        hash: [0; 32],
        letter: 0,
    };
    places
        .range(first..)
        .take_while(move |place| place.index == index)
}

/// Returns the numbers of the letters with messages that were withdrawn.
pub(crate) fn letters<T: Look>(tx: &T) -> Result<BTreeSet<u64>, T::Error> {
    Ok(places(tx)?.into_iter().map(|place| place.letter).collect())
}

/// Marks the letters with messages from `common` on, which the board no longer has.
pub(crate) fn go_back<T: Edit>(tx: &mut T, common: u64) -> Result<(), T::Error> {
    let all = MESSAGES.all(tx)?.into_iter();
    let all: Vec<u64> = all.map(|(number, _)| number).collect();
    mark(tx, &all, common)
}

/// Marks those of some letters that have messages from `common` on, which the board no longer has.
pub(crate) fn mark<T: Edit>(tx: &mut T, numbers: &[u64], common: u64) -> Result<(), T::Error> {
    if common == u64::MAX {
        return Ok(());
    }
    let mut places = places(tx)?;
    let before = places.len();
    for &letter in numbers {
        // The inbox of a retired address has the requests for its letters, and goes back by itself.
        let record = MESSAGES.get(tx, &letter)?;
        let Some(record) = record.filter(|record| record.retired.is_none()) else {
            continue;
        };
        let all = std::iter::once(record.index).chain(record.further);
        for index in all.filter(|index| *index >= common) {
            if at(&places, index).any(|place| place.letter == letter) {
                continue;
            }
            // The other payloads that were seen there are those of earlier histories.
            if let Some(hash) = SEEN.get(tx, &index)?.and_then(|seen| seen.last().copied()) {
                places.insert(Place {
                    index,
                    hash,
                    letter,
                });
            }
        }
    }
    if places.len() == before {
        return Ok(());
    }
    PLACES.put(tx, &WITHDRAWN, &places)
}

/// Notes that a payload which was received from place `old` before is on the board at place `new`.
pub(crate) fn came_back<T: Edit>(
    tx: &mut T,
    hash: &Hash,
    old: u64,
    new: u64,
) -> Result<(), T::Error> {
    let mut places = places(tx)?;
    let found = at(&places, old).find(|place| place.hash == *hash);
    let Some(found) = found.cloned() else {
        return Ok(());
    };
    places.remove(&found);
    if let Some(mut record) = MESSAGES.get(tx, &found.letter)? {
        let mut all = std::iter::once(&mut record.index).chain(&mut record.further);
        if let Some(place) = all.find(|place| **place == old) {
            *place = new;
        }
        MESSAGES.put(tx, &found.letter, &record)?;
    }
    PLACES.put(tx, &WITHDRAWN, &places)
}

/// Removes the marks of a letter that is deleted.
pub(crate) fn forget<T: Edit>(tx: &mut T, letter: u64) -> Result<(), T::Error> {
    let mut places = places(tx)?;
    let before = places.len();
    places.retain(|place| place.letter != letter);
    if places.len() == before {
        return Ok(());
    }
    PLACES.put(tx, &WITHDRAWN, &places)
}
