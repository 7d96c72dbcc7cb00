//! From payloads to files: unsealed, put together, or left out with a reason.

use crate::error::chain;
use omr_client::fragment::{FragmentError, MessageId, Reassembler};
use omr_client::{Retrieved, SecretKey, seal};
use omr_protocol::{ParamSet, Response, Sealing};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// A message's content.
pub(super) struct Message {
    /// The index of its first payload; `None` for the list of indices.
    pub(super) index: Option<u64>,
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

/// What a plaintext is.
enum Parsed {
    Whole(Vec<u8>),
    PartOf(MessageId),
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
    retrieved: Vec<Retrieved>,
) -> Opened {
    let context = crate::commands::seal_context(&digest.board_id(), set.name());
    let sealing = digest.sealing();
    let mut opened = Opened::default();
    let mut files: Vec<Pending> = Vec::new();
    let mut by_id: HashMap<MessageId, usize> = HashMap::new();
    for Retrieved { index, payload } in retrieved {
        let Some(payload) = payload else { continue };
        let part = seal::open(secret.seal_secret(), sealing, &context, &payload);
        let parsed = part.map_err(|error| chain(&error)).and_then(|part| {
            parse(&part)
                .map(|parsed| (parsed, part))
                .map_err(|error| hint(sealing, &error))
        });
        match parsed {
            Err(reason) => opened.left_out.push(LeftOut {
                indices: vec![index],
                reason,
            }),
            Ok((Parsed::Whole(bytes), _)) => {
                opened.messages.push(Message {
                    index: Some(index),
                    bytes,
                });
            }
            Ok((Parsed::PartOf(id), part)) => {
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

fn hint(sealing: Sealing, error: &FragmentError) -> String {
    match sealing {
        Sealing::None => format!(
            "{} (if it was posted with --raw, decode with --raw)",
            chain(error)
        ),
        _ => chain(error),
    }
}

/// A part alone in a collection tells what it is.
fn parse(part: &[u8]) -> Result<Parsed, FragmentError> {
    let mut alone = Reassembler::new();
    alone.push(part)?;
    let (whole, parts) = alone.finish();
    Ok(match parts.first() {
        Some(file) => Parsed::PartOf(file.id),
        None => Parsed::Whole(whole.concat()),
    })
}

impl Pending {
    fn push(&mut self, index: u64, part: &[u8], opened: &mut Opened) {
        match self.parts.push(part) {
            Ok(()) => self.indices.push(index),
            Err(error @ FragmentError::Hash { .. }) => {
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
                opened.messages.push(Message {
                    index,
                    bytes: whole.concat(),
                });
                return;
            }
        };
        opened.left_out.push(LeftOut {
            indices: self.indices,
            reason,
        });
    }
}
