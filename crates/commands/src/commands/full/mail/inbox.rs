//! `omr inbox`: fetches, lists and prints letters.

use super::identity::{follow_others, keep_published};
use super::mailbox::{Mailbox, collect_retired, warn_of_unread};
use super::time::time;
use super::{block_on, chosen, operators, own_server, show};
use super::{history, kept};
use crate::args::Span;
use crate::args::headings::OUTPUT;
use crate::commands::full::FullError;
use crate::commands::full::access::TokenArg;
use crate::commands::full::headings::{AGAIN, CANARIES};
use crate::commands::full::mail::OwnArgs;
use crate::commands::full::mail::history::HISTORY;
use crate::commands::full::mail::kept::InboxAgain;
use crate::commands::full::mail::seen::Seen;
use crate::commands::full::mail::senders::{self, Names, Shown};
use crate::commands::full::network::connect;
use crate::commands::keygen::create_folder;
use crate::error::CliError;
use crate::io::{self, Access};
use omr_client::fragment::visible;
use omr_console::Ui;
use omr_console::args::bound;
use omr_mail::{
    CanaryState, Collected, Home, Identity, Inbox, Incomplete, Kept, Listed, MailError, Outcome,
    Reader, Retired, Spares, Taken, Waiting, canary_client, collect, post_canary,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    pub(crate) act: Option<InboxAct>,
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// List read messages, too
    #[arg(long)]
    pub(crate) all: bool,
    /// List the N letters that came last, read or not; quick in an inbox of any size
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "conversations"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) last: Option<u64>,
    /// List letters by conversation: all letters of those with an unread one
    #[arg(long)]
    pub(crate) conversations: bool,
    /// List the inbox without a connection
    #[arg(long)]
    pub(crate) offline: bool,
    /// Post a message to yourself first: --audit shows whether it returns
    #[arg(long, help_heading = CANARIES, conflicts_with = "offline")]
    pub(crate) canary: bool,
    /// Show the state of all canaries, without fetching; exit with 1 if one is missing
    #[arg(long, help_heading = CANARIES, conflicts_with_all = ["canary", "all", "last", "raise_bound", "retry_damaged"])]
    pub(crate) audit: bool,
    /// Request overflowed ranges again, with this bound: read below what that reveals
    #[arg(long, help_heading = AGAIN, value_name = "K", value_parser = bound(), conflicts_with = "offline")]
    pub(crate) raise_bound: Option<u32>,
    /// Request ranges again whose digests did not decode
    #[arg(long, help_heading = AGAIN, conflicts_with = "offline")]
    pub(crate) retry_damaged: bool,
    /// Print one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(clap::Subcommand)]
