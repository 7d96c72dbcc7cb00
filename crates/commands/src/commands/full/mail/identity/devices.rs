//! `omr id sync`, and what commands do for other devices of the identity.

use crate::commands::full::access::TokenArg;
use crate::commands::full::mail::time::today;
use crate::commands::full::mail::{OwnArgs, own_server};
use crate::commands::full::network::connect;
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_mail::{Followed, Home, MailError, canary_client, follow, share};

#[derive(clap::Args)]
pub(crate) struct IdSync {
    #[command(flatten)]
    pub(crate) own: OwnArgs,
    #[command(flatten)]
    pub(crate) token: TokenArg,
}

pub(crate) const DEVICES: &str = "\
Examples:
  omr id export --device --out phone.omr     # on the first device
  omr id import phone.omr --home phone       # on the other one
  omr id sync                                # on either, now and then

`omr id sync` writes to the other devices, in a letter to this address: contacts that were added or removed and letters \
that were read. `omr inbox` and `omr watch` apply such letters when they come. `omr id rotate` and `omr id forget` write \
by themselves: the other devices take the new address, read the old one as long as this device does, and forget it with \
it. Where somebody else may have a device or an old secret, `omr id rotate --unlink` makes an address whose keys are posted \
to nobody; export it for each device again.

The server sees that somebody posts, when, and the number of messages. What was read is posted only by this \
command: run it at fixed times, or when you like, but not by a program that reacts to letters.";

pub(super) async fn sync(args: &IdSync, ui: &Ui) -> Result<(), CliError> {
    let home = args.own.identity()?.home;
    let text = match post(&home, &args.token, ui).await? {
        0 => "nothing to post: the other devices have everything\n".to_owned(),
        1 => "posted 1 message to the other devices\n".to_owned(),
        messages => format!("posted {messages} messages to the other devices\n"),
    };
    Ok(io::print(&text)?)
}

async fn post(home: &Home, token: &TokenArg, ui: &Ui) -> Result<u64, CliError> {
    let server = own_server(home, token)?;
    let (client, _) = canary_client(&server, |endpoint| connect(endpoint, ui)).await?;
    Ok(share(home, &client).await?)
}

/// Posts a change of addresses to the other devices, if there are any. A failure is only a warning.
pub(super) async fn inform(home: &Home, token: &TokenArg, ui: &Ui) -> Result<(), CliError> {
    if home.is_linked()?
        && let Err(error) = post(home, token, ui).await
    {
        ui.warn(&format!(
            "the other devices could not be informed: {}; `omr id sync` does it later",
            error.text()
        ));
    }
    Ok(())
}

/// Makes the changes of addresses that other devices made, and prints them. The inboxes must be closed. Returns whether
/// there were any; where another command fetches, it makes them.
pub(in crate::commands::full::mail) fn follow_others(
    home: &Home,
    ui: &Ui,
) -> Result<bool, CliError> {
    let followed = match follow(home, &today()) {
        Err(MailError::Busy) => return Ok(false),
        followed => followed?,
    };
    for name in &followed.replaced {
        ui.announce(&format!(
            "another device made a new address, which `omr address` prints: the old one is read as {name}"
        ));
    }
    for name in &followed.added {
        ui.announce(&format!(
            "another device made another address at the same time, which is read as {name}: give people what `omr \
             address` prints now"
        ));
    }
    for name in &followed.forgotten {
        ui.announce(&format!("another device forgot {name}: its letters stay"));
    }
    Ok(followed != Followed::default())
}
