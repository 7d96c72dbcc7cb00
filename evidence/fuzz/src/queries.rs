//! Fuzz target: private queries between client and server: queries, answers, public parts, encrypted tables.

use crate::Target;
use crate::input::{Opened, choose, closed, header, opened, patched};
use crate::memory::bounded;
use crate::tables::TABLE;
use chacha20::ChaCha20Rng;
use omr_pdq::{
    Answer, Client, EncryptedHead, EncryptedTable, Params, Plan, Public, Quiet, SecretKey, Server,
};
use omr_protocol::frame::Kind;
use omr_table::{Query, Shape, Value};
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

/// The fuzz target.
pub const TARGET: Target = Target::new("queries", run, seeds);

const SQL: &str = "SELECT id, name FROM people WHERE id = 993";
const BOUND: usize = 4;

struct World {
    params: Arc<Params>,
    secret: SecretKey,
    plan: Plan,
    shape: Shape,
    query: Opened,
    answer: Opened,
    rows: Vec<Vec<Value>>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let params = Params::named("insecure-tiny-pdq-v1").expect("a published set");
    let (secret, key) = SecretKey::generate(&params, &mut rng);
    let (query, _) = Query::parse(SQL, TABLE.schema()).expect("a query");
    let client = Client::new(&params, TABLE.schema(), &secret);
    let plan = client.plan(&query, BOUND).expect("a plan");
    let sent = client
        .encrypt(&query, &plan, &mut rng)
        .to_bytes(&params)
        .expect("written");
    let server = server(&params);
    let (received, its_plan) = server.read(&sent).expect("it reads");
    let answer = server
        .answer(&received, &its_plan, &key, &mut rng, &Quiet)
        .expect("an answer");
    let rows = client.decode(&plan, &answer).expect("it decodes").values;
    assert_eq!(rows.len(), 1);
    let answer_bytes = answer.to_bytes(&params).expect("written");
    World {
        query: opened(Kind::PdqQuery, &sent),
        answer: opened(Kind::PdqAnswer, &answer_bytes),
        shape: query.shape(),
        params,
        secret,
        plan,
        rows,
    }
});

fn server(params: &Params) -> Server<'_> {
    Server::new(params, &TABLE, [3; 32])
}

const PATCHED: usize = 64;
const ANSWER: usize = 96;
const PUBLIC: usize = 128;
const ENCRYPTED: usize = 192;

fn run(choice: usize, rest: &[u8]) {
    let world = &*WORLD;
    let params = &world.params;
    bounded(rest.len(), 4096, || match choice {
        ENCRYPTED.. => {
            let length = (rest.len() as u64).to_le_bytes();
            let body = [&length[..], rest, &[0; 64]].concat();
            let file = closed(&header(Kind::PdqTable, params.name()), &body);
            let _ = EncryptedTable::read(params, &file[..], 1 << 24);
        }
        PUBLIC.. => public(world, rest),
        ANSWER.. => answer(world, &patched(&world.answer.1, rest)),
        PATCHED.. => query(world, &patched(&world.query.1, rest)),
        _ => {
            let length = (rest.len() as u32).to_le_bytes();
            query(world, &[&length[..], rest, &[0; 64]].concat());
        }
    });
}

fn query(world: &World, body: &[u8]) {
    let file = closed(&world.query.0, body);
    if let Ok((query, _)) = server(&world.params).read(&file) {
        let again = query.to_bytes(&world.params).expect("written");
        assert!(server(&world.params).read(&again).is_ok());
    }
}

/// Checks that an answer decodes to the requested rows, or not at all.
fn answer(world: &World, body: &[u8]) {
    let file = closed(&world.answer.0, body);
    let Ok(answer) = Answer::from_bytes(&world.params, &world.plan, &file) else {
        return;
    };
    assert_eq!(answer.to_bytes(&world.params).expect("written"), file);
    let client = Client::new(&world.params, TABLE.schema(), &world.secret);
    if let Ok(rows) = client.decode(&world.plan, &answer) {
        assert!(rows.values.is_empty() || rows.values == world.rows);
    }
}

fn public(world: &World, json: &[u8]) {
    if let Ok(public) = Public::from_json(json) {
        let again = Public::from_json(public.to_json().as_bytes());
        assert_eq!(again.expect("what was written reads"), public);
        let _ = public.plan(&world.params, &world.shape, BOUND);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let world = &*WORLD;
    let body = &world.query.1;
    let length = u32::from_le_bytes(*body.first_chunk().expect("a length")) as usize;
    let public = EncryptedHead::new(&world.params, TABLE.schema(), &[2]);
    let head = serde_json::to_vec(&public).expect("plain data");
    vec![
        choose(0, &body[4..4 + length]),
        choose(PATCHED, &[]),
        choose(PATCHED, &[40, 0, 0, 1]),
        choose(ANSWER, &[]),
        choose(ANSWER, &[90, 0, 0, 1]),
        choose(PUBLIC, TABLE.schema().to_json().as_bytes()),
        choose(PUBLIC, &head),
        choose(ENCRYPTED, &head),
    ]
}
