//! Exported identities, damaged or made by somebody else.

use crate::Target;
use crate::input::{Opened, choose, chosen, closed, opened, patched};
use omr_mail::{Home, Identity, NewIdentity};
use omr_protocol::frame::Kind;
use omr_protocol::{ClueKind, Scheme, Sealing};
use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

/// This target. The inbox is a database, whose own panics become errors.
pub const TARGET: Target = Target {
    name: "exports",
    run,
    seeds,
    catches: true,
};

/// Any body, from here on; else a right one with changes.
const ANY: usize = 192;
/// With its inbox, which most changes hit, from here on.
const INBOX: usize = 128;

type Files = BTreeMap<String, Vec<u8>>;

/// An export without its inbox, and one with it.
static RIGHT: LazyLock<[Opened; 2]> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let new = NewIdentity {
        params: "insecure-tiny-hybrid-v2".into(),
        scheme: Some(Scheme::Instantomr),
        clues: ClueKind::Bound,
        bound: 4,
        spares: 2,
        sealing: Sealing::HpkeX25519,
        allow_old: false,
    };
    let identity = Identity::create(&Home::new(folder.path().join("ann")), &new);
    let file = identity.and_then(|identity| identity.export());
    let (header, body) = opened(Kind::Identity, &file.expect("an export"));
    let mut files = files(&body);
    files.remove("inbox.redb");
    [(header.clone(), written(&files)), (header, body)]
});

/// The files of a right body.
fn files(body: &[u8]) -> Files {
    let (mut at, mut files) = (4, Files::new());
    let mut next = |len: usize| {
        at += len;
        body[at - len..at].to_vec()
    };
    for _ in 0..body[0] {
        let len = next(2)[0];
        let name = String::from_utf8(next(len.into())).expect("a name");
        let len = u64::from_le_bytes(next(8).try_into().expect("eight bytes"));
        files.insert(name, next(len as usize));
    }
    files
}

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

fn run(bytes: &[u8]) {
    let Some((choice, rest)) = chosen(bytes) else {
        return;
    };
    let (header, body) = match choice {
        ANY.. => (&RIGHT[0].0, rest.to_vec()),
        INBOX.. => (&RIGHT[1].0, patched(&RIGHT[1].1, rest)),
        _ => (&RIGHT[0].0, patched(&RIGHT[0].1, rest)),
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
    let mut away = files(&RIGHT[0].1);
    away.insert("../bob".into(), vec![1; 9]);
    let mut more = files(&RIGHT[0].1);
    more.insert("contacts/bob".into(), vec![1; 9]);
    vec![
        choose(0, &[]),
        choose(0, &[9, 0, 0, 1]),
        choose(INBOX, &[]),
        choose(INBOX, &[9, 4, 0, 1]),
        choose(ANY, &RIGHT[0].1),
        choose(ANY, &written(&away)),
        choose(ANY, &written(&more)),
    ]
}
