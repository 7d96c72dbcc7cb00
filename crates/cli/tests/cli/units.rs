//! The units of systemd in `packaging/`, checked by `systemd-analyze`, and what the command does for systemd.

use crate::common::Scene;
use crate::documents::root;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const UNITS: [&str; 2] = ["omr.service", "omr-worker.service"];
const CARD: &str = "omr-gpu.conf";

/// The highest exposure of a unit by `systemd-analyze security`, in tenths: 1.5 is low.
const EXPOSURE: &str = "15";
/// The highest exposure of a unit with cards, which are devices.
const EXPOSURE_WITH_CARD: &str = "17";

/// Writes the units into a folder, for the command of this build. Returns their paths, or `None` without systemd.
fn units(scene: &Scene, with_card: bool) -> Option<Vec<PathBuf>> {
    let version = Command::new("systemd-analyze").arg("--version").output();
    if !version.is_ok_and(|done| done.status.success()) {
        println!("SKIP units: no systemd-analyze");
        return None;
    }
    let packaging = root().join("packaging/systemd");
    let read = |name: &str| fs::read_to_string(packaging.join(name)).unwrap();
    let write = |name: &str| {
        let path = scene.path(name);
        let text = read(name);
        assert!(text.contains("ExecStart=omr "), "{name}");
        let started = format!("ExecStart={} ", env!("CARGO_BIN_EXE_omr"));
        fs::write(&path, text.replace("ExecStart=omr ", &started)).unwrap();
        if with_card {
            let folder = scene.path(&format!("{name}.d"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(CARD), read(CARD)).unwrap();
        }
        path
    };
    Some(UNITS.iter().map(|name| write(name)).collect())
}

fn analyze(args: &[&str], path: &Path) {
    let mut command = Command::new("systemd-analyze");
    let done = command.args(args).arg(path).output().unwrap();
    let printed = [&*done.stdout, &*done.stderr].map(String::from_utf8_lossy);
    assert!(done.status.success(), "{args:?} {path:?}: {printed:?}");
    // An unknown or misspelt line is a warning alone.
    let [_, warnings] = printed;
    let named = |line: &&str| UNITS.iter().chain([&CARD]).any(|unit| line.contains(unit));
    let own: Vec<&str> = warnings.lines().filter(named).collect();
    assert!(own.is_empty(), "{own:?}");
}

#[test]
fn units_are_sound_and_closed() {
    for (with_card, exposure) in [(false, EXPOSURE), (true, EXPOSURE_WITH_CARD)] {
        let scene = Scene::empty();
        let Some(paths) = units(&scene, with_card) else {
            return;
        };
        for path in paths {
            analyze(&["verify", "--man=no", "--recursive-errors=no"], &path);
            let threshold = format!("--threshold={exposure}");
            analyze(
                &["security", "--offline=yes", "--no-pager", &threshold],
                &path,
            );
        }
    }
}

/// systemd starts a server again that stops to send these.
#[test]
fn a_server_notifies_the_watchdog() {
    let scene = Scene::empty();
    let socket = UnixDatagram::bind(scene.path("notify")).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let args = [
        "serve",
        "--anonymous",
        "--listen",
        "127.0.0.1:0",
        "--data",
        "data",
    ];
    let mut command = scene.command(&args);
    command.args(["--params", "insecure-tiny-hybrid-v4"]);
    command.env("NOTIFY_SOCKET", scene.path("notify"));
    command
        .env("WATCHDOG_USEC", "900000")
        .env_remove("WATCHDOG_PID");
    let mut process = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = process.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let received = || {
        let mut bytes = [0; 256];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).trim().to_owned()
    };
    assert_eq!(received(), "READY=1");
    assert_eq!(received(), "WATCHDOG=1");
    let first = Instant::now();
    assert_eq!(received(), "WATCHDOG=1");
    // Three in the time that the unit gives, so that one may be late.
    assert!(
        first.elapsed() >= Duration::from_millis(100),
        "{:?}",
        first.elapsed()
    );
    let _ = process.kill();
    let _ = process.wait();
}
