//! `omr pdq keygen`: writes a client's keys to files.

use super::files;
use crate::commands::full::PdqError;
use crate::commands::full::pdq::SET;
use crate::commands::keygen::{Written, commit, create_folder};
use crate::commands::passphrase::{Locking, wanted};
use crate::error::{CliError, InputError};
use crate::io::{self, Access, Output};
use omr_client::locked::lock;
use omr_client::os_rng;
use omr_console::ConsoleError;
use omr_pdq::SecretKey;
use omr_protocol::frame::Kind;
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

pub(crate) const PDQ_KEYGEN: &str = "\
Examples:
  omr pdq keygen --out alice
  omr pdq keygen --out deep --params pdq-deep-v1
  omr pdq keygen --out bob --passphrase # pdq-secret.key under a passphrase

pdq-secret.key stays with the client, pdq-evaluation.key goes to the server. An existing key is replaced only with \
--force.";

#[derive(clap::Args)]
pub(crate) struct PdqKeygen {
    /// Folder for the two files, created where absent
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Parameter set: pdq-v1, or pdq-deep-v1 for queries of many conditions and for patterns %part%
    #[arg(long, value_name = "NAME", default_value = SET)]
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

#[derive(Serialize)]
struct Report {
    params: &'static str,
    files: Vec<Written>,
}

pub(super) fn run(args: &PdqKeygen) -> Result<(), CliError> {
    let params = files::params(&args.params)?;
    Output::folder(&args.out)?;
    let [secret_path, key_path] = files::keys(&args.out);
    for path in [&secret_path, &key_path] {
        if path.exists() && !args.force {
            let path = path.clone();
            return Err(ConsoleError::Exists(path).into());
        }
    }
    let passphrase = wanted(&args.locking, &secret_path)?;
    let (secret, key) = SecretKey::generate(&params, &mut os_rng());
    let bytes = secret.to_bytes(&params).map_err(PdqError::from)?;
    let locked = passphrase.map(|passphrase| lock(Kind::PdqSecretKey, &bytes, &passphrase));
    let locked = locked.transpose()?;
    create_folder(&args.out)?;
    let staged = vec![
        io::stage_bytes(
            &secret_path,
            Access::Private,
            locked.as_deref().unwrap_or(&bytes),
        )?,
        io::stage(&key_path, Access::Private, |file| {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            key.write(&params, &mut out)
                .map_err(|error| InputError::Pdq(error.into()))?;
            Ok(out.flush()?)
        })?,
    ];
    let written = commit(staged, args.force)?;
    if args.json {
        return Ok(io::print_json(&Report {
            params: params.name(),
            files: written,
        })?);
    }
    let line = |file: &Written| format!("{}  {} bytes\n", file.path.display(), file.bytes);
    Ok(io::print(&written.iter().map(line).collect::<String>())?)
}
