//! Decoding of bundles and payloads from decrypted sums.

use crate::clear::{PaperCodes, PaperIndex};
use crate::codec::Bundle;
use omr_client::Fingerprint;
use omr_codec::{CodecError, DecodeError};
use omr_protocol::clue::FingerprintKey;
use std::ops::Range;

/// Sums do not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaperDecodeError {
    /// There are more pertinent messages than the bound, or no messages have these sums.
    #[error(transparent)]
    Sums(#[from] DecodeError),
    /// No payload has these symbols.
    #[error("message {message}: {error}")]
    Payload {
        /// The number of the message.
        message: u64,
        /// The error in its symbols.
        error: CodecError,
    },
}

/// A bundle with pertinent messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieved {
    /// The messages of the bundle.
    pub messages: Range<u64>,
    /// The number of pertinent messages among them. The codes do not reveal which ones these are; only opening
    /// the payloads does.
    pub count: u32,
    /// The payloads of all messages of the bundle; empty for OMD1p.
    pub payloads: Vec<Vec<u8>>,
    /// The fingerprints of the clues of these messages; 0 if the codes have none.
    pub fingerprints: Vec<u32>,
}

impl Retrieved {
    /// Returns the messages one by one for the [`Reader`](omr_client::letter::Reader) of bound clues, which
    /// drops those that are not the recipient's. `index` returns the message on the board at a position of the
    /// codes, if there is one.
    pub fn each(
        &self,
        key: FingerprintKey,
        index: impl Fn(u64) -> Option<u64>,
    ) -> impl Iterator<Item = omr_client::Retrieved> {
        let beside = self.payloads.iter().zip(&self.fingerprints);
        let places = self.messages.clone().zip(beside);
        places.filter_map(move |(place, (payload, &value))| {
            Some(omr_client::Retrieved::new(
                index(place)?,
                Some(payload.clone()),
                Some(Fingerprint { key, value }),
            ))
        })
    }
}

/// Returns the bundles with pertinent messages, in ascending order, and their payloads.
///
/// Shape:  [`PaperCodes::index_sums`] and [`PaperCodes::payload_sums`] sums modulo p.   Time: vartime.
///
/// Errors: `Sums`, `Payload`. The result is never a wrong payload. Bitmaps without payloads cannot be checked.
pub fn decode(
    codes: &PaperCodes,
    index_sums: &[u32],
    payload_sums: &[u32],
) -> Result<Vec<Retrieved>, PaperDecodeError> {
    let support = match &codes.index {
        PaperIndex::Buckets(buckets) => buckets.find_support(index_sums)?,
        PaperIndex::Bitmap(bitmap) => {
            let bundle = |index| Bundle { index, count: 1 };
            let support = bitmap.find_support(index_sums)?;
            support.into_iter().map(bundle).collect()
        }
    };
    let rows = match &codes.payloads {
        Some(code) => code.solve(&support, codes.bundle_symbols(), payload_sums)?,
        None => vec![Vec::new(); support.len()],
    };
    let retrieved = support.iter().zip(rows).map(|(bundle, row)| {
        let messages = codes.messages(bundle.index);
        let symbols = row.chunks_exact(codes.symbols.count());
        let payload = |(message, symbols): (u64, &[u32])| {
            let mut payload = vec![0; codes.symbols.payload_bytes()];
            let mark = codes
                .symbols
                .unpack_marked_into(symbols, &mut payload)
                .map_err(|error| PaperDecodeError::Payload { message, error })?;
            Ok::<_, PaperDecodeError>((payload, mark))
        };
        let payloads = messages.clone().zip(symbols).map(payload);
        let (payloads, fingerprints) = payloads.collect::<Result<_, _>>()?;
        Ok(Retrieved {
            payloads,
            fingerprints,
            messages,
            count: bundle.count,
        })
    });
    retrieved.collect()
}
