//! Trials with real processes: `omr-lab bench chaos`, `hostile`, `load`, `mail`, `ledger` and `inbox`.

use super::Output;
use crate::error::LabError;
use crate::trials::load::{Load, Progress};
use crate::trials::mail::Mail;
use crate::trials::{Branches, Chaos, Hostile, Kind, Listing, TrialError};
use clap::ValueEnum;

pub(super) fn chaos(chaos: &Chaos, out: &Output<'_>) -> Result<(), LabError> {
    let all = Kind::value_variants();
    let mut broken = 0;
    for &kind in chaos.only.as_ref().map_or(all, std::slice::from_ref) {
        out.ui.note(&format!("{kind:?}"));
        let outcome = chaos.run(kind)?;
        out.show(&outcome)?;
        broken += outcome.faults.len();
    }
    kept(broken)
}

pub(super) fn hostile(hostile: &Hostile, out: &Output<'_>) -> Result<(), LabError> {
    out.ui
        .note(&format!("{} s of hostile clients", hostile.seconds));
    let figures = hostile.run()?;
    out.show(&figures)?;
    kept(figures.faults.len())
}

pub(super) fn load(load: &Load, out: &Output<'_>) -> Result<(), LabError> {
    let figures = watched(out, |progress| load.run(progress))?;
    out.show(&figures)?;
    Ok(figures.verdict()?)
}

pub(super) fn mail(mail: &Mail, out: &Output<'_>) -> Result<(), LabError> {
    let figures = watched(out, |progress| mail.run(progress))?;
    out.show(&figures)?;
    Ok(figures.verdict()?)
}

pub(super) fn ledger(branches: &Branches, out: &Output<'_>) -> Result<(), LabError> {
    let figures = watched(out, |progress| branches.run(progress))?;
    out.show(&figures)?;
    Ok(figures.verdict()?)
}

pub(super) fn inbox(listing: &Listing, out: &Output<'_>) -> Result<(), LabError> {
    let figures = watched(out, |progress| listing.run(progress))?;
    out.show(&figures)
}

/// Runs a trial and shows a bar.
fn watched<T>(
    out: &Output<'_>,
    trial: impl FnOnce(&Progress<'_>) -> Result<T, TrialError>,
) -> Result<T, TrialError> {
    out.under_bar(|bar| trial(&|what, done, total| bar.at(what.to_owned(), done, total)))
}

fn kept(broken: usize) -> Result<(), LabError> {
    match broken {
        0 => Ok(()),
        faults => Err(TrialError::Broken(format!("{faults} promises did not hold")).into()),
    }
}
