//! The part of a parameter set for retrieval in two rounds.

use crate::params::{ClueParams, ParamsError, SetSpec, largest_log_pq, miss};
use crate::sophomr::ParamsSpec;
use omr_bgv::Plain;
use omr_opening::ClueNoise;
use omr_ring::Kernels;
use omr_rounds::fetch::{Fetch, FetchSpec};
use omr_rounds::scan::{COORDINATES, Scan, ScanSpec};
use std::sync::Arc;

/// The part of a parameter set for retrieval in two rounds, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundsSpec {
    /// The first round.
    pub scan: ScanSpec,
    /// The second round.
    pub fetch: FetchSpec,
}

/// A checked parameter set for retrieval in two rounds.
pub struct RoundsParams {
    name: &'static str,
    /// Parameters of the clues that the detector accepts.
    pub clue: Arc<ClueParams>,
    /// The first round.
    pub scan: Scan,
    /// The second round.
    pub fetch: Fetch,
}

impl RoundsParams {
    /// Returns the part of the published set of this name, on the best kernels of this CPU.
    ///
    /// Errors: `Unknown`; `NoEngine` if the set does not serve two rounds.
    pub fn named(name: &str) -> Result<Arc<Self>, ParamsError> {
        let made = Self::of(SetSpec::named(name)?, Kernels::detect())?;
        Ok(Arc::new(made))
    }

    /// Returns the part of a set.
    ///
    /// Errors: `NoEngine` if the set does not serve two rounds; those of [`Self::new`].
    pub(crate) fn of(set: SetSpec, kernels: &'static Kernels) -> Result<Self, ParamsError> {
        let rounds = set.rounds.clone().ok_or_else(|| ParamsError::NoEngine {
            name: set.name.to_owned(),
            expected: "retrieval in two rounds",
        })?;
        Self::new(&set.into_sophomr()?, rounds, kernels)
    }

    /// Checks a specification; clues and packing are those of `sophomr`.
    ///
    /// Errors: dimensions that do not fit each other; clues below 128 bits of security, unless the set is marked
    /// insecure; keys, queries or responses below that, with the same exception.
    pub fn new(
        sophomr: &ParamsSpec,
        rounds: RoundsSpec,
        kernels: &'static Kernels,
    ) -> Result<Self, ParamsError> {
        let plain = Plain::new(sophomr.p, sophomr.n, kernels)?;
        let (clue, packing) = (sophomr.clue_shape(), sophomr.opening.clone());
        let scan = Scan::new(clue, packing, &plain, rounds.scan, kernels)?;
        let fetch = Fetch::new(rounds.fetch, kernels)?;
        let clue = ClueParams::new(sophomr.name, sophomr.clue.clone(), kernels)?;
        let params = Self {
            name: sophomr.name,
            clue: Arc::new(clue),
            scan,
            fetch,
        };
        if !sophomr.insecure {
            params.check_keys()?;
        }
        Ok(params)
    }

    /// Checks the security of keys, queries and responses.
    ///
    /// Errors: `Insecure`.
    fn check_keys(&self) -> Result<(), ParamsError> {
        for (n, found) in self.key_moduli() {
            let limit = largest_log_pq(n, None);
            if found > limit {
                return Err(ParamsError::Insecure { n, limit, found });
            }
        }
        Ok(())
    }

    /// Returns the dimension and log2 of the largest modulus for each secret of two rounds besides that of packing: scans,
    /// queries and answers. The secrets are uniform ternary.
    pub fn key_moduli(&self) -> [(usize, f64); 3] {
        let (scan, fetch) = (self.scan.ring(), &self.fetch);
        let last = &fetch.final_ring;
        let queries = fetch.ring.log2(&fetch.shape.extended());
        [
            (scan.n(), scan.log2(&scan.everything())),
            (fetch.ring.n(), queries),
            (last.n(), last.log2(&last.everything())),
        ]
    }

    /// Returns log2 of the probability that a scan misses a pertinent message (union bound over both coordinates; saddle
    /// point of the noise of distances).
    pub fn miss_log2(&self) -> f64 {
        let [honest, _] = miss::mean_squares(self.clue.spec().n);
        self.miss_log2_among(honest)
    }

    /// Returns log2 of the probability that a scan misses a pertinent message if strangers fill the board with clues that
    /// have the longest accepted vectors.
    pub fn hostile_miss_log2(&self) -> f64 {
        let [_, longest] = miss::mean_squares(self.clue.spec().n);
        self.miss_log2_among(longest)
    }

    /// Returns log2 of the probability that the distance of an impertinent message lies within the limits of a scan.
    pub fn false_positive_log2(&self) -> f64 {
        (0..COORDINATES).map(|c| self.scan.window_log2(c)).sum()
    }

    /// Returns log2 of the probability that a scan misses a pertinent message, where `norm` is the mean square of the
    /// block's residues ([`miss::mean_squares`]).
    fn miss_log2_among(&self, norm: f64) -> f64 {
        let noise = self.scan.noise(0.0, norm);
        let mut missed = 0.0;
        for (c, normal) in noise.into_iter().enumerate() {
            // The one rounding is that of the body.
            let roundings = 1;
            let added = ClueNoise { normal, roundings };
            let steps = f64::from(self.scan.spec().body_bits[c]).exp2();
            let beyond = self.scan.beyond(c);
            missed += miss::packed(self.clue.spec(), &added, steps, beyond).exp2();
        }
        missed.log2()
    }

    /// Returns the set's versioned name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the residue b, in each coordinate, that stands for a message without a usable clue. With `a = 0` it is
    /// impertinent.
    pub fn nobody(&self) -> u32 {
        (self.clue.spec().modulus() / 2) as u32
    }
}