pub(crate) enum InboxAct {
    /// Print messages and mark them as read
    #[command(after_help = INBOX)]
    Read(InboxRead),
    /// Delete letters; no fetch brings them back
    #[command(after_help = INBOX)]
    Delete {
        #[command(flatten)]
        own: OwnArgs,
        /// Numbers in the list
        #[arg(value_name = "N", required = true)]
        numbers: Vec<u64>,
    },
    /// Mark the letters of a sender as read, those that come, too; without SENDER, list the muted senders
    #[command(after_help = INBOX)]
    Mute {
        #[command(flatten)]
        own: OwnArgs,
        /// A contact, or a short address as the list shows it
        #[arg(value_name = "SENDER")]
        sender: Option<String>,
    },
    /// End the muting of a sender
    #[command(after_help = INBOX)]
    Unmute {
        #[command(flatten)]
        own: OwnArgs,
        /// A contact, or a short address
        #[arg(value_name = "SENDER")]
        sender: String,
    },
    /// List ranges whose messages overflowed their digest, or whose digest was damaged or refused
    #[command(after_help = INBOX)]
    Kept {
        #[command(flatten)]
        own: OwnArgs,
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// List the states of the board that this inbox has seen, and changes of its history; compare them with another
    /// inbox
    #[command(after_help = HISTORY)]
    History {
        #[command(flatten)]
        own: OwnArgs,
        #[command(flatten)]
        token: TokenArg,
        /// A line of another inbox's list: exit with 1 unless it is of the same history of the board
        #[arg(long, value_name = "LENGTH:HASH")]
        compare: Option<Seen>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Request a range again, whatever is known of it: read below what that reveals
    #[command(after_help = INBOX)]
    Again(InboxAgain),
    /// Forget kept ranges, and requests that were not answered, within a range
    #[command(after_help = INBOX)]
    Drop {
        #[command(flatten)]
        own: OwnArgs,
        /// Messages, such as 329..431
        #[arg(value_name = "RANGE")]
        range: Span,
    },
    /// Rename the inbox, damaged or not, and fetch everything again from the server
    #[command(after_help = INBOX)]
    Rebuild {
        #[command(flatten)]
        own: OwnArgs,
        #[command(flatten)]
        token: TokenArg,
        /// First message to request [default: the first one since the keys were made]
        #[arg(long, value_name = "N")]
        from: Option<u64>,
    },
}

#[derive(clap::Args)]
pub(crate) struct InboxRead {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    /// Save them in this folder, created where absent, as NUMBER-NAME or NUMBER.bin, and print the paths; - is standard
    /// output, for unchanged contents
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object for each, with the content if it is text
    #[arg(long)]
    pub(crate) json: bool,
    /// Numbers in the list
    #[arg(value_name = "N", required = true)]
    pub(crate) numbers: Vec<u64>,
}

pub(crate) const INBOX: &str = "\
Examples:
  omr inbox                             # fetch, then list what is new
  omr inbox --all --offline             # list everything, no connection
  omr inbox --last 20 --offline         # the newest letters
  omr inbox read 3
  omr inbox read 3 4 --out letters
  omr inbox read 3 --json
  omr inbox --conversations             # senders, subjects, answers
  omr inbox delete 3
  omr inbox mute bob                    # his letters count as read
  omr inbox unmute bob
  omr inbox --canary                    # a message to yourself
  omr inbox --audit
  omr inbox kept                        # ranges with missing messages
  omr inbox --raise-bound 80
  omr inbox again 0..4 --by 512         # a range again, in short requests
  omr inbox drop 0..4                   # give missing messages up
  omr inbox history                     # lengths of the board and hashes
  omr inbox rebuild                     # everything again from the server

The list is in the order of the board, with the time of the fetch. While `omr watch` runs, `omr inbox --offline`, \
`omr inbox read` and `omr id export` work beside it.

A letter may be signed. The list then shows the sender: a contact's name; the short address of somebody who is no \
contact, to which `omr contact add` and `omr send --to` apply; or (forged), where the signature does not match. `omr inbox \
read` shows more on standard error. Deleting and muting happen here alone: a server sees nothing of them. `omr inbox rebuild` \
brings deleted letters back, and forgets who was muted.

A fetch covers all messages since the last one, whatever was found before. In two rounds it finds all messages for \
you and brings 56 of them, and all of a short range; the others come with the next fetches, and the server cannot see \
that there are any. With digests, if one has more messages for you than the bound, its range is kept, with a warning: \
every fetch also requests some of the earlier messages again, on a fixed schedule, and the missing messages \
arrive with one of these requests. `omr inbox kept` shows how many messages arrived and how many fetches are left. If \
none is left, as with --spares 0, the exit code is 3.

Requests by hand do reveal something. --raise-bound requests all overflowed ranges again, --retry-damaged \
all that did not decode, `omr inbox again RANGE` any messages, with --bound or in small ranges with --by. The \
detector learns of the request, and so that something went wrong; an attacker who sends crafted messages and learns that can find \
out your secret, one answer at a time. Consider who may have sent that many messages. `omr inbox drop RANGE` gives them up \
and reveals nothing.

`omr inbox rebuild` is for a damaged inbox: the file stays under another name, and all messages are requested \
again; letters to keys of periods that have ended do not open any more, but those of an identity from words do in a new \
folder. --audit exits with 1 if a canary is missing: the detector left messages out.";

#[derive(Serialize)]
struct Report<'a> {
    messages: Vec<Shown<'a>>,
    kept: Vec<Kept>,
    incomplete: Vec<Incomplete>,
    incomplete_files: usize,
    /// Messages that two rounds found and have yet to fetch.
    waiting: Waiting,
    unopened: u64,
    retired: Vec<RetiredReport>,
}

/// The missing letters to a retired identity.
#[derive(Serialize)]
struct RetiredReport {
    name: String,
    home: PathBuf,
    kept: Vec<Kept>,
    incomplete: Vec<Incomplete>,
    unopened: u64,
}

#[derive(Serialize)]
struct CanaryLine {
    made: u64,
    index: Option<u64>,
    state: CanaryState,
    missing_from: Option<std::ops::Range<u64>>,
}

/// The form of a list.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) all: bool,
    pub(super) last: Option<u64>,
    pub(super) conversations: bool,
    pub(super) json: bool,
}

