//! Queries from constants to rows, on small insecure rings, against the plain reference.

use chacha20::ChaCha20Rng;
use omr_pdq::{
    Answer, Client, DecodeError, EncryptedHead, EncryptedServer, EncryptedTable, EvaluationKey,
    Params, Plan, Progress, Quiet, Rows, SecretKey, Server, ServerError,
};
use omr_table::{
    ColumnType, Filter, Leaf, Pattern, Query, Segment, Table, TableBuilder, Test, Value,
};
use rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

struct World {
    params: Arc<Params>,
    table: Table,
    secret: SecretKey,
    key: EvaluationKey,
}

static WORLD: LazyLock<World> = LazyLock::new(|| World::new("insecure-tiny-pdq-v1"));
static TWO_SIDED: LazyLock<World> = LazyLock::new(|| World::new("insecure-tiny-pdq-two-sided-v1"));
static DEEP: LazyLock<World> = LazyLock::new(|| World::new("insecure-tiny-pdq-deep-v1"));

impl World {
    fn new(params: &str) -> World {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let columns = vec![
            ("month".to_owned(), ColumnType::Integer),
            ("id".to_owned(), ColumnType::Integer),
            ("city".to_owned(), ColumnType::Text { max_bytes: 12 }),
            ("delayed".to_owned(), ColumnType::Boolean),
        ];
        let mut builder = TableBuilder::new("flights", columns).unwrap();
        for row in 0..2500i64 {
            let mut below = |n: u32| i64::from(rng.next_u32() % n);
            let or_null = |value: Value, draw: i64| if draw == 0 { Value::Null } else { value };
            let (letter, number) = (below(20) as u8, below(9));
            let city = format!(
                "{}x{}{}",
                (b'a' + letter) as char,
                number,
                "y".repeat(number as usize)
            );
            let values = vec![
                or_null(Value::Integer(below(12) + 1), below(40)),
                or_null(Value::Integer(row * 1_000_003 - 77), below(40)),
                or_null(Value::Text(city), below(40)),
                or_null(Value::Boolean(below(2) == 0), below(40)),
            ];
            builder.push_row(values).unwrap();
        }
        let params = Params::named(params).unwrap();
        let (secret, key) = SecretKey::generate(&params, &mut rng);
        World {
            params,
            table: builder.finish([9; 16]),
            secret,
            key,
        }
    }
}

fn leaf(column: usize, test: Test) -> Filter {
    Filter::Leaf(Leaf::new(column, test))
}

fn not(filter: Filter) -> Filter {
    let Filter::Leaf(leaf) = filter else {
        panic!("a leaf")
    };
    Filter::Leaf(Leaf {
        negated: !leaf.negated,
        ..leaf
    })
}

/// The rows that the server returns, and those that it should.
fn ask(filter: Filter, bound: usize) -> Result<(), DecodeError> {
    ask_of(&WORLD, filter, bound)
}

fn ask_of(world: &World, filter: Filter, bound: usize) -> Result<(), DecodeError> {
    let query = select(filter);
    let table = &world.table;
    let expected = matching(world, &query);
    let rows = exchange(world, &query, bound, 8).rows?;
    let values = |&row: &u64| {
        [1, 2]
            .map(|column| table.value(row as usize, column))
            .to_vec()
    };
    let values: Vec<Vec<Value>> = expected.iter().map(values).collect();
    if world.params.two_sided() {
        assert!(rows.numbers.is_empty(), "{:?}", rows.numbers);
        assert_eq!(sorted(&rows.values), sorted(&values));
    } else {
        assert_eq!(rows.numbers, expected);
        assert_eq!(rows.values, values);
    }
    Ok(())
}

fn select(filter: Filter) -> Query {
    Query::new(vec![1, 2], filter)
}

fn matching(world: &World, query: &Query) -> Vec<u64> {
    (0..world.table.rows())
        .filter(|&row| query.matches(&world.table.at(row)))
        .map(|row| row as u64)
        .collect()
}

fn sorted(rows: &[Vec<Value>]) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// An answer, as file and decoded.
struct Exchange {
    answer: Answer,
    bytes: usize,
    rows: Result<Rows, DecodeError>,
}

