//! Small versions of the trials with real processes. Each one checks everything that it does.

use crate::common::{Scene, words};

const SET: [&str; 2] = ["--params", "insecure-tiny-hybrid-v4"];

fn trial(scene: &Scene, name: &str, more: &[&str]) -> serde_json::Value {
    scene
        .run(&[&["bench", name, "--json"], &SET[..], more].concat())
        .json()
}

#[test]
fn a_server_under_load_keeps_its_promises() {
    let scene = Scene::empty();
    let posts = words("--posts-per-second 300 --seconds 3 --clients 4");
    let others = words("--keys 3 --key-kind both --jobs 2 --job-messages 1000");
    let figures = trial(&scene, "load", &[&posts[..], &others].concat());
    let posts = &figures["posts"];
    assert_eq!(
        (&posts["sent"], &posts["acknowledged"]),
        (&900.into(), &900.into())
    );
    assert_eq!(posts["read_back"]["exact"], 900, "{posts}");
    let latency = &posts["latency_ms"];
    let names = ["p50", "p90", "p99", "p99_9", "max"];
    let times = names.map(|name| latency[name].as_f64().unwrap());
    assert!(times[0] > 0.0 && times.is_sorted(), "{latency}");
    let keys = figures["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 2);
    for keys in keys {
        assert_eq!((&keys["keys"], &keys["kept"]), (&3.into(), &3.into()));
        assert!(keys["disk_bytes"].as_u64() >= Some(3 * keys["key_bytes"].as_u64().unwrap()));
    }
    let jobs = figures["jobs"]["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| job["exact"] == true), "{figures}");
}

#[test]
fn posts_through_streams_arrive_too() {
    let scene = Scene::empty();
    let posts = words("--posts-per-second 200 --seconds 1 --clients 2");
    let figures = trial(
        &scene,
        "load",
        &[&["--only", "posts", "--stream"], &posts[..]].concat(),
    );
    assert_eq!(figures["posts"]["call"], "StreamPosts");
    assert_eq!(figures["posts"]["read_back"]["exact"], 200, "{figures}");
    assert!(
        figures["keys"].is_null() && figures["jobs"].is_null(),
        "{figures}"
    );
}

#[test]
fn letters_arrive_once_though_processes_are_killed() {
    let scene = Scene::empty();
    let people = ["--senders", "2", "--recipients", "3", "--letters", "24"];
    let figures = trial(
        &scene,
        "mail",
        &[&["--messages", "600"], &people[..]].concat(),
    );
    assert_eq!(figures["delivered"]["exact"], 24, "{figures}");
    assert_eq!(
        (&figures["restarts"], &figures["killed_fetches"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        figures["messages"], figures["expected_messages"],
        "{figures}"
    );
    assert!(figures["letter_messages"].as_u64() > Some(24), "{figures}");
}
