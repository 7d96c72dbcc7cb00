//! The headers of letters, as records keep them.

use omr_client::fragment::{Whole, visible};
use omr_client::header::{Addressee, Author, read};
use omr_protocol::hex;
use serde::{Deserialize, Serialize};

/// The statements of a letter about itself. Texts are without characters that steer a terminal, hide text or change its
/// direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// The sender that it names, if it names one.
    pub sender: Option<Sender>,
    /// The conversation: 32 hexadecimal digits, which its letters have in common. Anybody who received one of them can
    /// write another.
    pub thread: Option<String>,
    /// The subject.
    pub subject: Option<String>,
    /// The media type of the content.
    pub media_type: Option<String>,
    /// The time in seconds since 1970, by the sender's clock.
    pub time: Option<u64>,
    /// The reason why nothing of this could be read, although the letter has a header.
    pub unreadable: Option<String>,
}

/// The sender that a letter names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The fingerprint of the sender's address: 32 hexadecimal digits.
    pub fingerprint: String,
    /// The URL of the sender's server.
    pub server: Option<String>,
    /// Whether the signature matches. Otherwise somebody else wrote the letter, or it was written to somebody else, or
    /// altered.
    pub genuine: bool,
}

impl Heading {
    /// Reads the header of a letter, if it has one, and verifies its signature.
    pub(crate) fn of(whole: &Whole, to: &Addressee) -> Option<Self> {
        let bytes = whole.header.as_ref()?;
        let stated = match read(bytes, to, whole.name.as_deref(), &whole.bytes) {
            Ok(stated) => stated,
            Err(error) => {
                let unreadable = Some(error.to_string());
                return Some(Self {
                    unreadable,
                    ..Self::default()
                });
            }
        };
        let text = |text: Option<String>| text.as_deref().map(visible);
        let sender = match stated.author {
            Author::Unnamed => None,
            Author::Verified(sender) => Some((sender, true)),
            Author::Forged(sender) => Some((sender, false)),
        };
        Some(Self {
            sender: sender.map(|(sender, genuine)| Sender {
                fingerprint: hex(&sender.fingerprint()),
                server: text(sender.server),
                genuine,
            }),
            thread: stated.header.thread.map(|thread| hex(&thread)),
            subject: text(stated.header.subject),
            media_type: text(stated.header.media_type),
            time: stated.header.time,
            unreadable: None,
        })
    }

    /// Returns the fingerprint of the sender whose signature matches.
    #[must_use]
    pub fn genuine(&self) -> Option<&str> {
        let sender = self.sender.as_ref().filter(|sender| sender.genuine);
        sender.map(|sender| &sender.fingerprint[..])
    }
}
