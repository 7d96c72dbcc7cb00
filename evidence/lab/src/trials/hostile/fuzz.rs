//! Requests that are almost valid: bytes, frames, headers and endings, each changed at random.

use super::seeds::Seed;
use super::tally::Tally;
use super::wire::{Call, Ending, Wire, framed, grpc_headers};
use bytes::Bytes;
use chacha20::ChaCha20Rng;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use rand_core::Rng;
use std::sync::Arc;

/// The size of a message that no method accepts.
const OVERSIZED: usize = 9 << 20;
/// The number of calls of a connection.
const CALLS: usize = 200;

/// Fuzzes until the trial ends.
pub(super) async fn run(tally: Arc<Tally>, seeds: Vec<Seed>, token: String, mut rng: ChaCha20Rng) {
    while !tally.is_over() {
        let Some(mut wire) = Wire::open(tally.address).await else {
            tally.count("connections refused");
            continue;
        };
        for _ in 0..CALLS {
            if tally.is_over() {
                return;
            }
            let (what, call) = call(&mut rng, &seeds, &token);
            let path = call.path.clone();
            tally.count(&format!("fuzz: {what}"));
            let answer = wire.call(call).await;
            if tally.answer(&format!("{what} to {path}"), answer) {
                break;
            }
        }
    }
}

fn below(rng: &mut ChaCha20Rng, end: usize) -> usize {
    (rng.next_u64() % end.max(1) as u64) as usize
}

