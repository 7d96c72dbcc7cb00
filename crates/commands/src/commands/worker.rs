//! `omr worker`: makes digests for a server elsewhere.

use crate::args::WorkerArgs;
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_ops::TelemetryConfig;
use omr_remote::{Endpoint, Waiting};
use omr_worker::{Settings, Worker};
use std::sync::Arc;

pub(super) fn run(args: &WorkerArgs, ui: &Ui) -> Result<(), CliError> {
    let settings = settings(args)?;
    let runtime = super::serve::runtime()?;
    let telemetry = TelemetryConfig {
        filter: args.log.clone(),
        json: false,
        otlp_endpoint: None,
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
        together: args.together.unwrap_or(0),
        engines: args.engine.into_iter().collect(),
        build: omr_console::build().to_owned(),
    })
}

async fn work(settings: Settings, args: &WorkerArgs, ui: &Ui) -> Result<(), CliError> {
    let stopped = super::serve::stopped().map_err(CliError::Runtime)?;
    let mut stopped = Box::pin(stopped);
    let worker = tokio::select! {
        () = &mut stopped => return Ok(()),
        worker = Worker::connect(settings) => worker?,
    };
    super::warn_if_insecure(worker.set().spec(), ui);
    // Programs that start a worker read this line.
    let server = &args.server;
    if args.json {
        io::print_json(&serde_json::json!({ "server": server }))?;
    } else {
        io::print(&format!("working for {server}\n"))?;
    }
    let stop = worker.stop();
    tokio::spawn(async move {
        stopped.await;
        stop.stop();
    });
    Ok(worker.run().await?)
}
