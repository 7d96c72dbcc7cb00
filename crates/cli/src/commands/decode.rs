mod open;

use crate::args::Decode;
use crate::error::{CliError, InputError};
use crate::io::{self, Access, Framed, STANDARD};
use crate::progress::Ui;
use omr_client::{Retrieved, SecretKey, decode};
use omr_protocol::frame::Kind;
use omr_protocol::{ParamSet, Response, Sealing};
use open::{LeftOut, Message, Opened, open};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Name of the file that a digest of indices gives.
const INDICES: &str = "indices.txt";

#[derive(Serialize)]
struct Report {
    params: &'static str,
    scheme: &'static str,
    start: u64,
    end: u64,
    sealing: &'static str,
    pertinent: usize,
    indices: Vec<u64>,
    files: Vec<Written>,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct Written {
    index: Option<u64>,
    bytes: usize,
    path: PathBuf,
}

pub(super) fn run(args: &Decode, ui: &Ui) -> Result<(), CliError> {
    let digest = Framed::open(&args.digest, Kind::Digest)?;
    let secret = Framed::open(&args.secret_key, Kind::SecretKey)?;
    if digest.header.params_id != secret.header.params_id {
        return Err(CliError::OtherParams {
            first: args.secret_key.clone(),
            expected: secret.header.params_id,
            second: args.digest.clone(),
            found: digest.header.params_id,
        });
    }
    let set = secret.set()?;
    let secret = io::read_secret_key(secret, set.clue())?;
    let digest = Response::from_bytes(&set, &digest.bytes()?).map_err(InputError::from);
    let digest = digest.map_err(CliError::input(&args.digest))?;
    check_sealing(args, digest.sealing())?;
    let retrieved = decode(&set, &secret, &digest)?;
    let opened = opened(args, &set, &secret, &digest, &retrieved);
    // Of the messages that are left: those that were dropped are not told of, counted or named.
    let indices = opened.pertinent.clone();
    if is_unvouched(args, &digest) && !indices.is_empty() {
        ui.warn(
            "the digest's board does not seal payloads, so the detector could have made them up: \
             pass --sealing to say what you expect",
        );
    }
    let request = digest.request();
    for left_out in &opened.left_out {
        ui.warn(&left_out.to_string());
    }
    let report = Report {
        params: set.name(),
        scheme: digest.scheme().name(),
        start: request.range.start,
        end: request.range.end,
        sealing: digest.sealing().name(),
        pertinent: indices.len(),
        indices,
        files: deliver(args, opened.messages)?,
        left_out: opened.left_out,
    };
    tell(args, ui, &set, &report)?;
    verdict(args, &report)
}

fn opened(
    args: &Decode,
    set: &ParamSet,
    secret: &SecretKey,
    digest: &Response,
    retrieved: &[Retrieved],
) -> Opened {
    let indices = || retrieved.iter().map(|message| message.index).collect();
    match (digest.request().payload_bytes, args.raw) {
        (None, _) => list(indices()),
        (Some(_), true) => raw(retrieved, indices()),
        (Some(_), false) => open(set, secret, digest, retrieved),
    }
}

fn check_sealing(args: &Decode, found: Sealing) -> Result<(), CliError> {
    match args.sealing {
        Some(expected) if expected != found => {
            let other = InputError::OtherSealing { expected, found };
            Err(CliError::input(&args.digest)(other))
        }
        _ => Ok(()),
    }
}

/// Whether files come from payloads that nothing but the detector's word vouches for, and the
/// caller did not say that this is expected.
fn is_unvouched(args: &Decode, digest: &Response) -> bool {
    let payloads = digest.request().payload_bytes.is_some();
    let unsealed = digest.sealing() == Sealing::None;
    payloads && unsealed && args.sealing.is_none() && !args.raw
}

/// The one file of a digest of indices: one index a line.
fn list(indices: Vec<u64>) -> Opened {
    let text: String = indices.iter().map(|index| format!("{index}\n")).collect();
    let message = Message {
        index: None,
        name: None,
        bytes: text.into_bytes(),
    };
    Opened {
        messages: vec![message],
        left_out: Vec::new(),
        pertinent: indices,
    }
}

fn raw(retrieved: &[Retrieved], pertinent: Vec<u64>) -> Opened {
    let message = |found: &Retrieved| {
        found.payload.clone().map(|bytes| Message {
            index: Some(found.index),
            name: None,
            bytes,
        })
    };
    Opened {
        messages: retrieved.iter().filter_map(message).collect(),
        left_out: Vec::new(),
        pertinent,
    }
}

fn deliver(args: &Decode, messages: Vec<Message>) -> Result<Vec<Written>, CliError> {
    if io::is_standard(&args.out) {
        for message in &messages {
            io::write_result(Path::new(STANDARD), &message.bytes)?;
        }
        return Ok(Vec::new());
    }
    super::keygen::create_folder(&args.out)?;
    let place = |message: &Message| match message.index {
        Some(index) => args.out.join(io::numbered(index, message.name.as_deref())),
        None => args.out.join(INDICES),
    };
    // Before anything is written; committing each file decides.
    if let Some(path) = messages
        .iter()
        .map(place)
        .find(|path| path.exists() && !args.force)
    {
        return Err(CliError::Exists { path });
    }
    let mut written = Vec::new();
    for message in messages {
        let path = place(&message);
        io::stage_bytes(&path, Access::Private, &message.bytes)?.commit(args.force)?;
        written.push(Written {
            index: message.index,
            bytes: message.bytes.len(),
            path,
        });
    }
    Ok(written)
}

fn tell(args: &Decode, ui: &Ui, set: &ParamSet, report: &Report) -> Result<(), CliError> {
    match (args.json, io::is_standard(&args.out)) {
        (true, false) => io::print_json(report),
        (true, true) => {
            ui.line(io::json_line(report)?.trim_end());
            Ok(())
        }
        (false, _) => {
            ui.note(&format!(
                "{} pertinent messages among {}..{}, parameters {}",
                report.pertinent,
                report.start,
                report.end,
                set.name()
            ));
            let line = |file: &Written| format!("{}\n", file.path.display());
            io::print(&report.files.iter().map(line).collect::<String>())
        }
    }
}

/// Strangers can write to an address what does not open: that alone is no failure.
fn verdict(args: &Decode, report: &Report) -> Result<(), CliError> {
    let left_out: usize = report
        .left_out
        .iter()
        .map(|group| group.indices.len())
        .sum();
    let pertinent = report.pertinent;
    let nothing = left_out == pertinent;
    match left_out > 0 && (nothing || args.strict) {
        true => Err(CliError::LeftOut {
            left_out,
            pertinent,
        }),
        false => Ok(()),
    }
}
