//! Mail with real processes: a server, two senders, three recipients.

use crate::common::mail::{Server, identity, inbox, lines, send};
use crate::common::{PARAMS, Scene, words};
use std::process::Stdio;

#[test]
fn letters_reach_their_recipients_alone() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    for name in ["ann", "bob", "eve"] {
        let shown = identity(&scene, &server, name, &["--bound", "10"]);
        assert_eq!(shown["params"], PARAMS);
        assert_eq!(shown["keys"][0]["registered"], true);
    }
    assert_eq!(send(&scene, "carl", "ann", b"hello Ann"), "0 -\n");
    let long = "a long letter\n".repeat(200);
    assert!(send(&scene, "dora", "bob", long.as_bytes()).contains(".."));
    send(&scene, "carl", "ann", b"\x1b[2Jdanger");
    send(&scene, "dora", "ann", b"second letter");

    let ann = inbox(&scene, "ann");
    let first = ann["messages"].as_array().unwrap();
    assert_eq!(first.len(), 3);
    assert_eq!(first[0]["first_line"], "hello Ann");
    // Text that could steer a terminal is not shown.
    assert_eq!(first[1]["first_line"], serde_json::Value::Null);
    assert_eq!(lines(&inbox(&scene, "bob")), ["a long letter"]);
    assert_eq!(lines(&inbox(&scene, "eve")), Vec::<&str>::new());

    let read = scene.run(&["inbox", "read", "--home", "bob", "1"]);
    assert_eq!(read.quietly(), long);
    assert_eq!(lines(&inbox(&scene, "bob")), Vec::<&str>::new());
    let all = scene.run(&["inbox", "--home", "bob", "--all", "--offline", "--json"]);
    assert_eq!(lines(&all.json()), ["a long letter"]);
    let out = ["inbox", "read", "--home", "ann", "2", "--out", "letters"];
    assert_eq!(scene.run(&out).quietly(), "letters/000002.bin\n");
    assert_eq!(scene.read("letters/000002.bin"), b"\x1b[2Jdanger");
    // A dash is standard output, as in other commands.
    let out = ["inbox", "read", "--home", "ann", "1", "2", "--out", "-"];
    assert_eq!(scene.run(&out).quietly(), "hello Ann\x1b[2Jdanger");
    assert!(!scene.path("-").exists());
    let read = ["inbox", "read", "--home", "ann", "1", "--json"];
    let read = scene.run(&read).json();
    assert_eq!(
        (&read["text"], &read["index"]),
        (&"hello Ann".into(), &0.into())
    );
    assert_eq!(read["path"], serde_json::Value::Null);
    scene
        .run(&["inbox", "read", "--home", "ann", "9"])
        .refused(1, &["no message 9"]);
}

#[test]
fn an_overflow_is_a_persons_matter() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    let options = ["--bound", "2", "--scheme", "sophomr"];
    identity(&scene, &server, "ann", &options);
    for i in 0..3 {
        send(&scene, "carl", "ann", format!("letter {i}").as_bytes());
    }
    let met = scene.run(&["inbox", "--home", "ann"]);
    // Letters that later fetches bring are no failure.
    assert_eq!(met.code, 0, "{met:?}");
    let told = "holds 3 messages for you and one digest carries 2: the rest comes with the next 13 fetches";
    assert!(met.stderr.contains(told), "{met:?}");
    let kept = scene.run(&["inbox", "--home", "ann", "--json"]);
    assert_eq!(kept.json()["kept"][0]["overflowed"], 3);
    // A bound that no engine serves is refused before it is recorded.
    scene
        .run(&["inbox", "--home", "ann", "--raise-bound", "4000"])
        .refused(1, &["a bound of at most 1000", "found 4000"]);
    let raised = scene.run(&["inbox", "--home", "ann", "--raise-bound", "5", "--json"]);
    assert_eq!(raised.code, 0);
    assert!(raised.stderr.contains("the detector learns"), "{raised:?}");
    let now: serde_json::Value = serde_json::from_slice(&raised.stdout).unwrap();
    assert_eq!(lines(&now).len(), 3);
    assert_eq!(now["kept"].as_array().unwrap().len(), 0);
}

