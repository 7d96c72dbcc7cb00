//! Partial digests: the packed sums of some batches of a digest, which are added to the sums of all others.
//!
//! A frame of kind 16 with the digest's key id. Its body is
//!
//! ```text
//! bytes   field
//! 74      header of the whole digest
//! 4       u32 number of ranges of batches, at least 1
//! 8 each  first batch and one past the last, u32 each, counted from 0 over all groups, in ascending order with a gap
//!         between two ranges
//!         for each group with batches in a range, ascending, and each part of a group: body and mask of the packed
//!         ciphertext in the small ring, rows as in `key.rs`
//! ```

use super::{Digest, DigestPlan, Params};
use crate::digest::FIXED_BYTES;
use crate::frame::{self, FrameHeader, Kind};
use crate::key_file::{read_poly, row_bytes, write_poly};
use crate::{DetectionKeyError, DigestError, DigestHeader, Scheme, hex};
use omr_errors::Mismatch;
use omr_rlwe::Rlwe;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// An error of partial digests that do not belong together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartialError {
    /// The two parts belong to different digests.
    #[error("expected a part of the digest with {what} {}, found one with {}", .of.expected, .of.found)]
    Other {
        /// The property in which they differ.
        what: &'static str,
        /// The values of the property.
        of: Mismatch<String>,
    },
    /// Both parts cover this batch.
    #[error("expected parts that share no batch, found batch {0} in both")]
    Overlap(usize),
    /// No part covers this batch.
    #[error("expected parts of all {batches} batches, found none of batch {batch}")]
    Missing {
        /// The first missing batch.
        batch: usize,
        /// Number of batches of the digest.
        batches: usize,
    },
    /// The batches are not all of the digest, or not in order.
    #[error("expected batches of {} in order, found {}..{}", .0.expected, .0.found.start, .0.found.end)]
    Batches(Mismatch<usize, Range<usize>>),
    /// The header is wrong.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// A residue is not below its prime.
    #[error("expected residues of sums below {}, found {}", .0.expected, .0.found)]
    Residue(Mismatch<u64>),
    /// The frame of the file is wrong.
    #[error(transparent)]
    Frame(#[from] frame::FrameError),
}

/// The packed sums of some batches of a digest, in the small ring. The sums of disjoint batches, added in any order,
/// are those of the whole digest. Every batch is packed separately, so the digest's bytes do not depend on how it was
/// split.
#[derive(Clone, Debug)]
pub struct Partial {
    header: DigestHeader,
    /// The covered batches as ascending ranges with gaps between them.
    batches: Vec<Range<usize>>,
    /// For each group with covered batches, one ciphertext for each part of the group.
    sums: BTreeMap<usize, Vec<Rlwe>>,
}

impl Partial {
    /// Makes the partial digest with the sums of `batches`, group by group.
    ///
    /// Panics: if there are no batches, or if `sums` does not have exactly the groups of these batches.
    pub fn new(
        header: DigestHeader,
        batches: Range<usize>,
        sums: BTreeMap<usize, Vec<Rlwe>>,
    ) -> Self {
        let ranges = vec![batches];
        let groups = groups_of(&header.plan, &ranges);
        let parts = header.plan.sums().parts();
        assert!(sums.keys().eq(&groups), "the sums of all groups");
        assert!(sums.values().all(|group| group.len() == parts), "all parts");
        Self {
            header,
            batches: ranges,
            sums,
        }
    }

    /// Returns the header of the digest.
    pub fn header(&self) -> &DigestHeader {
        &self.header
    }

    /// Returns the covered batches, in ascending order.
    pub fn batches(&self) -> &[Range<usize>] {
        &self.batches
    }

    /// Returns the sums of each group with covered batches.
    pub fn sums(&self) -> &BTreeMap<usize, Vec<Rlwe>> {
        &self.sums
    }

