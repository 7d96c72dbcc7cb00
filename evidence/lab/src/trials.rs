//! Trials of the service with real processes: load, crashes, hostile clients, mail.

mod branches;
mod chaos;
mod command;
mod error;
mod hostile;
mod listing;
pub mod load;
pub mod mail;
mod place;
mod process;

pub use branches::{BranchFigures, Branches};
pub use chaos::{Chaos, Figures, Kind, Outcome};
pub use error::TrialError;
pub use hostile::{Hostile, HostileFigures};
pub use listing::{Listing, ListingFigures};
pub use process::{ServerProcess, Setup};

use clap::Args;
use clap::builder::RangedI64ValueParser;
use omr_protocol::params::DEFAULT;
use std::path::PathBuf;

/// The location of a trial's servers, and their parameter set.
#[derive(Clone, Debug, Args)]
pub struct Site {
    /// Parameter set, with both engines
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub params: String,
    /// Folder for the servers' folders, which are removed at the end; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Returns the path of the program `omr` beside this one, which trials start as a server and as clients.
///
/// Errors: `Io`; `NoProgram` if it is not there.
fn program() -> Result<PathBuf, TrialError> {
    let own = std::env::current_exe().map_err(TrialError::io("finding this program"))?;
    let path = own.with_file_name(format!("omr{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        return Err(TrialError::NoProgram(path));
    }
    Ok(path)
}

fn count() -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(1..=1_000_000)
}

fn clients() -> RangedI64ValueParser<u16> {
    RangedI64ValueParser::new().range(1..=1000)
}
