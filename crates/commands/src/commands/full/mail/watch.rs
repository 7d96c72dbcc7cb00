//! `omr watch`: the network follows a schedule, and decoding has a thread of its own.

use super::identity::{follow_others, keep_published};
use super::inbox::{Columns, canary, print_report, verdict, warn_unanswered};
use super::mailbox::{Mailbox, collect_retired};
use super::senders::Names;
use super::socket::{Daemon, Socket};
use super::time::clock;
use super::{block_on, chosen, operators};
use super::{history, kept};
use crate::commands::full::FullError;
use crate::commands::full::access::TokenArg;
use crate::commands::full::mail::advice::with_advice;
use crate::commands::full::mail::{OwnArgs, duration};
use crate::error::CliError;
use crate::io;
use omr_client::os_rng;
use omr_console::Ui;
use omr_mail::{
    Grid, Home, Identity, Inbox, Listed, Outcome, Reader, Retired, Taken, apply, close_session,
    collect, cut, next_canary,
};
use omr_remote::Client;
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

#[derive(clap::Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Time between fetches, such as 500ms, 60s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) every: Duration,
    /// Stop after this number of ticks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Let the server process messages as they come, and make a digest at every tick
    #[arg(long)]
    pub(crate) session: bool,
    /// Post this number of canaries a day on average, at random times
    #[arg(long, value_name = "P", value_parser = rate)]
    pub(crate) canaries: Option<f64>,
    /// Let programs of this machine list, read and send letters at a socket, omr.sock in the identity's folder
    #[arg(long)]
    pub(crate) socket: bool,
    /// Print one JSON object for each message
    #[arg(long)]
    pub(crate) json: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: Result<f64, _> = text.parse();
    let sensible = rate
        .ok()
        .filter(|rate| *rate > 0.0 && *rate <= 10_000_000.0);
    sensible.ok_or_else(|| format!("expected a number of canaries a day above 0, found {text:?}"))
}

pub(crate) const WATCH: &str = "\
Examples:
  omr watch
  omr watch --every 300s --canaries 4
  omr watch --home work --every 10s --session    # needs an instant.key
  omr watch --every 1s --count 3 --json
  omr watch --socket                    # for programs: JSON-RPC

Fetches at whole multiples of --every on the clock; a slow fetch skips ticks. Decoding has a thread of its own, \
and canaries come at random: nothing that the server sees depends on what was found. That is why no command can \
be run for a message: whatever it did, a detector or a sender could see, and learn your secret from your \
reactions.

With --socket, programs of the same user list, read, mark, delete, mute and send letters at omr.sock in the identity's folder, \
and are sent new ones after `subscribe`: JSON-RPC 2.0, one object a line (docs/guide.md). None of them waits for a fetch, or \
needs the passphrase. A program that sends letters by itself when others come shows that they came: let it write at \
fixed times.";

/// The shared state of a watch.
struct Scene<'a> {
    args: &'a Watch,
    ui: &'a Ui,
    identity: &'a Identity,
    inbox: &'a Inbox,
    reader: &'a Reader,
    retired: &'a [Retired],
    token: &'a TokenArg,
    daemon: Option<&'a Daemon<'a>>,
    /// Is notified when another device changed addresses: the watch begins again with these.
    changed: Notify,
}

pub(in crate::commands) fn run(args: &Watch, ui: &Ui) -> Result<(), CliError> {
    let mut left = args.count;
    let home = args.own.home()?;
    while watch(&home, args, &mut left, ui)? {
        follow_others(&home, ui)?;
    }
    // The last fetch may have brought a change.
    follow_others(&home, ui)?;
    Ok(())
}

/// Watches until the ticks that are `left` have passed or a person ends it, or until another device changed addresses,
/// and returns true then.
fn watch(home: &Home, args: &Watch, left: &mut Option<u64>, ui: &Ui) -> Result<bool, CliError> {
    let mailbox = Mailbox::open(Identity::open(home)?, &args.token, ui)?;
    let socket = args.socket.then(|| Socket::open(home)).transpose()?;
    let daemon = socket
        .as_ref()
        .map(|socket| Daemon::new(home, &mailbox.mail.inbox, &mailbox.token, ui, socket));
    let scene = Scene {
        daemon: daemon.as_ref(),
        args,
        ui,
        identity: &mailbox.mail.identity,
        inbox: &mailbox.mail.inbox,
        reader: &mailbox.mail.reader,
        retired: &mailbox.mail.retired,
        token: &mailbox.token,
        changed: Notify::new(),
    };
    let (ticks, ticked) = channel();
    std::thread::scope(|scope| {
        let decoding = scope.spawn(|| decode(&scene, ticked));
        let _serving = scene.daemon.map(|daemon| daemon.serve_in(scope));
        // The sender is dropped with the schedule, which ends the thread.
        let watched = block_on(schedule(&scene, left, ticks));
        let taken = decoding
            .join()
            .unwrap_or_else(|_| Err(FullError::Interrupted.into()))?;
        if watched? {
            return Ok(true);
        }
        verdict(&taken, scene.inbox, scene.retired, ui)?;
        Ok(false)
    })
}

