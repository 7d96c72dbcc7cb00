//! Arguments of `omr pdq`.

use super::headings::LIMITS;
use super::{Locking, PassphraseArg, TokenArg, examples};
use clap::{Args, Subcommand, ValueEnum};
use omr_console::args::threads;
use omr_table::{ColumnNames, Declared, Delimiter};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Parameter set unless told otherwise.
const PARAMS: &str = "pdq-v1";

#[derive(Subcommand)]
pub(crate) enum Pdq {
    /// Make a table of a CSV or Parquet file
    #[command(after_help = examples::PDQ_IMPORT)]
    Import(PdqImport),
    /// The public schema of a table, from its file or a server
    #[command(after_help = examples::PDQ_SCHEMA)]
    Schema(PdqSchema),
    /// Make a client's keys: pdq-secret.key and pdq-evaluation.key
    #[command(after_help = examples::PDQ_KEYGEN)]
    Keygen(PdqKeygen),
    /// Encrypt a table, so that its server cannot read it; its owner asks with the same keys
    #[command(after_help = examples::PDQ_ENCRYPT_TABLE)]
    EncryptTable(PdqEncryptTable),
    /// What a query will cost and what the server will see of it
    #[command(after_help = examples::PDQ_PLAN)]
    Plan(PdqPlan),
    /// Ask a table: on a server, or all parties here
    #[command(after_help = examples::PDQ_QUERY)]
    Query(PdqQuery),
    /// Encrypt a query into a file
    #[command(after_help = examples::PDQ_STEPS)]
    Encrypt(PdqEncrypt),
    /// Answer an encrypted query
    #[command(after_help = examples::PDQ_STEPS)]
    Answer(PdqAnswer),
    /// Decode an answer into rows
    #[command(after_help = examples::PDQ_STEPS)]
    Decode(PdqDecode),
    /// Serve tables over the network
    #[command(after_help = examples::PDQ_SERVE)]
    Serve(PdqServe),
}

#[derive(Args)]
pub(crate) struct PdqImport {
    /// CSV with a header, or Parquet where this build has the feature parquet; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// File for the table
    #[arg(long, value_name = "TABLE")]
    pub(crate) out: PathBuf,
    /// Name of the table in queries; the file's unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Columns to take, in this order; all unless given. A name with a comma stands in quotes, as in a line of CSV
    #[arg(long, value_name = "A,B")]
    pub(crate) columns: Option<ColumnNames>,
    /// What separates fields of CSV, one character or `tab`; a comma unless given
    #[arg(long, value_name = "C")]
    pub(crate) delimiter: Option<Delimiter>,
    /// A column's type: boolean, integer, date, timestamp, decimal(S), text(BYTES); found out unless given
    #[arg(long = "type", value_name = "COLUMN:TYPE")]
    pub(crate) types: Vec<Declared>,
    /// Cut texts that are too long and fractions of seconds
    #[arg(long)]
    pub(crate) truncate: bool,
    /// Take Parquet that gzip compressed: its size is not known before it is in memory. For files that you trust
    #[arg(long)]
    pub(crate) gzip: bool,
    /// Replace a table
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a server is reached.
#[derive(Args)]
pub(crate) struct PdqAccess {
    /// Certificate of the CA that signed the server's, as PEM; the system's CAs unless given
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) token: TokenArg,
}

#[derive(Args)]
pub(crate) struct PdqSchema {
    /// A table's file, or https://HOST:PORT
    #[arg(value_name = "TABLE|URL")]
    pub(crate) from: String,
    /// The server's table, if it has several
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    #[command(flatten)]
    pub(crate) access: PdqAccess,
    /// File for the schema; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args)]
pub(crate) struct PdqKeygen {
    /// Folder for the two files, created where absent
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Parameter set: pdq-v1, or pdq-deep-v1 for queries of many conditions and for patterns %part%
    #[arg(long, value_name = "NAME", default_value = PARAMS)]
    pub(crate) params: String,
    #[command(flatten)]
    pub(crate) locking: Locking,
    /// Replace keys
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct PdqEncryptTable {
    /// The table
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// Folder of its owner's keys
    #[arg(long, value_name = "DIR")]
    pub(crate) key: PathBuf,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// File for the encrypted table
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Lengths of prefixes, in characters, that texts may be asked for: LIKE 'abc%' takes 3
    #[arg(long, value_name = "N,M", value_delimiter = ',')]
    pub(crate) prefixes: Vec<usize>,
    /// Products one after another that queries may take, one of them for their rows; all that the parameters have unless
    /// given. Fewer make a smaller table
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<usize>,
    /// Replace a file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct PdqPlan {
    /// SELECT columns FROM table WHERE condition [LIMIT bound]
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// The table's schema, as `omr pdq schema` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// Most rows that the answer holds; the query's LIMIT, else 16, unless given
    #[arg(long, value_name = "S")]
    pub(crate) bound: Option<u64>,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = PARAMS)]
    pub(crate) params: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Columns for people
    Table,
    /// CSV with a header
    Csv,
    /// A JSON array of objects
    Json,
    /// An Arrow IPC file, where this build has the feature parquet
    Arrow,
}

