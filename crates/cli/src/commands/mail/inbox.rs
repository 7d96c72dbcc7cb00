//! `omr inbox`.

use super::{block_on, home, show};
use crate::args::{Inbox as Args, InboxAct, InboxRead};
use crate::commands::keygen::create_folder;
use crate::error::CliError;
use crate::io::{self, Access};
use crate::progress::Ui;
use omr_mail::{
    CanaryState, Identity, Inbox, Kept, Listed, MailError, Outcome, Reader, Taken, collect,
    post_canary,
};
use serde::Serialize;
use std::io::IsTerminal;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Serialize)]
struct Report {
    messages: Vec<Listed>,
    kept: Vec<Kept>,
    incomplete_files: usize,
    unopened: u64,
}

#[derive(Serialize)]
struct CanaryLine {
    made: u64,
    index: Option<u64>,
    state: CanaryState,
    missing_from: Option<std::ops::Range<u64>>,
}

pub(in crate::commands) fn run(args: &Args, ui: &Ui) -> Result<(), CliError> {
    match &args.act {
        Some(InboxAct::Read(read)) => return self::read(read),
        None if args.audit => return audit(args),
        None => {}
    }
    let identity = Identity::open(&home(&args.home)?)?;
    let inbox = Inbox::open(&identity.home)?;
    let mut taken = Vec::new();
    if !args.offline {
        ask_again(args, &inbox, ui)?;
        let fetched = block_on(network(args, ui, &identity, &inbox));
        // What came before a failure is taken in all the same: the server is not spoken to any more.
        taken = inbox.take_in(&Reader::new(&identity)?)?;
        if fetched.is_err() {
            list(args, ui, &inbox)?;
            return fetched;
        }
    } else if inbox.pending()? > 0 && identity.profile.board_id.is_some() {
        taken = inbox.take_in(&Reader::new(&identity)?)?;
    }
    list(args, ui, &inbox)?;
    verdict(&taken)
}

