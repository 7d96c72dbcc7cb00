//! Tokens: the rights and limits of clients. The file contains hashes; a token is shown once, when it is created.

use crate::error::ServerError;
use omr_disk::temporary::{Access, Unfinished, folder_of, sweep, temporary};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

/// The beginning of a token, by which a leaked one is recognised.
const PREFIX: &str = "omr_";
/// The number of random bytes in a token.
const SECRET_BYTES: usize = 24;
/// The time between two looks at the file, in seconds.
const LOOK_SECONDS: u64 = 2;

/// A right that a token gives.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// The right to post.
    Post,
    /// The right to register keys, request digests and open sessions.
    Detect,
    /// The right to make backups.
    Admin,
    /// The right to make digests for others, as a worker of the server.
    Work,
    /// The right to append blocks of the board's ledger.
    Feed,
}

impl Right {
    /// All rights.
    pub const ALL: [Self; 5] = [
        Self::Post,
        Self::Detect,
        Self::Admin,
        Self::Work,
        Self::Feed,
    ];
}

/// Writes the word that `omr token add --may` takes.
impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Post => "post",
            Self::Detect => "detect",
            Self::Admin => "admin",
            Self::Work => "work",
            Self::Feed => "feed",
        })
    }
}

/// A client of the server.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The operator's name for the client, which nobody else sees.
    pub name: String,
    /// The BLAKE3 hash of the token, in hexadecimal.
    pub hash: String,
    /// The rights of the token.
    pub rights: Vec<Right>,
    /// The number of messages a second that the client may post; by default the configuration's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_per_second: Option<u32>,
    /// The number of unfinished jobs; by default the configuration's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// The number of sessions; by default the configuration's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// The number of keys; by default the configuration's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<u32>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    token: Vec<Token>,
}

/// The tokens in a file, which is read again when it changes.
pub(crate) struct Tokens {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    looked: Instant,
    changed: Option<SystemTime>,
    by_hash: HashMap<String, Arc<Token>>,
}

impl Tokens {
    /// Opens a file of tokens.
    ///
    /// Errors: `Read`, `Config`.
    pub(crate) fn open(path: PathBuf) -> Result<Self, ServerError> {
        let changed = modified(&path);
        let by_hash = by_hash(read(&path)?);
        let state = State {
            looked: Instant::now(),
            changed,
            by_hash,
        };
        Ok(Self {
            path,
            state: Mutex::new(state),
        })
    }

    /// Returns the client with a token.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<Token>> {
        // The time of a look-up by hash reveals nothing about the token.
        let hash = hash(token);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed().as_secs() >= LOOK_SECONDS {
            self.refresh(&mut state);
        }
        state.by_hash.get(&hash).cloned()
    }

    fn refresh(&self, state: &mut State) {
        state.looked = Instant::now();
        let changed = modified(&self.path);
        if changed == state.changed {
            return;
        }
        match read(&self.path) {
            Ok(file) => {
                state.by_hash = by_hash(file);
                state.changed = changed;
                tracing::info!(tokens = state.by_hash.len(), "read the tokens again");
            }
            // The known tokens stay valid: a half-edited file must lock nobody out.
            Err(error) => tracing::warn!(%error, "tokens not read again"),
        }
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

fn hash(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

fn by_hash(file: File) -> HashMap<String, Arc<Token>> {
    let entry = |token: Token| (token.hash.to_lowercase(), Arc::new(token));
    file.token.into_iter().map(entry).collect()
}

fn read(path: &Path) -> Result<File, ServerError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        read => read.map_err(ServerError::read(path))?,
    };
    toml::from_str(&text).map_err(|source| ServerError::Config(path.to_owned(), source))
}

/// Creates a token with these rights, adds its hash to the file and returns the token. The hash in `token` is ignored.
///
/// Errors: `Read`, `Config`, `TokenName` where another token has this name, `Write`.
pub fn add(path: &Path, mut token: Token) -> Result<String, ServerError> {
    let mut file = read(path)?;
    if file.token.iter().any(|known| known.name == token.name) {
        return Err(ServerError::TokenName(token.name));
    }
    let mut random = [0; SECRET_BYTES];
    getrandom::fill(&mut random).map_err(|_| ServerError::NoRandomness)?;
    let secret = format!("{PREFIX}{}", omr_protocol::hex(&random));
    token.hash = hash(&secret);
    file.token.push(token);
    write(path, &file)?;
    Ok(secret)
}

