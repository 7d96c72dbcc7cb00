//! The command line.

mod examples;
mod groups;
mod headings;
#[cfg(feature = "full")]
mod identity;
#[cfg(feature = "full")]
mod mail;
mod parse;
mod passphrase;
#[cfg(feature = "full")]
mod pdq;
#[cfg(feature = "full")]
mod seen;
#[cfg(feature = "full")]
mod serve;
mod shell;
mod span;
mod stream;
#[cfg(feature = "full")]
mod token;
#[cfg(feature = "full")]
mod worker;

pub(crate) use groups::command;
#[cfg(feature = "full")]
pub(crate) use identity::{
    Id, IdExport, IdForget, IdImport, IdNew, IdPassphrase, IdRegister, IdRotate,
};
#[cfg(feature = "full")]
pub(crate) use mail::{
    AddressArgs, Contact, HomeArg, Inbox, InboxAct, InboxAgain, InboxRead, PlaceArgs, Send,
    ServerArgs, Watch,
};
pub(crate) use parse::parse;
pub(crate) use passphrase::{Locking, PassphraseArg};
#[cfg(feature = "full")]
pub(crate) use pdq::{
    Pdq, PdqAccess, PdqAnswer, PdqDecode, PdqEncrypt, PdqEncryptTable, PdqImport, PdqKeygen,
    PdqPlan, PdqQuery, PdqSchema, PdqServe, RowFormat,
};
#[cfg(feature = "full")]
pub(crate) use seen::Seen;
#[cfg(feature = "full")]
pub(crate) use serve::{
    DataBackup, DataCommand, DataExpire, DataJobs, DataOf, DataRepair, DataRestore, DataVerify,
    Health, Serve, TokenAdd, TokenCommand, TokenList,
};
pub(crate) use shell::{Completions, Man};
pub(crate) use span::Span;
pub(crate) use stream::{Stream, StreamCut, StreamRun};
#[cfg(feature = "full")]
pub(crate) use token::{Token, TokenArg};
#[cfg(feature = "full")]
pub(crate) use worker::WorkerArgs;

use clap::{Args, Parser, Subcommand};
use headings::{OUTPUT, WORK};
use omr_console::args::{bound, messages, payload_bytes, threads};
use omr_protocol::clue::ClueKind;
use omr_protocol::params::DEFAULT;
use omr_protocol::{Scheme, Sealing};
use std::path::PathBuf;

/// Oblivious message retrieval: messages wait on a public board, an untrusted detector finds yours
/// under encryption, and a short digest holds them.
#[derive(Parser)]
#[command(name = "omr", version, after_help = examples::omr())]
pub(crate) struct Cli {
    /// No bars and notes on the terminal; warnings and errors stay
    #[arg(long, short, global = true, display_order = 900)]
    pub(crate) quiet: bool,
    /// Commands that call a server: seconds without an answer after which they give up; 2 where it never answered, else
    /// 120, unless given
    #[arg(long, global = true, value_name = "SECONDS", env = "OMR_TIMEOUT", hide_env_values = true, display_order = 901, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// Print JSON, as the same option after a command that has it
    #[arg(long, global = true, hide = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a recipient's keys: secret.key, clue.key (her address) and detection.key
    #[command(after_help = examples::KEYGEN)]
    Keygen(Keygen),
    /// Show the published parameter sets
    #[command(subcommand, after_help = examples::PARAMS)]
    Params(ParamsCommand),
    /// Create and examine boards
    #[command(subcommand, after_help = examples::BOARD)]
    Board(BoardCommand),
    /// Post files to a recipient
    #[command(after_help = examples::POST)]
    Post(Post),
    /// Scan a board with a detection key
    #[command(after_help = examples::DIGEST)]
    Digest(Digest),
    /// Look at messages one by one as they come, and cut digests off at any time
    #[command(subcommand, after_help = examples::STREAM)]
    Stream(Stream),
    /// Decode a digest into messages
    #[command(after_help = examples::DECODE)]
    Decode(Decode),
    /// Make an identity and give a server its detection keys
    #[cfg(feature = "full")]
    #[command(subcommand, after_help = examples::ID)]
    Id(Id),
    /// Print an identity's address, to be given to everybody who writes to it
    #[cfg(feature = "full")]
    #[command(after_help = examples::ADDRESS)]
    Address(AddressArgs),
    /// Keep addresses by name
    #[cfg(feature = "full")]
    #[command(subcommand, after_help = examples::CONTACT)]
    Contact(Contact),
    /// Write to somebody
    #[cfg(feature = "full")]
    #[command(after_help = examples::SEND)]
    Send(Send),
    /// Fetch, list and read messages
    #[cfg(feature = "full")]
    #[command(after_help = examples::INBOX)]
    Inbox(Inbox),
    /// Fetch on a fixed schedule and print messages as they come
    #[cfg(feature = "full")]
    #[command(after_help = examples::WATCH)]
    Watch(Watch),
    /// Play every part on real transactions and check the outcome
    #[command(after_help = examples::DEMO)]
    Demo(Demo),
    /// Serve a board and its detector over the network
    #[cfg(feature = "full")]
    #[command(after_help = examples::SERVE)]
    Serve(Serve),
    /// Make digests for a server elsewhere
    #[cfg(feature = "full")]
    #[command(after_help = examples::WORKER)]
    Worker(WorkerArgs),
    /// Who may use a server
    #[cfg(feature = "full")]
    #[command(subcommand, after_help = examples::TOKEN)]
    Token(TokenCommand),
    /// Check, back up and restore what a server keeps
    #[cfg(feature = "full")]
    #[command(subcommand, after_help = examples::DATA)]
    Data(DataCommand),
    /// Ask a server whether it serves
    #[cfg(feature = "full")]
    #[command(after_help = examples::SERVE)]
    Health(Health),
    /// Ask a table on a server for rows, without telling it which
    #[cfg(feature = "full")]
    #[command(subcommand, after_help = examples::PDQ)]
    Pdq(Pdq),
    /// Run every scheme on the same messages and put their figures side by side
    #[cfg(feature = "lab")]
    #[command(after_help = omr_lab::help::COMPARE, hide = true)]
    Compare(omr_lab::Compare),
    /// Measure
    #[cfg(feature = "lab")]
    #[command(after_help = omr_lab::help::BENCH, hide = true)]
    Bench(omr_lab::Bench),
    /// A model of an FPGA that computes the affine transform
    #[cfg(feature = "lab")]
    #[command(subcommand, after_help = omr_lab::help::FPGA, hide = true)]
    Fpga(omr_lab::Fpga),
    /// Print a shell's completions of these commands
    #[command(after_help = examples::COMPLETIONS)]
    Completions(Completions),
    /// Write manual pages of all commands
    #[command(after_help = examples::MAN)]
    Man(Man),
}

