//! Short addresses: a fingerprint as text. A server resolves it, and the client checks the answer.

use crate::address::{BEGIN, BYTE_ORDER_MARK, FINGERPRINT_BYTES, bad};
use crate::home::private_folder;
use crate::{Address, Home, Identity, MailError};
use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32m, Hrp};
use omr_protocol::Mismatch;
use omr_remote::{Client, RemoteError, address_fingerprint};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The first letters of the text, before the separator `1`.
const PREFIX: &str = "omr";
/// The folder of addresses that were found, by their fingerprints, so that each is requested once.
const FOUND: &str = "found";
/// The file with the published fingerprint and the time until which the server keeps it.
const PUBLISHED: &str = "published";

/// The fingerprint of an address, and a server that has it: `omr1..` or `omr1..@https://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortAddress {
    fingerprint: [u8; FINGERPRINT_BYTES],
    /// The server that has the address.
    pub server: Option<String>,
}

/// An address in a file or a text, whole or in its short form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// The whole address.
    Whole(Address),
    /// The short form, which a server resolves.
    Short(ShortAddress),
}

impl Named {
    /// Parses the content of a file: a `clue.key`, or a text with an address or with one short address.
    ///
    /// Errors: `Armour`, `Fingerprint`, `ShortAddress`.
    pub fn from_file(bytes: Vec<u8>) -> Result<Self, MailError> {
        match std::str::from_utf8(&bytes) {
            Ok(text) if !text.starts_with("OMRF") && !text.contains(BEGIN) => Self::short_in(text),
            // A file that is not text may be a key.
            _ => Ok(Self::Whole(Address::from_file(bytes)?)),
        }
    }

    fn short_in(text: &str) -> Result<Self, MailError> {
        let around = |c: char| c == BYTE_ORDER_MARK || "<>\"',;".contains(c);
        let meant: Vec<&str> = text
            .split_whitespace()
            .map(|word| word.trim_matches(around))
            .filter(|word| ShortAddress::is_meant(word))
            .collect();
        match meant[..] {
            [short] => Ok(Self::Short(short.parse()?)),
            [] => Err(bad(ADDRESS, "none of them")),
            [..] => Err(bad("one short address", meant.len())),
        }
    }
}

/// The expected content of a text with an address.
const ADDRESS: &str =
    "a clue.key, a line -----BEGIN OMR ADDRESS-----, or a short address such as omr1..";

#[derive(Serialize, Deserialize)]
struct Published {
    fingerprint: String,
    /// The time in seconds since 1970.
    at: u64,
    seconds: u64,
}

impl fmt::Display for ShortAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = bech32::encode::<Bech32m>(Hrp::parse_unchecked(PREFIX), &self.fingerprint);
        f.write_str(&code.map_err(|_| fmt::Error)?)?;
        match &self.server {
            Some(server) => write!(f, "@{server}"),
            None => Ok(()),
        }
    }
}

impl FromStr for ShortAddress {
    type Err = MailError;

    fn from_str(text: &str) -> Result<Self, MailError> {
        let text = text.trim();
        let (code, server) = match text.split_once('@') {
            Some((code, server)) => (code, Some(server.to_owned())),
            None => (text, None),
        };
        let wrong = |why: String| MailError::ShortAddress {
            found: text.to_owned(),
            why,
        };
        let checked =
            CheckedHrpstring::new::<Bech32m>(code).map_err(|error| wrong(error.to_string()))?;
        let bytes: Vec<u8> = checked.byte_iter().collect();
        match bytes.try_into() {
            Ok(fingerprint) if checked.hrp() == Hrp::parse_unchecked(PREFIX) => Ok(Self {
                fingerprint,
                server,
            }),
            _ => Err(wrong("it is none, or one of a newer omr".into())),
        }
    }
}

