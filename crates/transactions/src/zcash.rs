//! Division of Zcash blocks into transactions and shielded outputs.

use crate::TransactionsError;
use crate::bitcoin::transparent;
use crate::payloads::ZCASH_BLOCKS;
use crate::reader::Reader;

/// The length of the data that a recipient tries to decrypt: ephemeral key and `enc_ciphertext`.
pub(crate) const OUTPUT_BYTES: usize = 32 + 580;

const HEADER_BYTES: usize = 140;
const SOLUTION_BYTES: u64 = 1344;
const OVERWINTER: u32 = 1 << 31;
const GROUP_V3: u32 = 0x03c4_8270;
const GROUP_V4: u32 = 0x892f_2085;
const GROUP_V5: u32 = 0x26a7_270a;

const PROOF_BYTES: usize = 192;
const SIGNATURE_BYTES: usize = 64;
const JOIN_SPLIT_BCTV14_BYTES: usize = 1802;
const JOIN_SPLIT_GROTH16_BYTES: usize = 1698;
const SPEND_V4_BYTES: usize = 384;
const OUTPUT_V4_BYTES: usize = 948;
const SPEND_V5_BYTES: usize = 96;
const OUTPUT_V5_BYTES: usize = 756;
const ACTION_BYTES: usize = 820;
/// The bytes before the ephemeral key: value commitment, note commitment.
const OUTPUT_LEAD_BYTES: usize = 2 * 32;
/// The length of an output from its note commitment on, as light clients need it.
const COMMITTED_BYTES: usize = 32 + OUTPUT_BYTES;
/// The bytes before the ephemeral key: value commitment, nullifier, randomised key, note commitment.
const ACTION_LEAD_BYTES: usize = 4 * 32;

/// The content of a run of blocks, in chain order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents<'a> {
    pub(crate) transactions: Vec<&'a [u8]>,
    /// Sapling outputs, `OUTPUT_BYTES` each.
    pub(crate) sapling: Vec<&'a [u8]>,
    /// Sapling outputs from the note commitment on, `COMMITTED_BYTES` each.
    committed: Vec<&'a [u8]>,
    /// Orchard actions, `OUTPUT_BYTES` each.
    pub(crate) orchard: Vec<&'a [u8]>,
}

/// A transaction of the Zcash main chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZcashTransaction {
    /// The whole transaction.
    pub bytes: &'static [u8],
    /// The Sapling outputs from the note commitment on: commitment, ephemeral key and `enc_ciphertext`, 644 bytes each.
    pub sapling_outputs: Vec<&'static [u8]>,
}

/// Returns the transactions of 42 blocks of the Zcash main chain of heights 0 to 1,687,121, in chain order.
///
/// Errors: if the chain data that ships with this crate is damaged.
pub fn zcash_transactions() -> Result<Vec<ZcashTransaction>, TransactionsError> {
    let whole = contents(ZCASH_BLOCKS)?.transactions;
    let transaction = |bytes: &'static [u8]| {
        let mut contents = Contents::default();
        contents.transaction(&mut Reader::new(bytes))?;
        Ok(ZcashTransaction {
            bytes,
            sapling_outputs: contents.committed,
        })
    };
    whole.into_iter().map(transaction).collect()
}

/// Divides concatenated Zcash blocks into transactions and shielded outputs.
///
/// Errors: any field is malformed or truncated.
///
/// Source: Zcash protocol specification, sections 7.1 to 7.6.
pub(crate) fn contents(blocks: &[u8]) -> Result<Contents<'_>, TransactionsError> {
    let mut reader = Reader::new(blocks);
    let mut contents = Contents::default();
    while reader.remaining() > 0 {
        header(&mut reader)?;
        let count = reader.compact_size()?;
        for _ in 0..count {
            contents.transaction(&mut reader)?;
        }
    }
    Ok(contents)
}

fn header<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], TransactionsError> {
    let start = reader.offset();
    reader.take(HEADER_BYTES)?;
    let offset = reader.offset();
    let found = reader.compact_size()?;
    if found != SOLUTION_BYTES {
        return Err(TransactionsError::SolutionSize {
            offset,
            expected: SOLUTION_BYTES,
            found,
        });
    }
    reader.records(found, 1)?;
    Ok(reader.since(start))
}

impl<'a> Contents<'a> {
    fn transaction(&mut self, reader: &mut Reader<'a>) -> Result<(), TransactionsError> {
        let start = reader.offset();
        let word = reader.u32()?;
        match (word & OVERWINTER != 0, word & !OVERWINTER) {
            (false, version @ (1 | 2)) => sprout(reader, version)?,
            (true, 3) => overwinter(reader)?,
            (true, 4) => self.v4(reader)?,
            (true, 5) => self.v5(reader)?,
            _ => {
                return Err(TransactionsError::TransactionHeader {
                    offset: start,
                    found: word,
                });
            }
        }
        self.transactions.push(reader.since(start));
        Ok(())
    }

