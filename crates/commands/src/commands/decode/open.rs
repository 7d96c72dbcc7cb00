//! The files of opened payloads, and the report on the other payloads.

use crate::spans::{in_words, spans};
use omr_client::letter::LetterError;
use omr_client::letters::Opened;
use omr_console::chain;
use omr_protocol::Sealing;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A message's content.
pub(super) struct Message {
    /// The index of its first payload; `None` for the list of indices.
    pub(super) index: Option<u64>,
    /// The name that its sender gave it.
    pub(super) name: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// Payloads without a file, all for one reason.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) indices: Vec<u64>,
    reason: String,
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

/// Returns the messages to write, in the order of the board. With `listed` a list of all indices comes first.
pub(super) fn messages(opened: &mut Opened, listed: bool) -> Vec<Message> {
    let list = listed.then(|| list(&opened.pertinent));
    let whole = std::mem::take(&mut opened.whole).into_iter();
    let message = |(index, whole): (u64, omr_client::fragment::Whole)| Message {
        index: Some(index),
        name: whole.name,
        bytes: whole.bytes,
    };
    list.into_iter().chain(whole.map(message)).collect()
}

fn list(pertinent: &BTreeSet<u64>) -> Message {
    let line = |index: &u64| format!("{index}\n");
    Message {
        index: None,
        name: None,
        bytes: pertinent.iter().map(line).collect::<String>().into_bytes(),
    }
}

/// Returns the payloads without a file, by reason. `sealing` is that of their board.
pub(super) fn left_out(opened: &Opened, sealing: Sealing) -> Vec<LeftOut> {
    let mut reasons: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (&index, error) in &opened.left_out {
        let reason = hint(sealing, error);
        reasons.entry(reason).or_default().push(index);
    }
    reasons
        .into_iter()
        .map(|(reason, indices)| LeftOut { indices, reason })
        .collect()
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