pub(in crate::commands) fn run(args: &InboxArgs, ui: &Ui) -> Result<(), CliError> {
    let style = Style {
        all: args.all,
        last: args.last,
        conversations: args.conversations,
        json: args.json,
    };
    match &args.act {
        Some(InboxAct::Read(read)) => return self::read(read, ui),
        Some(InboxAct::Delete { own, numbers }) => return senders::delete_letters(own, numbers),
        Some(InboxAct::Mute { own, sender }) => return senders::mute(own, sender.as_deref(), ui),
        Some(InboxAct::Unmute { own, sender }) => return senders::unmute(own, sender, ui),
        Some(InboxAct::Kept { own, json }) => return kept::list(own, *json, ui),
        Some(InboxAct::History {
            own,
            token,
            compare,
            json,
        }) => return history::run(own, token, compare.as_ref(), *json, ui),
        Some(InboxAct::Again(again)) => return kept::again(again, ui),
        Some(InboxAct::Drop { own, range }) => return kept::drop_range(own, *range, ui),
        Some(InboxAct::Rebuild { own, token, from }) => {
            return kept::rebuild(own, token, *from, ui);
        }
        None if args.audit => return audit(args, ui),
        None => {}
    }
    if args.offline {
        return offline(args, style, ui);
    }
    let mailbox = Mailbox::open(args.own.identity()?, &args.token, ui)?;
    ask_again(args, &mailbox.mail.identity, &mailbox.mail.inbox, ui)?;
    fetch(mailbox, args.canary, style, ui)
}

/// Lists the inbox. Digests that an interrupted fetch left are decoded first; if another command fetches, it decodes
/// them.
fn offline(args: &InboxArgs, style: Style, ui: &Ui) -> Result<(), CliError> {
    let identity = args.own.identity()?;
    let mut inbox = Inbox::beside(&identity.home)?;
    let (mut retired, mut unread) = Retired::all(&identity.home, Inbox::beside)?;
    let mut taken = Vec::new();
    // Without digests to decode, the lock is not needed.
    let mut pending = inbox.pending()? > 0 && identity.profile.board_id.is_some();
    for retired in &retired {
        pending |= retired.inbox.pending()? > 0;
    }
    if pending {
        match Inbox::open(&identity.home) {
            Err(MailError::Busy) => {}
            opened => inbox = opened?,
        }
    }
    if inbox.fetches() {
        if inbox.pending()? > 0 && identity.profile.board_id.is_some() {
            taken = inbox.take_in(&Reader::new(&identity)?)?;
        }
        drop(retired);
        (retired, unread) = Retired::all(&identity.home, Inbox::open)?;
    }
    warn_of_unread(&unread, ui);
    for retired in &retired {
        taken.extend(retired.take_in(&inbox)?.1);
    }
    list(style, ui, &identity.home, &inbox, &retired)?;
    verdict(&taken, &inbox, &retired, ui)
}

