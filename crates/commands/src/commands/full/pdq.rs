//! `omr pdq`: private database queries, a thin layer over `omr-pdq` and `omr-table`.

/// The text about the information that every query reveals.
macro_rules! seen {
    () => {
        "The server sees columns, operators, how many constants a list has, lengths of patterns and the bound; no constant \
         and no row that matches. docs/pdq.md has the rest."
    };
}

mod encrypt_table;
mod error;
mod files;
mod import;
mod keygen;
mod local;
mod plan;
mod query;
mod remote;
mod rows;
mod schema;
mod serve;
mod steps;

pub(crate) use error::PdqError;

use crate::commands::full::access::TokenArg;
use crate::commands::full::pdq::encrypt_table::{PDQ_ENCRYPT_TABLE, PdqEncryptTable};
use crate::commands::full::pdq::import::{PDQ_IMPORT, PdqImport};
use crate::commands::full::pdq::keygen::{PDQ_KEYGEN, PdqKeygen};
use crate::commands::full::pdq::plan::{PDQ_PLAN, PdqPlan};
use crate::commands::full::pdq::query::{PDQ_QUERY, PdqQuery};
use crate::commands::full::pdq::schema::{PDQ_SCHEMA, PdqSchema};
use crate::commands::full::pdq::serve::{PDQ_SERVE, PdqServe};
use crate::commands::full::pdq::steps::{PDQ_STEPS, PdqAnswer, PdqDecode, PdqEncrypt};
use crate::error::CliError;
use omr_console::Ui;
use omr_pdq::{Params, Plan, PlanError, Public, Spec};
use omr_table::{Query, Schema};
use std::path::PathBuf;

/// The default parameter set.
const SET: &str = "pdq-v1";

#[derive(clap::Subcommand)]
pub(crate) enum Pdq {
    /// Make a table from a CSV or Parquet file
    #[command(after_help = PDQ_IMPORT)]
    Import(PdqImport),
    /// Print the public schema of a table, from its file or a server
    #[command(after_help = PDQ_SCHEMA)]
    Schema(PdqSchema),
    /// Make a client's keys: pdq-secret.key and pdq-evaluation.key
    #[command(after_help = PDQ_KEYGEN)]
    Keygen(PdqKeygen),
    /// Encrypt a table, so that its server cannot read it; its owner makes queries with the same keys
    #[command(after_help = PDQ_ENCRYPT_TABLE)]
    EncryptTable(PdqEncryptTable),
    /// Show the cost of a query and the server's view of it
    #[command(after_help = PDQ_PLAN)]
    Plan(PdqPlan),
    /// Query a table on a server, or with all parties in this process
    #[command(after_help = PDQ_QUERY)]
    Query(PdqQuery),
    /// Encrypt a query into a file
    #[command(after_help = PDQ_STEPS)]
    Encrypt(PdqEncrypt),
    /// Answer an encrypted query
    #[command(after_help = PDQ_STEPS)]
    Answer(PdqAnswer),
    /// Decode an answer into rows
    #[command(after_help = PDQ_STEPS)]
    Decode(PdqDecode),
    /// Serve tables over the network
    #[command(after_help = PDQ_SERVE)]
    Serve(PdqServe),
}

/// The certificate and token for a server.
#[derive(clap::Args)]
pub(crate) struct PdqAccess {
    /// Certificate of the CA that signed the server's, as PEM [default: the system's CAs]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) token: TokenArg,
}

pub(crate) const PDQ: &str = concat!(
    "\
Examples:
  omr pdq import people.csv --out people.table
  omr pdq query --table people.table \\
    \"SELECT name FROM people WHERE state = 'NY' AND age > 90 LIMIT 20\"
  omr pdq serve people.table --anonymous  # at http://127.0.0.1:7601
  omr pdq query --url http://127.0.0.1:7601 \\
    \"SELECT * FROM people WHERE name LIKE 'Ann%'\"

",
    seen!()
);

pub(super) fn run(command: &Pdq, ui: &Ui) -> Result<(), CliError> {
    match command {
        Pdq::Import(args) => import::run(args, ui),
        Pdq::Schema(args) => schema::run(args, ui),
        Pdq::Keygen(args) => keygen::run(args),
        Pdq::EncryptTable(args) => encrypt_table::run(args, ui),
        Pdq::Plan(args) => plan::run(args),
        Pdq::Query(args) => query::run(args, ui),
        Pdq::Encrypt(args) => steps::encrypt(args, ui),
        Pdq::Answer(args) => steps::answer(args, ui),
        Pdq::Decode(args) => steps::decode(args, ui),
        Pdq::Serve(args) => serve::run(args, ui),
    }
}

/// A query of a table, and the highest number of rows of its answer.
struct Bounded {
    query: Query,
    bound: usize,
}

impl Bounded {
    /// Parses a query. The bound is the given one, or the query's LIMIT, or 16.
    fn parse(sql: &str, schema: &Schema, bound: Option<u64>) -> Result<Self, PdqError> {
        let (query, limit) = Query::parse(sql, schema)?;
        let bound = omr_pdq::plan::bound(bound.or(limit))?;
        Ok(Self { query, bound })
    }
}

/// Plans a query.
///
/// Errors: those of the plan; where the set is not deep enough for a table in the clear, the error names the set that
/// is.
fn planned(public: &Public, params: &Params, asked: &Bounded) -> Result<Plan, PdqError> {
    let shape = asked.query.shape();
    let plan = public.plan(params, &shape, asked.bound);
    let Err(error @ PlanError::Depth(_)) = plan else {
        return Ok(plan?);
    };
    let is_clear = matches!(public, Public::Clear(_));
    let sets = Spec::ALL
        .into_iter()
        .filter(|set| is_clear && !params.two_sided() && set.insecure == params.spec().insecure);
    for set in sets {
        if public
            .plan(&*files::params(set.name)?, &shape, asked.bound)
            .is_ok()
        {
            return Err(PdqError::Deeper(error, set.name));
        }
    }
    Err(error.into())
}

/// Warns of comparisons that hold for no row.
fn warn_of_null(sql: &str, ui: &Ui) {
    if omr_table::compares_null(sql) {
        ui.warn(
            "nothing equals NULL, so that `= NULL` holds for no row: IS NULL finds absent values",
        );
    }
}

/// Returns a random placement seed for rows.
fn placement() -> [u8; 32] {
    let mut seed = [0; 32];
    rand_core::Rng::fill_bytes(&mut omr_client::os_rng(), &mut seed);
    seed
}
