//! Boards of both kinds of clues, and messages that they should not have.

use crate::common::{PARAMS, Scene, bytes};
use omr_store::{Board, Message, StoreError};

const PAYLOAD: usize = 150;

#[test]
fn a_board_shows_its_kind() {
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

/// The numbers of bytes are those that the system states.
#[cfg(unix)]
#[test]
fn a_board_shows_its_size() {
    use std::os::unix::fs::MetadataExt;
    let scene = Scene::new("none", PAYLOAD);
    scene.write("f", b"hello");
    scene.post("alice", &["f"; 300]).quietly();
    let found = scene.path("board/board.redb").metadata().unwrap();
    let stat = scene.run(&["board", "stat", "board", "--json"]).json();
    let bytes = [&stat["bytes_on_disk"], &stat["file_bytes"]];
    assert_eq!(bytes, [found.blocks() * 512, found.len()]);
    let text = scene.run(&["board", "stat", "board"]).quietly();
    let holes = found.len() > found.blocks() * 512;
    assert_eq!(text.contains("with holes"), holes, "{text}");
}

#[test]
fn old_messages_expire_and_the_others_are_found() {
    let scene = Scene::new("none", PAYLOAD);
    scene.keygen("bob");
    let stat = || scene.run(&["board", "stat", "board", "--json"]).json();
    let expire = |which: &[&str]| scene.run(&[&["board", "expire", "board"], which].concat());
    let before = 20u64;
    scene.write("early", b"early");
    scene.write("late", b"late");
    scene.post("alice", &["early"]).quietly();
    scene
        .post("bob", &vec!["late"; 2 * before as usize])
        .quietly();
    let late = 2 * before + 1;
    assert_eq!(
        scene.post("alice", &["late"]).quietly(),
        format!("{late} late\n")
    );
    scene.digest(5, &[]).quietly();

    assert_eq!(expire(&[]).code, 2);
    assert_eq!(expire(&["--keep", "1", "--before", "1"]).code, 2);
    let done = expire(&["--before", &before.to_string()]);
    let said = format!("{before} messages expired; the board begins at {before}");
    assert!(
        done.code == 0 && done.stderr.contains(&said),
        "also where no terminal is: {done:?}"
    );
    let text = scene.run(&["board", "stat", "board"]).quietly();
    assert!(
        text.contains(&format!(", those before {before} expired\n")),
        "{text}"
    );
    let again = expire(&["--keep", &(late + 1 - before).to_string(), "--json"]).json();
    assert_eq!([&again["expired"], &again["first_index"]], [0, before]);
    assert_eq!(
        (&stat()["messages"], &stat()["first_index"]),
        (&(late + 1).into(), &before.into())
    );
    let sound = scene.run(&["board", "verify", "board"]).quietly();
    assert_eq!(sound, format!("sound: {} messages\n", late + 1 - before));

    // An old digest still has the expired messages; a new one has only those that are there.
    let found = |name: &str| {
        let paths = scene.decode(&["--sealing", "none"]).quietly();
        let held: Vec<_> = paths.lines().map(|path| scene.read(path)).collect();
        std::fs::rename(scene.path("out"), scene.path(name)).unwrap();
        held
    };
    assert_eq!(found("before"), [&b"early"[..], b"late"]);
    scene.digest(5, &[]).quietly();
    assert_eq!(found("after"), [b"late"]);
    let gone = format!("omr: board: messages 0..3 expired: the board begins at {before}");
    scene.digest(5, &["--range", "0..3"]).refused(1, &[&gone]);
    scene
        .digest(5, &["--range", &format!("..{late}")])
        .quietly();

    assert_eq!(
        scene.post("alice", &["late"]).quietly(),
        format!("{} late\n", late + 1)
    );
    assert_eq!(expire(&["--keep", "3"]).code, 0);
    assert_eq!(stat()["first_index"], late - 1);
    assert_eq!(
        scene.run(&["board", "verify", "board"]).quietly(),
        "sound: 3 messages\n"
    );
}

/// Returns the messages of the board.
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
    let board = Board::open(scene.path("board")).unwrap();
    let posted = all(&board);
    // The board itself checks only keys; the program that appends must check signatures.
    let error = board.append(&posted[..1]).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::UsedKey(used) if (used.position, used.index) == (0, 0)
        ),
        "{error}"
    );
    let mut unsigned = posted[1].clone();
    let key = unsigned.clue.len() - 96;
    unsigned.clue[key] ^= 1;
    board.append(&[unsigned]).unwrap();
    drop(board);
    let done = verify();
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.stderr.contains("message 2: expected a clue signed"),
        "{done:?}"
    );
    assert!(done.stderr.contains("in 1 of 3 messages"), "{done:?}");
}

