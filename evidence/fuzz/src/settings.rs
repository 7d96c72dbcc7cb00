//! Fuzz target: files of settings: a server's configuration and its tokens, an identity's profile, and the server
//! that an identity is registered with.

use crate::Target;
use crate::input::choose;
use crate::memory::bounded;
use omr_mail::{Profile, Server};
use omr_protocol::params::SetSpec;
use omr_protocol::{ClueKind, Scheme, Sealing};
use omr_server::{Config, tokens};
use std::cell::RefCell;
use std::fs;
use tempfile::NamedTempFile;

/// The fuzz target.
pub const TARGET: Target = Target::new("settings", run, seeds);

thread_local! {
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new().expect("a file"));
}

const TOKENS: usize = 96;
const PROFILE: usize = 128;
const SERVER: usize = 192;
const NAMES: usize = 224;

fn run(choice: usize, rest: &[u8]) {
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    bounded(rest.len(), 1024, || match choice {
        NAMES.. => names(text),
        SERVER.. => {
            if let Ok(server) = serde_json::from_str::<Server>(text) {
                let json = serde_json::to_string(&server).expect("plain data");
                assert!(serde_json::from_str::<Server>(&json).is_ok_and(|again| again == server));
            }
        }
        PROFILE.. => {
            if let Ok(profile) = serde_json::from_str::<Profile>(text) {
                let _ = profile.letter_parts();
                let json = serde_json::to_string(&profile).expect("plain data");
                let again: Profile = serde_json::from_str(&json).expect("what was written reads");
                assert_eq!(again, profile);
            }
        }
        TOKENS.. => tokens(text),
        _ => {
            // Looking up the names of machines is not part of parsing.
            if let Ok(config) = toml::from_str::<Config>(&text.replace("listen", "board")) {
                let _ = config.check();
            }
        }
    });
}

/// Checks that the written tokens are those that were read.
fn tokens(text: &str) {
    FILE.with_borrow(|file| {
        fs::write(file.path(), text).expect("a file to write to");
        let Ok(read) = tokens::list(file.path()) else {
            return;
        };
        let Some(first) = read.first() else {
            return;
        };
        let (name, mut rest) = (first.name.clone(), read.clone());
        rest.retain(|token| token.name != name);
        tokens::remove(file.path(), &name).expect("it is there");
        assert_eq!(
            tokens::list(file.path()).expect("what was written reads"),
            rest
        );
    });
}

fn names(text: &str) {
    if let Ok(scheme) = text.parse::<Scheme>() {
        assert_eq!(scheme.name(), text);
    }
    if let Ok(sealing) = text.parse::<Sealing>() {
        assert_eq!(sealing.name(), text);
    }
    if let Ok(kind) = text.parse::<ClueKind>() {
        assert_eq!(kind.name(), text);
    }
    if let Ok(spec) = SetSpec::named(text) {
        assert_eq!(spec.name, text);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let config = "data = \"x\"\n[board]\nparams = \"hybrid-v4\"\n[limits]\nbound = 50\nsession_hours = 3\n\
        [access]\norigins = [\"https://app.example\"]\nhosts = []\n[detector]\nbatch_seconds = 1.5\n\
        [watch]\nmetrics = \"127.0.0.1:9\"\n[objects.options]\nregion = \"x\"\n";
    let tokens = "[[token]]\nname = \"alice\"\nhash = \"00\"\nrights = [\"post\", \"admin\"]\nkeys = 3\n\
        [[token]]\nname = \"bob\"\nhash = \"\"\nrights = []\n";
    let profile = r#"{"params":"hybrid-v4","scheme":0,"bound":50,"spares":3,"begins":0,"board_id":null,
        "keys":[{"name":"instant.key","hash":null,"registered":false}],"sealing":"hpke-x25519"}"#;
    let server = r#"{"url":"https://x:1","ca_certificate":null,"token":"omr_1"}"#;
    let mut seeds = vec![
        choose(0, config.as_bytes()),
        choose(TOKENS, tokens.as_bytes()),
        choose(PROFILE, profile.as_bytes()),
        choose(SERVER, server.as_bytes()),
    ];
    let names = ["instantomr", "x-wing", "bound", "sophomr-v5"];
    seeds.extend(names.map(|name| choose(NAMES, name.as_bytes())));
    seeds
}
