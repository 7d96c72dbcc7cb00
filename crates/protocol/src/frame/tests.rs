//! Tests of frames: what was written is read back, and damage is refused.

use std::io::{self, Read, Write};

use omr_errors::Mismatch;
use proptest::prelude::*;

use super::*;

const HEAD: usize = PREFIX_BYTES + "test-v1".len() + SUFFIX_BYTES;

fn header(kind: Kind) -> FrameHeader {
    FrameHeader::new(kind, "test-v1", *b"0123456789abcdef")
}

fn small() -> Vec<u8> {
    write_frame_vec(&header(Kind::Digest), b"a small body").unwrap()
}

fn read(bytes: &[u8]) -> Result<(FrameHeader, Vec<u8>), FrameError> {
    read_frame(bytes, Kind::Digest, 1000)
}

/// A frame with a valid header checksum over fields that no writer would choose.
fn forged(edit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = small();
    edit(&mut bytes);
    let sum = header_checksum(&bytes[..HEAD - HEADER_SUM_BYTES]);
    bytes[HEAD - HEADER_SUM_BYTES..HEAD].copy_from_slice(&sum);
    bytes
}

/// A reader that returns one byte at a time, as a slow pipe may.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = out.len().min(1);
        self.0.read(&mut out[..len])
    }
}

/// Returns `len` bytes derived from a seed; drawing each with proptest would take most of the test's time.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn any_frame_round_trips(
        body in (0..300_000_usize, any::<u64>()).prop_map(|(len, seed)| noise(len, seed)),
        params_id in "[!-~]{1,64}",
        key_id: [u8; 16],
        cut in any::<prop::sample::Index>(),
    ) {
        let header = FrameHeader::new(Kind::Clue, params_id, key_id);
        let whole = write_frame_vec(&header, &body).unwrap();
        prop_assert_eq!(whole.len() as u64, header.file_len(body.len() as u64));

        let (left, right) = body.split_at(cut.index(body.len() + 1));
        let mut streamed = Vec::new();
        write_frame(&mut streamed, &header, body.len() as u64, |w| {
            w.write_all(left)?;
            w.write_all(right)?;
            Ok::<_, FrameError>(())
        })
        .unwrap();
        prop_assert_eq!(&streamed, &whole);

        let back = read_frame(&whole[..], Kind::Clue, body.len() as u64).unwrap();
        prop_assert_eq!(back, (header.clone(), body.clone()));

        let mut reader =
            FrameReader::read_header(&whole[..], Kind::Clue, u64::MAX).unwrap();
        let (mut first, mut second) = (vec![0; left.len()], vec![0; right.len()]);
        reader.read_exact(&mut first).unwrap();
        reader.read_exact(&mut second).unwrap();
        prop_assert_eq!(reader.finish().unwrap(), header);
        prop_assert_eq!((first, second), (left.to_vec(), right.to_vec()));
    }

    #[test]
    fn noise_is_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), keep in 0usize..12) {
        let good = small();
        let keep = keep.min(bytes.len());
        bytes[..keep].copy_from_slice(&good[..keep]);
        prop_assert!(read(&bytes).is_err());
    }
}

#[test]
fn a_slow_source_round_trips() {
    let bytes = small();
    assert_eq!(
        read_frame(Drip(&bytes), Kind::Digest, 12).unwrap().1,
        b"a small body"
    );
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = small();
    for len in 0..bytes.len() {
        match read(&bytes[..len]) {
            Err(FrameError::Truncated(Mismatch { expected, found })) => {
                assert_eq!(found, len as u64);
                assert!(expected > found && expected <= bytes.len() as u64);
            }
            other => panic!("cut at {len}: {other:?}"),
        }
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let bytes = small();
    for bit in 0..bytes.len() * 8 {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&bad).is_err(), "bit {bit}");
    }
    let mut bad = bytes;
    bad[HEAD + 3] ^= 1;
    assert!(matches!(
        read(&bad),
        Err(FrameError::Checksum(FramePart::Body))
    ));
}

