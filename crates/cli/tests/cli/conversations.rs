//! Letters that name their sender, with real processes: answers, conversations, muted senders, deleted letters.

use crate::common::mail::{Server, identity, inbox};
use crate::common::{PARAMS, Scene};

#[test]
fn two_people_write_to_each_other() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    for name in ["ann", "bob", "eve"] {
        identity(&scene, &server, name, &["--bound", "40"]);
    }
    let contact = ["contact", "add", "bob", "bob.txt", "--home", "ann"];
    scene.run(&contact);
    let signed = |from: &str, more: &[&str], text: &[u8]| {
        let args = [&["send", "--home", from, "--signed"], more, &["-"]].concat();
        scene.pipe(&args, text).quietly();
    };
    signed(
        "bob",
        &["--to", "ann.txt", "--subject", "Dinner"],
        b"At eight?",
    );
    signed(
        "eve",
        &["--to", "ann.txt", "--media-type", "text/plain"],
        b"Spam",
    );
    let args = [
        "send",
        "--home",
        "eve",
        "--to",
        "ann.txt",
        "--subject",
        "A tip",
        "-",
    ];
    scene.pipe(&args, b"from nobody").quietly();

    let found = inbox(&scene, "ann");
    let all = found["messages"].as_array().unwrap();
    let header = |at: usize, name: &str| &all[at]["header"][name];
    assert_eq!(all[0]["contact"], "bob");
    assert_eq!(header(0, "subject"), "Dinner");
    assert_eq!(header(0, "sender")["genuine"], true);
    assert_eq!(header(0, "sender")["server"], server.url);
    assert_eq!(header(0, "thread").as_str().unwrap().len(), 32);
    assert!(header(0, "time").as_u64().is_some());
    assert_eq!(all[1]["contact"], serde_json::Value::Null);
    assert_eq!(header(1, "media_type"), "text/plain");
    // A letter without a signature has no time and no conversation, which would tell of its sender.
    for absent in ["sender", "thread", "time"] {
        assert_eq!(header(2, absent), &serde_json::Value::Null);
    }
    assert_eq!(header(2, "subject"), "A tip");
    let fingerprint = header(1, "sender")["fingerprint"].as_str().unwrap();
    let shown = scene.run(&["id", "show", "--home", "eve", "--json"]).json();
    let eves = shown["fingerprint"].as_str().unwrap();
    assert_eq!(eves.replace(' ', ""), fingerprint);
    let short = shown["short"].as_str().unwrap();
    let (code, _) = short.split_once('@').unwrap();

    // The list has a column of senders, the letter is printed as it is, and the rest is on standard error.
    let list = scene
        .run(&["inbox", "--home", "ann", "--offline"])
        .quietly();
    let from = list.find("FROM").unwrap();
    let rows: Vec<&str> = list.lines().skip(1).map(|line| &line[from..]).collect();
    assert!(rows[0].starts_with("bob  "), "{list}");
    assert!(rows[1].starts_with(code), "{list}");
    assert!(rows[2].starts_with("(unsigned)  "), "{list}");
    for (number, told) in [
        ("1", "letter 1 from bob; written ".to_owned()),
        ("2", format!("letter 2 from an unknown sender, {short}")),
        ("3", "letter 3 names no sender; subject: A tip".to_owned()),
    ] {
        let read = scene.run(&["inbox", "read", "--home", "ann", number]);
        assert_eq!(read.code, 0);
        assert!(read.stderr.contains(&told), "{read:?}");
    }

    // Bob gets the answer in his conversation, although he has no contact.
    let reply = ["send", "--home", "ann", "--reply", "1", "-"];
    scene.pipe(&reply, b"Yes").quietly();
    let answer = inbox(&scene, "bob");
    let answer = &answer["messages"][0]["header"];
    assert_eq!(answer["thread"], *header(0, "thread"));
    assert_eq!(answer["subject"], "Dinner");
    // He finds her address by its fingerprint once she has published it.
    let reply = ["send", "--home", "bob", "--reply", "1", "-"];
    let reply = |text: &[u8]| scene.pipe(&reply, text);
    reply(b"Good").refused(1, &["the server has no address", "omr id publish"]);
    scene.run(&["id", "publish", "--home", "ann"]).quietly();
    let sent = reply(b"Good");
    assert_eq!(sent.code, 0, "{sent:?}");

    // The conversation is listed whole, since one of its letters is unread.
    let conversations = ["inbox", "--home", "ann", "--conversations"];
    let list = scene.run(&conversations).quietly();
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 4, "{list}");
    assert_eq!(lines[1], "Conversation: Dinner");
    assert!(
        lines[2].contains("At eight?") && lines[3].contains("Good"),
        "{list}"
    );

    // Nobody can be answered who did not sign.
    let refused = ["send", "--home", "ann", "--reply", "3", "answer"];
    scene.write("answer", b"x");
    scene.run(&refused).refused(1, &["names nobody", "--to"]);
    let refused = ["send", "--home", "ann", "--reply", "9", "answer"];
    scene.run(&refused).refused(1, &["no message 9"]);
    let both = [
        "send", "--home", "ann", "--reply", "1", "--to", "bob", "answer",
    ];
    for wrong in [&both[..], &["send", "--home", "ann", "answer"]] {
        let done = scene.run(wrong);
        assert!(done.code == 2 && done.stderr.contains("--to"), "{done:?}");
    }
    let long = [
        "send",
        "--home",
        "ann",
        "--to",
        "bob",
        "--subject",
        "a\nb",
        "answer",
    ];
    scene
        .run(&long)
        .refused(1, &["visible characters in the subject"]);

    // A muted sender, by a short address and by a name.
    scene
        .run(&["inbox", "mute", "--home", "ann", short])
        .quietly();
    scene
        .run(&["inbox", "mute", "--home", "ann", "bob"])
        .quietly();
    let muted = scene.run(&["inbox", "mute", "--home", "ann"]).quietly();
    assert!(muted.contains("bob\n") && muted.contains(code), "{muted}");
    scene
        .run(&["inbox", "unmute", "--home", "ann", "bob"])
        .quietly();
    signed("eve", &["--to", "ann.txt"], b"More spam");
    signed("bob", &["--to", "ann.txt"], b"Heard");
    let unread = inbox(&scene, "ann");
    let unread = unread["messages"].as_array().unwrap();
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0]["first_line"], "Heard");

    // Deleted letters stay away.
    scene
        .run(&["inbox", "delete", "--home", "ann", "2", "3"])
        .quietly();
    let twice = ["inbox", "delete", "--home", "ann", "2"];
    scene.run(&twice).refused(1, &["no message 2"]);
    inbox(&scene, "ann");
    let all = ["inbox", "--home", "ann", "--all", "--offline", "--json"];
    let left = scene.run(&all).json();
    let numbers = left["messages"].as_array().unwrap().iter();
    let numbers: Vec<u64> = numbers.map(|one| one["number"].as_u64().unwrap()).collect();
    assert!(
        !numbers.contains(&2) && !numbers.contains(&3),
        "{numbers:?}"
    );
    assert_eq!(numbers.len(), 4);
}

#[test]
fn a_locked_identity_signs_with_its_passphrase() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    scene.write("words", b"correct horse battery\n");
    let locked = ["--passphrase", "--passphrase-file", "words"];
    identity(&scene, &server, "bob", &locked);
    scene.write("letter", b"hello");
    let send = ["send", "--home", "bob", "--to", "ann.txt", "letter"];
    scene.run(&send).quietly();
    let signed = [&send[..], &["--signed", "--passphrase-file", "words"]].concat();
    scene.run(&signed).quietly();
    let found = inbox(&scene, "ann");
    assert_eq!(found["messages"][0]["header"], serde_json::Value::Null);
    assert_eq!(found["messages"][1]["header"]["sender"]["genuine"], true);
}
