//! Two rounds: scans, seeds of pages, and fetches.

use crate::world::{BOARD, Client, PAYLOAD_BYTES, Person, Running, config, request, served};
use chacha20::ChaCha20Rng;
use omr_api::v1;
use omr_client::os_rng;
use omr_client::rounds::RoundsRecipient;
use omr_protocol::rounds::{FetchQuery, RoundsHeader, Scanned};
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ParamSet, Scheme};
use omr_server::{Config, store_config};
use omr_store::{Expiry, Store};
use rand_core::SeedableRng;
use std::sync::OnceLock;
use tonic::Code;

const MESSAGES: u64 = 400;

fn set() -> &'static ParamSet {
    static SET: OnceLock<ParamSet> = OnceLock::new();
    SET.get_or_init(|| ParamSet::named("insecure-tiny-v4").unwrap())
}

fn configure(settings: &mut Config) {
    settings.board.params = set().name().into();
    (settings.limits.jobs, settings.limits.keys) = (64, 64);
    // Only digests wait for others.
    settings.detector.together_seconds = 60.0;
}

fn person(seed: u64) -> Person {
    let epoch = Epoch {
        board: BOARD,
        number: 5,
    };
    Person::of(set(), seed, Some(&epoch))
}

/// Posts messages, which contain their index; every 50th is for the person.
async fn fill(client: &mut Client, to: &Person) {
    let stranger = person(99);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let messages = (0..MESSAGES).map(|index| {
        let to = if index % 50 == 7 { to } else { &stranger };
        to.message_on(BOARD, &mut rng, vec![index as u8; PAYLOAD_BYTES])
    });
    client.fill(messages.collect()).await;
}

fn recipient(of: &Person) -> RoundsRecipient {
    RoundsRecipient::new(set().rounds().unwrap(), &of.secret)
}

/// Returns the result of a job.
async fn made(client: &mut Client, asked: v1::CreateJobRequest) -> Vec<u8> {
    let job = client.job(asked).await.unwrap();
    assert_eq!(job.state(), v1::JobState::Done, "{}", job.error);
    client.digest(&job).await
}

async fn scan(client: &mut Client, id: u8, key: [u8; 32], start: u64, end: u64) -> Scanned {
    let file = made(client, request(id, &[key], start, end)).await;
    Scanned::from_bytes(set().rounds().unwrap(), &file).unwrap()
}

async fn seeds(client: &mut Client, start: u64, end: u64) -> Vec<[u8; 32]> {
    let asked = v1::GetSeedsRequest { start, end };
    let seeds = client
        .detection
        .get_seeds(asked)
        .await
        .unwrap()
        .into_inner()
        .seeds;
    seeds
        .iter()
        .map(|seed| seed[..].try_into().unwrap())
        .collect()
}

