//! Fuzz target: sessions of InstantOMR.

use crate::Target;
use crate::decoding::SETS;
use crate::input::{choose, closed, header, opened, patched};
use crate::memory::bounded;
use omr_protocol::frame::Kind;
use omr_protocol::instantomr::{InstantDigest, SessionFile};

/// The fuzz target.
pub const TARGET: Target = Target::new("sessions", run, seeds);

const FILE: &[u8] = include_bytes!("../../../testdata/wire/v1/instant-v4/session.bin");
/// The first choice for any body; lower choices change a valid one.
const ANY: usize = 128;

fn run(choice: usize, rest: &[u8]) {
    let params = SETS[1].instantomr().expect("an engine");
    let body = match choice {
        ANY.. => rest.to_vec(),
        _ => patched(&opened(Kind::Session, FILE).1, rest),
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
    vec![
        choose(0, &[]),
        choose(0, &[17, 0, 0, 1, 200, 0, 0, 1]),
        choose(ANY, &opened(Kind::Session, FILE).1),
    ]
}
