//! `omr contact` and `omr send`.

use super::recipient::recipient;
use super::{block_on, home, own_server, server};
use crate::args::{Contact, Send, Token};
use crate::commands::network::connect;
use crate::error::CliError;
use crate::io;
use crate::spans::{in_words, spans};
use omr_console::Ui;
use omr_mail::{Address, Draft, Home, Letter, MailError, Rules, Sent, Server};
use serde::Serialize;
use std::ops::Range;
use std::path::Path;

/// Messages that a digest carries unless its recipient wanted otherwise.
const USUAL_BOUND: u32 = 50;

/// Largest file taken: it is held in memory.
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
    /// Its messages, counted from 0, that somebody copied and posted first.
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
            let entry = entry((name.clone(), address));
            match json {
                true => io::print_json(&entry)?,
                false => ui.note(&format!("fingerprint {}", entry.fingerprint)),
            }
            Ok(())
        }
        Contact::List { home: dir, json } => list(&home(dir)?, *json, ui),
        Contact::Remove { home: dir, name } => Ok(home(dir)?.remove_contact(name)?),
    }
}

fn entry((name, address): (String, Address)) -> Entry {
    Entry {
        name,
        fingerprint: address.fingerprint(),
        server: address.server,
    }
}

fn list(home: &Home, json: bool, ui: &Ui) -> Result<(), CliError> {
    let entries: Vec<Entry> = home.contacts()?.into_iter().map(entry).collect();
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

/// Where a letter goes: the server told, else the address's, else one's own. One's own token and CA are for
/// one's own server alone, and so is a token of the environment unless the server is told.
fn destination(home: &Home, args: &Send, to: &Address, ui: &Ui) -> Result<Server, CliError> {
    let token = &args.server.token;
    if let Some(server) = server(&args.server.place, token.text())? {
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
    let home = home(&args.home)?;
    let to = recipient(&args.home, &args.to, &args.server.place, ui)?;
    let server = destination(&home, args, &to, ui)?;
    let mut files = Vec::new();
    for path in &args.files {
        files.push(Letter {
            name: io::name(path).filter(|_| !args.no_names),
            content: io::read_file(path, MAX_FILE_BYTES)?,
        });
    }
    let rules = Rules {
        sealing: args.sealing,
        large: args.large,
    };
    let bar = ui.bar();
    bar.at("sending".into(), 0, files.len() as u64);
    let sent = block_on(async {
        let client = connect(server.endpoint(), ui)?;
        let draft = Draft::new(&client, &to, &files, &rules).await?;
        warn_of_length(args, &to, &draft, ui);
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

/// Says before anything is posted what may not arrive at once.
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
                 than the usual {most}: ask her for what `omr address` prints now"
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

/// What a person should know of messages that others posted first: whoever can do that reads what she sends.
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