/// Others post while the digest reads its key: it contains the messages that were there when it started.
#[test]
fn posting_does_not_wait_for_a_digest() {
    use std::io::{Read, Write};
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    scene.write("f", b"hello");
    scene.post("alice", &["f", "f"]).quietly();
    let args = ["digest", "--board", "board", "--detection-key", "-"];
    let more = ["--bound", "5", "--out", "digest"];
    let mut digest = scene
        .command(&[&args[..], &more].concat())
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let key = scene.read("alice/detection.key");
    let mut stdin = digest.stdin.take().unwrap();
    // The key is longer than a pipe's buffer: when all but its end is written, the board has been opened.
    assert!(key.len() > 200_000, "{}", key.len());
    let (most, end) = key.split_at(key.len() - 1000);
    stdin.write_all(most).unwrap();
    let began = std::time::Instant::now();
    assert_eq!(scene.post("alice", &["f"]).quietly(), "2 f\n");
    assert!(began.elapsed().as_secs() < 4, "{:?}", began.elapsed());
    stdin.write_all(end).unwrap();
    drop(stdin);
    let mut told = String::new();
    let mut stderr = digest.stderr.take().unwrap();
    stderr.read_to_string(&mut told).unwrap();
    assert!(digest.wait().unwrap().success(), "{told}");
    let found = scene.decode(&["--json"]).json();
    assert_eq!(found["indices"], serde_json::json!([0, 1]));
}

#[test]
fn a_small_set_for_tests_is_reported() {
    let scene = Scene::empty();
    let keygen = scene.run(&["keygen", "--out", "alice", "--params", PARAMS]);
    assert!(keygen.warned && keygen.code == 0, "{keygen:?}");
    let init = scene.run(&["board", "init", "tiny", "--params", PARAMS]);
    assert!(init.warned && init.code == 0, "{init:?}");
    assert!(!scene.run(&["board", "init", "board"]).warned);
}

/// The system states 0 bytes for some files, or a length that changes before they are read.
#[cfg(target_os = "linux")]
#[test]
fn files_are_posted_as_they_are_when_their_turn_comes() {
    use std::io::Write;
    let scene = Scene::new("hpke-x25519", 612);
    scene.write("growing", b"before");
    scene.write("shrinking", &bytes(3, 2000));
    let fifo = std::process::Command::new("mkfifo")
        .arg(scene.path("pipe"))
        .status();
    assert!(fifo.unwrap().success());
    let files = ["growing", "shrinking", "/proc/version", "pipe"];
    let mut post = scene.command(&["post", "--board", "board", "--to", "alice/clue.key"]);
    post.args(files).stdout(std::process::Stdio::piped());
    let child = post.spawn().unwrap();
    // The pipe is read after all files were checked.
    let mut pipe = std::fs::File::options()
        .write(true)
        .open(scene.path("pipe"))
        .unwrap();
    scene.write("growing", &bytes(4, 3000));
    scene.write("shrinking", b"after");
    pipe.write_all(b"through a pipe").unwrap();
    drop(pipe);
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let version = std::fs::read("/proc/version").unwrap();
    scene.digest(50, &[]).quietly();
    let paths = scene.decode(&["--strict"]).quietly();
    let found: Vec<Vec<u8>> = paths.lines().map(|path| scene.read(path)).collect();
    let expected = [
        bytes(4, 3000),
        b"after".to_vec(),
        version,
        b"through a pipe".to_vec(),
    ];
    assert!(found == expected, "{paths}");

    // The error of a limit has the file's own figures.
    let plain = [
        "board",
        "init",
        "raw",
        "--params",
        PARAMS,
        "--sealing",
        "none",
        "--payload-bytes",
        "40",
    ];
    scene.run(&plain).quietly();
    let raw = ["post", "--board", "raw", "--to", "alice/clue.key", "--raw"];
    scene.run(&[&raw[..], &["/proc/version"]].concat()).refused(
        1,
        &[&format!(
            "expected a payload of 40 bytes, found {}",
            expected[2].len()
        )],
    );
    scene.write("short", b"123");
    let told = &["expected a payload of 40 bytes, found 3"];
    scene.run(&[&raw[..], &["short"]].concat()).refused(1, told);
}
