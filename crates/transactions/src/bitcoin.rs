//! Division of Bitcoin blocks into transactions.

use crate::TransactionsError;
use crate::reader::Reader;

const HEADER_BYTES: usize = 80;
const WITNESS_MARKER: u8 = 0;
const WITNESS_FLAG: u8 = 1;

/// Divides one Bitcoin block, witnesses included, into its transactions.
///
/// Errors: any field is malformed or truncated, or bytes follow the last transaction.
///
/// Source: the Bitcoin developer reference, "Block chain"; BIP 144 for witnesses.
pub(crate) fn transactions(block: &[u8]) -> Result<Vec<&[u8]>, TransactionsError> {
    let mut reader = Reader::new(block);
    reader.take(HEADER_BYTES)?;
    let count = reader.compact_size()?;
    let transactions = (0..count)
        .map(|_| transaction(&mut reader))
        .collect::<Result<_, _>>()?;
    match reader.remaining() {
        0 => Ok(transactions),
        found => Err(TransactionsError::TrailingBytes {
            offset: reader.offset(),
            found,
        }),
    }
}

fn transaction<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], TransactionsError> {
    let start = reader.offset();
    reader.u32()?;
    let segregated = reader.peek() == Some(WITNESS_MARKER);
    if segregated {
        witness_flag(reader)?;
    }
    let inputs = transparent(reader)?;
    if segregated {
        for _ in 0..inputs {
            let items = reader.compact_size()?;
            for _ in 0..items {
                reader.sized()?;
            }
        }
    }
    reader.u32()?;
    Ok(reader.since(start))
}

fn witness_flag(reader: &mut Reader<'_>) -> Result<(), TransactionsError> {
    reader.u8()?;
    let offset = reader.offset();
    match reader.u8()? {
        WITNESS_FLAG => Ok(()),
        found => Err(TransactionsError::WitnessFlag {
            offset,
            expected: WITNESS_FLAG,
            found,
        }),
    }
}

/// Skips the transparent inputs and outputs, whose format Zcash shares, and returns the number of inputs.
pub(crate) fn transparent(reader: &mut Reader<'_>) -> Result<u64, TransactionsError> {
    let inputs = reader.compact_size()?;
    for _ in 0..inputs {
        reader.take(32 + 4)?;
        reader.sized()?;
        reader.u32()?;
    }
    let outputs = reader.compact_size()?;
    for _ in 0..outputs {
        reader.take(8)?;
        reader.sized()?;
    }
    Ok(inputs)
}

#[cfg(test)]
mod tests {
    use bitcoin_test_data::blocks::mainnet_702861;

    use super::*;
    use crate::sha256d::{meets_target, merkle_root, sha256d};

    #[test]
    fn block_702861_is_genuine_and_whole() {
        let block = mainnet_702861();
        let found = transactions(block).unwrap();
        assert_eq!(found.len(), 2500);
        assert!(meets_target(
            &block[..80],
            block[72..76].try_into().unwrap()
        ));

        // The coinbase commits to every other transaction, witnesses included (BIP 141).
        let leaf = |(i, tx): (usize, &&[u8])| if i == 0 { [0; 32] } else { sha256d(tx) };
        let root = merkle_root(found.iter().enumerate().map(leaf).collect());
        let commitment = sha256d(&[root, [0; 32]].concat());
        let script = [&[0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed], &commitment[..]].concat();
        assert!(
            found[0]
                .windows(script.len())
                .any(|window| window == script)
        );
    }

    #[test]
    fn every_cut_is_refused() {
        let block = mainnet_702861();
        for len in (0..block.len()).step_by(45_007) {
            let error = transactions(&block[..len]).unwrap_err();
            assert!(
                matches!(error, TransactionsError::Truncated { .. }),
                "{len} bytes: {error}"
            );
        }
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let block = mainnet_702861();
        let expected = TransactionsError::TrailingBytes {
            offset: block.len(),
            found: 2,
        };
        assert_eq!(transactions(&[block, &[0; 2]].concat()), Err(expected));
    }

    #[test]
    fn an_unknown_witness_flag_is_refused() {
        let mut block = mainnet_702861().to_vec();
        let flag_at = 80 + 3 + 4 + 1;
        assert_eq!(block[flag_at], WITNESS_FLAG);
        block[flag_at] = 2;
        let expected = TransactionsError::WitnessFlag {
            offset: flag_at,
            expected: 1,
            found: 2,
        };
        assert_eq!(transactions(&block), Err(expected));
    }
}
