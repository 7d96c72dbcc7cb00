//! `omr feed`: appends blocks of a ledger to its board on a server.

use super::access::TokenArg;
use super::network::connect;
use crate::error::{CliError, InputError};
use crate::io;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use omr_console::Ui;
use omr_protocol::from_hex;
use omr_remote::Endpoint;
use omr_remote::v1::{FeedBlocksResponse, LedgerBlock, LedgerMessage, LeftOut, Message};
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};

/// The greatest number of blocks of one call.
const BLOCKS: usize = 500;
/// The number of bytes of lines after which a call is made.
const BYTES: usize = 16 << 20;

#[derive(clap::Args)]
pub(crate) struct Feed {
    /// The server with the board
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Certificate of the server's authority, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Print one JSON object for each call
    #[arg(long)]
    pub(crate) json: bool,
    /// File with one block in each line, lowest first; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) blocks: PathBuf,
}

pub(crate) const FEED: &str = "\
Examples:
  omr token add --file omr-data/tokens.toml --name node --may feed
  omr feed --server http://127.0.0.1:7600 --token-file node.token blocks.jsonl
  my-node --follow | omr feed --server http://127.0.0.1:7600 --token TOKEN -

A block is one line of JSON: {\"height\": 7, \"hash\": HEX, \"parent\": HEX, \"messages\": [{\"id\": HEX, \
\"clue\": BASE64, \"payload\": BASE64}]}. `omr send --unposted` prints clue and payload.

Blocks that are on the board already change nothing, so that a feed can be repeated. A block whose \
height another one has begins another branch: that one and all after it are withdrawn. The server \
needs the name of the ledger in board.ledger.";

/// A block in a line of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    height: u64,
    hash: String,
    parent: String,
    #[serde(default)]
    messages: Vec<Entry>,
}

/// A message of a block in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    clue: String,
    payload: String,
}

/// The greatest number of bytes of a line: a block of as many messages as a call takes.
const LINE: u64 = 128 << 20;

pub(super) fn run(args: &Feed, ui: &Ui) -> Result<(), CliError> {
    let certificate = args.ca.as_deref().map(super::data::certificate);
    let endpoint = Endpoint {
        ca_certificate: certificate.transpose()?,
        token: args.token.text(),
        ..Endpoint::new(&args.server)
    };
    let runtime = super::serve::runtime()?;
    let _inside = runtime.enter();
    let client = connect(endpoint, ui)?;
    // A node may write a block every few minutes: what has come is sent at once.
    let (to, blocks) = sync_channel(BLOCKS);
    let path = args.blocks.clone();
    std::thread::spawn(move || read(&path, &to));
    let mut is_first = true;
    while let Ok(first) = blocks.recv() {
        let mut bytes = 0;
        let mut together = Vec::new();
        let mut failed = None;
        for next in std::iter::once(first).chain(blocks.try_iter()) {
            match next {
                Ok((block, length)) => {
                    together.push(block);
                    bytes += length;
                }
                Err(error) => failed = Some(error),
            }
            if failed.is_some() || together.len() == BLOCKS || bytes >= BYTES {
                break;
            }
        }
        if !together.is_empty() {
            is_first = false;
            let fed = runtime.block_on(client.feed(together))?;
            report(&fed, args, ui)?;
        }
        if let Some(error) = failed {
            return Err(error);
        }
    }
    if is_first {
        ui.warn("there are no blocks in the input: nothing changed");
    }
    Ok(())
}

/// A block with the length of its line.
type Sized = (LedgerBlock, usize);

/// Reads blocks until the input ends or fails, or until nobody takes them.
fn read(path: &Path, to: &SyncSender<Result<Sized, CliError>>) {
    if let Err(error) = read_all(path, to) {
        let _ = to.send(Err(error));
    }
}

fn read_all(path: &Path, to: &SyncSender<Result<Sized, CliError>>) -> Result<(), CliError> {
    let bad = |source: std::io::Error| CliError::Input(path.to_owned(), source.into());
    let mut input: Box<dyn BufRead> = if io::is_standard(path) {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(bad)?))
    };
    for number in 1.. {
        let mut line = String::new();
        let length = input
            .by_ref()
            .take(LINE)
            .read_line(&mut line)
            .map_err(bad)?;
        if length == 0 {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let block = parse(&line).map_err(|reason| {
            CliError::Input(path.to_owned(), InputError::Block { number, reason })
        })?;
        if to.send(Ok((block, length))).is_err() {
            break;
        }
    }
    Ok(())
}

/// Parses a line. Returns what is wrong with it, if it is not a block.
fn parse(line: &str) -> Result<LedgerBlock, String> {
    if line.len() as u64 == LINE {
        return Err(format!("expected at most {LINE} bytes, found more"));
    }
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let messages = line.messages.iter().enumerate().map(|(position, entry)| {
        let field = |name: &str| format!("messages[{position}].{name}");
        let content = Message {
            clue: bytes(&field("clue"), &entry.clue)?.into(),
            payload: bytes(&field("payload"), &entry.payload)?.into(),
        };
        Ok(LedgerMessage {
            message: Some(content),
            id: hash(&field("id"), &entry.id)?.into(),
        })
    });
    Ok(LedgerBlock {
        height: line.height,
        hash: hash("hash", &line.hash)?.into(),
        parent: hash("parent", &line.parent)?.into(),
        messages: messages.collect::<Result<_, String>>()?,
    })
}

fn hash(field: &str, text: &str) -> Result<Vec<u8>, String> {
    let bytes: Option<[u8; 32]> = from_hex(text);
    let bytes =
        bytes.ok_or_else(|| format!("{field}: expected 64 hexadecimal digits, found {text:?}"))?;
    Ok(bytes.to_vec())
}

fn bytes(field: &str, text: &str) -> Result<Vec<u8>, String> {
    let bytes = STANDARD.decode(text);
    bytes.map_err(|error| format!("{field}: expected Base64: {error}"))
}

fn report(fed: &FeedBlocksResponse, args: &Feed, ui: &Ui) -> Result<(), CliError> {
    let withdrawn = fed.withdrawn_start..fed.withdrawn_end;
    if args.json {
        let left_out = |one: &LeftOut| json!({ "height": one.height, "position": one.position, "reason": one.reason });
        let left_out: Vec<_> = fed.left_out.iter().map(left_out).collect();
        return io::print_json(&json!({
            "appended": fed.appended,
            "tip": fed.tip,
            "withdrawn": [withdrawn.start, withdrawn.end],
            "left_out": left_out,
        }))
        .map_err(CliError::from);
    }
    for one in &fed.left_out {
        let LeftOut {
            height,
            position,
            reason,
        } = one;
        ui.warn(&format!(
            "block {height}, message {position} is left out: {reason}"
        ));
    }
    if !withdrawn.is_empty() {
        ui.warn(&format!(
            "the ledger took another branch: messages {} to {} were withdrawn",
            withdrawn.start,
            withdrawn.end - 1
        ));
    }
    let FeedBlocksResponse { appended, tip, .. } = fed;
    io::print(&format!(
        "blocks appended: {appended}; height of the last one: {tip}\n"
    ))
    .map_err(CliError::from)
}