#[test]
fn an_overflow_that_nothing_mends_is_an_error() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    let options = ["--bound", "2", "--spares", "0", "--scheme", "sophomr"];
    identity(&scene, &server, "ann", &options);
    for i in 0..3 {
        send(&scene, "carl", "ann", format!("letter {i}").as_bytes());
    }
    let met = scene.run(&["inbox", "--home", "ann"]);
    assert_eq!(met.code, 3, "{met:?}");
    assert!(met.stderr.contains("overflow"), "{met:?}");
    let kept = scene.run(&["inbox", "kept", "--home", "ann"]).quietly();
    assert!(kept.contains("nothing more comes by itself"), "{kept}");
}

#[test]
fn an_empty_list_is_reported() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    for (command, told) in [
        (&["inbox"][..], "no new letters"),
        (&["inbox", "--all", "--offline"], "no letters here"),
        (&["inbox", "kept"], "no range is kept"),
        (&["inbox", "--audit"], "no canaries"),
        (&["contact", "list"], "no contacts"),
    ] {
        let with_home = [command, &["--home", "ann"]].concat();
        let done = scene.run(&with_home);
        assert_eq!((done.code, &done.stdout[..]), (0, &b""[..]), "{done:?}");
        assert!(done.stderr.starts_with(told), "{done:?}");
        assert_eq!(
            scene
                .run(&[&with_home[..], &["--quiet"]].concat())
                .quietly(),
            ""
        );
        let json = [&with_home[..], &["--json"]].concat();
        assert!(!scene.run(&json).quietly().is_empty());
    }
}