/// Returns the tokens in a file.
///
/// Errors: `Read`, `Config`.
pub fn list(path: &Path) -> Result<Vec<Token>, ServerError> {
    Ok(read(path)?.token)
}

/// Removes a token from the file.
///
/// Errors: `Read`, `Config`, `NoToken`, `Write`.
pub fn remove(path: &Path, name: &str) -> Result<(), ServerError> {
    let mut file = read(path)?;
    let before = file.token.len();
    file.token.retain(|token| token.name != name);
    if file.token.len() == before {
        let found = name.to_owned();
        return Err(ServerError::NoToken(found));
    }
    write(path, &file)
}

/// Writes the tokens of one file to another, and returns their number.
///
/// Errors: `Read`, `Config`, `Write`.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<usize, ServerError> {
    let file = read(from)?;
    write(to, &file)?;
    Ok(file.token.len())
}

fn write(path: &Path, file: &File) -> Result<(), ServerError> {
    let text = toml::to_string(file).map_err(|_| ServerError::TokenText)?;
    let folder = folder_of(path);
    let written = || -> std::io::Result<()> {
        omr_disk::create_folders(folder)?;
        sweep(folder);
        let mut new = Unfinished::new(|| temporary(folder, Access::Private))?;
        new.file().write_all(text.as_bytes())?;
        new.sync()?;
        new.persist(path, true)
    };
    written().map_err(ServerError::write(path))
}

#[cfg(test)]
impl Token {
    /// Returns a token with the right to post.
    pub(crate) fn test(name: &str) -> Self {
        Self {
            name: name.into(),
            hash: String::new(),
            rights: vec![Right::Post],
            messages_per_second: None,
            jobs: None,
            sessions: None,
            keys: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_disk::Recording;

    fn token(name: &str) -> Token {
        Token {
            messages_per_second: Some(7),
            ..Token::test(name)
        }
    }

    #[test]
    fn tokens_survive_a_power_failure() {
        let dir = tempfile::tempdir().unwrap();
        let file = |root: &Path| root.join("data").join("tokens.toml");
        let recording = Recording::start(dir.path()).unwrap();
        let path = file(dir.path());
        let mut known = Vec::new();
        add(&path, token("wallet")).unwrap();
        known.push((recording.now(), vec!["wallet"]));
        add(&path, token("explorer")).unwrap();
        known.push((recording.now(), vec!["wallet", "explorer"]));
        remove(&path, "wallet").unwrap();
        known.push((recording.now(), vec!["explorer"]));
        let history = recording.finish().unwrap();
        let checked = history.crash_everywhere(None, |moment, root| {
            let listed = list(&file(root)).map_err(|error| error.to_string())?;
            let names: Vec<&str> = listed.iter().map(|token| &*token.name).collect();
            let done = known.iter().filter(|(since, _)| *since <= moment).count();
            // The interrupted operation may have been done.
            let nothing = vec![];
            let before = match done.checked_sub(1) {
                Some(last) => &known[last].1,
                None => &nothing,
            };
            let after = known.get(done).map_or(before, |(_, names)| names);
            if names == *before || names == *after {
                Ok(())
            } else {
                Err(format!("expected {before:?} or {after:?}, found {names:?}"))
            }
        });
        checked.unwrap();
    }

    #[test]
    fn a_token_is_found_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        let secret = add(&path, token("wallet")).unwrap();
        assert!(add(&path, token("wallet")).is_err());
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&secret), "the file holds no token");
        let tokens = Tokens::open(path.clone()).unwrap();
        let found = tokens.find(&secret).unwrap();
        assert_eq!(
            (&*found.name, found.messages_per_second),
            ("wallet", Some(7))
        );
        assert_eq!(tokens.find("omr_other"), None);
        remove(&path, "wallet").unwrap();
        assert!(remove(&path, "wallet").is_err());
        assert_eq!(Tokens::open(path).unwrap().find(&secret), None);
    }
}
