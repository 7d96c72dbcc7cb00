//! Tests that the Zcash data is genuine and that its outputs are found.

use super::*;
use crate::sha256d::{meets_target, merkle_root, sha256d};

/// The number of blocks in the data file. A double SHA-256 Merkle root covers all transactions of those before
/// version 5.
const BLOCKS: usize = 42;
const BLOCKS_BEFORE_V5: usize = 36;

struct Block<'a> {
    header: &'a [u8],
    contents: Contents<'a>,
}

fn blocks() -> Vec<Block<'static>> {
    let mut reader = Reader::new(ZCASH_BLOCKS);
    let mut blocks = Vec::new();
    while reader.remaining() > 0 {
        let header = header(&mut reader).unwrap();
        let mut contents = Contents::default();
        for _ in 0..reader.compact_size().unwrap() {
            contents.transaction(&mut reader).unwrap();
        }
        blocks.push(Block { header, contents });
    }
    blocks
}

#[test]
fn the_data_file_holds_what_is_stated() {
    let contents = contents(ZCASH_BLOCKS).unwrap();
    let of_version = |version: u8| {
        contents
            .transactions
            .iter()
            .filter(|t| t[0] == version)
            .count()
    };
    assert_eq!([1, 2, 3, 4, 5].map(of_version), [19, 6, 16, 131, 33]);
    assert_eq!(contents.sapling.len(), 55);
    assert_eq!(contents.orchard.len(), 6);
    let outputs = contents.sapling.iter().chain(&contents.orchard);
    assert!(
        outputs
            .into_iter()
            .all(|output| output.len() == OUTPUT_BYTES)
    );
}

#[test]
fn transactions_have_their_outputs() {
    let contents = contents(ZCASH_BLOCKS).unwrap();
    let transactions = zcash_transactions().unwrap();
    let outputs = transactions.iter().flat_map(|one| &one.sapling_outputs);
    let ciphertexts: Vec<_> = outputs.map(|output| &output[32..]).collect();
    assert_eq!(transactions.len(), contents.transactions.len());
    assert_eq!(ciphertexts, contents.sapling);
}

#[test]
fn every_header_meets_its_proof_of_work_target() {
    let blocks = blocks();
    assert_eq!(blocks.len(), BLOCKS);
    for block in blocks {
        assert!(meets_target(
            block.header,
            block.header[104..108].try_into().unwrap()
        ));
    }
}

#[test]
fn transactions_hash_to_the_merkle_roots_of_their_blocks() {
    // Version 5 transactions are named by another hash (ZIP 244).
    let covered: Vec<_> = blocks()
        .into_iter()
        .filter(|block| block.contents.transactions.iter().all(|tx| tx[0] < 5))
        .collect();
    assert_eq!(covered.len(), BLOCKS_BEFORE_V5);
    for Block { header, contents } in covered {
        let leaves = contents.transactions.iter().map(|tx| sha256d(tx)).collect();
        assert_eq!(merkle_root(leaves), header[36..68]);
    }
}

#[test]
fn every_cut_is_refused_unless_between_blocks() {
    let whole = contents(ZCASH_BLOCKS).unwrap().transactions.len();
    let lengths: Vec<usize> = blocks()
        .iter()
        .map(|b| {
            b.header.len()
                + 1
                + b.contents
                    .transactions
                    .iter()
                    .map(|t| t.len())
                    .sum::<usize>()
        })
        .collect();
    assert_eq!(lengths.iter().sum::<usize>(), ZCASH_BLOCKS.len());
    for len in (1..ZCASH_BLOCKS.len()).step_by(997) {
        match contents(&ZCASH_BLOCKS[..len]) {
            Ok(found) => panic!("{len} bytes hold {} of {whole}", found.transactions.len()),
            Err(error) => assert!(
                matches!(error, TransactionsError::Truncated { .. }),
                "{error}"
            ),
        }
    }
    let first_two = lengths[0] + lengths[1];
    assert_eq!(
        contents(&ZCASH_BLOCKS[..first_two])
            .unwrap()
            .transactions
            .len(),
        2
    );
}

#[test]
fn a_solution_of_another_size_is_refused() {
    let mut block = ZCASH_BLOCKS.to_vec();
    block[141] -= 1;
    let expected = TransactionsError::SolutionSize {
        offset: 140,
        expected: 1344,
        found: 1343,
    };
    assert_eq!(contents(&block), Err(expected));
}

#[test]
fn unknown_versions_and_groups_are_refused() {
    let first = HEADER_BYTES + 3 + SOLUTION_BYTES as usize + 1;
    for found in [0, 3, 6, OVERWINTER | 1, OVERWINTER | 6] {
        let mut block = ZCASH_BLOCKS.to_vec();
        block[first..first + 4].copy_from_slice(&found.to_le_bytes());
        let expected = TransactionsError::TransactionHeader {
            offset: first,
            found,
        };
        assert_eq!(contents(&block), Err(expected));
    }
    let mut block = ZCASH_BLOCKS.to_vec();
    block[first..first + 4].copy_from_slice(&(OVERWINTER | 5).to_le_bytes());
    block[first + 4..first + 8].copy_from_slice(&GROUP_V4.to_le_bytes());
    let expected = TransactionsError::VersionGroup {
        offset: first + 4,
        expected: GROUP_V5,
        found: GROUP_V4,
    };
    assert_eq!(contents(&block), Err(expected));
}
