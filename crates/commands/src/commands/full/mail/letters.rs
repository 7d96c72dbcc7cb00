//! `omr contact` and `omr send`.

use super::recipient::{recipient, resolve};
use super::{block_on, home, own_server, server};
use crate::commands::full::access::Token;
use crate::commands::full::mail::{HomeArg, OwnArgs, PlaceArgs, ServerArgs};
use crate::commands::full::network::connect;
use crate::error::CliError;
use crate::io;
use crate::spans::{in_words, spans};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use omr_console::Ui;
use omr_mail::{
    Address, Draft, Home, Identity, Inbox, Letter, MailError, Reply, Rules, Sent, Server, stated,
};
use omr_protocol::Sealing;
use omr_remote::v1::Message;
use serde::Serialize;
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub(crate) enum Contact {
    /// Add a contact
    #[command(after_help = CONTACT)]
    Add {
        #[command(flatten)]
        home: HomeArg,
        /// Letters, digits, '-', '_' and '.'
        #[arg(value_name = "NAME")]
        name: String,
        /// A file with an address, a short address or a clue.key; - is standard input. Also a short address itself, or
        /// another contact's name. A short address is resolved by a server
        #[arg(value_name = "ADDRESS")]
        file: PathBuf,
        #[command(flatten)]
        place: PlaceArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List all names with their fingerprints and servers
    #[command(after_help = CONTACT)]
    List {
        #[command(flatten)]
        home: HomeArg,
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Remove a contact
    #[command(after_help = CONTACT)]
    Remove {
        #[command(flatten)]
        home: HomeArg,
        /// The name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(clap::Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// A file with an address, a short address or a clue.key, - for standard input, a short address itself (omr1..,
    /// omr1..@URL), or a contact's name. A short address is resolved by a server, once: the server learns that you want
    /// to write to this recipient
    #[arg(
        long,
        value_name = "ADDRESS",
        required_unless_present = "reply",
        conflicts_with = "reply"
    )]
    pub(crate) to: Option<PathBuf>,
    /// Answer this letter of the inbox: to its sender, in its conversation, with its subject, signed. A sender who is no
    /// contact is looked up as a short address
    #[arg(long, value_name = "N")]
    pub(crate) reply: Option<u64>,
    /// Name this identity as the sender, with the time, and sign: the recipient sees who wrote the letter and can answer
    /// it, and can prove to others that you wrote it
    #[arg(long)]
    pub(crate) signed: bool,
    /// Subject, at most 256 bytes
    #[arg(long, value_name = "TEXT")]
    pub(crate) subject: Option<String>,
    /// Media type of the content, such as text/plain, at most 128 bytes
    #[arg(long, value_name = "TYPE")]
    pub(crate) media_type: Option<String>,
    /// Sealing of letters, where the address does not fix it; letters that are not sealed need `--sealing none`
    #[arg(long, value_name = "S")]
    pub(crate) sealing: Option<Sealing>,
    /// Send no file names
    #[arg(long)]
    pub(crate) no_names: bool,
    /// Post letters of more messages than the address allows: they may never arrive
    #[arg(long)]
    pub(crate) large: bool,
    /// Print the messages instead of posting them, each as a line of JSON with its clue and payload: a ledger brings them
    /// to its board
    #[arg(long, conflicts_with = "json")]
    pub(crate) unposted: bool,
    /// Print one JSON object for each file
    #[arg(long)]
    pub(crate) json: bool,
    /// Files to send; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

pub(crate) const CONTACT: &str = "\
Examples:
  omr contact add bob bob.txt
  omr contact list
  omr contact remove bob";

pub(crate) const SEND: &str = "\
Examples:
  omr send --to bob letter.txt photo.jpg
  omr send --to alice.txt letter.txt
  echo hello | omr send --to bob -
  omr send --to alice/clue.key --server http://127.0.0.1:7600 letter.txt
  omr send --to bob --signed --subject Dinner letter.txt
  omr send --reply 3 answer.txt         # to the sender of letter 3
  omr send --to bob --unposted letter.txt > messages.jsonl

--to takes a file with an address, a short address or a clue.key, - for one of these on standard input, a short address \
itself (omr1.., or omr1..@URL with the server that has it), or a contact's name. A short address is resolved from contacts \
and earlier answers, else by that server, --server or your own, without a token. The server cannot replace the address, as the \
short form proves it, but it learns that your network address wants to write to this recipient; an \
address in a file reveals nothing. \
Letters go to the address's server; the identity's token, and that in OMR_TOKEN, only to the identity's own or to \
--server. A letter of more messages than the address allows is refused before anything is posted, and so is a board with \
another sealing than the address has. An address does not name the board of its server: if the server \
was set up again, letters go to its new board, and the recipient's fetches fail; ask for the \
new address. Files keep their names. Prints `INDEX FILE`, or `FIRST..END FILE` for \
a file in several messages. \
Letters name no sender unless they are signed. A signed letter, its subject and its media type are read by the recipient \
alone; a server sees no difference. Files of one call that are signed make up one conversation. Files are posted in one call, in as few posts as the server's limits allow; a lost answer \
never posts anything twice.";

/// The default bound of identities.
const USUAL_BOUND: u32 = 50;

/// The highest number of bytes of a file, which is held in memory.
const MAX_FILE_BYTES: u64 = 1 << 32;

#[derive(Serialize)]
struct Entry {
    name: String,
    fingerprint: String,
    server: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "io::as_text")]
    file: &'a Path,
    messages: u64,
    ranges: &'a [Range<u64>],
    /// The positions, counted from 0, of its messages that somebody copied and posted first.
    copied: &'a [u64],
}

