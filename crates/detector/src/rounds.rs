//! The detector of retrieval in two rounds: scans of ranges, prepared payloads, and answers to queries.

mod messages;
mod prepare;
mod scan;

pub use prepare::PreparedSection;
pub use scan::{ScanOutput, ScanRequest, scan};

use crate::DetectorError;
use crate::sophomr::TOGETHER;
use omr_protocol::DetectionKeyError;
use omr_protocol::rounds::{FetchAnswer, FetchQuery, RoundsHeader, RoundsKey, RoundsParams};
use omr_rounds::fetch::{Prepared, answer};
use std::io::Read;
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

    /// Answers a query of a range whose sections were prepared.
    ///
    /// Shape: `sections` are all sections of the query's range, in order.
    /// Errors: `Rounds` if the file is no query for this key and these sections.
    pub fn answer(
        &self,
        sections: &[&PreparedSection],
        query: &[u8],
    ) -> Result<FetchAnswer, DetectorError> {
        let params = &*self.params;
        let asked = FetchQuery::from_bytes(params, query)?;
        for section in sections {
            let of_section = RoundsHeader {
                key_id: self.key.id,
                board_id: section.board_id,
                payload_bytes: section.payload_bytes,
                clues: section.clues,
                seed: section.seed,
                ..asked.header.clone()
            };
            of_section.expect(&asked.header)?;
        }
        let plan = asked.header.plan(params)?;
        let expected = plan.sections().iter().map(|own| own.section);
        if !expected.eq(sections.iter().map(|section| section.section)) {
            return Err(DetectorError::NotPrepared {
                start: plan.range().start,
                end: plan.range().end,
            });
        }
        let prepared: Vec<&Prepared> = sections.iter().map(|own| &own.plaintexts).collect();
        let ciphertexts = answer(&params.fetch, &self.key.fetch, &asked.query, &prepared)
            .expect("the query has the rows of its range");
        Ok(FetchAnswer {
            header: asked.header,
            query: FetchQuery::hash(query),
            ciphertexts,
        })
    }
}

/// Returns the numbers of the detectors of each run, at most [`TOGETHER`] each.
fn served_together(detectors: &[&RoundsDetector]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, detector) in detectors.iter().enumerate() {
        let fits = |group: &&mut Vec<usize>| {
            group.len() < TOGETHER && detectors[group[0]].is_served_with(detector)
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    groups
}
