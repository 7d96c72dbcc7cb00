//! The files that are decoded: digests, scans with payloads, and answers with their scans and queries.

use crate::commands::ask::read_scan;
use crate::commands::decode::Decode;
use crate::error::{CliError, InputError};
use crate::io::Framed;
use omr_client::letter::Place;
use omr_client::letters::Letters;
use omr_client::rounds::RoundsRecipient;
use omr_client::{DecodeError, Retrieved, SecretKey, decode};
use omr_console::Ui;
use omr_protocol::frame::Kind;
use omr_protocol::rounds::{FetchAnswer, FetchQuery, RoundsError, Scanned};
use omr_protocol::{ParamSet, Response, Scheme, Sealing};
use std::ops::Range;

/// The contents of a file.
pub(super) enum Contents {
    /// A digest, or a scan with payloads.
    Response(Box<Response>),
    /// An answer.
    Answer(Answered),
}

/// An answer with the files that it belongs to.
pub(super) struct Answered {
    scanned: Scanned,
    query: Vec<u8>,
    answer: Vec<u8>,
}

/// Checks that a query is about a scan.
///
/// Errors: those of reading it; `OtherScan`.
fn check_query(set: &ParamSet, scanned: &Scanned, query: &[u8]) -> Result<(), RoundsError> {
    let asked = FetchQuery::from_bytes(set.rounds()?, query)?;
    scanned.header.expect(&asked.header)
}

/// Checks that an answer is one to a query about a scan.
///
/// Errors: those of reading it; `OtherQuery`.
fn check_answer(
    set: &ParamSet,
    scanned: &Scanned,
    query: &[u8],
    answer: &[u8],
) -> Result<(), RoundsError> {
    let params = set.rounds()?;
    let read = FetchAnswer::from_bytes(params, answer)?;
    read.ciphertexts(params, &scanned.header, query)?;
    Ok(())
}

impl Contents {
    /// Reads a digest, a scan or an answer.
    ///
    /// Errors: `Input`.
    pub(super) fn read(args: &Decode, set: &ParamSet, file: Framed) -> Result<Self, CliError> {
        let (kind, path) = (file.header.kind, file.path().to_owned());
        let bytes = file.bytes()?;
        let on_file = |error: InputError| CliError::input(&path)(error);
        if kind != Kind::FetchAnswer {
            let read = Response::from_bytes(set, &bytes);
            let response = read.map_err(InputError::from).map_err(on_file)?;
            return match &response {
                Response::Scan(scan) if scan.payloads.is_empty() => {
                    Err(on_file(InputError::PlainScan))
                }
                _ => Ok(Self::Response(Box::new(response))),
            };
        }
        let (Some(scan), Some(query_path)) = (&args.scan, &args.query) else {
            return Err(on_file(InputError::LoneAnswer));
        };
        let scanned = read_scan(scan, set)?;
        let query = Framed::open(query_path, Kind::FetchQuery)?
            .bytes()?
            .to_vec();
        check_query(set, &scanned, &query)
            .map_err(|error| CliError::input(query_path)(error.into()))?;
        check_answer(set, &scanned, &query, &bytes).map_err(|error| on_file(error.into()))?;
        Ok(Self::Answer(Answered {
            scanned,
            query,
            answer: bytes.to_vec(),
        }))
    }

    pub(super) fn scheme(&self) -> Scheme {
        match self {
            Self::Response(response) => response.scheme(),
            Self::Answer(_) => Scheme::TwoRounds,
        }
    }

    pub(super) fn board_id(&self) -> [u8; 16] {
        match self {
            Self::Response(response) => response.board_id(),
            Self::Answer(answered) => answered.scanned.header.board_id,
        }
    }

    pub(super) fn sealing(&self) -> Sealing {
        match self {
            Self::Response(response) => response.sealing(),
            Self::Answer(answered) => answered.scanned.header.sealing,
        }
    }

    pub(super) fn range(&self) -> Range<u64> {
        match self {
            Self::Response(response) => response.request().range,
            Self::Answer(answered) => answered.scanned.header.range.clone(),
        }
    }

    pub(super) fn has_payloads(&self) -> bool {
        match self {
            Self::Response(response) => response.request().payload_bytes.is_some(),
            Self::Answer(_) => true,
        }
    }

    /// Returns the messages. Warns of those that an answer did not bring.
    ///
    /// Errors: those of decoding.
    pub(super) fn retrieve(
        &self,
        set: &ParamSet,
        secret: &SecretKey,
        ui: &Ui,
    ) -> Result<Vec<Retrieved>, DecodeError> {
        let answered = match self {
            Self::Response(response) => return decode(set, secret, response),
            Self::Answer(answered) => answered,
        };
        let recipient = RoundsRecipient::new(set.rounds()?, secret);
        let indices = recipient.indices(&answered.scanned)?;
        let asked = recipient.asked(&answered.query, &indices)?;
        let fetched = recipient.fetched(&asked, &answered.answer)?;
        if !fetched.unreadable.is_empty() {
            ui.warn(&format!(
                "payloads that do not match their checksums: {}; another query brings them",
                crate::commands::listed(&fetched.unreadable)
            ));
        }
        Ok(fetched.messages)
    }

    /// Opens payloads and adds them to letters.
    pub(super) fn open(
        &self,
        set: &ParamSet,
        secret: &SecretKey,
        retrieved: &[Retrieved],
        all: &mut Letters,
    ) {
        let answered = match self {
            Self::Response(response) => return all.open(set, secret, response, retrieved),
            Self::Answer(answered) => answered,
        };
        let header = &answered.scanned.header;
        let place = Place {
            board_id: header.board_id,
            params: set.name().to_owned(),
            sealing: header.sealing,
            payload_bytes: header.payload_bytes,
        };
        all.open_at(set, secret, &place, retrieved.len(), retrieved);
    }
}