/// Fetches, decodes and lists letters, and does what other devices did with addresses.
pub(super) fn fetch(mailbox: Mailbox, canary: bool, style: Style, ui: &Ui) -> Result<(), CliError> {
    let fetched = fetch_letters(&mailbox, canary, style, ui);
    let home = mailbox.mail.identity.home.clone();
    drop(mailbox);
    match (follow_others(&home, ui)?, fetched) {
        // The other device ended the address before this one forgot it.
        (
            true,
            Err(CliError::Full(FullError::Retired {
                source: MailError::KeysGone,
                ..
            })),
        ) => Ok(()),
        (_, fetched) => fetched,
    }
}

fn fetch_letters(mailbox: &Mailbox, canary: bool, style: Style, ui: &Ui) -> Result<(), CliError> {
    let Mailbox { mail, token } = mailbox;
    let mut fetched = block_on(network(canary, ui, mailbox));
    for retired in &mail.retired {
        // A retired identity that fails holds up no other.
        fetched = fetched.and(block_on(network_of(retired, token, ui)));
    }
    history::report(ui, &mail.inbox)?;
    for retired in &mail.retired {
        history::report(ui, &retired.inbox)?;
    }
    // Digests that were collected before a failure are decoded too: that needs no call to the server.
    let (taken, _) = mail.take_in()?;
    list(style, ui, &mail.identity.home, &mail.inbox, &mail.retired)?;
    fetched?;
    verdict(&taken, &mail.inbox, &mail.retired, ui)
}

/// Requests ranges again as a person asked for, and prints what that reveals.
fn ask_again(
    args: &InboxArgs,
    identity: &Identity,
    inbox: &Inbox,
    ui: &Ui,
) -> Result<(), CliError> {
    if let Some(bound) = args.raise_bound {
        kept::check_bound(identity, &args.token, bound, ui)?;
        let ranges = inbox.raise_bound(bound)?;
        ui.warn(&format!(
            "asking for {ranges} ranges again with bound {bound}: the detector learns that the old bound did \
             not do"
        ));
    }
    if args.retry_damaged {
        let ranges = inbox.retry_damaged()?;
        ui.warn(&format!(
            "asking for {ranges} ranges again: the detector learns that their digests did not decode"
        ));
    }
    Ok(())
}

async fn network(canary: bool, ui: &Ui, mailbox: &Mailbox) -> Result<(), CliError> {
    let Mailbox { mail, token } = mailbox;
    let (identity, inbox) = (&mail.identity, &mail.inbox);
    if canary {
        self::canary(identity, token, inbox, ui).await?;
    }
    let clients = operators(&identity.home, token, ui)?;
    let client = chosen(&clients, identity, inbox, ui).await?;
    let bar = ui.bar();
    let progress = |stage| show(&bar, stage);
    let collected = collect(client, identity, inbox, &mail.reader, progress).await?;
    std::mem::drop(bar);
    print_report(ui, identity, &collected);
    keep_published(identity, client, ui).await;
    Ok(())
}

/// Runs the network half for a retired identity.
async fn network_of(retired: &Retired, token: &TokenArg, ui: &Ui) -> Result<(), CliError> {
    let bar = ui.bar();
    let progress = |stage| show(&bar, stage);
    let collected = collect_retired(retired, token, ui, progress).await?;
    std::mem::drop(bar);
    if let Some(collected) = collected {
        print_report(ui, &retired.identity, &collected);
    }
    Ok(())
}

/// Prints what differs in a fetch from the identity's profile.
pub(super) fn print_report(ui: &Ui, identity: &Identity, collected: &Collected) {
    for (range, reason) in &collected.refused {
        ui.warn(&format!(
            "{}..{} is kept: the server refuses it for good ({reason}); `omr inbox again` requests it in another form",
            range.start, range.end
        ));
    }
    for missed in &collected.missed {
        ui.warn(&format!(
            "messages {}..{} expired before they were fetched: those for you are lost (`omr inbox drop` forgets the \
             range)",
            missed.start, missed.end
        ));
    }
    if collected.spares == Spares::NotServed {
        ui.note(
            "this server serves no spare requests: letters longer than the bound do not arrive whole",
        );
    }
    if let Err(why) = &collected.ordered {
        ui.note(&format!(
            "this server computes batches when they are requested, not as soon as they are full: {why}"
        ));
    }
    let (bound, own) = (collected.bound, identity.profile.bound);
    if bound < own && collected.spares != Spares::TwoRounds {
        ui.warn(&format!(
            "the server or the keys serve a bound of {bound} at most: asked with that, not with {own}"
        ));
    }
}

