//! From payloads to files: unsealed, put together, or left out with a reason.

use crate::spans::{in_words, spans};
use omr_client::fragment::{FragmentError, MessageId, Reassembler, Whole};
use omr_client::kept::Parts;
use omr_client::letter::{LetterError, Piece, Place, Reader};
use omr_client::{Retrieved, SecretKey};
use omr_console::chain;
use omr_protocol::{ParamSet, Response, Sealing};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

/// A message's content.
pub(super) struct Message {
    /// The index of its first payload; `None` for the list of indices.
    pub(super) index: Option<u64>,
    /// What its sender called it.
    pub(super) name: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// Payloads that gave no file, all for one reason.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) indices: Vec<u64>,
    reason: String,
}

/// A file of which parts are missing.
pub(super) struct Letter {
    pub(super) id: MessageId,
    pub(super) parts: Parts,
    pub(super) have: u32,
    pub(super) total: u32,
    /// Numbers of missing parts.
    pub(super) missing: Vec<Range<u32>>,
}

/// What became of the pertinent messages.
pub(super) struct Opened {
    /// Indices of all messages, those left out too. What was not made honestly is none: see [`Reader::open`].
    pub(super) pertinent: BTreeSet<u64>,
    /// In the order of the board.
    pub(super) messages: Vec<Message>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) letters: Vec<Letter>,
}

/// What several digests brought. A message that several hold counts once.
#[derive(Default)]
pub(super) struct Collected {
    pertinent: BTreeSet<u64>,
    whole: BTreeMap<u64, Whole>,
    left_out: BTreeMap<u64, String>,
    parts: BTreeMap<MessageId, Parts>,
    /// Whether a digest held indices alone.
    listed: bool,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.indices.len() {
            1 => "message",
            _ => "messages",
        };
        let indices = in_words(&spans(self.indices.iter().copied()));
        write!(f, "{name} {indices} left out: {}", self.reason)
    }
}

impl Collected {
    /// Begins with parts that came before.
    pub(super) fn new(parts: BTreeMap<MessageId, Parts>) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }

    /// Takes a digest of indices.
    pub(super) fn indices(&mut self, retrieved: &[Retrieved]) {
        self.listed = true;
        self.pertinent
            .extend(retrieved.iter().map(|found| found.index));
    }

    /// Takes payloads as they are.
    pub(super) fn raw(&mut self, retrieved: &[Retrieved]) {
        for found in retrieved {
            self.pertinent.insert(found.index);
            if let Some(payload) = &found.payload {
                let whole = Whole {
                    name: None,
                    bytes: payload.clone(),
                };
                self.whole.insert(found.index, whole);
            }
        }
    }

    /// Opens every payload.
    pub(super) fn open(
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
        let reader = Reader::new(set.clue(), secret, &place);
        for (index, piece) in reader.open(retrieved, digest.places()) {
            self.pertinent.insert(index);
            match piece {
                Err(error) => {
                    self.left_out.insert(index, hint(place.sealing, &error));
                }
                Ok(Piece::Whole(whole)) => {
                    self.whole.insert(index, whole);
                }
                Ok(Piece::PartOf(id, part)) => {
                    self.parts.entry(id).or_default().insert(index, part);
                }
            }
        }
    }

    /// Puts files together.
    pub(super) fn finish(mut self) -> Opened {
        let mut letters = Vec::new();
        for (id, parts) in std::mem::take(&mut self.parts) {
            letters.extend(self.join(id, parts));
        }
        let mut messages = Vec::new();
        if self.listed {
            let line = |index: &u64| format!("{index}\n");
            let text: String = self.pertinent.iter().map(line).collect();
            messages.push(Message {
                index: None,
                name: None,
                bytes: text.into_bytes(),
            });
        }
        let whole = std::mem::take(&mut self.whole).into_iter();
        messages.extend(whole.map(|(index, whole)| Message {
            index: Some(index),
            name: whole.name,
            bytes: whole.bytes,
        }));
        let mut reasons: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (index, reason) in self.left_out {
            reasons.entry(reason).or_default().push(index);
        }
        let left_out = reasons.into_iter();
        Opened {
            pertinent: self.pertinent,
            messages,
            left_out: left_out
                .map(|(reason, indices)| LeftOut { indices, reason })
                .collect(),
            letters,
        }
    }

    /// Puts one file together; gives it back where parts are missing.
    fn join(&mut self, id: MessageId, mut parts: Parts) -> Option<Letter> {
        let mut file = Reassembler::new();
        let (mut failed, mut refused) = (None, Vec::new());
        for (&index, part) in &parts {
            match file.push(part) {
                Ok(()) => {}
                Err(error @ (FragmentError::Hash(_) | FragmentError::Fields)) => {
                    failed = Some(chain(&error));
                }
                Err(error) => refused.push((index, chain(&error))),
            }
        }
        for (index, reason) in refused {
            parts.remove(&index);
            self.left_out.insert(index, reason);
        }
        if let Some(reason) = failed {
            let indices = parts.keys().map(|&index| (index, reason.clone()));
            self.left_out.extend(indices);
            return None;
        }
        let (whole, incomplete) = file.finish();
        if let Some(missing) = incomplete.into_iter().next() {
            return Some(Letter {
                id,
                parts,
                have: missing.have,
                total: missing.total,
                missing: missing.missing,
            });
        }
        let first = parts.first_key_value();
        let found = first.zip(whole.into_iter().next());
        self.whole
            .extend(found.map(|((&index, _), whole)| (index, whole)));
        None
    }
}

fn hint(sealing: Sealing, error: &LetterError) -> String {
    match sealing {
        Sealing::None => format!(
            "{} (if it was posted with --raw, decode with --raw)",
            chain(error)
        ),
        _ => chain(error),
    }
}
