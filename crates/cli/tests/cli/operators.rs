//! A ledger that two operators serve: its blocks fed to both, letters of either, a branch that withdraws one, and the
//! choice of an operator.

use crate::common::mail::{Server, identity, lines};
use crate::common::{PARAMS, Scene};
use serde_json::{Value, json};

const LEDGER: &str = "a ledger for tests 5e1f";

/// A server of the ledger's board, with the token of a program that feeds it.
struct Operator {
    server: Server,
    feeder: String,
}

impl Operator {
    fn start(scene: &Scene, name: &str) -> Self {
        let config = format!(
            "listen = \"127.0.0.1:0\"\ndata = \"{name}\"\n[board]\nparams = \"{PARAMS}\"\nledger = \"{LEDGER}\"\n\
             fork_blocks = 5\n[access]\nanonymous_post = true\nanonymous_detect = true\n"
        );
        std::fs::create_dir_all(scene.path(name)).unwrap();
        scene.write(&format!("{name}.toml"), config.as_bytes());
        let tokens = format!("{name}/tokens.toml");
        let args = [
            "token", "add", "--file", &tokens, "--name", "node", "--may", "feed",
        ];
        let feeder = String::from_utf8(scene.run(&args).stdout).unwrap();
        Self {
            server: Server::with(scene, &["--config", &format!("{name}.toml")]),
            feeder: feeder.trim().to_owned(),
        }
    }

