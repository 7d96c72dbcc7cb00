//! Fuzz target: files of digests of all kinds.

use crate::Target;
use crate::decoding::{FILES, SETS};
use crate::input::{choose, closed, header, opened};
use crate::memory::bounded;
use omr_protocol::frame::Kind;
use omr_protocol::{ParamSet, Response, Scheme};

/// The fuzz target.
pub const TARGET: Target = Target::new("digests", run, seeds);

/// The first choice for two digests in one file.
const HYBRID: usize = 128;

fn run(choice: usize, body: &[u8]) {
    let set = &SETS[choice % SETS.len()];
    let _ = (set.sophomr(), set.instantomr());
    bounded(body.len(), 64, || match choice {
        HYBRID.. => read(set, &both(set, body)),
        _ => read(set, body),
    });
}

fn read(set: &ParamSet, body: &[u8]) {
    let file = closed(&header(Kind::Digest, set.name()), body);
    if let Ok(response) = Response::from_bytes(set, &file) {
        let _ = (response.request(), response.places());
        assert_eq!(response.to_bytes(set).expect("written"), file);
    }
}

/// Returns a body of two digests. The first two bytes are the length of the first.
fn both(set: &ParamSet, bytes: &[u8]) -> Vec<u8> {
    let (length, rest) = bytes.split_first_chunk().unwrap_or((&[0; 2], &[]));
    let at = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let header = header(Kind::Digest, set.name());
    let [first, second] = [&rest[..at], &rest[at..]].map(|body| closed(&header, body));
    let mut body = vec![Scheme::Hybrid.tag()];
    body.extend((first.len() as u64).to_le_bytes());
    body.extend(first);
    body.extend(second);
    body
}

fn seeds() -> Vec<Vec<u8>> {
    let bodies: Vec<(usize, Vec<u8>)> = FILES
        .iter()
        .map(|file| (file.set, opened(Kind::Digest, file.digest).1))
        .collect();
    let alone = bodies.iter().map(|(set, body)| choose(*set, body));
    let mut seeds: Vec<Vec<u8>> = alone.collect();
    // The right lengths of two digests that do not follow one another.
    let (bulk, instant) = (&bodies[0].1, &bodies[1].1);
    let length = (bulk.len() as u16).to_le_bytes();
    let pair = [&length[..], bulk, instant].concat();
    let choice = (HYBRID..).find(|choice| choice % SETS.len() == 1);
    seeds.push(choose(choice.expect("a number"), &pair));
    seeds
}
