//! Fuzz target: files of both rounds, and the detector's key for them.

use crate::Target;
use crate::input::{choose, closed, header, opened};
use crate::memory::bounded;
use omr_protocol::frame::{FrameHeader, Kind};
use omr_protocol::rounds::{
    FetchAnswer, FetchQuery, RoundsError, RoundsHeader, RoundsKey, RoundsParams, RoundsPlan,
    Scanned,
};
use omr_protocol::{ClueKind, Sealing};
use std::sync::{Arc, LazyLock};

/// The fuzz target.
pub const TARGET: Target = Target::new("rounds", run, seeds);

static PARAMS: LazyLock<Arc<RoundsParams>> =
    LazyLock::new(|| RoundsParams::named("insecure-tiny-v4").expect("a published set"));

const KINDS: [Kind; 4] = [
    Kind::Scan,
    Kind::FetchQuery,
    Kind::FetchAnswer,
    Kind::RoundsKey,
];

fn run(choice: usize, body: &[u8]) {
    let params = &*PARAMS;
    let kind = KINDS[choice % KINDS.len()];
    bounded(body.len(), 64, || {
        let file = closed(&header(kind, params.name()), body);
        let written = match kind {
            Kind::Scan => Scanned::from_bytes(params, &file)
                .ok()
                .map(|scan| scan.to_bytes(params)),
            Kind::FetchQuery => FetchQuery::from_bytes(params, &file)
                .ok()
                .map(|query| query.to_bytes(params)),
            Kind::FetchAnswer => FetchAnswer::from_bytes(params, &file)
                .ok()
                .map(|answer| answer.to_bytes(params)),
            _ => {
                let _ = RoundsKey::check(params, &file[..]);
                None
            }
        };
        if let Some(bytes) = written {
            assert_eq!(bytes.expect("written"), file);
        }
    });
}

/// A function that returns the length of a file about a subject.
type FileBytes = fn(&RoundsParams, &RoundsHeader) -> Result<u64, RoundsError>;

/// Returns headers of long and short ranges with zeros in place of ciphertexts, right and too short, and a key of zeros.
fn seeds() -> Vec<Vec<u8>> {
    let params = &*PARAMS;
    let lengths: [FileBytes; 3] = [
        Scanned::file_bytes,
        FetchQuery::file_bytes,
        FetchAnswer::file_bytes,
    ];
    let mut seeds = Vec::new();
    for (choice, length) in lengths.into_iter().enumerate() {
        for (range, clues) in [(0..40, ClueKind::Bound), (5..300, ClueKind::Plain)] {
            let plan = RoundsPlan::new(params, range.clone(), 40, clues).expect("a range");
            let subject = RoundsHeader {
                key_id: [0; 16],
                board_id: [2; 16],
                range,
                payload_bytes: 40,
                sealing: Sealing::None,
                clues,
                seeds: vec![[3; 32]; plan.rows()],
            };
            let empty = FrameHeader::new(KINDS[choice], params.name(), [0; 16]);
            let all = length(params, &subject).expect("a range") - empty.file_len(0);
            let is_answer = KINDS[choice] == Kind::FetchAnswer;
            let mut body = if is_answer {
                vec![4; 32]
            } else {
                subject.encode()
            };
            seeds.push(choose(choice, &body));
            body.resize(all as usize, 0);
            seeds.push(choose(choice, &body));
        }
    }
    let key = closed(&header(Kind::RoundsKey, params.name()), &[0; 64]);
    seeds.push(choose(3, &opened(Kind::RoundsKey, &key).1));
    seeds
}
