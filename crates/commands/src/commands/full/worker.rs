//! `omr worker`: makes digests for a server on another machine.

use crate::commands::full::FullError;
use crate::commands::full::access::TokenArg;
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_console::args::threads;
use omr_cuda::Choice;
use omr_ops::{TelemetryConfig, WorkerFigures};
use omr_protocol::EngineKind;
use omr_remote::{Endpoint, Waiting};
use omr_server::ServerError;
use omr_worker::{Figures, Settings, Worker};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;

#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    /// The server for which it makes digests
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Certificate of the server's authority, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Hardware that makes digests: an NVIDIA card, the processor, or (auto) a card if there is one
    #[arg(long, value_name = "WHERE", default_value_t = Choice::Auto)]
    pub(crate) on: Choice,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Number of keys kept in memory from one run to the next, 0.3 GB each at full size
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) keys: usize,
    /// Memory for messages kept from one run to the next: 0.23 GB a full batch
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = size)]
    pub(crate) messages: usize,
    /// Memory for payloads kept prepared for the second of two rounds: 0.6 GB a full batch
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = size)]
    pub(crate) prepared: usize,
    /// Highest number of recipients of one run [default: as many as the server combines]
    #[arg(long, value_name = "N")]
    pub(crate) together: Option<u32>,
    /// Make digests with this engine alone, sophomr, instantomr or two-rounds, for machines with memory for one
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    pub(crate) engine: Option<EngineKind>,
    /// Name of the worker in the server's log: letters, digits, - _ and . [default: random]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Address and port of the worker's metrics for Prometheus, at /metrics; none unless given
    #[arg(long, value_name = "ADDRESS", value_parser = omr_server::config::address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Address of a collector for spans, by OTLP over gRPC; none unless given
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Print the worker's server as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Filter of the log, in the form of RUST_LOG
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(crate) log: String,
}

/// Parses a number of bytes, such as 14GB, 512MB or 0.
fn size(text: &str) -> Result<usize, String> {
    let units = [("GB", 30), ("MB", 20), ("KB", 10), ("", 0)];
    let read = units.iter().find_map(|(unit, bits)| {
        let number: usize = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(1 << bits)
    });
    read.ok_or_else(|| format!("expected a size such as 14GB or 512MB, found {text:?}"))
}

/// Parses the name of an engine in small letters.
fn engine(text: &str) -> Result<EngineKind, String> {
    let name = |kind: EngineKind| kind.title().to_lowercase().replace(' ', "-");
    let named = EngineKind::ALL.into_iter().find(|&kind| name(kind) == text);
    let expected = EngineKind::ALL.map(name).join(" or ");
    named.ok_or_else(|| format!("expected {expected}, found {text:?}"))
}

pub(crate) const WORKER: &str = "\
Examples:
  omr token add --file omr-data/tokens.toml --name pool --may work
  omr worker --server https://mail.example.org:7600 --token-file pool.token
  omr worker --server http://127.0.0.1:7600 --token TOKEN \\
    --keys 4 --threads 8 --name box-1
  omr worker --server http://127.0.0.1:7600 --token TOKEN --engine instantomr

It stores nothing on the disk, and may be stopped at any time: the server gives its work to \
others. docs/operating.md describes how many to run, and how the server leaves all work to them.";

pub(super) fn run(args: &WorkerArgs, ui: &Ui) -> Result<(), CliError> {
    let settings = settings(args)?;
    let runtime = super::serve::runtime()?;
    let telemetry = TelemetryConfig {
        filter: args.log.clone(),
        json: false,
        otlp_endpoint: args.otlp.clone(),
        service_name: "omr-worker".into(),
    };
    let telemetry = runtime.block_on(async { omr_ops::init(&telemetry) })?;
    let worked = runtime.block_on(work(settings, args, ui));
    drop(telemetry);
    runtime.shutdown_background();
    worked
}

fn settings(args: &WorkerArgs) -> Result<Settings, CliError> {
    let certificate = args.ca.as_deref().map(super::data::certificate);
    let endpoint = Endpoint {
        ca_certificate: certificate.transpose()?,
        token: args.token.text(),
        // A worker may be started before its server.
        notice: Some(Arc::new(|waiting: &Waiting| {
            tracing::warn!(
                url = waiting.url,
                last = waiting.last,
                "no answer from the server so far: trying for {} s more",
                waiting.left.as_secs()
            );
        })),
        ..Endpoint::new(&args.server)
    };
    Ok(Settings {
        endpoint,
        name: args.name.clone(),
        on: args.on,
        threads: args.threads.map_or(0, usize::from),
        keys: args.keys.max(1),
        messages_bytes: args.messages,
        prepared_bytes: args.prepared as u64,
        together: args.together.unwrap_or(0),
        engines: args.engine.into_iter().collect(),
        figures: Figures::default(),
        build: omr_console::build().to_owned(),
    })
}

async fn work(settings: Settings, args: &WorkerArgs, ui: &Ui) -> Result<(), CliError> {
    let stopped = super::serve::stopped().map_err(FullError::Runtime)?;
    let mut stopped = Box::pin(stopped);
    let listener = match args.metrics {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let figures = settings.figures.clone();
    let worker = tokio::select! {
        () = &mut stopped => return Ok(()),
        worker = Worker::connect(settings) => worker?,
    };
    crate::commands::warn_if_insecure(worker.set().spec(), ui);
    // Programs that start a worker parse this line.
    let server = &args.server;
    if args.json {
        io::print_json(&serde_json::json!({ "server": server }))?;
    } else {
        io::print(&format!("working for {server}\n"))?;
    }
    if let Some(listener) = listener {
        let router =
            omr_ops::worker_router(env!("CARGO_PKG_VERSION"), worker.set().name(), move || {
                WorkerFigures {
                    working: figures.is_working(),
                    digests: figures.digests(),
                    failures: figures.failures(),
                    run_seconds: figures.run_seconds(),
                }
            });
        if let Ok(address) = listener.local_addr() {
            tracing::info!("metrics at http://{address}/metrics");
        }
        tokio::spawn(omr_ops::serve_metrics(listener, router));
    }
    let stop = worker.stop();
    tokio::spawn(async move {
        stopped.await;
        stop.stop();
    });
    Ok(worker.run().await?)
}

/// Listens at the address of the metrics.
async fn listen(address: SocketAddr) -> Result<TcpListener, ServerError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| ServerError::Listen { address, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_have_names() {
        let read = ["sophomr", "instantomr", "two-rounds"].map(engine);
        assert_eq!(read, EngineKind::ALL.map(Ok));
        let wrong = engine("hybrid").unwrap_err();
        assert_eq!(
            wrong,
            "expected sophomr or instantomr or two-rounds, found \"hybrid\""
        );
    }

    #[test]
    fn sizes_have_units() {
        let read = ["14GB", "512MB", "3 KB", "7", "0"].map(size);
        let expected = [14 << 30, 512 << 20, 3 << 10, 7, 0];
        assert_eq!(read, expected.map(Ok));
        for wrong in ["", "GB", "-1", "1.5GB", "14 apples", "99999999999999999999"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
