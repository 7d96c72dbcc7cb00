//! Addresses of recipients: that of Orchard, and that of the letters which point to payments.

use crate::ZcashError;
use crate::wallet::viewing_key;
use omr_client::Words;
use omr_protocol::{ClueKind, ParamSet, from_hex, hex};
use orchard::keys::Scope;

const ORCHARD: &str = "Orchard: ";

/// The address of a recipient.
#[derive(Clone, Debug)]
pub struct PaymentAddress {
    /// The receiver of payments.
    pub orchard: orchard::Address,
    /// The receiver of letters that point to them.
    pub letters: omr_mail::Address,
}

impl PaymentAddress {
    /// Returns the address of words on boards of a parameter set, without a server and without terms for letters.
    ///
    /// Errors: `Seed`, `Mail`.
    pub fn of_words(words: &Words, set: &ParamSet) -> Result<Self, ZcashError> {
        let (_, clue_key) = words.identity(set.clue(), ClueKind::Bound);
        let clue_key = clue_key.to_bytes(set.clue());
        Ok(Self {
            orchard: viewing_key(words)?.address_at(0u32, Scope::External),
            letters: omr_mail::Address {
                server: None,
                clue_key: clue_key.map_err(omr_mail::MailError::from)?,
                terms: None,
                verifying_key: None,
                period_keys: None,
            },
        })
    }

    /// Returns the text of the address.
    pub fn to_text(&self) -> String {
        let orchard = hex(&self.orchard.to_raw_address_bytes());
        format!("{ORCHARD}{orchard}\n{}", self.letters.to_text())
    }

    /// Reads the text of an address.
    ///
    /// Errors: `Address`, `Mail`.
    pub fn from_text(text: &str) -> Result<Self, ZcashError> {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(ORCHARD));
        let digits = line.ok_or(ZcashError::Address("none"))?;
        let bytes: [u8; 43] = from_hex(digits.trim()).ok_or(ZcashError::Address("others"))?;
        let orchard = orchard::Address::from_raw_address_bytes(&bytes).into_option();
        Ok(Self {
            orchard: orchard.ok_or(ZcashError::Address("no address of Orchard"))?,
            letters: omr_mail::Address::from_text(text)?,
        })
    }
}
