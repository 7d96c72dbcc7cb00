//! Scans, queries and answers of two rounds.

use super::{Answered, Content, Decoded, Reader, Received};
use crate::ask::Asking;
use crate::job::Job;
use crate::{InboxError, check_sealing};
use omr_client::letter::Place;
use omr_client::rounds::RoundsRecipient;
use omr_protocol::rounds::{RoundsHeader, Scanned};
use omr_protocol::{Mismatch, ParamsError};
use rand_core::CryptoRng;
use std::fmt::Display;

impl Reader {
    /// Prepares the secret for scans, and for the letters of a place, so that the first ones are read sooner. It can be
    /// called while a server works. It prepares nothing for a place whose letters are not read ([`check_sealing`]).
    ///
    /// Errors: those of the parameter set.
    pub fn prepare(&self, place: &Place) -> Result<(), ParamsError> {
        if place.board_id == self.board_id && check_sealing(self.sealing, place.sealing).is_ok() {
            self.letters(place);
        }
        self.recipient().map(drop)
    }

    /// Returns the secret prepared for two rounds.
    ///
    /// Errors: those of the parameter set.
    fn recipient(&self) -> Result<&RoundsRecipient, ParamsError> {
        let params = self.set.rounds()?;
        let prepared = || RoundsRecipient::new(params, &self.secret);
        Ok(self.rounds.get_or_init(prepared))
    }

    /// Returns the content of a scan: that of a digest if the scan has all payloads.
    pub(super) fn scan(&self, job: &Job, file: &[u8]) -> Content {
        let of = job.stride();
        self.read_scan(job, file)
            .unwrap_or_else(|reason| Content::Digest(Decoded::damaged(of, reason)))
    }

    /// Returns the content of a scan, or the reason why it cannot be read.
    fn read_scan(&self, job: &Job, file: &[u8]) -> Result<Content, String> {
        let recipient = self.recipient().map_err(reason)?;
        let params = self.set.rounds().map_err(reason)?;
        let scanned = Scanned::from_bytes(params, file).map_err(reason)?;
        let header = &scanned.header;
        if (header.board_id, &header.range) != (self.board_id, &(job.start..job.end)) {
            return Err("the scan answers another request".to_owned());
        }
        // The header is the server's statement: without this check it could pass off unsealed messages as letters.
        check_sealing(self.sealing, header.sealing).map_err(reason)?;
        let indices = recipient.indices(&scanned).map_err(reason)?;
        let payloads = recipient.payloads(&scanned, &indices).map_err(reason)?;
        let Some(retrieved) = payloads else {
            return Ok(Content::Scan(indices));
        };
        // Everybody could be asked for all messages of the range.
        let places = (header.range.end - header.range.start) as usize;
        let of = job.stride();
        Ok(Content::Digest(Decoded {
            found: self.opened(&of, &retrieved, &self.place(header), places),
            read: vec![(of, indices)],
            failed: Vec::new(),
        }))
    }

    /// Returns the indices of the recipient's messages in a scan without payloads; `None` if it has payloads or cannot be
    /// read. Which of these it is follows from the length of the range and from what the server wrote.
    pub(crate) fn indices(&self, job: &Job, file: &[u8]) -> Option<Vec<u64>> {
        match self.scan(job, file) {
            Content::Scan(indices) => Some(indices),
            _ => None,
        }
    }

    /// Returns the file of a query for the first messages of `wanted`, which lie in its range.
    ///
    /// Errors: `Params`; `OtherBoard`; `OtherSealing`, `Unsealed`; `Query`.
    pub(crate) fn query(
        &self,
        asking: &Asking,
        wanted: &[u64],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, InboxError> {
        let place = &asking.place;
        if place.board_id != self.board_id {
            let of = Mismatch::new(self.board_id, place.board_id);
            return Err(InboxError::OtherBoard(of));
        }
        check_sealing(self.sealing, place.sealing)?;
        let header = asking.header(self.secret.rounds_id(), self.secret.clues());
        let asked = self.recipient()?.ask(&header, wanted, rng);
        Ok(asked.map_err(InboxError::Query)?.query)
    }

    /// Returns the opened content of the answer to a query.
    pub(super) fn answer(&self, received: &Received) -> Answered {
        self.read_answer(received)
            .unwrap_or_else(|reason| Answered {
                damage: Some(reason),
                ..Answered::default()
            })
    }

    /// Returns the opened content of the answer to a query, or the reason why it cannot be read.
    fn read_answer(&self, received: &Received) -> Result<Answered, String> {
        let recipient = self.recipient().map_err(reason)?;
        let asked = recipient.asked(&received.query, &received.waiting);
        let asked = asked.map_err(reason)?;
        let fetched = recipient.fetched(&asked, &received.file).map_err(reason)?;
        let params = self.set.rounds().map_err(reason)?;
        let (buckets, of) = (params.fetch.spec().buckets, received.job.stride());
        let unreadable = fetched.unreadable.len();
        Ok(Answered {
            arrived: fetched.messages.iter().map(|one| one.index).collect(),
            found: self.opened(&of, &fetched.messages, &self.place(&asked.header), buckets),
            damage: (unreadable > 0).then(|| {
                format!(
                    "expected payloads that match their checksums, found {unreadable} that do not"
                )
            }),
        })
    }

    /// Returns the place of the letters of a scan or an answer.
    fn place(&self, header: &RoundsHeader) -> Place {
        Place {
            board_id: self.board_id,
            params: self.set.name().to_owned(),
            sealing: header.sealing,
            payload_bytes: header.payload_bytes,
        }
    }
}

fn reason(error: impl Display) -> String {
    error.to_string()
}
