//! The address of a server, and how a client connects to it.

use crate::{Proxy, RemoteError, Retry};
use std::sync::Arc;
use std::time::Duration;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Uri};
use tonic::{Request, Status};

/// How long commands of people wait for a server that never answered, see [`Endpoint::unreached`].
pub const UNREACHED: Duration = Duration::from_secs(2);

/// How long they wait where a proxy is between, which may have to build a circuit first.
pub const UNREACHED_BY_PROXY: Duration = Duration::from_secs(60);

/// How long things may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// A connection.
    pub connect: Duration,
    /// A call with one answer, one attempt.
    pub call: Duration,
    /// A connection without a sign of life.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            call: Duration::from_secs(30),
            silence: Duration::from_secs(30),
        }
    }
}

/// The state of a client whose attempts fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The server's URL.
    pub url: String,
    /// The result of the last attempt.
    pub last: String,
    /// The time for which it continues to try.
    pub left: Duration,
}

/// The function that is called when a client waits: once until the server answers again.
pub type Notice = Arc<dyn Fn(&Waiting) + Send + Sync>;

/// A server as a client sees it.
#[derive(Clone, Default)]
pub struct Endpoint {
    /// `https://host:port`, or `http://` on this machine.
    pub url: String,
    /// The CA that signed the server's certificate, as PEM; those of the system unless given.
    pub ca_certificate: Option<Vec<u8>>,
    /// The name that the server's certificate must have; the host of the URL unless given.
    pub server_name: Option<String>,
    /// The caller's token.
    pub token: Option<String>,
    /// The proxy through which all connections are made, if any: none is made beside it.
    pub proxy: Option<Proxy>,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How patient the client is.
    pub retry: Retry,
    /// Time after which a call fails as long as the server never answered, where that is sooner: somebody who waits
    /// at a screen wants to hear of a wrong URL at once.
    pub unreached: Option<Duration>,
    /// Called once a call has failed for two seconds and is still retried.
    pub notice: Option<Notice>,
}

/// Without the token.
impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// A server with the usual timeouts, without a token.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ..Self::default()
        }
    }

    /// A channel that connects when it is first used, and again whenever it broke.
    ///
    /// Errors: `Url`, `Plaintext`, `Setup`.
    pub(crate) fn channel(&self) -> Result<Channel, RemoteError> {
        let bad = || RemoteError::Url(self.url.clone());
        let uri: Uri = self.url.parse().map_err(|_| bad())?;
        let host = uri.host().ok_or_else(bad)?.to_owned();
        let timeouts = &self.timeouts;
        let plain = Channel::builder(uri.clone())
            .connect_timeout(
                timeouts
                    .connect
                    .min(self.unreached.unwrap_or(Duration::MAX)),
            )
            .http2_keep_alive_interval(timeouts.silence / 2)
            .keep_alive_timeout(timeouts.silence / 2)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true);
        let secured = match uri.scheme_str() {
            Some("https") => plain.tls_config(self.tls()).map_err(RemoteError::Setup)?,
            Some("http") if is_loopback(&host) => plain,
            // Tor encrypts connections to such a name, which is the server's key.
            Some("http") if self.proxy.is_some() && host.ends_with(".onion") => plain,
            Some("http") => return Err(RemoteError::Plaintext(host)),
            _ => return Err(bad()),
        };
        Ok(match &self.proxy {
            Some(proxy) => secured.connect_with_connector_lazy(proxy.connector()),
            None => secured.connect_lazy(),
        })
    }

    fn tls(&self) -> ClientTlsConfig {
        let trusting = match &self.ca_certificate {
            Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
            None => ClientTlsConfig::new().with_enabled_roots(),
        };
        match &self.server_name {
            Some(name) => trusting.domain_name(name),
            None => trusting,
        }
    }

    /// Returns the interceptor that adds the token to every call, and a trace context where the program has one and no
    /// proxy is to hide that its calls belong together.
    ///
    /// Errors: `Token`.
    pub(crate) fn bearer(&self) -> Result<Bearer, RemoteError> {
        let mut bearer = Bearer {
            token: None,
            #[cfg(feature = "otlp")]
            is_traced: self.proxy.is_none(),
        };
        if let Some(token) = &self.token {
            let mut value: MetadataValue<Ascii> = format!("Bearer {token}")
                .parse()
                .map_err(|_| RemoteError::Token)?;
            value.set_sensitive(true);
            bearer.token = Some(value);
        }
        Ok(bearer)
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address: Result<std::net::IpAddr, _> = bare.parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Adds the caller's token and trace context.
#[derive(Clone)]
pub(crate) struct Bearer {
    token: Option<MetadataValue<Ascii>>,
    #[cfg(feature = "otlp")]
    is_traced: bool,
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.token {
            request
                .metadata_mut()
                .insert("authorization", value.clone());
        }
        #[cfg(feature = "otlp")]
        if self.is_traced {
            crate::traces::inject(request.metadata_mut());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tokens_do_not_leave_the_machine_in_the_clear() {
        for url in [
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://localhost:1",
            "https://example.org",
        ] {
            assert!(Endpoint::new(url).channel().is_ok(), "{url}");
        }
        let through = Endpoint {
            proxy: Some("socks5h://127.0.0.1:9050".parse().unwrap()),
            ..Endpoint::new("http://example.onion")
        };
        assert!(through.channel().is_ok());
        for url in [
            "http://example.org",
            "http://onion",
            "http://a.onion.example",
        ] {
            let url = url.to_owned();
            let plain = Endpoint {
                url,
                ..through.clone()
            }
            .channel();
            assert!(matches!(plain, Err(RemoteError::Plaintext(_))));
        }
        let plain = Endpoint::new("http://example.onion").channel();
        assert!(matches!(plain, Err(RemoteError::Plaintext(_))));
        let plain = Endpoint::new("http://example.org").channel();
        assert!(matches!(plain, Err(RemoteError::Plaintext(_))));
        for url in ["", "example", "ftp://127.0.0.1", "/path"] {
            let bad = Endpoint::new(url).channel();
            assert!(matches!(bad, Err(RemoteError::Url(_))), "{url}");
        }
        let odd = Endpoint {
            token: Some("a\nb".into()),
            ..Endpoint::new("http://127.0.0.1:1")
        };
        assert!(matches!(odd.bearer(), Err(RemoteError::Token)));
    }
}
