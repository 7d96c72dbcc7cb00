//! `omr-zcash`: the demonstration, and its parts one by one.
#![forbid(unsafe_code)]

use clap::Parser;
use omr_zcash::{ZcashError, demo};

/// Payments on Zcash that their recipients find by a board of omr beside the chain
#[derive(Parser)]
#[command(name = "omr-zcash", version)]
enum Command {
    /// Run all parts on this machine: payments, a reorganisation, a restored recipient
    Demo {
        /// Parameter set of the board; the default is small and insecure
        #[arg(long, default_value = TINY)]
        params: String,
    },
}

const TINY: &str = "insecure-tiny-hybrid-v4";

#[tokio::main]
async fn main() -> std::process::ExitCode {
    match run(Command::parse()).await {
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
    }
}
