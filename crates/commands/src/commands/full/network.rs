//! Connections for people: given up soon where nobody answers, and told of where they take long.

use crate::error::CliError;
use omr_console::Ui;
use omr_remote::{Client, Endpoint, Retry, Timeouts, UNREACHED, Waiting};
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to come about: sooner than that nobody hears that there is none.
const CONNECT: Duration = Duration::from_secs(3);

/// Connects to a server, with the time that the person gives it.
///
/// Errors: `Remote`.
/// Panics: outside a Tokio runtime.
pub(super) fn connect(server: Endpoint, ui: &Ui) -> Result<Client, CliError> {
    let told = ui.clone();
    let given = ui.timeout();
    let endpoint = Endpoint {
        unreached: Some(given.unwrap_or(UNREACHED)),
        retry: Retry {
            total: given.unwrap_or(Retry::default().total),
            ..Retry::default()
        },
        timeouts: Timeouts {
            connect: CONNECT,
            ..Timeouts::default()
        },
        notice: Some(Arc::new(move |waiting| told.warn(&text(waiting)))),
        ..server
    };
    Ok(Client::connect(&endpoint)?)
}

fn text(waiting: &Waiting) -> String {
    let Waiting { url, last, left } = waiting;
    format!(
        "no success with {url} so far ({last}): trying for {} s more, `--timeout` says how long",
        left.as_secs()
    )
}
