//! The folder of an identity: mode 0700, every file 0600, written whole or not at all.

use crate::MailError;
use omr_client::locked::Passphrase;
use omr_disk::temporary::{Access, Unfinished, sweep, temporary};
use omr_remote::Endpoint;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The name of the file with the servers' settings.
pub(crate) const SERVER: &str = "server";

/// The folder of an identity, and the passphrase of its secret while it is known.
#[derive(Clone, Debug)]
pub struct Home {
    dir: PathBuf,
    passphrase: Option<Passphrase>,
    /// The secret's file as it was unlocked last, as unlocking takes a second.
    pub(crate) unlocked: Arc<Mutex<Option<Unlocked>>>,
}

/// A file and the file that was within it under a passphrase.
pub(crate) struct Unlocked {
    pub(crate) locked: Zeroizing<Vec<u8>>,
    pub(crate) within: Zeroizing<Vec<u8>>,
}

/// Shows nothing of the secret.
impl fmt::Debug for Unlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unlocked(..)")
    }
}

/// The settings of a server. The token is wiped when dropped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Server {
    /// The URL, `https://host:port`.
    pub url: String,
    /// The CA that signed the server's certificate, as PEM; `None` for the CAs of the system.
    pub ca_certificate: Option<String>,
    /// The caller's token.
    pub token: Option<String>,
}

/// The content of the file of servers.
#[derive(Serialize, Deserialize)]
struct Servers {
    /// The identity's own server.
    #[serde(flatten)]
    own: Server,
    /// Other operators of the same board.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Server>,
}

impl Server {
    /// Returns the endpoint of the server.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            ca_certificate: self.ca_certificate.clone().map(String::into_bytes),
            token: self.token.clone(),
            ..Endpoint::new(self.url.clone())
        }
    }

    /// Returns the server with this URL, or `own` where no URL is given. The token and certificate of `own` are used
    /// for that server alone.
    #[must_use]
    pub fn named(url: Option<&str>, own: Option<Self>) -> Option<Self> {
        match (url, own) {
            (Some(url), Some(own)) if *url == own.url => Some(own),
            (None, own) => own,
            (Some(url), _) => Some(Self {
                url: url.to_owned(),
                ca_certificate: None,
                token: None,
            }),
        }
    }

    /// Returns the endpoint for calls that do not reveal the caller: it has no token.
    #[must_use]
    pub fn stranger(&self) -> Endpoint {
        Endpoint {
            token: None,
            ..self.endpoint()
        }
    }
}

