//! Advice for errors of mail: the argument or the method that helps.

use omr_errors::chain;
use omr_mail::MailError;
use omr_protocol::ClueKind;

/// Returns the text of an error with its causes, followed by advice.
pub(crate) fn with_advice(error: &MailError) -> String {
    match advice(error) {
        Some(advice) => format!("{}: {advice}", chain(error)),
        None => chain(error),
    }
}

fn advice(error: &MailError) -> Option<String> {
    let text = match error {
        MailError::NoIdentity(_) => "make one with Inbox.create",
        MailError::Exists(_) => {
            "Inbox.open opens it, Inbox.register completes its registration, another home makes another"
        }
        MailError::Keys(..) => "choose another home",
        MailError::ServerBound { fixed: true, .. } => {
            "make an identity with a smaller bound= in another home"
        }
        MailError::ServerBound { fixed: false, .. } => "pass a smaller bound=",
        MailError::Locked(_) => "pass passphrase=",
        MailError::NoServer => "Inbox.register with url= sets one",
        MailError::OtherParams(_) => "make an identity for it in another home",
        MailError::AddressParams(_) => {
            "ask the recipient for the address that names the right server"
        }
        MailError::Unsealed(_) => "where that is meant, pass sealing=\"none\"",
        MailError::LongLetter { .. } => {
            "send it in smaller pieces, or with large=True, and it arrives over many fetches or not at all"
        }
        MailError::OtherClues(kinds) => match kinds.found {
            ClueKind::Plain => "make an identity for it with clues=\"plain\"",
            ClueKind::Bound => "make an identity for it with clues=\"bound\"",
        },
        MailError::NoResolver(short) => return Some(format!("write {short}@URL")),
        MailError::NotPublished(_) => {
            "ask its owner to publish it, or for the text of Inbox.address"
        }
        MailError::NoContact(_) => "Inbox.contacts has all",
        MailError::NotRegistered => "Inbox.register registers them",
        MailError::KeysGone => {
            "only where this address is still yours, Inbox.register registers them again"
        }
        MailError::NoBatches(_) => "leave batches out, or pass another scheme=",
        MailError::NoInstant => "make an identity with scheme=\"instantomr\" or \"hybrid\"",
        MailError::NoMessage(_) => "Inbox.letters with all=True lists them",
        MailError::Version(_)
        | MailError::Damaged(_)
        | MailError::OtherInbox(_)
        | MailError::Record(_) => {
            "the command `omr inbox rebuild` fetches it again from the server and keeps the file under another name"
        }
        MailError::NotKept(_) => "Inbox.kept lists them",
        _ => return None,
    };
    Some(text.to_owned())
}
