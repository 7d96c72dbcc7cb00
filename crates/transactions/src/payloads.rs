//! Payloads of one size, cut from real transactions.

use bitcoin_test_data::blocks::mainnet_702861;

use crate::{TransactionsError, bitcoin, zcash};

pub(crate) const ZCASH_BLOCKS: &[u8] = include_bytes!("../data/zcash-mainnet-blocks.bin");

/// The smallest payload size: the first 56 bytes of every record differ from those of all others.
pub const MIN_PAYLOAD_BYTES: usize = 64;

const COUNTER_BYTES: usize = 8;

/// The origin of some of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The kind of the records.
    pub name: &'static str,
    /// The number of records.
    pub count: usize,
    /// A note on the records' origin, and their length before cutting or padding.
    pub note: &'static str,
}

/// Real transactions as payloads of one size; see [`real_payloads`].
#[derive(Debug, Clone)]
pub struct RealPayloads {
    payload_bytes: usize,
    sources: Vec<Source>,
    records: Vec<&'static [u8]>,
}

/// Loads the real transactions as payloads of `payload_bytes` bytes.
///
/// Payload `i` is record `i` modulo [`RealPayloads::cycle`], with the sources in order, truncated or
/// zero-padded to `payload_bytes`. From the second cycle on, the last 8 bytes are overwritten with `i` in
/// little-endian. A payload depends on `i` alone, and payloads of different `i` differ: records differ within
/// their first 56 bytes, repetitions of a record in the counter. The one exception would be a record whose own
/// bytes at the end equal a later `i`; for 64 and 612 bytes the tests exclude this up to `i` = 65,535.
///
/// Range:  `payload_bytes` at least [`MIN_PAYLOAD_BYTES`].
///
/// Errors: `PayloadTooShort`; any other variant if the chain data that ships with this crate is damaged.
pub fn real_payloads(payload_bytes: usize) -> Result<RealPayloads, TransactionsError> {
    if payload_bytes < MIN_PAYLOAD_BYTES {
        return Err(TransactionsError::PayloadTooShort {
            expected: MIN_PAYLOAD_BYTES,
            found: payload_bytes,
        });
    }
    let mut payloads = RealPayloads {
        payload_bytes,
        sources: Vec::new(),
        records: Vec::new(),
    };
    let zcash = zcash::contents(ZCASH_BLOCKS)?;
    payloads.add(
        "zcash sapling outputs",
        "42 mainnet blocks of heights 0 to 1,687,121; ephemeral key and enc_ciphertext, 612 bytes each",
        zcash.sapling,
    );
    payloads.add(
        "zcash orchard actions",
        "the same blocks; ephemeral key and enc_ciphertext, 612 bytes each",
        zcash.orchard,
    );
    payloads.add(
        "zcash transactions",
        "the same blocks; whole transactions, 122 to 17,201 bytes each",
        zcash.transactions,
    );
    payloads.add(
        "bitcoin transactions",
        "mainnet block 702,861; whole transactions, 188 to 170,363 bytes each",
        bitcoin::transactions(mainnet_702861())?,
    );
    Ok(payloads)
}

impl RealPayloads {
    /// Returns the sources in the order in which payloads use them.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the number of records, after which payloads start over with a counter.
    pub fn cycle(&self) -> usize {
        self.records.len()
    }

    /// Returns the length of every payload.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Returns payload `i`, `payload_bytes` long. Every `i` has one.
    pub fn payload(&self, i: usize) -> Vec<u8> {
        let record = self.records[i % self.cycle()];
        let mut payload = vec![0; self.payload_bytes];
        let kept = record.len().min(self.payload_bytes);
        payload[..kept].copy_from_slice(&record[..kept]);
        if i >= self.cycle() {
            let counter_at = self.payload_bytes - COUNTER_BYTES;
            payload[counter_at..].copy_from_slice(&(i as u64).to_le_bytes());
        }
        payload
    }

    /// Returns all payloads from the first on. The iterator is practically endless.
    pub fn iter(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        (0..).map(|i| self.payload(i))
    }

    fn add(&mut self, name: &'static str, note: &'static str, records: Vec<&'static [u8]>) {
        self.sources.push(Source {
            name,
            count: records.len(),
            note,
        });
        self.records.extend(records);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn records_differ_ahead_of_the_counter() {
        let payloads = real_payloads(MIN_PAYLOAD_BYTES).unwrap();
        let prefix = |i| payloads.payload(i)[..MIN_PAYLOAD_BYTES - COUNTER_BYTES].to_vec();
        let prefixes: HashSet<_> = (0..payloads.cycle()).map(prefix).collect();
        assert_eq!(prefixes.len(), payloads.cycle());
    }

    #[test]
    fn notes_state_the_lengths() {
        let payloads = real_payloads(MIN_PAYLOAD_BYTES).unwrap();
        let mut first = 0;
        for source in payloads.sources() {
            let records = &payloads.records[first..first + source.count];
            first += source.count;
            for length in [
                records.iter().map(|r| r.len()).min(),
                records.iter().map(|r| r.len()).max(),
            ] {
                let digits = length.unwrap().to_string();
                let note = source.note.replace(',', "");
                assert!(note.contains(&format!(" {digits} ")), "{digits} in: {note}");
            }
        }
        assert_eq!(first, payloads.cycle());
    }
}
