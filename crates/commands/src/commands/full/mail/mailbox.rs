//! An identity with its inbox, and the retired ones that are still read, for commands.

use super::{chosen, operators};
use crate::commands::full::FullError;
use crate::commands::full::access::TokenArg;
use crate::commands::full::mail::advice::with_advice;
use crate::error::CliError;
use omr_console::Ui;
use omr_mail::{Collected, Identity, MailError, Retired, Stage};
use std::path::PathBuf;

/// An identity with all that a fetch needs.
pub(super) struct Mailbox {
    pub(super) mail: omr_mail::Mailbox,
    pub(super) token: TokenArg,
}

impl Mailbox {
    /// Opens everything, and warns of retired identities that cannot be read.
    pub(super) fn open(identity: Identity, token: &TokenArg, ui: &Ui) -> Result<Self, CliError> {
        let mail = omr_mail::Mailbox::open(identity)?;
        warn_of_unread(&mail.unread, ui);
        let token = token.clone();
        Ok(Self { mail, token })
    }
}

/// Warns of retired identities that cannot be read.
pub(super) fn warn_of_unread(unread: &[(PathBuf, MailError)], ui: &Ui) {
    for (dir, error) in unread {
        ui.warn(&format!(
            "the retired identity in {} is not read: {}",
            dir.display(),
            with_advice(error)
        ));
    }
}

/// Runs the network half of a retired identity's fetch. Returns `None` where its keys are no longer registered.
pub(super) async fn collect_retired(
    retired: &Retired,
    token: &TokenArg,
    ui: &Ui,
    progress: impl FnMut(Stage),
) -> Result<Option<Collected>, CliError> {
    if retired.identity.registered().is_err() {
        return Ok(None);
    }
    let (identity, inbox) = (&retired.identity, &retired.inbox);
    let clients = operators(&identity.home, token, ui)?;
    let client = chosen(&clients, identity, inbox, ui).await?;
    let collected = retired.collect(|_| Ok(client.clone()), progress).await;
    collected.map_err(|error| match error {
        CliError::Full(FullError::Mail(source)) => FullError::Retired {
            name: retired.name.clone(),
            source,
        }
        .into(),
        other => other,
    })
}