/// Posts a canary without the token, if the server accepts posts without one.
pub(super) async fn canary(
    identity: &Identity,
    token: &TokenArg,
    inbox: &Inbox,
    ui: &Ui,
) -> Result<(), CliError> {
    let server = own_server(&identity.home, token)?;
    let (client, is_known) = canary_client(&server, |endpoint| connect(endpoint, ui)).await?;
    if is_known {
        ui.warn(
            "the server takes posts with a token only: it can distinguish this canary from other people's letters",
        );
    }
    Ok(post_canary(&client, identity, inbox).await?)
}

fn list(
    style: Style,
    ui: &Ui,
    home: &Home,
    inbox: &Inbox,
    retired: &[Retired],
) -> Result<(), CliError> {
    let messages = match style.last {
        Some(count) => inbox.page(u64::MAX, count)?,
        None => to_show(style, inbox.list(style.all || style.conversations)?),
    };
    let names = Names::of(home)?;
    let (incomplete, unopened) = inbox.leftovers()?;
    let has_retired = !retired.is_empty();
    let retired: Result<Vec<_>, CliError> = retired.iter().map(RetiredReport::new).collect();
    let report = Report {
        messages: messages.iter().map(|one| names.shown(one)).collect(),
        kept: inbox.kept()?,
        incomplete_files: incomplete.len(),
        incomplete,
        waiting: inbox.waiting()?,
        unopened,
        retired: retired?,
    };
    if style.json {
        return Ok(io::print_json(&report)?);
    }
    let columns = Columns::of(&messages, has_retired, &names);
    if messages.is_empty() {
        ui.announce(if style.all {
            "no letters here"
        } else {
            "no new letters: `omr inbox --all` lists those that were read, too"
        })
    } else {
        let lines = if style.conversations {
            conversations(&messages, &columns)
        } else {
            messages.iter().map(|one| columns.line(one)).collect()
        };
        io::print(&(columns.heading() + &lines))?;
    }
    let incomplete = report.retired.iter().flat_map(|old| &old.incomplete);
    for letter in report.incomplete.iter().chain(incomplete) {
        ui.note(&format!(
            "a letter is on its way: {} of {} parts",
            letter.here, letter.parts
        ));
    }
    let withdrawn = inbox.withdrawn()?;
    if !withdrawn.is_empty() {
        let numbers: Vec<String> = withdrawn.iter().map(u64::to_string).collect();
        ui.note(&format!(
            "the board no longer has letter {}: its ledger took another branch, or the server was restored. They stay \
             here; who wrote them may have to send them again",
            numbers.join(", ")
        ));
    }
    if report.waiting.messages > 0 {
        let Waiting { messages, syncs } = report.waiting;
        ui.note(&format!(
            "{messages} more messages were found: they come with the next {syncs} fetches"
        ));
    }
    if !report.kept.is_empty() {
        ui.note(&format!(
            "of {} ranges not everything is here: `omr inbox kept` lists them",
            report.kept.len()
        ));
    }
    for old in report.retired.iter().filter(|old| !old.kept.is_empty()) {
        ui.note(&format!(
            "of {} ranges not everything is here that was written to the retired identity {}: \
             `omr inbox kept --home {}` lists them",
            old.kept.len(),
            old.name,
            old.home.display()
        ));
    }
    let unopened = report.retired.iter().map(|old| old.unopened).sum::<u64>() + unopened;
    if unopened > 0 {
        ui.note(&format!("{unopened} messages so far could not be opened"));
    }
    Ok(())
}

