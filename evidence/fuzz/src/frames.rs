//! Fuzz target: the container of every file, and packed residues.

use crate::Target;
use crate::input::{choose, chosen, closed, header};
use crate::memory::bounded;
use omr_protocol::frame::{
    BitReader, Kind, is_frame, pack_bits, packed_len, read_frame, unpack_bits, unpack_bits_u32,
};

/// The fuzz target.
pub const TARGET: Target = Target::new("frames", run, seeds);

const KINDS: [Kind; 17] = [
    Kind::SecretKey,
    Kind::ClueKey,
    Kind::DetectionKey,
    Kind::Digest,
    Kind::Clue,
    Kind::InstantKey,
    Kind::Session,
    Kind::PdqSecretKey,
    Kind::PdqKey,
    Kind::PdqQuery,
    Kind::PdqAnswer,
    Kind::PdqTable,
    Kind::KeptParts,
    Kind::RoundsKey,
    Kind::Scan,
    Kind::FetchQuery,
    Kind::FetchAnswer,
];
/// A number that is added to the choice of a kind: checksums are then corrected first.
const REPAIRED: usize = 64;
/// The first choice for packed residues.
const BITS: usize = 128;
const MOST: u64 = 1 << 20;

fn run(choice: usize, rest: &[u8]) {
    bounded(rest.len(), 16, || match choice {
        BITS.. => residues(rest),
        REPAIRED.. => frame(KINDS[choice % KINDS.len()], &repaired(rest)),
        _ => frame(KINDS[choice % KINDS.len()], rest),
    });
}

fn frame(kind: Kind, file: &[u8]) {
    if let Ok((header, body)) = read_frame(file, kind, MOST) {
        assert!(is_frame(file) && header.kind == kind);
        assert_eq!(closed(&header, &body), file);
    }
}

/// Returns the file with correct checksums.
fn repaired(file: &[u8]) -> Vec<u8> {
    let mut out = file.to_vec();
    let head = 9 + usize::from(*out.get(8).unwrap_or(&0)) + 16 + 8;
    if out.len() < head + 8 + 32 {
        return out;
    }
    let sum = blake3::derive_key("omr file v1 header", &out[..head]);
    out[head..head + 8].copy_from_slice(&sum[..8]);
    let end = out.len() - 32;
    let sum = blake3::derive_key("omr file v1", &out[..end]);
    out[end..].copy_from_slice(&sum);
    out
}

/// Checks that all readers of packed residues agree, and that packing the residues again yields the same bytes.
fn residues(bytes: &[u8]) {
    let Some((bits, packed)) = chosen(bytes) else {
        return;
    };
    let bits = bits as u32 % 70;
    let count = packed.len() * 8 / bits.max(1) as usize;
    let mut words = vec![0; count];
    let read = unpack_bits(packed, bits, &mut words).is_ok();
    assert!(!read || packed_len(count, bits) == Some(packed.len()));
    if read {
        let mut again = Vec::new();
        pack_bits(&words, bits, &mut again);
        assert_eq!(again, packed);
    }
    let mut halves = vec![0; count];
    let narrow = unpack_bits_u32(packed, bits, &mut halves).is_ok();
    assert_eq!(narrow, read && bits <= 32);
    if narrow {
        assert!(halves.iter().zip(&words).all(|(a, b)| u64::from(*a) == *b));
    }
    let mut reader = BitReader::new(packed);
    let one_by_one: Result<Vec<u64>, _> = (0..count).map(|_| reader.take(bits)).collect();
    if count > 0 && (1..=64).contains(&bits) {
        let whole = one_by_one.is_ok_and(|found| !read || found == words);
        assert!(whole && reader.finish().is_ok() == read);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = (0..KINDS.len())
        .map(|i| {
            let file = closed(&header(KINDS[i], "sophomr-v5"), &[7; 20]);
            // The choice determines the kind.
            let repaired = (REPAIRED..BITS).find(|choice| choice % KINDS.len() == i);
            choose(repaired.expect("more than kinds"), &file)
        })
        .collect();
    seeds.push(choose(1, &closed(&header(Kind::ClueKey, "x"), b"")));
    seeds.extend([20, 21, 1, 64].map(|bits| choose(BITS, &choose(bits, &[0x5a; 40]))));
    seeds
}
