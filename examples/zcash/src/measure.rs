//! The costs of a day of the chain, for a recipient who tries to decrypt everything and for one with a board.

use crate::figures::{Costs, Figures, Machine};
use crate::relay::Relay;
use crate::wallet::{parse, viewing_key};
use crate::{Addresses, Chain, Local, PaymentAddress, Wallet, ZcashError};
use lightwallet_protocol::CompactBlock;
use omr_client::{Words, os_rng};
use omr_mail::Server;
use omr_protocol::ParamSet;
use omr_remote::Client;
use orchard::keys::Scope;
use orchard::note_encryption::OrchardDomain;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use zcash_note_encryption::batch::try_compact_note_decryption;

/// The number of blocks of a day.
const DAY: u64 = 1_152;
/// The number of blocks between two steps of the bridge, which keeps announcements for longer.
const STEP: u64 = 32;
/// The number of payments to the recipient, whose windows of blocks always fit into one request.
pub const OWN: u64 = 2;

/// Measures a day of a fake chain with this number of payments, [`OWN`] of them to one recipient, in an empty folder.
/// `build` names the build. The recipient with a board makes a key at the beginning of the day and fetches at its end.
///
/// Errors: all of `ZcashError`.
pub async fn measure(
    folder: &Path,
    build: &str,
    params: &str,
    payments: u64,
) -> Result<Figures, ZcashError> {
    let data = folder.join("server");
    let local = Local::start(&data, "regtest", params, &Addresses::FREE).await?;
    let set = ParamSet::named(params).map_err(omr_mail::MailError::from)?;
    let relays = Relays {
        node: Relay::start(&local.node_url).await?,
        board: Relay::start(&local.server.url).await?,
    };
    let words = Words::generate(&mut os_rng());
    let dir = folder.join("recipient");
    let server = Server {
        url: relays.board.url.clone(),
        ca_certificate: None,
        token: None,
    };
    let (mut wallet, setup) = relays.costs(async || {
        let mut chain = Chain::connect(&relays.node.url).await?;
        Wallet::create(&dir, &words, None, &server, &mut chain).await
    })?;
    let start = local.chain().await?.tip().await? + 1;
    make_a_day(&local, &wallet.address()?, &set, payments).await?;

    let key = viewing_key(&words)?.to_ivk(Scope::External).prepare();
    let (trial, trial_costs) = relays.costs(async || {
        let mut chain = Chain::connect(&relays.node.url).await?;
        let blocks = chain.blocks(start..start + DAY).await?;
        Ok(trial(&blocks, &key))
    })?;
    local.node.asked();
    let (received, fetch) = relays.costs(async || {
        let mut chain = Chain::connect(&relays.node.url).await?;
        wallet.receive(&mut chain).await
    })?;
    let asked = local.node.asked();
    for found in [trial.found, received.found.len() as u64] {
        if found != OWN {
            return Err(ZcashError::Measure {
                expected: OWN,
                found,
            });
        }
    }
    let board = Client::connect(&local.server.endpoint())?.board().await?;
    Ok(Figures {
        format: Figures::format(),
        build: build.to_owned(),
        date: Figures::today(),
        machine: Machine::here(&set),
        params: params.to_owned(),
        security_bits: set.spec().security_bits(),
        blocks: DAY,
        payments,
        actions: trial.actions,
        own: OWN,
        message_bytes: u64::from(board.clue_bytes + board.payload_bytes),
        fetched_blocks: asked.iter().map(|range| range.end - range.start).sum(),
        trial_us: 1e6 * trial.seconds / trial.actions as f64,
        trial: trial_costs,
        setup,
        fetch,
    })
}

/// Mines the blocks of a day with payments that are evenly distributed, and feeds them to the board.
async fn make_a_day(
    local: &Local,
    own: &PaymentAddress,
    set: &ParamSet,
    payments: u64,
) -> Result<(), ZcashError> {
    let stranger = Words::generate(&mut os_rng());
    let stranger = PaymentAddress::of_words(&stranger, set)?;
    let mut sender = local.sender().await?;
    for block in 0..DAY {
        for payment in payments * block / DAY..payments * (block + 1) / DAY {
            let is_own = (payment + 1) * OWN / payments > payment * OWN / payments;
            let to = if is_own { own } else { &stranger };
            sender.pay(to, 1_000, "").await?;
        }
        local.node.mine(1);
        if (block + 1).is_multiple_of(STEP) {
            local.bridge.step().await?;
        }
    }
    Ok(())
}

/// The result of a trial decryption.
struct Trial {
    actions: u64,
    found: u64,
    /// Seconds of processor time.
    seconds: f64,
}

/// Tries to decrypt all actions of blocks in one batch.
fn trial(blocks: &[CompactBlock], key: &orchard::keys::PreparedIncomingViewingKey) -> Trial {
    let start = seconds(ClockId::ThreadCPUTime);
    let transactions = blocks.iter().flat_map(|block| &block.vtx);
    let actions = transactions.flat_map(|transaction| &transaction.actions);
    let outputs: Vec<_> = actions
        .filter_map(parse)
        .map(|action| (OrchardDomain::for_compact_action(&action), action))
        .collect();
    let found = try_compact_note_decryption(std::slice::from_ref(key), &outputs);
    Trial {
        actions: outputs.len() as u64,
        found: found.iter().flatten().count() as u64,
        seconds: seconds(ClockId::ThreadCPUTime) - start,
    }
}

/// The relays between the recipient and the servers.
struct Relays {
    node: Relay,
    board: Relay,
}

impl Relays {
    /// Does a recipient's work on threads of its own, and returns its costs. What all other threads of the process do
    /// meanwhile is the servers' work.
    fn costs<T: Send>(
        &self,
        work: impl AsyncFnOnce() -> Result<T, ZcashError> + Send,
    ) -> Result<(T, Costs), ZcashError> {
        self.node.take();
        self.board.take();
        let start = Instant::now();
        let process = seconds(ClockId::ProcessCPUTime);
        let worked = std::thread::scope(|scope| scope.spawn(|| alone(work)).join());
        let (done, recipient_s) =
            worked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let costs = Costs {
            node: self.node.take(),
            board: self.board.take(),
            recipient_s,
            servers_s: seconds(ClockId::ProcessCPUTime) - process - recipient_s,
            elapsed_s: start.elapsed().as_secs_f64(),
        };
        Ok((done, costs))
    }
}

/// Does work on this new thread and on further threads of a runtime of its own. Returns the seconds of their processor time,
/// too.
fn alone<T>(work: impl AsyncFnOnce() -> Result<T, ZcashError>) -> Result<(T, f64), ZcashError> {
    let others_us = Arc::new(AtomicU64::new(0));
    let sum = others_us.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_stop(move || {
            let us = 1e6 * seconds(ClockId::ThreadCPUTime);
            sum.fetch_add(us as u64, Ordering::Relaxed);
        })
        .build()?;
    let done = runtime.block_on(work())?;
    drop(runtime);
    let others = others_us.load(Ordering::Relaxed) as f64 / 1e6;
    Ok((done, seconds(ClockId::ThreadCPUTime) + others))
}

/// Returns the seconds of a clock.
fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
