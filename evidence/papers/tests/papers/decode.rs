//! Digests of the papers' schemes in the clear: a board is tested clue by clue, the sums are those that a
//! detector would compute, and the recipient decodes exactly the pertinent messages.

use chacha20::ChaCha20Rng;
use omr_client::letter::{Piece, Place, Reader, Writer};
use omr_client::{BoundSender, ClueSeed};
use omr_codec::{DecodeError, Field};
use omr_papers::clear::{PaperCodes, PaperIndex, PaperSet};
use omr_papers::client::{LweSender, PaperDecodeError, decode, identity};
use omr_protocol::clue::{Binding, FingerprintKey, Hashed};
use omr_protocol::sophomr::packing;
use omr_protocol::{ClueKind, Sealing};
use rand_core::SeedableRng;

const BYTES: usize = 40;

fn payload(message: u64) -> Vec<u8> {
    (0..BYTES as u64)
        .map(|i| (message * 37 + i * i) as u8)
        .collect()
}

/// Returns the sums that a detector computes for these pertinent messages.
fn sums(set: &PaperSet, codes: &PaperCodes, pertinent: &[u64]) -> (Vec<u32>, Vec<u32>) {
    let pack = |message, symbols: &mut [u32]| {
        codes.symbols.pack(&payload(message), symbols).unwrap();
    };
    sums_of(set, codes, pertinent, &pack)
}

/// Returns these sums for payloads with any symbols, which `pack` writes.
fn sums_of(
    set: &PaperSet,
    codes: &PaperCodes,
    pertinent: &[u64],
    pack: &dyn Fn(u64, &mut [u32]),
) -> (Vec<u32>, Vec<u32>) {
    let field = Field::new(set.p).unwrap();
    let mut index_sums = vec![0; codes.index_sums()];
    let mut payload_sums = vec![0; codes.payload_sums()];
    let add = |sums: &mut [u32], own: &[u32]| {
        for (sum, &x) in sums.iter_mut().zip(own) {
            *sum = field.add(*sum, x);
        }
    };
    for &message in pertinent {
        let bundle = message / u64::from(set.bundle);
        match &codes.index {
            PaperIndex::Bitmap(bitmap) => {
                let (slot, weight) = bitmap.place(message);
                index_sums[slot] = field.add(index_sums[slot], weight);
            }
            PaperIndex::Buckets(buckets) => {
                let mut own = vec![0; index_sums.len()];
                buckets.index_weights_into(bundle, &mut own);
                add(&mut index_sums, &own);
            }
        }
        if let Some(code) = &codes.payloads {
            let mut symbols = vec![0; codes.bundle_symbols()];
            let each = symbols.chunks_exact_mut(codes.symbols.count());
            for (message, symbols) in codes.messages(bundle).zip(each) {
                pack(message, symbols);
            }
            let mut own = vec![0; payload_sums.len()];
            code.payload_weights_into(bundle, &symbols, &mut own);
            add(&mut payload_sums, &own);
        }
    }
    (index_sums, payload_sums)
}

#[test]
fn every_scheme_decodes_its_own_messages() {
    // 99,997 messages: the last bundle is not full.
    let pertinent = [0, 1, 7, 8, 4711, 65_535, 65_536, 99_995, 99_996];
    for set in PaperSet::all() {
        let codes = PaperCodes::new(&set, &[9; 32], 99_997, 10, BYTES).unwrap();
        let (index_sums, payload_sums) = sums(&set, &codes, &pertinent);
        let found = decode(&codes, &index_sums, &payload_sums).unwrap();
        let count: u32 = found.iter().map(|bundle| bundle.count).sum();
        assert_eq!(count, 9, "{}", set.name);
        for message in pertinent {
            let own = found
                .iter()
                .filter(|bundle| bundle.messages.contains(&message));
            assert_eq!(own.count(), 1, "{} {message}", set.name);
        }
        for bundle in &found {
            assert!(
                pertinent
                    .iter()
                    .any(|message| bundle.messages.contains(message))
            );
            assert!(bundle.messages.end <= 99_997);
            let expected: Vec<Vec<u8>> = match codes.payloads {
                Some(_) => bundle.messages.clone().map(payload).collect(),
                None => Vec::new(),
            };
            assert_eq!(bundle.payloads, expected, "{}", set.name);
        }
        let none = decode(
            &codes,
            &vec![0; index_sums.len()],
            &vec![0; payload_sums.len()],
        );
        assert_eq!(none, Ok(Vec::new()));
    }
}

