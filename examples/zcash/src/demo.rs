//! The demonstration: payments, a reorganisation and a restored recipient, described line by line.

use crate::{Addresses, Local, Note, PaymentAddress, Wallet, ZcashError};
use omr_client::{Words, os_rng};
use omr_protocol::ParamSet;
use std::io::Write;
use std::path::Path;

/// The number of payments to others.
const OTHERS: usize = 10;
/// The number of blocks of half a day.
const HALF_A_DAY: usize = 576;

/// Runs the demonstration in an empty folder and writes a line about each step.
///
/// Errors: all of `ZcashError`.
pub async fn demo(folder: &Path, params: &str, out: &mut impl Write) -> Result<(), ZcashError> {
    let data = folder.join("server");
    let local = Local::start(&data, "regtest", params, &Addresses::FREE).await?;
    let mut chain = local.chain().await?;
    let start = chain.tip().await?;
    writeln!(
        out,
        "A fake node serves {} blocks.",
        start - chain.first().await? + 1
    )?;

    let words = Words::generate(&mut os_rng());
    let dir = folder.join("alice");
    let mut alice = Wallet::create(&dir, &words, None, &local.server, &mut chain).await?;
    let address = alice.address()?;
    let mut sender = local.sender().await?;
    let set = ParamSet::named(params).map_err(omr_mail::MailError::from)?;
    sender.pay(&address, 120_000, "rent").await?;
    for _ in 0..OTHERS {
        let stranger = Words::generate(&mut os_rng());
        let stranger = PaymentAddress::of_words(&stranger, &set)?;
        sender.pay(&stranger, 1_000, "").await?;
    }
    local.node.mine(HALF_A_DAY);
    let followed = local.bridge.step().await?;
    writeln!(
        out,
        "Bob pays Alice, others pay others; half a day later the board has {} more blocks.",
        followed.appended
    )?;
    receive(&mut alice, &mut chain, &local, out).await?;

    sender.pay(&address, 7_000, "coffee").await?;
    let tea = sender.pay(&address, 5_000, "tea").await?;
    local.node.mine(3);
    local.bridge.step().await?;
    writeln!(out, "Bob pays Alice twice more.")?;
    receive(&mut alice, &mut chain, &local, out).await?;

    local.node.reorganise(3, Some(tea.txid));
    let followed = local.bridge.step().await?;
    let withdrawn: u64 = followed
        .withdrawn
        .iter()
        .map(|one| one.end - one.start)
        .sum();
    writeln!(
        out,
        "The node takes another branch, without the tea; the board withdraws {withdrawn} messages."
    )?;
    receive(&mut alice, &mut chain, &local, out).await?;

    writeln!(
        out,
        "Alice loses her folder, and restores from 24 words and a birthday."
    )?;
    let dir = folder.join("restored");
    let birthday = Some(start + 1);
    let mut again = Wallet::create(&dir, &words, birthday, &local.server, &mut chain).await?;
    receive(&mut again, &mut chain, &local, out).await?;
    Ok(())
}

/// Fetches once and writes the notes that came.
async fn receive(
    alice: &mut Wallet,
    chain: &mut crate::Chain,
    local: &Local,
    out: &mut impl Write,
) -> Result<(), ZcashError> {
    local.node.asked();
    alice.receive(chain).await?;
    let asked = local.node.asked();
    let asked: Vec<String> = asked
        .iter()
        .map(|range| format!("{} to {}", range.start, range.end - 1))
        .collect();
    writeln!(out, "Alice asks the node for blocks {}.", asked.join(", "))?;
    let (here, gone) = alice.notes()?;
    for note in here {
        let Note {
            height,
            zatoshis,
            memo,
            output,
            ..
        } = note;
        writeln!(
            out,
            "  block {height}, output {output}: {zatoshis} zatoshis, {memo}"
        )?;
    }
    for Note { height, memo, .. } in gone {
        writeln!(out, "  withdrawn with its block {height}: {memo}")?;
    }
    Ok(())
}
