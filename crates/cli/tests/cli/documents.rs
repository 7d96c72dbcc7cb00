//! The blocks of all documents are tested. Shell commands run unchanged, those of one document one after another in one
//! folder; configurations are parsed as a server parses them; text behind a mark is what the command of the mark prints.
//! A block that cannot run here is marked in its document.

use crate::common::ports;
use omr_server::Config;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The beginning of the line before a block that is not run; a reason in [`REASONS`] and ` -->` follow.
const NOT_RUN: &str = "<!-- not run: ";

/// The beginning of the line before a block that has the output of a command; the command's arguments and ` -->` follow.
const PRINTED: &str = "<!-- omr ";

/// If this variable is set, blocks of printed text are written instead of compared.
const WRITE: &str = "OMR_WRITE_DOCUMENTS";

/// The reasons for which a block may be left out.
const REASONS: [&str; 10] = [
    "builds from source",
    "has a test of its own",
    "needs a browser",
    "needs a cluster of Ray",
    "needs a container engine",
    "needs a release",
    "needs Kubernetes",
    "needs systemd",
    "needs data from the network",
    "takes minutes",
];

/// First words of lines of commands. Blocks of `text` have no such line.
const COMMANDS: [&str; 15] = [
    "cargo",
    "curl",
    "docker",
    "git",
    "helm",
    "install",
    "kubectl",
    "npm",
    "omr",
    "openssl",
    "pip",
    "podman",
    "python",
    "ray",
    "systemctl",
];

/// Blocks of other languages, and the tests that run them.
const ELSEWHERE: [(&str, &str, &str); 6] = [
    ("docs/web.md", "js", "web/test/recipient.mjs"),
    ("docs/python.md", "python", "python/tests/test_docs.py"),
    ("python/README.md", "python", "python/tests/test_docs.py"),
    (
        "kotlin/README.md",
        "kotlin",
        "kotlin/src/test/kotlin/InboxTest.kt",
    ),
    ("go/README.md", "go", "go/vectors_test.go"),
    ("ts/README.md", "ts", "ts/test/server.mjs"),
];

/// Folders of a machine, which are replaced by folders of the test.
const FOLDERS: [&str; 6] = [
    "/backups",
    "/etc/omr",
    "/usr/local/bin",
    "/usr/local/share/man",
    "/usr/share/bash-completion/completions",
    "/var/lib/omr",
];

/// The server in documents, and the one of the test.
const SERVER: (&str, &str) = ("https://omr.example.org:7600", "http://127.0.0.1:7600");

/// Commands before the blocks: commands that never end are stopped after some seconds, `omr health` waits for a server
/// that starts, and with `TINY` commands with a parameter set use a small one.
const BEFORE: &str = r#"set -euo pipefail
omr() {
    local more=()
    if [ -n "${TINY-}" ]; then
        case " $* " in
        # Keys are of a set.
        *" --params "* | *" pdq query "*" --key "*) ;;
        " keygen "* | " board init "* | " demo "* | " serve "*)
            more=(--params insecure-tiny-hybrid-v4)
            ;;
        " pdq keygen "* | " pdq plan "* | " pdq query "* | " pdq serve "*) more=(--params insecure-tiny-pdq-v1) ;;
        esac
    fi
    case "$1" in
    serve) exec omr "$@" "${more[@]}" ;;
    health)
        # A person does not type before the server listens.
        for _ in {1..100}; do command omr "$@" > health 2>&1 && break || sleep 0.1; done
        cat health
        ;;
    watch | worker)
        # A running server reads its tokens again every other second.
        [ "$1" = watch ] || sleep 4
        timeout --signal=INT 4 omr "$@" || [ $? = 124 ]
        ;;
    data)
        # Of a server that is stopped.
        jobs -p | xargs --no-run-if-empty kill
        wait
        command omr "$@"
        ;;
    *) command omr "$@" "${more[@]}" ;;
    esac
}
"#;

/// Documents whose blocks run one after another in one folder.
struct Run {
    pages: &'static [&'static str],
    /// Whether they run at full size, or with sets for tests.
    full_size: bool,
    /// Commands that run before the blocks.
    before: &'static str,
    /// Texts that must be printed, and how often at least.
    expected: &'static [(&'static str, usize)],
}

/// The documents with commands that run.
const RUNS: [Run; 3] = [README, OPERATING, PDQ];

const README: Run = Run {
    pages: &["README.md", "docs/guide.md"],
    full_size: true,
    // Words that a person has on paper.
    before: "echo legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful \
             legal winner thank year wave sausage worth title > words.txt\n",
    expected: &[("hello Alice", 4), ("row  name", 1)],
};