pub(in crate::commands) fn contact(command: &Contact, ui: &Ui) -> Result<(), CliError> {
    match command {
        Contact::Add {
            home: dir,
            name,
            file,
            place,
            json,
        } => {
            let address = recipient(dir, file, place, ui)?;
            home(dir)?.add_contact(name, &address)?;
            let entry = Entry::new(name.clone(), address);
            if *json {
                io::print_json(&entry)?
            } else {
                ui.note(&format!("fingerprint {}", entry.fingerprint))
            }
            Ok(())
        }
        Contact::List { home: dir, json } => list(&home(dir)?, *json, ui),
        Contact::Remove { home: dir, name } => Ok(home(dir)?.remove_contact(name)?),
    }
}

impl Entry {
    fn new(name: String, address: Address) -> Self {
        Self {
            name,
            fingerprint: address.fingerprint(),
            server: address.server,
        }
    }
}

fn list(home: &Home, json: bool, ui: &Ui) -> Result<(), CliError> {
    let entries: Vec<Entry> = home
        .contacts()?
        .into_iter()
        .map(|(name, address)| Entry::new(name, address))
        .collect();
    if json {
        return Ok(io::print_json(&entries)?);
    }
    if entries.is_empty() {
        ui.announce("no contacts: `omr contact add NAME ADDRESS` keeps one");
        return Ok(());
    }
    let line = |entry: &Entry| {
        let server = entry.server.as_deref().unwrap_or("-");
        format!("{:<16} {}  {server}\n", entry.name, entry.fingerprint)
    };
    Ok(io::print(&entries.iter().map(line).collect::<String>())?)
}

/// Returns the server of a letter: the one on the command line, or the address's, or the identity's. The identity's
/// token and CA are used for the identity's server alone, and so is a token of the environment unless the server is on
/// the command line.
pub(super) fn destination(
    home: &Home,
    given: &ServerArgs,
    to: &Address,
    ui: &Ui,
) -> Result<Server, CliError> {
    let token = &given.token;
    if let Some(server) = server(&given.place, token.text())? {
        return Ok(server);
    }
    let own = match home.server() {
        Err(MailError::NoServer) => None,
        _ => Some(own_server(home, token)?),
    };
    let is_own = own
        .as_ref()
        .is_some_and(|own| to.server.as_ref().is_none_or(|url| *url == own.url));
    let mut named = Server::named(to.server.as_deref(), own).ok_or(MailError::NoServer)?;
    if is_own {
        return Ok(named);
    }
    named.token = match token.of_call() {
        Some(Token::Argument(token)) => Some(token),
        Some(Token::Environment(_)) => {
            ui.warn(&format!(
                "OMR_TOKEN was not shown to {}, which is not your own server: name it with --server to do that",
                named.url
            ));
            None
        }
        None => None,
    };
    Ok(named)
}

