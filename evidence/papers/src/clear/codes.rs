//! The codes of one digest.

use super::EarlierSet;
use crate::codec::{BitmapOrder, Combinations, IndexBitmap, IndexBuckets};
use omr_codec::{CodecError, Symbols};
use omr_protocol::sophomr::packing;

/// How indices come.
#[derive(Debug, Clone)]
pub enum EarlierIndex {
    /// A bit for each message.
    Bitmap(IndexBitmap),
    /// Buckets of bundles.
    Buckets(IndexBuckets),
}

/// The codes of one digest of an earlier scheme: what the detector adds, and how it is undone.
#[derive(Debug, Clone)]
pub struct EarlierCodes {
    /// Indices.
    pub index: EarlierIndex,
    /// Payloads of a bundle, one after the other; `None` for OMD1p.
    pub payloads: Option<Combinations>,
    /// The packing of one payload.
    pub symbols: Symbols,
    bundle: u32,
    messages: u64,
}

impl EarlierCodes {
    /// The codes for `messages` messages, of which at most `bound` are pertinent.
    ///
    /// Errors: those of the codes: a bound of 0, or one that the plaintext modulus cannot count; no
    /// messages; an empty or far too long payload.
    pub fn new(
        set: &EarlierSet,
        seed: &[u8; 32],
        messages: u64,
        bound: usize,
        payload_bytes: usize,
    ) -> Result<Self, CodecError> {
        let symbols = packing(set.p.into(), payload_bytes, false)?;
        Self::with_symbols(set, seed, messages, bound, symbols)
    }

    /// The same with payloads packed otherwise: for bound clues with fingerprints ([`packing`]).
    ///
    /// Errors: the same.
    pub fn with_symbols(
        set: &EarlierSet,
        seed: &[u8; 32],
        messages: u64,
        bound: usize,
        symbols: Symbols,
    ) -> Result<Self, CodecError> {
        let bundles = messages.div_ceil(set.bundle.into());
        let index = match (set.bitmap(), set.buckets(bound)) {
            (None, Some(shape)) => {
                let sizes = (bundles, set.bundle);
                EarlierIndex::Buckets(IndexBuckets::new(set.p, seed, shape, sizes, bound)?)
            }
            (order, _) => {
                let order = order.unwrap_or(BitmapOrder::Packed);
                EarlierIndex::Bitmap(IndexBitmap::new(set.p, order, messages)?)
            }
        };
        let combinations = |shape| Combinations::new(set.p, seed, shape, bound);
        Ok(Self {
            index,
            payloads: set.combinations(bound).map(combinations).transpose()?,
            symbols,
            bundle: set.bundle,
            messages,
        })
    }

    /// Sums that make the index.
    pub fn index_sums(&self) -> usize {
        match &self.index {
            EarlierIndex::Bitmap(bitmap) => bitmap.index_weights(),
            EarlierIndex::Buckets(buckets) => buckets.index_weights(),
        }
    }

    /// Symbols of a bundle's payloads.
    pub fn bundle_symbols(&self) -> usize {
        self.symbols.count() * self.bundle as usize
    }

    /// Sums that make the payloads; 0 for OMD1p.
    pub fn payload_sums(&self) -> usize {
        let rows = self.payloads.as_ref().map_or(0, Combinations::rows);
        rows * self.bundle_symbols()
    }

    /// The messages of a bundle. Range: `bundle` one that there is.
    pub fn messages(&self, bundle: u64) -> std::ops::Range<u64> {
        let first = bundle * u64::from(self.bundle);
        first..self.messages.min(first + u64::from(self.bundle))
    }
}
