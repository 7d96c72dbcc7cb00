//! Calls over HTTP/2 with arbitrary bytes, which gRPC clients do not allow.

use bytes::{BufMut, Bytes, BytesMut};
use h2::SendStream;
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderMap, Method, Request};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// The time to wait for an answer; endless streams are left after it.
const PATIENCE: Duration = Duration::from_secs(2);
/// The number of bytes of an answer after which it is left.
const ENOUGH: usize = 1 << 20;

/// The number of requests of a connection that stay open.
const OPEN: usize = 16;

/// A connection.
pub(super) struct Wire {
    sender: SendRequest<Bytes>,
    driver: JoinHandle<()>,
    /// Requests that were begun and never end.
    open: Vec<(ResponseFuture, SendStream<Bytes>)>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The end of a request.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ending {
    /// A regular end.
    Whole,
    /// A reset in the middle.
    Reset,
    /// No end; the caller leaves.
    Open,
}

/// A request with all its parts.
pub(super) struct Call {
    pub(super) path: String,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) parts: Vec<Bytes>,
    pub(super) ending: Ending,
}

/// The answer to a request.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// A gRPC status with its text.
    Grpc(i32, String),
    /// Another HTTP status.
    Http(u16),
    /// No answer in time, or one that is too long.
    Left,
    /// The connection or the stream broke.
    Broken,
}

/// Returns the usual headers of gRPC.
pub(super) fn grpc_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let usual = [("content-type", "application/grpc"), ("te", "trailers")];
    for (name, value) in usual {
        headers.insert(name, http::HeaderValue::from_static(value));
    }
    headers
}

/// Returns a message in its frame.
pub(super) fn frame(message: &[u8]) -> Bytes {
    framed(0, message.len() as u32, message)
}

/// Returns a frame with any header.
pub(super) fn framed(flag: u8, len: u32, message: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(5 + message.len());
    out.put_u8(flag);
    out.put_u32(len);
    out.put_slice(message);
    out.freeze()
}

impl Call {
    /// Returns a regular call.
    pub(super) fn polite(path: &str, messages: &[Vec<u8>]) -> Self {
        Self {
            path: path.to_owned(),
            method: Method::POST,
            headers: grpc_headers(),
            parts: messages.iter().map(|message| frame(message)).collect(),
            ending: Ending::Whole,
        }
    }
}

impl Wire {
    /// Connects; `None` if that fails.
    pub(super) async fn open(address: (&str, u16)) -> Option<Self> {
        let stream = TcpStream::connect(address).await.ok()?;
        let (sender, connection) = h2::client::handshake(stream).await.ok()?;
        let driver = tokio::spawn(async move {
            // The task ends with the connection, for whatever reason.
            let _ = connection.await;
        });
        Some(Self {
            sender,
            driver,
            open: Vec::new(),
        })
    }

    /// Makes a call.
    pub(super) async fn call(&mut self, call: Call) -> Answer {
        let called = tokio::time::timeout(PATIENCE, self.try_call(call)).await;
        called
            .unwrap_or(Some(Answer::Left))
            .unwrap_or(Answer::Broken)
    }

    async fn try_call(&mut self, call: Call) -> Option<Answer> {
        let uri = format!("http://localhost{}", call.path);
        let mut request = Request::builder()
            .method(call.method)
            .uri(uri)
            .body(())
            .ok()?;
        *request.headers_mut() = call.headers;
        let mut sender = self.sender.clone().ready().await.ok()?;
        let (response, mut stream) = sender.send_request(request, false).ok()?;
        let last = call.parts.len();
        for (i, part) in call.parts.into_iter().enumerate() {
            let end = call.ending == Ending::Whole && i + 1 == last;
            // The server may have refused already, which its answer states.
            if stream.send_data(part, end).is_err() {
                break;
            }
        }
        match call.ending {
            Ending::Whole if last == 0 => drop(stream.send_data(Bytes::new(), true)),
            Ending::Reset => stream.send_reset(h2::Reason::CANCEL),
            _ => {}
        }
        if call.ending == Ending::Open {
            self.open.truncate(OPEN - 1);
            self.open.insert(0, (response, stream));
            return Some(Answer::Left);
        }
        let response = response.await.ok()?;
        answer(response).await
    }
}

async fn answer(response: http::Response<h2::RecvStream>) -> Option<Answer> {
    let status = response.status().as_u16();
    if let Some(found) = grpc(response.headers()) {
        return Some(found);
    }
    if status != 200 {
        return Some(Answer::Http(status));
    }
    let (mut body, mut bytes) = (response.into_body(), 0);
    while let Some(data) = body.data().await {
        let data = data.ok()?;
        bytes += data.len();
        if bytes > ENOUGH {
            return Some(Answer::Left);
        }
        body.flow_control().release_capacity(data.len()).ok()?;
    }
    let trailers = body.trailers().await.ok()?;
    trailers
        .and_then(|trailers| grpc(&trailers))
        .or(Some(Answer::Http(status)))
}

fn grpc(headers: &HeaderMap) -> Option<Answer> {
    let code = headers.get("grpc-status")?.to_str().ok()?.parse().ok()?;
    let text = headers
        .get("grpc-message")
        .and_then(|text| text.to_str().ok());
    Some(Answer::Grpc(code, text.unwrap_or_default().to_owned()))
}
