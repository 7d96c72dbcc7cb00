//! `omr health`: checks whether a server is ready.

use crate::commands::full::FullError;
use crate::error::CliError;
use crate::io;
use omr_remote::{Client, Endpoint, Retry};
use omr_server::{Config, certificate_and_name};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Health {
    /// The server; unless given, the one of the configuration, on this machine
    #[arg(value_name = "URL", conflicts_with = "config")]
    pub(crate) url: Option<String>,
    /// Configuration of the server, as for omr serve
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Certificate of the server's authority, in PEM; unless given, the system's, or those of the configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &Health) -> Result<(), CliError> {
    let mut endpoint = match &args.url {
        Some(url) => Endpoint::new(url),
        None => configured(args)?,
    };
    if let Some(path) = &args.ca {
        endpoint.ca_certificate = Some(super::data::certificate(path)?);
    }
    // The command reports the present state, so it does not wait.
    endpoint.retry = Retry {
        total: Duration::ZERO,
        ..Retry::default()
    };
    let url = endpoint.url.clone();
    let serves = super::serve::runtime()?
        .block_on(async { Client::connect(&endpoint)?.is_serving().await })?;
    if !serves {
        return Err(FullError::NotServing(url).into());
    }
    if args.json {
        io::print_json(&serde_json::json!({ "url": url, "serving": true }))?;
    } else {
        io::print("serving\n")?;
    }
    Ok(())
}

/// Returns the server of a configuration. Its own certificates stand for their authority.
fn configured(args: &Health) -> Result<Endpoint, CliError> {
    let config = Config::of(args.config.as_deref())?;
    let address = reached(config.listen);
    let Some(tls) = &config.tls else {
        return Ok(Endpoint::new(format!("http://{address}")));
    };
    let (pem, name) = certificate_and_name(&tls.certificate)?;
    Ok(Endpoint {
        ca_certificate: Some(pem),
        server_name: Some(name),
        ..Endpoint::new(format!("https://{address}"))
    })
}

/// Returns the address at which this machine reaches a server that listens at `listen`.
fn reached(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
