//! A ledger that takes another branch: the time in which a server withdraws blocks and takes others in their place, and
//! the calls that a recipient then makes.

use super::load::Progress;
use super::load::pool::Pool;
use super::load::scene::{Room, Scene};
use super::mail::people::{People, report};
use super::{Site, TrialError, count, program};
use crate::help;
use bytes::Bytes;
use clap::Args;
use omr_protocol::ParamSet;
use omr_remote::Client;
use omr_remote::v1::{LedgerBlock, LedgerMessage};
use serde::Serialize;
use std::time::Instant;

/// The number of blocks before the fork.
const BEFORE: u64 = 10;
const LEDGER: &str = "a ledger of a trial";

/// A reorganisation of a ledger.
#[derive(Clone, Debug, Args)]
#[command(after_help = help::TRIALS)]
pub struct Branches {
    /// Blocks that are withdrawn, and blocks that replace them
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = count())]
    pub blocks: u32,
    /// Messages of each branch
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count())]
    pub messages: u32,
    /// Reorganisations
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = count())]
    pub runs: u32,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub site: Site,
}

/// The results of reorganisations.
#[derive(Clone, Debug, Serialize)]
pub struct BranchFigures {
    /// The parameter set of the board.
    pub params: String,
    /// The blocks of each branch.
    pub blocks: u32,
    /// The messages of each branch.
    pub messages: u32,
    /// Seconds of the call that brings the first branch, which replaces nothing.
    pub append_s: f64,
    /// Seconds of the call that brings another branch, for each reorganisation.
    pub reorganisation_s: Vec<f64>,
    /// Seconds of all cores that the server used in each reorganisation.
    pub server_cpu_s: Vec<f64>,
    /// The calls of a recipient's fetch after the first branch.
    pub calls_before: u64,
    /// The calls of the recipient's fetch after each reorganisation.
    pub calls_after: Vec<u64>,
    /// The messages on the board at the end.
    pub board_messages: u64,
}

/// The branches of a ledger, each with messages of its own.
struct Ledger<'a> {
    pool: &'a Pool,
    /// The number of messages that were made.
    made: u64,
}

impl Ledger<'_> {
    /// Returns blocks from a height on, which are no other branch's.
    fn branch(
        &mut self,
        parent: Bytes,
        height: u64,
        blocks: u64,
        messages: u64,
    ) -> Vec<LedgerBlock> {
        let mut parent = parent;
        let mut branch = Vec::new();
        for block in 0..blocks {
            let first = self.made;
            self.made += messages * (block + 1) / blocks - messages * block / blocks;
            let hash = blake3::hash(&[&parent[..], &self.made.to_le_bytes()].concat());
            let hash = Bytes::copy_from_slice(hash.as_bytes());
            let message = |number: u64| LedgerMessage {
                message: Some(self.pool.message(number)),
                id: Bytes::copy_from_slice(blake3::hash(&number.to_le_bytes()).as_bytes()),
            };
            branch.push(LedgerBlock {
                height: height + block,
                hash: hash.clone(),
                parent,
                messages: (first..self.made).map(message).collect(),
            });
            parent = hash;
        }
        branch
    }
}

impl Branches {
    /// Starts a server, feeds it with branches that replace each other, and fetches after each.
    ///
    /// Errors: `Start`, `Io`, `Own`, `Command`; `Remote` if the server refuses blocks; `Broken` if it does not stop
    /// properly.
    pub fn run(&self, progress: &Progress<'_>) -> Result<BranchFigures, TrialError> {
        let set = ParamSet::named(&self.site.params).map_err(TrialError::own)?;
        let room = Room {
            params: self.site.params.clone(),
            board: format!("ledger = {LEDGER:?}\nfork_blocks = {}\n", self.blocks),
            keys: 2,
            digest_messages: 1 << 20,
        };
        let mut scene = Scene::new(self.site.dir.as_deref(), &room)?;
        let feeder = scene.token_for("feeder", &["feed"])?;
        let recipient = scene.token("recipient")?;
        scene.start()?;
        let client = scene.client(&feeder)?;
        let board = scene.runtime.block_on(client.board())?;
        let people = People {
            program: program()?,
            dir: scene.dir().to_owned(),
        };
        people.join(0, &scene.url(), &recipient, 50)?;
        let steps = u64::from(self.runs) + 1;
        let messages = u64::from(self.messages);
        progress("making clues", 0, steps);
        let pool = Pool::new(&set, &board, self.messages.min(4096) as usize)?;
        let mut ledger = Ledger {
            pool: &pool,
            made: 0,
        };
        let before = ledger.branch(Bytes::from_static(&[0; 32]), 0, BEFORE, BEFORE);
        let parent = before[before.len() - 1].hash.clone();
        feed(&scene, &client, before)?;
        let mut figures = BranchFigures {
            params: self.site.params.clone(),
            blocks: self.blocks,
            messages: self.messages,
            append_s: 0.0,
            reorganisation_s: Vec::new(),
            server_cpu_s: Vec::new(),
            calls_before: 0,
            calls_after: Vec::new(),
            board_messages: 0,
        };
        for run in 0..steps {
            progress("feeding", run, steps);
            let branch = ledger.branch(parent.clone(), BEFORE, self.blocks.into(), messages);
            let cpu = scene.usage().cpu_s;
            let seconds = feed(&scene, &client, branch)?;
            let cpu = scene.usage().cpu_s - cpu;
            let calls = fetch(&scene, &people)?;
            if run == 0 {
                figures.append_s = seconds;
                figures.calls_before = calls;
            } else {
                figures.reorganisation_s.push(seconds);
                figures.server_cpu_s.push(cpu);
                figures.calls_after.push(calls);
            }
        }
        figures.board_messages = scene.runtime.block_on(client.board())?.messages;
        scene.stop()?;
        Ok(figures)
    }
}

/// Sends blocks in one call. Returns its seconds.
fn feed(scene: &Scene, client: &Client, blocks: Vec<LedgerBlock>) -> Result<f64, TrialError> {
    let start = Instant::now();
    scene.runtime.block_on(client.feed(blocks))?;
    Ok(start.elapsed().as_secs_f64())
}

/// Fetches the recipient's letters, if there are any. Returns the number of calls of the fetch.
fn fetch(scene: &Scene, people: &People) -> Result<u64, TrialError> {
    let calls = || scene.metric("omr_requests_total");
    let before = calls();
    let fetch = people.fetch(0)?;
    report(
        fetch
            .wait_with_output()
            .map_err(TrialError::io("waiting for a command"))?,
    )?;
    Ok((calls() - before) as u64)
}

impl BranchFigures {
    /// Checks that no branch is on the board twice, and that recipients make the same calls after reorganisations as
    /// before.
    ///
    /// Errors: `Broken` with everything that is wrong.
    pub fn verdict(&self) -> Result<(), TrialError> {
        let mut faults = Vec::new();
        let expected = BEFORE + u64::from(self.messages);
        if self.board_messages != expected {
            faults.push(format!(
                "expected {expected} messages on the board, found {}",
                self.board_messages
            ));
        }
        if self
            .calls_after
            .iter()
            .any(|calls| *calls > self.calls_before)
        {
            faults.push(format!(
                "a fetch made {} calls before the reorganisations, and {:?} after them",
                self.calls_before, self.calls_after
            ));
        }
        TrialError::unless_none(&faults)
    }
}