#[test]
fn foreign_files_are_named() {
    let found = read(b"PK\x03\x04 and so on").unwrap_err();
    assert_eq!(
        found.to_string(),
        "not an omr file: expected it to begin with \"OMRF\", found \"PK\\x03\\x04\""
    );
    for short in [&b"PK\x03\x04"[..], b"hi\n", b"x"] {
        let found = read(short).unwrap_err();
        assert!(matches!(found, FrameError::NotOmr(found) if *found == *short));
    }

    for other in [0, 2] {
        let file = forged(|bytes| bytes[4] = other);
        assert_eq!(
            read(&file).unwrap_err().to_string(),
            format!(
                "an earlier development version of omr made it, or a later release: found format version {other}, this \
                 one reads 1; make it new with this version"
            )
        );
    }

    let clue_key = write_frame_vec(&header(Kind::ClueKey), b"").unwrap();
    let found = read_frame(&clue_key[..], Kind::DetectionKey, 0).unwrap_err();
    assert_eq!(
        found.to_string(),
        "expected a detection key, found a clue key"
    );

    let unknown = forged(|bytes| bytes[6] = 77);
    assert!(matches!(
        read(&unknown),
        Err(FrameError::UnknownKind(Mismatch {
            expected: Kind::Digest,
            found: 77
        }))
    ));

    let header = header(Kind::Digest);
    assert!(header.expect_params("test-v1").is_ok() && header.expect_key(&header.key_id).is_ok());
    assert!(matches!(
        header.expect_params("test-v2"),
        Err(FrameError::Params(_))
    ));
    assert!(matches!(
        header.expect_key(&[0; 16]),
        Err(FrameError::KeyId(_))
    ));
}

#[test]
fn hostile_lengths_are_refused_before_the_body() {
    let at = HEAD - HEADER_SUM_BYTES - 8;
    let huge = forged(|bytes| bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes()));
    assert!(matches!(
        read(&huge[..HEAD]),
        Err(FrameError::TooLarge(Mismatch {
            expected: 1000,
            found: u64::MAX
        }))
    ));
    // Without a limit the file still ends where its bytes end, and no memory is reserved for the announced length.
    let end = read_frame(&huge[..], Kind::Digest, u64::MAX);
    assert!(matches!(end, Err(FrameError::Truncated(_))));

    let bad_name = forged(|bytes| bytes[PREFIX_BYTES] = 0x80);
    assert!(matches!(read(&bad_name), Err(FrameError::ParamsName(7))));
    for name in ["", "two words", &"x".repeat(65)] {
        let header = FrameHeader {
            params_id: name.into(),
            ..header(Kind::Digest)
        };
        let found = write_frame_vec(&header, b"");
        assert!(matches!(found, Err(FrameError::ParamsName(_))), "{name:?}");
    }
}

