//! A server, identities and their letters.

use super::Scene;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A server on a free port; stopped when dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(scene: &Scene, params: &str) -> Self {
        Self::start_at(scene, params, "127.0.0.1:0")
    }

    pub(crate) fn start_at(scene: &Scene, params: &str, listen: &str) -> Self {
        let args = ["--anonymous", "--listen", listen];
        let data = ["--data", "data", "--params", params];
        Self::with(scene, &[&args[..], &data].concat())
    }

    /// Starts a server with these arguments and a free port.
    pub(crate) fn with(scene: &Scene, args: &[&str]) -> Self {
        let mut command = scene.command(&[&["serve"], args].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut first = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut first).unwrap();
        let url = first.trim().strip_prefix("listening on ").unwrap();
        Self {
            url: url.to_owned(),
            process,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes a token with the rights to post and detect, for the server whose folder is `data`.
pub(crate) fn token(scene: &Scene, name: &str) -> String {
    std::fs::create_dir_all(scene.path("data")).unwrap();
    let args = ["token", "add", "--file", "data/tokens.toml", "--name", name];
    let rights = ["--may", "post", "--may", "detect"];
    let shown = scene.run(&[&args[..], &rights].concat());
    String::from_utf8(shown.stdout).unwrap().trim().to_owned()
}

pub(crate) fn identity(
    scene: &Scene,
    server: &Server,
    name: &str,
    more: &[&str],
) -> serde_json::Value {
    let args = [
        "id",
        "new",
        "--home",
        name,
        "--server",
        &server.url,
        "--json",
    ];
    let shown = scene.run(&[&args[..], more].concat()).json();
    let text = format!("{name}.txt");
    scene
        .run(&["address", "--home", name, "--out", &text])
        .quietly();
    shown
}

pub(crate) fn send(scene: &Scene, from: &str, to: &str, letter: &[u8]) -> String {
    let to = format!("{to}.txt");
    let args = ["send", "--home", from, "--to", &to, "-"];
    scene.pipe(&args, letter).quietly()
}

pub(crate) fn inbox(scene: &Scene, home: &str) -> serde_json::Value {
    scene.run(&["inbox", "--home", home, "--json"]).json()
}

pub(crate) fn lines(inbox: &serde_json::Value) -> Vec<&str> {
    let messages = inbox["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["first_line"].as_str().unwrap())
        .collect()
}
