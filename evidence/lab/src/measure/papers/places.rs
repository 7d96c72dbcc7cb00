//! The positions of messages in the codes, and the rows that the detector adds.

use omr_codec::CodecError;
use omr_papers::clear::{PaperCodes, PaperIndex, PaperSet};
use omr_papers::codec::Combinations;
use omr_papers::detector::{Bundles, RowShape, RowSource};
use omr_protocol::sophomr::packing;
use omr_protocol::{Placement, SEED_BYTES};
use std::ops::Range;

/// The codes, whose messages are positions: bundle by bundle, batch by batch.
pub(super) struct Places {
    codes: PaperCodes,
    bundles: Bundles,
    placements: Vec<Placement>,
    slots: u64,
}

impl Places {
    pub(super) fn new(
        set: &PaperSet,
        bundles: Bundles,
        messages: u64,
        bound: usize,
        payload_bytes: usize,
        fingerprints: bool,
        seed: [u8; SEED_BYTES],
    ) -> Result<Self, CodecError> {
        let batches = messages.div_ceil(set.slots as u64);
        let symbols = packing(set.p.into(), payload_bytes, fingerprints)?;
        let places = batches * set.slots as u64;
        Ok(Self {
            codes: PaperCodes::with_symbols(set, &seed, places, bound, symbols)?,
            bundles,
            placements: (0..batches as usize)
                .map(|batch| Placement::new(&seed, batch, set.slots))
                .collect(),
            slots: set.slots as u64,
        })
    }

    pub(super) fn codes(&self) -> &PaperCodes {
        &self.codes
    }

    pub(super) fn bundles(&self) -> Bundles {
        self.bundles
    }

    pub(super) fn bundle_size(&self) -> usize {
        self.bundles.size()
    }

    pub(super) fn batches(&self) -> usize {
        self.placements.len()
    }

    pub(super) fn placement(&self, batch: usize) -> &Placement {
        &self.placements[batch]
    }

    /// Returns the messages of a batch.
    pub(super) fn batch(&self, batch: usize, messages: u64) -> Range<u64> {
        let start = batch as u64 * self.slots;
        start..messages.min(start + self.slots)
    }

    /// Returns the message at a position; `None` if the batch is not full.
    pub(super) fn message(&self, place: u64, messages: u64) -> Option<u64> {
        let size = self.bundles.size() as u64;
        let (bundle, within) = ((place / size) as usize, (place % size) as usize);
        let (batch, j) = (bundle / self.bundles.count(), bundle % self.bundles.count());
        let slot = self.bundles.slots(j).nth(within)?;
        let message = u64::from(self.placements[batch].messages()[slot]);
        Some(batch as u64 * self.slots + message).filter(|&message| message < messages)
    }

    pub(super) fn shape(&self) -> RowShape {
        RowShape {
            index: self.codes.index_sums(),
            combinations: self.codes.payloads.as_ref().map_or(0, Combinations::rows),
            symbols: self.codes.bundle_symbols(),
        }
    }

    /// Calls `add` with the rows of the bundles of a batch.
    pub(super) fn with_rows<T>(
        &self,
        batch: usize,
        messages: u64,
        payload: &(dyn Fn(u64) -> (Vec<u8>, u32) + Sync),
        add: impl FnOnce(&RowSource) -> T,
    ) -> T {
        let first = (batch * self.bundles.count()) as u64;
        let (codes, packing) = (&self.codes, &self.codes.symbols);
        let index = |j: usize, out: &mut Vec<(u32, u32)>| self.index_entries(first + j as u64, out);
        let weights = |j: usize, out: &mut [u32]| {
            if let Some(code) = &codes.payloads {
                let factors = code.factors(first + j as u64);
                factors
                    .into_iter()
                    .for_each(|(row, factor)| out[row] = factor);
            }
        };
        let symbols = |j: usize, out: &mut [u32]| {
            let all = codes.messages(first + j as u64);
            for (place, out) in all.zip(out.chunks_mut(packing.count())) {
                if let Some(message) = self.message(place, messages) {
                    let (payload, fingerprint) = payload(message);
                    let packed = packing.pack_marked(&payload, fingerprint, out);
                    packed.expect("payloads of one length");
                }
            }
        };
        add(&RowSource {
            index: &index,
            weights: &weights,
            symbols: &symbols,
        })
    }

    /// Appends the positions and values of a bundle in the index.
    fn index_entries(&self, bundle: u64, out: &mut Vec<(u32, u32)>) {
        match &self.codes.index {
            PaperIndex::Bitmap(bitmap) => {
                let (slot, weight) = bitmap.place(bundle);
                out.push((slot as u32, weight));
            }
            PaperIndex::Buckets(code) => {
                out.extend(
                    code.places(bundle)
                        .flat_map(|at| (at as u32..).zip(code.content(bundle))),
                );
            }
        }
    }
}