const OPERATING: Run = Run {
    pages: &["docs/operating.md"],
    full_size: false,
    before: "ln -s /var/lib/omr omr-data\n",
    expected: &[("wallet", 2), ("\"params_id\"", 1)],
};

const PDQ: Run = Run {
    pages: &["docs/pdq.md"],
    full_size: false,
    // A configuration of a server of boards.
    before: "printf 'data = \"server-data\"\\n[access]\\nanonymous_detect = true\\n[pdq]\\nlisten = \"127.0.0.1:7602\"\\n' > omr.toml\n",
    expected: &[
        ("ages: 400 rows", 1),
        ("row  name", 2),
        ("Rosa Tran", 1),
        ("1320  Annabel Gray", 1),
    ],
};

/// A fenced block of a document.
#[derive(Debug)]
struct Block {
    page: String,
    /// The line number of its first fence.
    line: usize,
    language: String,
    text: String,
    /// The reason why it is not run.
    reason: Option<String>,
    /// Arguments of the command that prints it.
    printed_by: Option<String>,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the blocks of a document, in order.
fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    let mut before = "";
    for (number, line) in (1..).zip(text.lines()) {
        match line.trim_start().strip_prefix("```") {
            Some(_) if open => open = false,
            Some(language) => {
                open = true;
                let marked = |mark| {
                    Some(
                        before
                            .strip_prefix(mark)?
                            .trim_end_matches(" -->")
                            .to_owned(),
                    )
                };
                blocks.push(Block {
                    page: page.to_owned(),
                    line: number,
                    language: language.to_owned(),
                    text: String::new(),
                    reason: marked(NOT_RUN),
                    printed_by: marked(PRINTED),
                });
            }
            None if open => {
                let block = blocks.last_mut().unwrap();
                block.text += line;
                block.text += "\n";
            }
            None => {}
        }
        before = line;
    }
    assert!(!open, "{page}: a block without end");
    blocks
}

