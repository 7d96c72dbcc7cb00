//! `omr serve`: serves a board and a detector over the network.

use crate::commands::full::FullError;
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_memory::Memory;
use omr_ops::TelemetryConfig;
use omr_protocol::clue::ClueKind;
use omr_protocol::params::SetSpec;
use omr_server::{Config, Pulse, Server, check_memory, create_private_files, tokens};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

#[derive(clap::Args)]
pub(crate) struct Serve {
    /// Configuration in TOML; every setting has a default
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address and port, in place of the configuration's; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = omr_server::config::address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Folder of all the server's data, in place of the configuration's
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Parameter set of the board that the first start makes, in place of the configuration's
    #[arg(long, value_name = "NAME")]
    pub(crate) params: Option<String>,
    /// Clues of that board, in place of the configuration's: bound, or plain, which anybody can make so that they reach
    /// every recipient
    #[arg(long, value_name = "KIND")]
    pub(crate) clues: Option<ClueKind>,
    /// Admit clients without a token to posts and digests; otherwise both need a token of `omr token`
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Print the address of the server as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const SERVE: &str = "\
Examples:
  omr serve --anonymous                 # at http://127.0.0.1:7600
  omr serve --config /etc/omr/omr.toml
  omr serve --listen 127.0.0.1:0 --data board-data --params sophomr-v5
  omr health http://127.0.0.1:7600      # exit code 0: it serves

The first start makes the board; everything that is kept lies in one folder. With --anonymous \
anybody who reaches the address may post and ask for digests; without it clients need tokens (omr token). docs/operating.md explains every key of the \
configuration.";

/// The number of bytes of address space of a thread's stack.
const STACK: u64 = 2 << 20;

pub(super) fn run(args: &Serve, ui: &Ui) -> Result<(), CliError> {
    create_private_files();
    let config = config(args)?;
    // Threads and logs of the runtime take memory, so this check precedes them.
    check_memory(&config)?;
    watched(config.clone(), serve(config, args.json, ui))
}

/// Runs a server with the logs and traces of its configuration.
pub(super) fn watched(
    config: Config,
    serve: impl Future<Output = Result<(), CliError>>,
) -> Result<(), CliError> {
    let runtime = runtime()?;
    let telemetry = runtime.block_on(async { omr_ops::init(&telemetry(&config)) })?;
    let served = runtime.block_on(serve);
    drop(telemetry);
    runtime.shutdown_background();
    served
}

/// Returns a runtime for commands that use the network.
///
/// Errors: `Runtime`.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    // This precedes the start of its threads.
    omr_memory::share_heaps();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Memory {
        addresses: true,
        available: Some(left),
        ..
    } = Memory::now()
    {
        // Their stacks take at most a sixteenth of the memory that is left; 512 threads, the default, take 1 GiB.
        let threads = (left / 16 / STACK).clamp(8, 512);
        builder.max_blocking_threads(threads as usize);
    }
    let runtime = builder.enable_all().build();
    Ok(runtime.map_err(FullError::Runtime)?)
}

fn config(args: &Serve) -> Result<Config, CliError> {
    let mut config = Config::of(args.config.as_deref())?;
    config.build = omr_console::build().to_owned();
    config.listen = args.listen.unwrap_or(config.listen);
    config.data = args.data.clone().unwrap_or(config.data);
    config.access.anonymous_post |= args.anonymous;
    config.access.anonymous_detect |= args.anonymous;
    config.board.params = args.params.clone().unwrap_or(config.board.params);
    config.board.clues = args
        .clues
        .map(|clues| clues.to_string())
        .or(config.board.clues);
    Ok(config)
}

fn telemetry(config: &Config) -> TelemetryConfig {
    TelemetryConfig {
        filter: config.watch.log.clone(),
        json: config.watch.json,
        otlp_endpoint: config.watch.otlp.clone(),
        service_name: "omr".into(),
    }
}

async fn serve(config: Config, json: bool, ui: &Ui) -> Result<(), CliError> {
    let (scheme, unusable) = (scheme(&config, ui), unusable(&config));
    if let Ok(set) = SetSpec::named(&config.board.params) {
        crate::commands::warn_if_insecure(&set, ui);
    }
    let stop = stopped().map_err(FullError::Runtime)?;
    let server = Server::start(config).await?;
    unusable.inspect(|text| ui.warn(text));
    announce(scheme, server.address()?, json)?;
    let beating = tokio::spawn(beat(server.pulse()));
    let served = server.run(farewell(stop)).await;
    beating.abort();
    Ok(served?)
}

/// Notifies the watchdog of systemd, if the unit has one, as long as the server answers.
async fn beat(pulse: Pulse) {
    let Some(within) = sd_notify::watchdog_enabled() else {
        return;
    };
    let mut beats = tokio::time::interval(within / 3);
    loop {
        beats.tick().await;
        pulse.check().await;
        notify(&[sd_notify::NotifyState::Watchdog]);
    }
}

/// Returns the scheme of the server's URL; warns if strangers may use a server without TLS.
pub(super) fn scheme(config: &Config, ui: &Ui) -> &'static str {
    let [post, detect] = config.anonymous();
    if !config.listen.ip().is_loopback() && (post || detect) {
        ui.warn("strangers may use this server without a token: see docs/operating.md");
    }
    match config.tls {
        Some(_) => "https",
        None => "http",
    }
}

/// Returns a warning for a server that nobody may use, such as one without a configuration.
pub(super) fn unusable(config: &Config) -> Option<String> {
    let path = config.tokens();
    let none = tokens::list(&path).is_ok_and(|tokens| tokens.is_empty());
    let closed = config.anonymous() == [false; 2] && none;
    closed.then(|| {
        format!(
            "nobody may use this server yet: make a token with `omr token add --file {}`, or start it with --anonymous",
            path.display()
        )
    })
}

/// Prints the address of the server, and notifies systemd.
pub(super) fn announce(scheme: &str, address: SocketAddr, json: bool) -> Result<(), CliError> {
    let url = format!("{scheme}://{address}");
    // Programs that start a server parse this line.
    if json {
        io::print_json(&serde_json::json!({ "url": url }))?;
    } else {
        io::print(&format!("listening on {url}\n"))?;
    }
    notify(&[sd_notify::NotifyState::Ready]);
    Ok(())
}

/// Waits for a request to stop, and notifies systemd.
pub(super) async fn farewell(stop: impl Future<Output = ()>) {
    stop.await;
    notify(&[sd_notify::NotifyState::Stopping]);
}

/// Notifies systemd, if it started the server.
fn notify(states: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd was not notified");
    }
}

/// Returns a future that ends when the process is asked to stop.
pub(super) fn stopped() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