/// A query there and back, with all files; `draw` seeds the server's randomness.
fn exchange(world: &World, query: &Query, bound: usize, draw: u64) -> Exchange {
    let (params, table) = (&*world.params, &world.table);
    let client = Client::new(params, table.schema(), &world.secret);
    let server = Server::new(params, table, [3; 32]);
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let plan = client.plan(query, bound).unwrap();
    assert_eq!(plan.two_sided(), params.two_sided());
    eprintln!(
        "{:?} {:?} noise {:.1} start {}",
        plan.flooding, plan.cost, plan.noise, plan.start
    );
    let sent = client
        .encrypt(query, &plan, &mut rng)
        .to_bytes(params)
        .unwrap();
    let (received, its_plan) = server.read(&sent).unwrap();
    let answer = server
        .answer(
            &received,
            &its_plan,
            &world.key,
            &mut ChaCha20Rng::seed_from_u64(draw),
            &Quiet,
        )
        .unwrap();
    let bytes = answer.to_bytes(params).unwrap();
    let answer = Answer::from_bytes(params, &plan, &bytes).unwrap();
    let rows = client.decode(&plan, &answer);
    Exchange {
        answer,
        bytes: bytes.len(),
        rows,
    }
}

fn id(row: i64) -> i64 {
    row * 1_000_003 - 77
}

fn range(low: Option<i64>, high: Option<i64>) -> Test {
    Test::Range { low, high }
}

#[test]
fn equality_of_numbers_of_one_digit_and_of_several() {
    ask(leaf(1, Test::Ordinals(vec![id(1717)])), 16).unwrap();
    ask(
        leaf(
            1,
            Test::Ordinals(vec![id(17), id(18) + 1, id(2000), i64::MIN, i64::MAX]),
        ),
        16,
    )
    .unwrap();
    ask(leaf(0, Test::Ordinals(vec![3, 17])), 400).unwrap();
}

#[test]
fn intervals() {
    ask(leaf(1, range(Some(id(40)), Some(id(45)))), 16).unwrap();
    ask(leaf(1, range(None, Some(id(5) - 1))), 16).unwrap();
    ask(leaf(1, range(Some(id(2490) + 1), None)), 16).unwrap();
    ask(leaf(1, range(Some(id(45)), Some(id(40)))), 16).unwrap();
    ask(leaf(1, range(Some(i64::MAX), None)), 16).unwrap();
    ask(not(leaf(1, range(Some(id(9)), None))), 16).unwrap();
}

#[test]
fn texts_and_patterns() {
    let chars = |text: &str| Segment(text.chars().map(|c| (c != '_').then_some(c)).collect());
    let like = |exact, prefix, infix, suffix| {
        Test::Like(Pattern {
            exact,
            prefix: chars(prefix),
            infix: chars(infix),
            suffix: chars(suffix),
            fold: false,
        })
    };
    ask(leaf(2, Test::Texts(vec!["ax0".into(), "bx1y".into()])), 64).unwrap();
    ask(leaf(2, like(false, "c_8", "", "y")), 64).unwrap();
    let some = leaf(2, like(false, "", "x7", ""));
    let few = leaf(1, range(None, Some(id(100))));
    ask_of(&DEEP, Filter::And(vec![some, few]), 64).unwrap();
}

#[test]
fn and_or_not_null() {
    let early = leaf(1, range(None, Some(id(60))));
    let march = leaf(0, Test::Ordinals(vec![3]));
    let late = leaf(3, Test::Ordinals(vec![1]));
    let unknown = leaf(2, Test::Null);
    let both = Filter::And(vec![
        early.clone(),
        not(march.clone()),
        not(unknown.clone()),
        late,
    ]);
    ask(both, 64).unwrap();
    // The last block has slots without rows: these are no absent values.
    ask(leaf(2, Test::Null), 100).unwrap();
    let one = leaf(1, Test::Ordinals(vec![id(2222)]));
    let two = Filter::And(vec![early, Filter::Or(vec![march, unknown])]);
    ask(Filter::Or(vec![one, two]), 64).unwrap();
}

#[test]
fn more_rows_than_the_bound_are_counted() {
    let world = &*WORLD;
    let marches = (0..world.table.rows())
        .filter(|&row| world.table.ordinal(row, 0) == Some(3))
        .count() as u64;
    match ask(leaf(0, Test::Ordinals(vec![3])), 16) {
        Err(DecodeError::Overflow { bound: 16, found }) => assert_eq!(found, marches),
        other => panic!("expected an overflow, found {other:?}"),
    }
}

#[test]
fn two_sided_answers_hold_the_rows_without_their_numbers() {
    let ask = |filter, bound| ask_of(&TWO_SIDED, filter, bound).unwrap();
    let texts = leaf(2, Test::Texts(vec!["ax0".into(), "bx1y".into()]));
    let few = leaf(1, range(None, Some(id(60))));
    let march = leaf(0, Test::Ordinals(vec![3]));
    ask(leaf(1, Test::Ordinals(vec![id(1717)])), 16);
    ask(march.clone(), 400);
    ask(leaf(1, range(Some(id(40)), Some(id(45)))), 16);
    ask(not(leaf(1, range(Some(id(9)), None))), 16);
    ask(texts.clone(), 64);
    ask(Filter::And(vec![few, Filter::Or(vec![march, texts])]), 64);
    ask(leaf(1, range(Some(id(45)), Some(id(40)))), 16);
}