/// Returns those of all letters that a list in this style contains.
fn to_show(style: Style, mut letters: Vec<Listed>) -> Vec<Listed> {
    let is_unread = |letter: &&Listed| !letter.read;
    let unread: BTreeSet<String> = letters
        .iter()
        .filter(is_unread)
        .filter_map(|letter| thread(letter).map(str::to_owned))
        .collect();
    letters.retain(|letter| {
        let continues = thread(letter).is_some_and(|thread| unread.contains(thread));
        style.all || !letter.read || (style.conversations && continues)
    });
    letters
}

fn thread(letter: &Listed) -> Option<&str> {
    letter.header.as_ref()?.thread.as_deref()
}

/// Returns the lines of a list by conversation, in the order of their first letters, each under its first subject, and
/// the other letters last.
fn conversations(letters: &[Listed], columns: &Columns<'_>) -> String {
    let mut threads: Vec<(&str, Vec<&Listed>)> = Vec::new();
    let mut others = Vec::new();
    for letter in letters {
        match thread(letter) {
            None => others.push(letter),
            Some(name) => match threads.iter_mut().find(|(known, _)| *known == name) {
                Some((_, group)) => group.push(letter),
                None => threads.push((name, vec![letter])),
            },
        }
    }
    let mut text = String::new();
    for (_, group) in &threads {
        let mut subjects = group.iter().filter_map(|one| one.header.as_ref());
        let subject = subjects.find_map(|header| header.subject.as_deref());
        text += &format!("Conversation: {}\n", subject.unwrap_or("(no subject)"));
        text.extend(group.iter().map(|letter| columns.line(letter)));
    }
    if !threads.is_empty() && !others.is_empty() {
        text += "Letters of no conversation\n";
    }
    text.extend(others.into_iter().map(|letter| columns.line(letter)));
    text
}

impl RetiredReport {
    fn new(retired: &Retired) -> Result<Self, CliError> {
        let (incomplete, unopened) = retired.inbox.leftovers()?;
        Ok(Self {
            name: retired.name.clone(),
            home: retired.identity.home.dir().to_owned(),
            kept: retired.inbox.kept()?,
            incomplete,
            unopened,
        })
    }
}

/// The columns of a list. Text of senders is in the last one, where it cannot imitate another.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    /// Whether some letters may be to an address that was replaced.
    retired: bool,
    /// The width of senders; 0 where no letter names one.
    from: usize,
    names: &'a Names,
}

impl<'a> Columns<'a> {
    pub(super) fn of(messages: &[Listed], has_retired: bool, names: &'a Names) -> Self {
        let retired = has_retired || messages.iter().any(|message| message.retired.is_some());
        let is_signed =
            |letter: &Listed| letter.header.as_ref().is_some_and(|h| h.sender.is_some());
        let width = |letter: &Listed| names.sender(letter).chars().count();
        let from = if messages.iter().any(is_signed) {
            messages.iter().map(width).max().unwrap_or(0)
        } else {
            0
        };
        Self {
            retired,
            from,
            names,
        }
    }

    fn heading(self) -> String {
        let to = if self.retired {
            "TO                  "
        } else {
            ""
        };
        let from = match self.from {
            0 => String::new(),
            width => format!("{:<width$}  ", "FROM"),
        };
        format!(" NUMBER     INDEX  FETCHED              BYTES  {to}{from}LETTER\n")
    }

    /// Returns one line of the list.
    pub(super) fn line(self, message: &Listed) -> String {
        let mark = if message.read { ' ' } else { '*' };
        let subject = message
            .header
            .as_ref()
            .and_then(|header| header.subject.as_deref());
        let texts = [
            subject,
            message.name.as_deref(),
            message.first_line.as_deref(),
        ];
        let mut text = texts.into_iter().flatten().collect::<Vec<_>>().join("  ");
        if text.is_empty() {
            text += "(no text)";
        }
        let from = match self.from {
            0 => String::new(),
            width => format!("{:<width$}  ", self.names.sender(message)),
        };
        let to = match &message.retired {
            _ if !self.retired => String::new(),
            Some(name) => format!("{:<18}  ", format!("until {name}")),
            None => format!("{:<18}  ", "now"),
        };
        format!(
            "{mark}{:>6}  {:>8}  {:<16}  {:>8}  {to}{from}{text}\n",
            message.number,
            message.index,
            time(message.fetched),
            message.bytes
        )
    }
}

