//! Fuzz target: the service. Strangers call every method, one after another, with any bytes as their messages.

mod call;
mod world;

use crate::input::chosen;
use crate::{Run, Target};
use call::{Answer, call};
use prost::Message;
use std::sync::LazyLock;
use world::World;

/// The fuzz target.
pub const TARGET: Target = Target {
    name: "service",
    run: Run::Whole(run),
    seeds,
    catches: false,
};

/// The methods, by number.
const METHODS: [&str; 35] = [
    "omr.v1.BoardService/GetBoard",
    "omr.v1.BoardService/PostMessages",
    "omr.v1.BoardService/StreamPosts",
    "omr.v1.BoardService/ReadMessages",
    "omr.v1.BoardService/Subscribe",
    "omr.v1.DetectionService/CreateJob",
    "omr.v1.DetectionService/GetJob",
    "omr.v1.DetectionService/WatchJob",
    "omr.v1.DetectionService/FetchDigest",
    "omr.v1.DetectionService/CancelJob",
    "omr.v1.DetectionService/OpenSession",
    "omr.v1.DetectionService/GetSession",
    "omr.v1.DetectionService/CutSession",
    "omr.v1.DetectionService/CloseSession",
    "omr.v1.KeyService/BeginUpload",
    "omr.v1.KeyService/UploadChunks",
    "omr.v1.KeyService/RegisterKey",
    "omr.v1.KeyService/RevokeKey",
    "omr.v1.CapabilityService/GetCapabilities",
    "omr.v1.AdminService/Backup",
    "grpc.health.v1.Health/Check",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "omr.v1.BoardService/NoSuchMethod",
    "omr.v1.DetectionService/CreateOrder",
    "omr.v1.DetectionService/GetOrder",
    "omr.v1.DetectionService/EndOrder",
    "omr.v1.KeyService/UploadChunk",
    "omr.v1.PdqService/ListTables",
    "omr.v1.PdqService/GetSchema",
    "omr.v1.PdqService/FindKey",
    "omr.v1.PdqService/UploadKey",
    "omr.v1.PdqService/Query",
    "omr.v1.PdqService/UploadPart",
    "omr.v1.PdqService/KeepKey",
    "omr.v1.PdqService/Ask",
];
/// The first method of the server of tables.
const TABLES: usize = 27;
/// The largest number of calls in an input.
const MOST: usize = 6;
/// Status codes that blame the server: UNKNOWN and INTERNAL.
const BLAMING: [i32; 2] = [2, 13];

static WORLD: LazyLock<World> = LazyLock::new(World::new);

fn run(bytes: &[u8]) {
    let mut rest = bytes;
    for _ in 0..MOST {
        let Some((method, flags, message, after)) = next(rest) else {
            return;
        };
        rest = after;
        let (path, router) = match method {
            TABLES.. => (METHODS[method], &WORLD.tables),
            _ => (METHODS[method], &WORLD.server),
        };
        let token = (flags & 1 != 0).then_some(&WORLD.token[..]);
        // Two equal messages, or one message in a frame whose length is wrong.
        let body = match flags >> 4 {
            1 => [call::framed(message), call::framed(message)].concat(),
            2 => [&[0, 0, 0, 0, 9][..], message].concat(),
            3 => message.to_vec(),
            _ => call::framed(message),
        };
        match WORLD.runtime.block_on(call(router, path, token, body)) {
            Answer::Grpc { code, text, .. } => {
                assert!(!BLAMING.contains(&code), "{path}: code {code}, {text}");
            }
            Answer::Http(status) => assert!(status < 500, "{path}: HTTP {status}"),
            Answer::Endless => {}
        }
    }
}

/// Returns method, flags, message and the remaining bytes. A call is a byte, a byte, two bytes of length, and the
/// message.
fn next(bytes: &[u8]) -> Option<(usize, usize, &[u8], &[u8])> {
    let (method, rest) = chosen(bytes)?;
    let (flags, rest) = chosen(rest)?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (message, after) = rest.split_at(length);
    Some((method % METHODS.len(), flags, message, after))
}

/// Returns a call in the encoding of an input.
fn encoded(path: &str, flags: u8, message: &impl Message) -> Vec<u8> {
    let method = METHODS
        .iter()
        .position(|known| known.ends_with(path))
        .expect("a method") as u8;
    let message = message.encode_to_vec();
    let [a, b] = u16::try_from(message.len()).expect("short").to_le_bytes();
    [&[method, flags, a, b], &message[..]].concat()
}

fn seeds() -> Vec<Vec<u8>> {
    let calls = WORLD.calls();
    // Each call alone, some without the token, and all calls that name one thing together.
    let mut seeds = calls.clone();
    seeds.extend(calls.iter().map(|call| {
        let mut call = call.clone();
        call[1] = 0x11;
        call
    }));
    seeds.extend(calls.chunks(3).map(<[Vec<u8>]>::concat));
    seeds
}
