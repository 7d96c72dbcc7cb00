//! Fuzz target: files of parts of digests.

use crate::Target;
use crate::decoding::FILES;
use crate::input::{choose, closed, header, opened};
use crate::memory::bounded;
use omr_protocol::frame::Kind;
use omr_protocol::key_file::row_bytes;
use omr_protocol::sophomr::{Digest, Params, Partial};
use std::sync::{Arc, LazyLock};

/// The fuzz target.
pub const TARGET: Target = Target::new("partials", run, seeds);

static PARAMS: LazyLock<Arc<Params>> =
    LazyLock::new(|| Params::named("insecure-tiny-v4").expect("a published set"));

/// The bytes of a digest before its ciphertexts.
const HEADER_BYTES: usize = 74;

fn run(_: usize, body: &[u8]) {
    let params = &*PARAMS;
    bounded(body.len(), 64, || {
        let file = closed(&header(Kind::Partial, params.name()), body);
        if let Ok(partial) = Partial::from_bytes(params, &file) {
            assert_eq!(partial.to_bytes(params).expect("written"), file);
            let mut twice = partial.clone();
            assert!(twice.merge(params, &partial).is_err(), "it overlaps itself");
        }
    });
}

/// Returns the header of a digest followed by valid and invalid batches, with zeros in place of sums.
fn seeds() -> Vec<Vec<u8>> {
    let params = &*PARAMS;
    let frozen = Digest::from_bytes(params, FILES[0].digest).expect("a frozen digest");
    let basis = params.small_basis();
    let row = |&id: &usize| row_bytes(&params.small, id);
    let poly: usize = basis.ids().iter().map(row).sum();
    let sums = frozen.header.plan.sums().parts() * 2 * poly;
    let (_, digest) = opened(Kind::Digest, FILES[0].digest);
    let head = &digest[..HEADER_BYTES];
    let of = |words: &[u32], zeros: usize| {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let zeros = vec![0; zeros];
        choose(0, &[head, &words, &zeros].concat())
    };
    vec![
        of(&[1, 0, 1], sums),
        of(&[1, 0, 1], 100),
        of(&[1, 0, u32::MAX], 0),
        of(&[2, 0, 1, 1, 2], 10),
        of(&[u32::MAX], 10),
    ]
}
