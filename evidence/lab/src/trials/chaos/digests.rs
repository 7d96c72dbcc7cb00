//! Recipients' digests, decoded and compared with the board.

use super::ledger::Copy;
use super::people::People;
use omr_client::{Retrieved, decode};
use omr_protocol::Response;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A decoded digest.
pub(crate) struct Found {
    pub(crate) owner: usize,
    /// The number of its session, if it was cut off one; digests of one session are consecutive.
    pub(crate) session: Option<u64>,
    pub(crate) range: Range<u64>,
    messages: Vec<Retrieved>,
}

/// All decoded digests, and the faults found so far.
#[derive(Default)]
pub(crate) struct Digests {
    found: Mutex<Vec<Found>>,
    faults: Mutex<Vec<String>>,
}

/// The comparison of the digests with the board.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) checked: u64,
    pub(crate) cuts: u64,
    /// The number of the recipient's messages that the digests contain.
    pub(crate) found: u64,
    /// The number of the recipient's messages that the digests lack.
    pub(crate) missed: u64,
    /// The number of strangers' messages that passed by chance, with their right payload.
    pub(crate) accidental: u64,
    /// The number of payloads that differ from the board's.
    pub(crate) wrong: u64,
    /// The number of messages that a digest contains twice.
    pub(crate) doubled: u64,
}

impl Digests {
    /// Records a fault.
    pub(crate) fn fault(&self, text: String) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.push(text);
    }

    /// Decodes a digest, stores it and returns its range.
    pub(crate) fn take(
        &self,
        people: &People,
        owner: usize,
        session: Option<u64>,
        bytes: &[u8],
    ) -> Option<Range<u64>> {
        let response = Response::from_bytes(&people.set, bytes)
            .map_err(|error| format!("a digest is no digest: {error}"));
        let decoded = response.and_then(|response| {
            let range = response.request().range;
            let found = decode(&people.set, &people.recipients[owner].secret, &response);
            Ok((
                range.clone(),
                found.map_err(|error| format!("a digest of {range:?} does not decode: {error}"))?,
            ))
        });
        match decoded {
            Ok((range, messages)) => {
                let found = Found {
                    owner,
                    session,
                    range: range.clone(),
                    messages,
                };
                let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                all.push(found);
                Some(range)
            }
            Err(fault) => {
                self.fault(fault);
                None
            }
        }
    }

    /// Compares all digests with the board; returns the comparison and the faults.
    pub(crate) fn judge(&self, copy: &Copy) -> (Verdict, Vec<String>) {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut verdict, mut faults) = (Verdict::default(), faults.clone());
        for digest in found.iter() {
            if let Some(fault) = verdict.add(digest, copy) {
                faults.push(fault);
            }
        }
        let sessions: HashSet<u64> = found.iter().filter_map(|d| d.session).collect();
        for session in sessions {
            let ranges: Vec<_> = found
                .iter()
                .filter(|digest| digest.session == Some(session))
                .map(|digest| digest.range.clone())
                .collect();
            faults.extend(gaps(&ranges, copy.payloads.len() as u64));
        }
        (verdict, faults)
    }
}

/// Returns a fault if the cuts of a session, in the order of their arrival, are not consecutive or do not cover the
/// board.
fn gaps(ranges: &[Range<u64>], len: u64) -> Option<String> {
    let mut next = 0;
    for range in ranges {
        if range.start != next {
            return Some(format!(
                "a cut covers {range:?}, expected one from {next} on"
            ));
        }
        next = range.end;
    }
    (next != len).then(|| format!("the cuts of a session end at {next}, the board at {len}"))
}

impl Verdict {
    fn add(&mut self, digest: &Found, copy: &Copy) -> Option<String> {
        self.checked += 1;
        self.cuts += u64::from(digest.session.is_some());
        let before = [self.missed, self.wrong, self.doubled];
        let mut seen = HashSet::new();
        for message in &digest.messages {
            let index = message.index as usize;
            let inside = digest.range.contains(&message.index);
            let right = message.payload.as_deref() == copy.payloads.get(index).map(|p| &p[..]);
            let own = copy.owners.get(index) == Some(&digest.owner);
            match (seen.insert(index), inside && right) {
                (false, _) => self.doubled += 1,
                (true, false) => self.wrong += 1,
                (true, true) => {
                    *(if own {
                        &mut self.found
                    } else {
                        &mut self.accidental
                    }) += 1
                }
            }
        }
        let own = |&i: &u64| copy.owners.get(i as usize) == Some(&digest.owner);
        let missed: Vec<u64> = digest
            .range
            .clone()
            .filter(own)
            .filter(|&i| !seen.contains(&(i as usize)))
            .collect();
        self.missed += missed.len() as u64;
        let wrong = before != [self.missed, self.wrong, self.doubled];
        wrong.then(|| {
            format!(
                "a digest of {:?} (session {:?}) for {}: missed {missed:?}, wrong {}, doubled {}",
                digest.range,
                digest.session,
                digest.owner,
                self.wrong - before[1],
                self.doubled - before[2],
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_must_follow_each_other_and_cover_the_board() {
        assert_eq!(gaps(&[0..3, 3..3, 3..9], 9), None);
        assert!(gaps(&[0..3, 4..9], 9).is_some());
        assert!(gaps(&[0..3, 2..9], 9).is_some());
        assert!(gaps(&[0..3, 3..3], 9).is_some());
    }

    #[test]
    fn a_digest_that_misses_doubles_or_garbles_is_a_fault() {
        let copy = Copy {
            payloads: (0..6).map(|i| bytes::Bytes::from(vec![i; 3])).collect(),
            owners: vec![0, 1, 2, 0, 2, 0],
        };
        let found = |indices: &[(u64, u8)]| Found {
            owner: 0,
            session: None,
            range: 0..5,
            messages: indices
                .iter()
                .map(|&(index, byte)| Retrieved::new(index, Some(vec![byte; 3]), None))
                .collect(),
        };
        let verdict = |indices: &[(u64, u8)]| {
            let mut verdict = Verdict::default();
            let fault = verdict.add(&found(indices), &copy).is_some();
            let v = verdict;
            (fault, [v.found, v.missed, v.accidental, v.wrong, v.doubled])
        };
        assert_eq!(verdict(&[(0, 0), (3, 3)]), (false, [2, 0, 0, 0, 0]));
        assert_eq!(verdict(&[(0, 0), (2, 2), (3, 3)]), (false, [2, 0, 1, 0, 0]));
        assert_eq!(verdict(&[(0, 0)]), (true, [1, 1, 0, 0, 0]));
        assert_eq!(verdict(&[(0, 0), (3, 1)]), (true, [1, 0, 0, 1, 0]));
        assert_eq!(verdict(&[(0, 0), (3, 3), (3, 3)]), (true, [2, 0, 0, 0, 1]));
        assert_eq!(verdict(&[(0, 0), (3, 3), (5, 5)]), (true, [2, 0, 0, 1, 0]));
    }
}
