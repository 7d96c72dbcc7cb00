//! Private database queries over a real socket, in this process, on a tiny insecure set.

mod parts;

use chacha20::ChaCha20Rng;
use omr_api::v1::pdq_service_client::PdqServiceClient;
use omr_api::v1::{
    FindKeyRequest, GetSchemaRequest, ListTablesRequest, QueryRequest, UploadKeyRequest,
    UploadKeyResponse,
};
use omr_pdq::{Answer, Client, EvaluationKey, Params, Plan, QueryHead, SecretKey};
use omr_protocol::frame::{FrameHeader, Kind, write_frame_vec};
use omr_remote::{Endpoint, Retry};
use omr_server::{Config, PdqConfig, PdqServer};
use omr_table::{ColumnType, Query, Row, Schema, Table, TableBuilder, Value};
use rand_core::SeedableRng;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

const PARAMS: &str = "insecure-tiny-pdq-v1";
const ROWS: i64 = 2200;

static TABLE: LazyLock<Table> = LazyLock::new(|| table("people", 1));
static PEOPLE: LazyLock<[Person; 4]> = LazyLock::new(|| [1, 2, 3, 4].map(Person::new));

fn table(name: &str, salt: u8) -> Table {
    let columns = vec![
        ("id".to_owned(), ColumnType::Integer),
        ("name".to_owned(), ColumnType::Text { max_bytes: 16 }),
    ];
    let mut builder = TableBuilder::new(name, columns).unwrap();
    for row in 0..ROWS {
        let name = Value::Text(format!("name {}", row % 300));
        let row = vec![Value::Integer(row * 37 % 9999), name];
        builder.push_row(row).unwrap();
    }
    builder.finish([salt; 16])
}

/// A client's keys.
struct Person {
    params: Arc<Params>,
    secret: SecretKey,
    key: Vec<u8>,
    hash: [u8; 32],
}

impl Person {
    fn new(seed: u64) -> Self {
        Self::of(PARAMS, seed)
    }

    fn of(params: &str, seed: u64) -> Self {
        let params = Params::named(params).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (secret, evaluation) = SecretKey::generate(&params, &mut rng);
        let mut key = Vec::new();
        evaluation.write(&params, &mut key).unwrap();
        assert_eq!(key.len() as u64, EvaluationKey::bytes_of(&params));
        let hash = *blake3::hash(&key).as_bytes();
        Self {
            params,
            secret,
            key,
            hash,
        }
    }

    /// Returns a query's file and its plan.
    fn ask(&self, schema: &Schema, sql: &str) -> (Vec<u8>, Query, Plan) {
        let (query, limit) = Query::parse(sql, schema).unwrap();
        let client = self.client(schema);
        let plan = client.plan(&query, limit.unwrap_or(16) as usize).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let sent = client.encrypt(&query, &plan, &mut rng);
        (sent.to_bytes(&self.params).unwrap(), query, plan)
    }

    fn client<'a>(&'a self, schema: &'a Schema) -> Client<'a> {
        Client::new(&self.params, schema, &self.secret)
    }
}

/// A server that listens at a free port.
struct Running {
    url: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

fn limits(dir: &Path) -> PdqConfig {
    let path = dir.join("people.table");
    if !path.exists() {
        TABLE.write(std::fs::File::create(&path).unwrap()).unwrap();
    }
    PdqConfig {
        tables: vec![path],
        params: vec![PARAMS.into()],
        at_once: 1,
        waiting: 4,
        threads: 2,
        keys: 8,
        key_bytes: 1 << 30,
        query_memory: 1 << 30,
        query_seconds: 3600,
    }
}

impl Running {
    async fn start(dir: &Path, limits: PdqConfig) -> Self {
        let mut config = Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            data: dir.join("data"),
            ..Config::default()
        };
        config.access.anonymous_detect = true;
        let server = PdqServer::start(config, limits).await.unwrap();
        let url = format!("http://{}", server.address().unwrap());
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let stop = async { drop(stopped.await) };
            server.run(stop).await.unwrap();
        });
        Self { url, stop, served }
    }

    async fn stop(self) {
        let _ = self.stop.send(());
        self.served.await.unwrap();
    }

    async fn raw(&self) -> PdqServiceClient<Channel> {
        PdqServiceClient::connect(self.url.clone()).await.unwrap()
    }

    fn remote(&self) -> omr_remote::Client {
        let retry = Retry {
            total: Duration::from_secs(20),
            ..Retry::default()
        };
        let endpoint = Endpoint {
            retry,
            ..Endpoint::new(&self.url)
        };
        omr_remote::Client::connect(&endpoint).unwrap()
    }
}