/// Answers one query twice: other masks, another order, equal rows.
#[test]
fn two_sided_answers_share_nothing_but_the_rows() {
    let world = &*TWO_SIDED;
    let query = select(leaf(1, range(None, Some(id(40)))));
    let expected = matching(world, &query).len();
    assert!(expected > 30, "{expected} rows");
    let [one, two, again] = [1, 2, 1].map(|draw| exchange(world, &query, 64, draw));
    assert_eq!(one.answer, again.answer);
    assert_eq!(one.answer.placement, None);
    for (a, b) in one.answer.groups[0].iter().zip(&two.answer.groups[0]) {
        let same = a.mask.iter().zip(&b.mask).filter(|(a, b)| a == b).count();
        assert!(same < 3, "{same} of {} equal", a.mask.len());
    }
    let [one, two] = [one, two].map(|exchange| exchange.rows.unwrap().values);
    assert_eq!(sorted(&one), sorted(&two));
    assert_ne!(one, two);
    let ids = |row: &Vec<Value>| match row[0] {
        Value::Integer(id) => Some(id),
        _ => None,
    };
    for rows in [one, two] {
        let ids: Vec<i64> = rows.iter().filter_map(ids).collect();
        let rising = ids.windows(2).filter(|pair| pair[0] < pair[1]).count();
        // Of random order about half do: 32 of 40 would be 3.8 deviations of sqrt(40 / 12).
        assert!((8..32).contains(&rising), "{rising} of {}", ids.len());
    }
}

#[test]
fn two_sided_overflow_is_counted() {
    let world = &*TWO_SIDED;
    let query = select(leaf(0, Test::Ordinals(vec![3])));
    let marches = matching(world, &query).len() as u64;
    match exchange(world, &query, 16, 3).rows {
        Err(DecodeError::Overflow { bound: 16, found }) => assert_eq!(found, marches),
        other => panic!("expected an overflow, found {other:?}"),
    }
}

#[test]
fn files_of_two_sided_sets() {
    let world = &*TWO_SIDED;
    let params = &*world.params;
    let mut file = Vec::new();
    world.key.write(params, &mut file).unwrap();
    assert_eq!(file.len() as u64, world.key.file_bytes(params));
    let read = EvaluationKey::read(params, &file[..]).unwrap();
    let [zero, again] = [&world.key, &read].map(|key| key.zero.as_ref().unwrap());
    assert_eq!(zero.c0.to_words(), again.c0.to_words());
    assert_eq!(zero.c1.to_words(), again.c1.to_words());
    let mut twice = Vec::new();
    read.write(params, &mut twice).unwrap();
    assert_eq!(file, twice);
    let answer = exchange(world, &select(leaf(0, Test::Ordinals(vec![3]))), 16, 4);
    let with_seed = Answer {
        placement: Some([0; 32]),
        ..answer.answer
    };
    assert_eq!(with_seed.to_bytes(params).unwrap().len(), answer.bytes + 32);
    assert!(WORLD.key.zero.is_none());
}

/// Runs a query over the encrypted table and compares the rows with those of the plain reference.
fn ask_encrypted(table: &EncryptedTable, filter: Filter, bound: usize) -> Result<(), DecodeError> {
    let world = &*WORLD;
    let params = &*world.params;
    let query = Query::new(vec![2, 0], filter);
    let expected: Vec<u64> = (0..world.table.rows())
        .filter(|&row| query.matches(&world.table.at(row)))
        .map(|row| row as u64)
        .collect();
    let client = Client::new(params, &table.head.schema, &world.secret);
    let server = EncryptedServer { params, table };
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let plan = Plan::encrypted(params, &table.head, &query.shape(), bound).unwrap();
    eprintln!("{} rows; {:?}", expected.len(), plan.cost);
    let sent = client
        .encrypt(&query, &plan, &mut rng)
        .to_bytes(params)
        .unwrap();
    let (received, its_plan) = server.read(&sent).unwrap();
    let answer = server
        .answer(&received, &its_plan, &world.key, &Quiet)
        .unwrap();
    let rows = client.decode(&plan, &answer)?;
    assert_eq!(rows.numbers, expected);
    for (&row, values) in expected.iter().zip(&rows.values) {
        let row = row as usize;
        assert_eq!(
            values,
            &[world.table.value(row, 2), world.table.value(row, 0)]
        );
    }
    Ok(())
}

