//! Boards of both kinds of clues, and what they hold that they should not.
mod common;

use common::{PARAMS, Scene};
use omr_board::{Board, BoardError, Message};

const PAYLOAD: usize = 150;

#[test]
fn a_board_says_its_kind() {
    let scene = Scene::empty();
    let init = |dir: &str, more: &[&str]| {
        scene.run(&[&["board", "init", dir, "--params", PARAMS], more].concat())
    };
    init("bound", &[]).quietly();
    init("plain", &["--clues", "plain"]).quietly();
    let stat = |dir: &str| scene.run(&["board", "stat", dir, "--json"]).json();
    let bytes = |dir: &str| stat(dir)["clue_bytes"].as_u64().unwrap();
    assert_eq!(stat("bound")["clues"], "bound");
    assert_eq!(stat("plain")["clues"], "plain");
    assert_eq!(bytes("bound"), bytes("plain") + 96);
    let text = scene.run(&["board", "stat", "bound"]).quietly();
    assert!(text.contains("clues          bound\n"), "{text}");
    let wrong = init("other", &["--clues", "linear"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("plain or bound"), "{wrong:?}");
}

/// The messages of a board.
fn all(board: &Board) -> Vec<Message> {
    let (mut clues, mut payloads) = (Vec::new(), Vec::new());
    board
        .read_into(0..board.len(), &mut clues, &mut payloads)
        .unwrap();
    let clues = clues.chunks(board.config().clue_bytes as usize);
    let message = |(clue, payload): (&[u8], &[u8])| Message {
        clue: clue.to_vec(),
        payload: payload.to_vec(),
    };
    clues.zip(payloads.chunks(PAYLOAD)).map(message).collect()
}

#[test]
fn clues_that_their_keys_did_not_sign_are_found() {
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    scene.post("alice", &["f"]).quietly();
    let verify = || scene.run(&["board", "verify", "board"]);
    assert_eq!(verify().quietly(), "sound: 2 messages\n");
    let mut board = Board::open(scene.path("board")).unwrap();
    let posted = all(&board);
    // The board itself sees keys; who appends must see to signatures.
    let error = board.append([&posted[0]]).unwrap_err();
    assert!(
        matches!(
            error,
            BoardError::UsedKey {
                position: 0,
                index: 0
            }
        ),
        "{error}"
    );
    let mut unsigned = posted[1].clone();
    let key = unsigned.clue.len() - 96;
    unsigned.clue[key] ^= 1;
    board.append([&unsigned]).unwrap();
    drop(board);
    let done = verify();
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.stderr.contains("message 2: expected a clue signed"),
        "{done:?}"
    );
    assert!(done.stderr.contains("in 1 of 3 messages"), "{done:?}");
}
