//! Addresses as text that can be sent by mail.

use crate::MailError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
pub(crate) use omr_protocol::FINGERPRINT_BYTES;
use omr_protocol::periods::PeriodKeys;
use omr_protocol::{
    HAS_PERIODS, Mismatch, Sealing, VERIFYING_KEY_BYTES, address_fingerprint, signed_fingerprint,
};
use omr_remote::v1;
use std::fmt;

pub(crate) const BEGIN: &str = "-----BEGIN OMR ADDRESS-----";
const END: &str = "-----END OMR ADDRESS-----";
const VERSION: &str = "Version";
const SERVER: &str = "Server";
const SEALING: &str = "Sealing";
const BOUND: &str = "Bound";
const PARTS: &str = "Parts";
const SIGNER: &str = "Signer";
const PERIODS: &str = "Periods";
const FINGERPRINT: &str = "Fingerprint";
const LINE: usize = 64;
/// The number of characters of the keys of periods in a line with their name.
const PERIODS_LINE: usize = LINE - PERIODS.len() - 2;
/// A mark that some editors write before a text.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';
/// The sealing's tag in the fingerprint of an address without terms; no sealing has it.
const NO_TERMS: u8 = 255;
/// The highest number of bytes of a text: enough for any clue key and the lines around it in a mail.
const MAX_TEXT: usize = 1 << 20;

/// The address of a recipient: the clue key, the server whose board the recipient reads, the terms of letters, and the
/// key that verifies the recipient's own letters.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The server's URL; `None` for a bare clue key.
    pub server: Option<String>,
    /// The bytes of the clue key's file.
    pub clue_key: Vec<u8>,
    /// The terms of letters; `None` for a bare clue key.
    pub terms: Option<Terms>,
    /// The key that verifies the signatures of the address's owner; `None` for a bare clue key.
    pub verifying_key: Option<[u8; VERIFYING_KEY_BYTES]>,
    /// The sealing keys of periods, signed by the owner. An address without terms or a verifying key has none.
    pub period_keys: Option<PeriodKeys>,
}

/// The form that letters to an address must have. A server has no influence on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The sealing of letters.
    pub sealing: Sealing,
    /// The highest number of the recipient's messages in one digest.
    pub bound: u32,
    /// The highest number of messages of one letter.
    pub parts: u32,
}

/// The fingerprint stands for the key, which has 3.9 KB.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("server", &self.server)
            .field("terms", &self.terms)
            .field("fingerprint", &self.fingerprint())
            .finish()
    }
}

