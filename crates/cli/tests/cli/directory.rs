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

    // Somebody without a home of her own, then one who reads at that server: its URL is not needed.
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

    // What was not published, a slip of the pen, and nobody to ask.
    let other = scene.run(&["id", "show", "--home", "bob", "--json"]).json();
    let other = other["short"].as_str().unwrap().to_owned();
    send("carl", &other, b"x").refused(1, &["the server has no address", "omr id publish"]);
    let slip = format!("{}q", &code[..35]);
    if slip != code {
        send("carl", &slip, b"x").refused(1, &["expected a short address", "copied whole"]);
    }
    let other = other.split_once('@').unwrap().0;
    send("dora", other, b"x").refused(1, &["no server is known", "--server"]);

    // A contact keeps the whole: nobody is asked again, and the server may be gone.
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
