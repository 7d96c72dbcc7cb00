//! Small trials of a real server: kills, damage, hostile clients.

use serde_json::Value;
use std::process::Command;

/// Runs a trial, which must keep every promise; returns its figures.
#[track_caller]
fn trial(args: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_omr-lab"))
        .args(["--quiet", "bench"])
        .args(args)
        .arg("--json")
        .arg("--dir")
        .arg(dir.path())
        .output()
        .unwrap();
    let stdout = String::from_utf8(done.stdout).unwrap();
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{stderr}\n{stdout}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn kills_lose_nothing() {
    let found = trial(&["chaos", "--only", "kills", "--kills", "5"]);
    assert_eq!(found["faults"].as_array().unwrap().len(), 0, "{found}");
    let figures = &found["figures"];
    assert_eq!(figures["kills"], 5);
    assert_eq!(
        (&figures["lost"], &figures["doubled"]),
        (&0.into(), &0.into())
    );
    for name in [
        "posts_acknowledged",
        "job_digests",
        "session_digests",
        "uploads",
    ] {
        assert!(figures[name].as_u64().unwrap() > 0, "{name}: {found}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_digest_without_memory_is_refused_and_the_server_goes_on() {
    let found = trial(&["chaos", "--only", "memory"]);
    assert_eq!(found["faults"].as_array().unwrap().len(), 0, "{found}");
    let figures = &found["figures"];
    // Refused with the limit, made without it.
    let digests = (&figures["refused"], &figures["job_digests"]);
    assert_eq!(digests, (&1.into(), &1.into()), "{found}");
    assert_eq!(figures["lost"], 0);
    assert!(figures["posts_acknowledged"].as_u64().unwrap() > 0);
}

#[test]
fn damage_is_reported_and_repaired() {
    let found = trial(&["chaos", "--only", "damage"]);
    assert_eq!(found["faults"].as_array().unwrap().len(), 0, "{found}");
    // Two digests beside each damage, one after its repair.
    assert_eq!(found["figures"]["job_digests"], 9, "{found}");
    assert!(found["figures"]["found"].as_u64().unwrap() > 0, "{found}");
}

#[test]
fn hostile_clients_harm_nobody() {
    let found = trial(&["hostile", "--seconds", "3", "--connections", "200"]);
    assert_eq!(found["faults"].as_array().unwrap().len(), 0, "{found}");
    assert!(found["connections"].as_u64().unwrap() > 190, "{found}");
    assert!(found["canary_calls"].as_u64().unwrap() > 0, "{found}");
    assert!(
        found["answers"]["InvalidArgument"].as_u64().unwrap() > 0,
        "{found}"
    );
}