impl Address {
    /// Returns the fingerprint for a comparison by voice: 32 hexadecimal digits in groups of four.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let digits = omr_protocol::hex(&self.fingerprint_bytes());
        let groups: Vec<&str> = (0..digits.len())
            .step_by(4)
            .map(|i| &digits[i..i + 4])
            .collect();
        groups.join(" ")
    }

    /// Returns the fingerprint: 128 bits over everything that the address contains. Of the keys of periods, which are
    /// signed and change, it covers only that there are some.
    pub(crate) fn fingerprint_bytes(&self) -> [u8; FINGERPRINT_BYTES] {
        let unsigned = self.unsigned_fingerprint();
        match &self.verifying_key {
            Some(key) => signed_fingerprint(key, &unsigned),
            None => unsigned,
        }
    }

    /// Returns the fingerprint of this address without its verifying key.
    pub(crate) fn unsigned_fingerprint(&self) -> [u8; FINGERPRINT_BYTES] {
        let server = self.server.as_deref().unwrap_or("");
        let (sealing, bound, parts) = match self.terms {
            Some(terms) => (terms.sealing.tag(), terms.bound, terms.parts),
            None => (NO_TERMS, 0, 0),
        };
        let periods = match self.period_keys {
            Some(_) => HAS_PERIODS,
            None => 0,
        };
        address_fingerprint(server, sealing | periods, bound, parts, &self.clue_key)
    }

    /// Returns the message that is published at a server; `None` where there are no terms.
    pub(crate) fn to_published(&self) -> Option<v1::Address> {
        let terms = self.terms?;
        Some(v1::Address {
            server: self.server.clone().unwrap_or_default(),
            sealing: terms.sealing.tag().into(),
            bound: terms.bound,
            parts: terms.parts,
            clue_key: self.clue_key.clone().into(),
            verifying_key: self.verifying_key.map_or_else(Vec::new, Vec::from).into(),
            period_keys: period_bytes(self.period_keys.as_ref()).to_vec().into(),
        })
    }

    /// Parses an address that a server sent.
    ///
    /// Errors: `Armour`.
    pub(crate) fn from_published(found: v1::Address) -> Result<Self, MailError> {
        let tag = u8::try_from(found.sealing).unwrap_or(u8::MAX);
        let sealing = Sealing::try_from(tag);
        let verifying_key = match &found.verifying_key[..] {
            [] => None,
            key => Some(signer(key)?),
        };
        let period_keys = match &found.period_keys[..] {
            [] => None,
            keys => Some(period_keys(keys, verifying_key.as_ref())?),
        };
        Ok(Self {
            server: Some(found.server).filter(|server| !server.is_empty()),
            clue_key: found.clue_key.into(),
            terms: Some(Terms {
                sealing: sealing.map_err(|_| bad("a sealing", found.sealing))?,
                bound: found.bound,
                parts: found.parts,
            }),
            verifying_key,
            period_keys,
        })
    }

    /// Returns the armoured text, version 1.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{BEGIN}\n{VERSION}: 1\n");
        if let Some(server) = &self.server {
            text += &format!("{SERVER}: {server}\n");
        }
        if let Some(terms) = &self.terms {
            let Terms {
                sealing,
                bound,
                parts,
            } = terms;
            text += &format!("{SEALING}: {sealing}\n{BOUND}: {bound}\n{PARTS}: {parts}\n");
        }
        if let Some(key) = &self.verifying_key {
            text += &format!("{SIGNER}: {}\n", STANDARD.encode(key));
        }
        let periods = STANDARD.encode(period_bytes(self.period_keys.as_ref()));
        for start in (0..periods.len()).step_by(PERIODS_LINE) {
            let line = &periods[start..periods.len().min(start + PERIODS_LINE)];
            text += &format!("{PERIODS}: {line}\n");
        }
        text += &format!("{FINGERPRINT}: {}\n\n", self.fingerprint());
        let body = STANDARD.encode(&self.clue_key);
        for start in (0..body.len()).step_by(LINE) {
            text += &body[start..body.len().min(start + LINE)];
            text += "\n";
        }
        text + END + "\n"
    }

    /// Finds the address in a text. Lines before and after it, quotation marks, carriage returns, blanks around lines
    /// and a byte order mark are ignored.
    ///
    /// Errors:
    /// - `Armour` if the text has no well-formed address.
    /// - `Fingerprint` if the address was changed.
    pub fn from_text(text: &str) -> Result<Self, MailError> {
        if text.len() > MAX_TEXT {
            return Err(bad("at most 1 MiB of text", text.len()));
        }
        let bare = |line: &'_ str| -> String {
            line.trim_matches(|c: char| c.is_whitespace() || c == '>' || c == BYTE_ORDER_MARK)
                .to_owned()
        };
        let lines: Vec<String> = text.lines().map(bare).collect();
        let at = |mark: &'static str| {
            let place = lines.iter().position(|line| line == mark);
            place.ok_or_else(|| bad(mark, "no such line"))
        };
        let (begin, end) = (at(BEGIN)?, at(END)?);
        let inside = lines.get(begin + 1..end);
        let fields = Fields::read(inside.ok_or_else(|| bad(BEGIN, END))?)?;
        let clue_key = STANDARD.decode(&fields.body);
        let verifying_key = fields.verifying_key()?;
        let address = Self {
            terms: fields.terms()?,
            period_keys: fields.period_keys(verifying_key.as_ref())?,
            verifying_key,
            server: fields.server,
            clue_key: clue_key.map_err(|error| bad("base64", error))?,
        };
        let expected = fields
            .fingerprint
            .ok_or_else(|| bad("a fingerprint", "none"))?;
        let found = address.fingerprint();
        let digits = |text: &str| text.replace(' ', "").to_ascii_lowercase();
        if digits(&expected) == digits(&found) {
            Ok(address)
        } else {
            Err(MailError::Fingerprint(Mismatch::new(expected, found)))
        }
    }

    /// Parses an address in a file: an armoured text, or a bare `clue.key`.
    ///
    /// Errors:
    /// - `Armour` if the text has no well-formed address.
    /// - `Fingerprint` if the address was changed.
    pub fn from_file(bytes: Vec<u8>) -> Result<Self, MailError> {
        if bytes.starts_with(b"OMRF") {
            return Ok(Self {
                server: None,
                clue_key: bytes,
                terms: None,
                verifying_key: None,
                period_keys: None,
            });
        }
        let text = std::str::from_utf8(&bytes);
        Self::from_text(text.map_err(|_| bad(BEGIN, "no text"))?)
    }
}

/// The lines of an armoured text.
#[derive(Default)]
struct Fields {
    version: Option<String>,
    server: Option<String>,
    sealing: Option<String>,
    bound: Option<String>,
    parts: Option<String>,
    signer: Option<String>,
    /// All lines of this name, joined.
    periods: String,
    fingerprint: Option<String>,
    body: String,
}

