//! `omr health`: checks whether a server is ready.

use crate::commands::full::FullError;
use crate::error::CliError;
use crate::io;
use omr_remote::{Client, Endpoint, Retry};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Health {
    /// The server
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:7600")]
    pub(crate) url: String,
    /// Certificate of the server's authority, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &Health) -> Result<(), CliError> {
    let endpoint = Endpoint {
        ca_certificate: args
            .ca
            .as_deref()
            .map(super::data::certificate)
            .transpose()?,
        // The command reports the present state, so it does not wait.
        retry: Retry {
            total: Duration::ZERO,
            ..Retry::default()
        },
        ..Endpoint::new(&args.url)
    };
    let serves = super::serve::runtime()?
        .block_on(async { Client::connect(&endpoint)?.is_serving().await })?;
    if !serves {
        return Err(FullError::NotServing(args.url.clone()).into());
    }
    if args.json {
        io::print_json(&serde_json::json!({ "url": args.url, "serving": true }))?;
    } else {
        io::print("serving\n")?;
    }
    Ok(())
}