impl Home {
    /// Returns the home in a folder, which need not exist yet.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            passphrase: None,
            unlocked: Arc::default(),
        }
    }

    /// Returns this home with the passphrase under which its secret is, or will be where there is none yet.
    #[must_use]
    pub fn with_passphrase(mut self, passphrase: Passphrase) -> Self {
        self.passphrase = Some(passphrase);
        self.unlocked = Arc::default();
        self
    }

    /// Returns the passphrase that was given.
    #[must_use]
    pub fn passphrase(&self) -> Option<&Passphrase> {
        self.passphrase.as_ref()
    }

    /// Returns another folder whose secret is under the same passphrase.
    pub(crate) fn beside(&self, dir: PathBuf) -> Self {
        Self {
            passphrase: self.passphrase.clone(),
            ..Self::new(dir)
        }
    }

    /// Returns `$OMR_HOME`, else `$XDG_DATA_HOME/omr`, else `~/.local/share/omr`.
    ///
    /// Errors: `NoHome` if none of these variables is set.
    pub fn usual() -> Result<Self, MailError> {
        let of = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        of("OMR_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(of("XDG_DATA_HOME")?).join("omr")))
            .or_else(|| Some(PathBuf::from(of("HOME")?).join(".local/share/omr")))
            .map(Self::new)
            .ok_or(MailError::NoHome)
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of a file in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Creates the folder, readable by its owner alone.
    ///
    /// Errors: `File`.
    pub fn create(&self) -> Result<(), MailError> {
        private_folder(&self.dir).map_err(MailError::file(&self.dir))
    }

    /// Reads the server's settings.
    ///
    /// Errors: `NoServer`, `File`, `Settings`.
    pub fn server(&self) -> Result<Server, MailError> {
        Ok(self.servers()?.own)
    }

    /// Writes the server's settings. Other operators stay.
    ///
    /// Errors: `File`, `Settings`.
    pub fn set_server(&self, server: &Server) -> Result<(), MailError> {
        let mut others = match self.servers() {
            Err(MailError::NoServer) => Vec::new(),
            servers => servers?.others,
        };
        others.retain(|other| other.url != server.url);
        let own = server.clone();
        self.write_json(SERVER, &Servers { own, others })
    }

    /// Returns the operators of the identity's board: the identity's own server, then those that were added.
    ///
    /// Errors: `NoServer`, `File`, `Settings`.
    pub fn operators(&self) -> Result<Vec<Server>, MailError> {
        let Servers { own, others } = self.servers()?;
        Ok(std::iter::once(own).chain(others).collect())
    }

    /// Adds an operator of the same board, or replaces the settings of one that was added.
    ///
    /// Errors: `NoServer`, `File`, `Settings`.
    pub fn add_operator(&self, server: &Server) -> Result<(), MailError> {
        let mut servers = self.servers()?;
        servers.others.retain(|other| other.url != server.url);
        servers.others.push(server.clone());
        self.write_json(SERVER, &servers)
    }

    /// Removes an operator that was added.
    ///
    /// Errors: `NoServer`, `NoOperator`, `File`, `Settings`.
    pub fn remove_operator(&self, url: &str) -> Result<(), MailError> {
        let mut servers = self.servers()?;
        let before = servers.others.len();
        servers.others.retain(|other| *other.url != *url);
        if servers.others.len() == before {
            return Err(MailError::NoOperator(url.to_owned()));
        }
        self.write_json(SERVER, &servers)
    }

    fn servers(&self) -> Result<Servers, MailError> {
        self.read_json(SERVER)?.ok_or(MailError::NoServer)
    }

    pub(crate) fn read(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, MailError> {
        let path = self.path(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            // A file in place of the folder contains no identity either.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(MailError::file(path)(error)),
        }
    }

    pub(crate) fn write(
        &self,
        name: &str,
        write: impl FnOnce(&mut fs::File) -> Result<(), MailError>,
    ) -> Result<(), MailError> {
        self.put(name, true, write)
    }

    /// Writes a file that must not exist yet.
    pub(crate) fn write_new(&self, name: &str, bytes: &[u8]) -> Result<(), MailError> {
        self.put(name, false, |file| {
            file.write_all(bytes)
                .map_err(MailError::file(self.path(name)))
        })
    }

    fn put(
        &self,
        name: &str,
        replace: bool,
        write: impl FnOnce(&mut fs::File) -> Result<(), MailError>,
    ) -> Result<(), MailError> {
        let path = self.path(name);
        let dir = path.parent().unwrap_or(&self.dir);
        sweep(dir);
        // The file has mode 0600, also after it is renamed.
        let mut file =
            Unfinished::new(|| temporary(dir, Access::Private)).map_err(MailError::file(&path))?;
        write(file.file())?;
        file.sync().map_err(MailError::file(&path))?;
        file.persist(&path, replace).map_err(MailError::file(path))
    }

    /// Opens a file for locking, readable by its owner alone.
    ///
    /// Errors: `File`.
    pub(crate) fn lock_file(&self, name: &str) -> Result<fs::File, MailError> {
        let mut options = fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let path = self.path(name);
        options.open(&path).map_err(MailError::file(path))
    }

    pub(crate) fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), MailError> {
        let path = self.path(name);
        self.write(name, |file| {
            file.write_all(bytes).map_err(MailError::file(path))
        })
    }

    pub(crate) fn read_json<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, MailError> {
        let Some(bytes) = self.read(name)? else {
            return Ok(None);
        };
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(Some)
            .map_err(|source| self.damaged(name, source))
    }

    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), MailError> {
        let text = Zeroizing::new(
            serde_json::to_vec_pretty(value).map_err(|source| self.damaged(name, source))?,
        );
        self.write_bytes(name, &text)
    }

    fn damaged(&self, name: &str, source: serde_json::Error) -> MailError {
        let path = self.path(name);
        MailError::Settings(path, source)
    }
}

/// Creates a folder, readable by its owner alone, and its parents.
pub(crate) fn private_folder(dir: &Path) -> io::Result<()> {
    omr_disk::create_folders_with(dir, |dir| {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)
    })
}
