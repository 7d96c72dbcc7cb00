//! Every file of private queries against truncated, flipped, foreign, forged and random bytes: an error, never a panic,
//! never a wrong row. Forged files carry right checksums: anyone can compute them.

use chacha20::ChaCha20Rng;
use omr_pdq::{
    Answer, Client, EncryptedHead, EncryptedQuery, EvaluationKey, Indexed, Params, Plan, PlanError,
    Public, Quiet, SecretKey, Server,
};
use omr_protocol::frame::{FrameHeader, Kind, read_frame, write_frame_vec};
use omr_table::{ColumnType, Filter, Leaf, Query, RowCodec, Table, TableBuilder, Test, Value};
use proptest::prelude::*;
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

const PARAMS: &str = "insecure-tiny-pdq-v1";
const OTHER: &str = "insecure-tiny-pdq-deep-v1";
const ROWS: i64 = 1500;
const BOUND: usize = 16;
const KINDS: [Kind; 5] = [
    Kind::PdqSecretKey,
    Kind::PdqKey,
    Kind::PdqQuery,
    Kind::PdqAnswer,
    Kind::Digest,
];

struct World {
    params: Arc<Params>,
    table: Table,
    secret: SecretKey,
    plan: Plan,
    /// By kind: secret key, key, query, answer.
    files: [Vec<u8>; 4],
    /// The rows of the answer.
    expected: Vec<(u64, Vec<Value>)>,
}

static WORLD: LazyLock<World> = LazyLock::new(World::new);

fn table() -> Table {
    let columns = vec![
        ("id".to_owned(), ColumnType::Integer),
        ("name".to_owned(), ColumnType::Text { max_bytes: 20 }),
    ];
    let mut builder = TableBuilder::new("people", columns).unwrap();
    for row in 0..ROWS {
        let name = match row % 7 {
            0 => Value::Null,
            _ => Value::Text(format!("name {}", row * row)),
        };
        builder
            .push_row(vec![Value::Integer(row % 300), name])
            .unwrap();
    }
    builder.finish([5; 16])
}

impl World {
    fn new() -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let (params, table) = (Params::named(PARAMS).unwrap(), table());
        let (secret, key) = SecretKey::generate(&params, &mut rng);
        let query = Query::new(
            vec![0, 1],
            Filter::Leaf(Leaf::new(0, Test::Ordinals(vec![77]))),
        );
        let client = Client::new(&params, table.schema(), &secret);
        let plan = client.plan(&query, BOUND).unwrap();
        let sent = client.encrypt(&query, &plan, &mut rng);
        let sent = sent.to_bytes(&params).unwrap();
        let server = server(&params, &table);
        let (received, its_plan) = server.read(&sent).unwrap();
        let answer = server.answer(&received, &its_plan, &key, &mut rng, &Quiet);
        let answer = answer.unwrap().to_bytes(&params).unwrap();
        let mut key_file = Vec::new();
        key.write(&params, &mut key_file).unwrap();
        let expected = (0..ROWS as usize)
            .filter(|row| row % 300 == 77)
            .map(|row| (row as u64, vec![table.value(row, 0), table.value(row, 1)]));
        let expected = expected.collect();
        let secret_file = secret.to_bytes(&params).unwrap().to_vec();
        Self {
            files: [secret_file, key_file, sent, answer],
            params,
            table,
            secret,
            plan,
            expected,
        }
    }

    /// Whether file `kind` reads.
    fn reads(&self, kind: usize, bytes: &[u8]) -> bool {
        self.reads_under(&self.params, kind, bytes)
    }

    fn reads_under(&self, params: &Params, kind: usize, bytes: &[u8]) -> bool {
        match kind {
            0 => SecretKey::from_bytes(params, bytes).is_ok(),
            1 => EvaluationKey::read(params, bytes).is_ok(),
            2 => server(params, &self.table).read(bytes).is_ok(),
            _ => Answer::from_bytes(params, &self.plan, bytes).is_ok(),
        }
    }

    fn rows(&self, bytes: &[u8]) -> Option<Vec<(u64, Vec<Value>)>> {
        let answer = Answer::from_bytes(&self.params, &self.plan, bytes).ok()?;
        let client = Client::new(&self.params, self.table.schema(), &self.secret);
        let rows = client.decode(&self.plan, &answer).ok()?;
        Some(rows.numbers.into_iter().zip(rows.values).collect())
    }
}