/// Warns of an answer to a query, or a part of it, that cannot be read for this reason.
pub(super) fn warn_unanswered(reason: &str, ui: &Ui) {
    ui.warn(&format!(
        "an answer of the server brought nothing ({reason}): its messages wait for the next fetch"
    ));
}

/// Returns the error of a fetch, if there is one. Ranges whose letters arrive with later fetches without a person's act
/// are reported, and are no failure.
pub(super) fn verdict(
    taken: &[Taken],
    inbox: &Inbox,
    retired: &[Retired],
    ui: &Ui,
) -> Result<(), CliError> {
    let mut kept: Vec<Kept> = Vec::new();
    for one in taken {
        match &one.outcome {
            Outcome::Kept(range) => kept.push(range.clone()),
            Outcome::Unanswered(reason) => warn_unanswered(reason, ui),
            Outcome::Delivered { .. } => {}
        }
    }
    if kept.is_empty() {
        return Ok(());
    }
    // The ranges are read again, with the number of fetches that are left.
    let mut known = inbox.kept()?;
    for retired in retired {
        known.extend(retired.inbox.kept()?);
    }
    kept.retain(|met| {
        let now = known.iter().find(|now| now.range() == met.range());
        let Some(coming) = now.filter(|now| now.comes_by_itself()) else {
            return true;
        };
        ui.warn(&format!(
            "{}..{} holds {} messages for you and one digest carries {}: {}",
            coming.start,
            coming.end,
            coming.overflowed.unwrap_or(0),
            coming.bound,
            kept::fetches(coming)
        ));
        false
    });
    let overflowed = kept
        .iter()
        .filter_map(|kept| Some((kept.overflowed?, kept.bound)));
    if let Some((most, bound)) = overflowed.clone().max() {
        let groups = overflowed.count();
        return Err(FullError::Overflowed {
            groups,
            most,
            bound,
        }
        .into());
    }
    match kept.first() {
        Some(first) => Err(FullError::Damaged {
            ranges: kept.len(),
            reason: first.reason.clone(),
        }
        .into()),
        None => Ok(()),
    }
}

fn audit(args: &InboxArgs, ui: &Ui) -> Result<(), CliError> {
    let audit = Inbox::beside(&args.own.identity()?.home)?.audit()?;
    let line = |canary: &omr_mail::Canary| CanaryLine {
        made: canary.made,
        index: canary.index,
        state: canary.state,
        missing_from: canary.missing_from.clone(),
    };
    let lines: Vec<CanaryLine> = audit.canaries.iter().map(line).collect();
    if args.json {
        io::print_json(&lines)?;
    } else if lines.is_empty() {
        ui.announce("no canaries: `omr inbox --canary` posts one");
    } else {
        let text = |line: &CanaryLine| {
            let index = line.index.map_or("-".into(), |index| index.to_string());
            let state = match line.state {
                CanaryState::Posting => "posting".into(),
                CanaryState::Posted => "posted".into(),
                CanaryState::Returned => "returned".into(),
                CanaryState::Missing => match &line.missing_from {
                    Some(range) => format!("MISSING from {}..{}", range.start, range.end),
                    None => "MISSING".to_owned(),
                },
                CanaryState::Gone => "gone: the server went back to an older board".into(),
            };
            format!("{}  {index:>8}  {state}\n", time(line.made))
        };
        io::print(&lines.iter().map(text).collect::<String>())?;
    }
    match audit.count(CanaryState::Missing) {
        0 => Ok(()),
        missing => Err(FullError::CanariesMissing(missing).into()),
    }
}

/// A letter for programs.
#[derive(Serialize)]
struct Opened<'a> {
    #[serde(flatten)]
    letter: Shown<'a>,
    /// The content, if it is text.
    text: Option<&'a str>,
    /// The file in which it was saved.
    #[serde(serialize_with = "saved")]
    path: Option<&'a Path>,
}

