//! Compares the memory that a query takes, counted, with the plan's forecast; and its answer, byte
//! for byte, with a known one.

use chacha20::ChaCha20Rng;
use omr_pdq::{
    Client, EncryptedHead, EncryptedServer, EncryptedTable, EvaluationKey, Params, Plan, Quiet,
    SecretKey, Server,
};
use omr_table::{ColumnType, Query, Table, TableBuilder, Value};
use peak_alloc::PeakAlloc;
use rand_core::SeedableRng;
use std::sync::Arc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const LIKE: &str = "SELECT id FROM t WHERE name LIKE '%77%'";

struct World {
    params: Arc<Params>,
    table: Table,
    secret: SecretKey,
    key: EvaluationKey,
    rng: ChaCha20Rng,
}

impl World {
    /// Numbers far apart, and texts.
    fn new(params: &str, rows: i64) -> Self {
        let columns = [
            ("id", ColumnType::Integer),
            ("name", ColumnType::Text { max_bytes: 24 }),
        ];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
        let mut builder = TableBuilder::new("t", columns).unwrap();
        for row in 0..rows {
            let name = Value::Text(format!("number {row} of many"));
            let values = vec![Value::Integer(row * 49_999), name];
            builder.push_row(values).unwrap();
        }
        let params = Params::named(params).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (secret, key) = SecretKey::generate(&params, &mut rng);
        Self {
            params,
            table: builder.finish([9; 16]),
            secret,
            key,
            rng,
        }
    }

    /// Runs a query and compares its memory with the plan's forecast, and its answer with the known
    /// one.
    fn ask(&mut self, sql: &str, expected: &str) {
        let (query, _) = Query::parse(sql, self.table.schema()).unwrap();
        let client = self.client();
        let plan = client.plan(&query, 16).unwrap();
        let sent = client.encrypt(&query, &plan, &mut ChaCha20Rng::seed_from_u64(2));
        let server = Server::new(&self.params, &self.table, [3; 32]);
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let (taken, answer) = taken(|| server.answer(&sent, &plan, &self.key, &mut rng, &Quiet));
        let bytes = answer.unwrap().to_bytes(&self.params).unwrap();
        self.check(&plan, taken, &bytes, expected);
    }

    /// Runs a query over the encrypted table; compares memory with the plan's forecast, and the
    /// answer with the known one.
    fn ask_encrypted(&mut self, sql: &str, expected: &str) {
        let head = EncryptedHead::new(&self.params, self.table.schema(), &[]);
        let (secret, quiet) = (&self.secret, &|_, _| {});
        let table = EncryptedTable::encrypt(
            &self.params,
            &self.table,
            head,
            secret,
            &mut self.rng,
            quiet,
        );
        let table = table.unwrap();
        let (query, _) = Query::parse(sql, &table.head.schema).unwrap();
        let plan = Plan::encrypted(&self.params, &table.head, &query.shape(), 16).unwrap();
        let client = self.client();
        let sent = client.encrypt(&query, &plan, &mut ChaCha20Rng::seed_from_u64(2));
        let server = EncryptedServer {
            params: &self.params,
            table: &table,
        };
        let (taken, answer) = taken(|| server.answer(&sent, &plan, &self.key, &Quiet));
        let bytes = answer.unwrap().to_bytes(&self.params).unwrap();
        self.check(&plan, taken, &bytes, expected);
    }

    fn client(&self) -> Client<'_> {
        Client::new(&self.params, self.table.schema(), &self.secret)
    }

    fn check(&self, plan: &Plan, taken: usize, answer: &[u8], expected: &str) {
        let predicted = plan.memory_bytes(&self.params) as usize;
        let name = self.params.name();
        println!(
            "{name}: {} constants, {taken} bytes of {predicted}",
            plan.cost.constants
        );
        assert!(
            taken <= predicted,
            "{name}: {taken} bytes of {predicted} predicted"
        );
        // The prediction is not so large that the server would refuse what it has room for.
        assert!(
            taken > predicted / 3,
            "{name}: {taken} bytes of {predicted} predicted"
        );
        let found = blake3::hash(answer).to_hex();
        assert_eq!(&found[..16], expected, "{name}");
    }
}

/// Most bytes taken at a time.
fn taken<T>(work: impl FnOnce() -> T) -> (usize, T) {
    // What another query left for the next one would not be counted.
    omr_ring::release();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let done = work();
    (MEMORY.peak_usage() - before, done)
}

// One test: what others take at the same time would count.
#[test]
fn queries_take_no_more_memory_than_their_plans_predict() {
    let ids: Vec<String> = (0..80).map(|i| (i * 18 * 49_999).to_string()).collect();
    let many = format!("SELECT id FROM t WHERE id IN ({})", ids.join(", "));
    let one = "SELECT id, name FROM t WHERE id = 49999";
    let mut world = World::new("insecure-tiny-pdq-v1", 1500);
    // All 6,400 constants would take 750 MiB.
    world.ask(&many, "89720ebd84f614f9");
    world.ask(one, "5936d7c4785f1917");
    world.ask_encrypted(one, "08661dea86ffe369");
    World::new("insecure-tiny-pdq-two-sided-v1", 1500).ask(one, "f460dc8a9eb81765");
    World::new("insecure-tiny-pdq-deep-v1", 1500).ask(LIKE, "0de2a9c7961ab9c5");
}
