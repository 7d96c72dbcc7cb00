//! Limits for requests in progress, and status codes that blame the right side.

use crate::caller::network;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use omr_protocol::rounds::{FetchQuery, MOST_MESSAGES, RoundsHeader, RoundsParams, RoundsPlan};
use omr_protocol::{ClueKind, Sealing};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::server::TcpConnectInfo;
use tonic::{Code, Status};

/// The bytes of requests in progress of all clients, on a machine with enough memory. Decoded they may need up to
/// thirty times as much: an empty message has two bytes.
pub(crate) const ROOM: usize = 128 << 20;
/// The least room of [`Requests`]. One client may use half of it, which is enough for the longest message.
pub(crate) const LEAST_ROOM: usize = 2 * omr_api::MESSAGE_BYTES;
/// The bytes of one permit.
const UNIT: usize = 1024;
/// The greatest length of a chunk of a key, with its envelope.
pub(crate) const CHUNK: usize = omr_api::CHUNK_BYTES + 1024;
/// The allowance for the fields of a post, and for those of each message. Clients use the same numbers.
const FRAME: usize = 64;
const FIELDS: usize = 16;

/// The beginnings of tonic's messages for malformed requests. tonic uses the code INTERNAL for them, although the
/// client is at fault.
const MALFORMED: [&str; 5] = [
    "failed%20to%20decode%20Protobuf",
    "Unexpected%20EOF%20decoding",
    "protocol%20error:",
    "Missing%20request%20message",
    "tonic-web:",
];

/// The limits for requests in progress.
#[derive(Clone)]
pub(crate) struct Requests {
    room: Arc<Semaphore>,
    /// The units of the room when it is empty.
    units: usize,
    /// The units of each client's address that uses any. No client may have more than half.
    own: Arc<Mutex<HashMap<Vec<u8>, usize>>>,
    idle: Duration,
    post: usize,
}

/// Returns the length of the longest post that is read. It is twice that of the longest valid post, so that a post with
/// too many messages gets a clear error.
pub(crate) fn longest_post(messages: u32, message_bytes: usize) -> usize {
    let most = (messages as usize).saturating_mul(2 * (message_bytes + FIELDS));
    most.saturating_add(FRAME).min(omr_api::MESSAGE_BYTES)
}

/// Returns the length in bytes of the longest query for payloads of this length, where ranges of at most `messages`
/// messages are answered; 0 where none are.
pub(crate) fn longest_query(params: &RoundsParams, messages: u64, payload_bytes: usize) -> usize {
    // A range that begins with the last message of a page touches the most pages.
    let start = params.fetch.spec().page as u64 - 1;
    let range = start..start + messages.min(MOST_MESSAGES);
    // The kind of clues does not change the length.
    let clues = ClueKind::Plain;
    let Ok(plan) = RoundsPlan::new(params, range.clone(), payload_bytes, clues) else {
        return 0;
    };
    let header = RoundsHeader {
        key_id: [0; 16],
        board_id: [0; 16],
        range,
        payload_bytes,
        sealing: Sealing::None,
        clues,
        seeds: vec![[0; 32]; plan.rows()],
    };
    FetchQuery::file_bytes(params, &header).map_or(0, |bytes| bytes as usize)
}

/// The bytes of a request as they arrive.
struct Incoming {
    data: BodyDataStream,
    requests: Requests,
    /// The part of the client's address that identifies a client.
    client: Vec<u8>,
    held: Option<OwnedSemaphorePermit>,
    bytes: usize,
    /// The greatest number of bytes that the request can occupy at a time. Bytes beyond that belong to messages that
    /// are done.
    most: usize,
}

impl Requests {
    /// Returns limits. `room` is the number of bytes of all requests in progress; `idle` is the time for which a client
    /// may leave a request without further bytes; `post` is the length of the longest post in bytes.
    pub(crate) fn new(room: usize, idle: Duration, post: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(room / UNIT)),
            units: room / UNIT,
            own: Arc::default(),
            idle,
            post,
        }
    }

    fn own(&self) -> MutexGuard<'_, HashMap<Vec<u8>, usize>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the length of the longest message of a method, in bytes.
    fn longest(&self, path: &str) -> usize {
        match path {
            path if path.starts_with("/omr.v1.BoardService/") => self.post,
            path if path.starts_with("/omr.v1.KeyService/") => CHUNK,
            path if path.starts_with("/omr.v1.PdqService/") => CHUNK,
            path if path.starts_with("/omr.v1.WorkerService/") => CHUNK,
            _ => omr_api::MESSAGE_BYTES,
        }
    }
}

