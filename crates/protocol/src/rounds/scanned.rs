//! The file of the first round.

use super::header::header_bytes;
use crate::frame::{self, FrameHeader, Kind, pack_bits, packed_len, unpack_bits};
use crate::rounds::{RoundsError, RoundsHeader, RoundsParams, RoundsPlan};
use omr_rounds::scan::{COORDINATES, ScanPart};

/// The kind of file in messages.
const WHAT: &str = "a scan";
/// The length in bytes of a fingerprint.
const FINGERPRINT_BYTES: usize = 4;

/// A detector's scan of a range: the encrypted distances of all messages. A scan of a short range also contains all
/// payloads ([`RoundsPlan::sends_all`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Scanned {
    /// The subject.
    pub header: RoundsHeader,
    /// For each section of the plan the distances, coordinate by coordinate.
    pub sections: Vec<Vec<ScanPart>>,
    /// The payloads of all messages, one after another; none in a scan of a longer range.
    pub payloads: Vec<u8>,
    /// The fingerprints of all messages' bound clues, if there are payloads.
    pub fingerprints: Vec<u32>,
}

impl Scanned {
    /// Returns the length in bytes of the file of a scan.
    ///
    /// Errors: `Plan`; `Seeds`.
    pub fn file_bytes(params: &RoundsParams, header: &RoundsHeader) -> Result<u64, RoundsError> {
        let plan = header.plan(params)?;
        let body = header_bytes(&plan) + rest_bytes(params, header, &plan);
        Ok(frame_header(params, header).file_len(body))
    }

    /// Returns the file.
    ///
    /// Errors: `Frame`.
    pub fn to_bytes(&self, params: &RoundsParams) -> Result<Vec<u8>, RoundsError> {
        let spec = params.scan.spec();
        let mut body = self.header.encode();
        for parts in &self.sections {
            for (c, part) in parts.iter().enumerate() {
                pack_bits(&part.mask, spec.mask_bits[c], &mut body);
                for row in &part.bodies {
                    pack_bits(row, spec.body_bits[c], &mut body);
                }
            }
        }
        body.extend(&self.payloads);
        body.extend(self.fingerprints.iter().flat_map(|x| x.to_le_bytes()));
        Ok(frame::write_frame_vec(
            &frame_header(params, &self.header),
            &body,
        )?)
    }

    /// Reads a scan's file.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Sealing`, `Clues`, `Plan`.
    pub fn from_bytes(params: &RoundsParams, bytes: &[u8]) -> Result<Self, RoundsError> {
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::Scan, 1 << 33)?;
        file.expect_params(params.name())?;
        let opened = RoundsHeader::decode(WHAT, params, file.key_id, &body)?;
        let (header, plan) = (&opened.header, &opened.plan);
        opened.check_rest(WHAT, rest_bytes(params, header, plan))?;
        let spec = params.scan.spec();
        let mut left = opened.rest;
        let mut row = |bits: u32| -> Result<Vec<u64>, RoundsError> {
            let length = packed_len(spec.n, bits).expect("rows fit memory");
            let (packed, after) = left.split_at(length);
            left = after;
            let mut residues = vec![0; spec.n];
            unpack_bits(packed, bits, &mut residues)?;
            Ok(residues)
        };
        let mut sections = Vec::with_capacity(plan.sections().len());
        for section in plan.sections() {
            let mut parts = Vec::with_capacity(COORDINATES);
            for c in 0..COORDINATES {
                let mask = row(spec.mask_bits[c])?;
                let bodies = section.groups.clone().map(|_| row(spec.body_bits[c]));
                parts.push(ScanPart {
                    mask,
                    bodies: bodies.collect::<Result<_, _>>()?,
                });
            }
            sections.push(parts);
        }
        let [payload_bytes, _] = all_bytes(header, plan);
        let (payloads, fingerprints) = left.split_at(payload_bytes);
        let fingerprint =
            |four: &[u8]| u32::from_le_bytes(four.try_into().expect("a chunk of four"));
        Ok(Self {
            sections,
            payloads: payloads.to_vec(),
            fingerprints: fingerprints
                .chunks_exact(FINGERPRINT_BYTES)
                .map(fingerprint)
                .collect(),
            header: opened.header,
        })
    }
}

fn frame_header(params: &RoundsParams, header: &RoundsHeader) -> FrameHeader {
    FrameHeader::new(Kind::Scan, params.name(), header.key_id)
}

/// Returns the lengths in bytes of the payloads and of the fingerprints in a scan.
fn all_bytes(header: &RoundsHeader, plan: &RoundsPlan) -> [usize; 2] {
    if !plan.sends_all() {
        return [0, 0];
    }
    let messages = (header.range.end - header.range.start) as usize;
    let fingerprints = match header.clues {
        crate::ClueKind::Plain => 0,
        crate::ClueKind::Bound => FINGERPRINT_BYTES,
    };
    [header.payload_bytes * messages, fingerprints * messages]
}

/// Returns the length in bytes of a scan behind its header.
fn rest_bytes(params: &RoundsParams, header: &RoundsHeader, plan: &RoundsPlan) -> u64 {
    let spec = params.scan.spec();
    let row = |bits: u32| packed_len(spec.n, bits).expect("rows fit memory") as u64;
    let of = |groups: u64, c: usize| row(spec.mask_bits[c]) + groups * row(spec.body_bits[c]);
    let section = |groups: usize| -> u64 { (0..COORDINATES).map(|c| of(groups as u64, c)).sum() };
    let parts = plan.sections().iter().map(|own| section(own.groups.len()));
    let [payloads, fingerprints] = all_bytes(header, plan);
    parts.sum::<u64>() + (payloads + fingerprints) as u64
}