/// Calls the server at every tick, and posts canaries between. Returns whether another device changed addresses.
async fn schedule(
    scene: &Scene<'_>,
    left: &mut Option<u64>,
    ticks: Sender<()>,
) -> Result<bool, CliError> {
    let clients = operators(&scene.identity.home, scene.token, scene.ui)?;
    let mut session = None;
    let grid = Grid::new(scene.args.every);
    // Digests that were collected earlier may be decoded at once.
    let _ = ticks.send(());
    let fetches = async {
        scene.ui.note(&format!(
            "next fetch at {}, then every {:?}",
            clock(grid.wait(SystemTime::now())),
            scene.args.every
        ));
        let mut first = true;
        while *left != Some(0) {
            let wait = grid.wait(SystemTime::now());
            tokio::time::sleep(wait).await;
            let is_first = std::mem::take(&mut first);
            let ticked = tick(scene, &clients, &mut session, is_first).await;
            for retired in scene.retired {
                tick_retired(scene, retired, is_first).await;
            }
            match ticked {
                Err(CliError::Full(FullError::Mail(error))) if error.is_passing() => {
                    scene.ui.warn(&format!(
                        "{}; trying again at the next tick",
                        with_advice(&error)
                    ));
                }
                ended => ended?,
            }
            let _ = ticks.send(());
            *left = left.map(|left| left - 1);
        }
        Ok::<(), CliError>(())
    };
    let mut is_changed = false;
    tokio::select! {
        ended = fetches => ended?,
        ended = canaries(scene) => ended?,
        () = scene.changed.notified() => is_changed = true,
        _ = tokio::signal::ctrl_c() => {}
    }
    if let Some(client) = session {
        close_session(client, scene.inbox.requests()).await?;
    }
    Ok(is_changed)
}

/// Fetches from one of the operators, which `session` becomes if a session is used.
async fn tick<'a>(
    scene: &Scene<'_>,
    clients: &'a [Client],
    session: &mut Option<&'a Client>,
    first: bool,
) -> Result<(), CliError> {
    let Scene {
        identity,
        inbox,
        reader,
        ..
    } = scene;
    let client = chosen(clients, identity, inbox, scene.ui).await?;
    let collected = if scene.args.session {
        *session = Some(client);
        cut(client, identity, inbox.requests()).await
    } else {
        collect(client, identity, inbox, reader, |_| {}).await
    };
    history::report(scene.ui, scene.inbox)?;
    let collected = collected?;
    // A report that holds for every fetch is printed once.
    if first || !collected.refused.is_empty() || !collected.missed.is_empty() {
        print_report(scene.ui, scene.identity, &collected);
    }
    keep_published(scene.identity, client, scene.ui).await;
    Ok(())
}

/// Runs a tick of a retired identity. One that fails for good holds up no other.
async fn tick_retired(scene: &Scene<'_>, retired: &Retired, first: bool) {
    let collected = collect_retired(retired, scene.token, scene.ui, |_| {}).await;
    let reported = history::report(scene.ui, &retired.inbox);
    match collected.and_then(|collected| reported.map(|()| collected)) {
        Ok(Some(collected))
            if first || !collected.refused.is_empty() || !collected.missed.is_empty() =>
        {
            print_report(scene.ui, &retired.identity, &collected);
        }
        Ok(_) => {}
        Err(error) => {
            scene
                .ui
                .warn(&format!("{}; trying again at the next tick", error.text()));
        }
    }
}

/// Posts canaries at random times, without an end.
async fn canaries(scene: &Scene<'_>) -> Result<(), CliError> {
    let Some(rate) = scene.args.canaries else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(next_canary(rate, &mut os_rng())).await;
        match canary(scene.identity, scene.token, scene.inbox, scene.ui).await {
            Err(CliError::Full(FullError::Mail(error))) if error.is_passing() => {
                scene.ui.warn(&format!("canary: {}", with_advice(&error)));
            }
            posted => posted?,
        }
    }
}

/// Decodes the collected digests after every tick, and prints their letters.
fn decode(scene: &Scene<'_>, ticked: Receiver<()>) -> Result<Vec<Taken>, CliError> {
    let mut all = Vec::new();
    let mut is_first = true;
    for () in ticked {
        let mut new = BTreeSet::new();
        let mut taken = scene.inbox.take_in(scene.reader)?;
        for retired in scene.retired {
            let (messages, theirs) = retired.take_in(scene.inbox)?;
            new.extend(messages);
            // The letters of a retired identity have these numbers here.
            taken.extend(
                theirs
                    .into_iter()
                    .filter(|one| matches!(one.outcome, Outcome::Kept(_))),
            );
        }
        for one in taken {
            match &one.outcome {
                Outcome::Kept(kept) => {
                    scene.ui.warn(kept::line(kept).trim_end());
                    all.push(one);
                }
                Outcome::Delivered { messages, .. } => new.extend(messages),
                Outcome::Unanswered(reason) => warn_unanswered(reason, scene.ui),
            }
        }
        if is_first || !new.is_empty() {
            is_first = false;
            let applied = apply(&scene.identity.home, scene.inbox)?;
            new.retain(|number| !applied.letters.contains(number));
            print_messages(scene, &new)?;
            if applied.is_due {
                scene.changed.notify_one();
            }
        }
    }
    Ok(all)
}

fn print_messages(scene: &Scene<'_>, messages: &BTreeSet<u64>) -> Result<(), CliError> {
    if messages.is_empty() {
        return Ok(());
    }
    let all = scene.inbox.list(true)?;
    let is_new = |message: &&Listed| messages.contains(&message.number);
    let names = Names::of(&scene.identity.home)?;
    let columns = Columns::of(&all, !scene.retired.is_empty(), &names);
    for message in all.iter().filter(is_new) {
        if let Some(daemon) = scene.daemon {
            daemon.announce(&names.shown(message));
        }
        if scene.args.json {
            io::print_json(&names.shown(message))?
        } else {
            io::print(&columns.line(message))?
        }
    }
    Ok(())
}
