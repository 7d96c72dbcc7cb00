//! Transactions of version 5 with Orchard actions alone: made, written, read, and named by their ids.
//!
//! The format is that of the Zcash protocol specification, section 7.1; ids follow ZIP 244. Proofs and signatures are
//! zeros: no node that checks them would take such a transaction.

use crate::ZcashError;
use lightwallet_protocol::CompactOrchardAction;
use omr_client::os_rng;
use orchard::Action;
use orchard::builder::{Builder, BundleType};
use orchard::bundle::BundleVersion;
use orchard::tree::Anchor;
use orchard::value::NoteValue;

/// The version 5 with the flag of the upgrade Overwinter.
const VERSION: u32 = 5 | 1 << 31;
const VERSION_GROUP: u32 = 0x26a7_270a;
/// The consensus branch of the upgrade NU5.
const BRANCH: u32 = 0xc2d6_d0b4;

const ACTION_BYTES: usize = 820;
const SIGNATURE_BYTES: usize = 64;
const MEMO_BYTES: usize = 512;
/// The length of the part of a ciphertext that compact blocks contain.
const COMPACT_BYTES: usize = 52;
/// The length of the proof of a number of actions, without and with one more.
const PROOF_BYTES: [usize; 2] = [2720, 2272];
/// The greatest number of actions that are read.
const ACTIONS: usize = 64;

/// A transaction as it is read.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    /// The id, in the order of the network.
    pub(crate) txid: [u8; 32],
    /// The actions as they stand in compact blocks.
    pub(crate) actions: Vec<CompactOrchardAction>,
}

/// A transaction that pays.
#[derive(Clone, Debug)]
pub struct Payment {
    /// The bytes of the transaction.
    pub bytes: Vec<u8>,
    /// The id, in the order of the network.
    pub txid: [u8; 32],
    /// The position of the paying action.
    pub output: u32,
}

/// Makes a transaction that pays `zatoshis` to an address and can be mined below `expiry`. It spends nothing.
///
/// Errors: `Orchard`.
pub fn payment(to: orchard::Address, zatoshis: u64, expiry: u32) -> Result<Payment, ZcashError> {
    let failed = |source: String| ZcashError::Orchard(source);
    let version = BundleVersion::orchard_v2();
    let (kind, flags) = (BundleType::DEFAULT, version.default_flags());
    let builder = Builder::new(kind, version, flags, Anchor::empty_tree());
    let mut builder = builder.map_err(|error| failed(error.to_string()))?;
    builder
        .add_output(None, to, NoteValue::from_raw(zatoshis), [0; MEMO_BYTES])
        .map_err(|error| failed(format!("{error:?}")))?;
    let built = builder.build_for_pczt(os_rng());
    let (bundle, places) = built.map_err(|error| failed(error.to_string()))?;
    let effects = bundle.extract_effects::<i64>();
    let effects = effects.map_err(|error| failed(format!("{error:?}")))?;
    let effects = effects.ok_or_else(|| failed("no actions".into()))?;
    let output = places.output_action_index(0);
    let output = output.ok_or_else(|| failed("no place of the output".into()))?;

    let mut bytes = Vec::new();
    for word in [VERSION, VERSION_GROUP, BRANCH, 0, expiry] {
        bytes.extend(word.to_le_bytes());
    }
    // No transparent inputs and outputs, no Sapling spends and outputs.
    bytes.extend([0; 4]);
    let count = effects.actions().len();
    compact_size(count, &mut bytes);
    for action in effects.actions() {
        write_action(action, &mut bytes);
    }
    bytes.push(effects.flag_byte());
    bytes.extend(effects.value_balance().to_le_bytes());
    bytes.extend(effects.anchor().to_bytes());
    let proof = PROOF_BYTES[0] + PROOF_BYTES[1] * count;
    compact_size(proof, &mut bytes);
    bytes.resize(bytes.len() + proof + SIGNATURE_BYTES * (count + 1), 0);
    let Transaction { txid, .. } = read(&bytes)?;
    Ok(Payment {
        bytes,
        txid,
        output: output as u32,
    })
}

