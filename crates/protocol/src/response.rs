//! A response of any scheme: a file with one or two digests, or a scan.

use crate::frame::{self, FrameError, FrameHeader, Kind, Opened};
use crate::instantomr::InstantDigest;
use crate::rounds::Scanned;
use crate::sophomr::Digest;
use crate::{DigestError, ParamSet, Request, Scheme, Sealing};
use omr_errors::Mismatch;

/// A detector's response.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// A digest of SophOMR or SophOMD.
    Sophomr(Digest),
    /// A digest of InstantOMR or InstantOMD.
    Instantomr(InstantDigest),
    /// A digest of full batches by SophOMR, and one of the remaining messages by InstantOMR.
    Hybrid(Digest, InstantDigest),
    /// The first of two rounds.
    Scan(Scanned),
}

/// The number of payloads in a scan whose opening takes the same time as fewer.
const SCAN_PLACES: usize = 64;

impl Response {
    /// Joins digests of consecutive ranges, in the order of the board, to one response. Returns `None` if no scheme has
    /// this combination.
    #[must_use]
    pub fn joined(digests: Vec<Self>) -> Option<Self> {
        let mut rest = digests.into_iter();
        match (rest.next()?, rest.next(), rest.next()) {
            (one, None, _) => Some(one),
            (Self::Sophomr(batches), Some(Self::Instantomr(instantomr)), None) => {
                Some(Self::Hybrid(batches, instantomr))
            }
            _ => None,
        }
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> Scheme {
        match self {
            Self::Sophomr(digest) => Scheme::sophomr(digest.header.plan.payload_bytes().is_some()),
            Self::Instantomr(digest) => digest.header.plan.scheme(),
            Self::Hybrid(..) => Scheme::Hybrid,
            Self::Scan(_) => Scheme::TwoRounds,
        }
    }

    /// Returns the range of messages, the bound and the payload size, over both digests if there are two. A scan has no
    /// bound, which is 0.
    pub fn request(&self) -> Request {
        match self {
            Self::Sophomr(digest) => digest.header.plan.request().clone(),
            Self::Instantomr(digest) => digest.header.plan.request().clone(),
            Self::Hybrid(sophomr, instantomr) => {
                let mut request = sophomr.header.plan.request().clone();
                request.range.end = instantomr.header.plan.range().end;
                request
            }
            Self::Scan(scan) => {
                let header = &scan.header;
                Request::new(header.range.clone(), 0, Some(header.payload_bytes))
            }
        }
    }

    /// Returns whether payloads come with fingerprints of their clues.
    pub fn has_fingerprints(&self) -> bool {
        match self {
            Self::Sophomr(digest) | Self::Hybrid(digest, _) => {
                digest.header.plan.has_fingerprints()
            }
            Self::Instantomr(digest) => digest.header.plan.has_fingerprints(),
            Self::Scan(scan) => !scan.fingerprints.is_empty(),
        }
    }

    /// Returns the number of messages whose opening takes as long as that of fewer: the sum of the bounds of all
    /// groups. A scan with payloads has room for more than that.
    pub fn places(&self) -> usize {
        let sophomr = |digest: &Digest| digest.header.plan.groups() * digest.header.plan.bound();
        let instantomr =
            |digest: &InstantDigest| digest.header.plan.groups() * digest.header.plan.bound();
        match self {
            Self::Sophomr(digest) => sophomr(digest),
            Self::Instantomr(digest) => instantomr(digest),
            Self::Hybrid(first, second) => sophomr(first) + instantomr(second),
            Self::Scan(scan) if scan.payloads.is_empty() => 0,
            Self::Scan(_) => SCAN_PLACES,
        }
    }

    /// Returns the id of the board whose messages the response covers.
    pub fn board_id(&self) -> [u8; 16] {
        match self {
            Self::Sophomr(digest) | Self::Hybrid(digest, _) => digest.header.board_id,
            Self::Instantomr(digest) => digest.header.board_id,
            Self::Scan(scan) => scan.header.board_id,
        }
    }

    /// Returns the sealing of the board's payloads.
    pub fn sealing(&self) -> Sealing {
        match self {
            Self::Sophomr(digest) | Self::Hybrid(digest, _) => digest.header.sealing,
            Self::Instantomr(digest) => digest.header.sealing,
            Self::Scan(scan) => scan.header.sealing,
        }
    }

    /// Returns the file: that of the digest or of the scan, or, for two digests, a frame with the scheme's number, the
    /// length of the first file and both files.
    pub fn to_bytes(&self, set: &ParamSet) -> Result<Vec<u8>, DigestError> {
        let (sophomr, instantomr) = match self {
            Self::Sophomr(digest) => return digest.to_bytes(set.sophomr_recipient()?),
            Self::Instantomr(digest) => return digest.to_bytes(set.instantomr()?),
            Self::Scan(scan) => return Ok(scan.to_bytes(set.rounds()?)?),
            Self::Hybrid(sophomr, instantomr) => (sophomr, instantomr),
        };
        let first = sophomr.to_bytes(set.sophomr_recipient()?)?;
        let mut body = vec![Scheme::Hybrid.tag()];
        body.extend((first.len() as u64).to_le_bytes());
        body.extend(first);
        body.extend(instantomr.to_bytes(set.instantomr()?)?);
        let header = FrameHeader::new(Kind::Digest, set.name(), sophomr.header.key_id);
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads a response's file.
    ///
    /// Errors: those of the digests and of the scan; `Params` if the set lacks an engine; `Parts` if two digests do not
    /// follow one another.
    pub fn from_bytes(set: &ParamSet, bytes: &[u8]) -> Result<Self, DigestError> {
        let opened = Opened::new::<FrameError>(bytes, &[Kind::Digest, Kind::Scan])?;
        if opened.header.kind == Kind::Scan {
            return Ok(Self::Scan(Scanned::from_bytes(set.rounds()?, bytes)?));
        }
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::Digest, 1 << 33)?;
        file.expect_params(set.name())?;
        match crate::digest::scheme_of(*body.first().unwrap_or(&0))?.0 {
            Scheme::Sophomr | Scheme::Sophomd => {
                let digest = Digest::from_body(set.sophomr_recipient()?, file.key_id, &body)?;
                Ok(Self::Sophomr(digest))
            }
            Scheme::Hybrid => Self::both(set, &body[1..]),
            _ => {
                let digest = InstantDigest::from_body(set.instantomr()?, file.key_id, &body)?;
                Ok(Self::Instantomr(digest))
            }
        }
    }

    fn both(set: &ParamSet, body: &[u8]) -> Result<Self, DigestError> {
        let short = || DigestError::Length(Mismatch::new(8, body.len() as u64));
        let (length_bytes, rest) = body.split_first_chunk::<8>().ok_or_else(short)?;
        let length = u64::from_le_bytes(*length_bytes);
        let split = usize::try_from(length)
            .ok()
            .and_then(|at| rest.split_at_checked(at));
        let (first, second) = split.ok_or(DigestError::Length(Mismatch::new(
            length,
            rest.len() as u64,
        )))?;
        let sophomr = Digest::from_bytes(set.sophomr_recipient()?, first)?;
        let instantomr = InstantDigest::from_bytes(set.instantomr()?, second)?;
        let follows = sophomr.header.plan.range().end == instantomr.header.plan.range().start
            && sophomr.header.board_id == instantomr.header.board_id
            && sophomr.header.sealing == instantomr.header.sealing
            && sophomr.header.plan.payload_bytes() == instantomr.header.plan.payload_bytes()
            && sophomr.header.plan.has_fingerprints() == instantomr.header.plan.has_fingerprints();
        if follows {
            Ok(Self::Hybrid(sophomr, instantomr))
        } else {
            Err(DigestError::Parts)
        }
    }
}