fn server<'a>(params: &'a Params, table: &'a Table) -> Server<'a> {
    Server::new(params, table, [3; 32])
}

fn split(kind: usize, file: &[u8]) -> (FrameHeader, Vec<u8>) {
    read_frame(&mut &file[..], KINDS[kind], 1 << 32).unwrap()
}

/// Another body in the frame of a file, with right checksums.
fn forged(kind: usize, change: impl FnOnce(&mut FrameHeader, &mut Vec<u8>)) -> Vec<u8> {
    let (mut header, mut body) = split(kind, &WORLD.files[kind]);
    change(&mut header, &mut body);
    write_frame_vec(&header, &body).unwrap()
}

#[test]
fn files_read_as_they_were_written() {
    let world = &*WORLD;
    assert!((0..4).all(|kind| world.reads(kind, &world.files[kind])));
    assert_eq!(world.expected.len(), 5);
    assert_eq!(world.rows(&world.files[3]).as_ref(), Some(&world.expected));
}

#[test]
fn other_kinds_and_other_parameters_are_refused() {
    let (world, other) = (&*WORLD, Params::named(OTHER).unwrap());
    for kind in 0..4 {
        for (found, file) in world.files.iter().enumerate() {
            assert_eq!(world.reads(kind, file), kind == found, "{kind} {found}");
        }
        assert!(!world.reads_under(&other, kind, &world.files[kind]));
        // The name of the other set around the body of this one.
        let renamed = forged(kind, |header, _| header.params_id = OTHER.to_owned());
        assert!(!world.reads(kind, &renamed));
        // A seed alone is a seed of any set, and answers of both tiny sets are alike.
        let fits = world.reads_under(&other, kind, &renamed);
        assert_eq!(fits, kind == 0 || kind == 3, "{kind}");
        let digest = forged(kind, |header, _| header.kind = Kind::Digest);
        assert!(!world.reads(kind, &digest));
    }
}

#[test]
fn bodies_of_other_lengths_are_refused() {
    let world = &*WORLD;
    for kind in 0..4 {
        for less in [1, 7, 32, 1000] {
            let short = forged(kind, |_, body| {
                body.truncate(body.len().saturating_sub(less))
            });
            assert!(!world.reads(kind, &short), "{kind}, {less} less");
        }
        for more in [1, 8, 4096] {
            let long = forged(kind, |_, body| body.resize(body.len() + more, 0));
            assert!(!world.reads(kind, &long), "{kind}, {more} more");
        }
        assert!(!world.reads(kind, &forged(kind, |_, body| body.clear())));
    }
}

