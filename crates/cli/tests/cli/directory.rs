//! Short addresses with real processes.

use crate::common::mail::Server;
use crate::common::{PARAMS, Scene};

#[test]
fn a_letter_goes_to_a_short_address() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    for name in ["ann", "bob"] {
        scene
            .run(&["id", "new", "--home", name, "--server", &server.url])
            .quietly();
    }
    let short = scene.run(&["id", "publish", "--home", "ann"]).quietly();
    let short = short.trim();
    assert!(short.ends_with(&format!("@{}", server.url)), "{short}");
    let shown = scene.run(&["id", "show", "--home", "ann", "--json"]).json();
    assert_eq!(shown["short"], short);
    let (code, _) = short.split_once('@').unwrap();
    assert_eq!(code.len(), 36);

    // A sender without a home, then a sender who uses the same server: its URL is not needed.
    let send = |home: &str, to: &str, letter: &[u8]| {
        scene.pipe(&["send", "--home", home, "--to", to, "-"], letter)
    };
    send("carl", short, b"by the short address").quietly();
    send("bob", code, b"by the code alone").quietly();
    let inbox = scene.run(&["inbox", "--home", "ann", "--json"]).json();
    let lines: Vec<&str> = inbox["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["first_line"].as_str().unwrap())
        .collect();
    assert_eq!(lines, ["by the short address", "by the code alone"]);

    // An address that was not published, a mistyped one, and no server to resolve one.
    let other = scene.run(&["id", "show", "--home", "bob", "--json"]).json();
    let other = other["short"].as_str().unwrap().to_owned();
    send("carl", &other, b"x").refused(1, &["the server has no address", "omr id publish"]);
    let slip = format!("{}q", &code[..35]);
    if slip != code {
        send("carl", &slip, b"x").refused(1, &["expected a short address", "copied whole"]);
    }
    let other = other.split_once('@').unwrap().0;
    send("dora", other, b"x").refused(1, &["no server is known", "--server"]);

    // A contact stores the whole address: no server is called again, and it may be gone.
    let add = ["contact", "add", "ann", short, "--home", "dora"];
    scene.run(&add).quietly();
    drop(server);
    let listed = scene.run(&["contact", "list", "--home", "dora", "--json"]);
    let fingerprint = scene.run(&["id", "show", "--home", "ann", "--json"]).json();
    assert_eq!(listed.json()[0]["fingerprint"], fingerprint["fingerprint"]);
    for home in ["carl", "dora"] {
        scene
            .run(&["contact", "add", "again", short, "--home", home])
            .quietly();
    }
}

#[test]
fn somebody_is_named_in_every_way_wherever_one_is_asked_for() {
    let scene = Scene::new("hpke-x25519", 612);
    let server = Server::start(&scene, PARAMS);
    let new = ["id", "new", "--home", "ann", "--server", &server.url];
    scene.run(&new).quietly();
    let short = scene.run(&["id", "publish", "--home", "ann"]).quietly();
    let shown = scene.run(&["address", "--home", "ann", "--json"]).json();
    assert_eq!(shown["short"], short.trim());
    let text = shown["text"].as_str().unwrap();
    scene.write("address", text.as_bytes());
    scene.write("marked", format!("\u{feff}{text}").as_bytes());
    scene.write("windows", text.replace('\n', "\r\n").as_bytes());
    scene.write("short", short.as_bytes());
    scene.write(
        "mail",
        format!("\u{feff}Write to me: <{}>\r\n", short.trim()).as_bytes(),
    );
    let key = scene.read("ann/clue.key");
    let add = [
        "contact", "add", "ann", "address", "--home", "carl", "--json",
    ];
    let added = scene.run(&add).json();
    assert_eq!(added["fingerprint"], shown["fingerprint"]);

    scene.write("letter.txt", b"hi\n");
    let named = [
        "address",
        "marked",
        "windows",
        "short",
        "mail",
        "ann",
        short.trim(),
        text,
    ];
    for (i, to) in named.into_iter().enumerate() {
        let option = format!("--to={to}");
        let send = ["send", "--home", "carl", &option, "letter.txt"];
        assert_eq!(
            scene.run(&send).quietly(),
            format!("{i} letter.txt\n"),
            "{to}"
        );
        let name = format!("ann-{i}");
        let add = [
            "contact", "add", "--home", "carl", "--json", "--", &name, to,
        ];
        assert_eq!(
            scene.run(&add).json()["fingerprint"],
            shown["fingerprint"],
            "{to}"
        );
    }
    // The address is read from standard input, and used for a board of this machine.
    for input in [&key[..], text.as_bytes(), short.as_bytes()] {
        let send = [
            "send",
            "--home",
            "carl",
            "--to",
            "-",
            "--server",
            &server.url,
            "address",
        ];
        assert_eq!(scene.pipe(&send, input).code, 0);
        let post = ["post", "--board", "board", "--to", "-", "address"];
        let mut command = scene.command(&post);
        command.env("OMR_HOME", scene.path("carl"));
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
        assert!(child.wait().unwrap().success());
    }

    let refused = |to: &str, texts: &[&str]| {
        for command in [
            &["send", "--home", "carl", "--to", to, "address"][..],
            &["contact", "add", "x", to, "--home", "carl"],
            &["post", "--board", "board", "--to", to, "address"],
        ] {
            scene.run(command).refused(1, texts);
        }
    };
    refused(
        "letter.txt",
        &["letter.txt: not an address", "-----BEGIN OMR ADDRESS-----"],
    );
    refused("nobody", &["nobody", "no file and no contact"]);
    refused(
        "alice/detection.key",
        &["alice/detection.key", "expected a clue key"],
    );
    scene.keygen("dora");
    refused("dora", &["found a folder", "dora/clue.key"]);
}
