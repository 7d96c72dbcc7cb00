//! Every example of every `--help` runs, in a folder that is prepared for it.

use crate::common::{Scene, listed, ports};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PARAMS: &str = "insecure-tiny-hybrid-v4";

/// Words that a person has on paper.
const WORDS: &[u8] = b"legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth \
                       useful legal winner thank year wave sausage worth title";

/// Pages whose examples take minutes to hours; another test parses them.
const LONG: [&str; 1] = ["worker"];
/// Single examples that take as long.
const LONG_EXAMPLES: [&str; 4] = [
    "omr demo",
    "omr demo --messages 131072 --bound 100 --dir demo --json",
    "omr demo --scheme instantomr --messages 1000",
    "omr demo --scheme hybrid --messages 66000",
];

/// The pages that are run below.
const PAGES: [&str; 36] = [
    "",
    "keygen",
    "params",
    "board",
    "post",
    "digest",
    "scan",
    "ask",
    "fetch",
    "stream",
    "decode",
    "id",
    "id passphrase",
    "id sync",
    "address",
    "contact",
    "send",
    "inbox",
    "watch",
    "demo",
    "serve",
    "token",
    "feed",
    "data",
    "completions",
    "man",
    "pdq",
    "pdq import",
    "pdq schema",
    "pdq keygen",
    "pdq encrypt-table",
    "pdq plan",
    "pdq query",
    "pdq encrypt",
    "pdq serve",
    "health",
];

fn help(scene: &Scene, page: &str) -> String {
    let mut args: Vec<&str> = page.split_whitespace().collect();
    args.push("--help");
    scene.run(&args).quietly()
}

/// Returns the examples of a page, each in one line as a shell would join it.
fn examples(help: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut goes_on = false;
    let start = |line: &str| line.starts_with("  omr ") || line.starts_with("  echo ");
    // No line of the list of commands begins in this way.
    for line in help.lines() {
        let (part, more) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        if goes_on {
            found.last_mut().unwrap().push_str(part.trim_start());
        } else if start(line) {
            found.push(part.trim_start().to_owned());
        }
        goes_on = more && (goes_on || start(line));
    }
    found
}

/// Adds the names of all pages, from the lists of commands.
fn pages(scene: &Scene, page: &str, found: &mut Vec<String>) {
    found.push(page.to_owned());
    let text = help(scene, page);
    for name in listed(&text) {
        pages(scene, format!("{page} {name}").trim(), found);
    }
}

#[test]
fn no_example_is_left_out() {
    let scene = Scene::empty();
    let run: BTreeSet<String> = PAGES
        .iter()
        .flat_map(|page| examples(&help(&scene, page)))
        .collect();
    let mut all = Vec::new();
    pages(&scene, "", &mut all);
    assert!(all.len() > 50, "{all:?}");
    for page in all
        .iter()
        .filter(|page| !LONG.iter().any(|long| page.starts_with(long)))
    {
        for example in examples(&help(&scene, page)) {
            assert!(run.contains(&example), "{page}: {example}");
        }
    }
}

/// A folder with servers, if a page needs them.
struct Stage {
    scene: Scene,
    board: Option<Server>,
    tables: Option<Server>,
    token: String,
}

impl Stage {
    fn empty() -> Self {
        Self {
            scene: Scene::empty(),
            board: None,
            tables: None,
            token: String::new(),
        }
    }

