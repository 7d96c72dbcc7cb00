//! The sections, rows and symbols of a range.

use crate::rounds::RoundsParams;
use crate::sophomr::{CHECKSUM_SYMBOLS, packing};
use crate::{ClueKind, PlanError};
use omr_codec::Symbols;
use omr_errors::Mismatch;
use omr_ring::Xof;
use rand_core::Rng;
use std::ops::Range;

/// The largest number of messages of a range.
pub const MOST_MESSAGES: u64 = 1 << 20;

/// The groups of a section that have messages of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionGroups {
    /// The section, counted on the board.
    pub section: u64,
    /// The groups, by their number in the section.
    pub groups: Range<usize>,
}

/// The work that a range of messages takes in both rounds. It depends on public numbers only.
#[derive(Clone, Debug)]
pub struct RoundsPlan {
    range: Range<u64>,
    symbols: Symbols,
    sections: Vec<SectionGroups>,
    rows: usize,
    block: u64,
}

impl RoundsPlan {
    /// Plans a range of messages with payloads of this length and clues of a kind.
    ///
    /// Errors: `EmptyRange`; `LongRange`; `Payload`.
    pub fn new(
        params: &RoundsParams,
        range: Range<u64>,
        payload_bytes: usize,
        clues: ClueKind,
    ) -> Result<Self, PlanError> {
        let Range { start, end } = range;
        if start >= end {
            return Err(PlanError::EmptyRange { start, end });
        }
        if end - start > MOST_MESSAGES {
            let of = Mismatch::new(MOST_MESSAGES, end - start);
            return Err(PlanError::LongRange(of));
        }
        let fits = (1..=crate::request::MAX_PAYLOAD_BYTES).contains(&payload_bytes);
        let p = params.fetch.p().value();
        let code = packing(p, payload_bytes, clues == ClueKind::Bound).ok();
        let symbols = code
            .filter(|_| fits)
            .ok_or(PlanError::Payload(payload_bytes))?;
        let (section, group) = (params.scan.section() as u64, params.scan.spec().n as u64);
        let groups = |number: u64| {
            let first = number * section;
            let (from, to) = (start.max(first) - first, end.min(first + section) - first);
            SectionGroups {
                section: number,
                groups: (from / group) as usize..to.div_ceil(group) as usize,
            }
        };
        let sections: Vec<SectionGroups> = (start / section..end.div_ceil(section))
            .map(groups)
            .collect();
        Ok(Self {
            rows: sections.len() * params.fetch.spec().rows,
            block: params.scan.block() as u64,
            range,
            symbols,
            sections,
        })
    }

    /// Returns the range of messages.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Returns the sections and groups with messages of the range.
    pub fn sections(&self) -> &[SectionGroups] {
        &self.sections
    }

    /// Returns the number of rows of a query of the range.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the packing of payloads in symbols.
    pub fn code(&self) -> &Symbols {
        &self.symbols
    }

    /// Returns the number of symbols of a message: of its payload, and of its checksum.
    pub fn symbols(&self) -> usize {
        self.symbols.count() + CHECKSUM_SYMBOLS
    }

    /// Returns whether a scan of the range contains all payloads, so that there is no second round. This depends on the
    /// number of messages alone: up to that of a block.
    pub fn sends_all(&self) -> bool {
        self.range.end - self.range.start <= self.block
    }
}

/// Returns the units by which the symbols of a section's messages are multiplied modulo p, from 1 to p - 1. Nobody who
/// posts messages before the seed is drawn can choose what a detector's plaintexts look like.
pub fn units(p: u64, seed: &[u8; 32], section: u64, messages: usize) -> Vec<u32> {
    let mut stream = Xof::stream("omr fetch units v1", seed, &[section]);
    let bound = p - 1;
    // The largest multiple of the bound below 2^32.
    let limit = (1 << 32) / bound * bound;
    let mut unit = || {
        loop {
            let word = u64::from(stream.next_u32());
            if word < limit {
                return (word % bound + 1) as u32;
            }
        }
    };
    (0..messages).map(|_| unit()).collect()
}
