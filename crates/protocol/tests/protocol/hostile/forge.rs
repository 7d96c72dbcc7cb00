//! Functions that make files that no honest writer makes.

use omr_errors::Mismatch;
use omr_protocol::frame::{FrameError, FrameHeader, FramePart, Kind, write_frame_vec};
use omr_protocol::sophomr::Params;
use std::sync::{Arc, LazyLock};

/// Returns the insecure tiny set, which is built once.
pub(crate) fn tiny() -> &'static Params {
    static TINY: LazyLock<Arc<Params>> =
        LazyLock::new(|| Params::named("insecure-tiny-v4").unwrap());
    &TINY
}

pub(crate) const KEY_ID: [u8; 16] = *b"a key of a test.";

/// Returns a file of the tiny set with right checksums around any body.
pub(crate) fn file(kind: Kind, body: &[u8]) -> Vec<u8> {
    let header = FrameHeader::new(kind, tiny().name(), KEY_ID);
    write_frame_vec(&header, body).unwrap()
}

/// Returns the body of a file of the tiny set.
pub(crate) fn body_of(file: &[u8]) -> &[u8] {
    &file[header_len()..file.len() - 32]
}

/// Returns the length of magic, version, kind, name, key id, body length and header checksum.
fn header_len() -> usize {
    9 + tiny().name().len() + 16 + 8 + 8
}

/// Returns the file with bytes `at..` of its header replaced, with right checksums.
pub(crate) fn with_header(file: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut out = file.to_vec();
    out[at..at + bytes.len()].copy_from_slice(bytes);
    let end = header_len() - 8;
    let sum = blake3::derive_key("omr file v1 header", &out[..end]);
    out[end..end + 8].copy_from_slice(&sum[..8]);
    let end = out.len() - 32;
    let sum = blake3::derive_key("omr file v1", &out[..end]);
    out[end..].copy_from_slice(&sum);
    out
}

/// Returns the file with another announced body length.
pub(crate) fn announcing(file: &[u8], body_len: u64) -> Vec<u8> {
    with_header(file, header_len() - 16, &body_len.to_le_bytes())
}

/// Returns the file with another kind.
pub(crate) fn of_kind(file: &[u8], kind: u16) -> Vec<u8> {
    with_header(file, 6, &kind.to_le_bytes())
}

/// Checks errors of headers for any kind of file; `parse` returns the frame's error.
#[track_caller]
pub(crate) fn headers_are_checked(good: &[u8], limit: u64, parse: impl Fn(&[u8]) -> FrameError) {
    assert!(matches!(
        parse(&announcing(good, u64::MAX)),
        FrameError::TooLarge(Mismatch { expected: l, found: u64::MAX }) if l == limit
    ));
    assert!(matches!(
        parse(&of_kind(good, Kind::Clue as u16)),
        FrameError::Kind(Mismatch {
            found: Kind::Clue,
            ..
        })
    ));
    assert!(matches!(
        parse(&of_kind(good, 77)),
        FrameError::UnknownKind(Mismatch { found: 77, .. })
    ));
    for found in [0, 2] {
        let error = parse(&with_header(good, 4, &[found, 0]));
        assert!(matches!(error, FrameError::Version(f) if f == u16::from(found)));
    }
    let other = "insecure-huge-v1";
    match parse(&with_header(good, 9, other.as_bytes())) {
        FrameError::Params(Mismatch { expected, found }) => {
            assert_eq!((expected.as_str(), found.as_str()), (tiny().name(), other));
        }
        error => panic!("{error}"),
    }
    assert!(matches!(
        parse(&[good, &[0]].concat()),
        FrameError::Trailing
    ));
}

/// Cuts a file at every place and flips every bit of it; all results must be refused.
#[track_caller]
pub(crate) fn damage_is_refused(good: &[u8], parse: impl Fn(&[u8]) -> FrameError) {
    for cut in 0..good.len() {
        match parse(&good[..cut]) {
            FrameError::Truncated(Mismatch { expected, found }) => {
                assert!(found == cut as u64 && expected > found && expected <= good.len() as u64);
            }
            error => panic!("cut at {cut}: {error}"),
        }
    }
    let mut bad = good.to_vec();
    for bit in 0..8 * good.len() {
        bad[bit / 8] ^= 1 << (bit % 8);
        let error = parse(&bad);
        if bit / 8 >= header_len() {
            let part = FramePart::Body;
            assert!(
                matches!(error, FrameError::Checksum(p) if p == part),
                "bit {bit}"
            );
        }
        bad[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Returns bytes that look random and depend on the seed only.
pub(crate) fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut out = vec![0; count];
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&seed.to_le_bytes())
        .finalize_xof()
        .fill(&mut out);
    out
}

/// Sets residue `index` of packed residues of `bits` bits to `value`.
pub(crate) fn set_residue(bytes: &mut [u8], index: usize, bits: usize, value: u64) {
    for i in 0..bits {
        let at = index * bits + i;
        let bit = (value >> i & 1) as u8;
        bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | bit << (at % 8);
    }
}