    fn ok(&self, line: &str) -> String {
        let done = self.shell(line).output().unwrap();
        let (out, told) = (
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr),
        );
        assert!(
            done.status.success(),
            "{line}: {}\n{out}\n{told}",
            done.status
        );
        let wrong = |text: &str| text.starts_with("omr: ") && !text.starts_with("omr: warning: ");
        assert!(!told.lines().any(wrong), "{line}: {told}");
        out.into_owned()
    }

    /// Returns a shell that runs a line with this build's command.
    fn shell(&self, line: &str) -> Command {
        let bin = Path::new(env!("CARGO_BIN_EXE_omr")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-o", "pipefail", "-c", line])
            .current_dir(self.scene.dir());
        bash.env("PATH", path)
            .env("OMR_PASSPHRASE", "correct horse battery staple")
            .env("OMR_NEW_PASSPHRASE", "correct horse battery staple")
            .env("OMR_HOME", self.scene.path("ann"))
            .stdin(Stdio::null());
        bash
    }

    /// Returns a stage with letters, keys and a board of a tiny set.
    fn with_keys() -> Self {
        let stage = Self::empty();
        stage.scene.write("letter.txt", b"hello\n");
        stage
            .scene
            .write("photo.jpg", &crate::common::bytes(1, 700));
        stage.ok(&format!("omr keygen --out alice --params {PARAMS}"));
        stage.ok(&format!("omr board init board --params {PARAMS}"));
        stage
    }

    /// Returns such a stage with four letters on the board.
    fn with_letters() -> Self {
        let stage = Self::with_keys();
        stage.ok("omr post --board board --to alice/clue.key letter.txt letter.txt letter.txt letter.txt");
        stage
    }

    /// Returns a stage with a server, and a token with all rights.
    fn with_server(data: &str) -> Self {
        let mut stage = Self::with_keys();
        std::fs::create_dir(stage.scene.path(data)).unwrap();
        let add = "--name test --may post --may detect --may admin";
        stage.token = stage
            .ok(&format!("omr token add --file {data}/tokens.toml {add}"))
            .trim()
            .to_owned();
        let serve =
            format!("omr serve --anonymous --listen 127.0.0.1:0 --data {data} --params {PARAMS}");
        stage.board = Some(Server::start(&stage, &serve));
        stage
    }

    /// Returns such a stage with the identity ann, and bob's address in bob.txt.
    fn with_identity() -> Self {
        let stage = Self::with_server("server");
        stage.example("omr id new --server http://127.0.0.1:7600");
        stage.example("omr id new --server http://127.0.0.1:7600 --home bob");
        stage.ok("omr address --home bob --out bob.txt; omr address --out alice.txt");
        stage
    }

    /// Returns a stage with a table, its schema, alice's keys for it, and a server of it.
    fn with_table() -> Self {
        let mut stage = Self::with_people();
        stage.ok("omr pdq import people.csv --out people.table; omr pdq schema people.table --out people.json");
        stage.ok("omr pdq keygen --out alice");
        let serve = "omr pdq serve people.table --anonymous --listen 127.0.0.1:0 --data tables";
        stage.tables = Some(Server::start(&stage, serve));
        stage
    }

    fn with_people() -> Self {
        let stage = Self::empty();
        let people = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/people.csv");
        stage
            .scene
            .write("people.csv", &std::fs::read(people).unwrap());
        stage
    }

    /// Returns an example with this stage's servers, token and folders.
    fn here(&self, example: &str) -> String {
        let mut line = example.to_owned();
        if let Some(server) = &self.board {
            for url in ["http://127.0.0.1:7600", "https://mail.example.org:7600"] {
                line = line.replace(url, &server.url);
            }
            line = line.replace("TOKEN", &self.token);
        }
        if let Some(server) = &self.tables {
            line = line.replace("http://127.0.0.1:7601", &server.url);
        }
        line.replace("/etc/omr/", "")
            .replace(" /backups/", " backups/")
    }

    /// Runs an example; one that never ends is stopped once it has printed something.
    fn example(&self, example: &str) {
        let line = self.here(example);
        let served = line.contains("omr serve") || line.contains("pdq serve");
        let watch = line.starts_with("omr watch") && !line.contains("--count");
        if served {
            drop(Server::start(self, &line));
        } else if line.starts_with("omr inbox drop") {
            // No range has overflowed here: tests of the inbox drop ranges.
            self.refused(&line, "no range is kept within 0..4");
        } else if watch || line.contains("--follow") {
            self.lasting(&line);
        } else {
            self.ok(&line);
        }
    }

    /// Runs an example that has nothing to do here, and checks its error.
    fn refused(&self, line: &str, expected: &str) {
        let done = self.shell(line).output().unwrap();
        let found = String::from_utf8_lossy(&done.stderr);
        assert!(
            !done.status.success() && found.contains(expected),
            "{found}"
        );
    }

    /// Starts a command that runs until it is stopped, and stops it.
    fn lasting(&self, line: &str) {
        let mut command = self.shell(&format!("exec {line}"));
        let mut process = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(2));
        let ended = process.try_wait().unwrap();
        let _ = process.kill();
        let mut told = String::new();
        process
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        let _ = process.wait();
        assert!(
            ended.is_none() && !told.contains("omr: "),
            "{line}: {ended:?} {told}"
        );
    }

    /// Runs a page's examples one after another.
    fn page(&self, page: &str) {
        for example in examples(&help(&self.scene, page)) {
            if !LONG_EXAMPLES.contains(&uncommented(&example)) {
                let began = Instant::now();
                self.example(&example);
                println!("{:5.1} s  {example}", began.elapsed().as_secs_f64());
            }
        }
    }
}

fn uncommented(line: &str) -> &str {
    line.split(" #").next().unwrap().trim_end()
}

