//! The messages in a recipient's files: digests, scans, and answers to queries.

use super::Identity;
use crate::digest::Digest;
use crate::fault::{Fault, check_params};
use crate::rounds::{Asked, FetchAnswer, FetchQuery, Scan};
use omr_client::letter::Place;
use omr_client::letters::{Letters, Opened};
use omr_client::rounds::RoundsRecipient;
use omr_client::{Retrieved, decode, os_rng};
use omr_protocol::{Mismatch, ParamSet, Response, Sealing, hex};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::time::SystemTime;

/// A file that a recipient decodes.
#[derive(FromPyObject)]
pub(crate) enum File<'py> {
    Digest(Bound<'py, Digest>),
    Scan(Bound<'py, Scan>),
    Query(Bound<'py, FetchQuery>),
    Answer(Bound<'py, FetchAnswer>),
}

/// The files of a call, by their kinds. Answers belong to scans and queries of the call.
#[derive(Default)]
pub(super) struct Files<'a> {
    digests: Vec<&'a Digest>,
    scans: Vec<&'a Scan>,
    queries: Vec<&'a FetchQuery>,
    answers: Vec<&'a FetchAnswer>,
}

/// The messages of some files.
#[derive(Default)]
pub(super) struct Found {
    parts: Vec<Part>,
    /// The messages whose payloads do not match their checksums.
    unreadable: BTreeSet<u64>,
}

/// The messages of one file.
struct Part {
    place: Place,
    /// The number of messages whose opening takes as long as that of fewer.
    places: usize,
    has_payloads: bool,
    messages: Vec<Retrieved>,
}

impl<'a> Files<'a> {
    pub(super) fn new(files: &'a [File<'_>]) -> Self {
        let mut sorted = Self::default();
        for file in files {
            match file {
                File::Digest(digest) => sorted.digests.push(digest.get()),
                File::Scan(scan) => sorted.scans.push(scan.get()),
                File::Query(query) => sorted.queries.push(query.get()),
                File::Answer(answer) => sorted.answers.push(answer.get()),
            }
        }
        sorted
    }

    /// Returns the query of an answer.
    ///
    /// Errors: `LoneAnswer`.
    fn query(&self, answer: &FetchAnswer) -> Result<&'a FetchQuery, Fault> {
        let hash = omr_protocol::rounds::FetchQuery::hash;
        let mut queries = self.queries.iter().copied();
        let own = queries.find(|query| hash(&query.bytes) == answer.inner.query);
        own.ok_or(Fault::LoneAnswer("query"))
    }

    /// Returns whether only the detector vouches for some of the payloads.
    pub(super) fn are_unvouched(&self) -> bool {
        let of_digest = |digest: &&Digest| {
            let payloads = digest.response.request().payload_bytes.is_some();
            payloads && digest.response.sealing() == Sealing::None
        };
        let of_scan = |scan: &&Scan| {
            let payloads = scan.has_payloads() || !self.answers.is_empty();
            payloads && scan.scanned.header.sealing == Sealing::None
        };
        self.digests.iter().any(of_digest) || self.scans.iter().any(of_scan)
    }

    /// Checks that all digests and scans are of one board, and of the expected sealing.
    ///
    /// Errors: `OtherDigest`, `OtherSealing`.
    fn check(&self, expected: Option<Sealing>) -> Result<(), Fault> {
        let mut boards = Vec::new();
        for digest in &self.digests {
            boards.push((digest.response.board_id(), digest.response.sealing()));
        }
        for scan in &self.scans {
            boards.push((scan.scanned.header.board_id, scan.scanned.header.sealing));
        }
        for (board, sealing) in &boards {
            let (first, _) = &boards[0];
            if first != board {
                let ids = Mismatch::new(hex(first), hex(board));
                return Err(Fault::OtherDigest(ids));
            }
            if let Some(expected) = expected.filter(|expected| expected != sealing) {
                return Err(Fault::OtherSealing(Mismatch::new(expected, *sealing)));
            }
        }
        Ok(())
    }
}

impl Found {
    /// Returns all messages once, in the order of the board.
    pub(super) fn into_messages(self) -> Vec<Retrieved> {
        let mut messages: Vec<Retrieved> = self
            .parts
            .into_iter()
            .flat_map(|one| one.messages)
            .collect();
        // A message may be in several files, in some of them without its payload.
        messages.sort_by_key(|one| (one.index, one.payload.is_none()));
        messages.dedup_by_key(|one| one.index);
        messages
    }
}

impl Identity {
    /// Returns the opened letters of files of one board, and the messages whose payloads do not match their checksums.
    ///
    /// Errors: `OtherDigest`, `OtherSealing`; those of [`Self::found`].
    pub(super) fn opened(
        &self,
        files: &Files<'_>,
        sealing: Option<Sealing>,
    ) -> Result<(Opened, BTreeSet<u64>), Fault> {
        files.check(sealing)?;
        let found = self.found(files)?;
        let mut letters = Letters::default();
        if let Some(periods) = &self.periods {
            letters = letters.with_periods(periods.clone(), SystemTime::now());
        }
        for part in &found.parts {
            if part.has_payloads {
                let (place, places) = (&part.place, part.places);
                letters.open_at(&self.set, &self.secret, place, places, &part.messages);
            } else {
                letters.take(&part.messages);
            }
        }
        Ok((letters.finish(), found.unreadable))
    }

