//! Blocks of a ledger on their way to the board.

use crate::refuse;
use crate::services::check_clue;
use crate::shared::Shared;
use omr_api::v1;
use omr_store::{Block, BlockRefusal, Message, MessageHashes};
use rayon::prelude::*;
use tonic::{Status, Streaming};

/// The greatest number of bytes of the messages of one stream.
const STREAM_BYTES: usize = 64 << 20;

/// A block whose messages were checked.
struct Checked {
    block: Block,
    /// For each message its position among all messages of the block.
    positions: Vec<usize>,
}

/// Receives the blocks of a stream.
///
/// Errors: INVALID_ARGUMENT with the wrong field; RESOURCE_EXHAUSTED for too many bytes; those of the stream.
pub(crate) async fn received(
    shared: &Shared,
    mut stream: Streaming<v1::FeedBlocksRequest>,
) -> Result<Vec<v1::LedgerBlock>, Status> {
    let (mut blocks, mut bytes): (Vec<v1::LedgerBlock>, usize) = (Vec::new(), 0);
    while let Some(request) = shared.next(&mut stream).await? {
        let Some(block) = request.block else {
            return Err(refuse::invalid("block", "a block", "none"));
        };
        bytes += prost::Message::encoded_len(&block);
        if bytes > STREAM_BYTES {
            let expected = format_args!("at most {STREAM_BYTES} bytes in a stream");
            return Err(refuse::invalid("blocks", expected, bytes));
        }
        match blocks.last_mut() {
            Some(last) if (last.height, &last.hash) == (block.height, &block.hash) => {
                last.messages.extend(block.messages);
            }
            _ => blocks.push(block),
        }
    }
    Ok(blocks)
}

/// Appends blocks to the board. Messages with a wrong size or clue are left out, as every operator leaves them out: a
/// ledger does not refuse them.
///
/// Errors: INVALID_ARGUMENT with the wrong field; FAILED_PRECONDITION for blocks that do not fit those on the board; those
/// of the store.
pub(crate) fn feed(
    shared: &Shared,
    blocks: Vec<v1::LedgerBlock>,
) -> Result<v1::FeedBlocksResponse, Status> {
    let mut left_out = Vec::new();
    let mut checked = Vec::with_capacity(blocks.len());
    for block in blocks {
        checked.push(Checked::new(shared, block, &mut left_out)?);
    }
    let history = shared.store.history().id;
    let own: Vec<Block> = checked.iter().map(|one| one.block.clone()).collect();
    let fed = shared
        .store
        .feed(&own)
        .map_err(|error| refuse::store(&error))?
        .map_err(refused)?;
    for used in fed.left_out {
        let of = checked.iter().find(|one| one.block.height == used.height);
        let position = of.map_or(0, |one| one.positions[used.position]);
        left_out.push(v1::LeftOut {
            height: used.height,
            position: position as u32,
            reason: "its one-time key was used before".to_owned(),
        });
    }
    left_out.sort_by_key(|one| (one.height, one.position));
    if shared.store.history().id != history {
        shared.withdrawn(fed.withdrawn.start);
    }
    Ok(v1::FeedBlocksResponse {
        appended: fed.appended,
        withdrawn_start: fed.withdrawn.start,
        withdrawn_end: fed.withdrawn.end,
        left_out,
        tip: fed.tip,
    })
}

fn refused(refusal: BlockRefusal) -> Status {
    Status::failed_precondition(refusal.to_string())
}

impl Checked {
    /// Checks the sizes and the clues of a block's messages, and adds those that fail to `left_out`.
    fn new(
        shared: &Shared,
        block: v1::LedgerBlock,
        left_out: &mut Vec<v1::LeftOut>,
    ) -> Result<Self, Status> {
        let v1::LedgerBlock {
            height,
            hash,
            parent,
            messages,
        } = block;
        let field = |name: &str| format!("block {height}, {name}");
        let (hash, parent) = (
            refuse::hash(&field("hash"), &hash)?,
            refuse::hash(&field("parent"), &parent)?,
        );
        let mut ids = Vec::with_capacity(messages.len());
        let mut contents = Vec::with_capacity(messages.len());
        for message in messages {
            ids.push(refuse::hash(&field("id of a message"), &message.id)?);
            let content = message.message.unwrap_or_default();
            contents.push(Message {
                clue: content.clue.into(),
                payload: content.payload.into(),
            });
        }
        let check = |message: &Message| check_message(shared, message);
        let found: Vec<Result<Option<[u8; 32]>, String>> = contents.par_iter().map(check).collect();
        let mut own = Block {
            height,
            hash,
            parent,
            messages: Vec::new(),
            ids: Vec::new(),
            hashes: None,
        };
        let (mut positions, mut hashes) = (Vec::new(), Vec::new());
        for (position, ((message, id), found)) in
            contents.into_iter().zip(ids).zip(found).enumerate()
        {
            match found {
                Ok(hash) => {
                    own.messages.push(message);
                    own.ids.push(id);
                    hashes.extend(hash);
                    positions.push(position);
                }
                Err(reason) => left_out.push(v1::LeftOut {
                    height,
                    position: position as u32,
                    reason,
                }),
            }
        }
        if !hashes.is_empty() {
            own.hashes = Some(MessageHashes::new(shared.set.clue().tag(), hashes));
        }
        Ok(Self {
            block: own,
            positions,
        })
    }
}

/// Checks the sizes and the clue of a message. Returns the hash of a bound clue, or what is wrong.
fn check_message(shared: &Shared, message: &Message) -> Result<Option<[u8; 32]>, String> {
    let board = shared.store.board();
    for (what, expected, found) in [
        ("clue", board.clue_bytes, message.clue.len()),
        ("payload", board.payload_bytes, message.payload.len()),
    ] {
        if expected as usize != found {
            return Err(format!("{what}: expected {expected} bytes, found {found}"));
        }
    }
    check_clue(&shared.set, &shared.store, message).map_err(|error| error.to_string())
}