impl Incoming {
    /// Returns the next bytes.
    ///
    /// Errors: DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, and those of the connection.
    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        let idle = self.requests.idle;
        match tokio::time::timeout(idle, self.data.next()).await {
            Ok(Some(Ok(bytes))) => Some(self.hold(bytes.len()).map(|()| bytes)),
            Ok(end) => end,
            Err(_) => Some(Err(axum::Error::new(Status::deadline_exceeded(format!(
                "expected more of the request within {} s, found none",
                idle.as_secs()
            ))))),
        }
    }

    /// Reserves room for bytes until the request is read.
    fn hold(&mut self, bytes: usize) -> Result<(), axum::Error> {
        let units = |bytes: usize| bytes.min(self.most) / UNIT;
        let before = units(self.bytes);
        self.bytes = self.bytes.saturating_add(bytes);
        let more = units(self.bytes) - before;
        if more == 0 {
            return Ok(());
        }
        let mut own = self.requests.own();
        let units = own.get(&self.client).copied().unwrap_or(0) + more;
        let acquired = if units <= self.requests.units / 2 {
            let room = self.requests.room.clone();
            room.try_acquire_many_owned(more as u32).ok()
        } else {
            None
        };
        let Some(room) = acquired else {
            let full = "too many requests are under way: try again later";
            let status = crate::refuse::busy(full, Duration::from_secs(1));
            return Err(axum::Error::new(status));
        };
        own.insert(self.client.clone(), units);
        drop(own);
        match &mut self.held {
            Some(held) => held.merge(room),
            held => *held = Some(room),
        }
        Ok(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let Some(held) = &self.held else {
            return;
        };
        let mut own = self.requests.own();
        if let Some(units) = own.get_mut(&self.client) {
            *units -= held.num_permits();
            if *units == 0 {
                own.remove(&self.client);
            }
        }
    }
}

/// Limits a request, and corrects the code of its response.
pub(crate) async fn bounded(
    State(requests): State<Requests>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<TcpConnectInfo>();
    let address = peer.and_then(TcpConnectInfo::remote_addr);
    let incoming = Incoming {
        data: body.into_data_stream(),
        client: address
            .map(|address| network(address.ip()))
            .unwrap_or_default(),
        most: requests.longest(parts.uri.path()),
        requests,
        held: None,
        bytes: 0,
    };
    let data = futures::stream::unfold(Some(incoming), |incoming| async {
        let mut incoming = incoming?;
        let next = incoming.next().await?;
        let rest = next.is_ok().then_some(incoming);
        Some((next, rest))
    });
    let request = Request::from_parts(parts, Body::from_stream(data));
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let text = headers
        .get("grpc-message")
        .map_or(&[][..], HeaderValue::as_bytes);
    let malformed = MALFORMED
        .iter()
        .any(|begin| text.starts_with(begin.as_bytes()));
    let internal = Code::Internal as i32;
    if malformed && headers.get("grpc-status") == Some(&HeaderValue::from(internal)) {
        let code = HeaderValue::from(Code::InvalidArgument as i32);
        headers.insert("grpc-status", code);
    }
    response
}

/// Returns the error of a stream. Bytes that are not a valid message are the client's fault.
pub(crate) fn of_stream(status: Status) -> Status {
    match status.code() {
        Code::Internal => Status::invalid_argument(status.message()),
        _ => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: usize = omr_api::MESSAGE_BYTES;

    fn incoming(requests: &Requests, client: usize, body: Body) -> Incoming {
        Incoming {
            data: body.into_data_stream(),
            client: client.to_le_bytes().to_vec(),
            requests: requests.clone(),
            held: None,
            bytes: 0,
            most: HELD,
        }
    }

    fn code(error: &axum::Error) -> Option<Code> {
        let cause = std::error::Error::source(error)?;
        Some(cause.downcast_ref::<Status>()?.code())
    }

    #[test]
    fn a_query_may_be_as_long_as_its_range_requires() {
        let set = omr_protocol::ParamSet::named("sophomr-v5").unwrap();
        let longest = |messages| longest_query(set.rounds().unwrap(), messages, 612);
        assert_eq!(longest(0), 0);
        let (window, most) = (longest(1 << 16), longest(u64::MAX));
        assert!((200_000..300_000).contains(&window), "{window}");
        assert!(window < most && most < 2_000_000, "{most}");
    }

    #[tokio::test]
    async fn requests_share_room_and_return_it() {
        let requests = Requests::new(ROOM, Duration::from_secs(1), HELD);
        let block = || Body::from(vec![0; HELD]);
        let mut all = Vec::new();
        for number in 0..ROOM / HELD {
            // One client has at most half of the room.
            let client = 2 * number / (ROOM / HELD);
            let mut one = incoming(&requests, client, block());
            assert!(one.next().await.unwrap().is_ok());
            all.push(one);
            if number + 1 == ROOM / HELD / 2 {
                let refused = incoming(&requests, 0, block()).next().await.unwrap();
                assert_eq!(code(&refused.unwrap_err()), Some(Code::ResourceExhausted));
            }
        }
        let refused = incoming(&requests, 2, block()).next().await.unwrap();
        assert_eq!(code(&refused.unwrap_err()), Some(Code::ResourceExhausted));
        all.pop();
        assert!(
            incoming(&requests, 2, block())
                .next()
                .await
                .unwrap()
                .is_ok()
        );
        drop(all);
        assert!(requests.own().is_empty());
    }

    #[tokio::test]
    async fn a_long_stream_holds_no_more_than_a_message() {
        let requests = Requests::new(ROOM, Duration::from_secs(1), HELD);
        let mut one = incoming(&requests, 0, Body::empty());
        for _ in 0..4 * ROOM / HELD {
            one.hold(HELD).unwrap();
        }
        let held = requests.room.available_permits();
        assert_eq!(held, (ROOM - HELD) / UNIT);
    }

    #[tokio::test]
    async fn a_silent_client_is_dropped() {
        let requests = Requests::new(ROOM, Duration::from_millis(20), HELD);
        let silent = futures::stream::pending::<Result<Bytes, std::convert::Infallible>>();
        let mut one = incoming(&requests, 0, Body::from_stream(silent));
        let error = one.next().await.unwrap().unwrap_err();
        assert_eq!(code(&error), Some(Code::DeadlineExceeded));
    }
}
