//! Settings from variables of the environment: `OMR_LIMITS__BOUND` is the key `limits.bound`.

use super::Config;
use crate::error::ServerError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use toml::de::Error;
use toml::{Table, Value};

/// The beginning of a variable's name.
const PREFIX: &str = "OMR_";
/// The part of a variable's name that stands for the dot of a key.
const DOT: &str = "__";

/// The variables that begin as those of settings do, sorted by their names.
pub(super) struct Variables(BTreeMap<String, OsString>);

impl Variables {
    /// Selects the variables whose names begin as those of settings do.
    pub(super) fn new(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let named = all
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Self(named.filter(|(name, _)| name.starts_with(PREFIX)).collect())
    }

    /// Returns the configuration of a file's table and of these variables, which take precedence.
    ///
    /// Errors: `Variable`.
    pub(super) fn added_to(&self, file: Table) -> Result<Config, ServerError> {
        let mut table = file;
        for (name, value) in &self.0 {
            let Some(key) = key(name)? else { continue };
            let text = value
                .to_str()
                .ok_or_else(|| fault(name, "expected UTF-8, found other bytes"))?;
            table = with(&table, &key, text).map_err(|error| fault(name, error.message()))?;
        }
        let config = config(&table).map_err(|error| fault(PREFIX, error.message()))?;
        config.check().map_err(|error| self.named(error))?;
        Ok(config)
    }

    /// Names the variable in the error of a value that came from one.
    fn named(&self, error: ServerError) -> ServerError {
        match error {
            ServerError::Setting(key, mismatch) if self.0.contains_key(&variable(key)) => {
                fault(&variable(key), &mismatch.to_string())
            }
            other => other,
        }
    }
}

/// Returns the variable of a key.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', DOT))
}

fn fault(name: &str, reason: &str) -> ServerError {
    ServerError::Variable(name.to_owned(), reason.to_owned())
}

/// Returns the parts of a variable's key, or `None` for a variable of another purpose, such as `OMR_TOKEN`.
///
/// Errors: `Variable` if one underscore stands for two.
fn key(name: &str) -> Result<Option<Vec<String>>, ServerError> {
    let lower = name[PREFIX.len()..].to_lowercase();
    let parts: Vec<String> = lower.split(DOT).map(str::to_owned).collect();
    if parts.len() > 1 || is_known(&parts) {
        return Ok(Some(parts));
    }
    let Some((section, rest)) = lower.split_once('_') else {
        return Ok(None);
    };
    if is_known(&[section.to_owned(), rest.to_owned()]) {
        let expected = variable(&format!("{section}.{rest}"));
        return Err(fault(name, &format!("expected the name {expected}")));
    }
    Ok(None)
}

/// Returns whether the configuration has a key.
fn is_known(key: &[String]) -> bool {
    let table = inserted(&Table::new(), key, Value::String(String::new()));
    let refused = config(&table).is_err_and(|error| error.message().starts_with("unknown field"));
    !refused
}

/// Returns a table with the value of a key. A key of text takes the text as it is; another key takes it as TOML.
fn with(table: &Table, key: &[String], text: &str) -> Result<Table, Error> {
    let as_text = inserted(table, key, Value::String(text.to_owned()));
    let Err(error) = config(&as_text) else {
        return Ok(as_text);
    };
    let Ok(value) = text.parse::<Value>() else {
        return Err(error);
    };
    let as_toml = inserted(table, key, value);
    config(&as_toml).map(|_| as_toml)
}

fn inserted(table: &Table, key: &[String], value: Value) -> Table {
    let mut table = table.clone();
    let (last, sections) = key.split_last().expect("a key has a part");
    let mut inner = &mut table;
    for section in sections {
        let entry = inner.entry(section).or_insert(Value::Boolean(false));
        if !entry.is_table() {
            *entry = Value::Table(Table::new());
        }
        inner = entry.as_table_mut().expect("a table");
    }
    inner.insert(last.clone(), value);
    table
}

