//! Runs the command in a folder of its own, at the insecure tiny parameters.

pub(crate) mod mail;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) const PARAMS: &str = "insecure-tiny-v4";

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    /// Standard error without the warning that a set is insecure.
    pub(crate) stderr: String,
    /// Whether that warning was printed.
    pub(crate) warned: bool,
}

impl Done {
    /// Checks that the command succeeded with an empty standard error. Returns standard output.
    #[track_caller]
    pub(crate) fn quietly(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        String::from_utf8(self.stdout).unwrap()
    }

    /// Checks that the command failed with this code, an empty standard output, and one line `omr: ` with every text.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        self.printed(texts);
    }

    /// With `--json` an object replaces the line.
    #[track_caller]
    fn printed(mut self, texts: &[&str]) {
        if let Ok(object) = serde_json::from_str::<serde_json::Value>(&self.stderr) {
            let message = object["error"]["message"].as_str().unwrap_or_default();
            self.stderr = format!("omr: {message}");
        }
        assert!(self.stderr.starts_with("omr: "), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        for text in texts {
            assert!(
                self.stderr.contains(text),
                "{text:?} not in {:?}",
                self.stderr
            );
        }
        assert!(!self.stderr.contains("internal error"), "{self:?}");
    }

    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.quietly()).unwrap()
    }
}

/// A folder with alice's keys and usually a board.
pub(crate) struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    /// Returns an empty folder.
    pub(crate) fn empty() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns a folder with alice's keys.
    pub(crate) fn keys() -> Self {
        let scene = Self::empty();
        scene.keygen("alice");
        scene
    }

    /// Returns a folder with alice's keys for plain clues and an empty board for them.
    pub(crate) fn plain(sealing: &str, payload_bytes: usize) -> Self {
        let scene = Self::empty();
        let keygen = words("keygen --out alice --params insecure-tiny-v4 --plain-clues");
        scene.run(&keygen).quietly();
        scene.board(sealing, payload_bytes, &["--clues", "plain"]);
        scene
    }

    /// Returns a folder with alice's keys and an empty board.
    pub(crate) fn new(sealing: &str, payload_bytes: usize) -> Self {
        let scene = Self::keys();
        scene.board(sealing, payload_bytes, &[]);
        scene
    }

    fn board(&self, sealing: &str, payload_bytes: usize, more: &[&str]) {
        let bytes = payload_bytes.to_string();
        let init = [
            "board",
            "init",
            "board",
            "--params",
            PARAMS,
            "--sealing",
            sealing,
        ];
        let args = [&init[..], &["--payload-bytes", &bytes], more].concat();
        assert_eq!(self.run(&args).quietly(), "");
    }

    pub(crate) fn keygen(&self, name: &str) {
        self.run(&["keygen", "--out", name, "--params", PARAMS])
            .quietly();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_omr"));
        command.current_dir(self.dir.path()).args(args);
        // Variables of the person who runs the tests.
        command.env_remove("OMR_PASSPHRASE").env_remove("OMR_TOKEN");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.pipe(args, b"")
    }

    /// Runs a command with these bytes on standard input.
    pub(crate) fn pipe(&self, args: &[&str], input: &[u8]) -> Done {
        let piped = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = piped.unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A command that fails early does not read all of it.
        let feed = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feed.join().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let (warnings, others): (Vec<&str>, Vec<&str>) = stderr
            .split_inclusive('\n')
            .partition(|line| line.contains("is a small set for tests"));
        Done {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: others.concat(),
            warned: !warnings.is_empty(),
        }
    }

    /// Flips a bit of the payload of a message, wherever it is in the board's file.
    pub(crate) fn damage(&self, message: u64) {
        let board = omr_store::Board::open(self.path("board")).unwrap();
        let (mut clues, mut payload) = (Vec::new(), Vec::new());
        let range = message..message + 1;
        board.read_into(range, &mut clues, &mut payload).unwrap();
        drop(board);
        let path = self.path("board/board.redb");
        let mut file = fs::read(&path).unwrap();
        let places: Vec<usize> = (0..file.len() - payload.len())
            .filter(|at| file[*at..at + payload.len()] == payload)
            .collect();
        assert!(!places.is_empty());
        for at in places {
            file[at + payload.len() / 2] ^= 4;
        }
        fs::write(path, file).unwrap();
    }

    /// Posts files to `name` on the board.
    pub(crate) fn post(&self, name: &str, files: &[&str]) -> Done {
        let key = format!("{name}/clue.key");
        self.run(&[&["post", "--board", "board", "--to", &key], files].concat())
    }

    /// Makes a digest of the board for alice, in the file `digest`, which may exist.
    pub(crate) fn digest(&self, bound: usize, more: &[&str]) -> Done {
        let bound = bound.to_string();
        let args = words("digest --board board --detection-key alice/detection.key");
        self.run(
            &[
                &args[..],
                &["--bound", &bound, "--force", "--out", "digest"],
                more,
            ]
            .concat(),
        )
    }

    /// Decodes `digest` into `out` as alice.
    pub(crate) fn decode(&self, more: &[&str]) -> Done {
        let args = words("decode --secret-key alice/secret.key --digest digest");
        self.run(&[&args[..], &["--out", "out"], more].concat())
    }

    /// Runs a command until a signal has interrupted it three times while files were `left` in a folder, and checks
    /// that they are removed. Returns the number of interruptions.
    pub(crate) fn stopped(
        &self,
        args: &[&str],
        folder: &str,
        left: impl Fn() -> bool,
        again: impl Fn(),
    ) -> u32 {
        let mut stopped = 0;
        for _ in 0..300 {
            let mut command = self.command(args);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            while !left() && child.try_wait().unwrap().is_none() {}
            stopped += u32::from(terminated(&mut child) == Some(128 + 15));
            assert!(!left(), "{:?}", self.list(folder));
            if stopped > 2 {
                break;
            }
            again();
        }
        stopped
    }

    /// Returns the names in a folder, sorted.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries.map(|e| name(e).into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Returns the words of a command line.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Returns the commands that a page of `--help` lists, in groups or not.
pub(crate) fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let lists = lines.skip(1).take_while(|line| *line != "Options:");
    // Names are indented by two columns, continued descriptions further; arguments are in brackets.
    let name = |line: &str| {
        line.strip_prefix("  ")?
            .split(' ')
            .next()
            .map(str::to_owned)
    };
    let is_command = |name: &String| name.starts_with(|c: char| c.is_ascii_lowercase());
    let names = lists.filter_map(name).filter(is_command);
    names.filter(|name| name != "help").collect()
}

/// Returns the exit code of a process after a request to end.
pub(crate) fn terminated(child: &mut Child) -> Option<i32> {
    let id = child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).output().unwrap();
    child.wait().unwrap().code()
}

/// Returns pseudo-random bytes of a seed.
pub(crate) fn bytes(seed: u8, count: usize) -> Vec<u8> {
    let mut state = u64::from(seed) + 1;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Waits until no other test uses the default ports of servers; returns a lock on them.
pub(crate) fn ports() -> fs::File {
    let path = std::env::temp_dir().join("omr-tests-ports.lock");
    let lock = fs::File::create(path).unwrap();
    lock.lock().unwrap();
    lock
}
