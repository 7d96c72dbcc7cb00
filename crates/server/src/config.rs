//! The configuration of a server: a TOML file, every key of which has a default.

mod check;
mod defaults;

use crate::error::ServerError;
use omr_cuda::Choice;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server's configuration; docs/operating.md explains every key.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address and port for gRPC, gRPC-Web and the status page.
    #[serde(deserialize_with = "listen")]
    pub listen: SocketAddr,
    /// Folder of everything that the server keeps.
    pub data: PathBuf,
    /// The board that the first start makes.
    pub board: Board,
    /// Certificate and key; without them connections are in the clear.
    pub tls: Option<Tls>,
    /// Where segments and keys lie.
    pub objects: Objects,
    /// Who may do what without a token, and where tokens are.
    pub access: Access,
    /// What one client may use, and all together.
    pub limits: Limits,
    /// How digests are made.
    pub detector: Detector,
    /// Logs, traces, metrics.
    pub watch: Watch,
    /// What differs for the server of tables.
    pub pdq: Tables,
    /// Pages for people.
    pub page: Page,
    /// The commit of this program, empty where it does not know: workers of another one are refused.
    #[serde(skip)]
    pub build: String,
}

/// The board that the first start makes; later starts check that it is this one.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Board {
    /// Parameter set of its clues.
    pub params: String,
    /// Bytes of a payload.
    pub payload_bytes: u32,
    /// `none`, `hpke-x25519` or `x-wing`.
    pub sealing: String,
    /// `bound` or `plain`; unless set, bound for a new board and any for one that is there.
    pub clues: Option<String>,
    /// How old messages may become, in days during which the server runs; 0: none expires.
    pub expire_days: u64,
}

/// Files in PEM.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate, its chain after it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Where segments and keys lie.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Objects {
    /// A bucket such as `s3://name/prefix`; the data folder if absent.
    pub url: Option<String>,
    /// Options of the bucket: `endpoint`, `region`, `access_key_id`, `secret_access_key`, ...
    pub options: BTreeMap<String, String>,
    /// Messages of a segment.
    pub segment_messages: Option<u64>,
}

/// Who may do what.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Access {
    /// File of tokens, relative to the data folder.
    pub tokens: PathBuf,
    /// Whether posts need no token.
    pub anonymous_post: bool,
    /// Whether keys, digests and sessions need no token.
    pub anonymous_detect: bool,
    /// Leading zero bits of a proof of work with every post without a token.
    pub posting_work_bits: u32,
    /// Names by which clients reach the server. Without any, browsers reach it by an address or as localhost, at loopback
    /// addresses programs too.
    pub hosts: Vec<String>,
    /// Addresses or networks of reverse proxies, whose header `x-forwarded-for` names their clients.
    pub proxies: Vec<String>,
    /// Origins of the web pages that may call, such as `https://app.example`; `*` is every page.
    pub origins: Vec<String>,
}

/// What one client may use, and all together.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Most messages of one post.
    pub post_messages: u32,
    /// Messages a second that a client may post, where her token says nothing else.
    pub messages_per_second: u32,
    /// Bytes of posts that wait for the disk, of all clients.
    pub posting_bytes: usize,
    /// Unfinished jobs of a client.
    pub jobs: u32,
    /// Unfinished jobs of all clients.
    pub all_jobs: u32,
    /// Sessions of a client.
    pub sessions: u32,
    /// Sessions of all clients.
    pub all_sessions: u32,
    /// How long a session is kept that no client asks for, in hours.
    pub session_hours: u64,
    /// Orders of a client; 0: none are taken.
    pub orders: u32,
    /// Orders of all clients.
    pub all_orders: u32,
    /// How long an order is kept that no client asks for, and each digest that it had made, in days.
    pub order_days: u64,
    /// Keys that a client may register.
    pub keys: u32,
    /// Keys of all clients.
    pub all_keys: u32,
    /// How long a key is kept that nobody uses, in days during which the server runs.
    pub key_days: u64,
    /// Addresses that a client may publish; 0: none.
    pub addresses: u32,
    /// Addresses of all clients.
    pub all_addresses: u32,
    /// How long an address is kept that is not published again, in days during which the server runs.
    pub address_days: u64,
    /// Most messages of one digest.
    pub digest_messages: u64,
    /// Largest bound.
    pub bound: u32,
    /// How long a finished digest is kept, in hours.
    pub digest_hours: u64,
    /// Bytes of unfinished uploads.
    pub upload_bytes: u64,
    /// How long an upload may rest, in hours.
    pub upload_hours: u64,
    /// Connections of an address at a time.
    pub connections: usize,
    /// Connections of all addresses at a time.
    pub all_connections: usize,
    /// Subscriptions and watched jobs at a time.
    pub streams: usize,
    /// Seconds that a client may leave a stream without its next message.
    pub idle_seconds: u64,
    /// How long the id of a post is remembered, in hours.
    pub post_id_hours: u64,
}

