//! Connections of commands: they are given up soon where no server answers, with a note where they take long.

use crate::error::CliError;
use omr_console::Ui;
use omr_remote::{
    Client, Endpoint, Proxy, Retry, Timeouts, UNREACHED, UNREACHED_BY_PROXY, Waiting,
};
use std::sync::Arc;
use std::time::Duration;

/// The highest time to connect; until then no note is printed.
const CONNECT: Duration = Duration::from_secs(3);

/// Connects to a server, with the timeout and the proxy of the command line.
///
/// Errors: `Remote`.
/// Panics: outside a Tokio runtime.
pub(super) fn connect(server: Endpoint, ui: &Ui) -> Result<Client, CliError> {
    let notices = ui.clone();
    let given = ui.timeout();
    let proxy = ui.proxy().map(str::parse::<Proxy>).transpose()?;
    let (most, unreached) = match proxy {
        Some(_) => (UNREACHED_BY_PROXY, UNREACHED_BY_PROXY),
        None => (CONNECT, UNREACHED),
    };
    let endpoint = Endpoint {
        unreached: Some(given.unwrap_or(unreached)),
        retry: Retry {
            total: given.unwrap_or(Retry::default().total),
            ..Retry::default()
        },
        timeouts: Timeouts {
            connect: most,
            ..Timeouts::default()
        },
        notice: Some(Arc::new(move |waiting| notices.warn(&text(waiting)))),
        proxy,
        ..server
    };
    Ok(Client::connect(&endpoint)?)
}

fn text(waiting: &Waiting) -> String {
    let Waiting { url, last, left } = waiting;
    format!(
        "no success with {url} so far ({last}): trying for {} s more, `--timeout` sets how long",
        left.as_secs()
    )
}
