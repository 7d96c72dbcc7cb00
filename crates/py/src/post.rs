//! Turns letters into messages of a board.

use crate::fault::{Fault, check_params, header_of};
use crate::running::Watch;
use omr_board::{MAX_PARTS, TRANSACTION, post_hashes};
use omr_client::letter::{Place, Writer};
use omr_client::os_rng;
use omr_detector::Progress;
use omr_protocol::frame::Kind;
use omr_protocol::{ClueKey, ClueKind, Mismatch, ParamSet};
use omr_store::{Board, Message};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// A letter to post.
pub(crate) struct Post<'a> {
    /// The bytes of the address's file.
    pub(crate) to: &'a [u8],
    /// The name of the letter for the recipient.
    pub(crate) name: Option<&'a str>,
    /// The content.
    pub(crate) data: &'a [u8],
}

/// A board to post to.
pub(crate) struct Poster<'a> {
    pub(crate) board: &'a Board,
    pub(crate) set: &'a ParamSet,
    pub(crate) kind: ClueKind,
    pub(crate) place: &'a Place,
}

impl Poster<'_> {
    /// Seals letters and appends them. Returns the indices of the messages of each letter. Letters that were appended
    /// before an error stay.
    ///
    /// Errors: `OtherParams`, `ClueKind`, `Letter`, `TooManyParts`, `Store`, `Stopped`.
    pub(crate) fn post(&self, posts: &[Post], watch: &Watch) -> Result<Vec<Range<u64>>, Fault> {
        watch.stage("messages", posts.len() as u64);
        let writers = self.writers(posts)?;
        let (mut queue, mut counts) = (Vec::new(), Vec::new());
        let mut placed = Vec::with_capacity(posts.len());
        for post in posts {
            watch.check()?;
            let parts = parts(&writers[post.to], post)?;
            if queue.len() + parts.len() > TRANSACTION {
                self.flush(&mut queue, &mut counts, &mut placed, watch)?;
            }
            counts.push(parts.len() as u64);
            queue.extend(parts.into_iter().map(|part| (&writers[post.to], part)));
        }
        self.flush(&mut queue, &mut counts, &mut placed, watch)?;
        Ok(placed)
    }

    /// Returns a writer for each address.
    fn writers<'p>(&self, posts: &[Post<'p>]) -> Result<BTreeMap<&'p [u8], Writer>, Fault> {
        let mut writers = BTreeMap::new();
        for to in posts.iter().map(|post| post.to) {
            if !writers.contains_key(to) {
                writers.insert(to, writer(self.set, self.kind, self.place, to)?);
            }
        }
        Ok(writers)
    }

    /// Seals the queued parts on all threads and appends them in one transaction.
    fn flush(
        &self,
        queue: &mut Vec<(&Writer, Vec<u8>)>,
        counts: &mut Vec<u64>,
        placed: &mut Vec<Range<u64>>,
        watch: &Watch,
    ) -> Result<(), Fault> {
        let sealed: Result<Vec<Message>, Fault> = std::mem::take(queue)
            .into_par_iter()
            .map_init(os_rng, |rng, (writer, part)| {
                watch.check()?;
                let written = writer.message(rng, &part)?;
                let (clue, payload) = (written.clue, written.payload);
                Ok(Message { clue, payload })
            })
            .collect();
        let mut start = self.append(&sealed?)?.start;
        watch.advance(counts.len() as u64);
        for count in counts.drain(..) {
            placed.push(start..start + count);
            start += count;
        }
        Ok(())
    }

    /// Appends messages after testing their clues.
    ///
    /// Errors: `Local`, `Store`.
    pub(crate) fn append(&self, messages: &[Message]) -> Result<Range<u64>, Fault> {
        let hashes = post_hashes(self.board.config(), self.set.clue(), messages)?;
        Ok(match hashes {
            Some(hashes) => self.board.append_hashed(messages, &hashes)?,
            None => self.board.append(messages)?,
        })
    }
}

/// Returns a writer of letters to an address on a board.
///
/// Errors: `Frame`, `OtherParams`, `Clue`, `ClueKind`, `Letter`.
pub(crate) fn writer(
    set: &ParamSet,
    kind: ClueKind,
    place: &Place,
    to: &[u8],
) -> Result<Writer, Fault> {
    let header = header_of(to, &[Kind::ClueKey])?;
    check_params(set.name(), &header.params_id)?;
    let key = ClueKey::from_bytes(set.clue(), to)?;
    if key.kind == kind {
        Ok(Writer::new(set.clue(), &key, place.clone())?)
    } else {
        Err(Fault::ClueKind(Mismatch::new(kind, key.kind)))
    }
}

/// Returns the payloads of a letter before sealing.
///
/// Errors: `Letter`, `TooManyParts`.
pub(crate) fn parts(writer: &Writer, post: &Post) -> Result<Vec<Vec<u8>>, Fault> {
    let shape = writer.shape(post.name, post.data.len() as u64)?;
    if shape.parts > MAX_PARTS {
        Err(Fault::TooManyParts(Mismatch::new(MAX_PARTS, shape.parts)))
    } else {
        Ok(writer.named_parts(post.name, post.data, &mut os_rng())?)
    }
}