    fn v4(&mut self, reader: &mut Reader<'a>) -> Result<(), TransactionsError> {
        version_group(reader, GROUP_V4)?;
        transparent(reader)?;
        // Lock time, expiry height, Sapling value balance.
        reader.take(4 + 4 + 8)?;
        let spends = reader.compact_size()?;
        reader.records(spends, SPEND_V4_BYTES)?;
        let outputs = self.sapling_outputs(reader, OUTPUT_V4_BYTES)?;
        join_splits(reader, JOIN_SPLIT_GROTH16_BYTES)?;
        if spends > 0 || outputs > 0 {
            reader.take(SIGNATURE_BYTES)?;
        }
        Ok(())
    }

    fn v5(&mut self, reader: &mut Reader<'a>) -> Result<(), TransactionsError> {
        version_group(reader, GROUP_V5)?;
        // Consensus branch, lock time, expiry height.
        reader.take(3 * 4)?;
        transparent(reader)?;
        self.sapling_bundle(reader)?;
        self.orchard_bundle(reader)
    }

    fn sapling_bundle(&mut self, reader: &mut Reader<'a>) -> Result<(), TransactionsError> {
        let spends = reader.compact_size()?;
        reader.records(spends, SPEND_V5_BYTES)?;
        let outputs = self.sapling_outputs(reader, OUTPUT_V5_BYTES)?;
        if spends == 0 && outputs == 0 {
            return Ok(());
        }
        reader.take(8)?;
        if spends > 0 {
            reader.take(32)?;
        }
        reader.records(spends, PROOF_BYTES + SIGNATURE_BYTES)?;
        reader.records(outputs, PROOF_BYTES)?;
        reader.take(SIGNATURE_BYTES)?;
        Ok(())
    }

    fn orchard_bundle(&mut self, reader: &mut Reader<'a>) -> Result<(), TransactionsError> {
        let actions = reader.compact_size()?;
        if actions == 0 {
            return Ok(());
        }
        let found = reader.records(actions, ACTION_BYTES)?;
        self.orchard
            .extend(ciphertexts(found, ACTION_BYTES, ACTION_LEAD_BYTES));
        // Flags, value balance, anchor.
        reader.take(1 + 8 + 32)?;
        reader.sized()?;
        reader.records(actions, SIGNATURE_BYTES)?;
        reader.take(SIGNATURE_BYTES)?;
        Ok(())
    }

    fn sapling_outputs(
        &mut self,
        reader: &mut Reader<'a>,
        size: usize,
    ) -> Result<u64, TransactionsError> {
        let count = reader.compact_size()?;
        let found = reader.records(count, size)?;
        self.sapling
            .extend(ciphertexts(found, size, OUTPUT_LEAD_BYTES));
        // The value commitment alone comes before the note commitment.
        let committed = found.chunks_exact(size);
        self.committed
            .extend(committed.map(|output| &output[32..32 + COMMITTED_BYTES]));
        Ok(count)
    }
}

/// Returns the ephemeral key and `enc_ciphertext` of each record, which are adjacent in every version.
fn ciphertexts(records: &[u8], size: usize, lead: usize) -> impl Iterator<Item = &[u8]> {
    records
        .chunks_exact(size)
        .map(move |record| &record[lead..lead + OUTPUT_BYTES])
}

fn sprout(reader: &mut Reader<'_>, version: u32) -> Result<(), TransactionsError> {
    transparent(reader)?;
    reader.u32()?;
    if version == 2 {
        join_splits(reader, JOIN_SPLIT_BCTV14_BYTES)?;
    }
    Ok(())
}

fn overwinter(reader: &mut Reader<'_>) -> Result<(), TransactionsError> {
    version_group(reader, GROUP_V3)?;
    transparent(reader)?;
    // Lock time, expiry height.
    reader.take(4 + 4)?;
    join_splits(reader, JOIN_SPLIT_BCTV14_BYTES)
}

fn version_group(reader: &mut Reader<'_>, expected: u32) -> Result<(), TransactionsError> {
    let offset = reader.offset();
    match reader.u32()? {
        found if found == expected => Ok(()),
        found => Err(TransactionsError::VersionGroup {
            offset,
            expected,
            found,
        }),
    }
}

fn join_splits(reader: &mut Reader<'_>, size: usize) -> Result<(), TransactionsError> {
    let count = reader.compact_size()?;
    reader.records(count, size)?;
    if count > 0 {
        reader.take(32 + SIGNATURE_BYTES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