#[test]
fn a_letter_longer_than_the_bound_comes_whole_and_nothing_wedges() {
    let scene = Scene::keys();
    let params = "insecure-tiny-hybrid-v4";
    let server = Server::start(&scene, params);
    let few = ["--bound", "4", "--scheme", "instantomr"];
    identity(&scene, &server, "ann", &few);
    send(&scene, "carl", "ann", b"before");
    let long = "a long letter\n".repeat(600);
    send(&scene, "carl", "ann", long.as_bytes());
    send(&scene, "carl", "ann", b"after");
    let met = scene.run(&["inbox", "--home", "ann"]);
    assert_eq!(met.code, 0, "{met:?}");
    let kept = scene.run(&["inbox", "kept", "--home", "ann"]).quietly();
    let hers: u64 = kept
        .strip_prefix("range 0..")
        .and_then(|rest| rest.split_once(':')?.0.parse().ok())
        .unwrap();
    assert!(hers > 15, "{kept}");
    let told = format!("range 0..{hers}: {hers} messages for you, 4 fit; ");
    assert!(kept.starts_with(&told), "{kept}");
    let coming = "the rest comes with the next 13 fetches, with 121 at most";
    assert!(kept.contains(coming), "{kept}");

    // A bound that the engines do not serve is refused at once, and holds up nothing.
    for wrong in [
        &["inbox", "--raise-bound", "4096", "--home", "ann"][..],
        &["inbox", "again", "0..3", "--bound", "4096", "--home", "ann"],
    ] {
        scene
            .run(wrong)
            .refused(1, &["a bound of at most 1000", "found 4096"]);
    }
    scene
        .run(&["inbox", "drop", "0..3", "--home", "ann"])
        .refused(1, &["no range is kept within 0..3"]);
    let mut fetches = 1;
    let mut now = inbox(&scene, "ann");
    while now["kept"].as_array().unwrap().len() == 1 {
        assert!(fetches < 14, "{now}");
        now = inbox(&scene, "ann");
        fetches += 1;
    }
    let mut found = lines(&now);
    found.sort_unstable();
    assert_eq!(found, ["a long letter", "after", "before"]);
    assert_eq!(now["incomplete"].as_array().unwrap().len(), 0);
    let numbers: Vec<String> = now["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["first_line"] == "a long letter")
        .map(|message| message["number"].to_string())
        .collect();
    let read = scene.run(&["inbox", "read", "--home", "ann", &numbers[0]]);
    assert_eq!(read.quietly(), long);

    let mut file = scene.read("ann/inbox.redb");
    let end = file.len() / 2;
    file[4096..end].fill(0);
    scene.write("ann/inbox.redb", &file);
    scene
        .run(&["inbox", "--home", "ann", "--offline"])
        .refused(1, &["the inbox is damaged", "omr inbox rebuild"]);
    let anew = scene.run(&["inbox", "rebuild", "--home", "ann"]);
    assert_eq!(anew.code, 0, "{anew:?}");
    assert!(
        anew.stderr.contains("13 fetches"),
        "the range overflows once more: {anew:?}"
    );
    assert_eq!(scene.read("ann/inbox.redb.damaged-1").len(), file.len());
    // A person may request smaller ranges, which contain fewer messages than the bound.
    let again = [
        "inbox", "again", "--home", "ann", "0..", "--by", "4", "--json",
    ];
    let again = scene.run(&again);
    assert!(again.stderr.contains("the detector learns"), "{again:?}");
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["kept"].as_array().unwrap().len(), 0, "{again}");
    assert_eq!(again["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn canaries_return_and_a_watch_keeps_its_count() {
    let scene = Scene::keys();
    let server = Server::start(&scene, "insecure-tiny-hybrid-v4");
    identity(&scene, &server, "ann", &["--scheme", "instantomr"]);
    let fetched = scene.run(&["inbox", "--home", "ann", "--canary", "--json"]);
    assert_eq!(lines(&fetched.json()), Vec::<&str>::new());
    let audit = scene.run(&["inbox", "--home", "ann", "--audit", "--json"]);
    let audit = audit.json();
    assert_eq!(
        (&audit[0]["state"], &audit[0]["index"]),
        (&"returned".into(), &0.into())
    );

    for session in [&[][..], &["--session"]] {
        send(&scene, "carl", "ann", b"while you watch");
        let watch = [
            "watch", "--home", "ann", "--every", "500ms", "--count", "3", "--json",
        ];
        let seen = scene.run(&[&watch[..], session].concat()).quietly();
        assert_eq!(seen.lines().count(), 1, "{seen}");
        assert!(seen.contains("while you watch"));
    }
}

#[test]
fn keys_stay_private_and_contacts_have_names() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    scene
        .run(&["id", "new", "--home", "ann", "--params", PARAMS])
        .refused(1, &["an identity is here already"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| scene.path(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("ann"), 0o700);
        for entry in scene.path("ann").read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert_eq!(mode(&format!("ann/{name}")), 0o600, "{name}");
        }
    }
    let add = ["contact", "add", "--home", "bob", "ann", "ann.txt"];
    scene.run(&add).quietly();
    scene.run(&add).refused(1, &["exists"]);
    let list = scene.run(&["contact", "list", "--home", "bob"]).quietly();
    assert!(
        list.starts_with("ann ") && list.contains(&server.url),
        "{list}"
    );
    let sent = scene.pipe(&["send", "--home", "bob", "--to", "ann", "-"], b"by name");
    assert_eq!(sent.quietly(), "0 -\n");
    assert_eq!(lines(&inbox(&scene, "ann")), ["by name"]);
    let text = String::from_utf8(scene.read("ann.txt")).unwrap();
    scene.write("bad.txt", text.replacen("A", "B", 8).as_bytes());
    let bad = ["send", "--home", "bob", "--to", "bad.txt", "-"];
    assert_eq!(scene.pipe(&bad, b"lost").code, 1);
    scene
        .run(&["contact", "remove", "--home", "bob", "ann"])
        .quietly();
    scene
        .run(&["send", "--home", "bob", "--to", "ann", "bad.txt"])
        .refused(1, &["found a folder", "ann/clue.key"]);
    scene.run(&["id", "revoke", "--home", "ann"]).quietly();
    // The letters in the inbox are listed all the same.
    let refused = scene.run(&["inbox", "--home", "ann"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("omr id register"), "{refused:?}");
    scene.run(&["id", "register", "--home", "ann"]).quietly();
    inbox(&scene, "ann");
}

#[test]
fn keys_of_the_quick_start_become_the_identity() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    let keys = ["secret.key", "clue.key", "detection.key"].map(|name| format!("alice/{name}"));
    let before = keys.clone().map(|name| scene.read(&name));
    // The address was published before there was an identity.
    let early = [
        "send",
        "--server",
        &server.url,
        "--to",
        "alice/clue.key",
        "-",
    ];
    scene.pipe(&early, b"to the first address").quietly();
    identity(&scene, &server, "alice", &[]);
    assert_eq!(keys.clone().map(|name| scene.read(&name)), before);
    assert_eq!(lines(&inbox(&scene, "alice")), ["to the first address"]);
    // Files keep their names, after their numbers.
    scene.write("photo.jpg", b"\xff\xd8");
    let named = ["send", "--home", "carl", "--to", "alice.txt", "photo.jpg"];
    scene.run(&named).quietly();
    scene.run(&[&named[..], &["--no-names"]].concat()).quietly();
    let listed = scene.run(&["inbox", "--home", "alice"]).quietly();
    let listed: Vec<&str> = listed.lines().collect();
    assert!(
        listed[0].starts_with(" NUMBER     INDEX  FETCHED"),
        "{listed:?}"
    );
    assert!(listed[2].ends_with("  photo.jpg"), "{listed:?}");
    assert!(listed[3].ends_with("  (no text)"), "{listed:?}");
    let read = [
        "inbox", "read", "--home", "alice", "2", "3", "--out", "letters",
    ];
    let paths = "letters/000002-photo.jpg\nletters/000003.bin\n";
    assert_eq!(scene.run(&read).quietly(), paths);
    assert_eq!(scene.read("letters/000002-photo.jpg"), b"\xff\xd8");

    let again = ["id", "new", "--home", "alice", "--server", &server.url];
    scene.run(&again).refused(1, &["omr id register"]);

    // Keys of another set are left alone, and so are incomplete keys.
    let other = words("keygen --out bob --params insecure-tiny-hybrid-v4");
    scene.run(&other).quietly();
    let before = scene.read("bob/secret.key");
    let new = ["id", "new", "--home", "bob", "--server", &server.url];
    scene.run(&new).refused(
        1,
        &[
            "bob/secret.key",
            "insecure-tiny-hybrid-v4",
            "another --home",
        ],
    );
    assert_eq!(scene.read("bob/secret.key"), before);
    assert!(!scene.path("bob/identity").exists());
}

#[test]
fn options_that_a_server_does_not_serve_are_refused_at_once() {
    let scene = Scene::empty();
    let server = Server::start(&scene, "insecure-tiny-hybrid-v4");
    let new = ["id", "new", "--home", "ann", "--server", &server.url];
    let refused = |more: &[&str], texts: &[&str]| {
        scene.run(&[&new[..], more].concat()).refused(1, texts);
        assert!(!scene.path("ann").exists());
    };
    refused(
        &["--bound", "4096", "--scheme", "instantomr"],
        &["bound", "4096"],
    );
    refused(&["--bound", "4096"], &["bound", "4096"]);
    refused(
        &["--bound", "2000", "--scheme", "sophomr"],
        &["at most 1000, found 2000"],
    );
    refused(
        &["--sealing", "x-wing"],
        &["sealed with x-wing, found hpke-x25519"],
    );
    refused(
        &["--sealing", "none"],
        &["sealed with none, found hpke-x25519"],
    );
    let alone = ["id", "new", "--home", "ann", "--token", "t"];
    scene.run(&alone).refused(1, &["--server"]);
}

#[test]
fn a_token_is_sent_or_reported() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    let unknown = &["does not know this token"];
    let to_own = ["send", "--home", "ann", "--to", "ann.txt", "-"];
    let to_other = ["send", "--home", "carl", "--to", "ann.txt", "-"];
    let token = ["--token", "wrong"];
    // A token on the command line is sent to every server.
    for args in [&to_own, &to_other] {
        scene
            .pipe(&[&args[..], &token].concat(), b"x")
            .refused(1, unknown);
    }
    let register = ["id", "register", "--home", "ann"];
    scene
        .run(&[&register[..], &token].concat())
        .refused(1, unknown);
    let register = [&register[..], &["--server", &server.url]].concat();
    scene.run(&register).quietly();

    // A token of the environment is sent only to the identity's server, or to one that is named.
    let with = |args: &[&str]| {
        let mut command = scene.command(args);
        command.env("OMR_TOKEN", "wrong").stdin(Stdio::null());
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let named = [&to_other[..], &["--server", &server.url]].concat();
    for args in [&to_own[..], &named] {
        let (code, told) = with(args);
        assert!(code == Some(1) && told.contains(unknown[0]), "{told}");
    }
    let (code, told) = with(&to_other);
    assert!(
        code == Some(0) && told.contains("OMR_TOKEN was not shown"),
        "{told}"
    );
}

#[test]
fn a_long_letter_is_refused_before_it_is_posted() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    let options = ["--bound", "4", "--scheme", "sophomr"];
    let shown = identity(&scene, &server, "ann", &options);
    let most = shown["letter_parts"].as_u64().unwrap();
    scene.write("photo.jpg", &vec![7; 1 << 20]);
    let send = ["send", "--home", "carl", "--to", "ann.txt", "photo.jpg"];
    let of = format!("letters of at most {most}");
    scene
        .run(&send)
        .refused(1, &["letter 1", &of, "--large", "nothing was posted"]);
    let large = scene.run(&[&send[..], &["--large"]].concat());
    assert_eq!(large.code, 0, "{large:?}");
    assert!(large.stderr.contains("many fetches"), "{large:?}");
    // A bare key states no limit.
    let bare = [
        "send",
        "--server",
        &server.url,
        "--to",
        "alice/clue.key",
        "photo.jpg",
    ];
    let bare = scene.run(&bare);
    assert!(
        bare.code == 0 && bare.stderr.contains("does not say"),
        "{bare:?}"
    );
}

