//! `omr inbox kept`, `again`, `drop` and `rebuild`: a person's actions on ranges that did not arrive whole.

use super::inbox::{Style, fetch};
use super::mailbox::Mailbox;
use super::{OwnArgs, block_on, own_client};
use crate::args::Span;
use crate::commands::full::access::TokenArg;
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_console::args::bound;
use omr_mail::{Identity, Inbox, Kept, MailError};

#[derive(clap::Args)]
pub(crate) struct InboxAgain {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Messages, such as 329..431
    #[arg(value_name = "RANGE")]
    pub(crate) range: Span,
    /// Bound of these requests [default: the identity's]
    #[arg(long, value_name = "K", value_parser = bound())]
    pub(crate) bound: Option<u32>,
    /// Messages of one request: small ranges contain fewer messages for you than the bound
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) by: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn list(own: &OwnArgs, json: bool, ui: &Ui) -> Result<(), CliError> {
    let inbox = Inbox::beside(&own.identity()?.home)?;
    let kept = inbox.kept()?;
    if json {
        return Ok(io::print_json(&kept)?);
    }
    if kept.is_empty() {
        ui.announce("no range is kept: everything that was fetched is here");
    }
    Ok(io::print(&kept.iter().map(line).collect::<String>())?)
}

/// Returns the description of a kept range.
pub(super) fn line(kept: &Kept) -> String {
    let range = format!("{}..{}", kept.start, kept.end);
    let what = match kept.overflowed {
        Some(all) => {
            let least = if kept.exact { "" } else { "at least " };
            format!("{least}{all} messages for you, {} fit", kept.bound)
        }
        None if kept.unfetched > 0 => {
            let found = kept.unfetched;
            format!("{found} messages for you were found, more than fetches brought")
        }
        None => kept.reason.clone(),
    };
    let next = match (kept.asked_again, kept.fetches_left) {
        _ if kept.expired => {
            format!(
                "it expired on the board, and nothing more comes: `omr inbox drop {range}` forgets it"
            )
        }
        (true, _) => "it is asked for again".into(),
        (false, 0) if kept.unfetched > 0 => {
            format!(
                "`omr inbox again {range} --by 512` brings them, with all other payloads of the range"
            )
        }
        (false, 0) => {
            format!(
                "nothing more comes by itself: `omr inbox again {range}`, with --by in small requests, asks for it"
            )
        }
        (false, _) => fetches(kept),
    };
    format!("range {range}: {what}; {} read so far, {next}\n", kept.read)
}

/// Returns when the rest of a range arrives by itself.
pub(super) fn fetches(kept: &Kept) -> String {
    let (expected, most) = (kept.fetches_expected, kept.fetches_left);
    if expected < most {
        format!(
            "the rest comes with the next {expected} fetches, with {most} at most where much else comes meanwhile"
        )
    } else {
        format!("the rest comes with the next {most} fetches")
    }
}

/// Checks a bound against the identity's keys and the server before anything is recorded.
pub(super) fn check_bound(
    identity: &Identity,
    token: &TokenArg,
    bound: u32,
    ui: &Ui,
) -> Result<(), CliError> {
    block_on(async {
        let client = own_client(&identity.home, token, ui)?;
        let limits = client.limits().await.map_err(MailError::from)?;
        Ok(identity.check_bound(bound, &limits)?)
    })
}

pub(super) fn again(args: &InboxAgain, ui: &Ui) -> Result<(), CliError> {
    let mailbox = Mailbox::open(args.own.identity()?, &args.token, ui)?;
    let (identity, inbox) = (&mailbox.mail.identity, &mailbox.mail.inbox);
    let bound = args.bound.unwrap_or(identity.profile.bound);
    check_bound(identity, &args.token, bound, ui)?;
    let range = args.range.of(0..inbox.requests().cursor()?);
    let requests = inbox.again_range(range.clone(), bound, args.by)?;
    ui.warn(&format!(
        "asking for {}..{} again in {requests} requests of bound {bound}: the detector learns that you do",
        range.start, range.end
    ));
    let style = Style {
        all: false,
        last: None,
        conversations: false,
        json: args.json,
    };
    fetch(mailbox, false, style, ui)
}

pub(super) fn drop_range(own: &OwnArgs, range: Span, ui: &Ui) -> Result<(), CliError> {
    let inbox = Inbox::beside(&own.identity()?.home)?;
    let messages = range.of(0..inbox.requests().cursor()?);
    let (kept, requests) = inbox.drop_range(messages)?;
    ui.note(&format!(
        "forgot {kept} kept ranges and {requests} requests: their messages do not come any more"
    ));
    Ok(())
}

pub(super) fn rebuild(
    own: &OwnArgs,
    token: &TokenArg,
    from: Option<u64>,
    ui: &Ui,
) -> Result<(), CliError> {
    let identity = own.identity()?;
    // A wrong passphrase is reported before the inbox is renamed.
    identity.home.check_passphrase()?;
    let start = from.unwrap_or(identity.profile.begins);
    if let Some(aside) = Inbox::rebuild(&identity.home, start)? {
        ui.note(&format!("the old inbox is now {}", aside.display()));
    }
    ui.warn(&format!(
        "fetching all messages from {start} on: the server learns that the inbox was lost"
    ));
    let style = Style {
        all: true,
        last: None,
        conversations: false,
        json: false,
    };
    fetch(Mailbox::open(identity, token, ui)?, false, style, ui)
}
