//! Queries over the network.

use super::files::{self, of_file};
use super::local::{Asker, Figures};
use super::query::{Keys, ServerKey, decoded, lap};
use crate::commands::full::PdqError;
use crate::commands::full::network::connect;
use crate::commands::full::pdq::query::PdqQuery;
use crate::commands::full::pdq::{Bounded, PdqAccess};
use crate::commands::full::{data, serve};
use crate::error::CliError;
use omr_console::Ui;
use omr_disk::temporary::{Access, Unfinished, sweep, temporary};
use omr_pdq::{EvaluationKey, Params, Public, Rows};
use omr_remote::{Client, Endpoint, RemoteError, Stage};
use omr_table::QueryError;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn client(url: &str, access: &PdqAccess, ui: &Ui) -> Result<Client, CliError> {
    let ca = access.ca.as_deref().map(data::certificate).transpose()?;
    let endpoint = Endpoint {
        ca_certificate: ca,
        token: access.token.text(),
        ..Endpoint::new(url)
    };
    connect(endpoint, ui)
}

/// Returns the schema of a server's table; without a name, that of its only table.
pub(super) fn public(
    url: &str,
    access: &PdqAccess,
    table: Option<&str>,
    ui: &Ui,
) -> Result<Public, CliError> {
    serve::runtime()?.block_on(async {
        let client = client(url, access, ui)?;
        let name = match table {
            Some(name) => name.to_owned(),
            None => only(&names(&client).await?)?,
        };
        fetch(&client, &name).await
    })
}

async fn names(client: &Client) -> Result<Vec<String>, CliError> {
    let tables = match client.tables().await {
        Err(RemoteError::NotOffered(_)) => {
            return Err(PdqError::NoTableServer.into());
        }
        tables => tables?.tables,
    };
    Ok(tables.into_iter().map(|table| table.name).collect())
}

fn only(names: &[String]) -> Result<String, PdqError> {
    match names {
        [one] => Ok(one.clone()),
        _ => Err(PdqError::WhichTable(names.join(", "))),
    }
}

async fn fetch(client: &Client, name: &str) -> Result<Public, CliError> {
    let json = client.schema(name).await?;
    Ok(Public::from_json(&json).map_err(PdqError::from)?)
}

/// Returns the table that a query names, and the query of it.
async fn named(client: &Client, args: &PdqQuery) -> Result<(Public, Bounded), CliError> {
    let names = names(client).await?;
    for name in &names {
        let public = fetch(client, name).await?;
        let asked = Bounded::parse(&args.sql, public.schema(), args.bound);
        if !matches!(asked, Err(PdqError::Query(QueryError::Table(_)))) {
            return Ok((public, asked?));
        }
    }
    let known = names.join(", ");
    Err(PdqError::NoTable(known).into())
}

/// Makes a query at a server.
pub(super) fn query(
    args: &PdqQuery,
    url: &str,
    ui: &Ui,
) -> Result<(Asker, Rows, Figures), CliError> {
    let runtime = serve::runtime()?;
    let client = runtime.block_on(async { client(url, &args.access, ui) })?;
    // This precedes the making of keys: most mistakes are in the query.
    let (public, asked) = match &args.schema {
        Some(path) => {
            let public = files::public(path)?;
            let asked = Bounded::parse(&args.sql, public.schema(), args.bound)?;
            (public, asked)
        }
        None => runtime.block_on(named(&client, args))?,
    };
    super::warn_of_null(&args.sql, ui);
    let mut start = Instant::now();
    let mut figures = Figures::default();
    let Keys {
        params,
        secret,
        server,
    } = Keys::new(args)?;
    let key = KeyFile::new(server, &params)?;
    let asker = Asker::new(params, secret, public, asked, ui)?;
    let bar = ui.bar();
    bar.at("key".into(), 0, 1);
    let (hash, sent) = runtime.block_on(client.upload_evaluation_key(key.path()))?;
    figures.key_bytes_sent = Some(sent);
    figures.keys_s = lap(&mut start);
    let query = asker.encrypt()?;
    figures.encrypt_s = lap(&mut start);
    let answer = client.query(
        &asker.public.schema().name,
        hash,
        query.clone().into(),
        |stage| match stage {
            Stage::Waiting => bar.at("waiting".into(), 0, 1),
            Stage::Blocks(done, blocks) => bar.at("answer".into(), done, blocks),
        },
    );
    let answer = runtime.block_on(answer)?;
    figures.answer_s = lap(&mut start);
    drop(bar);
    let found = decoded(&asker, &query, &answer, &mut figures, &mut start)?;
    Ok((asker, found, figures))
}

/// The file of the server's key; temporary if the key was made for a query.
enum KeyFile {
    Given(PathBuf),
    Passing(Unfinished),
}

impl KeyFile {
    fn new(key: ServerKey, params: &Params) -> Result<Self, CliError> {
        match key {
            ServerKey::File(path) => Ok(Self::Given(path)),
            ServerKey::New(key) => Ok(Self::Passing(passing(&key, params)?)),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Passing(file) => file.path(),
        }
    }
}

fn passing(key: &EvaluationKey, params: &Params) -> Result<Unfinished, CliError> {
    let place = std::env::temp_dir();
    sweep(&place);
    let file = Unfinished::new(|| temporary(&place, Access::Private));
    let mut file = file.map_err(|error| CliError::write(&place, error))?;
    let path = file.path().to_owned();
    let out = std::io::BufWriter::with_capacity(1 << 20, file.file());
    key.write(params, out).map_err(of_file(&path))?;
    Ok(file)
}
