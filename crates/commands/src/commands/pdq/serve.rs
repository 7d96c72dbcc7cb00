//! Tables behind a network.

use crate::args::PdqServe;
use crate::commands::serve::{announce, farewell, scheme, stopped, unusable, watched};
use crate::error::CliError;
use omr_console::Ui;
use omr_server::{Config, PdqConfig, PdqServer, create_private_files};

/// Folder of clients' keys unless told otherwise.
const DATA: &str = "pdq-data";

pub(super) fn run(args: &PdqServe, ui: &Ui) -> Result<(), CliError> {
    create_private_files();
    let mut config = Config::of(args.config.as_deref())?;
    if args.config.is_none() {
        // Beside a server of boards in the same folder.
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
    let stop = stopped().map_err(CliError::Runtime)?;
    let server = PdqServer::start(config, pdq).await?;
    unusable.inspect(|text| ui.warn(text));
    announce(scheme, server.address()?, json)?;
    Ok(server.run(farewell(stop)).await?)
}
