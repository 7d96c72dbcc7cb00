//! Bitcoin's double SHA-256. Tests use it to check that the chain data is genuine.

use sha2::{Digest, Sha256};

pub(crate) fn sha256d(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(Sha256::digest(bytes)).into()
}

/// Returns the Merkle root of `leaves`; an odd level repeats its last node.
pub(crate) fn merkle_root(mut leaves: Vec<[u8; 32]>) -> [u8; 32] {
    while leaves.len() > 1 {
        leaves = leaves
            .chunks(2)
            .map(|pair| sha256d(&[pair[0], pair[pair.len() - 1]].concat()))
            .collect();
    }
    leaves[0]
}

/// Returns whether a block header's hash meets the target in its `bits` field.
pub(crate) fn meets_target(header: &[u8], bits: [u8; 4]) -> bool {
    let mut hash = sha256d(header);
    hash.reverse();
    // The target is a 3-byte mantissa that ends at byte `bits[3]`, counted from the low end.
    let mantissa_at = 32 - usize::from(bits[3]);
    let mut target = [0; 32];
    target[mantissa_at..mantissa_at + 3].copy_from_slice(&[bits[2], bits[1], bits[0]]);
    hash <= target
}
