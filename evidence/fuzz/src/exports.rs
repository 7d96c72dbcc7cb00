//! Fuzz target: exported identities, damaged or made by a stranger.

use crate::Target;
use crate::input::{Opened, choose, closed, opened, patched};
use omr_mail::{Home, Identity, NewIdentity};
use omr_protocol::frame::Kind;
use omr_protocol::{ClueKind, Scheme, Sealing};
use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

/// The fuzz target. The inbox is a database, whose own panics become errors.
pub const TARGET: Target = Target::new("exports", run, seeds).catching();

/// The first choice for any body; lower choices change a valid one.
const ANY: usize = 192;
/// The first choice for an export with its inbox, which most changes hit.
const INBOX: usize = 128;

type Files = BTreeMap<String, Vec<u8>>;

struct World {
    /// A complete export.
    whole: Opened,
    /// The export's files without the inbox.
    files: Files,
}

impl World {
    /// Returns a body of these files and one more.
    fn with(&self, name: &str) -> Vec<u8> {
        let mut files = self.files.clone();
        files.insert(name.into(), vec![1; 9]);
        written(&files)
    }
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::new(folder.path().join("ann"));
    let new = NewIdentity {
        params: "insecure-tiny-hybrid-v4".into(),
        scheme: Some(Scheme::Instantomr),
        clues: ClueKind::Bound,
        bound: 4,
        spares: 2,
        sealing: Sealing::HpkeX25519,
        board_id: None,
        own_masks: false,
        batches: false,
    };
    let file = Identity::create(&home, &new).and_then(|identity| identity.export());
    let read = |name: &str| (name.to_owned(), fs::read(home.path(name)).expect("read"));
    World {
        whole: opened(Kind::Identity, &file.expect("an export")),
        files: ["clue.key", "identity", "secret.key"].map(read).into(),
    }
});

fn written(files: &Files) -> Vec<u8> {
    let mut body = (files.len() as u32).to_le_bytes().to_vec();
    for (name, bytes) in files {
        body.extend((name.len() as u16).to_le_bytes());
        body.extend(name.as_bytes());
        body.extend((bytes.len() as u64).to_le_bytes());
        body.extend(bytes);
    }
    body
}

fn run(choice: usize, rest: &[u8]) {
    let (header, whole) = &WORLD.whole;
    let body = match choice {
        ANY.. => rest.to_vec(),
        INBOX.. => patched(whole, rest),
        _ => patched(&written(&WORLD.files), rest),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::new(folder.path().join("ann"));
    if home.import(&closed(header, &body)).is_ok() {
        Identity::open(&home).expect("what was restored opens");
    }
    let beside = fs::read_dir(folder.path()).expect("a folder").flatten();
    for entry in beside {
        assert_eq!(entry.file_name(), "ann", "nothing is written elsewhere");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        choose(0, &[]),
        choose(0, &[9, 0, 0, 1]),
        choose(INBOX, &[]),
        choose(INBOX, &[9, 4, 0, 1]),
        choose(ANY, &written(&WORLD.files)),
        choose(ANY, &WORLD.with("../bob")),
        choose(ANY, &WORLD.with("contacts/bob")),
    ]
}
