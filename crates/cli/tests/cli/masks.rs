//! The masks of detection keys.

use crate::common::mail::{Server, identity};
use crate::common::{PARAMS, Scene};
use omr_protocol::ParamSet;
use omr_protocol::sophomr::{DetectionKey, Epoch};
use std::time::SystemTime;

/// A set other than that of the boards.
const HYBRID: &str = "insecure-tiny-hybrid-v4";

/// Returns whether the masks of a detection key are those of a board's recipients now.
fn shares(scene: &Scene, key: &str, board: &str, since: SystemTime) -> bool {
    let set = ParamSet::named(PARAMS).unwrap();
    let file = scene.read(key);
    let masks = DetectionKey::read_masks(set.sophomr().unwrap(), &file[..]);
    let masks = masks.unwrap();
    let board = omr_protocol::from_hex(board).unwrap();
    let of = |time| Epoch::at(board, time).masks(set.name());
    [since, SystemTime::now()].map(of).contains(&masks)
}

#[test]
fn keys_for_a_board_have_the_masks_of_its_recipients() {
    let (scene, since) = (Scene::empty(), SystemTime::now());
    scene
        .run(&["board", "init", "board", "--params", PARAMS])
        .quietly();
    let stat = scene.run(&["board", "stat", "board", "--json"]).json();
    let id = stat["board_id"].as_str().unwrap();
    let keygen = ["keygen", "--params", PARAMS, "--out"];
    for (out, board) in [
        ("folder", &["--board", "board"][..]),
        ("id", &["--board", id]),
        ("own", &[]),
    ] {
        scene.run(&[&keygen[..], &[out], board].concat()).quietly();
        let key = format!("{out}/detection.key");
        assert_eq!(shares(&scene, &key, id, since), out != "own", "{out}");
    }
    let elsewhere = ["keygen", "--params", HYBRID, "--out", "other"];
    let elsewhere = scene.run(&[&elsewhere[..], &["--board", "board"]].concat());
    elsewhere.refused(1, &["board is of insecure-tiny-v4", HYBRID]);
    let nowhere = [&keygen[..], &["other", "--board", &id[1..]]].concat();
    scene.run(&nowhere).refused(1, &[&id[1..]]);
    assert!(!scene.path("other").exists());
}

#[test]
fn identities_share_the_masks_of_their_servers_board_unless_they_want_their_own() {
    let (scene, since) = (Scene::empty(), SystemTime::now());
    let server = Server::start(&scene, PARAMS);
    let ann = identity(&scene, &server, "ann", &["--scheme", "sophomr"]);
    let board = ann["board"].as_str().unwrap();
    let options = ["--own-masks", "--scheme", "sophomr"];
    identity(&scene, &server, "own", &options);
    assert!(shares(&scene, "ann/detection.key", board, since));
    assert!(!shares(&scene, "own/detection.key", board, since));
    for (home, shared) in [("ann", true), ("own", false)] {
        let before = scene.read(&format!("{home}/detection.key"));
        scene
            .run(&["id", "rotate", "--home", home, "--json"])
            .json();
        let key = format!("{home}/detection.key");
        assert_ne!(scene.read(&key), before);
        assert_eq!(shares(&scene, &key, board, since), shared, "{home}");
    }
    let rotate = ["id", "rotate", "--home", "ann", "--own-masks", "--json"];
    scene.run(&rotate).json();
    assert!(!shares(&scene, "ann/detection.key", board, since));
}
