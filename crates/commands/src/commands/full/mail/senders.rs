//! The senders of letters, as commands show them; muted senders; deleted letters.

use crate::commands::full::mail::OwnArgs;
use crate::commands::full::mail::time::time;
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_mail::{Heading, Home, Inbox, Listed, MailError, Sender, ShortAddress, delete};
use omr_protocol::from_hex;
use serde::Serialize;
use std::collections::BTreeMap;

/// The text in place of a sender whose signature does not match. No contact has such a name.
const FORGED: &str = "(forged)";
/// The text in place of a sender of a letter that names nobody.
const UNSIGNED: &str = "(unsigned)";

/// The names of the contacts, by the fingerprints that letters state.
pub(super) struct Names(BTreeMap<String, String>);

/// A letter for programs, with the contact who signed it.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    #[serde(flatten)]
    listed: &'a Listed,
    /// The name of the contact whose address the sender has.
    contact: Option<&'a str>,
}

impl Names {
    pub(super) fn of(home: &Home) -> Result<Self, MailError> {
        Ok(Self(home.contact_names()?))
    }

    pub(super) fn shown<'a>(&'a self, listed: &'a Listed) -> Shown<'a> {
        let genuine = listed.header.as_ref().and_then(Heading::genuine);
        let contact = genuine.and_then(|fingerprint| self.0.get(fingerprint));
        Shown {
            listed,
            contact: contact.map(String::as_str),
        }
    }

    /// Returns a letter's sender in one word: a contact's name, or a short address without a server, or what is wrong.
    pub(super) fn sender(&self, listed: &Listed) -> String {
        let header = listed.header.as_ref();
        match header.and_then(|header| header.sender.as_ref()) {
            None => UNSIGNED.to_owned(),
            Some(sender) if !sender.genuine => FORGED.to_owned(),
            Some(sender) => self.name(&sender.fingerprint),
        }
    }

    /// Returns the contact's name, or the short address without a server.
    pub(super) fn name(&self, fingerprint: &str) -> String {
        match self.0.get(fingerprint) {
            Some(name) => name.clone(),
            None => short(fingerprint, None),
        }
    }

    /// Prints what a letter states beside its content, if it states anything.
    pub(super) fn tell(&self, letter: &Listed, ui: &Ui) {
        let Some(header) = &letter.header else { return };
        let number = letter.number;
        if let Some(reason) = &header.unreadable {
            ui.warn(&format!(
                "letter {number}: who sent it, and its subject, cannot be read: {reason}"
            ));
            return;
        }
        let mut text = match &header.sender {
            Some(sender) => self.described(number, sender),
            None => format!("letter {number} names no sender"),
        };
        if let Some(at) = header.time {
            text += &format!("; written {} by the sender's clock", time(at));
        }
        for (what, stated) in [
            ("subject", &header.subject),
            ("media type", &header.media_type),
        ] {
            if let Some(stated) = stated {
                text += &format!("; {what}: {stated}");
            }
        }
        match &header.sender {
            Some(sender) if !sender.genuine => ui.warn(&text),
            _ => ui.announce(&text),
        }
    }

    fn described(&self, number: u64, sender: &Sender) -> String {
        let address = short(&sender.fingerprint, sender.server.clone());
        match self.0.get(&sender.fingerprint) {
            _ if !sender.genuine => format!(
                "letter {number}: sender forged: the signature does not match {address}: somebody else wrote it, or it \
                 was written to somebody else, or altered"
            ),
            Some(name) => format!("letter {number} from {name}"),
            None => format!("letter {number} from an unknown sender, {address}"),
        }
    }
}

/// Returns the short address of a fingerprint in hexadecimal digits.
fn short(fingerprint: &str, server: Option<String>) -> String {
    match from_hex(fingerprint) {
        Some(bytes) => ShortAddress::new(bytes, server).to_string(),
        None => fingerprint.to_owned(),
    }
}

/// Deletes letters.
pub(super) fn delete_letters(own: &OwnArgs, numbers: &[u64]) -> Result<(), CliError> {
    Ok(delete(&own.identity()?.home, numbers)?)
}

/// Mutes a sender, or lists all muted senders.
pub(super) fn mute(own: &OwnArgs, who: Option<&str>, ui: &Ui) -> Result<(), CliError> {
    let home = own.identity()?.home;
    let inbox = Inbox::beside(&home)?;
    if let Some(who) = who {
        return Ok(inbox.mute(&home.sender(who)?)?);
    }
    let (names, muted) = (Names::of(&home)?, inbox.muted()?);
    if muted.is_empty() {
        ui.announce("no sender is muted");
    }
    let lines = muted.iter().map(|sender| names.name(sender) + "\n");
    Ok(io::print(&lines.collect::<String>())?)
}

/// Ends the muting of a sender.
pub(super) fn unmute(own: &OwnArgs, who: &str, ui: &Ui) -> Result<(), CliError> {
    let home = own.identity()?.home;
    let inbox = Inbox::beside(&home)?;
    if !inbox.unmute(&home.sender(who)?)? {
        ui.note("this sender was not muted");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(sender: Option<(u8, bool)>) -> Listed {
        let sender = sender.map(|(byte, genuine)| Sender {
            fingerprint: omr_protocol::hex(&[byte; 16]),
            server: Some("https://mail.example.org".into()),
            genuine,
        });
        Listed {
            number: 7,
            index: 12,
            further: Vec::new(),
            fetched: 0,
            bytes: 4,
            read: false,
            name: None,
            retired: None,
            withdrawn: false,
            header: Some(Heading {
                sender,
                ..Heading::default()
            }),
            first_line: None,
        }
    }

    #[test]
    fn a_forged_letter_is_never_shown_as_from_its_sender() {
        let names = Names([(omr_protocol::hex(&[1; 16]), "bob".to_owned())].into());
        let unknown = names.sender(&letter(Some((2, true))));
        assert!(
            unknown.starts_with("omr1") && unknown.len() == 36,
            "{unknown}"
        );
        assert_eq!(names.sender(&letter(Some((1, true)))), "bob");
        assert_eq!(names.sender(&letter(Some((1, false)))), FORGED);
        assert_eq!(names.sender(&letter(None)), UNSIGNED);
        let contact = |letter: &Listed| names.shown(letter).contact.map(str::to_owned);
        assert_eq!(contact(&letter(Some((1, true)))).as_deref(), Some("bob"));
        assert_eq!(contact(&letter(Some((1, false)))), None);
        let described = |byte, genuine| {
            let header = letter(Some((byte, genuine))).header.unwrap();
            names.described(7, &header.sender.unwrap())
        };
        assert_eq!(described(1, true), "letter 7 from bob");
        let forged = described(1, false);
        assert!(
            !forged.contains("bob") && forged.contains("sender forged"),
            "{forged}"
        );
        assert!(forged.contains("omr1qyqszqgp"), "{forged}");
        let unknown = described(2, true);
        assert!(unknown.ends_with("@https://mail.example.org"), "{unknown}");
    }
}