fn write_action(action: &Action<()>, bytes: &mut Vec<u8>) {
    let note = action.encrypted_note();
    let rk: [u8; 32] = action.rk().into();
    bytes.extend(action.cv_net().to_bytes());
    bytes.extend(action.nullifier().to_bytes());
    bytes.extend(rk);
    bytes.extend(action.cmx().to_bytes());
    bytes.extend(note.epk_bytes);
    bytes.extend(note.enc_ciphertext.0);
    bytes.extend(note.out_ciphertext);
}

/// Appends a compact size of 1 or 3 bytes.
fn compact_size(size: usize, bytes: &mut Vec<u8>) {
    match u8::try_from(size) {
        Ok(small) if small < 0xfd => bytes.push(small),
        _ => {
            bytes.push(0xfd);
            bytes.extend((size as u16).to_le_bytes());
        }
    }
}

/// Reads a transaction of version 5 with Orchard actions and nothing else.
///
/// Errors: `Transaction`.
pub(crate) fn read(bytes: &[u8]) -> Result<Transaction, ZcashError> {
    let mut rest = bytes;
    let header = take(&mut rest, 20)?;
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| header[4 * at + byte]));
    for (at, expected) in [VERSION, VERSION_GROUP].into_iter().enumerate() {
        if word(at) != expected {
            return Err(expected_found(
                format!("version word {expected:#010x}"),
                format!("{:#010x}", word(at)),
            ));
        }
    }
    let others = take(&mut rest, 4)?;
    if others != [0; 4] {
        return Err(expected_found("no parts but Orchard's", "others"));
    }
    let count = read_size(&mut rest)?;
    if !(1..=ACTIONS).contains(&count) {
        return Err(expected_found(
            format!("1 to {ACTIONS} actions"),
            count.to_string(),
        ));
    }
    let actions = take(&mut rest, ACTION_BYTES * count)?;
    let ending = take(&mut rest, 1 + 8 + 32)?;
    let proof = read_size(&mut rest)?;
    take(&mut rest, proof)?;
    take(&mut rest, SIGNATURE_BYTES * (count + 1))?;
    if !rest.is_empty() {
        return Err(expected_found(
            "the end of the transaction",
            format!("{} more bytes", rest.len()),
        ));
    }
    let branch = &header[8..12];
    Ok(Transaction {
        txid: txid(header, branch, actions, ending),
        actions: actions.chunks_exact(ACTION_BYTES).map(compact).collect(),
    })
}

/// Returns the id of a transaction.
fn txid(header: &[u8], branch: &[u8], actions: &[u8], ending: &[u8]) -> [u8; 32] {
    let each = || actions.chunks_exact(ACTION_BYTES);
    let (cv, nullifier, rk, cmx) = (0..32, 32..64, 64..96, 96..128);
    // The ephemeral key is followed by the three parts of the ciphertext.
    let note = 128..160 + COMPACT_BYTES;
    let memo = note.end..note.end + MEMO_BYTES;
    let tail = memo.end..ACTION_BYTES;
    let compacts = each().flat_map(|one| {
        [
            &one[nullifier.clone()],
            &one[cmx.clone()],
            &one[note.clone()],
        ]
    });
    let memos = each().map(|one| &one[memo.clone()]);
    let others = each().flat_map(|one| [&one[cv.clone()], &one[rk.clone()], &one[tail.clone()]]);
    let compacts = hash(b"ZTxIdOrcActCHash", compacts);
    let memos = hash(b"ZTxIdOrcActMHash", memos);
    let others = hash(b"ZTxIdOrcActNHash", others);
    let parts = [&compacts[..], &memos, &others, ending];
    let orchard = hash(b"ZTxIdOrchardHash", parts.into_iter());
    let headers = hash(b"ZTxIdHeadersHash", [header].into_iter());
    let transparent = hash(b"ZTxIdTranspaHash", [].into_iter());
    let sapling = hash(b"ZTxIdSaplingHash", [].into_iter());
    let mut personal = *b"ZcashTxHash_0000";
    personal[12..].copy_from_slice(branch);
    let parts = [&headers[..], &transparent, &sapling, &orchard];
    hash(&personal, parts.into_iter())
}