#[test]
fn encrypted_tables_answer_as_tables_in_the_clear() {
    let world = &*WORLD;
    let (params, mut rng) = (&*world.params, ChaCha20Rng::seed_from_u64(10));
    let head = EncryptedHead::new(params, world.table.schema(), &[2]);
    let table = EncryptedTable::encrypt(
        params,
        &world.table,
        head,
        &world.secret,
        &mut rng,
        &|_, _| {},
    );
    let mut file = Vec::new();
    table.unwrap().write(params, &mut file).unwrap();
    let table = EncryptedTable::read(params, &file[..], 1 << 32).unwrap();
    let chars = |text: &str| Segment(text.chars().map(Some).collect());
    let prefix = |text| {
        Test::Like(Pattern {
            exact: false,
            prefix: chars(text),
            infix: chars(""),
            suffix: chars(""),
            fold: false,
        })
    };
    let early = leaf(1, range(Some(id(20)), Some(id(90))));
    let march = leaf(0, Test::Ordinals(vec![3]));
    ask_encrypted(&table, leaf(1, Test::Ordinals(vec![id(1717), id(3)])), 16).unwrap();
    ask_encrypted(&table, leaf(2, Test::Texts(vec!["ax0".into()])), 64).unwrap();
    ask_encrypted(
        &table,
        Filter::And(vec![early.clone(), not(march.clone())]),
        100,
    )
    .unwrap();
    let unknown = leaf(0, Test::Null);
    ask_encrypted(
        &table,
        Filter::And(vec![early.clone(), Filter::Or(vec![march, unknown])]),
        100,
    )
    .unwrap();
    ask_encrypted(&table, not(leaf(1, range(Some(id(9)), None))), 16).unwrap();
    match ask_encrypted(&table, leaf(2, prefix("bx")), 16) {
        Err(DecodeError::Overflow { bound: 16, .. }) => {}
        other => panic!("expected an overflow, found {other:?}"),
    }
    let shape = leaf(2, prefix("bx1")).shape();
    let shape = omr_table::Shape {
        select: vec![0],
        filter: shape,
    };
    let error = Plan::encrypted(params, &table.head, &shape, 16).unwrap_err();
    assert!(error.to_string().contains("city"), "{error}");
}

/// Stops after this number of calls.
struct Impatient(AtomicUsize);

impl Progress for Impatient {
    fn blocks(&self, _: usize, _: usize) {}

    fn is_stopped(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        let order = Ordering::Relaxed;
        self.0.fetch_update(order, order, one_less).is_err()
    }
}

#[test]
fn answers_stop_when_they_are_told_to() {
    let world = &*WORLD;
    let (params, mut rng) = (&*world.params, ChaCha20Rng::seed_from_u64(11));
    let query = Query::new(vec![0], leaf(0, Test::Ordinals(vec![3])));
    let client = Client::new(params, world.table.schema(), &world.secret);
    let server = Server::new(params, &world.table, [3; 32]);
    let plan = client.plan(&query, 16).unwrap();
    let sent = client.encrypt(&query, &plan, &mut rng);
    let head = EncryptedHead::new(params, world.table.schema(), &[0]);
    let secret = &world.secret;
    let table =
        EncryptedTable::encrypt(params, &world.table, head, secret, &mut rng, &|_, _| {}).unwrap();
    let hidden = EncryptedServer {
        params,
        table: &table,
    };
    let its_plan = Plan::encrypted(params, &table.head, &query.shape(), 16).unwrap();
    let to_hidden = client.encrypt(&query, &its_plan, &mut rng);
    let clear = |stop: &Impatient| {
        let answer = server.answer(&sent, &plan, &world.key, &mut rng, stop);
        answer.map(drop)
    };
    let encrypted = |stop: &Impatient| {
        let answer = hidden.answer(&to_hidden, &its_plan, &world.key, stop);
        answer.map(drop)
    };
    stopped_everywhere(clear);
    stopped_everywhere(encrypted);
}

/// All parts of an answer check for a stop, and end there.
fn stopped_everywhere(mut answer: impl FnMut(&Impatient) -> Result<(), ServerError>) {
    let never = Impatient(AtomicUsize::new(usize::MAX));
    answer(&never).unwrap();
    let all = usize::MAX - never.0.into_inner();
    assert!(all > 20, "{all}");
    for part in 0..9 {
        let times = part * (all - 1) / 8;
        let stopped = answer(&Impatient(AtomicUsize::new(times)));
        assert!(matches!(stopped, Err(ServerError::Stopped)), "{times}");
    }
}