/// What a person asked for, with what it tells.
fn ask_again(args: &Args, inbox: &Inbox, ui: &Ui) -> Result<(), CliError> {
    if let Some(bound) = args.raise_bound {
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

async fn network(args: &Args, ui: &Ui, identity: &Identity, inbox: &Inbox) -> Result<(), CliError> {
    if args.canary {
        canary(ui, identity, inbox).await?;
    }
    let client = identity.home.server()?.client()?;
    let bar = ui.bar();
    let progress = |stage| show(&bar, stage);
    Ok(collect(&client, identity, inbox.requests(), progress).await?)
}

/// Posts a canary without the token, if the server lets strangers post.
pub(super) async fn canary(ui: &Ui, identity: &Identity, inbox: &Inbox) -> Result<(), CliError> {
    let server = identity.home.server()?;
    let mut client = server.stranger()?;
    let capabilities = client.capabilities().await.map_err(MailError::from)?;
    if !capabilities.rights.is_some_and(|rights| rights.post) && server.token.is_some() {
        ui.warn(
            "the server takes posts with a token only: it can tell this canary from other people's letters",
        );
        client = server.client()?;
    }
    Ok(post_canary(&client, identity, inbox).await?)
}

fn list(args: &Args, ui: &Ui, inbox: &Inbox) -> Result<(), CliError> {
    let (incomplete_files, unopened) = inbox.leftovers()?;
    let report = Report {
        messages: inbox.list(args.all)?,
        kept: inbox.kept()?,
        incomplete_files,
        unopened,
    };
    if args.json {
        return io::print_json(&report);
    }
    io::print(&report.messages.iter().map(line).collect::<String>())?;
    for kept in &report.kept {
        ui.warn(&format!(
            "{}..{} kept: {}",
            kept.start, kept.end, kept.reason
        ));
    }
    if incomplete_files > 0 {
        ui.note(&format!(
            "{incomplete_files} files wait for more of their parts"
        ));
    }
    if unopened > 0 {
        ui.note(&format!("{unopened} messages so far could not be opened"));
    }
    Ok(())
}

/// One line of the list.
pub(super) fn line(message: &Listed) -> String {
    let mark = if message.read { ' ' } else { '*' };
    let text = match (&message.name, &message.first_line) {
        (Some(name), Some(line)) => format!("{name}  {line}"),
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => "(no text)".to_owned(),
    };
    let time = time(message.fetched);
    format!(
        "{mark}{:>5}  {time}  {:>10}  {text}\n",
        message.number, message.bytes
    )
}

/// UTC, to the minute.
fn time(seconds: u64) -> String {
    let days = seconds / 86_400;
    // Days to a civil date, by Howard Hinnant's algorithm: eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}")
}

/// Exit codes of what a fetch met.
pub(super) fn verdict(taken: &[Taken]) -> Result<(), CliError> {
    let kept = |taken: &'_ Taken| match &taken.outcome {
        Outcome::Kept(kept) => Some(kept.clone()),
        Outcome::Delivered { .. } => None,
    };
    let kept: Vec<Kept> = taken.iter().filter_map(kept).collect();
    let overflowed = kept
        .iter()
        .filter_map(|kept| Some((kept.overflowed?, kept.bound)));
    if let Some((most, bound)) = overflowed.clone().max() {
        let groups = overflowed.count();
        return Err(CliError::Overflowed {
            groups,
            most,
            bound,
        });
    }
    match kept.first() {
        Some(first) => Err(CliError::Damaged {
            ranges: kept.len(),
            reason: first.reason.clone(),
        }),
        None => Ok(()),
    }
}

fn audit(args: &Args) -> Result<(), CliError> {
    let audit = Inbox::open(&Identity::open(&home(&args.home)?)?.home)?.audit()?;
    let line = |canary: &omr_mail::Canary| CanaryLine {
        made: canary.made,
        index: canary.index,
        state: canary.state,
        missing_from: canary.missing_from.clone(),
    };
    let lines: Vec<CanaryLine> = audit.canaries.iter().map(line).collect();
    if args.json {
        io::print_json(&lines)?;
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
            };
            format!("{}  {index:>8}  {state}\n", time(line.made))
        };
        io::print(&lines.iter().map(text).collect::<String>())?;
    }
    match audit.count(CanaryState::Missing) {
        0 => Ok(()),
        missing => Err(CliError::CanariesMissing { missing }),
    }
}

fn read(args: &InboxRead) -> Result<(), CliError> {
    let inbox = Inbox::open(&Identity::open(&home(&args.home)?)?.home)?;
    if let Some(dir) = &args.out {
        create_folder(dir)?;
    }
    for &number in &args.numbers {
        let body = inbox.body(number)?;
        match &args.out {
            Some(dir) => {
                let path = dir.join(io::numbered(number, inbox.name(number)?.as_deref()));
                io::stage_bytes(&path, Access::Private, &body)?.commit(false)?;
                io::print(&format!("{}\n", path.display()))?;
            }
            None => print(number, &body)?,
        }
        inbox.mark_read(&[number])?;
    }
    Ok(())
}

/// Prints a message; at a terminal only what cannot steer it.
fn print(number: u64, body: &[u8]) -> Result<(), CliError> {
    let harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    let text = std::str::from_utf8(body);
    let is_text = text.is_ok_and(|text| text.chars().all(harmless));
    if std::io::stdout().is_terminal() && !is_text {
        return Err(CliError::NotText { number });
    }
    io::write_result(std::path::Path::new(io::STANDARD), body)
}

/// The system's time after `wait`, for notes.
pub(super) fn clock(wait: Duration) -> String {
    let now = SystemTime::now() + wait;
    time(now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_civil() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00"),
            (951_782_400, "2000-02-29 00:00"),
            (1_709_251_199, "2024-02-29 23:59"),
            (4_102_444_800, "2100-01-01 00:00"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
}