async fn upload(
    raw: &mut PdqServiceClient<Channel>,
    key: &[u8],
) -> Result<UploadKeyResponse, Status> {
    let chunks: Vec<_> = key
        .chunks(1 << 20)
        .map(|data| UploadKeyRequest {
            total_bytes: key.len() as u64,
            data: data.to_vec().into(),
        })
        .collect();
    let answer = raw.upload_key(tokio_stream::iter(chunks)).await?;
    Ok(answer.into_inner())
}

fn request(hash: &[u8], query: &[u8]) -> QueryRequest {
    QueryRequest {
        table: "people".into(),
        key_hash: hash.to_vec().into(),
        total_bytes: query.len() as u64,
        data: query.to_vec().into(),
    }
}

/// Runs a query to its end; returns the bytes of the answer, or the reason for its absence.
async fn run(
    raw: &mut PdqServiceClient<Channel>,
    parts: Vec<QueryRequest>,
) -> Result<usize, Status> {
    let mut stream = raw.query(tokio_stream::iter(parts)).await?.into_inner();
    let mut bytes = 0;
    while let Some(message) = stream.message().await? {
        if let Some(omr_api::v1::query_response::Part::Answer(answer)) = message.part {
            bytes += answer.data.len();
        }
    }
    Ok(bytes)
}

#[track_caller]
fn refused(done: Result<usize, Status>, code: Code, text: &str) {
    let status = done.unwrap_err();
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(text), "{status:?}");
}

struct At(usize);

impl Row for At {
    fn ordinal(&self, column: usize) -> Option<i64> {
        TABLE.ordinal(self.0, column)
    }
    fn text(&self, column: usize) -> Option<&str> {
        TABLE.text(self.0, column)
    }
}

