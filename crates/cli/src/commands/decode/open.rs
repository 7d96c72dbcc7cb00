//! From payloads to files: unsealed, put together, or left out with a reason.

use crate::error::chain;
use omr_client::fragment::{FragmentError, MessageId, Reassembler};
use omr_client::letter::{LetterError, Piece, Place, Reader};
use omr_client::{Retrieved, SecretKey};
use omr_protocol::{ParamSet, Response, Sealing};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// A message's content.
pub(super) struct Message {
    /// The index of its first payload; `None` for the list of indices.
    pub(super) index: Option<u64>,
    /// What its sender called it.
    pub(super) name: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// Payloads that gave no file.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) indices: Vec<u64>,
    reason: String,
}

/// What became of the pertinent messages.
#[derive(Default)]
pub(super) struct Opened {
    /// Indices of all messages, those left out too. What was not made honestly is none: see [`Reader::open`].
    pub(super) pertinent: Vec<u64>,
    pub(super) messages: Vec<Message>,
    pub(super) left_out: Vec<LeftOut>,
}

/// A file in several parts, as far as they came.
#[derive(Default)]
struct Pending {
    parts: Reassembler,
    indices: Vec<u64>,
    failed: Option<FragmentError>,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices: Vec<String> = self.indices.iter().map(u64::to_string).collect();
        let name = if indices.len() == 1 {
            "message"
        } else {
            "messages"
        };
        write!(f, "{name} {} left out: {}", indices.join(", "), self.reason)
    }
}

/// Opens every payload and puts files together.
pub(super) fn open(
    set: &ParamSet,
    secret: &SecretKey,
    digest: &Response,
    retrieved: &[Retrieved],
) -> Opened {
    let place = Place {
        board_id: digest.board_id(),
        params: set.name().to_owned(),
        sealing: digest.sealing(),
        payload_bytes: digest.request().payload_bytes.unwrap_or(0),
    };
    let mut opened = Opened::default();
    let mut files: Vec<Pending> = Vec::new();
    let mut by_id: HashMap<MessageId, usize> = HashMap::new();
    let reader = Reader::new(set.clue(), secret, &place);
    for (index, piece) in reader.open(retrieved, digest.places()) {
        opened.pertinent.push(index);
        match piece.map_err(|error| hint(place.sealing, &error)) {
            Err(reason) => opened.left_out.push(LeftOut {
                indices: vec![index],
                reason,
            }),
            Ok(Piece::Whole(whole)) => {
                opened.messages.push(Message {
                    index: Some(index),
                    name: whole.name,
                    bytes: whole.bytes,
                });
            }
            Ok(Piece::PartOf(id, part)) => {
                let at = *by_id.entry(id).or_insert_with(|| {
                    files.push(Pending::default());
                    files.len() - 1
                });
                files[at].push(index, &part, &mut opened);
            }
        }
    }
    for file in files {
        file.finish(&mut opened);
    }
    opened.messages.sort_by_key(|message| message.index);
    opened
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

impl Pending {
    fn push(&mut self, index: u64, part: &[u8], opened: &mut Opened) {
        match self.parts.push(part) {
            Ok(()) => self.indices.push(index),
            Err(error @ (FragmentError::Hash { .. } | FragmentError::Fields)) => {
                self.indices.push(index);
                self.failed = Some(error);
            }
            Err(error) => {
                let left_out = LeftOut {
                    indices: vec![index],
                    reason: chain(&error),
                };
                opened.left_out.push(left_out);
            }
        }
    }

    fn finish(self, opened: &mut Opened) {
        let (whole, missing) = self.parts.finish();
        let reason = match (self.failed, missing.first()) {
            (Some(error), _) => chain(&error),
            (None, Some(file)) => format!(
                "{} of {} parts of a file: ask for a digest that covers all",
                file.have, file.total
            ),
            (None, None) => {
                let index = self.indices.first().copied();
                opened
                    .messages
                    .extend(whole.into_iter().map(|whole| Message {
                        index,
                        name: whole.name,
                        bytes: whole.bytes,
                    }));
                return;
            }
        };
        opened.left_out.push(LeftOut {
            indices: self.indices,
            reason,
        });
    }
}