/// A server that has printed its address; stopped when dropped.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(stage: &Stage, line: &str) -> Self {
        let mut command = stage.shell(&format!("exec {line}"));
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut first = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut first).unwrap();
        let url = first.trim().strip_prefix("listening on ");
        let url = url.unwrap_or_else(|| panic!("{line}: {first}")).to_owned();
        Self { process, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn first_steps_at_full_size() {
    let stage = Stage::with_server("server");
    for made in ["alice", "board"] {
        std::fs::remove_dir_all(stage.scene.path(made)).unwrap();
    }
    stage.page("");
}

#[test]
fn keys_and_boards() {
    let stage = Stage::empty();
    stage.scene.write("words.txt", WORDS);
    stage.page("keygen");
    Stage::empty().page("params");
    Stage::empty().page("board");
    let stage = Stage::with_keys();
    stage
        .scene
        .write("output.bin", &crate::common::bytes(2, 612));
    stage.ok(&format!(
        "omr board init zcash --sealing none --params {PARAMS}"
    ));
    stage.page("post");
}

#[test]
fn digests_and_sessions() {
    Stage::with_letters().page("digest");
    Stage::empty().page("stream");
    let stage = Stage::with_letters();
    let key = "--detection-key alice/detection.key";
    stage.ok(&format!(
        "omr digest --board board {key} --bound 9 --out digest"
    ));
    stage.ok("cp digest first; cp digest second");
    // More letters than a scan has payloads for.
    let keygen = format!("omr keygen --scheme two-rounds --params {PARAMS} --out bob");
    stage.ok(&keygen);
    let letters = "letter.txt ".repeat(70);
    stage.ok(&format!(
        "omr post --board board --to bob/clue.key {letters}"
    ));
    for page in ["scan", "ask", "fetch", "decode"] {
        stage.page(page);
    }
    Stage::empty().page("demo");
}

#[test]
fn identities_and_letters() {
    let stage = Stage::with_server("server");
    stage.scene.write("words.txt", WORDS);
    stage.page("id");
    let stage = Stage::with_server("server");
    stage.example("omr id new --server http://127.0.0.1:7600 --scheme instantomr");
    stage.page("id passphrase");
    Stage::with_identity().page("id sync");
    let stage = Stage::with_identity();
    std::fs::remove_file(stage.scene.path("alice.txt")).unwrap();
    stage.page("address");
    stage.page("contact");
    stage.ok("omr contact add bob bob.txt");
    // Signed letters; the example answers the third.
    stage.scene.write("answer.txt", b"yes");
    for _ in 0..3 {
        stage.ok("omr send --home bob --signed --to alice.txt letter.txt");
    }
    stage.ok("omr inbox");
    stage.page("send");
    for _ in 0..4 {
        stage.ok("omr send --to alice.txt letter.txt");
    }
    stage.page("inbox");
    stage.example("omr id new --home work --server http://127.0.0.1:7600 --scheme instantomr");
    stage.page("watch");
}

#[test]
fn blocks_of_a_ledger() {
    let mut stage = Stage::empty();
    std::fs::create_dir(stage.scene.path("omr-data")).unwrap();
    let config = format!(
        "listen = \"127.0.0.1:0\"\ndata = \"omr-data\"\n[board]\nparams = \"{PARAMS}\"\nledger = \"a ledger\"\n"
    );
    stage.scene.write("omr.toml", config.as_bytes());
    stage.ok(
        "omr token add --file omr-data/tokens.toml --name feeder --may feed > node.token; \
         printf '{\"height\": 7, \"hash\": \"%064d\", \"parent\": \"%064d\"}\\n' 1 0 > blocks.jsonl",
    );
    stage.board = Some(Server::start(&stage, "omr serve --config omr.toml"));
    stage.page("feed");
}

#[test]
fn servers_and_their_data() {
    let _ports = ports();
    let stage = Stage::empty();
    stage.scene.write(
        "omr.toml",
        b"listen = \"127.0.0.1:0\"\ndata = \"configured\"\n",
    );
    // The example calls the server that the page starts first.
    for example in examples(&help(&stage.scene, "serve")) {
        if example.starts_with("omr health") {
            let _server = Server::start(&stage, "omr serve");
            stage.ok(&example);
        } else {
            stage.example(&example)
        }
    }
    let stage = Stage::empty();
    std::fs::create_dir(stage.scene.path("omr-data")).unwrap();
    stage.page("token");
    let mut stage = Stage::with_server("omr-data");
    for example in examples(&help(&stage.scene, "data")) {
        if !example.contains("--server") {
            stage.board = None;
        }
        stage.example(&example);
    }
}

#[test]
fn tables_and_queries() {
    let ports = ports();
    let stage = Stage::with_table();
    std::fs::remove_dir_all(stage.scene.path("alice")).unwrap();
    std::fs::remove_file(stage.scene.path("people.table")).unwrap();
    stage.page("pdq");
    stage.page("pdq serve");
    drop(ports);
    Stage::with_people().page("pdq import");
    Stage::empty().page("pdq keygen");
    let stage = Stage::with_table();
    std::fs::remove_file(stage.scene.path("people.json")).unwrap();
    for page in ["schema", "encrypt-table", "plan", "query", "encrypt"] {
        stage.page(&format!("pdq {page}"));
    }
}

#[test]
fn completions_and_pages() {
    Stage::empty().page("completions");
    Stage::empty().page("man");
}
