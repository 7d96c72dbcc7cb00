//! `omr pdq schema`: prints a table's schema from its file or from a server.

use super::{files, remote};
use crate::commands::full::pdq::PdqAccess;
use crate::error::CliError;
use crate::io::Output;
use omr_console::Ui;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct PdqSchema {
    /// A table's file, or https://HOST:PORT
    #[arg(value_name = "TABLE|URL")]
    pub(crate) from: String,
    /// Name of the server's table, if it has several
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

pub(crate) const PDQ_SCHEMA: &str = "\
Examples:
  omr pdq schema people.table --out people.json
  omr pdq schema http://127.0.0.1:7601 --out served.json";

/// Returns whether a text is the URL of a server.
fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

pub(super) fn run(args: &PdqSchema, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.out, args.force)?.apart_from([&args.from])?;
    let public = if is_url(&args.from) {
        remote::public(&args.from, &args.access, args.table.as_deref(), ui)?
    } else {
        files::table(Path::new(&args.from))?.public()
    };
    Ok(out.write(format!("{}\n", public.to_json()).as_bytes())?)
}
