//! Arguments of the commands that feel like mail.

use super::headings::{AGAIN, CANARIES, OUTPUT};
use super::{PassphraseArg, Seen, Span, TokenArg, examples};
use clap::{Args, Subcommand};
use omr_console::args::bound;
use omr_protocol::Sealing;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct HomeArg {
    /// The identity's folder; $OMR_HOME, $XDG_DATA_HOME/omr or ~/.local/share/omr unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
}

/// A server on the command line.
#[derive(Args)]
pub(crate) struct PlaceArgs {
    /// The server: https://HOST:PORT, or http:// on this machine
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Certificate of the CA that signed the server's, as PEM; the system's CAs unless given
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) ca: Option<PathBuf>,
}

/// A server on the command line, and what it wants to see.
#[derive(Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) token: TokenArg,
}

#[derive(Args)]
pub(crate) struct AddressArgs {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    /// File for the text; standard output unless given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object with the text and what it says
    #[arg(long, conflicts_with = "out")]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum Contact {
    /// Keep the address in a file under a name
    #[command(after_help = examples::CONTACT)]
    Add {
        #[command(flatten)]
        home: HomeArg,
        /// Letters, digits, '-', '_' and '.'
        #[arg(value_name = "NAME")]
        name: String,
        /// A file with an address, a short address or a clue.key; - is standard input. A short address itself too, or
        /// another contact's name. For a short address a server is asked
        #[arg(value_name = "ADDRESS")]
        file: PathBuf,
        #[command(flatten)]
        place: PlaceArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// All names with their fingerprints and servers
    #[command(after_help = examples::CONTACT)]
    List {
        #[command(flatten)]
        home: HomeArg,
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Forget a name
    #[command(after_help = examples::CONTACT)]
    Remove {
        #[command(flatten)]
        home: HomeArg,
        /// The name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// A file with an address, a short address or a clue.key, - for standard input, a short address itself (omr1..,
    /// omr1..@URL), or a contact's name. For a short one a server is asked, once: it learns that you want to write to her
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: PathBuf,
    /// How letters are sealed, where the address does not say; letters that are not sealed need `--sealing none`
    #[arg(long, value_name = "S")]
    pub(crate) sealing: Option<Sealing>,
    /// Send no file names
    #[arg(long)]
    pub(crate) no_names: bool,
    /// Post letters of more messages than the address takes: they may never arrive
    #[arg(long)]
    pub(crate) large: bool,
    /// Print one JSON object for each file
    #[arg(long)]
    pub(crate) json: bool,
    /// Files to send; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Inbox {
    #[command(subcommand)]
    pub(crate) act: Option<InboxAct>,
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// List messages too that were read
    #[arg(long)]
    pub(crate) all: bool,
    /// Ask nobody: list what is here
    #[arg(long)]
    pub(crate) offline: bool,
    /// Post a message to yourself first: whether it returns shows with --audit
    #[arg(long, help_heading = CANARIES, conflicts_with = "offline")]
    pub(crate) canary: bool,
    /// Tell what became of all canaries, without fetching; exit with 1 if one is missing
    #[arg(long, help_heading = CANARIES, conflicts_with_all = ["canary", "all", "raise_bound", "retry_damaged"])]
    pub(crate) audit: bool,
    /// Ask again for ranges that overflowed, with this bound: read below what that tells
    #[arg(long, help_heading = AGAIN, value_name = "K", value_parser = bound(), conflicts_with = "offline")]
    pub(crate) raise_bound: Option<u32>,
    /// Ask again for ranges whose digests did not decode
    #[arg(long, help_heading = AGAIN, conflicts_with = "offline")]
    pub(crate) retry_damaged: bool,
    /// Print one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum InboxAct {
    /// Print messages and note that they were read
    #[command(after_help = examples::INBOX)]
    Read(InboxRead),
    /// List ranges whose messages did not fit their digest, or whose digest was damaged or refused
    #[command(after_help = examples::INBOX)]
    Kept {
        #[command(flatten)]
        home: HomeArg,
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// List what this inbox has seen of the board, and changes of its history; compare it with what another inbox saw
    #[command(after_help = examples::HISTORY)]
    History {
        #[command(flatten)]
        home: HomeArg,
        #[command(flatten)]
        token: TokenArg,
        /// A line of another inbox's list: exit with 1 unless it is of the same history of the board
        #[arg(long, value_name = "LENGTH:HASH")]
        compare: Option<Seen>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Ask for a range again, whatever came of it: read below what that tells
    #[command(after_help = examples::INBOX)]
    Again(InboxAgain),
    /// Forget kept ranges, and requests that were not answered, within a range
    #[command(after_help = examples::INBOX)]
    Drop {
        #[command(flatten)]
        home: HomeArg,
        /// Messages, such as 329..431
        #[arg(value_name = "RANGE")]
        range: Span,
    },
    /// Put the inbox aside, damaged as it may be, and fetch everything anew from the server
    #[command(after_help = examples::INBOX)]
    Rebuild {
        #[command(flatten)]
        home: HomeArg,
        #[command(flatten)]
        passphrase: PassphraseArg,
        #[command(flatten)]
        token: TokenArg,
        /// First message to ask for; that of the board when the keys were made unless given
        #[arg(long, value_name = "N")]
        from: Option<u64>,
    },
}

#[derive(Args)]
pub(crate) struct InboxAgain {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Messages, such as 329..431
    #[arg(value_name = "RANGE")]
    pub(crate) range: Span,
    /// Bound of these requests; the identity's unless given
    #[arg(long, value_name = "K", value_parser = bound())]
    pub(crate) bound: Option<u32>,
    /// Messages of one request: small ranges hold fewer messages for you than the bound
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) by: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct InboxRead {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    /// Save them in this folder, created where absent, as NUMBER-NAME or NUMBER.bin, and print the paths; - is
    /// standard output, to which contents go as they are
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object for each, with the content where it is text
    #[arg(long)]
    pub(crate) json: bool,
    /// Numbers of the list
    #[arg(value_name = "N", required = true)]
    pub(crate) numbers: Vec<u64>,
}

#[derive(Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) home: HomeArg,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Between fetches, such as 500ms, 60s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) every: Duration,
    /// Stop after so many ticks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Let the server look at messages as they come, and cut a digest off at every tick
    #[arg(long)]
    pub(crate) session: bool,
    /// Post so many canaries a day on average, at random times
    #[arg(long, value_name = "P", value_parser = rate)]
    pub(crate) canaries: Option<f64>,
    /// Print one JSON object for each message
    #[arg(long)]
    pub(crate) json: bool,
}

/// A time such as 500ms, 60s, 5m, 1h or 90d; at least 100 ms.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let wrong = || format!("expected a time such as 500ms, 60s, 5m, 1h or 90d, found {text:?}");
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let ms = number.checked_mul(unit).filter(|ms| *ms >= 100);
    ms.map(Duration::from_millis)
        .ok_or_else(|| format!("expected at least 100ms, found {text:?}"))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: Result<f64, _> = text.parse();
    let sensible = rate
        .ok()
        .filter(|rate| *rate > 0.0 && *rate <= 10_000_000.0);
    sensible.ok_or_else(|| format!("expected a number of canaries a day above 0, found {text:?}"))
}
