//! `omr pdq serve`: serves tables over the network.

use crate::commands::full::FullError;
use crate::commands::full::headings::LIMITS;
use crate::commands::full::pdq::SET;
use crate::commands::full::serve::{announce, farewell, scheme, stopped, unusable, watched};
use crate::error::CliError;
use omr_console::Ui;
use omr_console::args::threads;
use omr_server::{Config, PdqConfig, PdqServer, create_private_files};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct PdqServe {
    /// Files of tables
    #[arg(value_name = "TABLE", required = true)]
    pub(crate) tables: Vec<PathBuf>,
    /// Configuration in TOML, in the form of `omr serve`: TLS, access, limits of connections, logs
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address and port, in place of the configuration's pdq.listen; port 0 takes a free one [default: 127.0.0.1:7601]
    #[arg(long, value_name = "ADDRESS", value_parser = omr_server::config::address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Admit clients without a token; otherwise queries need a token of `omr token`
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Print the address of the server as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder of clients' keys and of tokens, in place of the configuration's [default: pdq-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Parameter sets that are served
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values_t = [SET.to_owned(), "pdq-deep-v1".to_owned()])]
    pub(crate) params: Vec<String>,
    /// Number of queries that are answered at a time
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) at_once: u16,
    /// Number of queries that may wait
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = 4)]
    pub(crate) waiting: u16,
    /// Threads to work on; all cores unless given
    #[arg(long, help_heading = LIMITS, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Number of clients' keys that are kept; then the client with most keys loses its least recently used one
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keys: u32,
    /// Highest number of bytes of all these keys
    #[arg(long, help_heading = LIMITS, value_name = "B", default_value_t = 16 << 30)]
    pub(crate) key_bytes: u64,
    /// Highest number of bytes of memory for one query
    #[arg(long, help_heading = LIMITS, value_name = "B", default_value_t = 8 << 30)]
    pub(crate) query_memory: u64,
    /// Highest number of seconds for one query
    #[arg(long, help_heading = LIMITS, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) query_seconds: u64,
}

pub(crate) const PDQ_SERVE: &str = "\
Examples:
  omr pdq serve people.table --anonymous  # at http://127.0.0.1:7601
  omr pdq serve people.table --listen 127.0.0.1:0 --data other-data

With --anonymous anybody who reaches the address may ask; without it clients need tokens (omr token). Clients' keys \
lie in pdq-data.";

/// The default folder of clients' keys.
const DATA: &str = "pdq-data";

pub(super) fn run(args: &PdqServe, ui: &Ui) -> Result<(), CliError> {
    create_private_files();
    let mut config = Config::of(args.config.as_deref())?;
    if args.config.is_none() && std::env::var_os("OMR_DATA").is_none() {
        // A server of boards may use the same folder.
        config.data = DATA.into();
    }
    config.listen = args.listen.unwrap_or(config.pdq.listen);
    config.watch.metrics = config.pdq.metrics;
    config.data = args.data.clone().unwrap_or(config.data);
    config.access.anonymous_detect |= args.anonymous;
    let pdq = PdqConfig {
        tables: args.tables.clone(),
        params: args.params.clone(),
        at_once: args.at_once.into(),
        waiting: args.waiting.into(),
        threads: args.threads.unwrap_or(0).into(),
        keys: args.keys as usize,
        key_bytes: args.key_bytes,
        query_memory: args.query_memory,
        query_seconds: args.query_seconds,
    };
    watched(config.clone(), serve(config, pdq, args.json, ui))
}

async fn serve(config: Config, pdq: PdqConfig, json: bool, ui: &Ui) -> Result<(), CliError> {
    let (scheme, unusable) = (scheme(&config, ui), unusable(&config));
    let stop = stopped().map_err(FullError::Runtime)?;
    let server = PdqServer::start(config, pdq).await?;
    unusable.inspect(|text| ui.warn(text));
    announce(scheme, server.address()?, json)?;
    Ok(server.run(farewell(stop)).await?)
}