    /// Returns the messages in files. A message of a scan that an answer contains has the payload.
    ///
    /// Errors: `OtherParams`, `Decode`, `LoneAnswer`.
    pub(super) fn found(&self, files: &Files<'_>) -> Result<Found, Fault> {
        let mut found = Found::default();
        for digest in &files.digests {
            check_params(self.set.name(), digest.set.name())?;
            let messages = decode(&self.set, &self.secret, &digest.response)?;
            found
                .parts
                .push(Part::of(&self.set, &digest.response, messages));
        }
        for scan in &files.scans {
            check_params(self.set.name(), scan.set.name())?;
            let response = Response::Scan(scan.scanned.clone());
            let messages = decode(&self.set, &self.secret, &response)?;
            let mut part = Part::of(&self.set, &response, messages);
            if !scan.has_payloads() {
                part.has_payloads = false;
                self.fetched(scan, files, &mut part, &mut found)?;
            }
            found.parts.push(part);
        }
        for answer in &files.answers {
            let query = files.query(answer)?;
            let is_about = |scan: &&Scan| scan.scanned.header == query.header;
            if !files.scans.iter().any(is_about) {
                return Err(Fault::LoneAnswer("scan"));
            }
        }
        Ok(found)
    }

    /// Adds the messages of all answers about a scan, and takes them from those of the scan alone.
    ///
    /// Errors: `Params`, `Decode`, `LoneAnswer`.
    fn fetched(
        &self,
        scan: &Scan,
        files: &Files<'_>,
        of_scan: &mut Part,
        found: &mut Found,
    ) -> Result<(), Fault> {
        let header = &scan.scanned.header;
        let mut answers = Vec::new();
        for answer in &files.answers {
            let query = files.query(answer)?;
            if query.header == *header {
                answers.push((query, answer));
            }
        }
        if answers.is_empty() {
            return Ok(());
        }
        let recipient = RoundsRecipient::new(self.set.rounds()?, &self.secret);
        let indices: Vec<u64> = of_scan.messages.iter().map(|one| one.index).collect();
        for (query, answer) in answers {
            let asked = recipient.asked(&query.bytes, &indices)?;
            let fetched = recipient.fetched(&asked, &answer.bytes);
            let fetched = fetched.map_err(omr_client::DecodeError::from)?;
            let brought: BTreeSet<u64> = fetched.messages.iter().map(|one| one.index).collect();
            of_scan.messages.retain(|one| !brought.contains(&one.index));
            found.unreadable.extend(fetched.unreadable);
            found.parts.push(Part {
                place: of_scan.place.clone(),
                places: fetched.messages.len(),
                has_payloads: true,
                messages: fetched.messages,
            });
        }
        // A second query may have brought what the first did not.
        let is_missing = |index: &u64| of_scan.messages.iter().any(|one| one.index == *index);
        found.unreadable.retain(is_missing);
        Ok(())
    }

    /// Encrypts a query for the messages of a scan for which no earlier query asks.
    ///
    /// Errors: `OtherParams`, `Params`, `WholeScan`, `Decode`.
    pub(super) fn asked(&self, scan: &Scan, earlier: &[&FetchQuery]) -> Result<FetchQuery, Fault> {
        check_params(self.set.name(), scan.set.name())?;
        if scan.has_payloads() {
            return Err(Fault::WholeScan);
        }
        let recipient = RoundsRecipient::new(self.set.rounds()?, &self.secret);
        let (scanned, header) = (&scan.scanned, &scan.scanned.header);
        let indices = recipient.indices(scanned)?;
        let mut wanted = indices.clone();
        for query in earlier {
            check_params(self.set.name(), query.set.name())?;
            header.expect(&query.header)?;
            let before = recipient.asked(&query.bytes, &indices)?.indices();
            wanted.retain(|index| before.binary_search(index).is_err());
        }
        let asked = recipient.ask(header, &wanted, &mut os_rng())?;
        let indices = asked.indices();
        let left = wanted.len() - indices.len();
        let own = Asked { indices, left };
        Ok(FetchQuery::new(&self.set, asked.header, asked.query, own))
    }
}

impl Part {
    /// Returns the messages of a digest or a scan.
    fn of(set: &ParamSet, response: &Response, messages: Vec<Retrieved>) -> Self {
        let payload_bytes = response.request().payload_bytes;
        Self {
            place: Place {
                board_id: response.board_id(),
                params: set.name().to_owned(),
                sealing: response.sealing(),
                payload_bytes: payload_bytes.unwrap_or(0),
            },
            places: response.places(),
            has_payloads: payload_bytes.is_some(),
            messages,
        }
    }
}
