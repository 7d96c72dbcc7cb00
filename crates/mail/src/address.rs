//! Addresses as text that survives a mail.

use crate::MailError;
use crate::error::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

const BEGIN: &str = "-----BEGIN OMR ADDRESS-----";
const END: &str = "-----END OMR ADDRESS-----";
const SERVER: &str = "Server";
const FINGERPRINT: &str = "Fingerprint";
const LINE: usize = 64;
const FINGERPRINT_BYTES: usize = 10;
/// Enough for any clue key and what stands around it in a mail.
const MAX_TEXT: usize = 1 << 20;

/// Where letters for somebody go: her clue key, and the server whose board she reads.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The server's URL; `None` for a bare clue key.
    pub server: Option<String>,
    /// The clue key's file.
    pub clue_key: Vec<u8>,
}

/// Short: the key is 3.9 KB.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("server", &self.server)
            .field("fingerprint", &self.fingerprint())
            .finish()
    }
}

impl Address {
    /// 80 bits over server and key, in groups of four digits: to be compared by voice. It covers all that the
    /// text says.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let server = self.server.as_deref().unwrap_or("");
        let mut hasher = blake3::Hasher::new_derive_key("omr address v1 fingerprint");
        hasher.update(&(server.len() as u64).to_le_bytes());
        hasher.update(server.as_bytes()).update(&self.clue_key);
        let digits = hex(&hasher.finalize().as_bytes()[..FINGERPRINT_BYTES]);
        let groups: Vec<&str> = (0..digits.len())
            .step_by(4)
            .map(|i| &digits[i..i + 4])
            .collect();
        groups.join(" ")
    }

    /// The armoured text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{BEGIN}\n");
        if let Some(server) = &self.server {
            text += &format!("{SERVER}: {server}\n");
        }
        text += &format!("{FINGERPRINT}: {}\n\n", self.fingerprint());
        let body = STANDARD.encode(&self.clue_key);
        for start in (0..body.len()).step_by(LINE) {
            text += &body[start..body.len().min(start + LINE)];
            text += "\n";
        }
        text + END + "\n"
    }

    /// Finds the address in a text: lines before and after, quotation marks, carriage returns and blanks
    /// around lines do not matter.
    ///
    /// Errors: `Armour`, `Fingerprint`.
    pub fn from_text(text: &str) -> Result<Self, MailError> {
        if text.len() > MAX_TEXT {
            return Err(bad("at most 1 MiB of text", text.len()));
        }
        let bare = |line: &'_ str| -> String {
            line.trim_matches(|c: char| c.is_whitespace() || c == '>')
                .to_owned()
        };
        let lines: Vec<String> = text.lines().map(bare).collect();
        let at = |mark: &'static str| {
            let place = lines.iter().position(|line| line == mark);
            place.ok_or_else(|| bad(mark, "no such line"))
        };
        let (begin, end) = (at(BEGIN)?, at(END)?);
        let inside = lines.get(begin + 1..end);
        Self::parse(inside.ok_or_else(|| bad(BEGIN, END))?)
    }

    fn parse(lines: &[String]) -> Result<Self, MailError> {
        let (mut server, mut expected) = (None, None);
        let mut body = String::new();
        for line in lines {
            match line.split_once(':') {
                Some((SERVER, value)) => server = Some(value.trim().to_owned()),
                Some((FINGERPRINT, value)) => expected = Some(value.trim().to_owned()),
                Some((other, _)) => return Err(bad("a line of Server or Fingerprint", other)),
                None => body += line,
            }
        }
        let clue_key = STANDARD.decode(&body);
        let address = Self {
            server,
            clue_key: clue_key.map_err(|error| bad("base64", error))?,
        };
        let expected = expected.ok_or_else(|| bad("a fingerprint", "none"))?;
        let found = address.fingerprint();
        let digits = |text: &str| text.replace(' ', "").to_ascii_lowercase();
        match digits(&expected) == digits(&found) {
            true => Ok(address),
            false => Err(MailError::Fingerprint { expected, found }),
        }
    }

    /// An address in a file: armoured text or a clue.key as it is.
    ///
    /// Errors: `Armour`, `Fingerprint`.
    pub fn from_file(bytes: Vec<u8>) -> Result<Self, MailError> {
        if bytes.starts_with(b"OMRF") {
            return Ok(Self {
                server: None,
                clue_key: bytes,
            });
        }
        let text = std::str::from_utf8(&bytes);
        Self::from_text(text.map_err(|_| bad(BEGIN, "no text"))?)
    }
}

fn bad(expected: &'static str, found: impl ToString) -> MailError {
    MailError::Armour {
        expected,
        found: found.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        Address {
            server: Some("https://mail.example.org:7600".into()),
            clue_key: (0..3900u32).map(|i| (i * 7 % 251) as u8).collect(),
        }
    }

    #[test]
    fn text_comes_back_however_it_is_quoted() {
        let text = address().to_text();
        assert!(text.lines().all(|line| line.len() <= LINE));
        assert_eq!(Address::from_text(&text).unwrap(), address());
        let quoted: String = text.lines().map(|line| format!("> {line} \r\n")).collect();
        let mail = format!("Dear Bob,\nhere it is:\n{quoted}\nAlice");
        assert_eq!(Address::from_text(&mail).unwrap(), address());
        let bare = Address {
            server: None,
            ..address()
        };
        assert_eq!(Address::from_text(&bare.to_text()).unwrap(), bare);
    }

    #[test]
    fn damage_is_noticed() {
        let text = address().to_text();
        // Every line changed in one place, and every line left out.
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
            let other = if line.ends_with('A') { "B" } else { "A" };
            let changed = format!("{}{other}", &line[..last]);
            let mut with = lines.clone();
            with[i] = &changed;
            assert!(Address::from_text(&with.join("\n")).is_err(), "{line}");
        }
        let moved = text.replace("mail.example.org", "evil.example.org");
        assert!(matches!(
            Address::from_text(&moved),
            Err(MailError::Fingerprint { .. })
        ));
        for other in [
            "",
            "hello",
            BEGIN,
            "-----END OMR ADDRESS-----\n-----BEGIN OMR ADDRESS-----",
        ] {
            assert!(Address::from_text(other).is_err());
        }
    }
}
