//! The health checks of the status page.

use super::in_use::disk_free;
use crate::shared::Shared;
use omr_ops::{Check, Health};

/// The free space below which the disk counts as nearly full: an hour of posts at full speed.
const LITTLE_DISK: u64 = 16 << 30;

pub(super) fn health(shared: &Shared) -> Health {
    let stopping = *shared.stopping.borrow();
    let serving = if stopping {
        "stopping"
    } else {
        "open to requests"
    };
    let mut checks = vec![check("serving", !stopping, serving.into())];
    if let Some(free) = disk_free(shared) {
        let found = format!("{:.1} GB left", free as f64 / 1e9);
        checks.push(check("disk", free >= LITTLE_DISK, found));
    }
    if let Some(shortage) = shared.jobs.shortage() {
        checks.push(check("memory", false, shortage.into()));
    }
    let damage = shared.damage.summary();
    let good = damage.is_none();
    let found = damage.unwrap_or_else(|| "no damage found".into());
    checks.push(check("storage", good, found));
    Health::of(checks)
}

fn check(name: &str, good: bool, found: String) -> Check {
    Check {
        name: name.into(),
        good,
        found,
    }
}
