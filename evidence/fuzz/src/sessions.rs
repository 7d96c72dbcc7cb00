//! Sessions of InstantOMR.

use crate::Target;
use crate::decoding::SETS;
use crate::input::{choose, closed, header, opened, patched};
use crate::memory::bounded;
use omr_protocol::frame::Kind;
use omr_protocol::instantomr::{InstantDigest, SessionFile};

/// This target.
pub const TARGET: Target = Target::new("sessions", run, seeds);

const FILES: [&[u8]; 2] = [
    include_bytes!("../../../testdata/wire/v2/instant/session.bin"),
    include_bytes!("../../../testdata/wire/v2/instant-v2/session.bin"),
];
/// Any body, from here on; else a right one with changes.
const ANY: usize = 128;

fn run(choice: usize, rest: &[u8]) {
    let which = choice % FILES.len();
    let params = SETS[which + 1].instantomr().expect("an engine");
    let body = match choice {
        ANY.. => rest.to_vec(),
        _ => patched(&opened(Kind::Session, FILES[which]).1, rest),
    };
    bounded(body.len(), 64, || {
        let file = closed(&header(Kind::Session, params.name()), &body);
        let Ok(session) = SessionFile::from_bytes(params, &file) else {
            return;
        };
        assert_eq!(session.to_bytes(params).expect("written"), file);
        if let Some(cut) = &session.last_cut {
            let _ = InstantDigest::from_bytes(params, cut);
        }
    });
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (i, file) in FILES.iter().enumerate() {
        seeds.push(choose(i, &[]));
        seeds.push(choose(i, &[17, 0, 0, 1, 200, 0, 0, 1]));
        seeds.push(choose(ANY + i, &opened(Kind::Session, file).1));
    }
    seeds
}