/// How digests are made.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Detector {
    /// Whether this process makes digests; else workers elsewhere make all.
    pub local_worker: bool,
    /// Seconds for which a worker elsewhere may be silent.
    pub lease_seconds: u64,
    /// What makes digests here: `auto`, `cpu` or `cuda`.
    pub engine: Choice,
    /// Threads for digests; all cores for 0.
    pub threads: usize,
    /// Threads for sessions; half of the cores for 0.
    pub session_threads: usize,
    /// SophOMR keys kept in memory, 0.3 GB each at full size.
    pub keys_in_memory: usize,
    /// Recipients with the masks of one epoch that one run serves at most.
    pub together: usize,
    /// Seconds that a digest waits for others of its epoch.
    pub together_seconds: f64,
    /// InstantOMR keys kept in memory, 0.2 GB each at full size.
    pub session_keys_in_memory: usize,
    /// Seconds of a batch by SophOMR on this machine, as `omr-lab bench crossover` measures.
    pub batch_seconds: f64,
    /// Seconds of a message by InstantOMR.
    pub message_seconds: f64,
}

/// Logs, traces, metrics.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// What is logged, in the form of `RUST_LOG`.
    pub log: String,
    /// Logs as lines of JSON.
    pub json: bool,
    /// Where spans go by OTLP over gRPC, such as `http://localhost:4317`.
    pub otlp: Option<String>,
    /// Address of the metrics, which may be `listen`'s own; they are not served if absent.
    pub metrics: Option<SocketAddr>,
    /// Whether there is a status page.
    pub status: bool,
    /// Whether it lists single digests: their lengths and times, and what those that run are at.
    pub digests: bool,
}

/// Addresses of the server of tables, which may run beside that of a board by one configuration.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Tables {
    /// Address and port for queries and pages.
    #[serde(deserialize_with = "listen")]
    pub listen: SocketAddr,
    /// Address of the metrics, which may be `listen`'s own; they are not served if absent.
    pub metrics: Option<SocketAddr>,
}

/// The place at which metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsAt {
    /// They are not.
    Nowhere,
    /// At the address for clients.
    Server,
    /// At an address of their own.
    Own(SocketAddr),
}

/// Pages for people, beside the status.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// Folder of the page for letters, as `cargo xtask web` makes it, for `/mail/`; none if absent.
    pub mail: Option<PathBuf>,
}

fn listen<'de, D: serde::Deserializer<'de>>(value: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(value)?;
    address(&text).map_err(serde::de::Error::custom)
}

/// An address and port; the address may be a name of this machine.
///
/// Errors: `Address`.
pub fn address(text: &str) -> Result<SocketAddr, ServerError> {
    let found = text.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
    let found = found.unwrap_or_default();
    // A name has several; the older protocol is what most clients try.
    let first = found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first());
    first
        .copied()
        .ok_or_else(|| ServerError::Address(text.to_owned()))
}

impl Limits {
    /// How long an order and its digests are kept.
    pub(crate) fn order_time(&self) -> Duration {
        Duration::from_secs(self.order_days.saturating_mul(24 * 3600))
    }
}

impl Config {
    /// That of a server for tests, with both engines.
    #[cfg(test)]
    pub(crate) fn tiny(data: &Path) -> Self {
        let mut config = Self {
            data: data.to_owned(),
            ..Self::default()
        };
        config.board.params = "insecure-tiny-hybrid-v4".into();
        config
    }

    /// Reads a configuration.
    ///
    /// Errors: `Read`, `Config`.
    pub fn read(path: &Path) -> Result<Self, ServerError> {
        let text = std::fs::read_to_string(path).map_err(ServerError::read(path))?;
        let config: Self =
            toml::from_str(&text).map_err(|source| ServerError::Config(path.to_owned(), source))?;
        config.check()?;
        Ok(config)
    }

    /// The configuration of a file, or the default without one.
    ///
    /// Errors: `Read`, `Config`, `Setting`.
    pub fn of(path: Option<&Path>) -> Result<Self, ServerError> {
        path.map_or_else(|| Ok(Self::default()), Self::read)
    }

    /// Where metrics are served.
    pub(crate) fn metrics_at(&self) -> MetricsAt {
        match self.watch.metrics {
            None => MetricsAt::Nowhere,
            Some(address) if address == self.listen => MetricsAt::Server,
            Some(address) => MetricsAt::Own(address),
        }
    }

    /// Whether somebody without a token may post, and ask for digests.
    pub fn anonymous(&self) -> [bool; 2] {
        [self.access.anonymous_post, self.access.anonymous_detect]
    }

    /// The file of tokens.
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
    fn strangers_need_a_token_unless_the_configuration_says_otherwise() {
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
