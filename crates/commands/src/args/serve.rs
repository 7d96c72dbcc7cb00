//! Arguments of `omr serve`, `omr token`, `omr data` and `omr health`.

use super::mail::duration;
use super::{TokenArg, examples};
use clap::{Args, Subcommand};
use omr_protocol::clue::ClueKind;
use omr_server::tokens::Right;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct Serve {
    /// Configuration in TOML; without it everything has its default
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address and port, over the configuration's; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = omr_server::config::address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Folder of everything that the server keeps, over the configuration's
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Parameter set of the board that the first start makes, over the configuration's
    #[arg(long, value_name = "NAME")]
    pub(crate) params: Option<String>,
    /// Clues of that board, over the configuration's: bound, or plain, which anybody can make so that they reach
    /// every recipient
    #[arg(long, value_name = "KIND")]
    pub(crate) clues: Option<ClueKind>,
    /// Let everybody who reaches the address post and ask for digests; otherwise both need a token of `omr token`
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Print where it listens as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it; the file keeps its hash alone
    #[command(after_help = examples::TOKEN)]
    Add(TokenAdd),
    /// Names, rights and own limits of all tokens
    #[command(after_help = examples::TOKEN)]
    List(TokenList),
    /// Take a token back; a running server notices within seconds
    #[command(after_help = examples::TOKEN)]
    Remove(TokenRemove),
}

#[derive(Args)]
pub(crate) struct TokenAdd {
    /// The server's file of tokens, `tokens.toml` in its data folder
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Your name for the client
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// What it may do: post, detect, admin or work (`omr worker`); may be given several times
    #[arg(long = "may", value_name = "RIGHT", required = true, value_parser = right)]
    pub(crate) rights: Vec<Right>,
    /// Messages a second that it may post; after a pause one whole post, if that has more
    #[arg(long, value_name = "N")]
    pub(crate) messages_per_second: Option<u32>,
    /// Its unfinished jobs
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<u32>,
    /// Its sessions
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<u32>,
    /// Its keys
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<u32>,
}

#[derive(Args)]
pub(crate) struct TokenList {
    /// The server's file of tokens
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct TokenRemove {
    /// The server's file of tokens
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The client's name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
}

fn right(text: &str) -> Result<Right, String> {
    match text {
        "post" => Ok(Right::Post),
        "detect" => Ok(Right::Detect),
        "admin" => Ok(Right::Admin),
        "work" => Ok(Right::Work),
        found => Err(format!(
            "expected post, detect, admin or work, found {found:?}"
        )),
    }
}

#[derive(Subcommand)]
pub(crate) enum DataCommand {
    /// Read everything that a stopped server keeps, or a folder of backups, and check it
    #[command(after_help = examples::DATA)]
    Verify(DataVerify),
    /// Copy everything that a server keeps into a folder; what the folder has already is not sent again
    #[command(after_help = examples::DATA)]
    Backup(DataBackup),
    /// Make a server's data of the newest backup that can be read
    #[command(after_help = examples::DATA)]
    Restore(DataRestore),
    /// Mend what is damaged of a stopped server, from a backup or from what is left
    #[command(after_help = examples::DATA)]
    Repair(DataRepair),
    /// Remove the oldest messages of a stopped server, in whole segments; the others keep their indices
    #[command(after_help = examples::DATA)]
    Expire(DataExpire),
    /// The digests that a stopped server has yet to make, and those that failed; drops them if asked to
    #[command(after_help = examples::DATA)]
    Jobs(DataJobs),
}

/// Which server's data.
#[derive(Args)]
pub(crate) struct DataOf {
    /// The server's configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Its data folder, over the configuration's
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct DataVerify {
    /// A folder of backups, in place of a server's data
    #[arg(long, value_name = "DIR", conflicts_with_all = ["config", "data"])]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DataBackup {
    /// A running server, to which a token with the right admin must be shown; the data folder of a stopped one if not
    /// given
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "data"])]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) token: TokenArg,
    /// Certificate of the server's authority, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Folder of the backup, created where absent
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
    /// Then remove all backups of the folder but the newest N, and what none of these needs: expired messages and
    /// revoked keys among it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DataRestore {
    /// Folder of the backup
    #[arg(long, value_name = "DIR")]
    pub(crate) from: PathBuf,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DataRepair {
    /// Folder of a backup that has what is missing. Without one, what only a backup could mend is given up: damaged
    /// records are dropped and messages marked as lost
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[group(id = "which", required = true, multiple = false, args = ["older_than", "keep"])]
pub(crate) struct DataExpire {
    /// Messages that were posted so long ago, such as 90d or 36h, in time during which the server ran
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,
    /// All but the last N messages
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<u64>,
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DataJobs {
    #[command(flatten)]
    pub(crate) of: DataOf,
    /// Forget the job of this id, or all that are not finished: their clients ask anew
    #[arg(long, value_name = "ID|all")]
    pub(crate) drop: Option<String>,
    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Health {
    /// The server
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:7600")]
    pub(crate) url: String,
    /// Certificate of the server's authority, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