fn call(rng: &mut ChaCha20Rng, seeds: &[Seed], token: &str) -> (&'static str, Call) {
    let seed = &seeds[below(rng, seeds.len())];
    let (what, message) = mutate(rng, &seed.message);
    let ending = match below(rng, 20) {
        0 => Ending::Reset,
        1 => Ending::Open,
        _ => Ending::Whole,
    };
    let method = match below(rng, 30) {
        0 => Method::GET,
        1 => Method::OPTIONS,
        _ => Method::POST,
    };
    let call = Call {
        path: seed.path.to_owned(),
        method,
        headers: headers(rng, token),
        parts: frames(rng, &message),
        ending,
    };
    (what, call)
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn tag(field: u64, wire: u64, out: &mut Vec<u8>) {
    varint(field << 3 | wire, out);
}

fn random(rng: &mut ChaCha20Rng, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    rng.fill_bytes(&mut out);
    out
}

fn flip(rng: &mut ChaCha20Rng, bytes: &mut [u8]) {
    for _ in 0..1 + below(rng, 8) {
        let at = below(rng, bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << below(rng, 8);
        }
    }
}

fn unknown_fields(rng: &mut ChaCha20Rng, out: &mut Vec<u8>) {
    for _ in 0..below(rng, 2000) {
        tag(rng.next_u64() % (1 << 29), 0, out);
        varint(rng.next_u64(), out);
    }
}

/// Returns a changed message and the name of the change.
pub(super) fn mutate(rng: &mut ChaCha20Rng, right: &[u8]) -> (&'static str, Vec<u8>) {
    let mut out = right.to_vec();
    match below(rng, 13) {
        0 => return ("nothing changed", out),
        1 => {
            let bytes = below(rng, 300);
            return ("random bytes", random(rng, bytes));
        }
        2 => {
            out.truncate(below(rng, right.len()));
            return ("truncated", out);
        }
        3 => {
            flip(rng, &mut out);
            return ("bits flipped", out);
        }
        4 => {
            let lengths = [u64::MAX, 1 << 63, 1 << 40, u64::from(u32::MAX), 1 << 31];
            tag(1 + below(rng, 9) as u64, 2, &mut out);
            varint(lengths[below(rng, lengths.len())], &mut out);
            return ("giant length", out);
        }
        5 => return ("deep", deep(rng)),
        6 => {
            unknown_fields(rng, &mut out);
            return ("unknown fields", out);
        }
        7 => {
            if let Some(first) = out.first_mut() {
                *first = *first & !7 | below(rng, 8) as u8;
            }
            return ("wrong type", out);
        }
        _ => {}
    }
    more(rng, right)
}

fn more(rng: &mut ChaCha20Rng, right: &[u8]) -> (&'static str, Vec<u8>) {
    let mut out = right.to_vec();
    match below(rng, 20) {
        0 => {
            tag(99, 2, &mut out);
            varint(OVERSIZED as u64, &mut out);
            out.resize(out.len() + OVERSIZED, 0x55);
            ("oversized", out)
        }
        1..5 => {
            let kept = below(rng, 2);
            out.truncate(out.len() * kept);
            for field in 1..9 {
                tag(field, 0, &mut out);
                varint([u64::MAX, 1 << 63, 1 << 32][below(rng, 3)], &mut out);
            }
            ("huge numbers", out)
        }
        5..9 => {
            let times = below(rng, 40);
            ("repeated", right.repeat(times))
        }
        9..13 => {
            for field in 1..9 {
                tag(field, 2, &mut out);
                out.extend([4, 0xff, 0xfe, 0xc0, 0x80]);
            }
            ("not UTF-8", out)
        }
        _ => {
            // Ids and hashes of another length.
            out.clear();
            let bytes = [0, 1, 15, 17, 31, 33, 5000][below(rng, 7)];
            for field in 1..4 {
                tag(field, 2, &mut out);
                varint(bytes as u64, &mut out);
                out.extend(random(rng, bytes));
            }
            ("ids of other lengths", out)
        }
    }
}

fn deep(rng: &mut ChaCha20Rng) -> Vec<u8> {
    if below(rng, 2) == 0 {
        // Groups that begin and never end.
        return vec![0x0b; 1 + below(rng, 100_000)];
    }
    let mut out = Vec::new();
    for _ in 0..below(rng, 500) {
        let mut outer = Vec::new();
        tag(1 + below(rng, 3) as u64, 2, &mut outer);
        varint(out.len() as u64, &mut outer);
        outer.extend(out);
        out = outer;
    }
    out
}

/// Returns the message in a valid or invalid frame, in one piece or several.
fn frames(rng: &mut ChaCha20Rng, message: &[u8]) -> Vec<Bytes> {
    let len = message.len() as u32;
    let whole = match below(rng, 16) {
        0 => framed(0, len.wrapping_add(1 + below(rng, 100) as u32), message),
        1 => framed(0, len / 2, message),
        2 => framed(0, 0, message),
        3 => framed(0, u32::MAX, message),
        4 => framed(1, len, message),
        5 => framed(below(rng, 256) as u8, len, message),
        6 => Bytes::copy_from_slice(message),
        7 => [framed(0, len, message), framed(0, len, message)]
            .concat()
            .into(),
        8 => framed(0, (8 << 20) - 1, message),
        _ => framed(0, len, message),
    };
    if below(rng, 3) > 0 || whole.len() > 4096 {
        return vec![whole];
    }
    let at = below(rng, whole.len());
    vec![whole.slice(..at), Bytes::new(), whole.slice(at..)]
}

fn headers(rng: &mut ChaCha20Rng, token: &str) -> HeaderMap {
    let mut headers = grpc_headers();
    let value = |bytes: &[u8]| {
        HeaderValue::from_bytes(bytes).unwrap_or_else(|_| HeaderValue::from_static(""))
    };
    let odd: [(&'static str, &[u8]); 16] = [
        ("authorization", b"Bearer nonsense"),
        ("authorization", b"Bearer \xff\xfe\xfd"),
        ("authorization", b""),
        ("grpc-timeout", b"99999999999H"),
        ("grpc-timeout", b"-1S"),
        ("grpc-timeout", b"0n"),
        ("grpc-timeout", b"x"),
        ("grpc-encoding", b"gzip"),
        ("grpc-encoding", b"\xff"),
        ("grpc-accept-encoding", b"zstd,,,"),
        ("content-type", b"application/json"),
        ("content-type", b"application/grpc+unknown"),
        ("content-type", b"application/grpc-web-text"),
        ("trace-bin", b"!!!not base 64!!!"),
        ("content-length", b"3"),
        ("x-odd", b"\x80\x81\xfe"),
    ];
    match below(rng, 4) {
        0 => {
            let (name, bytes) = odd[below(rng, odd.len())];
            headers.insert(HeaderName::from_static(name), value(bytes));
        }
        1 => {
            let bytes = format!("Bearer {token}");
            headers.insert("authorization", value(bytes.as_bytes()));
        }
        2 if below(rng, 8) == 0 => {
            let long = vec![b'a'; 1 << (8 + below(rng, 9))];
            headers.insert("x-long", value(&long));
        }
        _ => {}
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    #[test]
    fn the_seed_decides_everything_and_every_mutation_occurs() {
        let right = [8, 1, 0x12, 3, 7, 8, 9];
        let draw = |seed| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            (0..300)
                .map(|_| mutate(&mut rng, &right))
                .collect::<Vec<_>>()
        };
        let first = draw(1);
        assert!(first == draw(1));
        assert!(first != draw(2));
        let kinds: std::collections::BTreeSet<_> = first.iter().map(|(what, _)| *what).collect();
        assert_eq!(kinds.len(), 13, "{kinds:?}");
    }
}
