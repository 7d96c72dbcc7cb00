//! Connections, up to the allowed number at a time.

use crate::caller::Callers;
use crate::config::Config;
use crate::error::ServerError;
use crate::peer::{Activity, Peer};
use crate::proxies::Proxies;
use crate::share::{Place, Places};
use crate::strangers::of_one_stranger;
use omr_ops::{Held, Metrics};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};
use tokio_stream::Stream;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// The pause after an error such as too many open files.
const REST: Duration = Duration::from_millis(50);

/// The time within which a connection must send its first request.
const FIRST: Duration = Duration::from_secs(30);
/// The time between requests of a connection, in multiples of `limits.idle_seconds`.
const IDLE_FACTOR: u32 = 5;

/// The times for which a connection may be without a request.
#[derive(Clone, Copy, Debug)]
struct Patience {
    first: Duration,
    idle: Duration,
}

/// A connection, whose place is free again when it ends.
pub(crate) struct Connection {
    stream: TcpStream,
    address: TcpConnectInfo,
    activity: Arc<Activity>,
    patience: Patience,
    /// The next time to test whether the connection has a request. Bytes without one, such as answers to pings, do not
    /// count.
    look: Pin<Box<Sleep>>,
    metrics: Metrics,
    _counted: Held,
    _place: Place,
}

