//! The configuration of a server: a TOML file whose keys all have defaults.

mod check;
mod defaults;
mod environment;

use crate::error::ServerError;
use environment::Variables;
use omr_cuda::Choice;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The configuration of a server. `docs/operating.md` explains every key.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address and port for gRPC, gRPC-Web and the status page.
    #[serde(deserialize_with = "listen")]
    pub listen: SocketAddr,
    /// The folder of all data of the server.
    pub data: PathBuf,
    /// The board that the first start creates.
    pub board: Board,
    /// The certificate and its key. Without them connections are unencrypted.
    pub tls: Option<Tls>,
    /// The place of segments and keys.
    pub objects: Objects,
    /// The rights of clients, and the file of tokens.
    pub access: Access,
    /// The limits of one client and of all clients.
    pub limits: Limits,
    /// The settings of the detector.
    pub detector: Detector,
    /// Logs, traces and metrics.
    pub watch: Watch,
    /// The settings that differ for the server of tables.
    pub pdq: Tables,
    /// The pages for people.
    pub page: Page,
    /// The commit of this program; empty if unknown. Workers of another commit are refused.
    #[serde(skip)]
    pub build: String,
}

/// The board that the first start creates. Later starts check that the data folder contains this board.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Board {
    /// The parameter set of the board's clues.
    pub params: String,
    /// The length of a payload in bytes.
    pub payload_bytes: u32,
    /// The sealing of payloads: `none`, `hpke-x25519` or `x-wing`.
    pub sealing: String,
    /// The kind of clues, `bound` or `plain`. By default a new board has bound clues, and an existing one keeps its
    /// kind.
    pub clues: Option<String>,
    /// The age at which messages expire, in days during which the server runs; 0 for never.
    pub expire_days: u64,
    /// The name of a ledger from whose blocks the board takes its messages; none for a board that takes posts. The name
    /// should contain the hash of the ledger's first block and the purpose of the board.
    pub ledger: Option<String>,
    /// The number of blocks at the end of the ledger that another branch can replace.
    pub fork_blocks: u64,
}

/// Files for TLS in PEM.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// The certificate, followed by its chain.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

/// The place of segments and keys.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Objects {
    /// The address of a bucket, such as `s3://name/prefix`; the data folder by default.
    pub url: Option<String>,
    /// The options of the bucket: `endpoint`, `region`, `access_key_id`, `secret_access_key` and others.
    pub options: BTreeMap<String, String>,
    /// The number of messages in a segment.
    pub segment_messages: Option<u64>,
}

/// The rights of clients.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Access {
    /// The file of tokens, relative to the data folder.
    pub tokens: PathBuf,
    /// Whether clients without a token may post.
    pub anonymous_post: bool,
    /// Whether clients without a token may register keys, request digests and open sessions.
    pub anonymous_detect: bool,
    /// The number of leading zero bits in the proof of work of a post without a token.
    pub posting_work_bits: u32,
    /// The names by which clients reach the server. If there are none, browsers reach it by an address or as localhost;
    /// a server at a loopback address requires that of programs, too.
    pub hosts: Vec<String>,
    /// The addresses or networks of reverse proxies, whose header `x-forwarded-for` names their clients.
    pub proxies: Vec<String>,
    /// The origins of web pages that may call, such as `https://app.example`; `*` means every page.
    pub origins: Vec<String>,
}

/// The limits of one client and of all clients.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The greatest number of messages in a post.
    pub post_messages: u32,
    /// The number of messages a second that a client may post, unless the token has another limit.
    pub messages_per_second: u32,
    /// The bytes of all clients' posts that wait for the disk.
    pub posting_bytes: usize,
    /// The number of unfinished jobs of a client.
    pub jobs: u32,
    /// The number of unfinished jobs of all clients.
    pub all_jobs: u32,
    /// The number of sessions of a client.
    pub sessions: u32,
    /// The number of sessions of all clients.
    pub all_sessions: u32,
    /// The time after which an unused session is closed, in hours.
    pub session_hours: u64,
    /// The number of orders of a client; 0 to refuse orders.
    pub orders: u32,
    /// The number of orders of all clients.
    pub all_orders: u32,
    /// The time after which an unused order is ended, and for which its digests are kept, in days.
    pub order_days: u64,
    /// The number of keys that a client may register.
    pub keys: u32,
    /// The number of keys of all clients.
    pub all_keys: u32,
    /// The time after which an unused key is deleted, in days during which the server runs.
    pub key_days: u64,
    /// The number of addresses that a client may publish; 0 to refuse addresses.
    pub addresses: u32,
    /// The number of addresses of all clients.
    pub all_addresses: u32,
    /// The time after which an address that was not published again is deleted, in days during which the server runs.
    pub address_days: u64,
    /// The greatest number of messages in a digest.
    pub digest_messages: u64,
    /// The greatest bound.
    pub bound: u32,
    /// The time for which a finished digest is kept, in hours.
    pub digest_hours: u64,
    /// The bytes of unfinished uploads.
    pub upload_bytes: u64,
    /// The time after which an interrupted upload is deleted, in hours.
    pub upload_hours: u64,
    /// The number of connections of an address at a time.
    pub connections: usize,
    /// The number of connections of all addresses at a time.
    pub all_connections: usize,
    /// The number of subscriptions and watched jobs at a time.
    pub streams: usize,
    /// The number of seconds that a client may leave a stream without its next message.
    pub idle_seconds: u64,
    /// The time for which the id of a post is remembered, in hours.
    pub post_id_hours: u64,
}

