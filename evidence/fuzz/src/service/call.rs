//! A call of a method without a network.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Version, header};
use http_body_util::BodyExt;
use std::time::Duration;
use tonic::codegen::Service;

/// The longest wait for an answer: methods work for milliseconds, but streams may never end.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time to read from a stream once it has begun.
const LISTENING: Duration = Duration::from_millis(3);
/// The number of an answer's frames to read.
const FRAMES: usize = 8;

/// The answer to a call.
#[derive(Debug)]
pub(super) enum Answer {
    /// A status with its text, and the first bytes of the messages before it.
    Grpc {
        code: i32,
        text: String,
        data: Vec<u8>,
    },
    /// Another HTTP status.
    Http(u16),
    /// A stream that has not ended.
    Endless,
}

/// Returns a message in its frame.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0], &length[..], message].concat()
}

/// Makes a call.
///
/// Panics: if no answer or beginning of a stream arrives for long.
pub(super) async fn call(
    router: &Router,
    path: &str,
    token: Option<&str>,
    body: Vec<u8>,
) -> Answer {
    let mut request = Request::post(format!("/{path}"))
        .version(Version::HTTP_2)
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Body::from(body)).expect("a request");
    let pending = router.clone().call(request);
    let answer = tokio::time::timeout(PATIENCE, pending).await;
    let response = answer.expect("an answer in time").expect("an answer");
    let status = response.status().as_u16();
    if let Some(answer) = grpc(response.headers(), Vec::new()) {
        return answer;
    }
    let (mut body, mut data) = (response.into_body(), Vec::new());
    for _ in 0..FRAMES {
        let Ok(frame) = tokio::time::timeout(LISTENING, body.frame()).await else {
            return Answer::Endless;
        };
        let Some(Ok(frame)) = frame else {
            return Answer::Http(status);
        };
        match frame.into_data() {
            Ok(bytes) => data.extend(bytes),
            Err(frame) => {
                let trailers = frame.into_trailers().unwrap_or_default();
                return grpc(&trailers, data).unwrap_or(Answer::Http(status));
            }
        }
    }
    Answer::Endless
}

fn grpc(headers: &HeaderMap, data: Vec<u8>) -> Option<Answer> {
    let code = headers.get("grpc-status")?.to_str().ok()?.parse().ok()?;
    let text = headers
        .get("grpc-message")
        .and_then(|text| text.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    Some(Answer::Grpc { code, text, data })
}
