//! The client of a request, and the requests of a connection.

use crate::host_rules::refused;
use crate::proxies::{Proxies, Unnamed};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};

/// A connection, as its requests see it.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: TcpConnectInfo,
    pub(crate) activity: Arc<Activity>,
}

/// The number of a connection's open requests, and the time since its last one.
pub(crate) struct Activity(Mutex<Requests>);

struct Requests {
    open: usize,
    /// Whether the connection had a request before.
    any: bool,
    /// The time at which the connection began, or its last request ended.
    since: Instant,
}

/// A request of a connection until its response is sent.
struct Open(Arc<Activity>);

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Requests {
            open: 0,
            any: false,
            since: Instant::now(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(self: &Arc<Self>) -> Open {
        let mut requests = self.lock();
        requests.open += 1;
        requests.any = true;
        Open(self.clone())
    }

    /// Returns the time for which the connection may continue without a request: `first` from its beginning, `idle`
    /// after a request.
    pub(crate) fn left(&self, first: Duration, idle: Duration) -> Duration {
        let requests = self.lock();
        let most = if requests.any { idle } else { first };
        match requests.open {
            0 => most.saturating_sub(requests.since.elapsed()),
            _ => most,
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut requests = self.0.lock();
        requests.open -= 1;
        requests.since = Instant::now();
    }
}

/// The rules by which the client of a request is determined.
#[derive(Clone)]
pub(crate) struct Peers {
    proxies: Proxies,
    /// Whether the log already mentions a proxy without a header, and one with a malformed header.
    logged: Arc<[AtomicBool; 2]>,
}

impl Peers {
    pub(crate) fn new(proxies: Proxies) -> Self {
        Self {
            proxies,
            logged: Arc::default(),
        }
    }

    /// Logs a fault of a proxy, once.
    fn log(&self, unnamed: &Unnamed, peer: SocketAddr) {
        let [missing, malformed] = &*self.logged;
        let logged = match unnamed {
            Unnamed::Missing => missing,
            Unnamed::Malformed(_) => malformed,
        };
        if !logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(proxy = %peer.ip(), "{unnamed}; logged once");
        }
    }

    /// Returns the address of a request's client.
    ///
    /// Errors: a description of what a trusted proxy wrote in place of an address.
    fn client(&self, peer: SocketAddr, request: &Request) -> Result<SocketAddr, String> {
        match self.proxies.client(peer.ip(), request.headers()) {
            Ok(address) if address == peer.ip() => Ok(peer),
            Ok(address) => Ok(SocketAddr::new(address, 0)),
            Err(unnamed) => {
                self.log(&unnamed, peer);
                match unnamed {
                    // A proxy, or a program on its machine, may call for itself.
                    Unnamed::Missing => Ok(peer),
                    Unnamed::Malformed(_) => Err(unnamed.to_string()),
                }
            }
        }
    }
}

/// Puts the client's address into a request, as `TcpConnectInfo`, and counts the request until its response is sent.
pub(crate) async fn known(
    State(peers): State<Peers>,
    mut request: Request,
    next: Next,
) -> Response {
    let extensions = request.extensions();
    let secured = || {
        let peer = extensions.get::<TlsConnectInfo<Peer>>();
        peer.map(TlsConnectInfo::get_ref)
    };
    let Some(peer) = extensions.get::<Peer>().or_else(secured).cloned() else {
        return next.run(request).await;
    };
    let open = peer.activity.begin();
    let mut info = peer.address;
    if let Some(address) = info.remote_addr {
        match peers.client(address, &request) {
            Ok(client) => info.remote_addr = Some(client),
            Err(text) => return refused(request.headers(), StatusCode::BAD_REQUEST, text),
        }
    }
    request.extensions_mut().insert(info);
    let response = next.run(request).await;
    response.map(|body| Body::new(Answer { body, _open: open }))
}

/// The body of a response. The request counts as open until the body is dropped.
struct Answer {
    body: Body,
    _open: Open,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
