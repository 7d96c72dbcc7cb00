//! `omr inbox history`: lists the states of the board that an inbox has seen, and compares them with those of another
//! inbox.

use super::{block_on, own_client};
use crate::commands::full::FullError;
use crate::commands::full::access::TokenArg;
use crate::commands::full::mail::OwnArgs;
use crate::commands::full::mail::seen::Seen;
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_mail::{Fork, Inbox, MailError, Mark};
use omr_protocol::hex;
use omr_remote::Client;
use serde::Serialize;

pub(crate) const HISTORY: &str = "\
Examples:
  omr inbox history                     # lengths of the board and hashes

Each line is a length that the board had when this inbox looked, with the running hash of all messages before it. Every \
fetch asks the server for these hashes. Where one differs, the board went back to an older state, or the server shows \
different boards to different people: the fetch goes back to the last length that agrees, asks for everything behind it \
again, and warns. Letters that came before stay.

Two people who read one board find with --compare LENGTH:HASH whether they are shown the same one: each compares the \
last line of the other. The server is asked only where this inbox has not seen that length; it learns that somebody compares.
";

#[derive(Serialize)]
struct Report {
    marks: Vec<MarkLine>,
    forks: Vec<ForkLine>,
    /// Whether the given mark is of the same history.
    #[serde(skip_serializing_if = "Option::is_none")]
    same: Option<bool>,
}

#[derive(Serialize)]
struct MarkLine {
    length: u64,
    log_hash: String,
}

#[derive(Serialize)]
struct ForkLine {
    /// The messages before this one are the ones seen earlier.
    common: u64,
    /// The greatest length at which the board had been seen.
    seen: u64,
    /// The board's length when the fork was found.
    messages: u64,
}

/// Warns of changes of the board's history that were not reported before.
pub(super) fn report(ui: &Ui, inbox: &Inbox) -> Result<(), CliError> {
    for fork in inbox.new_forks()? {
        ui.warn(&fork.to_string());
    }
    Ok(())
}

pub(super) fn run(
    own: &OwnArgs,
    token: &TokenArg,
    compare: Option<&Seen>,
    json: bool,
    ui: &Ui,
) -> Result<(), CliError> {
    let identity = own.identity()?;
    let inbox = Inbox::beside(&identity.home)?;
    let marks = inbox.marks()?;
    let here = match compare {
        None => None,
        Some(seen) => match marks.iter().find(|mark| mark.length == seen.length) {
            Some(mark) => Some(mark.hash),
            None => Some(block_on(async {
                let client = own_client(&identity.home, token, ui)?;
                shown(&client, marks.last().copied(), seen.length).await
            })?),
        },
    };
    let same = compare.zip(here).map(|(seen, here)| seen.hash == here);
    let line = |mark: &Mark| MarkLine {
        length: mark.length,
        log_hash: hex(&mark.hash),
    };
    let forks = inbox.forks()?;
    let fork = |fork: &Fork| ForkLine {
        common: fork.common,
        seen: fork.seen,
        messages: fork.messages,
    };
    let report = Report {
        marks: marks.iter().map(line).collect(),
        forks: forks.iter().map(fork).collect(),
        same,
    };
    match (json, compare) {
        (true, _) => io::print_json(&report)?,
        (false, Some(_)) => {}
        (false, None) => print(&report, &forks, ui)?,
    }
    let Some((seen, here)) = compare.zip(here) else {
        return Ok(());
    };
    let length = seen.length;
    if seen.hash != here {
        return Err(FullError::OtherHistory {
            length,
            expected: hex(&seen.hash),
            found: hex(&here),
        }
        .into());
    }
    ui.announce(&format!(
        "the same: both inboxes saw the same first {length} messages of the board"
    ));
    Ok(())
}

fn print(report: &Report, forks: &[Fork], ui: &Ui) -> Result<(), CliError> {
    if report.marks.is_empty() {
        ui.announce("nothing was fetched yet: this inbox has not seen the board");
    }
    let lines = report
        .marks
        .iter()
        .map(|mark| format!("{}:{}\n", mark.length, mark.log_hash));
    io::print(&lines.collect::<String>())?;
    for fork in forks {
        ui.note(&fork.to_string());
    }
    Ok(())
}

/// Returns the running hash that the server shows at a length, after comparing the one at the last mark of this inbox.
///
/// Errors: `OtherHistory` where the mark's hash differs; `NoHash` where the server shows no hash at the length; `Mail`.
async fn shown(client: &Client, last: Option<Mark>, length: u64) -> Result<[u8; 32], CliError> {
    let mut lengths = vec![length];
    lengths.extend(last.map(|mark| mark.length));
    let asked = client.board_and_hashes(&lengths).await;
    let (board, hashes) = asked.map_err(MailError::from)?;
    if let (Some(mark), [_, now]) = (last, &hashes[..])
        && *now != Some(mark.hash)
    {
        return Err(FullError::OtherHistory {
            length: mark.length,
            expected: hex(&mark.hash),
            found: now.map_or("none".to_owned(), |now| hex(&now)),
        }
        .into());
    }
    let unknown = FullError::NoHash {
        length,
        first: board.first_index,
        messages: board.messages,
    };
    Ok(hashes[0].ok_or(unknown)?)
}
