//! The sections, pages and symbols of a range.

use crate::rounds::RoundsParams;
use crate::sophomr::{CHECKSUM_SYMBOLS, packing};
use crate::{ClueKind, PlanError, SEED_BYTES};
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
    /// The number of messages of a page.
    page: u64,
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
            let last = first.saturating_add(section);
            let (from, to) = (start.max(first) - first, end.min(last) - first);
            SectionGroups {
                section: number,
                groups: (from / group) as usize..to.div_ceil(group) as usize,
            }
        };
        let sections: Vec<SectionGroups> = (start / section..end.div_ceil(section))
            .map(groups)
            .collect();
        Ok(Self {
            page: params.fetch.spec().page as u64,
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

    /// Returns the pages with messages of the range, counted on the board.
    pub fn pages(&self) -> Range<u64> {
        self.range.start / self.page..self.range.end.div_ceil(self.page)
    }

    /// Returns the messages of a page, from its beginning to that of the next page or to the end of the range.
    pub fn messages_of(&self, page: u64) -> Range<u64> {
        let end = (page + 1).saturating_mul(self.page);
        page * self.page..end.min(self.range.end)
    }

    /// Returns the number of rows of a query of the range: one for each page.
    pub fn rows(&self) -> usize {
        let pages = self.pages();
        (pages.end - pages.start) as usize
    }

    /// Returns the row of a message: the number of its page among those of the range.
    ///
    /// Panics: if the message lies before the pages of the range.
    pub fn row_of(&self, index: u64) -> usize {
        let row = (index / self.page).checked_sub(self.pages().start);
        row.expect("a message of the range") as usize
    }

    /// Returns the number of a message in its page.
    pub fn number_in_page(&self, index: u64) -> usize {
        (index % self.page) as usize
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

/// Returns the seed of each page of a plan, in order, from a secret: 32 random bytes that are drawn after the messages
/// were posted, or that nobody else knows, and that are never published.
///
/// A page's seed depends on the secret, its number and the last of its messages in the range. So a page that still grows
/// has a new seed for each length, and a whole page has one seed for all ranges that contain its last message.
pub fn page_seeds(secret: &[u8; SEED_BYTES], plan: &RoundsPlan) -> Vec<[u8; SEED_BYTES]> {
    let seed = |page: u64| {
        let end = plan.messages_of(page).end;
        let mut seed = [0; SEED_BYTES];
        Xof::stream("omr rounds page seed v1", secret, &[page, end]).fill_bytes(&mut seed);
        seed
    };
    plan.pages().map(seed).collect()
}

/// Returns the units by which the symbols of a page's messages are multiplied modulo p, from 1 to p - 1. Nobody who
/// posts messages before the page's seed is drawn can choose what a detector's plaintexts look like.
pub fn units(p: u64, seed: &[u8; SEED_BYTES], page: u64, messages: usize) -> Vec<u32> {
    let mut stream = Xof::stream("omr fetch units v1", seed, &[page]);
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