pub(in crate::commands) fn send(args: &Send, ui: &Ui) -> Result<(), CliError> {
    let is_signed = args.signed || args.reply.is_some();
    let home = if is_signed {
        args.own.home()?
    } else {
        home(&args.own.home)?
    };
    let reply = match args.reply {
        Some(number) => Some(Reply::to(&Inbox::beside(&home)?, number)?),
        None => None,
    };
    let place = &args.server.place;
    let to = match &reply {
        Some(reply) => resolve(&home, &reply.to, place, ui)?,
        // One of the two options is there.
        None => recipient(
            &args.own.home,
            &args.to.clone().unwrap_or_default(),
            place,
            ui,
        )?,
    };
    let server = destination(&home, &args.server, &to, ui)?;
    let signer = if is_signed {
        Some(Identity::open(&home)?.signer()?)
    } else {
        None
    };
    let (subject, media_type) = (args.subject.clone(), args.media_type.clone());
    let header = stated(signer.is_some(), reply.as_ref(), subject, media_type);
    let mut files = Vec::new();
    for path in &args.files {
        files.push(Letter {
            name: io::name(path).filter(|_| !args.no_names),
            content: io::read_file(path, MAX_FILE_BYTES)?,
            header: header.clone(),
        });
    }
    let rules = Rules {
        sealing: args.sealing,
        large: args.large,
        signer: signer.as_ref(),
    };
    let bar = ui.bar();
    bar.at("sending".into(), 0, files.len() as u64);
    let sent = block_on(async {
        let client = connect(server.endpoint(), ui)?;
        let draft = Draft::new(&client, &to, &files, &rules).await?;
        warn_of_length(args, &to, &draft, ui);
        if args.unposted {
            print_messages(draft.seal()?)?;
            return Ok(Vec::new());
        }
        Ok(draft.post(&client).await?)
    })?;
    drop(bar);
    for (file, sent) in args.files.iter().zip(&sent) {
        print_report(args.json, file, sent)?;
        if let Some(text) = of_copies(file, sent) {
            ui.warn(&text);
        }
    }
    Ok(())
}

/// Prints messages as the entries of a block in `omr feed`, without their ids in the ledger.
fn print_messages(messages: Vec<Message>) -> Result<(), CliError> {
    for Message { clue, payload } in messages {
        let (clue, payload) = (STANDARD.encode(clue), STANDARD.encode(payload));
        io::print_json(&json!({ "clue": clue, "payload": payload }))?;
    }
    Ok(())
}

/// Warns before the post of letters that may not arrive at once.
fn warn_of_length(args: &Send, to: &Address, draft: &Draft, ui: &Ui) {
    let most = to.terms.map_or(USUAL_BOUND, |terms| terms.parts);
    for (file, messages) in args.files.iter().zip(draft.messages()) {
        let file = io::shown(file);
        match to.terms {
            _ if messages <= u64::from(most) => {}
            Some(_) => ui.warn(&format!(
                "{file} takes {messages} messages, its recipient takes letters of {most}: it arrives over many \
                 fetches, or not at all"
            )),
            None => ui.warn(&format!(
                "{file} takes {messages} messages, and the address does not say whether its recipient takes more \
                 than the usual {most}: ask the recipient for the text that `omr address` prints now"
            )),
        }
    }
    let all: u64 = draft.messages().sum();
    if args.files.len() > 1 && all > u64::from(most) {
        ui.note(&format!(
            "{all} messages in all: they may arrive over several fetches"
        ));
    }
}

fn print_report(json: bool, file: &Path, sent: &Sent) -> Result<(), CliError> {
    let ranges = &sent.ranges[..];
    let messages = ranges.iter().map(|range| range.end - range.start).sum();
    if json {
        return Ok(io::print_json(&Report {
            file,
            messages,
            ranges,
            copied: &sent.copied,
        })?);
    }
    let place = |range: &Range<u64>| match range.end - range.start {
        1 => range.start.to_string(),
        _ => format!("{}..{}", range.start, range.end),
    };
    let places: Vec<String> = ranges.iter().map(place).collect();
    Ok(io::print(&format!(
        "{} {}\n",
        places.join(","),
        io::shown(file)
    ))?)
}

/// Returns a warning about messages that others posted first, who must have seen them before the server did.
fn of_copies(file: &Path, sent: &Sent) -> Option<String> {
    let copied = sent.copied.len();
    let all: u64 = sent
        .ranges
        .iter()
        .map(|range| range.end - range.start)
        .sum();
    if copied == 0 {
        return None;
    }
    let which = match all {
        1 => "its message was".into(),
        _ => {
            let numbers = in_words(&spans(sent.copied.iter().copied()));
            let were = if copied == 1 { "was" } else { "were" };
            format!("{copied} of its {all} messages (numbers {numbers}, from 0) {were}")
        }
    };
    Some(format!(
        "{}: {which} on the board already: somebody between you and the server copied and posted what you sent, or \
         the server does; nothing is missing, and the copies cannot be read",
        io::shown(file)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_of_in_words() {
        let told = |messages: u64, copied: &[u64]| {
            let copied = copied.to_vec();
            let ranges = std::iter::once(7..7 + messages).collect();
            of_copies(Path::new("letter.txt"), &Sent { ranges, copied })
        };
        assert_eq!(told(9, &[]), None);
        let text = told(9, &[1, 2, 3, 6]).unwrap();
        let start =
            "letter.txt: 4 of its 9 messages (numbers 1..4, 6, from 0) were on the board already";
        assert!(text.starts_with(start), "{text}");
        let text = told(1, &[0]).unwrap();
        assert!(
            text.starts_with("letter.txt: its message was on the board"),
            "{text}"
        );
    }
}