    /// Checks that all batches are covered.
    ///
    /// Errors: `Missing`.
    pub fn check_complete(&self) -> Result<(), PartialError> {
        let batches = self.header.plan.batches();
        let first = self.batches.first().filter(|range| range.start == 0);
        match first.map_or(0, |range| range.end) {
            end if end == batches => Ok(()),
            batch => Err(PartialError::Missing { batch, batches }),
        }
    }

    /// Adds another part of the digest.
    ///
    /// Errors: `Other`, `Overlap`; nothing is added then.
    pub fn merge(&mut self, params: &Params, other: &Self) -> Result<(), PartialError> {
        self.check_same(other)?;
        let batches = merged(&self.batches, &other.batches)?;
        let ring = &params.small;
        for (&group, theirs) in &other.sums {
            let Some(own) = self.sums.get_mut(&group) else {
                self.sums.insert(group, theirs.clone());
                continue;
            };
            for (own, theirs) in own.iter_mut().zip(theirs) {
                own.add_assign(ring, theirs);
            }
        }
        self.batches = batches;
        Ok(())
    }

    /// Checks that both parts belong to one digest.
    ///
    /// Errors: `Other`.
    fn check_same(&self, other: &Self) -> Result<(), PartialError> {
        let properties = |header: &DigestHeader| {
            let (plan, range) = (&header.plan, header.plan.range());
            [
                ("key", hex(&header.key_id)),
                ("board", hex(&header.board_id)),
                ("messages", format!("{}..{}", range.start, range.end)),
                ("bound", plan.bound().to_string()),
                (
                    "payload bytes",
                    plan.payload_bytes().unwrap_or(0).to_string(),
                ),
                ("fingerprints", plan.has_fingerprints().to_string()),
                ("sealing", header.sealing.to_string()),
                ("seed", hex(&header.seed)),
            ]
        };
        for ((what, expected), (_, found)) in properties(&self.header)
            .into_iter()
            .zip(properties(&other.header))
        {
            if expected != found {
                let of = Mismatch::new(expected, found);
                return Err(PartialError::Other { what, of });
            }
        }
        Ok(())
    }

    /// Returns the file: the header of a digest, `u32` number of ranges of batches, each range as two `u32`, then the
    /// ciphertexts of every group with covered batches, body and mask with their exact number of bits.
    ///
    /// Errors: those of the frame.
    pub fn to_bytes(&self, params: &Params) -> Result<Vec<u8>, PartialError> {
        let request = self.header.plan.request();
        let scheme = Scheme::sophomr(request.payload_bytes.is_some());
        let fingerprints = self.header.plan.has_fingerprints();
        let mut body = self.header.encode(scheme, fingerprints, request);
        body.extend((self.batches.len() as u32).to_le_bytes());
        for range in &self.batches {
            body.extend((range.start as u32).to_le_bytes());
            body.extend((range.end as u32).to_le_bytes());
        }
        for sums in self.sums.values().flatten() {
            for poly in [&sums.c0, &sums.c1] {
                write_poly(&params.small, poly, &mut body).map_err(frame::FrameError::from)?;
            }
        }
        let header = FrameHeader::new(Kind::Partial, params.name(), self.header.key_id);
        Ok(frame::write_frame_vec(&header, &body)?)
    }

    /// Reads the file of a partial digest.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Digest`, `Batches`, `Residue`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, PartialError> {
        let (file, body) = frame::read_frame(&mut &bytes[..], Kind::Partial, 1 << 33)?;
        file.expect_params(params.name())?;
        let header = Digest::header_of(params, file.key_id, &body)?;
        let mut rest = &body[FIXED_BYTES..];
        let batches = read_batches(&header.plan, body.len(), &mut rest)?;
        let groups = groups_of(&header.plan, &batches);
        let (parts, basis) = (header.plan.sums().parts(), params.small_basis());
        let row = |&id: &usize| row_bytes(&params.small, id);
        let poly_bytes: usize = basis.ids().iter().map(row).sum();
        let expected = groups.len() as u64 * parts as u64 * 2 * poly_bytes as u64;
        if rest.len() as u64 != expected {
            let before = (body.len() - rest.len()) as u64;
            return Err(length(before + expected, body.len()));
        }
        let mut poly = || read_poly(&params.small, &basis, &mut rest).map_err(residue);
        let mut sums = BTreeMap::new();
        for group in groups {
            let pair = |_| Ok::<_, PartialError>(Rlwe::new(poly()?, poly()?));
            sums.insert(group, (0..parts).map(pair).collect::<Result<_, _>>()?);
        }
        Ok(Self {
            header,
            batches,
            sums,
        })
    }
}