/// The settings of the detector.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Detector {
    /// Whether this process makes digests. Otherwise workers elsewhere make all.
    pub local_worker: bool,
    /// The number of seconds for which a worker elsewhere may be silent.
    pub lease_seconds: u64,
    /// The device that makes digests in this process: `auto`, `cpu` or `cuda`.
    pub engine: Choice,
    /// The number of threads for digests; 0 for all cores.
    pub threads: usize,
    /// The number of threads for sessions; 0 for half of the cores.
    pub session_threads: usize,
    /// The number of keys of SophOMR and for two rounds in memory; one of SophOMR takes 0.3 GB at full size.
    pub keys_in_memory: usize,
    /// The bytes of payloads that stay prepared for fetches, the second of two rounds. They determine the longest range
    /// of a fetch: 65,536 messages of 612 bytes take 0.6 GB.
    pub prepared_bytes: u64,
    /// The greatest number of recipients with the masks of one epoch in a run.
    pub together: usize,
    /// The number of seconds for which a digest waits for others of its epoch.
    pub together_seconds: f64,
    /// The number of InstantOMR keys in memory, of 0.2 GB each at full size.
    pub session_keys_in_memory: usize,
    /// The number of seconds of a batch by SophOMR on this machine, as measured by `omr-lab bench crossover`.
    pub batch_seconds: f64,
    /// The number of seconds of a message by InstantOMR on this machine.
    pub message_seconds: f64,
}

/// Logs, traces and metrics.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// The filter of the log, in the form of `RUST_LOG`.
    pub log: String,
    /// Whether the log has lines of JSON.
    pub json: bool,
    /// The address to which spans are sent by OTLP over gRPC, such as `http://localhost:4317`.
    pub otlp: Option<String>,
    /// The address of the metrics, which may be that of `listen`. Metrics are not served by default.
    pub metrics: Option<SocketAddr>,
    /// Whether there is a status page.
    pub status: bool,
    /// Whether the page lists single digests: the lengths and times of finished ones, and the stages of running ones.
    pub digests: bool,
}

/// The addresses of the server of tables, which may run beside the server of a board with one configuration.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Tables {
    /// The address and port for queries and pages.
    #[serde(deserialize_with = "listen")]
    pub listen: SocketAddr,
    /// The address of the metrics, which may be that of `listen`. Metrics are not served by default.
    pub metrics: Option<SocketAddr>,
}

/// The place at which metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsAt {
    /// Metrics are not served.
    Nowhere,
    /// Metrics are served at the address for clients.
    Server,
    /// Metrics are served at an address of their own.
    Own(SocketAddr),
}

/// The pages for people, besides the status page.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// The folder of the page for mail at `/mail/`, as made by `cargo xtask web`. There is no such page by default.
    pub mail: Option<PathBuf>,
}

fn listen<'de, D: serde::Deserializer<'de>>(value: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(value)?;
    address(&text).map_err(serde::de::Error::custom)
}

/// Parses an address and a port. The address may be a name of this machine.
///
/// Errors: `Address`.
pub fn address(text: &str) -> Result<SocketAddr, ServerError> {
    let found = text
        .to_socket_addrs()
        .map(Iterator::collect::<Vec<_>>)
        .unwrap_or_default();
    // A name may have several addresses. Most clients try IPv4.
    let first = found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first());
    first
        .copied()
        .ok_or_else(|| ServerError::Address(text.to_owned()))
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ServerError> {
    let text = std::fs::read_to_string(path).map_err(ServerError::read(path))?;
    toml::from_str(&text).map_err(|source| ServerError::Config(path.to_owned(), source))
}