#[test]
fn bodies_end_where_announced() {
    let mut bytes = small();
    bytes.push(0);
    assert!(matches!(read(&bytes), Err(FrameError::Trailing)));

    let mut reader = FrameReader::read_header(&bytes[..], Kind::Digest, 1000).unwrap();
    reader.read_exact(&mut [0; 5]).unwrap();
    assert!(matches!(reader.finish(), Err(FrameError::Unread(7))));

    for found in [11, 13] {
        let body = vec![0; found];
        let error = write_frame(&mut Vec::new(), &header(Kind::Clue), 12, |w| {
            Ok::<_, FrameError>(w.write_all(&body)?)
        });
        match error {
            Err(FrameError::BodyLength(Mismatch {
                expected: 12,
                found: reported,
            })) => {
                assert_eq!(reported, found as u64);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn layout_is_frozen() {
    let bytes = small();
    assert_eq!(bytes[..16], *b"OMRF\x01\x00\x04\x00\x07test-v1");
    assert_eq!(bytes[16..40], *b"0123456789abcdef\x0c\0\0\0\0\0\0\0");
    assert_eq!(bytes[HEAD..HEAD + 12], *b"a small body");
    let sum = blake3::Hasher::new_derive_key("omr file v1")
        .update(&bytes[..HEAD + 12])
        .finalize();
    assert_eq!(bytes[HEAD + 12..], *sum.as_bytes());
    let head = blake3::Hasher::new_derive_key("omr file v1 header")
        .update(&bytes[..40])
        .finalize();
    assert_eq!(bytes[40..HEAD], head.as_bytes()[..8]);
}

fn residues() -> impl Strategy<Value = (u32, Vec<u64>)> {
    (1u32..=64).prop_flat_map(|bits| {
        (
            Just(bits),
            prop::collection::vec(0..=u64::MAX >> (64 - bits), 0..200),
        )
    })
}

proptest! {
    #[test]
    fn residues_round_trip((bits, residues) in residues()) {
        let mut packed = vec![9];
        pack_bits(&residues, bits, &mut packed);
        let packed = &packed[1..];
        prop_assert_eq!(Some(packed.len()), packed_len(residues.len(), bits));

        let mut back = vec![0; residues.len()];
        unpack_bits(packed, bits, &mut back).unwrap();
        prop_assert_eq!(&back, &residues);

        let mut one_by_one = Vec::new();
        let mut writer = BitWriter::new(&mut one_by_one);
        residues.iter().for_each(|residue| writer.push(*residue, bits));
        writer.finish();
        prop_assert_eq!(&one_by_one, packed);
        let mut reader = BitReader::new(packed);
        for residue in &residues {
            prop_assert_eq!(reader.take(bits).unwrap(), *residue);
        }
        reader.finish().unwrap();

        let mut longer = packed.to_vec();
        longer.push(0);
        let wrong = unpack_bits(&longer, bits, &mut back);
        prop_assert!(matches!(wrong, Err(FrameError::PackedLength(_))), "{:?}", wrong);
    }

    #[test]
    fn padding_must_be_zero((bits, residues) in residues(), extra in 0u32..8) {
        let mut packed = Vec::new();
        pack_bits(&residues, bits, &mut packed);
        let used = residues.len() * bits as usize % 8;
        prop_assume!(used != 0);
        let bit = used as u32 + extra % (8 - used as u32);
        *packed.last_mut().unwrap() |= 1 << bit;

        let mut back = vec![0; residues.len()];
        let wrong = unpack_bits(&packed, bits, &mut back);
        prop_assert!(matches!(wrong, Err(FrameError::Padding)), "{:?}", wrong);
        let mut reader = BitReader::new(&packed);
        for _ in &residues {
            reader.take(bits).unwrap();
        }
        let wrong = reader.finish();
        prop_assert!(matches!(wrong, Err(FrameError::Padding)), "{:?}", wrong);
    }
}

/// Unpacks residue by residue if there are enough bytes.
fn unpack_one_by_one(bytes: &[u8], bits: u32, count: usize) -> Result<Vec<u64>, FrameError> {
    let mut reader = BitReader::new(bytes);
    let residues = (0..count).map(|_| reader.take(bits));
    let residues = residues.collect::<Result<_, _>>()?;
    reader.finish().map(|()| residues)
}

proptest! {
    #[test]
    fn unpacking_in_groups_agrees_with_one_by_one(
        bits in 1u32..=64,
        count in 0usize..300,
        mut bytes in prop::collection::vec(any::<u8>(), 2400),
        zero_end: bool,
    ) {
        bytes.truncate(packed_len(count, bits).unwrap());
        if let Some(last) = bytes.last_mut().filter(|_| zero_end) {
            *last = 0;
        }
        let mut out = vec![0; count];
        let found = unpack_bits(&bytes, bits, &mut out).map(|()| out);
        let expected = unpack_one_by_one(&bytes, bits, count);
        prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }

    /// Both ways return equal residues or equal errors.
    #[test]
    fn both_ways_of_unpacking_agree(
        bits in 1u32..=32,
        count in 0usize..300,
        mut bytes in prop::collection::vec(any::<u8>(), 0..1300),
        fits in prop::bool::weighted(0.9),
        zero_end: bool,
    ) {
        if fits {
            bytes.resize(packed_len(count, bits).unwrap(), 0x5a);
        }
        if let Some(last) = bytes.last_mut().filter(|_| zero_end) {
            *last = 0;
        }
        let (mut slow, mut fast) = (vec![0u64; count], vec![0u32; count]);
        let (of_slow, of_fast) = (
            unpack_bits(&bytes, bits, &mut slow),
            unpack_bits_u32(&bytes, bits, &mut fast),
        );
        prop_assert_eq!(format!("{of_slow:?}"), format!("{of_fast:?}"));
        if of_slow.is_ok() {
            for first in (0..count).step_by(8 * (1 + count / 56)) {
                let groups = (1 + first / 8).min((count - first) / 8);
                let (mut window, mut run) = (vec![0; window_bytes(bits, groups)], vec![0; 8 * groups]);
                copy_window(&bytes, bits, first, &mut window);
                unpack_window_u32(&window, bits, &mut run);
                prop_assert_eq!(&run[..], &fast[first..first + run.len()]);
            }
            prop_assert!(slow.iter().eq(fast.iter().map(|&x| u64::from(x)).collect::<Vec<_>>().iter()));
        }
    }
}

#[test]
fn packing_is_little_endian() {
    let mut out = Vec::new();
    pack_bits(&[0b101, 0b011, 0b110], 3, &mut out);
    assert_eq!(out, [0b1001_1101, 0b1]);
    assert!(matches!(
        unpack_bits(&[], 0, &mut []),
        Err(FrameError::Width(0))
    ));
    assert!(matches!(
        unpack_bits(&[], 65, &mut []),
        Err(FrameError::Width(65))
    ));
    for found in [0, 33] {
        let wrong = unpack_bits_u32(&[], found, &mut []);
        assert!(matches!(wrong, Err(FrameError::Width(f)) if f == found));
    }
    let mut reader = BitReader::new(&out);
    assert_eq!(reader.take(12).unwrap(), 0b1_1001_1101);
    assert!(matches!(
        reader.take(13),
        Err(FrameError::PackedLength(Mismatch {
            expected: 2,
            found: 0
        }))
    ));
}

#[test]
#[should_panic(expected = "expected residues of 3 bits, found bits 0x8")]
fn oversized_residues_are_not_written() {
    pack_bits(&[1, 8], 3, &mut Vec::new());
}
