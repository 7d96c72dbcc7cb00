//! The detector of retrieval in two rounds: scans of ranges, prepared payloads, and answers to queries.

mod cpu;
mod memory;
mod messages;
mod prepare;
mod scan;

pub use cpu::CpuEngine;
pub(crate) use memory::run_memory;
pub use prepare::PreparedPage;
pub use scan::{ScanOutput, ScanRequest, scan};

use crate::DetectorError;
use omr_protocol::DetectionKeyError;
use omr_protocol::rounds::{
    FetchAnswer, FetchQuery, RoundsHeader, RoundsKey, RoundsParams, RoundsPlan,
};
use omr_rounds::fetch::{KeyedQuery, Prepared, answer};
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

/// A recipient's key that is ready for both rounds.
pub struct RoundsDetector {
    params: Arc<RoundsParams>,
    key: RoundsKey,
}

impl RoundsDetector {
    /// Makes a detector of a key.
    #[must_use]
    pub fn new(params: Arc<RoundsParams>, key: RoundsKey) -> Self {
        Self { params, key }
    }

    /// Reads the file of a key to its end.
    ///
    /// Errors: those of [`RoundsKey::read`].
    pub fn load(params: &Arc<RoundsParams>, file: impl Read) -> Result<Self, DetectionKeyError> {
        let key = RoundsKey::read(params, file)?;
        Ok(Self::new(params.clone(), key))
    }

    /// Returns the parameters.
    #[must_use]
    pub fn params(&self) -> &Arc<RoundsParams> {
        &self.params
    }

    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &RoundsKey {
        &self.key
    }

    /// Returns whether one run can scan for both: their keys have one seed of masks and one kind of clues.
    #[must_use]
    pub fn is_served_with(&self, other: &Self) -> bool {
        self.params.name() == other.params.name()
            && self.key.clues == other.key.clues
            && self.key.masks == other.key.masks
    }

    /// Answers a query of a range whose pages were prepared.
    ///
    /// Shape: `pages` are all pages of the query's range, in order.
    /// Errors: `Rounds` if the file is no query for this key and these pages; `NotPrepared` for other pages.
    pub fn answer(
        &self,
        pages: &[&PreparedPage],
        query: &[u8],
    ) -> Result<FetchAnswer, DetectorError> {
        answer_together(&[self], pages, &[query]).remove(0)
    }

    /// Reads a query for this key and these pages.
    ///
    /// Errors: those of [`RoundsDetector::answer`].
    fn check(&self, pages: &[&PreparedPage], query: &[u8]) -> Result<FetchQuery, DetectorError> {
        let params = &*self.params;
        let asked = FetchQuery::from_bytes(params, query)?;
        let plan = asked.header.plan(params)?;
        let are_those = pages.iter().map(|own| own.page).eq(plan.pages());
        let [first, ..] = pages else {
            return Err(not_prepared(&plan));
        };
        if !are_those || pages.iter().any(|own| !own.is_beside(first)) {
            return Err(not_prepared(&plan));
        }
        let of_pages = RoundsHeader {
            key_id: self.key.id,
            board_id: first.board_id,
            payload_bytes: first.payload_bytes,
            clues: first.clues,
            seeds: pages.iter().map(|own| own.seed).collect(),
            ..asked.header.clone()
        };
        of_pages.expect(&asked.header)?;
        Ok(asked)
    }
}

/// Answers queries of several recipients, each for its detector: reads the prepared pages once for all of them. Each result
/// is that of [`RoundsDetector::answer`] for its query alone; a query of other pages is refused by itself.
///
/// Shape: `pages` are all pages of the queries' ranges, in order.
/// Panics: unless there are as many queries as detectors, of one parameter set.
pub fn answer_together(
    detectors: &[&RoundsDetector],
    pages: &[&PreparedPage],
    queries: &[&[u8]],
) -> Vec<Result<FetchAnswer, DetectorError>> {
    assert_eq!(detectors.len(), queries.len(), "a query for each detector");
    let [first, ..] = detectors else {
        return Vec::new();
    };
    let params = &*first.params;
    let (mut checked, mut asked) = (Vec::with_capacity(queries.len()), Vec::new());
    for (detector, query) in detectors.iter().zip(queries) {
        let name = detector.params.name();
        assert_eq!(name, params.name(), "detectors of one parameter set");
        checked.push(detector.check(pages, query));
    }
    for (detector, query) in detectors.iter().zip(&checked) {
        if let Ok(query) = query {
            asked.push(KeyedQuery {
                key: &detector.key.fetch,
                query: &query.query,
            });
        }
    }
    let prepared: Vec<&Prepared> = pages.iter().map(|own| &own.plaintexts).collect();
    let answers = answer(&params.fetch, &asked, &prepared);
    let mut answers = answers
        .expect("queries have the rows of their pages")
        .into_iter();
    let mut results = Vec::with_capacity(queries.len());
    for (query, file) in checked.into_iter().zip(queries) {
        results.push(query.and_then(|query| {
            let ciphertexts = answers.next().expect("an answer for each query");
            let hash = FetchQuery::hash(file);
            Ok(FetchAnswer::new(params, &query.header, hash, &ciphertexts)?)
        }));
    }
    results
}

fn not_prepared(plan: &RoundsPlan) -> DetectorError {
    let Range { start, end } = plan.range();
    DetectorError::NotPrepared { start, end }
}
