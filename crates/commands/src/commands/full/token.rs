//! `omr token`: manages access to a server.

use crate::error::CliError;
use crate::io;
use omr_console::Ui;
use omr_server::tokens::Right;
use omr_server::tokens::{self, Token};
use serde::Serialize;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it; the file contains only its hash
    #[command(after_help = TOKEN)]
    Add(TokenAdd),
    /// List names, rights and limits of all tokens
    #[command(after_help = TOKEN)]
    List(TokenList),
    /// Remove a token; a running server notices within seconds
    #[command(after_help = TOKEN)]
    Remove(TokenRemove),
}

#[derive(clap::Args)]
pub(crate) struct TokenAdd {
    /// The server's file of tokens, `tokens.toml` in its data folder
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Your name for the client
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// Right of the token: post, detect, admin, work (`omr worker`) or feed; may be given several times
    #[arg(long = "may", value_name = "RIGHT", required = true, value_parser = right)]
    pub(crate) rights: Vec<Right>,
    /// Highest number of messages per second that it may post; after a pause one whole post may exceed it
    #[arg(long, value_name = "N")]
    pub(crate) messages_per_second: Option<u32>,
    /// Highest number of its unfinished jobs
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<u32>,
    /// Highest number of its sessions
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<u32>,
    /// Highest number of its keys
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<u32>,
}

#[derive(clap::Args)]
pub(crate) struct TokenList {
    /// The server's file of tokens
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct TokenRemove {
    /// The server's file of tokens
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The client's name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
}

fn right(text: &str) -> Result<Right, String> {
    let known = Right::ALL
        .into_iter()
        .find(|right| right.to_string() == text);
    known.ok_or_else(|| format!("expected post, detect, admin, work or feed, found {text:?}"))
}

pub(crate) const TOKEN: &str = "\
Examples:
  omr token add --file omr-data/tokens.toml --name wallet \\
    --may post --may detect
  omr token add --file omr-data/tokens.toml --name backups --may admin
  omr token list --file omr-data/tokens.toml
  omr token remove --file omr-data/tokens.toml --name wallet";

/// A token in the list; a limit that is `None` is the configuration's.
#[derive(Serialize)]
struct Listed {
    name: String,
    rights: Vec<tokens::Right>,
    messages_per_second: Option<u32>,
    jobs: Option<u32>,
    sessions: Option<u32>,
    keys: Option<u32>,
}

impl Listed {
    /// Returns name, rights and limits in the words of `omr token add`.
    fn line(&self) -> String {
        let rights: Vec<String> = self.rights.iter().map(ToString::to_string).collect();
        let limits = [
            ("messages-per-second", self.messages_per_second),
            ("jobs", self.jobs),
            ("sessions", self.sessions),
            ("keys", self.keys),
        ];
        let own: Vec<String> = limits
            .iter()
            .filter_map(|(name, limit)| limit.map(|limit| format!("{name} {limit}")))
            .collect();
        let line = format!(
            "{:<24} {:<24} {}",
            self.name,
            rights.join(" "),
            own.join(", ")
        );
        line.trim_end().to_owned() + "\n"
    }
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
        messages_per_second: token.messages_per_second,
        jobs: token.jobs,
        sessions: token.sessions,
        keys: token.keys,
    };
    let all: Vec<Listed> = tokens::list(&args.file)?.into_iter().map(listed).collect();
    if args.json {
        return Ok(io::print_json(&all)?);
    }
    if all.is_empty() {
        return Ok(io::print(&format!(
            "no tokens in {}\n",
            args.file.display()
        ))?);
    }
    Ok(io::print(
        &all.iter().map(Listed::line).collect::<String>(),
    )?)
}
