//! The files in `packaging/` contain every key of the configuration.

use omr_server::Config;
use omr_server::config::Board;
use std::collections::BTreeSet;
use std::ffi::OsString;

const SECTIONS: [&str; 9] = [
    "board", "tls", "objects", "access", "limits", "detector", "watch", "pdq", "page",
];
const EXAMPLE: &str = include_str!("../../../packaging/omr.toml");

/// Returns the names of a section's keys, from the parser's error for an unknown key.
fn keys(section: &str) -> Vec<String> {
    let head = if section.is_empty() {
        String::new()
    } else {
        format!("[{section}]\n")
    };
    let error = toml::from_str::<Config>(&format!("{head}no_such_key = 0")).unwrap_err();
    let text = error.message().to_owned();
    let (_, names) = text.split_once("expected").expect(&text);
    names
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Returns every key with its section, as `limits.bound`.
fn all_keys() -> BTreeSet<String> {
    let top = keys("")
        .into_iter()
        .filter(|key| !SECTIONS.contains(&key.as_str()));
    let within = SECTIONS.iter().flat_map(|section| {
        keys(section)
            .into_iter()
            .map(move |key| format!("{section}.{key}"))
    });
    top.chain(within).collect()
}

/// Adds the variables of a table's keys.
fn add_variables(name: &str, value: &toml::Value, variables: &mut Vec<(OsString, OsString)>) {
    match value {
        toml::Value::Table(table) => {
            let dot = if name == "OMR" { "_" } else { "__" };
            for (key, value) in table {
                add_variables(
                    &format!("{name}{dot}{}", key.to_uppercase()),
                    value,
                    variables,
                );
            }
        }
        toml::Value::String(text) => variables.push((name.into(), text.into())),
        other => variables.push((name.into(), other.to_string().into())),
    }
}

#[test]
fn every_section_is_listed() {
    let sections: Vec<String> = keys("")
        .into_iter()
        .filter(|key| keys_of(key).is_some())
        .collect();
    assert_eq!(sections, SECTIONS);
    assert!(all_keys().len() > 40, "{:?}", all_keys());
}

/// Returns `Some` if a key is a section, which takes a table.
fn keys_of(key: &str) -> Option<()> {
    let error = toml::from_str::<Config>(&format!("[{key}]\nno_such_key = 0")).err()?;
    error.message().contains("no_such_key").then_some(())
}

#[test]
fn every_key_of_the_example_has_its_meaning() {
    let keys = EXAMPLE.lines().filter(|line| line.contains(" = "));
    for line in keys {
        let (_, meaning) = line.split_once("  # ").expect(line);
        assert!(meaning.trim().len() >= 8, "{line}");
    }
}

#[test]
fn the_files_of_packaging_are_configurations() {
    let others = [
        include_str!("../../../packaging/container.toml"),
        include_str!("../../../packaging/compose/omr.toml"),
    ];
    for text in [EXAMPLE].into_iter().chain(others) {
        let config: Config = toml::from_str(text).expect("a configuration");
        config.check().expect("values in range");
    }
}

#[test]
fn keys_that_the_example_comments_out_are_defaults() {
    let default = Config::default();
    let all: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.contains(" = ") || rest.starts_with('[') => format!("{rest}\n"),
            Some(_) => String::new(),
            None => format!("{line}\n"),
        })
        .collect();
    let config: Config = toml::from_str(&all).expect("a configuration with every key");
    config.check().expect("values in range");
    assert_eq!(config.limits, default.limits);
    assert_eq!(config.detector, default.detector);
    // A new board has bound clues with or without this key.
    assert_eq!(default.board.clues, None);
    assert_eq!(config.board.clues.as_deref(), Some("bound"));
    // Boards without a ledger have no name of one.
    assert_eq!(default.board.ledger, None);
    let unsaid = Board {
        clues: None,
        ledger: None,
        ..config.board.clone()
    };
    assert_eq!(unsaid, default.board);
    assert_eq!(config.watch.log, default.watch.log);
    assert_eq!(config.watch.json, default.watch.json);
    assert_eq!(config.watch.status, default.watch.status);
    assert!(config.tls.is_some() && config.objects.url.is_some());
    // Each key has a variable of the environment, which takes what the file has.
    let mut variables = Vec::new();
    add_variables("OMR", &toml::from_str(&all).expect("TOML"), &mut variables);
    assert!(variables.len() >= all_keys().len(), "{variables:?}");
    assert_eq!(Config::with(None, variables).expect("settings"), config);
    for key in all_keys() {
        let name = key.rsplit('.').next().expect("a name");
        assert!(
            all.contains(&format!("{name} = ")) || name == "options",
            "{key}"
        );
    }
}