fn fetch(id: u8, key: [u8; 32], header: &RoundsHeader, query: &[u8]) -> v1::CreateJobRequest {
    v1::CreateJobRequest {
        query: query.to_vec().into(),
        ..request(id, &[key], header.range.start, header.range.end)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_rounds_bring_exactly_the_recipients_messages() {
    let (dir, server, mut client) = served(configure).await;
    let (ann, bob) = (person(1), person(2));
    fill(&mut client, &ann).await;
    let [key, other] = [
        client.register(&ann.rounds).await,
        client.register(&bob.rounds).await,
    ];
    let scanned = scan(&mut client, 1, key, 3, MESSAGES).await;
    let nothing = scan(&mut client, 2, other, 3, MESSAGES).await;
    let (of_ann, of_bob) = (recipient(&ann), recipient(&bob));
    let indices = of_ann.indices(&scanned).unwrap();
    let expected: Vec<u64> = (3..MESSAGES).filter(|index| index % 50 == 7).collect();
    assert_eq!(indices, expected);
    assert!(of_bob.indices(&nothing).unwrap().is_empty());
    // A window that begins before the scan has seeds of its own.
    let header = RoundsHeader {
        range: 0..MESSAGES,
        seeds: seeds(&mut client, 0, MESSAGES).await,
        ..scanned.header.clone()
    };
    assert_eq!(header.seeds, scanned.header.seeds, "the same pages");
    let asked = of_ann.ask(&header, &indices, &mut os_rng()).unwrap();
    let file = made(&mut client, fetch(3, key, &header, &asked.query)).await;
    let fetched = of_ann.fetched(&asked, &file).unwrap();
    let found: Vec<u64> = fetched.messages.iter().map(|one| one.index).collect();
    assert_eq!(found, expected);
    for message in fetched.messages {
        assert_eq!(
            message.payload.unwrap(),
            vec![message.index as u8; PAYLOAD_BYTES]
        );
    }
    // A query for nothing has the same size and is answered with the same size.
    let of_other = RoundsHeader {
        key_id: nothing.header.key_id,
        ..header.clone()
    };
    let empty = of_bob.ask(&of_other, &[], &mut os_rng()).unwrap();
    assert_eq!(empty.query.len(), asked.query.len());
    let answer = made(&mut client, fetch(4, other, &of_other, &empty.query)).await;
    assert_eq!(answer.len(), file.len());
    assert!(of_bob.fetched(&empty, &answer).unwrap().messages.is_empty());
    // Seeds and results last over a restart.
    server.stop().await;
    let mut settings = config(dir.path());
    configure(&mut settings);
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    assert_eq!(seeds(&mut client, 0, MESSAGES).await, header.seeds);
    let again = made(&mut client, fetch(3, key, &header, &asked.query)).await;
    assert_eq!(again, file);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_range_comes_with_all_payloads() {
    let (_dir, server, mut client) = served(configure).await;
    let ann = person(1);
    fill(&mut client, &ann).await;
    let key = client.register(&ann.rounds).await;
    let block = set().rounds().unwrap().scan.block() as u64;
    let start = MESSAGES - block;
    let file = made(&mut client, request(1, &[key], start, MESSAGES)).await;
    let expected = (start..MESSAGES).filter(|index| index % 50 == 7);
    let expected: Vec<(u64, u8)> = expected.map(|index| (index, index as u8)).collect();
    assert_eq!(ann.decode(&file), expected);
    server.stop().await;
}

/// The messages of a query, and those that its answer contains.
async fn fetched(
    client: &mut Client,
    id: u8,
    key: [u8; 32],
    of: &RoundsRecipient,
    header: &RoundsHeader,
    wanted: &[u64],
) -> Vec<u64> {
    let asked = of.ask(header, wanted, &mut os_rng()).unwrap();
    let file = made(client, fetch(id, key, header, &asked.query)).await;
    let fetched = of.fetched(&asked, &file).unwrap();
    assert!(fetched.unreadable.is_empty(), "{:?}", fetched.unreadable);
    let mut found = Vec::new();
    for message in fetched.messages {
        let payload = vec![message.index as u8; PAYLOAD_BYTES];
        assert_eq!(message.payload, Some(payload));
        found.push(message.index);
    }
    found
}

/// A page of 48 messages begins at 48, and the board at 50.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_may_have_expired_in_part() {
    const FIRST: u64 = 50;
    let (dir, server, mut client) = served(configure).await;
    let ann = person(1);
    fill(&mut client, &ann).await;
    let key = client.register(&ann.rounds).await;
    let before = scan(&mut client, 1, key, 0, MESSAGES).await.header;
    server.stop().await;
    let mut settings = config(dir.path());
    configure(&mut settings);
    settings.objects.segment_messages = Some(FIRST);
    {
        let store = Store::open(&store_config(&settings)).unwrap();
        store.seal().unwrap();
        let expired = store.expire(Expiry::Keep(MESSAGES - FIRST)).unwrap();
        assert_eq!(expired.range, 0..FIRST);
    }
    let server = Running::start(settings).await;
    let mut client = server.client().await;
    let scanned = scan(&mut client, 2, key, FIRST, MESSAGES).await;
    let header = &scanned.header;
    assert_eq!(header.seeds, before.seeds[1..], "pages keep their seeds");
    assert_eq!(seeds(&mut client, FIRST, MESSAGES).await, header.seeds);
    let of_ann = recipient(&ann);
    let wanted = of_ann.indices(&scanned).unwrap();
    assert_eq!(wanted, [57, 107, 157, 207, 257, 307, 357]);
    // The page is prepared for messages from 60 on first, and again for those before.
    let later = RoundsHeader {
        range: 60..MESSAGES,
        ..header.clone()
    };
    let found = fetched(&mut client, 3, key, &of_ann, &later, &wanted[1..]).await;
    assert_eq!(found, wanted[1..]);
    let found = fetched(&mut client, 4, key, &of_ann, header, &wanted).await;
    assert_eq!(found, wanted);
    // Messages that are gone cannot be asked for.
    let query = of_ann.ask(&before, &[7], &mut os_rng()).unwrap().query;
    let gone = v1::GetSeedsRequest {
        start: FIRST - 1,
        end: MESSAGES,
    };
    let refused = client.detection.get_seeds(gone).await.unwrap_err();
    let text = "messages 49..50 expired: the board begins at 50";
    assert_eq!(
        (refused.code(), refused.message()),
        (Code::OutOfRange, text)
    );
    let refused = client
        .job(fetch(5, key, &before, &query))
        .await
        .unwrap_err();
    let text = "messages 0..50 expired: the board begins at 50";
    assert_eq!(
        (refused.code(), refused.message()),
        (Code::OutOfRange, text)
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_do_not_fit_are_refused() {
    let (_dir, server, mut client) = served(configure).await;
    let (ann, bob) = (person(1), person(2));
    fill(&mut client, &ann).await;
    let [key, other] = [
        client.register(&ann.rounds).await,
        client.register(&bob.rounds).await,
    ];
    let bulk = client.register(&ann.bulk).await;
    let scanned = scan(&mut client, 1, key, 0, MESSAGES).await;
    let recipient = recipient(&ann);
    let ask = |header: &RoundsHeader| recipient.ask(header, &[7], &mut os_rng()).unwrap().query;
    let query = ask(&scanned.header);
    let damaged = {
        let mut bytes = query.clone();
        bytes[query.len() / 2] ^= 1;
        bytes
    };
    let mut seeds = scanned.header.seeds.clone();
    seeds[0][0] ^= 1;
    let foreign = ask(&RoundsHeader {
        seeds,
        ..scanned.header.clone()
    });
    let elsewhere = ask(&RoundsHeader {
        board_id: [1; 16],
        ..scanned.header.clone()
    });
    let shorter = v1::CreateJobRequest {
        end: MESSAGES - 1,
        ..fetch(9, key, &scanned.header, &query)
    };
    let header = &scanned.header;
    let with_gaps = v1::CreateJobRequest {
        step: 7,
        ..request(9, &[key], 0, MESSAGES)
    };
    let indices = v1::CreateJobRequest {
        indices_only: true,
        ..request(9, &[key], 0, MESSAGES)
    };
    for (what, asked) in [
        ("damaged", fetch(9, key, header, &damaged)),
        ("no query", fetch(9, key, header, b"query")),
        ("another key's", fetch(9, other, header, &query)),
        ("other seeds", fetch(9, key, header, &foreign)),
        ("another board", fetch(9, key, header, &elsewhere)),
        ("another range", shorter),
        ("a digest with a query", fetch(9, bulk, header, &query)),
        ("a step", with_gaps),
        ("indices alone", indices),
    ] {
        let refused = client.job(asked).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{what}: {refused}");
    }
    let beyond = v1::GetSeedsRequest {
        start: 0,
        end: MESSAGES + 1,
    };
    let refused = client.detection.get_seeds(beyond).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    // Another query under a known request id is another request.
    made(&mut client, fetch(10, key, header, &query)).await;
    let another = client
        .job(fetch(10, key, header, &ask(header)))
        .await
        .unwrap_err();
    assert_eq!(another.code(), Code::AlreadyExists, "{another}");
    assert_eq!(
        FetchQuery::from_bytes(set().rounds().unwrap(), &query)
            .unwrap()
            .header,
        *header
    );
    assert_eq!(Scheme::TwoRounds.tag(), 6);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_room_for_payloads_answers_no_query() {
    let (_dir, server, mut client) = served(|settings| {
        configure(settings);
        settings.detector.prepared_bytes = 1;
    })
    .await;
    let ann = person(1);
    fill(&mut client, &ann).await;
    let key = client.register(&ann.rounds).await;
    let scanned = scan(&mut client, 1, key, 0, MESSAGES).await;
    let asked = recipient(&ann)
        .ask(&scanned.header, &[7], &mut os_rng())
        .unwrap();
    let refused = client
        .job(fetch(2, key, &scanned.header, &asked.query))
        .await
        .unwrap_err();
    assert!(
        refused.message().contains("at most 0 for a fetch"),
        "{refused}"
    );
    server.stop().await;
}
