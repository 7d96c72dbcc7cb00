//! The part of a parameter set for retrieval in two rounds.

use crate::params::{ClueParams, ParamsError, SetSpec, dimension};
use crate::sophomr::ParamsSpec;
use omr_bgv::Plain;
use omr_ring::Kernels;
use omr_rounds::fetch::{Fetch, FetchSpec};
use omr_rounds::scan::{Scan, ScanSpec};
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
        let set = SetSpec::named(name)?;
        let rounds = set.rounds.clone().ok_or_else(|| ParamsError::NoEngine {
            name: name.to_owned(),
            expected: "retrieval in two rounds",
        })?;
        let made = Self::new(&set.into_sophomr()?, rounds, Kernels::detect())?;
        Ok(Arc::new(made))
    }

    /// Checks a specification; clues and packing are those of `sophomr`.
    ///
    /// Errors: dimensions that do not fit each other; clues below 128 bits of security, unless the set is marked
    /// insecure.
    pub fn new(
        sophomr: &ParamsSpec,
        rounds: RoundsSpec,
        kernels: &'static Kernels,
    ) -> Result<Self, ParamsError> {
        let plain = Plain::new(sophomr.p, sophomr.n, kernels)?;
        let (clue, packing) = (sophomr.clue_shape(), sophomr.opening.clone());
        let scan = Scan::new(clue, packing, &plain, rounds.scan, kernels)?;
        let fetch = Fetch::new(rounds.fetch, kernels)?;
        let places = fetch.spec().rows * fetch.positions() * fetch.spec().buckets;
        dimension(
            places > scan.section() * fetch.spec().choices,
            "rows with room for a section",
            fetch.spec().rows,
        )?;
        let clue = ClueParams::new(sophomr.name, sophomr.clue.clone(), kernels)?;
        Ok(Self {
            name: sophomr.name,
            clue: Arc::new(clue),
            scan,
            fetch,
        })
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