fn hash<'a>(personal: &[u8; 16], parts: impl Iterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut state = blake2b_simd::Params::new()
        .hash_length(32)
        .personal(personal)
        .to_state();
    for part in parts {
        state.update(part);
    }
    let mut out = [0; 32];
    out.copy_from_slice(state.finalize().as_bytes());
    out
}

fn compact(action: &[u8]) -> CompactOrchardAction {
    CompactOrchardAction {
        nullifier: action[32..64].to_vec(),
        cmx: action[96..128].to_vec(),
        ephemeral_key: action[128..160].to_vec(),
        ciphertext: action[160..160 + COMPACT_BYTES].to_vec(),
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], ZcashError> {
    let Some((taken, after)) = rest.split_at_checked(length) else {
        return Err(expected_found(
            format!("{length} more bytes"),
            rest.len().to_string(),
        ));
    };
    *rest = after;
    Ok(taken)
}

fn read_size(rest: &mut &[u8]) -> Result<usize, ZcashError> {
    match take(rest, 1)? {
        [0xfd] => {
            let size = take(rest, 2)?;
            Ok(usize::from(size[0]) | usize::from(size[1]) << 8)
        }
        [small @ 0..0xfd] => Ok(usize::from(*small)),
        found => Err(expected_found(
            "a size of at most 3 bytes",
            format!("{found:?}"),
        )),
    }
}

fn expected_found(expected: impl Into<String>, found: impl Into<String>) -> ZcashError {
    ZcashError::Transaction {
        expected: expected.into(),
        found: found.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::from_hex;
    use omr_transactions::zcash_transactions;
    use sha2::{Digest, Sha256};

    /// Blocks of the main chain, whose headers meet their proof of work.
    const BLOCKS: &[u8] =
        include_bytes!("../../../crates/transactions/data/zcash-mainnet-blocks.bin");
    /// The hashes on the left of the last of the four transactions of block 1,687,121 in the block's Merkle tree, lowest
    /// first.
    const LEFT: [&str; 2] = [
        "b646597e9dc8720b4581392e97050cd7a4e5415d1e092e59595ba5ba091ae2f9",
        "3878d2c02b6d02cd0f6b9e9cb110631d8274905e5c5410b80dd676f2bcb04c8a",
    ];

    #[test]
    fn an_id_leads_to_the_merkle_root_of_its_block() {
        let last = zcash_transactions().unwrap().pop().unwrap();
        let read = read(last.bytes).unwrap();
        assert_eq!(read.actions.len(), 2);
        let mut root = read.txid;
        for left in LEFT {
            let left: [u8; 32] = from_hex(left).unwrap();
            root = Sha256::digest(Sha256::digest([left, root].concat())).into();
        }
        // Only the header of the block has these bytes.
        assert!(BLOCKS.windows(32).any(|bytes| bytes == root));
    }

    #[test]
    fn damaged_transactions_are_refused() {
        let last = zcash_transactions().unwrap().pop().unwrap();
        for length in (0..last.bytes.len()).step_by(97) {
            assert!(read(&last.bytes[..length]).is_err(), "{length}");
        }
        let longer = [last.bytes, &[0]].concat();
        let refused = read(&longer).unwrap_err().to_string();
        let expected = "a transaction: expected the end of the transaction, found 1 more bytes";
        assert_eq!(refused, expected);
    }
}
