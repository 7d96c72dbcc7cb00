//! Opening the payloads of digests and reassembling their files.

use crate::fragment::{FragmentError, MessageId, Reassembler, Whole};
use crate::kept::Parts;
use crate::letter::{LetterError, Piece, Place, Reader};
use crate::periods::{PeriodSecrets, last_period};
use crate::{Retrieved, SecretKey};
use omr_protocol::{ParamSet, Response};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// A file with missing parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The file.
    pub id: MessageId,
    /// The parts that have arrived.
    pub parts: Parts,
    /// Number of parts that have arrived.
    pub have: u32,
    /// Number of all parts.
    pub total: u32,
    /// Numbers of missing parts.
    pub missing: Vec<Range<u32>>,
}

/// The results of opening pertinent messages.
#[derive(Debug, Default)]
pub struct Opened {
    /// Indices of all messages, including those left out. Messages that were not made honestly are not included: see
    /// [`Reader::open`].
    pub pertinent: BTreeSet<u64>,
    /// Files by the index of their first payload.
    pub whole: BTreeMap<u64, Whole>,
    /// Payloads without a file, by their index: they did not open or are malformed.
    pub left_out: BTreeMap<u64, LetterError>,
    /// Files with missing parts.
    pub incomplete: Vec<Incomplete>,
}

/// A collection of what digests of one recipient and one board contain. A message in several digests counts once. Parts
/// of a file may come from different digests.
///
/// ```no_run
/// use omr_client::{decode, letters::Letters};
/// # fn each(set: &omr_protocol::ParamSet, secret: &omr_client::SecretKey, bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// let digest = omr_protocol::Response::from_bytes(set, bytes)?;
/// let mut letters = Letters::default();
/// letters.open(set, secret, &digest, &decode(set, secret, &digest)?);
/// for (index, file) in letters.finish().whole {
///     println!("message {index}: {} bytes", file.bytes.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Letters {
    opened: Opened,
    parts: BTreeMap<MessageId, Parts>,
    /// Secrets of periods, and the last period whose secret is tried.
    periods: Option<(PeriodSecrets, u32)>,
}

impl Letters {
    /// Makes a collection that begins with parts from earlier digests.
    #[must_use]
    pub fn with_parts(parts: BTreeMap<MessageId, Parts>) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }

    /// Opens payloads that are sealed to the keys of periods up to the present one, too.
    #[must_use]
    pub fn with_periods(self, secrets: PeriodSecrets, now: SystemTime) -> Self {
        let seconds = now
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        Self {
            periods: Some((secrets, last_period(seconds))),
            ..self
        }
    }

    /// Adds retrieved messages without opening their payloads, from a digest of indices or if payloads are to be kept
    /// as they are. Payloads become files without a name.
    pub fn take(&mut self, retrieved: &[Retrieved]) {
        for found in retrieved {
            self.opened.pertinent.insert(found.index);
            if let Some(payload) = &found.payload {
                let whole = Whole {
                    bytes: payload.clone(),
                    ..Whole::default()
                };
                self.opened.whole.insert(found.index, whole);
            }
        }
    }

    /// Opens every payload of a digest and adds it.
    pub fn open(
        &mut self,
        set: &ParamSet,
        secret: &SecretKey,
        digest: &Response,
        retrieved: &[Retrieved],
    ) {
        let place = Place {
            board_id: digest.board_id(),
            params: set.name().to_owned(),
            sealing: digest.sealing(),
            payload_bytes: digest.request().payload_bytes.unwrap_or(0),
        };
        self.open_at(set, secret, &place, digest.places(), retrieved);
    }

    /// Opens payloads of a place and adds them, in a time that is the same for up to `places` of them.
    pub fn open_at(
        &mut self,
        set: &ParamSet,
        secret: &SecretKey,
        place: &Place,
        places: usize,
        retrieved: &[Retrieved],
    ) {
        let mut reader = Reader::new(set.clue(), secret, place);
        if let Some((secrets, last)) = &self.periods {
            reader = reader.with_periods(secrets, *last);
        }
        for (index, piece) in reader.open(retrieved, places) {
            self.opened.pertinent.insert(index);
            match piece {
                Err(error) => {
                    self.opened.left_out.insert(index, error);
                }
                Ok(Piece::Whole(whole)) => {
                    self.opened.whole.insert(index, whole);
                }
                Ok(Piece::PartOf(id, part)) => {
                    self.parts.entry(id).or_default().insert(index, part);
                }
            }
        }
    }

    /// Reassembles files and returns all results.
    #[must_use]
    pub fn finish(mut self) -> Opened {
        for (id, parts) in std::mem::take(&mut self.parts) {
            let incomplete = self.join(id, parts);
            self.opened.incomplete.extend(incomplete);
        }
        self.opened
    }

    /// Reassembles one file; returns it if parts are missing.
    fn join(&mut self, id: MessageId, mut parts: Parts) -> Option<Incomplete> {
        let mut file = Reassembler::new();
        let (mut failed, mut refused) = (None, Vec::new());
        for (&index, part) in &parts {
            match file.push(part) {
                Ok(()) => {}
                Err(error @ (FragmentError::Hash(_) | FragmentError::Fields)) => {
                    failed = Some(error);
                }
                Err(error) => refused.push((index, error)),
            }
        }
        for (index, error) in refused {
            parts.remove(&index);
            self.opened.left_out.insert(index, error.into());
        }
        if let Some(error) = failed {
            for &index in parts.keys() {
                self.opened.left_out.insert(index, error.clone().into());
            }
            return None;
        }
        let (whole, incomplete) = file.finish();
        if let Some(missing) = incomplete.into_iter().next() {
            return Some(Incomplete {
                id,
                parts,
                have: missing.have,
                total: missing.total,
                missing: missing.missing,
            });
        }
        let first = parts.first_key_value();
        let found = first.zip(whole.into_iter().next());
        self.opened
            .whole
            .extend(found.map(|((&index, _), file)| (index, file)));
        None
    }
}