/// Returns the names of all documents below the folder `name` of the repository.
pub(crate) fn pages(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(name)).unwrap() {
        let entry = entry.unwrap();
        let file = entry.file_name().into_string().unwrap();
        let path = match name {
            "" => file.clone(),
            _ => format!("{name}/{file}"),
        };
        let kind = entry.file_type().unwrap();
        let skipped = file.starts_with('.') || ["target", "node_modules"].contains(&file.as_str());
        if kind.is_dir() && !skipped {
            found.extend(pages(&path));
        } else if kind.is_file() && file.ends_with(".md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns whether a line of a block begins a command.
fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    // The arrow of a drawing is none.
    COMMANDS.contains(&first) && words.next().is_some_and(|second| second != "<-")
}

#[test]
fn every_block_is_tested_or_has_a_reason() {
    let pages = pages("");
    assert!(pages.len() > 25, "{pages:?}");
    let run: BTreeSet<&str> = RUNS.iter().flat_map(|run| run.pages).copied().collect();
    let dir = tempfile::tempdir().unwrap();
    let configuration = dir.path().join("omr.toml");
    let mut faults = Vec::new();
    for block in pages.iter().flat_map(|page| blocks(page)) {
        let Block {
            page,
            line,
            language,
            text,
            reason,
            ..
        } = &block;
        let mut fault = |what: &str| faults.push(format!("{page}:{line}: {what}"));
        if let Some(reason) = reason {
            println!("{page}:{line}: not run: {reason}");
            if !REASONS.contains(&reason.as_str()) {
                fault(&format!("expected one of {REASONS:?}, found {reason:?}"));
            }
            continue;
        }
        let elsewhere = |(of, name, by): &(&str, &str, &str)| {
            of == page && name == language && root().join(by).exists()
        };
        match language.as_str() {
            "text" => {
                if let Some(command) = text.lines().find(|line| is_command(line)) {
                    fault(&format!("expected `sh` for commands, found {command:?}"));
                }
            }
            "sh" if run.contains(page.as_str()) => {}
            "sh" => fault("expected a document of RUNS, or a mark"),
            "toml" => {
                fs::write(&configuration, text).unwrap();
                if let Err(error) = Config::read(&configuration) {
                    fault(&format!("expected a configuration, found {error}"));
                }
            }
            _ if ELSEWHERE.iter().any(elsewhere) => {}
            _ => fault(&format!(
                "expected a language that is tested, found {language:?}"
            )),
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn printed_text_is_what_the_command_prints() {
    let mut faults = Vec::new();
    let mut compared = 0;
    for block in pages("").iter().flat_map(|page| blocks(page)) {
        let Block { page, line, .. } = &block;
        let Some(arguments) = &block.printed_by else {
            continue;
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_omr"));
        let done = command.args(arguments.split_whitespace()).output().unwrap();
        assert!(done.status.success(), "{page}:{line}: {done:?}");
        let printed = String::from_utf8(done.stdout).unwrap();
        compared += 1;
        if block.text == printed {
            continue;
        }
        if std::env::var_os(WRITE).is_some() {
            let path = root().join(page);
            let before = fs::read_to_string(&path).unwrap();
            let fenced =
                |text: &str| format!("{PRINTED}{arguments} -->\n```{}\n{text}```", block.language);
            let after = before.replace(&fenced(&block.text), &fenced(&printed));
            assert_ne!(before, after, "{page}:{line}");
            fs::write(&path, after).unwrap();
        } else {
            faults.push(format!(
                "{page}:{line}: expected what `omr {arguments}` prints ({WRITE}=1 writes it):\n{printed}found:\n{}",
                block.text
            ));
        }
    }
    assert!(compared > 0);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Returns commands without those that build programs that the test has, and with this folder for those of the machine.
fn script(commands: &str, folder: &Path) -> String {
    let mut script = String::new();
    for line in commands.lines() {
        let line = line.replace("cargo run --release -- ", "omr ");
        if !line.starts_with("cargo ") {
            script += &line;
            script += "\n";
        }
    }
    for of_machine in FOLDERS {
        let of_test = format!("{}{of_machine}", folder.display());
        script = script.replace(of_machine, &of_test);
    }
    script.replace(SERVER.0, SERVER.1)
}

/// Runs the blocks of `run` and returns their folder.
fn run(run: &Run) -> tempfile::TempDir {
    let _ports = ports();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let bin = Path::new(env!("CARGO_BIN_EXE_omr")).parent().unwrap();
    // The folders of a clone.
    for name in ["docs", "examples", "packaging"] {
        symlink(root().join(name).canonicalize().unwrap(), folder.join(name)).unwrap();
    }
    fs::create_dir(folder.join("target")).unwrap();
    symlink(bin, folder.join("target/release")).unwrap();
    for of_machine in FOLDERS {
        fs::create_dir_all(folder.join(of_machine.trim_start_matches('/'))).unwrap();
    }
    let blocks = run.pages.iter().flat_map(|page| blocks(page));
    let shell = blocks.filter(|block| block.language == "sh" && block.reason.is_none());
    let mut text = BEFORE.to_owned() + &script(run.before, folder);
    for block in shell {
        // The output of each command is below its line.
        let commands = script(&block.text, folder);
        text += &format!(
            "set -v\n# {}:{}\n{commands}{{ set +v; }} 2>/dev/null\n",
            block.page, block.line
        );
    }
    fs::write(folder.join("script"), text).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let began = Instant::now();
    let told = folder.join("told");
    let told_file = fs::File::create(&told).unwrap();
    let mut shell = Command::new("bash");
    shell
        .args(["--norc", "script"])
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("OMR_HOME")
        .env_remove("OMR_TOKEN")
        .stdin(Stdio::null())
        .stdout(told_file.try_clone().unwrap())
        .stderr(told_file)
        // The process has a group of its own, so that servers end with it.
        .process_group(0);
    if !run.full_size {
        shell.env("TINY", "1");
    }
    let mut shell = shell.spawn().unwrap();
    let status = shell.wait().unwrap();
    let group = format!("-{}", shell.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let told = String::from_utf8_lossy(&fs::read(told).unwrap()).into_owned();
    println!("{told}\n{:.1} s", began.elapsed().as_secs_f64());
    assert!(status.success(), "{status}\n{told}");
    let warned = |line: &&str| line.contains("omr: ") && !line.contains("is a small set for tests");
    assert_eq!(told.lines().find(warned), None, "{told}");
    for (text, times) in run.expected {
        assert!(told.matches(text).count() >= *times, "{text:?}\n{told}");
    }
    dir
}

#[test]
fn readme_and_guide() {
    let dir = run(&README);
    let letters = |folder: &str| fs::read_dir(dir.path().join(folder)).unwrap().count();
    assert_eq!(
        (letters("letters"), letters("letters-of-the-session")),
        (1, 1)
    );
}

#[test]
fn operating() {
    run(&OPERATING);
}

#[test]
fn pdq() {
    run(&PDQ);
}
