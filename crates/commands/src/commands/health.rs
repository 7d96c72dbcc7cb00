//! `omr health`: whether a server serves.

use crate::args::Health;
use crate::error::CliError;
use crate::io;
use omr_remote::{Client, Endpoint, Retry};
use std::time::Duration;

pub(super) fn run(args: &Health) -> Result<(), CliError> {
    let endpoint = Endpoint {
        ca_certificate: args
            .ca
            .as_deref()
            .map(super::data::certificate)
            .transpose()?,
        // Whoever asks wants to know about now.
        retry: Retry {
            total: Duration::ZERO,
            ..Retry::default()
        },
        ..Endpoint::new(&args.url)
    };
    let serves = super::serve::runtime()?
        .block_on(async { Client::connect(&endpoint)?.is_serving().await })?;
    match serves {
        true if args.json => {
            let answer = serde_json::json!({ "url": args.url, "serving": true });
            Ok(io::print_json(&answer)?)
        }
        true => Ok(io::print("serving\n")?),
        false => Err(CliError::NotServing(args.url.clone())),
    }
}