impl ShortAddress {
    /// Returns whether a text begins like a short address, valid or not.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        let start = text.trim().get(..PREFIX.len() + 1);
        start.is_some_and(|start| start.eq_ignore_ascii_case("omr1"))
    }

    /// Returns the short form of an address with this fingerprint, as a letter names it, that the server has.
    #[must_use]
    pub fn new(fingerprint: [u8; FINGERPRINT_BYTES], server: Option<String>) -> Self {
        Self {
            fingerprint,
            server,
        }
    }

    /// Returns the fingerprint.
    #[must_use]
    pub fn fingerprint(&self) -> &[u8; FINGERPRINT_BYTES] {
        &self.fingerprint
    }

    /// Returns the short form of an address.
    #[must_use]
    pub fn of(address: &Address) -> Self {
        Self {
            fingerprint: address.fingerprint_bytes(),
            server: address.server.clone(),
        }
    }

    /// Requests the address from a server, and checks it against the fingerprint.
    ///
    /// Errors: `NotPublished`, `OtherAddress`, `Armour`, `Period`, `Remote`.
    pub async fn find(&self, client: &Client) -> Result<Address, MailError> {
        let found = match client.find_address(&self.fingerprint).await {
            Err(RemoteError::NotFound(..)) => {
                let short = self.to_string();
                return Err(MailError::NotPublished(short));
            }
            found => found?,
        };
        match address_fingerprint(&found) {
            Some(fingerprint) if fingerprint != self.fingerprint => {
                Err(MailError::OtherAddress(Mismatch::new(
                    omr_protocol::hex(&self.fingerprint),
                    omr_protocol::hex(&fingerprint),
                )))
            }
            _ => Address::from_published(found),
        }
    }

    fn file(&self) -> String {
        format!("{FOUND}/{}", omr_protocol::hex(&self.fingerprint))
    }
}

impl Home {
    /// Returns the address of a short form, if it is that of a contact or was found before.
    ///
    /// Errors: `File`; those of [`Address::from_text`].
    pub fn known(&self, short: &ShortAddress) -> Result<Option<Address>, MailError> {
        let is_it = |address: &Address| address.fingerprint_bytes() == short.fingerprint;
        if let Some((_, address)) = self.contacts()?.into_iter().find(|(_, a)| is_it(a)) {
            return Ok(Some(address));
        }
        match self.read(&short.file())? {
            Some(text) => Ok(Some(Address::from_file(text.to_vec())?).filter(is_it)),
            None => Ok(None),
        }
    }

    /// Keeps an address that was found, so that it is requested only once.
    ///
    /// Errors: `File`.
    pub fn keep_found(&self, address: &Address) -> Result<(), MailError> {
        let short = ShortAddress::of(address);
        self.create()?;
        let folder = self.path(FOUND);
        private_folder(&folder).map_err(MailError::file(&folder))?;
        self.write_bytes(&short.file(), address.to_text().as_bytes())
    }
}

/// Publishes the identity's address at a server, or renews it. Returns the short form and the time for which the server
/// keeps it.
///
/// The server learns which account, or network address, the clue key belongs to.
///
/// Errors: `NoServer`, `NotRegistered`, `Remote`, `File`.
pub async fn publish(
    identity: &Identity,
    client: &Client,
) -> Result<(ShortAddress, Duration), MailError> {
    identity.registered()?;
    let address = identity.address()?;
    let short = ShortAddress::of(&address);
    let whole = address.to_published().filter(|_| short.server.is_some());
    let whole = whole.ok_or(MailError::NoServer)?;
    let kept = client.publish_address(&whole).await?;
    let published = Published {
        fingerprint: omr_protocol::hex(&short.fingerprint),
        at: crate::unix_now(),
        seconds: kept.as_secs(),
    };
    identity.home.write_json(PUBLISHED, &published)?;
    Ok((short, kept))
}