#[test]
fn sums_and_bounds_that_do_not_fit_are_refused() {
    for set in PaperSet::all() {
        let codes = PaperCodes::new(&set, &[9; 32], 5000, 4, BYTES).unwrap();
        let (index, payload) = sums(&set, &codes, &[3, 100, 2000, 3000, 4999]);
        let many = decode(&codes, &index, &payload);
        if codes.payloads.is_some() {
            let error = DecodeError::Overflow { count: 5, bound: 4 };
            assert_eq!(many, Err(error.into()), "{}", set.name);
        }
        let (index, payload) = sums(&set, &codes, &[3, 2000]);
        let (_, others) = sums(&set, &codes, &[3, 2016]);
        if codes.payloads.is_some() {
            let error = decode(&codes, &index, &others).unwrap_err();
            assert!(matches!(error, PaperDecodeError::Sums(_)), "{error}");
        }
        assert!(decode(&codes, &index[1..], &payload).is_err());
        assert!(
            PaperCodes::new(&set, &[9; 32], 5000, 0, BYTES).is_err() || codes.payloads.is_none()
        );
        assert!(PaperCodes::new(&set, &[9; 32], 5000, 4, 0).is_err());
    }
}

#[test]
fn a_small_board_from_clues_to_payloads() {
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    for name in ["omr2p-v1", "perfomr2-v1", "dos-perfomr-v1"] {
        let set = PaperSet::named(name, false).unwrap();
        let params = set.lwe().unwrap().unwrap();
        let (own_secret, key) = identity(&params, &mut rng);
        let (_, other) = identity(&params, &mut rng);
        let senders = [&key, &other].map(|key| LweSender::new(&params, key));
        let own = [1, 6, 10];
        let pertinent: Vec<u64> = (0..12u64)
            .filter(|message| {
                let clue = senders[usize::from(!own.contains(message))].gen_clue(&mut rng);
                own_secret.is_pertinent(&params, &clue)
            })
            .collect();
        assert_eq!(pertinent, own);
        let codes = PaperCodes::new(&set, &[1; 32], 12, 3, BYTES).unwrap();
        let (index, payloads) = sums(&set, &codes, &pertinent);
        let found = decode(&codes, &index, &payloads).unwrap();
        let all: Vec<_> = found
            .iter()
            .flat_map(|bundle| bundle.messages.clone().zip(&bundle.payloads))
            .collect();
        for message in own {
            assert!(all.contains(&(message, &payload(message))));
        }
    }
}

/// Two bundles of two messages with bound clues of PerfOMR1 contain an honest letter, a letter whose clue does
/// not follow from its seed, and strangers' letters. All are in the digest; the reader returns the honest one.
#[test]
fn letters_with_dishonest_clues_are_dropped() {
    let set = PaperSet::named("perfomr1-v2", false).unwrap();
    let params = set.ring().unwrap().unwrap();
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let (secret, address) = omr_client::identity(&params, ClueKind::Bound, &mut rng);
    let place = Place {
        board_id: [1; 16],
        params: params.name().to_owned(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: 300,
    };
    let writer = Writer::new(&params, &address, place.clone()).unwrap();
    let part = &writer.parts(b"for her", &mut rng).unwrap()[0];
    let honest = writer.message(&mut rng, part).unwrap();
    let mut crafted = writer.message(&mut rng, part).unwrap();
    let sender = BoundSender::new(&params, &address, place.board_id);
    let clue = sender.clue(&ClueSeed::generate(&mut rng), &crafted.payload);
    crafted.clue = clue.to_bytes(&params);

    let seed = [9; 32];
    let key = FingerprintKey::new(&seed);
    let symbols = packing(set.p.into(), place.payload_bytes, true).unwrap();
    let codes = PaperCodes::with_symbols(&set, &seed, 8, 3, symbols).unwrap();
    let pertinent = [(3, &honest), (4, &crafted)];
    let message = |index: u64| {
        let own = pertinent.iter().find(|(at, _)| *at == index);
        let (clue, payload) = own.map_or((&honest.clue, vec![7; 300]), |(_, message)| {
            (&message.clue, message.payload.clone())
        });
        let to = Binding::new(&place.board_id, &payload);
        let fingerprint = Hashed::new(&params, to, clue).fingerprint(&key);
        (payload, fingerprint)
    };
    let pack = |index, symbols: &mut [u32]| {
        let (payload, fingerprint) = message(index);
        let packed = codes.symbols.pack_marked(&payload, fingerprint, symbols);
        packed.unwrap();
    };
    let (index, payloads) = sums_of(&set, &codes, &[3, 4], &pack);
    let found = decode(&codes, &index, &payloads).unwrap();
    let all: Vec<_> = found
        .iter()
        .flat_map(|bundle| bundle.each(key, Some))
        .collect();
    assert_eq!(all.len(), 4);
    let opened = Reader::new(&params, &secret, &place).open(&all, 6);
    assert_eq!(opened.len(), 1);
    assert!(matches!(&opened[0], (3, Ok(Piece::Whole(file))) if file.bytes == b"for her"));
}
