//! Canaries: messages to oneself, whose absence shows a detector that leaves messages out.

use crate::inbox::{CANARIES, decode, encode};
use crate::send::{board_place, message, write};
use crate::{Identity, Inbox, MailError, unix_now};
use omr_client::os_rng;
use omr_protocol::Stride;
use omr_remote::{Client, v1};
use rand_core::Rng;
use redb::{ReadableTable, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of a canary: random, so that no letter of others is taken for one.
const CONTENT: usize = 32;

/// The state of a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanaryState {
    /// On its way to the board; repeated when the next one is posted.
    Posting,
    /// On the board; no digest that covers it was decoded yet.
    Posted,
    /// A digest held it.
    Returned,
    /// A digest that covers it did not hold it.
    Missing,
}

/// A canary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// The canary's place on the board, once it is known.
    pub index: Option<u64>,
    /// What became of it.
    pub state: CanaryState,
    /// The range whose digest lacks it.
    pub missing_from: Option<Range<u64>>,
    post_id: [u8; 16],
    /// Clue and payload, until they are posted.
    post: Option<(Vec<u8>, Vec<u8>)>,
}

/// All canaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Them, oldest first.
    pub canaries: Vec<Canary>,
}

impl Audit {
    /// How many are in a state.
    #[must_use]
    pub fn count(&self, state: CanaryState) -> usize {
        let mut all = self.canaries.iter();
        all.by_ref().filter(|canary| canary.state == state).count()
    }
}

impl Inbox {
    /// What became of every canary.
    ///
    /// Errors: `Database`, `Record`.
    pub fn audit(&self) -> Result<Audit, MailError> {
        let mut canaries = self.read(|tx| {
            let mut canaries = Vec::new();
            for entry in tx.open_table(CANARIES)?.iter()? {
                canaries.push(decode::<Canary>(entry?.1.value())?);
            }
            Ok(canaries)
        })?;
        canaries.sort_by_key(|canary| (canary.made, canary.index));
        Ok(Audit { canaries })
    }

    fn canaries(&self, state: CanaryState) -> Result<Vec<(Vec<u8>, Canary)>, MailError> {
        self.read(|tx| {
            let mut found = Vec::new();
            for entry in tx.open_table(CANARIES)?.iter()? {
                let (content, canary) = entry?;
                let canary: Canary = decode(canary.value())?;
                if canary.state == state {
                    found.push((content.value().to_vec(), canary));
                }
            }
            Ok(found)
        })
    }
}

/// Posts a message to oneself. It is noted first; one whose posting was interrupted is posted now, under its
/// first id, so that none is posted twice. Nobody can tell it from others on the board, but whoever sees who
/// posts can: `client` should not tell, see [`crate::Server::stranger`].
///
/// Errors: `Remote`, `OtherBoard`, `OtherParams`, `OtherSealing`, `Unsealed`, `Database`.
pub async fn post_canary(
    client: &Client,
    identity: &Identity,
    inbox: &Inbox,
) -> Result<(), MailError> {
    let board = client.board().await?;
    let place = board_place(&board)?;
    identity.check(&place)?;
    let mut content = [0; CONTENT];
    os_rng().fill_bytes(&mut content);
    let post = write(&identity.address()?, (&board, &place), &content)?.pop();
    let canary = Canary {
        made: unix_now(),
        index: None,
        state: CanaryState::Posting,
        missing_from: None,
        post_id: omr_remote::random_id(),
        post: post.map(|post| (post.clue, post.payload)),
    };
    inbox.write(|tx| put(&mut tx.open_table(CANARIES)?, &content, &canary))?;
    for (content, canary) in inbox.canaries(CanaryState::Posting)? {
        let posts: Vec<v1::Message> = canary.post.clone().into_iter().map(written).collect();
        let done = client.post_under(canary.post_id, posts).await?;
        if let Some(range) = done.ranges.first() {
            inbox.write(|tx| posted(&mut tx.open_table(CANARIES)?, &content, range.start))?;
        }
    }
    Ok(())
}

fn written((clue, payload): (Vec<u8>, Vec<u8>)) -> v1::Message {
    message(omr_client::letter::Written { clue, payload })
}

type Canaries<'a> = Table<'a, &'static [u8], &'static [u8]>;

fn put(table: &mut Canaries, content: &[u8], canary: &Canary) -> Result<(), MailError> {
    table.insert(content, &encode(canary)?[..])?;
    Ok(())
}

fn stored(table: &Canaries, content: &[u8]) -> Result<Option<Canary>, MailError> {
    let bytes = table.get(content)?;
    bytes.map(|bytes| decode(bytes.value())).transpose()
}

/// Notes where a canary is; a watch may have found it before its answer came.
fn posted(table: &mut Canaries, content: &[u8], index: u64) -> Result<(), MailError> {
    let Some(mut canary) = stored(table, content)? else {
        return Ok(());
    };
    canary.post = None;
    canary.index = Some(index);
    if canary.state == CanaryState::Posting {
        canary.state = CanaryState::Posted;
    }
    put(table, content, &canary)
}

/// Whether a message is a canary at its place; it has then returned.
pub(crate) fn returned(
    table: &mut Canaries,
    content: &[u8],
    index: u64,
) -> Result<bool, MailError> {
    if content.len() != CONTENT {
        return Ok(false);
    }
    let Some(mut canary) = stored(table, content)? else {
        return Ok(false);
    };
    // One that a digest left out stays missing: another that holds it does not make up for that.
    let is_missing = canary.state == CanaryState::Missing;
    if *canary.index.get_or_insert(index) == index && !is_missing {
        canary.state = CanaryState::Returned;
        canary.missing_from = None;
        canary.post = None;
        put(table, content, &canary)?;
    }
    // At another place it is a copy of somebody's: no letter either.
    Ok(true)
}

/// Notes the canaries that a decoded digest should have held and did not.
pub(crate) fn assess(
    table: &mut Canaries,
    covered: &Stride,
    found: &BTreeSet<u64>,
) -> Result<(), MailError> {
    let mut missing = Vec::new();
    for entry in table.iter()? {
        let (content, canary) = entry?;
        let canary: Canary = decode(canary.value())?;
        let is_covered = canary.index.is_some_and(|index| covered.contains(index));
        let returned = canary.index.is_some_and(|index| found.contains(&index));
        if is_covered && !returned && canary.state == CanaryState::Posted {
            missing.push((content.value().to_vec(), canary));
        }
    }
    for (content, mut canary) in missing {
        canary.state = CanaryState::Missing;
        canary.missing_from = Some(covered.start..covered.end);
        put(table, &content, &canary)?;
    }
    Ok(())
}
