//! Epochs, in which all recipients of a board share one seed of masks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Length of an epoch in days.
pub const EPOCH_DAYS: u64 = 91;

/// A board and a period of time. Its recipients derive the masks of their detection keys, for all stages up to the
/// opened clues, from one public seed; a detector can then run these stages for all of them together.
///
/// Nobody chooses the seed: it is a hash of public labels. docs/security/parameters.md describes the cost of sharing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The board.
    pub board: [u8; 16],
    /// Number of the period of [`EPOCH_DAYS`] since 1970 (UTC).
    pub number: u64,
}

impl Epoch {
    /// Returns the epoch of keys that are made at a time (1970 at the earliest). The maker's clock determines it, so
    /// nobody chooses it. If that clock is wrong, the key is processed alone.
    #[must_use]
    pub fn at(board: [u8; 16], time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self {
            board,
            number: since.as_secs() / (EPOCH_DAYS * 24 * 3600),
        }
    }

    /// Returns the seed of the masks of a parameter set's keys.
    #[must_use]
    pub fn masks(&self, set: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("omr shared masks v1");
        hasher.update(&self.board);
        hasher.update(&self.number.to_le_bytes());
        // The name has any length, so it comes last.
        hasher.update(set.as_bytes());
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{EPOCH_DAYS, Epoch};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn an_epoch_lasts_91_days() {
        let number = |time| Epoch::at([3; 16], time).number;
        let days = |days: u64| Duration::from_secs(days * 24 * 3600);
        assert_eq!(number(UNIX_EPOCH), 0);
        assert_eq!(
            number(UNIX_EPOCH - days(1)),
            0,
            "a clock that is far behind"
        );
        let first = UNIX_EPOCH + days(EPOCH_DAYS);
        assert_eq!(number(first - Duration::from_secs(1)), 0);
        assert_eq!(number(first), 1);
        // 1 January 2026, 20,454 days after 1970.
        assert_eq!(number(UNIX_EPOCH + days(20_454)), 224);
        assert_eq!(Epoch::at([3; 16], first).board, [3; 16]);
    }

    #[test]
    fn every_label_changes_the_seed() {
        let epoch = Epoch {
            board: [3; 16],
            number: 5,
        };
        let seed = epoch.masks("sophomr-v4");
        assert_eq!(seed, epoch.masks("sophomr-v4"));
        let next = Epoch { number: 6, ..epoch };
        let elsewhere = Epoch {
            board: [4; 16],
            ..epoch
        };
        for other in [
            next.masks("sophomr-v4"),
            elsewhere.masks("sophomr-v4"),
            epoch.masks("sophomr-v5"),
        ] {
            assert_ne!(seed, other);
        }
    }
}
