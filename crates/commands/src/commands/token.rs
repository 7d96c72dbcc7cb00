//! `omr token`: who may use a server.

use crate::args::{TokenAdd, TokenCommand, TokenList};
use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_server::tokens::{self, Token};
use serde::Serialize;

#[derive(Serialize)]
struct Listed {
    name: String,
    rights: Vec<tokens::Right>,
}

pub(super) fn run(command: &TokenCommand, ui: &Ui) -> Result<(), CliError> {
    omr_server::create_private_files();
    match command {
        TokenCommand::Add(args) => add(args, ui),
        TokenCommand::List(args) => list(args),
        TokenCommand::Remove(args) => Ok(tokens::remove(&args.file, &args.name)?),
    }
}

fn add(args: &TokenAdd, ui: &Ui) -> Result<(), CliError> {
    let token = Token {
        name: args.name.clone(),
        hash: String::new(),
        rights: args.rights.clone(),
        messages_per_second: args.messages_per_second,
        jobs: args.jobs,
        sessions: args.sessions,
        keys: args.keys,
    };
    let secret = tokens::add(&args.file, token)?;
    ui.note("the token is shown this once; the file keeps its hash");
    Ok(io::print(&format!("{secret}\n"))?)
}

fn list(args: &TokenList) -> Result<(), CliError> {
    let listed = |token: Token| Listed {
        name: token.name,
        rights: token.rights,
    };
    let all: Vec<Listed> = tokens::list(&args.file)?.into_iter().map(listed).collect();
    if args.json {
        return Ok(io::print_json(&all)?);
    }
    let line = |token: &Listed| format!("{:<24} {:?}\n", token.name, token.rights);
    Ok(io::print(&all.iter().map(line).collect::<String>())?)
}