/// The public part of a query may contain anything.
#[test]
fn heads_of_queries_are_checked() {
    let world = &*WORLD;
    let with_head = |head: &str, length: u32| {
        forged(2, |_, body| {
            let old = u32::from_le_bytes(body[..4].try_into().unwrap()) as usize;
            let rest = body.split_off(4 + old);
            *body = length.to_le_bytes().to_vec();
            body.extend(head.as_bytes());
            body.extend(rest);
        })
    };
    let (_, body) = split(2, &world.files[2]);
    let length = u32::from_le_bytes(body[..4].try_into().unwrap()) as usize;
    let head = String::from_utf8(body[4..4 + length].to_vec()).unwrap();
    let honest = with_head(&head, head.len() as u32);
    assert_eq!(honest, world.files[2]);
    for length in [0, 1, 17, u32::MAX, 1 << 18, (1 << 18) + 1] {
        assert!(!world.reads(2, &with_head(&head, length)), "{length}");
    }
    let column = r#""column":0"#;
    assert!(
        head.contains(column) && head.contains(r#""bound":16"#),
        "{head}"
    );
    for (from, to) in [
        (column, r#""column":2"#),
        (column, r#""column":18446744073709551615"#),
        (r#""bound":16"#, r#""bound":0"#),
        (r#""bound":16"#, r#""bound":4097"#),
        (r#""bound":16"#, r#""bound":18446744073709551615"#),
        (r#""select":[0,1]"#, r#""select":[]"#),
        (r#""select":[0,1]"#, r#""select":[0,9]"#),
        (r#"{"ordinals":1}"#, r#"{"ordinals":0}"#),
        (r#"{"ordinals":1}"#, r#"{"ordinals":100000}"#),
        (r#"{"ordinals":1}"#, r#"{"texts":1}"#),
        (r#"{"ordinals":1}"#, r#""null""#),
        (r#"{"leaf""#, r#"{"and":[]}, {"leaf""#),
    ] {
        let other = head.replacen(from, to, 1);
        assert_ne!(other, head, "{from}");
        let file = with_head(&other, other.len() as u32);
        assert!(!world.reads(2, &file), "{to}");
    }
    let deep = format!("{}{}", r#"{"and":["#.repeat(5000), "]}".repeat(5000));
    let deep = format!(r#"{{"schema":[],"shape":{{"select":[0],"filter":{deep}}},"bound":1}}"#);
    assert!(!world.reads(2, &with_head(&deep, deep.len() as u32)));
}

/// The head of an encrypted table may contain anything, and is planned with before anything else.
#[test]
fn heads_of_encrypted_tables_are_checked() {
    let world = &*WORLD;
    let (query, _) =
        Query::parse("SELECT id FROM people WHERE id = 3", world.table.schema()).expect("a query");
    let head = EncryptedHead::new(&world.params, world.table.schema(), &[]);
    let plan = |change: &dyn Fn(&mut EncryptedHead)| {
        let mut head = head.clone();
        change(&mut head);
        let told = Public::Encrypted(head).to_json();
        let told = Public::from_json(told.as_bytes()).expect("a head");
        told.plan(&world.params, &query.shape(), BOUND)
    };
    assert!(plan(&|_| {}).is_ok());
    for column in [2, usize::MAX] {
        let strange = |head: &mut EncryptedHead| head.indexed.push(Indexed::Column(column));
        assert!(matches!(plan(&strange), Err(PlanError::Head { .. })));
    }
    for radix in [0, 1, 17, usize::MAX] {
        let refused = plan(&|head| head.radix = radix);
        assert!(matches!(refused, Err(PlanError::Head { .. })), "{radix}");
    }
    for depth in [0, world.params.depth() + 1, usize::MAX] {
        let refused = plan(&|head| head.depth = depth);
        assert!(matches!(refused, Err(PlanError::Head { .. })), "{depth}");
    }
}

/// Residues above their primes are no residues.
#[test]
fn bodies_of_ones_are_refused() {
    for kind in [1, 2] {
        let (_, body) = split(kind, &WORLD.files[kind]);
        let ones = forged(kind, |_, bytes| {
            let from = body.len() - body.len() / 2;
            bytes[from..].fill(0xFF);
        });
        assert!(!WORLD.reads(kind, &ones), "{kind}");
    }
}

#[test]
fn an_answer_under_another_key_is_refused() {
    let other = forged(3, |header, _| header.key_id[0] ^= 1);
    assert!(WORLD.reads(3, &other));
    assert_eq!(WORLD.rows(&other), None);
}

/// Where rows lie decides what they are called: the checksum knows.
#[test]
fn another_placement_gives_no_rows() {
    for byte in [0, 15, 31] {
        let other = forged(3, |_, body| body[byte] ^= 0x10);
        assert_eq!(WORLD.rows(&other), None);
    }
}

/// All sums 0: an answer that anyone can make. It holds no row, which looks as if no row matched.
#[test]
fn a_blank_answer_has_no_rows() {
    let blank = forged(3, |_, body| body[32..].fill(0));
    assert_eq!(WORLD.rows(&blank), Some(Vec::new()));
}

#[test]
fn rows_of_any_bytes_do_not_panic() {
    let codec = RowCodec::new(WORLD.table.schema(), &[0, 1]).unwrap();
    for byte in 0..=255 {
        let _ = codec.decode(&vec![byte; codec.bytes()]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn cut_files_are_refused(kind in 0usize..4, at in any::<prop::sample::Index>()) {
        let file = &WORLD.files[kind];
        prop_assert!(!WORLD.reads(kind, &file[..at.index(file.len())]));
    }

    #[test]
    fn flipped_files_are_refused(kind in 0usize..4, at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut file = WORLD.files[kind].clone();
        let at = at.index(file.len());
        file[at] ^= 1 << bit;
        prop_assert!(!WORLD.reads(kind, &file));
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), framed: bool) {
        for kind in 0..4 {
            let file = if framed {
                forged(kind, |_, body| *body = bytes.clone())
            } else {
                bytes.clone()
            };
            let is_seed = framed && kind == 0 && bytes.len() == 32;
            prop_assert_eq!(WORLD.reads(kind, &file), is_seed);
        }
    }

    /// Right checksums around flipped bits: some keys and queries then read, and hold noise; none panics.
    #[test]
    fn forged_bits_do_not_panic(kind in 0usize..3, flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..4)) {
        let file = forged(kind, |_, body| for (at, bit) in &flips {
            let at = at.index(body.len());
            body[at] ^= 1 << bit;
        });
        let _ = WORLD.reads(kind, &file);
    }

    /// The rows are right or there are none: a flipped bit is within the rounding, or moves sums.
    #[test]
    fn forged_answers_give_no_wrong_row(flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..3)) {
        let file = forged(3, |_, body| for (at, bit) in &flips {
            let at = at.index(body.len());
            body[at] ^= 1 << bit;
        });
        if let Some(rows) = WORLD.rows(&file) {
            prop_assert_eq!(&rows, &WORLD.expected);
        }
    }

    /// Other schemas than the table's.
    #[test]
    fn another_schema_reads_no_query(byte in 0usize..32, bit in 0u8..8) {
        let read = EncryptedQuery::from_bytes(&WORLD.params, &WORLD.files[2], |head| {
            let mut head = head.clone();
            head.schema[byte] ^= 1 << bit;
            server(&WORLD.params, &WORLD.table).plan(&head)
        });
        prop_assert!(read.is_err());
    }
}

mod tables {
    use super::*;
    use std::io::Write;

    fn file() -> Vec<u8> {
        let mut bytes = Vec::new();
        table().write(&mut bytes).unwrap();
        bytes
    }

    static FILE: LazyLock<Vec<u8>> = LazyLock::new(file);

    fn open(bytes: &[u8]) -> Option<Table> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        Table::open(file.path()).ok()
    }

    /// The checksum over other bytes.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let end = bytes.len() - 32;
        let sum = blake3::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(sum.as_bytes());
        bytes
    }

    #[test]
    fn a_table_opens_as_it_was_saved() {
        assert_eq!(open(&FILE), Some(table()));
        assert_eq!(sealed(FILE.clone()), *FILE);
        assert!(WORLD.files.iter().all(|file| open(file).is_none()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn damaged_tables_are_refused(at in any::<prop::sample::Index>(), bit in 0u8..8, more in 1usize..100) {
            let at = at.index(FILE.len());
            prop_assert!(open(&FILE[..at]).is_none());
            let mut flipped = FILE.clone();
            flipped[at] ^= 1 << bit;
            prop_assert!(open(&flipped).is_none());
            let mut long = FILE.clone();
            long.resize(FILE.len() + more, 0);
            prop_assert!(open(&long).is_none());
            prop_assert!(open(&sealed(long)).is_none());
        }

        /// A right checksum: what opens is a table whose values are of their types, or it is refused.
        #[test]
        fn forged_tables_do_not_panic(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = FILE.clone();
            let at = at.index(FILE.len() - 32);
            bytes[at] ^= 1 << bit;
            if let Some(table) = open(&sealed(bytes)) {
                let columns = table.schema().columns.len();
                for row in 0..table.rows() {
                    for column in 0..columns {
                        let _ = table.value(row, column);
                    }
                }
            }
        }
    }
}
