//! Parameters of LWE clues.

use super::Residues;
use super::noise::{false_positive_log2, miss_log2, noise};
use omr_protocol::ParamsError;
use omr_protocol::params::dimension;

/// How a clue is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LweKind {
    /// PVW: the sum of a random subset of public rows; secrets are uniform. `q/4` is added to b.
    Subset {
        /// Rows of the clue key; statistically hidden from `(n + coordinates) log2(q) + 256` on.
        rows: usize,
    },
    /// LWEmongrass: the same with fewer rows and errors, but for the last coordinates; secrets are ternary
    /// and, in these coordinates, uniform.
    Lwemongrass {
        /// Rows of the clue key.
        rows: usize,
        /// Coordinates with a uniform secret and without error.
        large: usize,
    },
    /// PerfOMR2: ring LWE modulo any `q`, whose products the detector does not reduce: a and b are lifted to
    /// `[-q/2, q/2)`. One ternary secret.
    Integers {
        /// Non-zero coefficients of the secret, and of the sender's randomness.
        weight: usize,
    },
}

/// An LWE clue: `n` residues a and a few residues b modulo `q`, unchecked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LweSpec {
    /// Dimension.
    pub n: usize,
    /// Modulus.
    pub q: u32,
    /// Parameter of the discrete Gaussian errors (0.5: true standard deviation 0.4637).
    pub sigma: f64,
    /// Coordinates of b.
    pub coordinates: usize,
    /// Pertinent: all distances in `[-range, range]`, modulo q.
    pub range: u32,
    /// How a clue is made.
    pub kind: LweKind,
}

impl LweSpec {
    /// Secrets: a vector for each coordinate, or one of a ring.
    pub fn secrets(&self) -> usize {
        match self.kind {
            LweKind::Integers { .. } => 1,
            _ => self.coordinates,
        }
    }

    /// log2 of the probability that a pertinent message is missed, over keys and clues.
    pub fn miss_log2(&self) -> f64 {
        miss_log2(&noise(self), self.range, self.coordinates)
    }

    /// log2 of the probability that an impertinent message passes.
    pub fn false_positive_log2(&self) -> f64 {
        false_positive_log2(self.q.into(), self.range, self.coordinates)
    }

    /// The largest distance in absolute value, over all clues and secrets; for integers the bound of the
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

/// A checked clue of an earlier scheme, with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct LweParams {
    name: &'static str,
    spec: LweSpec,
    residues: Residues,
}

impl LweParams {
    /// Checks a specification. For published ones see [`EarlierSet`](super::EarlierSet).
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

    /// The clue's versioned name; sets with the same clue share it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The specification.
    pub fn spec(&self) -> &LweSpec {
        &self.spec
    }

    /// Arithmetic modulo q.
    pub fn residues(&self) -> &Residues {
        &self.residues
    }

    /// Four bytes that stand for the name in clues.
    pub fn tag(&self) -> [u8; 4] {
        let hash = blake3::derive_key("omr params tag v1", self.name.as_bytes());
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// What senders add to every coordinate of b: `floor(q / 4)`, or 0 for ring LWE.
    pub fn offset(&self) -> u32 {
        match self.spec.kind {
            LweKind::Integers { .. } => 0,
            _ => self.spec.q / 4,
        }
    }

    /// Rows of the clue key's public matrix; one, the ring's alpha, for integers.
    pub fn rows(&self) -> usize {
        match self.spec.kind {
            LweKind::Subset { rows } | LweKind::Lwemongrass { rows, .. } => rows,
            LweKind::Integers { .. } => 1,
        }
    }

    /// Coefficients of a secret: one vector for each coordinate, one in all for integers.
    pub fn secret_coefficients(&self) -> usize {
        self.spec.n * self.spec.secrets()
    }

    /// Whether a message at these distances is pertinent. Time: constant.
    pub fn accepts(&self, distances: &[i64]) -> bool {
        let range = i64::from(self.spec.range);
        let inside = |&d: &i64| {
            let d = self.residues.centered(self.residues.reduce_signed(d));
            (-range..=range).contains(&d)
        };
        distances.iter().fold(true, |all, d| all & inside(d))
    }
}