fn length(expected: u64, found: usize) -> PartialError {
    DigestError::Length(Mismatch::new(expected, found as u64)).into()
}

fn residue(error: DetectionKeyError) -> PartialError {
    match error {
        DetectionKeyError::Residue(found) => PartialError::Residue(found),
        DetectionKeyError::Frame(frame) => frame.into(),
        other => unreachable!("{other}: lengths were checked"),
    }
}

/// Reads ranges of batches in the form of [`Partial`] from `rest`, the end of a body of `all` bytes.
///
/// Errors: `Digest`, `Batches`.
fn read_batches(
    plan: &DigestPlan,
    all: usize,
    rest: &mut &[u8],
) -> Result<Vec<Range<usize>>, PartialError> {
    let before = (all - rest.len()) as u64;
    let short = || length(before + 4, all);
    let (count_bytes, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let count = u32::from_le_bytes(*count_bytes);
    let len = 8 * u64::from(count);
    let missing = || length(before + 4 + len, all);
    let split = after.split_at_checked(usize::try_from(len).map_err(|_| missing())?);
    let (words, after) = split.ok_or_else(missing)?;
    *rest = after;
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize;
    let mut batches: Vec<Range<usize>> = Vec::new();
    for words in words.chunks_exact(8) {
        let range = number(&words[..4])..number(&words[4..]);
        let after_last = batches.last().is_none_or(|last| last.end < range.start);
        if !after_last || range.is_empty() || range.end > plan.batches() {
            return Err(PartialError::Batches(Mismatch::new(plan.batches(), range)));
        }
        batches.push(range);
    }
    if batches.is_empty() {
        Err(PartialError::Batches(Mismatch::new(plan.batches(), 0..0)))
    } else {
        Ok(batches)
    }
}

/// Returns the groups with some of these batches.
fn groups_of(plan: &DigestPlan, batches: &[Range<usize>]) -> BTreeSet<usize> {
    let groups = |range: &Range<usize>| plan.group_of(range.start)..=plan.group_of(range.end - 1);
    batches.iter().flat_map(groups).collect()
}

/// Returns the union of two lists of ranges, in the form of [`Partial`].
///
/// Errors: `Overlap`.
fn merged(
    own: &[Range<usize>],
    theirs: &[Range<usize>],
) -> Result<Vec<Range<usize>>, PartialError> {
    let mut all = [own, theirs].concat();
    all.sort_unstable_by_key(|range| range.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in all {
        match out.last_mut() {
            Some(last) if range.start < last.end => return Err(PartialError::Overlap(range.start)),
            Some(last) if range.start == last.end => last.end = range.end,
            _ => out.push(range),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_batches_join() {
        let ranges = |pairs: &[[usize; 2]]| -> Vec<Range<usize>> {
            pairs.iter().map(|&[start, end]| start..end).collect()
        };
        for (own, theirs, all) in [
            (&[[0, 1]][..], &[[1, 2]][..], &[[0, 2]][..]),
            (&[[3, 4]], &[[0, 1]], &[[0, 1], [3, 4]]),
            (&[[0, 1], [3, 4]], &[[1, 3]], &[[0, 4]]),
        ] {
            let joined = merged(&ranges(own), &ranges(theirs)).unwrap();
            assert_eq!(joined, ranges(all));
        }
        let overlap = merged(&ranges(&[[0, 3]]), &ranges(&[[5, 6], [2, 3]]));
        assert!(matches!(overlap, Err(PartialError::Overlap(2))));
    }
}
