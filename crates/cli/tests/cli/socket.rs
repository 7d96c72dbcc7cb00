//! The socket of `omr watch --socket`, as programs use it.

use crate::common::mail::{Server, identity, send};
use crate::common::{PARAMS, Scene};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A watch that is killed when dropped.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn watch(scene: &Scene, home: &str) -> Watch {
    let args = ["watch", "--home", home, "--every", "200ms", "--socket"];
    let mut command = scene.command(&args);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Watch(child.unwrap())
}

/// A program at the socket.
struct Program(BufReader<UnixStream>);

impl Program {
    fn at(scene: &Scene, home: &str) -> Self {
        let path = scene.path(home).join("omr.sock");
        for _ in 0..600 {
            if let Ok(stream) = UnixStream::connect(&path) {
                stream
                    .set_read_timeout(Some(Duration::from_secs(60)))
                    .unwrap();
                return Self(BufReader::new(stream));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no socket");
    }

    fn write(&mut self, line: &str) {
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the whole answer to a request.
    fn asked(&mut self, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
        self.write(&format!("{request}\n"));
        let answer = self.next();
        assert_eq!(
            (&answer["jsonrpc"], &answer["id"]),
            (&"2.0".into(), &method.into())
        );
        answer
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.asked(method, params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Asserts that a request is refused, with a code and a text.
    fn refused(&mut self, method: &str, params: Value, code: i64, text: &str) {
        let answer = self.asked(method, params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(text), "{message}");
    }
}

#[test]
fn programs_read_and_write_letters_beside_a_watch() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    for name in ["ann", "bob"] {
        identity(&scene, &server, name, &[]);
    }
    let (_anns, _bobs) = (watch(&scene, "ann"), watch(&scene, "bob"));
    let (mut ann, mut bob) = (Program::at(&scene, "ann"), Program::at(&scene, "bob"));
    let socket = scene.path("ann").join("omr.sock");
    assert_eq!(
        socket.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(ann.result("list", json!({})), json!([]));
    assert_eq!(ann.result("subscribe", json!({})), Value::Null);
    assert_eq!(bob.result("subscribe", Value::Null), Value::Null);
    let anns = ann.result("address", json!({}));
    assert_eq!(
        anns["text"].as_str().unwrap().as_bytes(),
        scene.read("ann.txt")
    );

    // Bob's program writes to the address, Ann's answers, and both receive what came.
    let letter =
        json!({ "to": anns["text"], "text": "at eight?", "subject": "Dinner", "signed": true });
    let sent = bob.result("send", letter);
    assert_eq!(sent["ranges"].as_array().unwrap().len(), 1);
    let news = ann.next();
    assert_eq!(
        (&news["method"], &news["id"]),
        (&"letter".into(), &Value::Null)
    );
    let number = news["params"]["number"].clone();
    assert_eq!(news["params"]["header"]["subject"], "Dinner");
    let read = ann.result("read", json!({ "number": number }));
    assert_eq!(
        (&read["text"], &read["content"]),
        (&"at eight?".into(), &Value::Null)
    );
    assert_eq!(read["letter"]["read"], false);
    let add = ["contact", "add", "--home", "ann", "bob", "bob.txt"];
    scene.run(&add).quietly();
    ann.result("send", json!({ "reply": number, "content": "/wD/" }));
    let news = bob.next();
    let number_there = news["params"]["number"].clone();
    assert_eq!(
        news["params"]["header"]["thread"],
        read["letter"]["header"]["thread"]
    );
    let read = bob.result("read", json!({ "number": number_there }));
    assert_eq!(
        (&read["text"], &read["content"]),
        (&Value::Null, &"/wD/".into())
    );
    // Others write, too, and a second program has the same letters.
    send(&scene, "carl", "ann", b"hello");
    assert_eq!(ann.next()["params"]["first_line"], "hello");
    let mut second = Program::at(&scene, "ann");
    assert_eq!(
        second.result("list", json!({})).as_array().unwrap().len(),
        2
    );
    assert_eq!(
        second.result("list", json!({ "last": 1 }))[0]["first_line"],
        "hello"
    );
    second.result("mark", json!({ "numbers": [number] }));
    assert_eq!(ann.result("list", json!({})).as_array().unwrap().len(), 1);
    assert_eq!(
        ann.result("list", json!({ "all": true }))
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        second.result("list", json!({ "all": true }))[0]["contact"],
        "bob"
    );
    second.result("mute", json!({ "sender": "bob" }));
    assert_eq!(second.result("muted", json!({})), json!(["bob"]));
    assert_eq!(second.result("unmute", json!({ "sender": "bob" })), true);
    second.result("delete", json!({ "numbers": [number] }));
    second.refused("read", json!({ "number": number }), -32000, "no message");
    drop(second);
    // A request without an id has no answer.
    ann.write("{\"jsonrpc\":\"2.0\",\"method\":\"list\"}\n\n");
    assert_eq!(ann.result("muted", json!({})), json!([]));
}

#[test]
fn requests_that_are_none_are_refused_and_harm_nobody() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    // A program that was killed left its socket.
    drop(std::os::unix::net::UnixListener::bind(scene.path("ann").join("omr.sock")).unwrap());
    let _watch = watch(&scene, "ann");
    let mut ann = Program::at(&scene, "ann");
    for (line, code, text) in [
        ("{\n", -32700, "expected JSON"),
        ("7\n", -32600, "expected a request"),
        ("[]\n", -32600, "expected a request"),
        (
            "{\"jsonrpc\":\"1.0\",\"method\":\"list\"}\n",
            -32600,
            "found \"1.0\"",
        ),
        ("{\"jsonrpc\":\"2.0\"}\n", -32600, "method"),
        ("\u{1}\u{2}\n", -32700, "expected JSON"),
    ] {
        ann.write(line);
        let answer = ann.next();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &code.into())
        );
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(text), "{line}: {message}");
    }
    ann.refused("lists", json!({}), -32601, "expected one of list, read, ");
    ann.refused("list", json!({ "al": true }), -32602, "unknown field `al`");
    ann.refused("list", json!([1]), -32602, "list: ");
    ann.refused("read", json!({}), -32602, "missing field `number`");
    ann.refused("read", json!({ "number": 7 }), -32000, "no message 7");
    ann.refused(
        "send",
        json!({ "text": "x" }),
        -32602,
        "either \"to\" or \"reply\"",
    );
    let to = String::from_utf8(scene.read("ann.txt")).unwrap();
    ann.refused(
        "send",
        json!({ "to": to }),
        -32602,
        "either \"text\" or \"content\"",
    );
    let unknown = json!({ "to": "nobody", "text": "x" });
    ann.refused("send", unknown, -32000, "no contact \"nobody\"");
    ann.refused(
        "send",
        json!({ "reply": 1, "text": "x" }),
        -32000,
        "no message 1",
    );
    ann.refused("mute", json!({ "sender": "?" }), -32000, "?");
    // Somebody who says nothing, or half a request, keeps nobody waiting.
    let silent = Program::at(&scene, "ann");
    let mut half = Program::at(&scene, "ann");
    half.write("{\"jsonrpc\"");
    assert_eq!(ann.result("list", json!({})), json!([]));
    drop((silent, half));
    // The command works beside it; a second watch does not.
    scene.run(&["inbox", "--home", "ann", "--offline"]);
    let again = ["watch", "--home", "ann", "--socket"];
    scene.run(&again).refused(1, &["another program fetches"]);
    assert_eq!(ann.result("list", json!({})), json!([]));
}

#[test]
fn a_socket_ends_with_its_watch() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    // Time enough for a slow machine to ask before the end.
    let args = [
        "watch", "--home", "ann", "--every", "1s", "--count", "8", "--socket",
    ];
    let mut watched = scene.command(&args).stdout(Stdio::null()).spawn().unwrap();
    let mut program = Program::at(&scene, "ann");
    assert_eq!(program.result("list", json!({})), json!([]));
    assert!(watched.wait().unwrap().success());
    let mut line = String::new();
    assert_eq!(program.0.read_line(&mut line).unwrap(), 0);
    assert!(!scene.path("ann").join("omr.sock").exists());
}
