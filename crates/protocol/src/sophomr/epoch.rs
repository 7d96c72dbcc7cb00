//! The seed of masks that all recipients of a board have in common for a time.

/// A board and a time, whose recipients draw the masks of their detection keys up to the opened clues from one public
/// seed. A detector then serves them together.
///
/// Nobody chooses the seed: it is a hash of public labels. SECURITY.md says what sharing costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The board.
    pub board: [u8; 16],
    /// Counts the times in which one seed serves.
    pub number: u64,
}

impl Epoch {
    /// The seed of the masks of a parameter set's keys.
    #[must_use]
    pub fn masks(&self, set: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("omr shared masks v1");
        hasher.update(&self.board);
        hasher.update(&self.number.to_le_bytes());
        // Of any length: it comes last.
        hasher.update(set.as_bytes());
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::Epoch;

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