fn saved<S: serde::Serializer>(path: &Option<&Path>, to: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => io::as_text(path, to),
        None => to.serialize_none(),
    }
}

fn read(args: &InboxRead, ui: &Ui) -> Result<(), CliError> {
    let home = args.own.identity()?.home;
    let (inbox, names) = (Inbox::beside(&home)?, Names::of(&home)?);
    let folder = args.out.as_deref().filter(|out| !io::is_standard(out));
    if let Some(dir) = folder {
        create_folder(dir)?;
    }
    for &number in &args.numbers {
        let body = inbox.body(number)?;
        let listed = inbox.letter(number)?;
        let path = folder.map(|dir| dir.join(io::numbered(number, listed.name.as_deref())));
        if let Some(path) = &path {
            io::stage_bytes(path, Access::Private, &body)?.commit(false)?;
        }
        if !args.json {
            names.tell(&listed, ui);
        }
        match (&path, args.json) {
            (_, true) => io::print_json(&Opened {
                letter: names.shown(&listed),
                text: std::str::from_utf8(&body).ok(),
                path: path.as_deref(),
            })?,
            (Some(path), false) => io::print(&format!("{}\n", path.display()))?,
            (None, false) => print(number, &body, args.out.is_some())?,
        }
        inbox.mark_read(&[number])?;
    }
    Ok(())
}

/// Prints a message. On a terminal it prints only text that cannot steer it, without characters that hide text or
/// change its direction, unless standard output was requested by name.
fn print(number: u64, body: &[u8], is_named: bool) -> Result<(), CliError> {
    if is_named || !std::io::stdout().is_terminal() {
        return Ok(io::write_result(Path::new(io::STANDARD), body)?);
    }
    let harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    let text = std::str::from_utf8(body)
        .ok()
        .filter(|text| text.chars().all(harmless))
        .ok_or(FullError::NotText(number))?;
    Ok(io::print(&shown(text))?)
}

/// Returns text that a terminal can show: line by line, with its tabs.
fn shown(text: &str) -> String {
    let tabbed = |line: &str| -> String {
        let words: Vec<String> = line.split('\t').map(visible).collect();
        words.join("\t")
    };
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        shown += &tabbed(line);
        shown += if line.ends_with('\n') { "\n" } else { "" };
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_lines_and_tabs_and_nothing_that_hides() {
        let letter = "pay\u{202e}lap\r\n\ta\u{200b}b\u{2028}c\n\n\u{645}\u{200c}\u{62e}";
        assert_eq!(shown(letter), "paylap\n\tabc\n\n\u{645}\u{200c}\u{62e}");
        assert_eq!(shown("one\n"), "one\n");
    }

    #[test]
    fn no_text_imitates_the_mark_of_a_retired_identity() {
        let message = |retired: Option<&str>, line: &str| Listed {
            number: 7,
            index: 12,
            further: Vec::new(),
            fetched: 0,
            bytes: 4,
            read: true,
            name: None,
            retired: retired.map(str::to_owned),
            withdrawn: false,
            header: None,
            first_line: Some(line.to_owned()),
        };
        let dir = tempfile::tempdir().unwrap();
        let nobody = Names::of(&Home::new(dir.path())).unwrap();
        let forged = message(None, "until 2026-11-23  fine");
        let real = message(Some("2026-11-23"), "fine");
        let columns = Columns::of(&[forged.clone(), real.clone()], false, &nobody);
        let at = columns.heading().find("TO ").unwrap();
        assert!(columns.line(&forged)[at..].starts_with("now "));
        assert!(columns.line(&real)[at..].starts_with("until 2026-11-23 "));
        let text = columns.heading().find("LETTER").unwrap();
        assert!(columns.line(&forged)[text..].starts_with("until 2026-11-23  fine"));
        // Without retired identities the list has no column for them.
        let columns = Columns::of(std::slice::from_ref(&forged), false, &nobody);
        let text = columns.heading().find("LETTER").unwrap();
        assert!(columns.line(&forged)[text..].starts_with("until 2026-11-23  fine"));
    }
}