impl Fields {
    fn read(lines: &[String]) -> Result<Self, MailError> {
        let mut fields = Self::default();
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                fields.body += line;
                continue;
            };
            let field = match name {
                VERSION => &mut fields.version,
                SERVER => &mut fields.server,
                SEALING => &mut fields.sealing,
                BOUND => &mut fields.bound,
                PARTS => &mut fields.parts,
                SIGNER => &mut fields.signer,
                PERIODS => {
                    fields.periods += value.trim();
                    continue;
                }
                FINGERPRINT => &mut fields.fingerprint,
                _ => return Err(bad("a line of an address", name)),
            };
            if field.replace(value.trim().to_owned()).is_some() {
                return Err(bad("one line of a name", name));
            }
        }
        Ok(fields)
    }

    /// Returns the verifying key, if there is a line of it.
    ///
    /// Errors: `Armour`.
    fn verifying_key(&self) -> Result<Option<[u8; VERIFYING_KEY_BYTES]>, MailError> {
        let Some(text) = &self.signer else {
            return Ok(None);
        };
        let key = STANDARD.decode(text);
        Ok(Some(signer(&key.map_err(|error| bad("base64", error))?)?))
    }

    /// Returns the keys of periods, if there are lines of them.
    ///
    /// Errors: `Armour`, `Period`.
    fn period_keys(
        &self,
        verifying_key: Option<&[u8; VERIFYING_KEY_BYTES]>,
    ) -> Result<Option<PeriodKeys>, MailError> {
        if self.periods.is_empty() {
            return Ok(None);
        }
        let keys = STANDARD.decode(&self.periods);
        let keys = keys.map_err(|error| bad("base64", error))?;
        Ok(Some(period_keys(&keys, verifying_key)?))
    }

    /// Returns the terms: the three lines of them, or `None` where all three are absent.
    ///
    /// Errors: `Armour`, also for another version.
    fn terms(&self) -> Result<Option<Terms>, MailError> {
        let version = self.version.as_deref().unwrap_or("none");
        if version != "1" {
            let expected =
                "an address of version 1 (a development version or a later release made it)";
            return Err(bad(expected, version));
        }
        let lines = [&self.sealing, &self.bound, &self.parts];
        if lines.iter().all(|line| line.is_none()) {
            return Ok(None);
        }
        let [sealing, bound, parts] = lines.map(|line| line.as_deref().unwrap_or("none"));
        let number = |expected, text: &str| {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| bad(expected, text))
        };
        Ok(Some(Terms {
            sealing: match &self.sealing {
                Some(_) => sealing.parse().map_err(|_| bad("a sealing", sealing))?,
                None => return Err(bad("a line of Sealing", "none")),
            },
            bound: number("a line of Bound", bound)?,
            parts: number("a line of Parts", parts)?,
        }))
    }
}

fn period_bytes(keys: Option<&PeriodKeys>) -> &[u8] {
    keys.map_or(&[], PeriodKeys::to_bytes)
}

/// Returns the list of the keys of periods that the owner of a verifying key signed.
///
/// Errors: `Armour` without a verifying key; `Period`.
fn period_keys(
    keys: &[u8],
    verifying_key: Option<&[u8; VERIFYING_KEY_BYTES]>,
) -> Result<PeriodKeys, MailError> {
    let signer = verifying_key.ok_or_else(|| bad("a line of Signer with Periods", "none"))?;
    Ok(PeriodKeys::from_bytes(keys, signer)?)
}

fn signer(key: &[u8]) -> Result<[u8; VERIFYING_KEY_BYTES], MailError> {
    let found = key.len();
    let key = key.try_into();
    key.map_err(|_| bad("a verifying key of 32 bytes", found))
}

