//! Work in the background.

use crate::shared::Shared;
use crate::status::Watched;
use omr_store::Expiry;
use std::sync::Arc;
use std::time::Duration;

/// The time between two updates of figures, and between two attempts to seal segments.
const LOOK: Duration = Duration::from_secs(5);
/// The time between two removals of old data.
const TIDY: Duration = Duration::from_secs(60);
/// The time after which an upload without any bytes is deleted.
const EMPTY_UPLOADS: Duration = Duration::from_secs(600);

/// Seals segments, updates figures and removes old data, until the server stops.
pub(crate) async fn chores(shared: Arc<Shared>, watched: Arc<Watched>) {
    let mut lengths = shared.store.lengths();
    let mut look = tokio::time::interval(LOOK);
    let mut tidy = tokio::time::interval(TIDY);
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            _ = stopping.changed() => return,
            changed = lengths.changed() => {
                if changed.is_err() {
                    return;
                }
                if let Some(sessions) = &shared.sessions {
                    sessions.wake();
                }
                if shared.orders.are_due() {
                    let shared = shared.clone();
                    run_chore(move || shared.orders.feed(&shared.jobs)).await;
                }
            }
            _ = look.tick() => {
                let (shared, watched) = (shared.clone(), watched.clone());
                run_chore(move || {
                    shared.jobs.look();
                    shared.orders.feed(&shared.jobs);
                    seal(&shared);
                    watched.look(&shared);
                })
                .await;
            }
            _ = tidy.tick() => {
                let shared = shared.clone();
                run_chore(move || throw_away(&shared)).await;
            }
        }
    }
}

async fn run_chore(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = tokio::task::spawn_blocking(work).await {
        tracing::error!(%error, "a chore died; please report it");
    }
}

fn seal(shared: &Shared) {
    if let Err(error) = shared.store.seal() {
        shared.damage.note(&error);
        tracing::warn!(%error, "segments wait to be sealed");
    }
}

/// Removes old messages, if the configuration has an age for that.
fn expire(shared: &Shared) {
    let days = shared.config.board.expire_days;
    if days == 0 {
        return;
    }
    let age = Duration::from_secs(days.saturating_mul(24 * 3600));
    match shared.store.expire(Expiry::OlderThan(age)) {
        Ok(expired) if expired.range.is_empty() => {}
        Ok(expired) => tracing::info!(
            messages = expired.range.end - expired.range.start,
            begins = expired.range.end,
            "old messages expired"
        ),
        Err(error) => {
            shared.damage.note(&error);
            tracing::warn!(%error, "old messages stay");
        }
    }
}

fn throw_away(shared: &Shared) {
    shared.jobs.tidy();
    shared.callers.tidy();
    let limits = &shared.config.limits;
    let hours = |hours: u64| Duration::from_secs(hours.saturating_mul(3600));
    shared.orders.tidy(limits.order_time());
    let mut open = shared.orders.keys();
    if let Some(sessions) = &shared.sessions {
        sessions.tidy(hours(limits.session_hours));
        open.extend(sessions.keys());
    }
    let unused = hours(limits.key_days.saturating_mul(24));
    shared.registrations.tidy(unused, &open);
    shared.metrics.keys(shared.registrations.len() as u64);
    shared
        .addresses
        .tidy(hours(limits.address_days.saturating_mul(24)));
    expire(shared);
    let old = hours(limits.upload_hours);
    let purged = shared.store.purge_uploads(old, EMPTY_UPLOADS);
    for swept in [purged, shared.store.sweep()] {
        if let Err(error) = swept {
            tracing::warn!(%error, "old files stay");
        }
    }
}
