//! `omr pdq schema`: a table's schema from its file or from a server.

use super::{files, remote};
use crate::args::PdqSchema;
use crate::error::CliError;
use crate::io::Output;
use omr_console::Ui;
use std::path::Path;

/// Whether a text names a server.
fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

pub(super) fn run(args: &PdqSchema, ui: &Ui) -> Result<(), CliError> {
    let out = Output::file(&args.out, args.force)?.apart_from([&args.from])?;
    let public = match is_url(&args.from) {
        true => remote::public(&args.from, &args.access, args.table.as_deref(), ui)?,
        false => files::table(Path::new(&args.from))?.public(),
    };
    Ok(out.write(format!("{}\n", public.to_json()).as_bytes())?)
}