/// Publishes the address again if it was published before and a third of the time has passed: this depends on the clock
/// alone. Returns the short form if it has changed.
///
/// Errors: those of [`publish`].
pub async fn publish_again(
    identity: &Identity,
    client: &Client,
) -> Result<Option<ShortAddress>, MailError> {
    let Some(before) = identity.home.read_json::<Published>(PUBLISHED)? else {
        return Ok(None);
    };
    let address = identity.address()?;
    let same = omr_protocol::hex(&address.fingerprint_bytes()) == before.fingerprint;
    let passed = crate::unix_now().saturating_sub(before.at);
    if same && passed < before.seconds / 3 {
        return Ok(None);
    }
    let (short, _) = publish(identity, client).await?;
    Ok((!same).then_some(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short() -> ShortAddress {
        ShortAddress {
            fingerprint: [
                0x75, 0x1e, 0x76, 0xe8, 0x19, 0x91, 0x96, 0xd4, 0x54, 0x94, 0x1c, 0x45, 0xd1, 0xb3,
                0xa3, 0x23,
            ],
            server: None,
        }
    }

    #[test]
    fn the_text_comes_back_however_it_is_written() {
        let text = short().to_string();
        assert_eq!(text.len(), 36, "{text}");
        assert!(text.starts_with("omr1") && ShortAddress::is_meant(&text));
        for written in [text.clone(), text.to_uppercase(), format!(" {text}\n")] {
            assert_eq!(written.parse::<ShortAddress>().unwrap(), short());
        }
        let with = ShortAddress {
            server: Some("https://mail.example.org:7600".into()),
            ..short()
        };
        let text = with.to_string();
        assert!(text.ends_with("@https://mail.example.org:7600"), "{text}");
        assert_eq!(text.parse::<ShortAddress>().unwrap(), with);
    }

    #[test]
    fn slips_of_the_pen_are_noticed() {
        let text = short().to_string();
        for at in 0..text.len() {
            for other in "qpzry9x8gf2tvdw0s3jn54khce6mua7l1b".chars() {
                let mut changed: Vec<char> = text.chars().collect();
                if std::mem::replace(&mut changed[at], other) != other {
                    let changed: String = changed.into_iter().collect();
                    let read = changed.parse::<ShortAddress>();
                    assert!(
                        matches!(read, Err(MailError::ShortAddress { .. })),
                        "{changed}"
                    );
                }
            }
        }
        for at in 4..text.len() {
            let mut swapped = text.clone().into_bytes();
            swapped.swap(at - 1, at);
            if swapped != text.as_bytes() {
                let swapped = String::from_utf8(swapped).unwrap();
                swapped.parse::<ShortAddress>().unwrap_err();
            }
            text[..at].parse::<ShortAddress>().unwrap_err();
        }
    }

    #[test]
    fn a_text_names_somebody_in_either_form() {
        let text = short().to_string();
        for written in [
            text.clone(),
            format!("{text}\r\n"),
            format!("\u{feff}{text}\n"),
            format!("Write to <{text}>, please."),
        ] {
            let found = Named::from_file(written.into_bytes()).unwrap();
            assert_eq!(found, Named::Short(short()));
        }
        let address = Address {
            server: None,
            clue_key: b"OMRF and more".to_vec(),
            terms: None,
            verifying_key: None,
            period_keys: None,
        };
        for bytes in [address.to_text().into_bytes(), b"OMRF\xff".to_vec()] {
            assert!(matches!(Named::from_file(bytes).unwrap(), Named::Whole(_)));
        }
        for (wrong, told) in [
            ("".to_owned(), "found none of them"),
            ("Dear Bob".to_owned(), "found none of them"),
            (
                format!("{text} {text}"),
                "expected one short address, found 2",
            ),
            (text[..30].to_owned(), "copied whole"),
        ] {
            let error = Named::from_file(wrong.into_bytes())
                .unwrap_err()
                .to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn other_lengths_are_of_another_version() {
        for bytes in [&[7; 15][..], &[7; 17], &[]] {
            let text = bech32::encode::<Bech32m>(Hrp::parse_unchecked(PREFIX), bytes).unwrap();
            let error = text.parse::<ShortAddress>().unwrap_err().to_string();
            assert!(error.contains("newer omr"), "{error}");
        }
        let other = bech32::encode::<Bech32m>(Hrp::parse_unchecked("age"), &[7; 16]).unwrap();
        other.parse::<ShortAddress>().unwrap_err();
    }
}
