//! The model's scans, queries and answers, which anybody can read.

use super::disk::Disk;
use super::server::{Digest, place};
use crate::decode::{Answered, Content, Decoded, Received};
use crate::job::Job;
use crate::rounds::{Rounds, Sizes};
use crate::{Asking, Inbox};
use omr_protocol::rounds::FetchQuery;
use rand_core::Rng;
use std::sync::OnceLock;

/// Returns two rounds of few messages: the lengths of queries are those of a set for tests.
pub(super) fn small() -> &'static Rounds {
    static SMALL: OnceLock<Rounds> = OnceLock::new();
    SMALL.get_or_init(|| Rounds {
        sizes: Sizes {
            short: 4,
            room: 3,
            window: 40,
            most: 1 << 20,
            fetch: 1 << 20,
        },
        ..Rounds::of("insecure-tiny-v4").unwrap()
    })
}

/// Returns two rounds of as many messages as outside of tests.
pub(super) fn large() -> &'static Rounds {
    static LARGE: OnceLock<Rounds> = OnceLock::new();
    LARGE.get_or_init(|| Rounds {
        sizes: Sizes {
            short: 512,
            room: 56,
            window: 1 << 16,
            most: 1 << 20,
            fetch: 1 << 20,
        },
        ..Rounds::of("insecure-tiny-v4").unwrap()
    })
}

/// Returns the content of a scan, which is that of a digest if the scan is short.
pub(super) fn scan(job: &Job, file: &[u8], rounds: &Rounds) -> Content {
    let digest = Digest::parse(file);
    let of = job.stride();
    if digest.damaged || !digest.is_of(job) {
        return Content::Digest(Decoded::damaged(of, "damaged".to_owned()));
    }
    let indices: Vec<u64> = digest.hers.iter().map(|(index, _)| *index).collect();
    if of.count() > rounds.sizes.short {
        return Content::Scan(indices);
    }
    Content::Digest(Decoded {
        found: digest.found(),
        read: vec![(of, indices)],
        failed: Vec::new(),
    })
}

/// Makes the query of a fetch.
pub(super) fn ask(inbox: &Inbox<Disk>, asking: &Asking, rounds: &Rounds) {
    let indices = |job: &Job, file: &[u8]| match scan(job, file, rounds) {
        Content::Scan(indices) => Some(indices),
        _ => None,
    };
    let query = |wanted: &[u64]| {
        let bytes = rounds.query_bytes(&place(), asking.range.clone())?;
        let most = wanted.len().min(rounds.sizes.room as usize);
        // No two queries are equal, as with encryption.
        let query = (omr_client::os_rng().next_u64(), &wanted[..most]);
        let mut query = serde_json::to_vec(&query).unwrap();
        query.resize(bytes as usize, b' ');
        Ok(query)
    };
    inbox.ask_by(asking, indices, query).unwrap();
}

/// Returns the messages that a query asks for.
pub(super) fn wanted(query: &[u8]) -> Vec<u64> {
    let (_, wanted): (u64, Vec<u64>) = serde_json::from_slice(query).unwrap();
    wanted
}

/// Returns the content of the answer to a query.
pub(super) fn answer(received: &Received) -> Answered {
    let digest = Digest::parse(&received.file);
    let hash = Some(FetchQuery::hash(&received.query));
    if digest.damaged || digest.query != hash || !digest.is_of(&received.job) {
        return Answered {
            damage: Some("damaged".to_owned()),
            ..Answered::default()
        };
    }
    let mut arrived = wanted(&received.query);
    arrived.retain(|index| received.waiting.contains(index));
    let mut found = digest.found();
    found.retain(|found| arrived.contains(&found.index));
    Answered {
        found,
        arrived,
        damage: None,
    }
}