    /// Feeds blocks, one a line. Returns the answers.
    fn feed(&self, scene: &Scene, blocks: &[Value]) -> Vec<Value> {
        let lines: String = blocks.iter().map(|block| format!("{block}\n")).collect();
        let args = [
            "feed",
            "--server",
            &self.server.url,
            "--token",
            &self.feeder,
        ];
        let done = scene.pipe(&[&args[..], &["--json", "-"]].concat(), lines.as_bytes());
        let answers = done.quietly();
        answers
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Returns a block whose hash is `branch` and its height, with these messages.
fn block(parent: &Value, height: u64, branch: u8, messages: Vec<Value>) -> Value {
    let parent = match &parent["hash"] {
        Value::String(hash) => hash.clone(),
        _ => "00".repeat(32),
    };
    json!({
        "height": height,
        "hash": format!("{branch:02x}{height:062x}"),
        "parent": parent,
        "messages": messages,
    })
}

/// Returns the messages of a letter to ann, as entries of a block.
fn letter(scene: &Scene, operator: &Operator, text: &str) -> Vec<Value> {
    let args = [
        "send",
        "--home",
        "sender",
        "--to",
        "ann.txt",
        "--unposted",
        "-",
    ];
    let server = ["--server", &operator.server.url];
    let printed = scene.pipe(&[&args[..], &server].concat(), text.as_bytes());
    let entry = |line: &str| {
        let mut message: Value = serde_json::from_str(line).unwrap();
        message["id"] = "07".repeat(32).into();
        message
    };
    printed.quietly().lines().map(entry).collect()
}

/// Fetches ann's letters. Returns the report, and the warnings.
fn fetch(scene: &Scene) -> (Value, String) {
    let args = [
        "--timeout",
        "2",
        "inbox",
        "--home",
        "ann",
        "--all",
        "--json",
    ];
    let done = scene.run(&args);
    assert_eq!(done.code, 0, "{done:?}");
    (serde_json::from_slice(&done.stdout).unwrap(), done.stderr)
}

/// Returns the number of letters whose messages the board no longer has.
fn withdrawn(report: &Value) -> usize {
    let letters = report["messages"].as_array().unwrap().iter();
    letters.filter(|letter| letter["withdrawn"] == true).count()
}

#[test]
fn letters_of_a_ledger_arrive_through_either_operator() {
    let scene = Scene::empty();
    let (one, two) = (
        Operator::start(&scene, "one"),
        Operator::start(&scene, "two"),
    );
    identity(&scene, &one.server, "ann", &[]);
    let also = [
        "id",
        "register",
        "--home",
        "ann",
        "--also",
        "--server",
        &two.server.url,
    ];
    assert_eq!(scene.run(&also).code, 0);
    // Letters come with blocks alone.
    let post = [
        "send",
        "--home",
        "sender",
        "--to",
        "ann.txt",
        "--server",
        &one.server.url,
        "-",
    ];
    scene
        .pipe(&post, b"hello")
        .refused(1, &["messages come with its blocks"]);

    // The address and the sender's message hold at both: the board has one id.
    let first = block(&Value::Null, 0, 1, letter(&scene, &two, "the first"));
    let second = block(&first, 1, 1, letter(&scene, &one, "the second"));
    for operator in [&one, &two] {
        let answers = operator.feed(&scene, &[first.clone(), second.clone()]);
        let appended: u64 = answers
            .iter()
            .map(|answer| answer["appended"].as_u64().unwrap())
            .sum();
        assert_eq!(appended, 2, "{answers:?}");
    }
    let (report, warnings) = fetch(&scene);
    assert_eq!(lines(&report), ["the first", "the second"]);
    assert_eq!(warnings, "");

    // Another branch: the second letter comes again in a later block, behind a third one.
    let moved = second["messages"].as_array().unwrap().clone();
    let other = block(&first, 1, 2, letter(&scene, &two, "the third"));
    let after = block(&other, 2, 2, moved);
    two.feed(&scene, &[other.clone(), after.clone()]);
    // The operator that still has the old branch agrees with what was seen, and is used.
    let (report, warnings) = fetch(&scene);
    assert_eq!(lines(&report).len(), 2);
    assert!(warnings.contains(&two.server.url), "{warnings}");
    one.feed(&scene, &[other, after.clone()]);
    let (report, _) = fetch(&scene);
    let mut texts = lines(&report);
    texts.sort_unstable();
    assert_eq!(texts, ["the first", "the second", "the third"]);
    assert_eq!(withdrawn(&report), 0);

    // An operator that does not follow the ledger, and one that is gone, do not hold a fetch up.
    let mut blocks = vec![after];
    for height in 3..8 {
        let messages = match height {
            3 => letter(&scene, &two, "the fourth"),
            _ => Vec::new(),
        };
        blocks.push(block(&blocks[blocks.len() - 1], height, 2, messages));
    }
    two.feed(&scene, &blocks);
    let (report, warnings) = fetch(&scene);
    let behind = "5 blocks behind another operator";
    assert!(warnings.contains(behind), "{warnings}");
    assert_eq!(lines(&report).len(), 4);
    // Keys that are made again begin with a block.
    let stem = "legal winner thank year wave sausage worth";
    let words = format!("{stem} useful {stem} useful {stem} title");
    scene.write("words.txt", words.as_bytes());
    let args = "id new --home again --from-words words.txt --json --birthday-height";
    let again = |height: &str| {
        let args: Vec<&str> = args
            .split(' ')
            .chain([height, "--server", &two.server.url])
            .collect();
        scene.run(&args)
    };
    again("8").refused(1, &["height of the board's last block, 7, found 8"]);
    assert_eq!(again("3").json()["birthday"], 3);
    drop(one);
    let (_, warnings) = fetch(&scene);
    assert!(warnings.contains("no answer"), "{warnings}");

    // Branches that begin too deep are refused; another one withdraws a letter.
    let deep = block(&first, 1, 3, Vec::new());
    let feed = [
        "feed",
        "--server",
        &two.server.url,
        "--token",
        &two.feeder,
        "-",
    ];
    let refused = scene.pipe(&feed, format!("{deep}\n").as_bytes());
    refused.refused(1, &["earlier blocks are final"]);
    two.feed(
        &scene,
        &[block(&blocks[2], 5, 3, letter(&scene, &two, "the fifth"))],
    );
    let (report, _) = fetch(&scene);
    assert_eq!((lines(&report).len(), withdrawn(&report)), (5, 0));
    two.feed(&scene, &[block(&blocks[2], 5, 4, Vec::new())]);
    let (report, _) = fetch(&scene);
    assert_eq!((lines(&report).len(), withdrawn(&report)), (5, 1));
}

#[test]
fn an_operator_of_another_ledger_is_refused() {
    let scene = Scene::empty();
    let one = Operator::start(&scene, "one");
    let args = [
        "--anonymous",
        "--listen",
        "127.0.0.1:0",
        "--data",
        "other",
        "--params",
        PARAMS,
    ];
    let other = Server::with(&scene, &args);
    identity(&scene, &one.server, "ann", &[]);
    let also = [
        "id", "register", "--home", "ann", "--also", "--server", &other.url,
    ];
    scene.run(&also).refused(1, &["board"]);
    let config = String::from_utf8(scene.read("one.toml")).unwrap();
    drop(one);
    scene.write(
        "one.toml",
        config.replace(LEDGER, "another ledger").as_bytes(),
    );
    let serve = scene.run(&["serve", "--config", "one.toml"]);
    serve.refused(1, &["expected the board", "board.ledger"]);
}
