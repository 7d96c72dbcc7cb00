//! Digests of a range.

use crate::world::{BOUND, Person, Running, config, messages, request, served};
use omr_api::v1;
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_holds_exactly_the_recipients_messages() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let person = Person::new(1);
    client.fill(messages(150, &person, &[0, 33, 149])).await;
    let bulk = client.register(&person.bulk).await;
    let instant = client.register(&person.instant).await;
    for (id, keys) in [
        (1, vec![bulk]),
        (2, vec![instant]),
        (3, vec![bulk, instant]),
    ] {
        let job = client.job(request(id, &keys, 0, 150)).await.unwrap();
        assert_eq!(job.state(), v1::JobState::Done, "{}", job.error);
        let digest = client.digest(&job).await;
        assert_eq!(person.decode(&digest), [(0, 0), (33, 33), (149, 149)]);
    }
    let job = client.job(request(4, &[instant], 10, 100)).await.unwrap();
    assert_eq!(person.decode(&client.digest(&job).await), [(33, 33)]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_of_every_seventh_message_counts_them_without_gaps() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let person = Person::new(1);
    client
        .fill(messages(150, &person, &[0, 3, 10, 33, 87, 143, 149]))
        .await;
    let bulk = client.register(&person.bulk).await;
    let instant = client.register(&person.instant).await;
    let keys = [vec![bulk], vec![instant], vec![bulk, instant]];
    for (id, keys) in (1..).zip(keys) {
        // The plain range first: its cached data must not get into the digest of the view.
        client.job(request(id, &keys, 3, 150)).await.unwrap();
        let asked = v1::CreateJobRequest {
            step: 7,
            ..request(10 + id, &keys, 3, 150)
        };
        let job = client.job(asked).await.unwrap();
        assert_eq!(job.state(), v1::JobState::Done, "{}", job.error);
        // Messages 3, 10, 87 and 143 of the board.
        let found = person.decode(&client.digest(&job).await);
        assert_eq!(found, [(3, 3), (4, 10), (15, 87), (23, 143)]);
    }
    let asked = request(11, &[bulk], 3, 150);
    let other = client.job(asked).await.unwrap_err();
    assert_eq!(other.code(), Code::AlreadyExists, "another step: {other}");
    let asked = v1::CreateJobRequest {
        step: u64::MAX,
        ..request(30, &[bulk], 3, 150)
    };
    let refused = client.job(asked).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert!(refused.message().starts_with("step: "), "{refused}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_size_of_a_digest_depends_on_nothing_secret() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let (busy, idle) = (Person::new(1), Person::new(2));
    let own: Vec<u64> = (0..60).collect();
    client.fill(messages(100, &busy, &own)).await;
    let mut sizes = Vec::new();
    for (id, person) in [(1, &busy), (2, &idle)] {
        let keys = [
            client.register(&person.bulk).await,
            client.register(&person.instant).await,
        ];
        let of = |key: usize| request(id + 10 * key as u8, &keys[key..=key], 0, 100);
        let jobs = [
            client.job(of(0)).await.unwrap(),
            client.job(of(1)).await.unwrap(),
        ];
        sizes.push(jobs.map(|job| (job.state, job.digest_bytes, job.error)));
    }
    assert_eq!(
        sizes[0], sizes[1],
        "60 messages of a bound of {BOUND}, or none"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_asked_for_twice_is_one_and_outlives_restarts() {
    let (dir, server, mut client) = served(|_| ()).await;
    let person = Person::new(1);
    client.fill(messages(60, &person, &[5])).await;
    let key = client.register(&person.instant).await;
    let mut jobs = Vec::new();
    for id in 0..4 {
        let created = client
            .detection
            .create_job(request(id, &[key], 0, 60))
            .await
            .unwrap();
        jobs.push(created.into_inner().job.unwrap().job_id);
    }
    // Some have run and some have not.
    server.stop().await;
    let server = Running::start(config(dir.path())).await;
    let mut client = server.client().await;
    for (id, known) in (0..4).zip(jobs) {
        let job = client.job(request(id, &[key], 0, 60)).await.unwrap();
        assert_eq!(job.job_id, known);
        assert_eq!(person.decode(&client.digest(&job).await), [(5, 5)]);
    }
    let other = client.job(request(0, &[key], 0, 59)).await.unwrap_err();
    assert_eq!(other.code(), Code::AlreadyExists, "{other}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_is_gone() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let person = Person::new(1);
    client.fill(messages(200, &person, &[5])).await;
    let key = client.register(&person.instant).await;
    for id in 0..3 {
        client
            .detection
            .create_job(request(id, &[key], 0, 200))
            .await
            .unwrap();
    }
    let created = client
        .detection
        .create_job(request(2, &[key], 0, 200))
        .await
        .unwrap();
    let job_id = created.into_inner().job.unwrap().job_id;
    let cancel = v1::CancelJobRequest {
        job_id: job_id.clone(),
    };
    client.detection.cancel_job(cancel).await.unwrap();
    let error = client
        .detection
        .get_job(v1::GetJobRequest { job_id })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    // The others are not affected.
    let job = client.job(request(1, &[key], 0, 200)).await.unwrap();
    assert_eq!(person.decode(&client.digest(&job).await), [(5, 5)]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_are_refused() {
    let (_dir, server, mut client) = served(|_| ()).await;
    let person = Person::new(1);
    client.fill(messages(20, &person, &[])).await;
    let key = client.register(&person.instant).await;
    let good = request(1, &[key], 0, 20);
    let wrong = [
        (
            v1::CreateJobRequest {
                end: 21,
                ..good.clone()
            },
            Code::OutOfRange,
        ),
        (
            v1::CreateJobRequest {
                start: u64::MAX,
                end: 0,
                ..good.clone()
            },
            Code::OutOfRange,
        ),
        (
            v1::CreateJobRequest {
                bound: 0,
                ..good.clone()
            },
            Code::InvalidArgument,
        ),
        (
            v1::CreateJobRequest {
                bound: u32::MAX,
                ..good.clone()
            },
            Code::InvalidArgument,
        ),
        (
            v1::CreateJobRequest {
                scheme: 99,
                ..good.clone()
            },
            Code::InvalidArgument,
        ),
        // The key is for the other engine.
        (
            v1::CreateJobRequest {
                scheme: 1,
                ..good.clone()
            },
            Code::InvalidArgument,
        ),
        (
            v1::CreateJobRequest {
                key_hashes: vec![],
                ..good.clone()
            },
            Code::InvalidArgument,
        ),
        (
            v1::CreateJobRequest {
                key_hashes: vec![vec![0; 32].into()],
                ..good.clone()
            },
            Code::NotFound,
        ),
        (
            v1::CreateJobRequest {
                request_id: vec![].into(),
                ..good.clone()
            },
            Code::InvalidArgument,
        ),
    ];
    for (request, code) in wrong {
        let error = client
            .detection
            .create_job(request.clone())
            .await
            .unwrap_err();
        assert_eq!(error.code(), code, "{request:?}: {error}");
    }
    let fetch = v1::FetchDigestRequest {
        job_id: vec![1; 16].into(),
        offset: 0,
    };
    assert_eq!(
        client
            .detection
            .fetch_digest(fetch)
            .await
            .unwrap_err()
            .code(),
        Code::NotFound
    );
    let job = client.job(good).await.unwrap();
    let fetch = v1::FetchDigestRequest {
        job_id: job.job_id,
        offset: u64::MAX,
    };
    assert_eq!(
        client
            .detection
            .fetch_digest(fetch)
            .await
            .unwrap_err()
            .code(),
        Code::OutOfRange
    );
    server.stop().await;
}
