//! The content of a message: the place of a payment on the chain.

use crate::ZcashError;
use crate::chain::EXPIRY;
use std::ops::Range;

/// The number of bytes in front of a memo: the lowest height in 4, the transaction's id, the output in 4.
const FIXED_BYTES: usize = 4 + 32 + 4;

/// The place of a payment on the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The lowest height at which the transaction can be mined.
    pub(crate) lowest: u64,
    /// The transaction's id, in the order of the network.
    pub(crate) txid: [u8; 32],
    /// The position of the payment among the transaction's Orchard actions.
    pub(crate) output: u32,
    /// A text to the recipient, who then need not ask a node for the whole transaction.
    pub(crate) memo: String,
}

impl Pointer {
    /// The length of a payload of the board.
    pub(crate) const PAYLOAD_BYTES: u32 = 256;
    /// The greatest length of a memo, for which a payload always has room.
    pub(crate) const MEMO_BYTES: usize = 80;

    /// Returns the bytes of a letter.
    ///
    /// Errors: `Memo`.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, ZcashError> {
        if self.memo.len() > Self::MEMO_BYTES {
            return Err(ZcashError::Memo {
                most: Self::MEMO_BYTES,
                found: self.memo.len(),
            });
        }
        let mut bytes = (self.lowest as u32).to_le_bytes().to_vec();
        bytes.extend(self.txid);
        bytes.extend(self.output.to_le_bytes());
        bytes.extend(self.memo.as_bytes());
        Ok(bytes)
    }

    /// Reads the bytes of a letter; returns `None` for a letter of another form.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (fixed, memo) = bytes.split_at_checked(FIXED_BYTES)?;
        let (lowest, rest) = fixed.split_first_chunk()?;
        let (txid, output) = rest.split_first_chunk()?;
        Some(Self {
            lowest: u32::from_le_bytes(*lowest).into(),
            txid: *txid,
            output: u32::from_le_bytes(output.try_into().ok()?),
            memo: String::from_utf8(memo.to_vec()).ok()?,
        })
    }

    /// Returns the heights at which the transaction can be.
    pub(crate) fn heights(&self) -> Range<u64> {
        self.lowest..self.lowest + EXPIRY
    }
}
