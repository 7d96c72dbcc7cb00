//! The codes of one digest.

use super::PaperSet;
use crate::codec::{BitmapOrder, Combinations, IndexBitmap, IndexBuckets};
use omr_codec::{CodecError, Symbols};
use omr_protocol::sophomr::packing;

/// The code of a digest's indices.
#[derive(Debug, Clone)]
pub enum PaperIndex {
    /// One bit for each message.
    Bitmap(IndexBitmap),
    /// Buckets of bundles.
    Buckets(IndexBuckets),
}

/// The codes of one digest of a scheme: the detector sums with them, the recipient decodes with them.
#[derive(Debug, Clone)]
pub struct PaperCodes {
    /// The code of the indices.
    pub index: PaperIndex,
    /// The code of the payloads of a bundle, which are concatenated; `None` for OMD1p.
    pub payloads: Option<Combinations>,
    /// The packing of one payload into symbols.
    pub symbols: Symbols,
    bundle: u32,
    messages: u64,
}

impl PaperCodes {
    /// Returns the codes for `messages` messages, at most `bound` of them pertinent.
    ///
    /// Errors: the codes' own errors: a bound of 0, or one that the plaintext modulus cannot count; no
    /// messages; an empty or far too long payload.
    pub fn new(
        set: &PaperSet,
        seed: &[u8; 32],
        messages: u64,
        bound: usize,
        payload_bytes: usize,
    ) -> Result<Self, CodecError> {
        let symbols = packing(set.p.into(), payload_bytes, false)?;
        Self::with_symbols(set, seed, messages, bound, symbols)
    }

    /// Returns the codes of [`PaperCodes::new`] with another packing of payloads, such as that of bound clues
    /// with fingerprints ([`packing`]).
    ///
    /// Errors: as [`PaperCodes::new`].
    pub fn with_symbols(
        set: &PaperSet,
        seed: &[u8; 32],
        messages: u64,
        bound: usize,
        symbols: Symbols,
    ) -> Result<Self, CodecError> {
        let bundles = messages.div_ceil(set.bundle.into());
        let index = match (set.bitmap(), set.buckets(bound)) {
            (None, Some(shape)) => {
                let buckets = IndexBuckets::new(set.p, seed, shape, bundles, set.bundle, bound)?;
                PaperIndex::Buckets(buckets)
            }
            (order, _) => {
                let order = order.unwrap_or(BitmapOrder::Packed);
                PaperIndex::Bitmap(IndexBitmap::new(set.p, order, messages)?)
            }
        };
        Ok(Self {
            index,
            payloads: set
                .combinations(bound)
                .map(|shape| Combinations::new(set.p, seed, shape, bound))
                .transpose()?,
            symbols,
            bundle: set.bundle,
            messages,
        })
    }

    /// Returns the number of sums that form the index.
    pub fn index_sums(&self) -> usize {
        match &self.index {
            PaperIndex::Bitmap(bitmap) => bitmap.index_weights(),
            PaperIndex::Buckets(buckets) => buckets.index_weights(),
        }
    }

    /// Returns the number of symbols of a bundle's payloads.
    pub fn bundle_symbols(&self) -> usize {
        self.symbols.count() * self.bundle as usize
    }

    /// Returns the number of sums that form the payloads; 0 for OMD1p.
    pub fn payload_sums(&self) -> usize {
        let rows = self.payloads.as_ref().map_or(0, Combinations::rows);
        rows * self.bundle_symbols()
    }

    /// Returns the messages of a bundle. Range: `bundle` below the number of bundles.
    pub fn messages(&self, bundle: u64) -> std::ops::Range<u64> {
        let first = bundle * u64::from(self.bundle);
        first..self.messages.min(first + u64::from(self.bundle))
    }
}
