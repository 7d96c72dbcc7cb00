//! Boards whose old messages expire: missed ranges are reported, the rest arrives, and requests reveal nothing.

use crate::common::Scene;
use omr_mail::{Collected, MailError, cut};

/// First messages of ranges, and the indices after the last.
type Ends = Vec<(u64, u64)>;

fn missed_of(collected: &Collected) -> Ends {
    let ranges = collected.missed.iter();
    ranges.map(|range| (range.start, range.end)).collect()
}

impl Scene {
    fn expire(&self, first: u64) {
        self.fake.with(|state| state.board.first_index = first);
    }

    async fn missed(&self) -> Result<Ends, MailError> {
        let inbox = self.inbox();
        let collected = self.collect(&self.client, &inbox).await?;
        inbox.take_in(&omr_mail::Reader::new(&self.identity)?)?;
        Ok(missed_of(&collected))
    }

    /// Returns the requests for digests that the server received.
    fn asked(&self) -> Vec<String> {
        let jobs = |line: &&String| line.starts_with("CreateJob");
        self.fake
            .with(|state| state.log.iter().filter(jobs).cloned().collect())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_fetch_reports_missed_ranges_and_gets_the_rest() {
    let scene = Scene::with_spares(8).await;
    scene.write(&[b"first"]).await;
    scene.fetch(&scene.inbox()).await.unwrap();
    scene.write(&[b"missed", b"missed too"]).await;
    scene.write_to_others(3).await;
    scene.write(&[b"in time"]).await;
    scene.expire(4);
    assert_eq!(scene.missed().await.unwrap(), [(1, 4)]);
    let inbox = scene.inbox();
    let expected = [&b"first"[..], b"in time"];
    assert_eq!(scene.contents(&inbox), expected);
    // The range stays listed until the person drops it.
    let kept = inbox.kept().unwrap();
    assert_eq!((kept[0].range(), kept[0].expired), (1..4, true));
    assert!(kept[0].reason.contains("the board begins at 4"), "{kept:?}");
    assert_eq!(
        (kept[0].fetches_left, inbox.retry_damaged().unwrap()),
        (0, 0)
    );
    drop(inbox);
    assert_eq!(scene.missed().await.unwrap(), []);
    assert_eq!(scene.inbox().drop_range(0..4).unwrap(), (1, 0));
    assert_eq!(scene.inbox().kept().unwrap(), []);
    // No message that is gone was requested.
    for line in scene.asked().iter().skip(2) {
        let start = line.split_whitespace().nth(1).unwrap();
        let (start, _) = start.split_once("..").unwrap();
        assert!(start.parse::<u64>().unwrap() >= 4, "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_requests_are_cut_where_the_board_begins() {
    let scene = Scene::with_spares(8).await;
    scene.write(&[b"a", b"b", b"c", b"d"]).await;
    // The server stops while the requests are open.
    scene.fake.fail(
        "WatchJob",
        crate::common::fake::Fault::Refuse(tonic::Code::Internal),
    );
    scene.missed().await.unwrap_err();
    scene.expire(2);
    assert_eq!(scene.missed().await.unwrap(), [(0, 2)]);
    assert_eq!(scene.contents(&scene.inbox()), [b"c", b"d"]);
    scene.write(&[b"e"]).await;
    scene.expire(5);
    assert_eq!(scene.missed().await.unwrap(), [(4, 5)]);
    assert_eq!(scene.inbox().kept().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_expire_during_a_fetch_are_missed_in_the_next() {
    let scene = Scene::new(8).await;
    scene.write(&[b"a", b"b", b"c"]).await;
    let inbox = scene.inbox();
    let fake = scene.fake.clone();
    // Messages expire between the description of the board and the request.
    scene.fake.with(|state| state.expires_at_limits = Some(2));
    let client = fake.client();
    let collected = scene.collect(&client, &inbox).await;
    let collected = collected.unwrap();
    assert_eq!(
        (&collected.missed[..], &collected.refused[..]),
        (&[][..], &[][..])
    );
    drop(inbox);
    assert_eq!(scene.missed().await.unwrap(), [(0, 2)]);
    assert_eq!(scene.contents(&scene.inbox()), [b"c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_fell_behind_is_opened_again() {
    let scene = Scene::new(8).await;
    let tick = async || -> Result<Ends, MailError> {
        let inbox = scene.inbox();
        let collected = cut(&scene.client, &scene.identity, inbox.requests()).await?;
        inbox.take_in(&omr_mail::Reader::new(&scene.identity)?)?;
        Ok(missed_of(&collected))
    };
    scene.write(&[b"a"]).await;
    assert_eq!(tick().await.unwrap(), []);
    scene.write(&[b"b", b"c"]).await;
    scene.expire(2);
    assert_eq!(tick().await.unwrap(), [(1, 2)]);
    assert_eq!(scene.contents(&scene.inbox()), [b"a", b"c"]);
    assert_eq!(
        (
            scene.fake.count("OpenSession"),
            scene.fake.count("CloseSession")
        ),
        (2, 1)
    );
    // A session that is not behind continues.
    scene.write(&[b"d"]).await;
    scene.expire(3);
    assert_eq!(tick().await.unwrap(), []);
    assert_eq!(scene.fake.count("OpenSession"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_message_beyond_the_board_is_refused() {
    let scene = Scene::new(8).await;
    scene.write(&[b"a"]).await;
    scene.expire(9);
    let error = scene.missed().await.unwrap_err();
    assert!(matches!(error, MailError::Board(_)), "{error}");
    scene.expire(0);
    assert_eq!(scene.missed().await.unwrap(), []);
    assert_eq!(scene.contents(&scene.inbox()), [b"a"]);
}

/// Of two recipients, one receives more messages than the bound: the server sees the same requests while messages
/// expire.
#[tokio::test(flavor = "multi_thread")]
async fn requests_do_not_tell_an_overflow_apart_while_messages_expire() {
    let mut logs = Vec::new();
    for overflows in [false, true] {
        let scene = Scene::with_spares(2).await;
        let letters: [&[u8]; 6] = [b"1", b"2", b"3", b"4", b"5", b"6"];
        for round in 0..12u64 {
            if overflows && round < 8 {
                scene.write(&letters).await
            } else {
                scene.write_to_others(6).await
            }
            if round % 3 == 2 {
                scene.expire((round - 1) * 6 + 3);
            }
            // Every other time the fetch is late, or there is nothing to request.
            if round % 4 != 3 {
                scene.missed().await.unwrap();
            }
        }
        let kept = scene.inbox().kept().unwrap();
        assert_eq!(kept.iter().any(|kept| kept.overflowed.is_some()), overflows);
        logs.push(scene.asked());
    }
    assert_eq!(logs[0], logs[1]);
    assert!(logs[0].iter().any(|line| line.contains("step 7")));
}