impl Limits {
    /// Returns the time for which an order and its digests are kept.
    pub(crate) fn order_time(&self) -> Duration {
        Duration::from_secs(self.order_days.saturating_mul(24 * 3600))
    }
}

impl Config {
    /// Returns the configuration of a server for tests, with both engines.
    #[cfg(test)]
    pub(crate) fn tiny(data: &Path) -> Self {
        let mut config = Self {
            data: data.to_owned(),
            ..Self::default()
        };
        config.board.params = "insecure-tiny-hybrid-v4".into();
        config
    }

    /// Reads a configuration from a file alone.
    ///
    /// Errors: `Read`, `Config`, `Setting`.
    pub fn read(path: &Path) -> Result<Self, ServerError> {
        let config: Self = parse(path)?;
        config.check()?;
        Ok(config)
    }

    /// Returns the configuration in a file, if there is one, and in the environment, which takes precedence. Each key
    /// has a variable, such as `OMR_LIMITS__BOUND` for `limits.bound`.
    ///
    /// Errors: `Read`, `Config`, `Setting`, `Variable`.
    pub fn of(path: Option<&Path>) -> Result<Self, ServerError> {
        Self::with(path, std::env::vars_os())
    }

    /// Returns the configuration in a file, if there is one, and in variables of an environment.
    ///
    /// Errors: as for [`Config::of`].
    pub fn with(
        path: Option<&Path>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ServerError> {
        let mut table = toml::Table::new();
        if let Some(path) = path {
            // An error of the types has the line of the file.
            parse::<Self>(path)?;
            table = parse(path)?;
        }
        Variables::new(variables).added_to(table)
    }

    /// Returns the place at which metrics are served.
    pub(crate) fn metrics_at(&self) -> MetricsAt {
        match self.watch.metrics {
            None => MetricsAt::Nowhere,
            Some(address) if address == self.listen => MetricsAt::Server,
            Some(address) => MetricsAt::Own(address),
        }
    }

    /// Returns whether clients without a token may post, and whether they may request digests.
    pub fn anonymous(&self) -> [bool; 2] {
        [self.access.anonymous_post, self.access.anonymous_detect]
    }

    /// Returns the path of the file of tokens.
    pub fn tokens(&self) -> PathBuf {
        self.data.join(&self.access.tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_default() {
        let config: Config = toml::from_str("").unwrap();
        assert_eq!(config, Config::default());
        config.check().unwrap();
        assert_eq!(config.anonymous(), [false, false]);
    }

    #[test]
    fn strangers_need_a_token_unless_the_configuration_allows_them() {
        for listen in ["127.0.0.1:7600", "0.0.0.0:7600"] {
            let mut config: Config = toml::from_str(&format!("listen = \"{listen}\"")).unwrap();
            assert_eq!(config.anonymous(), [false, false]);
            config.access.anonymous_post = true;
            assert_eq!(config.anonymous(), [true, false]);
        }
    }

    #[test]
    fn addresses_may_be_names_and_need_a_port() {
        let address = address("localhost:7600").unwrap();
        assert!(address.ip().is_loopback() && address.port() == 7600);
        let config: Config = toml::from_str("listen = \"localhost:7601\"").unwrap();
        assert_eq!(config.listen.port(), 7601);
        for text in ["127.0.0.1", "7600", "", "localhost:port"] {
            let error = super::address(text).unwrap_err().to_string();
            assert!(error.contains("such as 127.0.0.1:7600"), "{error}");
        }
    }

    #[test]
    fn unknown_keys_and_wrong_values_are_refused() {
        let error = toml::from_str::<Config>("[limits]\npost_message = 1").unwrap_err();
        assert!(error.to_string().contains("post_message"), "{error}");
        for (text, key) in [
            ("[limits]\nbound = 0", "limits.bound"),
            ("[limits]\nbound = 100000", "limits.bound"),
            ("[access]\norigins = [\"example\"]", "access.origins"),
            ("[access]\nproxies = [\"example\"]", "access.proxies"),
            (
                "[access]\nposting_work_bits = 33",
                "access.posting_work_bits",
            ),
            ("[detector]\nbatch_seconds = nan", "detector.batch_seconds"),
            ("[detector]\ntogether = 0", "detector.together"),
            ("[detector]\ntogether = 9", "detector.together"),
            (
                "[detector]\ntogether_seconds = -1.0",
                "detector.together_seconds",
            ),
            (
                "[detector]\ntogether_seconds = inf",
                "detector.together_seconds",
            ),
        ] {
            let config: Config = toml::from_str(text).unwrap();
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(key), "{error}");
        }
    }
}