/// A server goes back to an older backup: later letters reach recipients who had read further, once.
#[test]
fn a_server_that_went_back_loses_no_letter() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    let at = server.url.strip_prefix("http://").unwrap().to_owned();
    identity(&scene, &server, "ann", &["--bound", "10"]);
    for letter in ["kept 0", "kept 1"] {
        send(&scene, "carl", "ann", letter.as_bytes());
    }
    assert_eq!(lines(&inbox(&scene, "ann")).len(), 2);
    drop(server);
    let backup = ["data", "backup", "--data", "data", "--to", "backup"];
    assert_eq!(scene.run(&backup).code, 0);
    let server = Server::start_at(&scene, PARAMS, &at);
    for letter in ["lost 2", "lost 3", "lost 4"] {
        send(&scene, "carl", "ann", letter.as_bytes());
    }
    assert_eq!(lines(&inbox(&scene, "ann")).len(), 5);
    let history = || scene.run(&["inbox", "history", "--home", "ann"]).quietly();
    let last = |text: String| text.lines().last().unwrap().to_owned();
    let before = last(history());
    assert!(before.starts_with("5:"), "{before}");
    drop(server);

    std::fs::rename(scene.path("data"), scene.path("abandoned")).unwrap();
    let restore = ["data", "restore", "--data", "data", "--from", "backup"];
    assert_eq!(scene.run(&restore).code, 0);
    let _server = Server::start_at(&scene, PARAMS, &at);
    for letter in ["new 2", "new 3", "new 4", "new 5"] {
        send(&scene, "carl", "ann", letter.as_bytes());
    }
    let fetched = scene.run(&["inbox", "--home", "ann", "--json"]);
    assert_eq!(fetched.code, 0, "{fetched:?}");
    let warning = "another history than the one that was fetched before (5 messages had been seen, it has 6): \
         messages from 2 on are fetched again";
    assert!(fetched.stderr.contains(warning), "{fetched:?}");
    let listed: serde_json::Value = serde_json::from_slice(&fetched.stdout).unwrap();
    let mut found = lines(&listed);
    found.sort_unstable();
    let expected = [
        "kept 0", "kept 1", "lost 2", "lost 3", "lost 4", "new 2", "new 3", "new 4", "new 5",
    ];
    assert_eq!(found, expected);
    // It is reported once, and no letter comes again.
    let again = scene.run(&["inbox", "--home", "ann", "--json"]);
    assert_eq!(lines(&again.json()).len(), expected.len());

    // The state of another inbox is compared with this one.
    let compare = |line: &str| {
        let args = ["inbox", "history", "--home", "ann", "--compare", line];
        scene.run(&args)
    };
    let now = last(history());
    assert!(now.starts_with("6:"), "{now}");
    assert_eq!(compare(&now).code, 0);
    compare(&before).refused(1, &["running hash", "at length 5"]);
    let wrong = compare("9:00");
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("a colon and 64 hexadecimal digits"));
    let far = format!("9:{}", "00".repeat(32));
    compare(&far).refused(1, &["a length from 0 to 6", "found 9"]);
}

#[test]
fn nothing_goes_beside_a_proxy() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    let fetch = ["inbox", "--home", "ann", "--timeout", "1"];
    for proxy in ["127.0.0.1:9050", "socks5://127.0.0.1:9050", "socks5h://x"] {
        let given = [&fetch[..], &["--proxy", proxy]].concat();
        let refused = scene.run(&given);
        assert_eq!(refused.code, 1, "{refused:?}");
        let expected = "expected a proxy such as socks5h://127.0.0.1:9050";
        assert!(refused.stderr.contains(expected), "{refused:?}");
        assert!(refused.stderr.contains(proxy), "{refused:?}");
    }
    // Nobody listens there.
    let gone = ["--proxy", "socks5h://127.0.0.1:1"];
    let refused = scene.run(&[&fetch[..], &gone].concat());
    assert!(
        refused.code == 1 && refused.stderr.contains(&server.url),
        "{refused:?}"
    );
    let mut command = scene.command(&fetch);
    let command = command.env("OMR_PROXY", "socks5h://127.0.0.1:1");
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    assert_eq!(scene.run(&fetch).code, 0);
}