/// Where rows go.
#[derive(Args)]
pub(crate) struct RowsOut {
    /// Form of the rows
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = RowFormat::Table)]
    pub(crate) format: RowFormat,
    /// File for the rows; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Report figures as one JSON object (on standard error if the rows go to standard output)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[group(id = "where", required = true, multiple = false, args = ["table", "url"])]
pub(crate) struct PdqQuery {
    /// SELECT columns FROM table WHERE condition [LIMIT bound]
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// A table's file: all parties in this process, for trying
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<PathBuf>,
    /// The server: https://HOST:PORT, or http:// on this machine
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) access: PdqAccess,
    /// The schema that the server's must be
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub(crate) schema: Option<PathBuf>,
    /// Folder of the client's keys; new ones for this query unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// Parameter set of new keys
    #[arg(long, value_name = "NAME", default_value = PARAMS, conflicts_with = "key")]
    pub(crate) params: String,
    /// Most rows that the answer holds; the query's LIMIT, else 16, unless given
    #[arg(long, value_name = "S")]
    pub(crate) bound: Option<u64>,
    #[command(flatten)]
    pub(crate) rows: RowsOut,
}

#[derive(Args)]
pub(crate) struct PdqEncrypt {
    /// SELECT columns FROM table WHERE condition [LIMIT bound]
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// The table's schema, as `omr pdq schema` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// Folder of the client's keys
    #[arg(long, value_name = "DIR")]
    pub(crate) key: PathBuf,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// Most rows that the answer holds; the query's LIMIT, else 16, unless given
    #[arg(long, value_name = "S")]
    pub(crate) bound: Option<u64>,
    /// File for the query; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Report as one JSON object (on standard error if the query goes to standard output)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct PdqAnswer {
    /// The table's file
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,
    /// The client's pdq-evaluation.key
    #[arg(long, value_name = "KEY")]
    pub(crate) evaluation_key: PathBuf,
    /// The query; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) query: PathBuf,
    /// File for the answer; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Report as one JSON object (on standard error if the answer goes to standard output)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct PdqDecode {
    /// The table's schema, with which the query was encrypted
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// Folder of the client's keys
    #[arg(long, value_name = "DIR")]
    pub(crate) key: PathBuf,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// The query that was answered
    #[arg(long, value_name = "FILE")]
    pub(crate) query: PathBuf,
    /// The answer; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) answer: PathBuf,
    #[command(flatten)]
    pub(crate) rows: RowsOut,
}

#[derive(Args)]
pub(crate) struct PdqServe {
    /// Files of tables
    #[arg(value_name = "TABLE", required = true)]
    pub(crate) tables: Vec<PathBuf>,
    /// Configuration in TOML, as `omr serve` takes it: TLS, access, limits of connections, logs
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address and port, over pdq.listen of the configuration, without one 127.0.0.1:7601; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = omr_server::config::address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Answer everybody who reaches the address; otherwise queries need a token of `omr token`
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Print where it listens as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder of clients' keys and of tokens, over the configuration's, without one pdq-data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Parameter sets that are served
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values_t = [PARAMS.to_owned(), "pdq-deep-v1".to_owned()])]
    pub(crate) params: Vec<String>,
    /// Queries that are answered at a time
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) at_once: u16,
    /// Queries that may wait beside those
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = 4)]
    pub(crate) waiting: u16,
    /// Threads to work on; all cores unless given
    #[arg(long, help_heading = LIMITS, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Clients' keys that are kept; beyond that the client with most keys loses the one it used longest ago
    #[arg(long, help_heading = LIMITS, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keys: u32,
    /// Bytes that they may take together
    #[arg(long, help_heading = LIMITS, value_name = "B", default_value_t = 16 << 30)]
    pub(crate) key_bytes: u64,
    /// Most bytes of memory that one query may take
    #[arg(long, help_heading = LIMITS, value_name = "B", default_value_t = 8 << 30)]
    pub(crate) query_memory: u64,
    /// Most seconds that one query may be worked on
    #[arg(long, help_heading = LIMITS, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) query_seconds: u64,
}
