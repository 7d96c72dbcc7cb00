//! The two halves of a fetch: one calls the server and cannot name a message, one decodes without a connection.

use crate::{BindingError, OpenInbox, Received, Watch};
use omr_mail::{
    Collected, Fork, Home, Identity, Inbox, MailError, Mailbox, Outcome, Spares, Stage, collect,
    cut, publish_again,
};
use std::iter;

/// The result of decoding.
pub struct Decoded {
    /// The letters.
    pub letters: Vec<Received>,
    /// The ranges that brought none.
    pub kept: Vec<omr_mail::Kept>,
    /// The number of payloads that could not be opened.
    pub unopened: usize,
    /// Warnings for the program's log.
    pub warnings: Vec<String>,
}

impl OpenInbox {
    /// Fetches all messages since the last fetch, and decodes them. `describe` returns the text of an error for a
    /// warning.
    ///
    /// Errors: `Beside`, `Fetching`, `Mail`, `Stopped`.
    pub fn take(
        &self,
        describe: fn(&MailError) -> String,
        watch: &impl Watch,
    ) -> Result<Decoded, BindingError> {
        self.check_fetches()?;
        let _turn = self.turn()?;
        let fetched = self.network.wait(watch, self.fetch(false, describe, watch));
        // Digests that were collected before a failure are decoded too: that needs no call to the server.
        let mut decoded = self.take_in()?;
        decoded.warnings.splice(0..0, fetched?);
        Ok(decoded)
    }

    /// Runs the network half for all identities. Returns warnings for the program's log, with the texts of errors by
    /// `describe`. With `session` a digest of the server's session replaces the requested one.
    ///
    /// Errors: `Mail`. A retired identity that fails holds up no other.
    pub async fn fetch(
        &self,
        session: bool,
        describe: fn(&MailError) -> String,
        watch: &impl Watch,
    ) -> Result<Vec<String>, BindingError> {
        let Mailbox {
            identity,
            inbox,
            reader,
            ..
        } = &self.mailbox;
        let client = self.client()?;
        let progress = |stage| show(watch, stage);
        let fetched = if session {
            cut(&client, identity, inbox.requests()).await
        } else {
            collect(&client, identity, inbox, reader, progress).await
        };
        let mut warnings = Vec::new();
        for retired in &self.mailbox.retired {
            let connect = |home: &Home| {
                let mut server = home.server()?;
                server.token = self.server.token.clone();
                Ok::<_, MailError>(self.network.connect(server.endpoint())?)
            };
            match retired.collect(connect, |stage| show(watch, stage)).await {
                Ok(Some(collected)) => news(&retired.identity, &collected, &mut warnings),
                Ok(None) => {}
                Err(error) => warnings.push(format!(
                    "the retired identity {}: {}",
                    retired.name,
                    describe(&error)
                )),
            }
        }
        news(identity, &fetched?, &mut warnings);
        let retired = self.mailbox.retired.iter().map(|retired| &retired.inbox);
        for inbox in iter::once(&self.mailbox.inbox).chain(retired) {
            warnings.extend(inbox.new_forks()?.iter().map(Fork::to_string));
        }
        if let Err(error) = publish_again(identity, &client).await {
            warnings.push(format!(
                "the address was not published again: {}",
                describe(&error)
            ));
        }
        Ok(warnings)
    }

    /// Returns the unread letters, or with `all` all letters, with their contents.
    ///
    /// Errors: `Mail`.
    pub fn letters(&self, all: bool) -> Result<Vec<Received>, BindingError> {
        letters_of(&self.mailbox.inbox, all, |_| true)
    }

    /// Decodes the received digests.
    ///
    /// Errors: `Mail`.
    pub fn take_in(&self) -> Result<Decoded, BindingError> {
        let (taken, mut numbers) = self.mailbox.take_in()?;
        let (mut kept, mut unopened, mut warnings) = (Vec::new(), 0, Vec::new());
        for taken in taken {
            match taken.outcome {
                Outcome::Kept(range) => kept.push(range),
                Outcome::Delivered {
                    messages,
                    unopened: closed,
                } => {
                    numbers.extend(messages);
                    unopened += closed;
                }
                Outcome::Unanswered(reason) => warnings.push(format!(
                    "an answer of the server brought nothing ({reason}): its messages wait for the next fetch"
                )),
            }
        }
        if !kept.is_empty() {
            // The ranges are listed again, with the messages that later digests contained.
            let ranges: Vec<_> = kept.iter().map(omr_mail::Kept::range).collect();
            kept = self.mailbox.inbox.kept()?;
            kept.retain(|kept| ranges.contains(&kept.range()));
        }
        let letters = if numbers.is_empty() {
            Vec::new()
        } else {
            letters_of(&self.mailbox.inbox, true, |number| {
                numbers.contains(&number)
            })?
        };
        Ok(Decoded {
            letters,
            kept,
            unopened,
            warnings,
        })
    }
}

/// Returns the letters of an inbox with their contents.
fn letters_of(
    inbox: &Inbox,
    all: bool,
    wanted: impl Fn(u64) -> bool,
) -> Result<Vec<Received>, BindingError> {
    let listed = inbox.list(all)?.into_iter();
    let read = |listed: omr_mail::Listed| {
        let data = inbox.body(listed.number)?;
        Ok(Received { listed, data })
    };
    listed.filter(|one| wanted(one.number)).map(read).collect()
}

fn show(watch: &impl Watch, stage: Stage) {
    match stage {
        Stage::Queued(ahead) => watch.at("waiting", 0, ahead),
        Stage::Running(name, done, all) => watch.at(&name, done, all),
    }
}

/// Adds a warning for everything that differs from the identity's profile.
fn news(identity: &Identity, collected: &Collected, warnings: &mut Vec<String>) {
    for (range, reason) in &collected.refused {
        let (start, end) = (range.start, range.end);
        warnings.push(format!(
            "the server refuses messages {start}..{end} for good, they are kept: {reason}"
        ));
    }
    for missed in &collected.missed {
        let (start, end) = (missed.start, missed.end);
        warnings.push(format!(
            "messages {start}..{end} expired before they were fetched"
        ));
    }
    if collected.spares == Spares::NotServed {
        warnings.push("letters longer than the bound do not come whole from this server".into());
    }
    if let Err(why) = &collected.ordered {
        warnings.push(format!(
            "the server works batches when they are asked for, not when they fill: {why}"
        ));
    }
    let (bound, own) = (collected.bound, identity.profile.bound);
    if bound < own && collected.spares != Spares::TwoRounds {
        warnings.push(format!(
            "the server or the keys serve a bound of {bound} at most, not {own}"
        ));
    }
}