impl Connection {
    /// Returns whether the connection had no request for too long.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        while self.look.as_mut().poll(cx).is_ready() {
            let left = self.activity.left(self.patience.first, self.patience.idle);
            if left.is_zero() {
                return true;
            }
            self.look.as_mut().reset(Instant::now() + left);
        }
        false
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        Peer {
            address: self.address.clone(),
            activity: self.activity.clone(),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_over(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.metrics.received((buf.filled().len() - before) as u64);
        polled
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = polled {
            self.metrics.sent(written as u64);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The rules for accepting connections.
pub(crate) struct Doors {
    places: Arc<Places>,
    /// The greatest number of connections of an address.
    each: usize,
    /// The greatest number of all connections.
    all: usize,
    patience: Patience,
    proxies: Proxies,
    callers: Arc<Callers>,
    metrics: Metrics,
}

impl Doors {
    /// Creates the rules of a configuration.
    ///
    /// Errors: `Setting`.
    pub(crate) fn new(
        config: &Config,
        callers: Arc<Callers>,
        metrics: Metrics,
    ) -> Result<Self, ServerError> {
        let limits = &config.limits;
        let idle = Duration::from_secs(limits.idle_seconds);
        Ok(Self {
            places: Places::new(limits.all_connections),
            each: limits.connections,
            all: limits.all_connections,
            patience: Patience {
                first: FIRST.min(idle * IDLE_FACTOR),
                idle: idle * IDLE_FACTOR,
            },
            proxies: Proxies::new(&config.access.proxies)?,
            callers,
            metrics,
        })
    }

    /// Reserves a place for a connection from an address. Returns `None` if the address, or all addresses, have too
    /// many.
    fn place(&self, address: IpAddr) -> Option<Place> {
        let client = self.callers.client_at(address);
        if self.proxies.has(address) {
            return self.places.take_of(client, false, self.all);
        }
        let each = if address.to_canonical().is_loopback() {
            // There may be many programs on this machine.
            self.each.max(of_one_stranger(self.all))
        } else {
            self.each
        };
        let stranger = !self.callers.was_known(client);
        self.places.take_of(client, stranger, each)
    }

    /// Accepts a connection, or closes it.
    fn admit(&self, stream: TcpStream, remote: SocketAddr) -> Option<Connection> {
        let Some(place) = self.place(remote.ip()) else {
            tracing::debug!("too many connections");
            self.metrics.connection_refused();
            return None;
        };
        // Small responses are sent without delay.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no delay");
        }
        Some(Connection {
            address: TcpConnectInfo {
                local_addr: stream.local_addr().ok(),
                remote_addr: Some(remote),
            },
            stream,
            activity: Activity::new(),
            patience: self.patience,
            look: Box::pin(tokio::time::sleep(self.patience.first)),
            metrics: self.metrics.clone(),
            _counted: self.metrics.connection(),
            _place: place,
        })
    }

    async fn next(&self, listener: &TcpListener) -> Connection {
        loop {
            match listener.accept().await {
                Ok((stream, remote)) => {
                    if let Some(connection) = self.admit(stream, remote) {
                        return connection;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection");
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }
}

/// Returns the stream of accepted connections.
pub(crate) fn accept(
    listener: TcpListener,
    doors: Doors,
) -> impl Stream<Item = io::Result<Connection>> {
    futures::stream::unfold((listener, doors), |(listener, doors)| async {
        let connection = doors.next(&listener).await;
        Some((Ok(connection), (listener, doors)))
    })
}

/// Listens at an address.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, ServerError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| ServerError::Listen { address, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_rules::guarded;
    use crate::tokens::{self, Token, Tokens};
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tonic::Request;

    struct Scene {
        _dir: TempDir,
        doors: Doors,
        secret: String,
    }

    fn scene(change: impl FnOnce(&mut Config)) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::tiny(dir.path());
        (config.limits.connections, config.limits.all_connections) = (2, 8);
        change(&mut config);
        let secret = tokens::add(&config.tokens(), Token::test("wallet")).unwrap();
        let tokens = Tokens::open(config.tokens()).unwrap();
        let callers = Callers::new(Arc::new(config.clone()), tokens, [7; 32]);
        let doors = Doors::new(&config, Arc::new(callers), Metrics::new("0", "test")).unwrap();
        Scene {
            _dir: dir,
            doors,
            secret,
        }
    }

    /// Returns whether the server accepts a token that a client at an address shows.
    fn is_known(doors: &Doors, address: &str, token: &str) -> bool {
        let mut request = Request::new(());
        request.extensions_mut().insert(TcpConnectInfo {
            local_addr: None,
            remote_addr: Some(SocketAddr::new(address.parse().unwrap(), 9)),
        });
        let value = format!("Bearer {token}").parse().unwrap();
        request.metadata_mut().insert("authorization", value);
        doors.callers.of(&request).is_ok()
    }

    fn places(doors: &Doors, address: &str, tries: usize) -> Vec<Place> {
        let address: IpAddr = address.parse().unwrap();
        (0..tries).map_while(|_| doors.place(address)).collect()
    }

    #[test]
    fn an_address_has_a_share_and_strangers_leave_a_quarter() {
        let Scene { doors, secret, .. } = &scene(|_| {});
        let first = places(doors, "192.0.2.1", 9);
        assert_eq!(first.len(), 2);
        assert!(doors.place("::ffff:192.0.2.1".parse().unwrap()).is_none());
        let network = places(doors, "2001:db8::1", 9);
        assert_eq!(
            (network.len(), places(doors, "2001:db8::2", 9).len()),
            (2, 0)
        );
        let third = places(doors, "192.0.2.3", 9);
        assert_eq!((third.len(), places(doors, "192.0.2.4", 9).len()), (2, 0));
        // An address from which a client showed a token has room, within the share of an address.
        assert!(!is_known(doors, "192.0.2.4", "omr_wrong"));
        assert_eq!(places(doors, "192.0.2.4", 9).len(), 0);
        assert!(is_known(doors, "192.0.2.4", secret));
        assert_eq!(places(doors, "192.0.2.4", 9).len(), 2);
        drop(first);
        assert_eq!(places(doors, "192.0.2.5", 9).len(), 2, "places come back");
    }

    #[test]
    fn this_machine_has_half_and_a_trusted_proxy_all() {
        let Scene { doors, .. } = scene(|config| config.access.proxies = vec!["10.0.0.1".into()]);
        let local = places(&doors, "127.0.0.1", 9);
        assert_eq!(local.len(), 3);
        drop(local);
        assert_eq!(places(&doors, "10.0.0.2", 9).len(), 2);
        assert_eq!(places(&doors, "10.0.0.1", 9).len(), 8);
    }

    /// Serves a page whose bytes arrive on demand, over connections that may be without a request for 200 ms.
    async fn served() -> (SocketAddr, tokio::sync::mpsc::Sender<()>) {
        let mut doors = scene(|_| {}).doors;
        doors.patience = Patience {
            first: Duration::from_millis(200),
            idle: Duration::from_millis(200),
        };
        let (send, wanted) = tokio::sync::mpsc::channel(1);
        let wanted = Arc::new(tokio::sync::Mutex::new(wanted));
        let page = move || async move {
            let bytes = futures::stream::once(async move {
                wanted.lock().await.recv().await;
                Ok::<_, io::Error>("done")
            });
            Body::from_stream(bytes)
        };
        let config = Config::default();
        let router = Router::new().route("/", get(page));
        let router = guarded(router, &config, vec!["/"]).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = tonic::service::Routes::from(router);
        let mut server = tonic::transport::Server::builder().accept_http1(true);
        tokio::spawn(
            server
                .add_routes(routes)
                .serve_with_incoming(accept(listener, doors)),
        );
        (address, send)
    }

    /// The preface of HTTP/2, and empty settings.
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

    #[tokio::test]
    async fn a_connection_without_a_request_ends_whatever_it_sends() {
        let (address, _send) = served().await;
        for said in [&b""[..], b"PRI", PREFACE] {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(said).await.unwrap();
            let (mut read, mut write) = client.split();
            // The client answers pings that nobody sent, while the connection exists.
            let pong = async {
                let frame = [0, 0, 8, 6, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
                while said == PREFACE && write.write_all(&frame).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                std::future::pending::<()>().await;
            };
            let mut heard = Vec::new();
            tokio::select! {
                // The connection ends, or is reset.
                _ = read.read_to_end(&mut heard) => {}
                () = pong => {}
                () = tokio::time::sleep(Duration::from_secs(30)) => panic!("it is there still"),
            }
        }
    }

    #[tokio::test]
    async fn a_connection_with_a_request_stays_until_the_response() {
        let (address, send) = served().await;
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        client.write_all(request).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        send.send(()).await.unwrap();
        let mut heard = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(30), client.read_to_end(&mut heard));
        // The connection ends when it is idle, not by an error.
        let _ = read.await.expect("it ends");
        let heard = String::from_utf8_lossy(&heard).into_owned();
        assert!(
            heard.starts_with("HTTP/1.1 200") && heard.contains("done"),
            "{heard}"
        );
    }
}
