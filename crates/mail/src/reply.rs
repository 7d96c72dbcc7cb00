//! Replies to letters.

use crate::{Inbox, MailError, ShortAddress, unix_now};
use omr_client::header::{Header, Thread};
use omr_client::os_rng;
use omr_protocol::from_hex;
use rand_core::Rng;

/// The parts of a letter that a reply repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The letter's sender: the fingerprint of an address, and the server that may have it. [`ShortAddress::find`]
    /// returns the address that signed the letter, or an error.
    pub to: ShortAddress,
    /// The conversation, a new one if the letter has none.
    pub thread: Thread,
    /// The letter's subject.
    pub subject: Option<String>,
}

impl Reply {
    /// Returns the reply to a letter whose sender's signature matches.
    ///
    /// Errors: `NoMessage`, `NoSender`, `ForgedSender`; those of the inbox.
    pub fn to(inbox: &Inbox, number: u64) -> Result<Self, MailError> {
        let header = inbox.letter(number)?.header;
        let header = header.ok_or(MailError::NoSender(number))?;
        let sender = header.sender.ok_or(MailError::NoSender(number))?;
        if !sender.genuine {
            return Err(MailError::ForgedSender(number));
        }
        let fingerprint = from_hex(&sender.fingerprint).ok_or(MailError::Damaged(None))?;
        let thread = header.thread.as_deref().and_then(from_hex);
        Ok(Self {
            to: ShortAddress::new(fingerprint, sender.server),
            thread: thread.unwrap_or_else(new_thread),
            subject: header.subject,
        })
    }
}

/// Returns what a letter states about itself; a reply has the subject of the letter that it answers, unless it has its
/// own. Only a signed letter has a time and a conversation, which would tell of its sender.
#[must_use]
pub fn stated(
    signed: bool,
    reply: Option<&Reply>,
    subject: Option<String>,
    media_type: Option<String>,
) -> Header {
    let thread = || reply.map_or_else(new_thread, |reply| reply.thread);
    let same = reply.and_then(|reply| reply.subject.clone());
    Header {
        time: signed.then(unix_now),
        thread: signed.then(thread),
        subject: subject.or(same),
        media_type,
    }
}

/// Returns the name of a new conversation: 16 random bytes.
fn new_thread() -> Thread {
    let mut thread = Thread::default();
    os_rng().fill_bytes(&mut thread);
    thread
}
