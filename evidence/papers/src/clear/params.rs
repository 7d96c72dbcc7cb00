//! Parameters of LWE clues.

use super::Residues;
use super::noise::{false_positive_log2, miss_log2, noise};
use omr_protocol::ParamsError;
use omr_protocol::params::dimension;

/// The construction of an LWE clue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LweKind {
    /// PVW: the sum of a random subset of public rows. Secrets are uniform. Senders add `q/4` to b.
    Subset {
        /// The number of rows of the clue key. From `(n + coordinates) log2(q) + 256` rows on, the subset is
        /// statistically hidden.
        rows: usize,
    },
    /// LWEmongrass: like PVW with fewer rows, and with errors on all coordinates but the last ones. Secrets are
    /// uniform in these last coordinates and ternary in the others.
    Lwemongrass {
        /// The number of rows of the clue key.
        rows: usize,
        /// The number of coordinates with a uniform secret and without errors.
        large: usize,
    },
    /// PerfOMR2: ring LWE modulo any `q`. The detector lifts a and b to `[-q/2, q/2)` and does not reduce their
    /// products. There is one ternary secret.
    Integers {
        /// The number of non-zero coefficients of the secret, and of the sender's randomness.
        weight: usize,
    },
}

/// Parameters of an LWE clue, unchecked. A clue consists of `n` residues a and a few residues b modulo `q`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LweSpec {
    /// The dimension: the number of residues a.
    pub n: usize,
    /// The modulus.
    pub q: u32,
    /// The parameter of the discrete Gaussian errors; 0.5 has the true standard deviation 0.4637.
    pub sigma: f64,
    /// The number of residues b.
    pub coordinates: usize,
    /// A message is pertinent if all its distances, modulo q, are in `[-range, range]`.
    pub range: u32,
    /// The construction of the clue.
    pub kind: LweKind,
}

impl LweSpec {
    /// Returns the number of secrets: 1 for integers, else one vector for each coordinate.
    pub fn secrets(&self) -> usize {
        match self.kind {
            LweKind::Integers { .. } => 1,
            _ => self.coordinates,
        }
    }

    /// Returns log2 of the probability that a pertinent message is missed, over keys and clues.
    pub fn miss_log2(&self) -> f64 {
        miss_log2(&noise(self), self.range, self.coordinates)
    }

    /// Returns log2 of the probability that an impertinent message passes.
    pub fn false_positive_log2(&self) -> f64 {
        false_positive_log2(self.q.into(), self.range, self.coordinates)
    }

    /// Returns the largest absolute value of a distance, over all clues and secrets. For integers it bounds the
    /// polynomial that decides.
    pub fn largest_distance(&self) -> i64 {
        let half = i64::from(self.q / 2);
        match self.kind {
            LweKind::Integers { weight } => half * (weight as i64 + 1),
            _ => half,
        }
    }

    fn check(&self) -> Result<(), ParamsError> {
        let (q, n) = (self.q, self.n);
        let moduli = 3..Residues::LIMIT;
        dimension(
            moduli.contains(&q),
            "a modulus of 3 to 2^24 - 1",
            q as usize,
        )?;
        let dimensions = 1..=1 << 13;
        dimension(dimensions.contains(&n), "1 to 2^13 coordinates of a", n)?;
        let coordinates = self.coordinates;
        let fits = (1..=n.min(64)).contains(&coordinates);
        dimension(
            fits,
            "1 to 64 coordinates of b, at most as many as of a",
            coordinates,
        )?;
        let window = 2 * self.range as usize;
        dimension(window < q as usize, "a window below the modulus", window)?;
        match self.kind {
            LweKind::Subset { rows } => dimension((1..=1 << 20).contains(&rows), ROWS, rows),
            LweKind::Lwemongrass { rows, large } => {
                dimension((1..=1 << 20).contains(&rows), ROWS, rows)?;
                dimension(
                    (1..n).contains(&large),
                    "1 to n - 1 uniform coordinates",
                    large,
                )
            }
            LweKind::Integers { weight } => {
                dimension(n.is_power_of_two(), "a power of two", n)?;
                dimension((1..=n).contains(&weight), "a weight of 1 to n", weight)
            }
        }
    }
}

const ROWS: &str = "1 to 2^20 rows";

/// A checked LWE clue with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct LweParams {
    name: &'static str,
    spec: LweSpec,
    residues: Residues,
}

impl LweParams {
    /// Checks a specification. [`PaperSet`](super::PaperSet) contains the published ones.
    ///
    /// Errors: `Dimension`.
    pub fn new(name: &'static str, spec: LweSpec) -> Result<Self, ParamsError> {
        spec.check()?;
        Ok(Self {
            name,
            spec,
            residues: Residues::new(spec.q),
        })
    }

    /// Returns the clue's versioned name. Sets with equal clues share it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the specification.
    pub fn spec(&self) -> &LweSpec {
        &self.spec
    }

    /// Returns the arithmetic modulo q.
    pub fn residues(&self) -> &Residues {
        &self.residues
    }

    /// Returns the four bytes that represent the name in clues.
    pub fn tag(&self) -> [u8; 4] {
        let hash = blake3::derive_key("omr params tag v1", self.name.as_bytes());
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// Returns the residue that senders add to every coordinate of b: `floor(q / 4)`, or 0 for ring LWE.
    pub fn offset(&self) -> u32 {
        match self.spec.kind {
            LweKind::Integers { .. } => 0,
            _ => self.spec.q / 4,
        }
    }

    /// Returns the number of rows of the clue key's public matrix; for integers 1, the ring element alpha.
    pub fn rows(&self) -> usize {
        match self.spec.kind {
            LweKind::Subset { rows } | LweKind::Lwemongrass { rows, .. } => rows,
            LweKind::Integers { .. } => 1,
        }
    }

    /// Returns the number of coefficients of all secrets together: `n` for integers, else `n` for each
    /// coordinate.
    pub fn secret_coefficients(&self) -> usize {
        self.spec.n * self.spec.secrets()
    }

    /// Returns whether a message with these distances is pertinent. Time: constant.
    pub fn accepts(&self, distances: &[i64]) -> bool {
        let range = i64::from(self.spec.range);
        let inside = |&d: &i64| {
            let d = self.residues.centered(self.residues.reduce_signed(d));
            (-range..=range).contains(&d)
        };
        distances.iter().fold(true, |all, d| all & inside(d))
    }
}
