//! Payloads that are read once but used twice: for the hashes of clues, if there are no stored ones, and as symbols.

use super::Run;
use crate::DetectorError;
use std::collections::HashMap;
use std::ops::Range;

/// Largest length in bytes of the payloads that are kept from one use to the other, over all batches: one batch of
/// 65,536 messages with payloads of 1,024 bytes. Further payloads are read again, so that a digest of many batches
/// takes no more memory.
const KEPT_BYTES: usize = 64 << 20;

/// Payloads of whole batches, by number of the batch.
#[derive(Default)]
pub(super) struct KeptPayloads {
    batches: HashMap<usize, Vec<u8>>,
    bytes: usize,
}

impl KeptPayloads {
    /// Keeps a batch's payloads if there is room.
    pub(super) fn keep(&mut self, batch: usize, payloads: Vec<u8>) {
        if self.bytes + payloads.len() <= KEPT_BYTES {
            self.bytes += payloads.len();
            self.batches.insert(batch, payloads);
        }
    }

    /// Removes and returns a batch's payloads.
    pub(super) fn take(&mut self, batch: usize) -> Option<Vec<u8>> {
        let payloads = self.batches.remove(&batch)?;
        self.bytes -= payloads.len();
        Some(payloads)
    }
}

impl Run<'_> {
    /// Reads the payloads of some messages, one after another.
    ///
    /// Errors: those of the source.
    pub(super) fn read_payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, DetectorError> {
        let source = &mut *self.source;
        let payloads = self.stages.time("read", || source.payloads(range));
        payloads.map_err(DetectorError::Source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_payloads_stay_within_their_room() {
        let mut kept = KeptPayloads::default();
        let half = KEPT_BYTES / 2;
        for batch in 0..3 {
            kept.keep(batch, vec![batch as u8; half]);
        }
        assert_eq!(kept.take(2), None);
        assert_eq!(kept.take(0).map(|payloads| payloads.len()), Some(half));
        assert_eq!(kept.take(0), None);
        kept.keep(2, vec![2; half]);
        assert_eq!(kept.take(2), Some(vec![2; half]));
        kept.keep(3, vec![3; half + 1]);
        assert_eq!(kept.take(3), None);
    }
}
