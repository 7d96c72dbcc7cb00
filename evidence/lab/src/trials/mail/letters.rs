//! Letters, and their comparison with the inboxes.

use omr_client::os_rng;
use omr_protocol::Sealing;
use rand_core::Rng;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The bytes of a payload that are not a letter's: the sealing, and the largest header of a part.
const PART_OVERHEAD: usize = 36;

/// A letter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Letter {
    pub(crate) sender: usize,
    pub(crate) recipient: usize,
    pub(crate) text: Vec<u8>,
}

/// Returns letters that differ. Every fourth one has several parts, every seventh one is no text.
pub(crate) fn letters(
    count: usize,
    senders: usize,
    recipients: usize,
    payload_bytes: usize,
) -> Vec<Letter> {
    let part = payload_bytes.saturating_sub(Sealing::HpkeX25519.overhead() + PART_OVERHEAD);
    let mut rng = os_rng();
    let letter = |number: usize| {
        let recipient = number % recipients;
        let mut text = format!("Letter {number} to recipient {recipient}\n").into_bytes();
        let bytes = match number % 4 {
            3 => text.len() + 2 * part + number % part.max(1),
            few => (text.len() + 1 + 37 * few).max(part * few / 4),
        };
        let start = text.len();
        text.resize(bytes, 0);
        rng.fill_bytes(&mut text[start..]);
        if number % 7 != 6 {
            text[start..]
                .iter_mut()
                .for_each(|byte| *byte = b'a' + *byte % 26);
        }
        Letter {
            sender: number / recipients % senders,
            recipient,
            text,
        }
    };
    (0..count).map(letter).collect()
}

/// The content of the inboxes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Delivered {
    /// The number of letters in their recipient's inbox, once, bit for bit.
    pub exact: u64,
    /// The number of letters in no inbox.
    pub missing: u64,
    /// The number of repeated letters in an inbox, not counting the first of each.
    pub doubled: u64,
    /// The number of messages in an inbox that are no letter to its owner.
    pub foreign: u64,
}

impl Delivered {
    /// Compares letters with inboxes, one for each recipient.
    pub(crate) fn new(letters: &[Letter], inboxes: &[Vec<Vec<u8>>]) -> Self {
        let mut delivered = Self::default();
        let mut waiting: BTreeMap<(usize, &[u8]), bool> = letters
            .iter()
            .map(|letter| ((letter.recipient, &letter.text[..]), false))
            .collect();
        for (recipient, inbox) in inboxes.iter().enumerate() {
            for text in inbox {
                match waiting.get_mut(&(recipient, &text[..])) {
                    None => delivered.foreign += 1,
                    Some(true) => delivered.doubled += 1,
                    Some(came) => {
                        *came = true;
                        delivered.exact += 1;
                    }
                }
            }
        }
        delivered.missing = waiting.values().filter(|came| !**came).count() as u64;
        delivered
    }

    /// Returns descriptions of all faults.
    pub(crate) fn faults(&self) -> Vec<String> {
        [
            (self.missing, "letters are in no inbox"),
            (self.doubled, "letters are in an inbox twice"),
            (
                self.foreign,
                "messages in inboxes are no letters to their owner",
            ),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }
}

/// Returns the most messages that one recipient's letters take.
pub(crate) fn most_messages(letters: &[Letter], payload_bytes: usize) -> usize {
    let part = payload_bytes.saturating_sub(Sealing::HpkeX25519.overhead() + PART_OVERHEAD);
    let recipients: BTreeSet<usize> = letters.iter().map(|letter| letter.recipient).collect();
    let of = |recipient: &usize| {
        let own = letters
            .iter()
            .filter(|letter| letter.recipient == *recipient);
        own.map(|letter| letter.text.len().div_ceil(part.max(1)).max(1))
            .sum()
    };
    recipients.iter().map(of).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_differ_and_some_are_long() {
        let all = letters(40, 2, 3, 612);
        let texts: BTreeSet<&[u8]> = all.iter().map(|letter| &letter.text[..]).collect();
        assert_eq!(texts.len(), 40);
        assert!(all.iter().filter(|letter| letter.text.len() > 612).count() >= 8);
        for (who, count) in [(0, 2), (1, 3)] {
            assert_eq!(
                all.iter()
                    .map(|letter| [letter.sender, letter.recipient][who])
                    .collect::<BTreeSet<_>>()
                    .len(),
                count
            );
        }
        let most = most_messages(&all, 612);
        assert!((14..=50).contains(&most), "{most}");
    }

    #[test]
    fn every_fault_shows() {
        let all = letters(4, 1, 2, 612);
        let text = |number: usize| all[number].text.clone();
        let right = [vec![text(2), text(0)], vec![text(1), text(3)]];
        let found = Delivered::new(&all, &right);
        assert_eq!((found.exact, found.faults().len()), (4, 0));
        let mut altered = text(2);
        altered[0] ^= 1;
        let wrong = [vec![text(0), text(0), altered], vec![text(1), text(0)]];
        let found = Delivered::new(&all, &wrong);
        let expected = Delivered {
            exact: 2,
            missing: 2,
            doubled: 1,
            foreign: 2,
        };
        assert_eq!(found, expected);
        assert_eq!(found.faults().len(), 3);
    }
}