/// Queries and compares with the plain reference.
async fn ask(remote: &omr_remote::Client, person: &Person, sql: &str) {
    let json = remote.schema("PEOPLE").await.unwrap();
    let schema = Schema::from_json(&json).unwrap();
    let (bytes, query, plan) = person.ask(&schema, sql);
    let mut heard = 0;
    let answer = remote
        .query("people", person.hash, bytes.into(), |_| heard += 1)
        .await
        .unwrap();
    assert!(heard > 0);
    let answer = Answer::from_bytes(&person.params, &plan, &answer).unwrap();
    let rows = person.client(&schema).decode(&plan, &answer).unwrap();
    let expected: Vec<u64> = (0..TABLE.rows())
        .filter(|&row| query.matches(&At(row)))
        .map(|row| row as u64)
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(rows.numbers, expected);
    for (&row, values) in expected.iter().zip(&rows.values) {
        let picked: Vec<Value> = query
            .select
            .iter()
            .map(|&column| TABLE.value(row as usize, column))
            .collect();
        assert_eq!(values, &picked);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_are_answered_and_keys_outlast_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let [alice, bob, ..] = &*PEOPLE;
    let server = Running::start(dir.path(), limits(dir.path())).await;
    let remote = server.remote();
    let known = remote.tables().await.unwrap();
    assert_eq!(known.params_ids, [PARAMS]);
    let [summary] = &known.tables[..] else {
        panic!("{known:?}")
    };
    assert_eq!(
        (summary.name.as_str(), summary.rows),
        ("people", ROWS as u64)
    );
    assert_eq!(summary.schema_fingerprint, TABLE.schema().fingerprint()[..]);
    for (person, name) in [(alice, "alice"), (bob, "bob")] {
        let path = dir.path().join(name);
        std::fs::write(&path, &person.key).unwrap();
        let sent = person.key.len() as u64;
        for expected in [sent, 0] {
            let uploaded = remote.upload_evaluation_key(&path).await.unwrap();
            assert_eq!(uploaded, (person.hash, expected));
        }
    }
    // Two are allowed at a time, so one waits.
    tokio::join!(
        ask(&remote, alice, "SELECT * FROM people WHERE id = 37"),
        ask(
            &remote,
            bob,
            "SELECT id FROM people WHERE name = 'name 7' AND id < 5000"
        ),
    );
    server.stop().await;
    let server = Running::start(dir.path(), limits(dir.path())).await;
    let remote = server.remote();
    assert!(remote.has_evaluation_key(alice.hash).await.unwrap());
    ask(
        &remote,
        alice,
        "SELECT name FROM people WHERE id BETWEEN 30 AND 40",
    )
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_queries_are_refused_and_harm_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let [alice, bob, stranger, _] = &*PEOPLE;
    let server = Running::start(dir.path(), limits(dir.path())).await;
    let mut raw = server.raw().await;
    for person in [alice, bob] {
        upload(&mut raw, &person.key).await.unwrap();
    }
    let sql = "SELECT id FROM people WHERE id = 37";
    let (good, ..) = alice.ask(TABLE.schema(), sql);
    let whole = request(&alice.hash, &good);
    let one = async |part: QueryRequest| run(&mut raw.clone(), vec![part]).await;

    let asked = one(request(&stranger.hash, &good)).await;
    refused(asked, Code::NotFound, "upload it first");
    let mut part = whole.clone();
    part.table = "folk".into();
    refused(one(part).await, Code::NotFound, "people");
    let (other, ..) = alice.ask(table("people", 2).schema(), sql);
    let asked = one(request(&alice.hash, &other)).await;
    refused(asked, Code::FailedPrecondition, "fetch the schema again");
    let asked = one(request(&bob.hash, &good)).await;
    refused(
        asked,
        Code::FailedPrecondition,
        "expected a query under key",
    );
    refused(
        one(request(&alice.hash[..31], &good)).await,
        Code::InvalidArgument,
        "32 bytes",
    );
    for total in [0, u64::MAX, 1 << 40] {
        let mut part = whole.clone();
        part.total_bytes = total;
        refused(one(part).await, Code::InvalidArgument, "total_bytes");
    }
    let mut part = whole.clone();
    part.total_bytes -= 1;
    refused(one(part).await, Code::InvalidArgument, "data");
    let mut part = whole.clone();
    part.total_bytes += 1;
    refused(one(part).await, Code::InvalidArgument, "more messages");
    let mut part = whole.clone();
    part.data = Vec::new().into();
    refused(one(part).await, Code::InvalidArgument, "data");
    refused(
        run(&mut raw.clone(), vec![]).await,
        Code::InvalidArgument,
        "more messages",
    );
    for at in [0, 9, 40, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        refused(
            one(request(&alice.hash, &bad)).await,
            Code::InvalidArgument,
            "",
        );
    }
    refused(
        one(request(&alice.hash, &good[..100])).await,
        Code::InvalidArgument,
        "",
    );
    assert!(run(&mut raw, vec![whole]).await.unwrap() > 0);
    server.stop().await;
}

/// Returns a query's file with any public part.
fn forged(head: &[u8], length: u32, rest: usize) -> Vec<u8> {
    let mut body = length.to_le_bytes().to_vec();
    body.extend(head);
    body.extend(vec![7; rest]);
    let header = FrameHeader::new(Kind::PdqQuery, PARAMS, PEOPLE[0].secret.id);
    write_frame_vec(&header, &body).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_shapes_are_refused_before_they_cost_anything() {
    let dir = tempfile::tempdir().unwrap();
    let mut tight = limits(dir.path());
    tight.query_memory = 1 << 20;
    let server = Running::start(dir.path(), tight).await;
    let mut raw = server.raw().await;
    let alice = &PEOPLE[0];
    upload(&mut raw, &alice.key).await.unwrap();
    let (good, query, _) = alice.ask(TABLE.schema(), "SELECT id FROM people WHERE id = 37");
    let head = |shape: serde_json::Value, bound: u64| {
        let head = QueryHead {
            schema: TABLE.schema().fingerprint(),
            shape: query.shape(),
            bound: 1,
        };
        let mut head = serde_json::to_value(head).unwrap();
        head["shape"]["filter"] = shape;
        head["bound"] = bound.into();
        serde_json::to_vec(&head).unwrap()
    };
    let leaf = |column: u64, test: serde_json::Value| serde_json::json!({"leaf": {"column": column, "test": test, "negated": false}});
    let texts = leaf(1, serde_json::json!({"texts": 256}));
    let mut heads = vec![
        head(leaf(9, serde_json::json!("null")), 1),
        head(leaf(0, serde_json::json!({"ordinals": 0})), 1),
        head(leaf(0, serde_json::json!({"ordinals": u64::MAX})), 1),
        head(leaf(0, serde_json::json!({"texts": 1})), 1),
        head(
            leaf(
                0,
                serde_json::json!({"range": {"low": false, "high": false}}),
            ),
            1,
        ),
        head(leaf(0, serde_json::json!({"ordinals": 1})), 0),
        head(leaf(0, serde_json::json!({"ordinals": 1})), u64::MAX),
        head(serde_json::json!({"and": []}), 1),
        head(serde_json::json!({"or": vec![texts.clone(); 65]}), 1),
        head(serde_json::json!({"or": vec![texts; 64]}), 1),
        b"{}".to_vec(),
        b"\xff\xfe".to_vec(),
        vec![b'['; 200_000],
    ];
    let deep = format!("{}{}", "{\"and\":[".repeat(9000), "]}".repeat(9000));
    heads.push(deep.into_bytes());
    for head in heads {
        let text = String::from_utf8_lossy(&head[..head.len().min(300)]).into_owned();
        let bytes = forged(&head, head.len() as u32, 4000);
        let asked = run(&mut raw.clone(), vec![request(&alice.hash, &bytes)]).await;
        let code = asked.unwrap_err().code();
        assert_eq!(code, Code::InvalidArgument, "{text}");
    }
    for length in [u32::MAX, 1 << 19, 5000] {
        let bytes = forged(b"{}", length, 100);
        let asked = run(&mut raw.clone(), vec![request(&alice.hash, &bytes)]).await;
        refused(asked, Code::InvalidArgument, "");
    }
    // An honest query for which there is not enough memory.
    let (large, ..) = alice.ask(
        TABLE.schema(),
        "SELECT id FROM people WHERE name = 'name 7'",
    );
    let asked = run(&mut raw.clone(), vec![request(&alice.hash, &large)]).await;
    refused(asked, Code::FailedPrecondition, "bytes of memory");
    drop(good);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_takes_too_long_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let mut hasty = limits(dir.path());
    hasty.query_seconds = 0;
    let server = Running::start(dir.path(), hasty).await;
    let mut raw = server.raw().await;
    let alice = &PEOPLE[0];
    upload(&mut raw, &alice.key).await.unwrap();
    let (good, ..) = alice.ask(TABLE.schema(), "SELECT id FROM people WHERE id = 37");
    let asked = run(&mut raw, vec![request(&alice.hash, &good)]).await;
    refused(asked, Code::FailedPrecondition, "at most 0 s");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_checked_and_the_one_unused_for_longest_gives_way() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = limits(dir.path());
    // One place is reserved for tokens.
    small.keys = 4;
    let server = Running::start(dir.path(), small).await;
    let mut raw = server.raw().await;
    let [a, b, c, d] = &*PEOPLE;
    let mut bad = a.key.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    let code = async |key: &[u8]| upload(&mut raw.clone(), key).await.unwrap_err().code();
    assert_eq!(code(&bad).await, Code::InvalidArgument);
    assert_eq!(code(&a.key[..1000]).await, Code::InvalidArgument);
    assert_eq!(code(&vec![0; 5000]).await, Code::InvalidArgument);
    assert_eq!(code(&vec![0; a.key.len() + 1]).await, Code::InvalidArgument);
    let deep = Person::of("insecure-tiny-pdq-two-sided-v1", 5);
    if deep.key.len() <= a.key.len() {
        assert_eq!(code(&deep.key).await, Code::FailedPrecondition);
    }
    for person in [a, b, c] {
        let answer = upload(&mut raw, &person.key).await.unwrap();
        assert_eq!(
            (&answer.key_hash[..], answer.params_id.as_str()),
            (&person.hash[..], PARAMS)
        );
    }
    let has = async |person: &Person| {
        let key_hash = person.hash.to_vec().into();
        let answer = server
            .raw()
            .await
            .find_key(FindKeyRequest { key_hash })
            .await;
        answer.unwrap().into_inner().found
    };
    // b is now the one unused for longest.
    assert!(has(a).await);
    upload(&mut raw, &d.key).await.unwrap();
    assert_eq!(
        [has(a).await, has(b).await, has(c).await, has(d).await],
        [true, false, true, true]
    );
    let files = std::fs::read_dir(dir.path().join("data/pdq-keys")).unwrap();
    assert_eq!(files.count(), 3);
    // Damage on the disk is detected when the key is needed, not before.
    let name = blake3::Hash::from_bytes(a.hash).to_hex();
    let path = dir.path().join(format!("data/pdq-keys/{name}.key"));
    server.stop().await;
    std::fs::write(&path, &bad).unwrap();
    let server = Running::start(dir.path(), limits(dir.path())).await;
    let mut raw = server.raw().await;
    let (query, ..) = a.ask(TABLE.schema(), "SELECT id FROM people WHERE id = 37");
    let asked = run(&mut raw, vec![request(&a.hash, &query)]).await;
    refused(asked, Code::NotFound, "upload it again");
    upload(&mut raw, &a.key).await.unwrap();
    assert!(run(&mut raw, vec![request(&a.hash, &query)]).await.unwrap() > 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_states_when_to_retry() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = limits(dir.path());
    small.waiting = 0;
    let server = Running::start(dir.path(), small).await;
    let mut raw = server.raw().await;
    let alice = &PEOPLE[0];
    upload(&mut raw, &alice.key).await.unwrap();
    let (query, ..) = alice.ask(TABLE.schema(), "SELECT id FROM people WHERE id = 37");
    // An unfinished upload has no place: another query is answered beside it.
    let mut first = request(&alice.hash, &query[..1000]);
    first.total_bytes = query.len() as u64;
    let (parts, outgoing) = mpsc::channel(1);
    parts.send(first).await.unwrap();
    let kept = || {
        std::fs::read_dir(dir.path().join("data/pdq-keys"))
            .unwrap()
            .count()
    };
    let before = kept();
    let mut own = raw.clone();
    let unfinished = tokio::spawn(async move { own.query(ReceiverStream::new(outgoing)).await });
    while kept() == before {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    run(&mut raw, vec![request(&alice.hash, &query)])
        .await
        .unwrap();
    assert!(!unfinished.is_finished());
    unfinished.abort();
    drop(parts);
    // Consecutive queries hold the only place, once one of them has it.
    let whole = request(&alice.hash, &query);
    let mut own = raw.clone();
    let open = tokio::spawn(async move {
        loop {
            let _ = run(&mut own, vec![whole.clone()]).await;
        }
    });
    let refusal = loop {
        match run(&mut raw, vec![request(&alice.hash, &query)]).await {
            Err(status) => break status,
            Ok(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!(refusal.code(), Code::ResourceExhausted);
    let after = refusal.metadata().get("retry-after-ms").unwrap();
    assert!(after.to_str().unwrap().parse::<u64>().unwrap() > 0);
    // The waiting client gets its turn once the other has left.
    let remote = server.remote();
    let asked = tokio::spawn(async move {
        ask(&remote, &PEOPLE[0], "SELECT name FROM people WHERE id = 37").await;
    });
    open.abort();
    asked.await.unwrap();
    server.stop().await;
}

async fn page(address: std::net::SocketAddr, host: &str, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_need_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let limits = limits(dir.path());
    let config = Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        data: dir.path().join("data"),
        ..Config::default()
    };
    let server = PdqServer::start(config, limits).await.unwrap();
    let address = server.address().unwrap();
    let url = format!("http://{address}");
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(server.run(async { drop(stopped.await) }));
    let mut raw = PdqServiceClient::connect(url).await.unwrap();
    let schema = GetSchemaRequest {
        table: "people".into(),
    };
    // Public data needs no rights.
    raw.list_tables(ListTablesRequest {}).await.unwrap();
    raw.get_schema(schema).await.unwrap();
    let alice = &PEOPLE[0];
    let refused = upload(&mut raw, &alice.key).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let asked = run(&mut raw, vec![request(&alice.hash, b"x")]).await;
    assert_eq!(asked.unwrap_err().code(), Code::Unauthenticated);
    for (host, path, expected) in [
        ("localhost", "/", "people: 2200 rows"),
        ("localhost", "/", "200 OK"),
        ("localhost", "/no/such", "404 Not Found"),
        (
            "localhost",
            "/no/such",
            "one of the pages /; found /no/such\n",
        ),
        ("attacker.example", "/", "403 Forbidden"),
    ] {
        let answer = page(address, host, path).await;
        assert!(answer.contains(expected), "{answer}");
    }
    let _ = stop.send(());
    served.await.unwrap().unwrap();
}