fn config(table: &Table) -> Result<Config, Error> {
    Config::deserialize(table.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, variables: &[(&str, &str)]) -> Result<Config, ServerError> {
        let all = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        Variables::new(all).added_to(toml::from_str(file).unwrap())
    }

    #[test]
    fn variables_take_precedence_over_the_file() {
        let config = read(
            "listen = \"127.0.0.1:1\"\n[limits]\nbound = 5\nkeys = 3\n[tls]\ncertificate = \"a\"",
            &[
                ("OMR_LISTEN", "0.0.0.0:7600"),
                ("OMR_LIMITS__BOUND", "7"),
                ("OMR_TLS__KEY", "b"),
                ("OMR_ACCESS__HOSTS", "[\"a.example\", \"b.example\"]"),
                ("OMR_ACCESS__ANONYMOUS_POST", "true"),
                ("OMR_DETECTOR__TOGETHER_SECONDS", "1.5"),
                ("OMR_DETECTOR__ENGINE", "cpu"),
                // Text stays text, even where it reads as a number.
                ("OMR_OBJECTS__OPTIONS__SECRET_ACCESS_KEY", "1e5"),
                ("OMR_BOARD__LEDGER", "true"),
            ],
        )
        .unwrap();
        assert_eq!(config.listen.to_string(), "0.0.0.0:7600");
        assert_eq!((config.limits.bound, config.limits.keys), (7, 3));
        let tls = config.tls.unwrap();
        assert_eq!((tls.certificate, tls.key), ("a".into(), "b".into()));
        assert_eq!(config.access.hosts, ["a.example", "b.example"]);
        assert!(config.access.anonymous_post && !config.access.anonymous_detect);
        assert!((config.detector.together_seconds - 1.5).abs() < 1e-9);
        assert_eq!(config.detector.engine, omr_cuda::Choice::Cpu);
        assert_eq!(config.objects.options["secret_access_key"], "1e5");
        assert_eq!(config.board.ledger.as_deref(), Some("true"));
    }

    #[test]
    fn wrong_names_and_values_are_refused_by_the_variables_name() {
        for (name, value, expected) in [
            ("OMR_LIMITS__BOUNDS", "1", "unknown field `bounds`"),
            ("OMR_LIMIT__BOUND", "1", "unknown field `limit`"),
            (
                "OMR_LIMITS_BOUND",
                "1",
                "expected the name OMR_LIMITS__BOUND",
            ),
            ("OMR_LIMITS__BOUND", "many", "expected u32"),
            ("OMR_LIMITS__BOUND", "-1", "-1"),
            ("OMR_LIMITS__BOUND", "0", "expected at least 1, found 0"),
            ("OMR_LIMITS__BOUND", "", "expected u32"),
            ("OMR_ACCESS__HOSTS", "a.example", "expected a sequence"),
            ("OMR_LISTEN", "here", "such as 127.0.0.1:7600"),
            ("OMR_LISTEN__PORT", "1", "expected a string"),
            ("OMR_TLS__KEY", "tls.key", "tls.certificate"),
        ] {
            let error = read("", &[(name, value)]).unwrap_err().to_string();
            assert!(
                error.contains(expected) && (error.contains(name) || name == "OMR_TLS__KEY"),
                "{name}: {error}"
            );
        }
    }

    #[test]
    fn variables_of_other_purposes_are_left_alone() {
        let others = [
            ("OMR_TOKEN", "t"),
            ("OMR_HOME", "h"),
            // Kubernetes sets these for services named omr-board and omr-server.
            ("OMR_BOARD_SERVICE_HOST", "10.0.0.1"),
            ("OMR_SERVER_PORT", "tcp://10.0.0.1:7600"),
            ("LIMITS__BOUND", "0"),
        ];
        assert_eq!(read("", &others).unwrap(), Config::default());
    }
}
