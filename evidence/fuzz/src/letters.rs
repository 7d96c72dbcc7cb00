//! Fuzz target: parts of letters, letters joined from parts, and parts kept for later.

use crate::Target;
use crate::input::{choose, chosen, closed, header, opened};
use crate::memory::bounded;
use chacha20::ChaCha20Rng;
use omr_client::fragment::{Reassembler, file_name, place, split, split_named};
use omr_client::kept::{KeptParts, Parts};
use omr_protocol::frame::Kind;
use rand_core::SeedableRng;
use zeroize::Zeroizing;

/// The fuzz target.
pub const TARGET: Target = Target::new("letters", run, seeds);

const JOIN: usize = 64;
const SPLIT: usize = 128;
const NAME: usize = 192;
const KEPT: usize = 224;

fn run(choice: usize, rest: &[u8]) {
    bounded(rest.len(), 128, || match choice {
        KEPT.. => kept(rest),
        NAME.. => name(&String::from_utf8_lossy(rest)),
        SPLIT.. => round_trip(choice, rest),
        JOIN.. => parts(rest),
        _ => {
            push(&mut Reassembler::new(), rest);
        }
    });
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(4)
}

/// Returns whether a part was accepted.
fn push(all: &mut Reassembler, part: &[u8]) -> bool {
    let (known, taken) = (place(part), all.push(part));
    assert!(known.is_ok() || taken.is_err());
    taken.is_ok()
}

/// Joins parts of one length, one after another.
fn parts(bytes: &[u8]) {
    let Some((length, rest)) = chosen(bytes) else {
        return;
    };
    let mut all = Reassembler::new();
    for part in rest.chunks(length + 1) {
        push(&mut all, part);
    }
    let (whole, missing) = all.finish();
    let found: usize = whole.iter().map(|file| file.bytes.len()).sum();
    assert!(found <= rest.len());
    for file in missing {
        assert!(file.have <= file.total && file.missing.len() <= file.have as usize + 1);
    }
}

/// Checks that a letter that was split is joined again, in any order.
fn round_trip(choice: usize, bytes: &[u8]) {
    let Some((capacity, file)) = chosen(bytes) else {
        return;
    };
    let name = choice.is_multiple_of(2).then_some("letter.txt");
    let made = match name {
        Some(_) => split_named(name, file, capacity, &mut rng()),
        None => split(file, capacity, &mut rng()),
    };
    let Ok(parts) = made else {
        return;
    };
    let mut all = Reassembler::new();
    for part in parts.iter().rev() {
        assert!(part.len() == capacity && push(&mut all, part));
    }
    let (whole, missing) = all.finish();
    assert!(missing.is_empty());
    assert!(matches!(&whole[..], [one] if one.bytes == file));
}

/// Checks that a harmless name is its own harmless form.
fn name(text: &str) {
    if let Some(name) = file_name(text) {
        assert!(!name.is_empty() && !name.contains(['/', '\\', '\0']));
        assert_eq!(file_name(&name).as_deref(), Some(&name[..]));
    }
}

fn kept(body: &[u8]) {
    let file = closed(&header(Kind::KeptParts, "toy"), body);
    if let Ok(kept) = KeptParts::from_bytes(&file) {
        assert_eq!(*kept.to_bytes().expect("written"), file);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (name, len) in [
        (None, 30),
        (None, 300),
        (Some("a.txt"), 30),
        (Some("a.txt"), 300),
    ] {
        let file = vec![7; len];
        let parts = split_named(name, &file, 100, &mut rng()).expect("room for a part");
        seeds.push(choose(0, &parts[0]));
        seeds.push(choose(JOIN, &choose(99, &parts.concat())));
        seeds.push(choose(SPLIT + len % 2, &choose(100, &file)));
    }
    for text in ["a/../b\u{202e}.txt", "CON.tar.gz", "-rf", " .x. ", "..."] {
        seeds.push(choose(NAME, text.as_bytes()));
    }
    let part = |byte: u8| Zeroizing::new(vec![byte; 3]);
    let parts: Parts = [(5, part(7)), (300, part(8))].into();
    let kept = KeptParts {
        params: "toy".into(),
        key_id: [1; 16],
        board_id: [2; 16],
        id: [3; 8],
        parts,
    };
    let file = kept.to_bytes().expect("written");
    seeds.push(choose(KEPT, &opened(Kind::KeptParts, &file).1));
    seeds
}
