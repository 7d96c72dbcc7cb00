//! Bound clues from keys to files, and hostile messages that test how their recipient reacts.

use crate::common::{PARAMS, Scene};
use omr_client::letter::{Place, Writer, Written};
use omr_client::{BoundSender, ClueSeed, os_rng};
use omr_protocol::clue::BoundClue;
use omr_protocol::{ClueKey, ClueKind, ParamSet, Sealing};
use omr_store::{Board, Message, MessageHashes};

const PAYLOAD: usize = 150;

/// A person who writes to alice and makes messages by hand.
struct Enemy {
    set: ParamSet,
    alice: ClueKey,
    place: Place,
}

impl Enemy {
    fn new(scene: &Scene, params: &str) -> Self {
        let set = ParamSet::named(params).unwrap();
        let alice = ClueKey::from_bytes(set.clue(), &scene.read("alice/clue.key")).unwrap();
        assert_eq!(alice.kind, ClueKind::Bound);
        let place = Place {
            board_id: Board::open(scene.path("board")).unwrap().config().board_id,
            params: params.to_owned(),
            sealing: Sealing::HpkeX25519,
            payload_bytes: PAYLOAD,
        };
        Self { set, alice, place }
    }

    fn honest(&self, file: &[u8]) -> Written {
        let writer = Writer::new(self.set.clue(), &self.alice, self.place.clone()).unwrap();
        let part = writer.parts(file, &mut os_rng()).unwrap().remove(0);
        writer.message(&mut os_rng(), &part).unwrap()
    }

    /// Returns a message that is well signed, reaches alice and opens, but does not have the randomness that is sealed
    /// in it.
    fn other_randomness(&self) -> Written {
        let payload = self.honest(b"do you see this?").payload;
        let sender = BoundSender::new(self.set.clue(), &self.alice, self.place.board_id);
        let clue = sender.clue(&ClueSeed::generate(&mut os_rng()), &payload);
        let clue = clue.to_bytes(self.set.clue());
        Written { clue, payload }
    }

    /// Returns a message that reaches alice, but does not open.
    fn noise(&self) -> Written {
        let sender = BoundSender::new(self.set.clue(), &self.alice, self.place.board_id);
        let payload = vec![7; PAYLOAD];
        let clue = sender.clue(&ClueSeed::generate(&mut os_rng()), &payload);
        let clue = clue.to_bytes(self.set.clue());
        Written { clue, payload }
    }

    /// Returns an honest message whose b was changed by one: it still reaches alice.
    fn mauled(&self) -> Written {
        let mut message = self.honest(b"a little louder");
        let mut clue = BoundClue::from_bytes(self.set.clue(), &message.clue).unwrap();
        clue.clue.b[0] = (clue.clue.b[0] + 1) % self.set.clue().spec().posted_modulus() as u32;
        message.clue = clue.to_bytes(self.set.clue());
        message
    }

    /// Returns the clue of one honest message with the payload of another.
    fn replayed(&self) -> Written {
        Written {
            payload: self.honest(b"second").payload,
            clue: self.honest(b"first").clue,
        }
    }

    fn post(&self, scene: &Scene, messages: Vec<Written>) {
        let messages = messages.into_iter().map(|message| Message {
            clue: message.clue,
            payload: message.payload,
        });
        let messages: Vec<Message> = messages.collect();
        let board = Board::open(scene.path("board")).unwrap();
        board.append(&messages).unwrap();
    }
}

/// Returns a board of bound clues with one honest message among several.
fn with_hostile_posts(scene: &Scene, params: &str) {
    let init = [
        "board",
        "init",
        "board",
        "--params",
        params,
        "--sealing",
        "hpke-x25519",
        "--payload-bytes",
        &PAYLOAD.to_string(),
    ];
    scene.run(&init).quietly();
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    let enemy = Enemy::new(scene, params);
    let hostile = vec![
        enemy.other_randomness(),
        enemy.noise(),
        enemy.mauled(),
        enemy.replayed(),
    ];
    enemy.post(scene, hostile);
    scene.post("alice", &["f"]).quietly();
}

/// Returns which messages have a hash that the board keeps.
fn kept(scene: &Scene) -> Vec<bool> {
    let board = Board::open_read_only(scene.path("board")).unwrap();
    let tag = ParamSet::named(PARAMS).unwrap().clue().tag();
    let kept = board.kept_hashes(0..board.len(), tag).unwrap();
    kept.iter().map(Option::is_some).collect()
}

