//! Bytes that are not gRPC, or hardly, on plain connections.

use super::tally::Tally;
use chacha20::ChaCha20Rng;
use rand_core::Rng;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The first bytes of a client of HTTP/2.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The empty settings of a client of HTTP/2.
pub(super) const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// The time to wait for the server's reaction.
const PATIENCE: Duration = Duration::from_millis(300);
/// A slow client's pause between two bytes.
const SLOW: Duration = Duration::from_millis(300);

/// Attacks until the trial ends.
pub(super) async fn run(tally: Arc<Tally>, mut rng: ChaCha20Rng) {
    while !tally.is_over() {
        let (what, bytes) = attack(&mut rng);
        tally.count(&format!("raw: {what}"));
        let Ok(mut stream) = TcpStream::connect(tally.address).await else {
            tally.count("connections refused");
            continue;
        };
        // The server may close the connection in the middle.
        let _ = tokio::time::timeout(PATIENCE, stream.write_all(&bytes)).await;
        let mut answer = [0; 4096];
        if let Ok(Ok(read)) = tokio::time::timeout(PATIENCE, stream.read(&mut answer)).await {
            note(&tally, what, &answer[..read]);
        }
    }
}

/// Counts the status of an HTTP/1.1 answer, which is in the first line.
fn note(tally: &Tally, what: &str, answer: &[u8]) {
    let text = String::from_utf8_lossy(answer);
    let status = text
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    if let Some(status) = status.and_then(|status| status.parse().ok()) {
        let grpc = text
            .lines()
            .find_map(|line| line.strip_prefix("grpc-status: "));
        let answer = match grpc.and_then(|code| code.trim().parse().ok()) {
            Some(code) => super::wire::Answer::Grpc(code, String::new()),
            None => super::wire::Answer::Http(status),
        };
        tally.answer(what, answer);
    }
}

/// Returns a frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    let len = body.len() as u32;
    let mut out = len.to_be_bytes()[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(body);
    out
}

fn http2(frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = [PREFACE, SETTINGS].concat();
    out.extend(frames.into_iter().flatten());
    out
}

fn random(rng: &mut ChaCha20Rng, most: u64) -> Vec<u8> {
    let mut out = vec![0; (rng.next_u64() % most) as usize];
    rng.fill_bytes(&mut out);
    out
}

/// Returns a header field in literal form, with a new name each time.
fn field(i: u32) -> Vec<u8> {
    let name = format!("x-flood-{i:08}");
    let mut out = vec![0, name.len() as u8];
    out.extend(name.bytes());
    out.push(100);
    out.extend([b'v'; 100]);
    out
}

fn attack(rng: &mut ChaCha20Rng) -> (&'static str, Vec<u8>) {
    let count = (rng.next_u64() % 3000) as u32;
    match rng.next_u64() % 14 {
        0 => ("random bytes", random(rng, 5000)),
        1 => (
            "a handshake of TLS",
            [&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..], &random(rng, 600)].concat(),
        ),
        2 => {
            let frames: Vec<_> = (0..20)
                .map(|_| {
                    let body = random(rng, 200);
                    let word = rng.next_u64();
                    frame(
                        word as u8 % 12,
                        (word >> 8) as u8,
                        (word >> 32) as u32 % 9,
                        &body,
                    )
                })
                .collect();
            ("random frames", http2(frames))
        }
        3 => {
            // Headers that never end.
            let rest = (0..count).map(|i| frame(9, 0, 1, &field(i)));
            let first = frame(1, 0, 1, &field(count));
            ("endless headers", http2([first].into_iter().chain(rest)))
        }
        4 => (
            "a flood of settings",
            http2((0..count).map(|_| SETTINGS.to_vec())),
        ),
        5 => (
            "a flood of pings",
            http2((0..count).map(|_| frame(6, 0, 0, &[7; 8]))),
        ),
        6 => {
            let resets = (0..count).flat_map(|i| {
                // GET / of a host, with indexed fields, and its reset.
                [
                    frame(1, 5, 2 * i + 1, &[0x82, 0x84, 0x86]),
                    frame(3, 0, 2 * i + 1, &[0, 0, 0, 8]),
                ]
            });
            ("a flood of resets", http2(resets))
        }
        7 => (
            "a window beyond numbers",
            http2((0..3).map(|_| frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]))),
        ),
        8 => (
            "a frame of lying length",
            http2([vec![0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1, 5, 5]]),
        ),
        9 => (
            "data for no stream",
            http2((0..50).map(|i| frame(0, 0, i * 2 + 1, &[0; 1000]))),
        ),
        10 => {
            let body = random(rng, 16_000);
            ("headers of noise", http2([frame(1, 5, 1, &body)]))
        }
        _ => http1(rng),
    }
}

/// Returns requests of HTTP/1.1 and of gRPC-Web on it.
fn http1(rng: &mut ChaCha20Rng) -> (&'static str, Vec<u8>) {
    let body = random(rng, 400);
    let post = |kind: &str, length: &str, body: &[u8]| {
        let head = format!(
            "POST /omr.v1.BoardService/ReadMessages HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n\
             {length}\r\nConnection: close\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    };
    let length = format!("Content-Length: {}", body.len());
    let text: Vec<u8> = body.iter().map(|byte| b'!' + byte % 90).collect();
    let framed = [&[0, 0, 0, 0, 4, 0x10, 5, 0x18, 9][..], &body].concat();
    let whole = format!("Content-Length: {}", framed.len());
    match rng.next_u64() % 9 {
        0 => (
            "gRPC-Web of noise",
            post("application/grpc-web", &length, &body),
        ),
        1 => (
            "gRPC-Web text of noise",
            post("application/grpc-web-text", &length, &text),
        ),
        2 => (
            "gRPC-Web with more bytes than stated",
            post("application/grpc-web+proto", &whole, &framed),
        ),
        3 => (
            "gRPC-Web cut short",
            post("application/grpc-web", "Content-Length: 99999", &body),
        ),
        4 => (
            "gRPC-Web in broken chunks",
            post(
                "application/grpc-web",
                "Transfer-Encoding: chunked",
                b"5\r\nabc\r\nZZ\r\n",
            ),
        ),
        5 => (
            "giant headers",
            format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(2 << 20)).into_bytes(),
        ),
        6 => (
            "headers without end",
            "X-A: b\r\n".repeat(50_000).into_bytes(),
        ),
        7 => (
            "a strange method",
            b"\x00\xffBREW /status.json HTTP/1.1\r\n\r\n".to_vec(),
        ),
        _ => (
            "two lengths",
            post(
                "application/grpc-web",
                "Content-Length: 1\r\nContent-Length: 9",
                &body,
            ),
        ),
    }
}

/// Sends one byte now and then, until the trial ends or the server closes the connection.
pub(super) async fn slow(tally: Arc<Tally>, number: usize) {
    let endless = b"GET /status.json HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".iter();
    let text: Vec<u8> = match number % 2 {
        0 => endless
            .copied()
            .chain(std::iter::repeat_n(b'a', 10_000))
            .collect(),
        _ => [PREFACE, SETTINGS, &[0; 10_000]].concat(),
    };
    let mut bytes = text.into_iter();
    let Ok(mut stream) = TcpStream::connect(tally.address).await else {
        return tally.count("connections refused");
    };
    tally.count("raw: byte by byte");
    while let Some(byte) = bytes.next().filter(|_| !tally.is_over()) {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(SLOW).await;
    }
}
