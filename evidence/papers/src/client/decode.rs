//! Bundles and payloads from decrypted sums.

use crate::clear::{EarlierCodes, EarlierIndex};
use crate::codec::Bundle;
use omr_client::Fingerprint;
use omr_codec::{CodecError, DecodeError};
use omr_protocol::clue::FingerprintKey;
use std::ops::Range;

/// Sums that do not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EarlierDecodeError {
    /// More pertinent messages than the bound, or sums that no messages have.
    #[error(transparent)]
    Sums(#[from] DecodeError),
    /// Symbols that no payload has.
    #[error("message {message}: {error}")]
    Payload {
        /// The message.
        message: u64,
        /// What is wrong with its symbols.
        error: CodecError,
    },
}

/// A bundle with pertinent messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieved {
    /// Its messages.
    pub messages: Range<u64>,
    /// How many of them are pertinent. Which ones, the codes do not say: those that open.
    pub count: u32,
    /// The payloads of all its messages; none for OMD1p.
    pub payloads: Vec<Vec<u8>>,
    /// The fingerprints of their clues; 0 where the codes have none.
    pub fingerprints: Vec<u32>,
}

impl Retrieved {
    /// The messages one by one, for the [`Reader`](omr_client::letter::Reader) of bound clues: it leaves out those that are
    /// not hers. `index`: the message on the board at a place of the codes, if there is one.
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

/// The bundles with pertinent messages, in ascending order, and their payloads.
///
/// Shape:  [`EarlierCodes::index_sums`] and [`EarlierCodes::payload_sums`] sums modulo p.   Time: vartime.
/// Errors: `Sums`, `Payload`; never a wrong payload, but for bitmaps without payloads, which have no check.
pub fn decode(
    codes: &EarlierCodes,
    index_sums: &[u32],
    payload_sums: &[u32],
) -> Result<Vec<Retrieved>, EarlierDecodeError> {
    let support = match &codes.index {
        EarlierIndex::Buckets(buckets) => buckets.find_support(index_sums)?,
        EarlierIndex::Bitmap(bitmap) => {
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
            let mark = codes.symbols.unpack_marked_into(symbols, &mut payload);
            let mark = mark.map_err(|error| EarlierDecodeError::Payload { message, error })?;
            Ok::<_, EarlierDecodeError>((payload, mark))
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