#[test]
fn a_hash_of_another_message_is_reported() {
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    scene.write("f", b"hello");
    scene.post("alice", &["f", "f"]).quietly();
    scene.run(&["board", "verify", "board"]).quietly();
    let tag = ParamSet::named(PARAMS).unwrap().clue().tag();
    let board = Board::open(scene.path("board")).unwrap();
    let other = board.kept_hashes(0..1, tag).unwrap()[0].unwrap();
    let other = MessageHashes::new(tag, vec![other]);
    board.keep_hashes(1, &other).unwrap();
    drop(board);
    let done = scene.run(&["board", "verify", "board"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.stderr
            .contains("message 1: the board keeps the hash of another"),
        "{done:?}"
    );
}

/// Checks that alice finds the honest messages at 0 and 5, without a sign of the others.
fn only_honest(scene: &Scene) {
    let report = scene.decode(&["--json", "--strict", "--force"]).json();
    assert_eq!(report["indices"], serde_json::json!([0, 5]));
    assert_eq!(report["pertinent"], 2);
    assert_eq!(report["left_out"], serde_json::json!([]));
    assert_eq!(scene.list("out"), ["000000-f", "000005-f"]);
    for name in scene.list("out") {
        assert_eq!(scene.read(&format!("out/{name}")), b"hello");
    }
}

#[test]
fn clues_that_were_not_made_honestly_are_silently_dropped() {
    let scene = Scene::keys();
    with_hostile_posts(&scene, PARAMS);
    // The enemy's messages came without hashes; the digest computes them again.
    assert_eq!(kept(&scene), [true, false, false, false, false, true]);
    scene.digest(9, &[]).quietly();
    assert_eq!(kept(&scene), [true; 6]);
    only_honest(&scene);
    // The enemy's messages do reach alice: a digest of indices, which cannot check them, contains them.
    scene.digest(9, &["--indices-only"]).quietly();
    scene.decode(&["--force"]).quietly();
    assert_eq!(scene.read("out/indices.txt"), b"0\n1\n2\n3\n5\n");
}

#[test]
fn the_same_with_every_digest_of_instantomr() {
    const HYBRID: &str = "insecure-tiny-hybrid-v4";
    let scene = Scene::empty();
    scene
        .run(&["keygen", "--out", "alice", "--params", HYBRID])
        .quietly();
    with_hostile_posts(&scene, HYBRID);
    for scheme in ["instantomr", "sophomr", "hybrid"] {
        let key = match scheme {
            "sophomr" => "alice/detection.key",
            _ => "alice/instant.key",
        };
        let mut args = vec![
            "digest", "--board", "board", "--bound", "9", "--out", "digest",
        ];
        args.extend(["--force", "--scheme", scheme, "--detection-key", key]);
        if scheme == "hybrid" {
            args.extend(["--detection-key", "alice/detection.key"]);
        }
        scene.run(&args).quietly();
        only_honest(&scene);
    }
}

#[test]
fn boards_keys_and_addresses_of_two_kinds_do_not_mix() {
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    let plain = Scene::plain("hpke-x25519", PAYLOAD);
    scene.write("f", b"hello");
    scene.write("plain.key", &plain.read("alice/clue.key"));
    let done = scene.run(&["post", "--board", "board", "--to", "plain.key", "f"]);
    assert_eq!(done.code, 1, "{done:?}");
    let told = |text: &str, kinds: [&str; 2]| kinds.iter().all(|kind| text.contains(kind));
    assert!(
        told(
            &done.stderr,
            ["bound clues, which the board takes", "for plain clues"]
        ),
        "{done:?}"
    );
    scene.post("alice", &["f"]).quietly();
    scene.write("alice/detection.key", &plain.read("alice/detection.key"));
    let done = scene.digest(3, &[]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        told(
            &done.stderr,
            ["plain clues, which the detection key takes", "bound clues"]
        ),
        "{done:?}"
    );
    // A digest of plain clues cannot be checked: a recipient of bound clues refuses it.
    plain.write("f", b"hello");
    plain.post("alice", &["f"]).quietly();
    plain.digest(3, &[]).quietly();
    plain.decode(&[]).quietly();
    assert_eq!(plain.read("out/000000-f"), b"hello");
}