#[derive(Args)]
pub(crate) struct Keygen {
    /// Folder for the three files, created where absent
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Make detection keys for these schemes alone: sophomr (detection.key), instantomr (instant.key) or
    /// hybrid (both)
    #[arg(long, value_name = "SCHEME")]
    pub(crate) scheme: Option<Scheme>,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    #[command(flatten)]
    pub(crate) locking: Locking,
    /// Keys for plain clues, for boards of such: weaker, as a few posts of an enemy can fill everybody's digests
    #[arg(long)]
    pub(crate) plain_clues: bool,
    /// The board that the detection key is for, by its folder or its id: a detector then serves the key together with
    /// others of this board and quarter; alone unless given
    #[arg(long, value_name = "BOARD")]
    pub(crate) board: Option<PathBuf>,
    /// Replace keys; what was posted to the old ones is lost
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum ParamsCommand {
    /// The names of all sets
    #[command(after_help = examples::PARAMS)]
    List {
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Sizes, security, failure rates and moduli of one set
    #[command(after_help = examples::PARAMS)]
    Show(ParamsShow),
    /// Compare sets by modelled seconds and by sizes, on this machine
    #[cfg(feature = "lab")]
    #[command(after_help = omr_lab::help::SEARCH)]
    Search(omr_lab::ParamsSearch),
}

#[derive(Args)]
pub(crate) struct ParamsShow {
    /// Parameter set
    #[arg(value_name = "NAME", default_value = DEFAULT)]
    pub(crate) name: String,
    /// Pertinent messages that the digest may carry
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// Messages that the digest covers
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    pub(crate) messages: u64,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum BoardCommand {
    /// Create an empty board
    #[command(after_help = examples::BOARD)]
    Init(BoardInit),
    /// Size and configuration
    #[command(after_help = examples::BOARD)]
    Stat {
        /// The board's folder
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check every record and the database under them
    #[command(after_help = examples::BOARD)]
    Verify {
        /// The board's folder
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Remove the oldest messages for good
    #[command(after_help = examples::BOARD)]
    Expire(BoardExpire),
}

#[derive(Args)]
pub(crate) struct BoardExpire {
    /// The board's folder
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Messages of a smaller index
    #[arg(
        long,
        value_name = "INDEX",
        required_unless_present = "keep",
        conflicts_with = "keep"
    )]
    pub(crate) before: Option<u64>,
    /// All but the last N messages
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct BoardInit {
    /// The board's folder, created where absent
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Bytes of every payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Encryption of payloads: none, hpke-x25519 or x-wing
    #[arg(long, value_name = "SEALING", default_value_t = Sealing::HpkeX25519)]
    pub(crate) sealing: Sealing,
    /// Parameter set of the board's clues
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    /// Kind of the board's clues: bound, or plain, which anybody can make so that they reach every recipient
    #[arg(long, value_name = "KIND", default_value_t = ClueKind::Bound)]
    pub(crate) clues: ClueKind,
}

#[derive(Args)]
pub(crate) struct Post {
    /// The board's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) board: PathBuf,
    /// The recipient's address: her clue.key, or what `omr send --to` takes
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: PathBuf,
    /// Post each file as one payload just as it is (boards with sealing none)
    #[arg(long)]
    pub(crate) raw: bool,
    /// Post no file names; they are never posted on a board with sealing none
    #[arg(long)]
    pub(crate) no_names: bool,
    /// Print one JSON object for each file
    #[arg(long)]
    pub(crate) json: bool,
    /// Files to post; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// What makes digests.
#[cfg(feature = "full")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum EngineName {
    Auto,
    Cpu,
    Cuda,
    #[cfg(feature = "lab")]
    FpgaModel,
}

#[cfg(feature = "full")]
impl EngineName {
    /// A card or the processor.
    pub(crate) fn choice(self) -> omr_cuda::Choice {
        match self {
            Self::Auto => omr_cuda::Choice::Auto,
            Self::Cuda => omr_cuda::Choice::Cuda,
            Self::Cpu => omr_cuda::Choice::Cpu,
            #[cfg(feature = "lab")]
            Self::FpgaModel => omr_cuda::Choice::Cpu,
        }
    }
}

#[derive(Args)]
pub(crate) struct Digest {
    /// The board's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) board: PathBuf,
    /// The recipient's detection.key or instant.key; given twice, both
    #[arg(long, value_name = "KEY", required = true, num_args = 1)]
    pub(crate) detection_key: Vec<PathBuf>,
    /// sophomr, instantomr, hybrid, or the forms for indices alone, sophomd and instantomd; what the
    /// keys serve unless given
    #[arg(long, help_heading = WORK, value_name = "SCHEME")]
    pub(crate) scheme: Option<Scheme>,
    /// What `omr bench crossover --json` printed: where a hybrid digest changes the engine
    #[arg(long, help_heading = WORK, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,
    /// What makes the digest: an NVIDIA card, the processor, or (auto) a card where there is one; with fpga-model the
    /// processor, and a model of an FPGA tells what it would take for the affine transform
    #[cfg(feature = "lab")]
    #[arg(long, help_heading = WORK, value_name = "ENGINE", default_value = "auto")]
    pub(crate) engine: EngineName,
    /// What makes the digest: an NVIDIA card, the processor, or (auto) a card where there is one
    #[cfg(all(feature = "full", not(feature = "lab")))]
    #[arg(long, help_heading = WORK, value_name = "ENGINE", default_value = "auto")]
    pub(crate) engine: EngineName,
    /// Pertinent messages that the digest may carry
    #[arg(long, value_name = "K", value_parser = bound())]
    pub(crate) bound: u32,
    /// Messages to scan, by index, the end excluded; either end may be left out
    #[arg(long, value_name = "A..B")]
    pub(crate) range: Option<Span>,
    /// Indices without payloads: a smaller digest, sooner
    #[arg(long)]
    pub(crate) indices_only: bool,
    /// Threads to work on; all cores unless given
    #[arg(long, help_heading = WORK, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// File for the digest; - is standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
    /// Tell the seconds of each stage on standard error
    #[arg(long, help_heading = OUTPUT, short)]
    pub(crate) verbose: bool,
    /// Report as one JSON object (on standard error if the digest goes to standard output)
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Decode {
    /// The recipient's secret.key
    #[arg(long, value_name = "KEY")]
    pub(crate) secret_key: PathBuf,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArg,
    /// Digests of one board, in any order: letters are put together from all of them; - is standard input
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) digest: Vec<PathBuf>,
    /// Folder for the messages, created where absent; - writes them to standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Payloads just as they stand on the board: not opened, not put together
    #[arg(long)]
    pub(crate) raw: bool,
    /// Refuse a digest of a board with another sealing
    #[arg(long, value_name = "SEALING")]
    pub(crate) sealing: Option<Sealing>,
    /// Exit with 1 if any pertinent message could not be opened, or a letter is not whole
    #[arg(long)]
    pub(crate) strict: bool,
    /// Replace files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Demo {
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    pub(crate) messages: u64,
    /// Recipients, the one who asks among them
    #[arg(long, value_name = "R", default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub(crate) recipients: u16,
    /// Messages for the one who asks
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = bound())]
    pub(crate) pertinent: u32,
    /// Her digest's bound; a stranger's message passes for hers once in 1,440 full boards
    #[arg(long, value_name = "K", default_value_t = 54, value_parser = bound())]
    pub(crate) bound: u32,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Keep all files in this new folder; a temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// sophomr, instantomr or hybrid
    #[arg(long, value_name = "SCHEME", default_value_t = Scheme::Sophomr)]
    pub(crate) scheme: Scheme,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
