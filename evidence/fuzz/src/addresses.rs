//! Fuzz target: addresses as armoured text, and clue keys.

use crate::Target;
use crate::clues::VECTORS;
use crate::input::{choose, closed, header, opened};
use crate::memory::bounded;
use chacha20::ChaCha20Rng;
use omr_client::identity;
use omr_client::periods::PeriodSecrets;
use omr_client::seal::SealPublic;
use omr_mail::{Address, MailError, Terms};
use omr_papers::clear::LweClueKey;
use omr_papers::client as papers;
use omr_protocol::Mismatch;
use omr_protocol::frame::Kind;
use omr_protocol::{ClueKey, ClueKind, ClueParams, Sealing};
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

/// The fuzz target.
pub const TARGET: Target = Target::new("addresses", run, seeds);

const SETS: [&str; 2] = ["insecure-tiny-v4", "insecure-tiny-hybrid-v4"];
/// The first choice for clue keys of LWE.
const LWE: usize = 64;
/// The first choice for text.
const TEXT: usize = 128;

static RINGS: LazyLock<Vec<Arc<ClueParams>>> = LazyLock::new(|| {
    let named = |name: &&str| ClueParams::named(name).expect("a published set");
    SETS.iter().map(named).collect()
});

fn run(choice: usize, rest: &[u8]) {
    let (rings, vectors) = (&*RINGS, &*VECTORS);
    bounded(rest.len(), 64, || match choice {
        TEXT.. => text(rest),
        LWE.. => {
            let params = &vectors[choice % vectors.len()];
            let file = closed(&header(Kind::ClueKey, params.name()), rest);
            if let Ok(key) = LweClueKey::from_bytes(params, &file) {
                assert_eq!(key.to_bytes(params).expect("written"), file);
            }
        }
        _ => ring(&rings[choice % rings.len()], rest),
    });
}

fn ring(params: &ClueParams, body: &[u8]) {
    let file = closed(&header(Kind::ClueKey, params.name()), body);
    if let Ok(key) = ClueKey::from_bytes(params, &file) {
        assert_eq!(key.to_bytes(params).expect("written"), file);
        if let Ok(seal) = SealPublic::from_bytes(&key.seal) {
            assert_eq!(seal.to_bytes(), key.seal);
        }
    }
}

/// Checks that a text that parses is written to a text that parses to the equal address. A text with a wrong
/// fingerprint parses once the fingerprint is corrected.
fn text(bytes: &[u8]) {
    let same = |address: &Address| {
        let again = Address::from_text(&address.to_text());
        assert_eq!(&again.expect("what was written reads"), address);
    };
    match Address::from_file(bytes.to_vec()) {
        Ok(address) => same(&address),
        Err(MailError::Fingerprint(Mismatch { expected, found })) => {
            let text = String::from_utf8_lossy(bytes);
            let corrected = text.replacen(
                &format!("Fingerprint: {expected}"),
                &format!("Fingerprint: {found}"),
                1,
            );
            if let Ok(address) = Address::from_text(&corrected) {
                same(&address);
            }
        }
        Err(_) => {}
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mut seeds = Vec::new();
    for (i, params) in RINGS.iter().enumerate() {
        for kind in [ClueKind::Plain, ClueKind::Bound] {
            let (_, key) = identity(params, kind, &mut rng);
            let file = key.to_bytes(params).expect("written");
            seeds.push(choose(i, &opened(Kind::ClueKey, &file).1));
        }
    }
    for (i, params) in VECTORS.iter().enumerate() {
        let choice = (LWE..).find(|choice| choice % VECTORS.len() == i);
        let (_, key) = papers::identity(params, &mut rng);
        let file = key.to_bytes(params).expect("written");
        let body = opened(Kind::ClueKey, &file).1;
        seeds.push(choose(choice.expect("a number"), &body));
    }
    let address = |server: Option<&str>, terms, verifying_key| Address {
        server: server.map(str::to_owned),
        clue_key: (0..60).collect(),
        terms,
        verifying_key,
        period_keys: None,
    };
    let terms = Terms {
        sealing: Sealing::HpkeX25519,
        bound: 50,
        parts: 240,
    };
    let (secret, _) = identity(&RINGS[0], ClueKind::Bound, &mut rng);
    let periods = PeriodSecrets::generate(3, &mut rng).keys(&secret, terms.sealing, 3, 4);
    for address in [
        Address {
            period_keys: Some(periods),
            ..address(None, Some(terms), Some(secret.verifying_key()))
        },
        address(
            Some("https://mail.example:7600"),
            Some(terms),
            Some([7; 32]),
        ),
        address(None, Some(terms), None),
        address(Some("http://x"), None, Some([0; 32])),
    ] {
        let text = address.to_text();
        let quoted: String = text.lines().map(|line| format!("> {line} \r\n")).collect();
        seeds.push(choose(TEXT, text.as_bytes()));
        seeds.push(choose(TEXT, quoted.as_bytes()));
    }
    seeds
}