pub(crate) fn bad(expected: &'static str, found: impl ToString) -> MailError {
    MailError::Armour(Mismatch::new(expected, found.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_client::os_rng;
    use omr_client::periods::PeriodSecrets;
    use omr_protocol::{ClueKind, ParamSet};

    fn address() -> Address {
        Address {
            server: Some("https://mail.example.org:7600".into()),
            clue_key: (0..3900u32).map(|i| (i * 7 % 251) as u8).collect(),
            terms: Some(Terms {
                sealing: Sealing::HpkeX25519,
                bound: 50,
                parts: 240,
            }),
            verifying_key: Some([7; 32]),
            period_keys: None,
        }
    }

    fn with_periods() -> Address {
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        let (secret, _) = omr_client::identity(set.clue(), ClueKind::Bound, &mut os_rng());
        let periods = PeriodSecrets::generate(3, &mut os_rng());
        Address {
            verifying_key: Some(secret.verifying_key()),
            period_keys: Some(periods.keys(&secret, Sealing::HpkeX25519, 3, 24)),
            ..address()
        }
    }

    fn without_terms() -> Address {
        Address {
            terms: None,
            verifying_key: None,
            ..address()
        }
    }

    #[test]
    fn text_comes_back_however_it_is_quoted() {
        for address in [address(), without_terms(), with_periods()] {
            let text = address.to_text();
            assert!(text.lines().all(|line| line.len() <= LINE));
            assert_eq!(Address::from_text(&text).unwrap(), address);
            let quoted: String = text.lines().map(|line| format!("> {line} \r\n")).collect();
            let mail = format!("Dear Bob,\nhere it is:\n{quoted}\nAlice");
            assert_eq!(Address::from_text(&mail).unwrap(), address);
            let marked = format!("\u{feff}{text}");
            assert_eq!(Address::from_text(&marked).unwrap(), address);
            let bare = Address {
                server: None,
                ..address
            };
            assert_eq!(Address::from_text(&bare.to_text()).unwrap(), bare);
        }
    }

    #[test]
    fn a_text_without_terms_is_frozen() {
        let text = without_terms().to_text();
        assert!(
            text.contains(
                "Version: 1\nServer: https://mail.example.org:7600\nFingerprint: a42e b9a5 38b4 36f7 b198 d881 da5e 1a50\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn damage_is_noticed() {
        for address in [address(), without_terms(), with_periods()] {
            let text = address.to_text();
            // Every line is changed in one place, and every line is left out.
            let lines: Vec<&str> = text.lines().collect();
            for i in 0..lines.len() {
                let mut without = lines.clone();
                let line = without.remove(i);
                let harmless = line.is_empty();
                assert_eq!(
                    Address::from_text(&without.join("\n")).is_ok(),
                    harmless,
                    "{line}"
                );
                if harmless {
                    continue;
                }
                let last = line.len() - 1;
                let other = if line.ends_with(['a', 'A']) { "B" } else { "A" };
                let changed = format!("{}{other}", &line[..last]);
                let mut with = lines.clone();
                with[i] = &changed;
                assert!(Address::from_text(&with.join("\n")).is_err(), "{line}");
            }
        }
        for other in [
            "",
            "hello",
            BEGIN,
            "-----END OMR ADDRESS-----\n-----BEGIN OMR ADDRESS-----",
        ] {
            assert!(Address::from_text(other).is_err());
        }
    }

    #[test]
    fn keys_of_periods_change_and_cannot_be_left_out() {
        let address = with_periods();
        let published = address.to_published().unwrap();
        assert_eq!(Address::from_published(published.clone()).unwrap(), address);
        let without = Address {
            period_keys: None,
            ..address.clone()
        };
        assert_ne!(without.fingerprint(), address.fingerprint());
        let other = Address {
            period_keys: with_periods().period_keys,
            ..address.clone()
        };
        assert_eq!(other.fingerprint(), address.fingerprint());
        let read = Address::from_text(&other.to_text());
        assert!(matches!(read, Err(MailError::Period(_))), "another owner's");
        let text = address.to_text();
        let lines = text.lines().filter(|line| !line.starts_with(PERIODS));
        let read = Address::from_text(&lines.collect::<Vec<_>>().join("\n"));
        assert!(matches!(read, Err(MailError::Fingerprint(_))));
    }

    #[test]
    fn no_field_of_an_address_can_be_replaced() {
        let text = address().to_text();
        for (said, instead) in [
            ("mail.example.org", "evil.example.org"),
            ("Sealing: hpke-x25519", "Sealing: none"),
            ("Bound: 50", "Bound: 51"),
            ("Parts: 240", "Parts: 2400"),
            ("Signer: BwcH", "Signer: BwcI"),
        ] {
            let changed = text.replace(said, instead);
            assert_ne!(changed, text);
            let read = Address::from_text(&changed);
            assert!(matches!(read, Err(MailError::Fingerprint(_))), "{said}");
        }
        // The terms cannot be left out, either.
        let keep = |line: &&str| {
            let terms = ["Sealing", "Bound", "Parts"];
            !terms.iter().any(|name| line.starts_with(name))
        };
        let lines: Vec<&str> = text.lines().filter(keep).collect();
        let read = Address::from_text(&lines.join("\n"));
        assert!(matches!(read, Err(MailError::Fingerprint(_))));
        // Nor can the verifying key, and no other length is one.
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with(SIGNER))
            .collect();
        let read = Address::from_text(&lines.join("\n"));
        assert!(matches!(read, Err(MailError::Fingerprint(_))));
        for (key, told) in [("BwcH", "a verifying key of 32 bytes"), ("?", "base64")] {
            let line = format!("{SIGNER}: {key}\n{FINGERPRINT}");
            let text = lines.join("\n").replace(FINGERPRINT, &line);
            let read = Address::from_text(&text).unwrap_err().to_string();
            assert!(read.contains(told), "{read}");
        }
        for other in ["Version: 2\n", ""] {
            let text = text.replace("Version: 1\n", other);
            let read = Address::from_text(&text).unwrap_err().to_string();
            assert!(read.contains("a later release made it"), "{read}");
        }
    }
}
