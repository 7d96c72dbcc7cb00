//! `omr-zcash`: the demonstration, and its parts one by one.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use omr_client::{Words, os_rng};
use omr_mail::Server;
use omr_remote::Client;
use omr_zcash::{
    Addresses, Chain, Local, OWN, PaymentAddress, Sender, Wallet, ZcashError, demo, measure,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

const TINY: &str = "insecure-tiny-hybrid-v4";
const SECURE: &str = "hybrid-v4";
/// The commit, if the variable was set for the build, or the version.
const BUILD: &str = match option_env!("OMR_COMMIT") {
    Some(commit) => commit,
    None => env!("CARGO_PKG_VERSION"),
};
/// The file of a recipient's words, in the recipient's folder.
const WORDS: &str = "words.txt";

/// Payments on Zcash that their recipients find by a board of omr beside the chain
#[derive(Parser)]
#[command(name = "omr-zcash", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all parts on this machine: payments, a reorganisation, a restored recipient
    Demo {
        /// Parameter set of the board; the default is small and insecure
        #[arg(long, default_value = TINY)]
        params: String,
    },
    /// Measure a day of the chain: a recipient who tries to decrypt everything, beside one with a board
    Measure {
        /// Parameter set of the board
        #[arg(long, default_value = SECURE)]
        params: String,
        /// Payments of the day, each with two actions
        #[arg(long, default_value_t = 2_048, value_parser = clap::value_parser!(u64).range(OWN..=100_000))]
        payments: u64,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Run a fake node, a bridge and a server on this machine
    Serve {
        /// Parameter set of the board; the default is small and insecure
        #[arg(long, default_value = TINY)]
        params: String,
        /// Seconds between two blocks
        #[arg(long, default_value_t = 2)]
        seconds: u64,
        /// New folder for the server's data
        folder: PathBuf,
    },
    /// Pay to an address
    Pay {
        /// File with the address
        address: PathBuf,
        /// Value of the payment
        zatoshis: u64,
        /// Text to the recipient
        #[arg(default_value = "")]
        memo: String,
    },
    /// Make a recipient and print the address, or fetch the payments of one that exists
    Receive {
        /// File with 24 words, to restore a recipient
        #[arg(long, requires = "birthday")]
        words: Option<PathBuf>,
        /// Height below which nothing was paid
        #[arg(long, requires = "words")]
        birthday: Option<u64>,
        /// Folder of the recipient
        folder: PathBuf,
    },
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    match run(Arguments::parse().command).await {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<(), ZcashError> {
    match command {
        Command::Demo { params } => {
            let folder = tempfile::tempdir()?;
            demo(folder.path(), &params, &mut std::io::stdout()).await
        }
        Command::Measure {
            params,
            payments,
            json,
        } => {
            let folder = tempfile::tempdir()?;
            let figures = measure(folder.path(), BUILD, &params, payments).await?;
            if json {
                println!("{}", figures.to_json()?);
            } else {
                print!("{}", figures.table());
            }
            Ok(())
        }
        Command::Serve {
            params,
            seconds,
            folder,
        } => {
            let local = Local::start(&folder, "regtest", &params, &Addresses::USUAL).await?;
            println!("node {}, bridge {}", local.node_url, local.bridge_url);
            println!("server {}", local.server.url);
            loop {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                local.node.mine(1);
                local.bridge.step().await?;
            }
        }
        Command::Pay {
            address,
            zatoshis,
            memo,
        } => {
            let to = PaymentAddress::from_text(&read(&address)?)?;
            let board = Client::connect(&usual_server().endpoint())?;
            let bridge = format!("http://{}", Addresses::USUAL.bridge);
            let mut sender = Sender::connect(usual_chain().await?, board, &bridge).await?;
            sender.pay(&to, zatoshis, &memo).await?;
            println!("paid; the recipient finds it when it is in a block");
            Ok(())
        }
        Command::Receive {
            words,
            birthday,
            folder,
        } => receive(words.as_deref(), birthday, &folder).await,
    }
}

async fn receive(
    given: Option<&Path>,
    birthday: Option<u64>,
    folder: &Path,
) -> Result<(), ZcashError> {
    let mut chain = usual_chain().await?;
    let kept = folder.join(WORDS);
    if !kept.exists() {
        let words = match given {
            Some(path) => Words::parse(&read(path)?)?,
            None => Words::generate(&mut os_rng()),
        };
        let server = usual_server();
        let wallet = Wallet::create(folder, &words, birthday, &server, &mut chain).await?;
        let text = words.each().collect::<Vec<_>>().join(" ");
        std::fs::write(&kept, text).map_err(|source| ZcashError::File { path: kept, source })?;
        print!("{}", wallet.address()?.to_text());
        return Ok(());
    }
    let mut wallet = Wallet::open(folder, &Words::parse(&read(&kept)?)?)?;
    wallet.receive(&mut chain).await?;
    let (here, gone) = wallet.notes()?;
    if here.is_empty() && gone.is_empty() {
        println!("no payments so far");
    }
    for note in here {
        let (height, zatoshis, memo) = (note.height, note.zatoshis, note.memo);
        println!("block {height}: {zatoshis} zatoshis, {memo}");
    }
    for note in gone {
        println!("withdrawn with its block {}: {}", note.height, note.memo);
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, ZcashError> {
    std::fs::read_to_string(path).map_err(|source| ZcashError::File {
        path: path.to_owned(),
        source,
    })
}

async fn usual_chain() -> Result<Chain, ZcashError> {
    Chain::connect(&format!("http://{}", Addresses::USUAL.node)).await
}

fn usual_server() -> Server {
    Server {
        url: format!("http://{}", Addresses::USUAL.server),
        ca_certificate: None,
        token: None,
    }
}
