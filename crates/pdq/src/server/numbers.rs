//! What rows are compared by, block by block, in the order of slots.

use super::select::Numbers;
use crate::Params;
use crate::plan::{Plan, Source, SourceKind};
use omr_protocol::Placement;
use omr_table::{Deriver, Fingerprints, LikeShape, Table, TestShape};
use std::ops::Range;

/// Where rows lie.
pub(crate) struct Layout<'a> {
    pub(crate) params: &'a Params,
    pub(crate) table: &'a Table,
    pub(crate) seed: &'a [u8; 32],
}

impl Layout<'_> {
    pub(crate) fn placement(&self, block: usize) -> Placement {
        Placement::new(self.seed, block, self.params.slots())
    }

    /// The rows of a block.
    pub(crate) fn rows(&self, block: usize) -> Range<usize> {
        let slots = self.params.slots();
        let start = (block * slots).min(self.table.rows());
        start..(start + slots).min(self.table.rows())
    }

    /// Which slots have a row, in the order of the evaluation domain.
    pub(crate) fn exists(&self, block: usize) -> Vec<bool> {
        let rows = self.rows(block).len();
        let placement = self.placement(block);
        let mut out = vec![false; self.params.slots()];
        let positions = self.params.plain.order().positions();
        for &slot in &placement.slots()[..rows] {
            out[positions[slot as usize] as usize] = true;
        }
        out
    }

    /// By source: the number of the row in each slot, in the order of the evaluation domain.
    pub(crate) fn numbers(&self, plan: &Plan, block: usize) -> Vec<Numbers> {
        let leaves = plan.shape.leaves();
        let of = |source: &Source| {
            let like = match source.kind {
                SourceKind::Like { leaf, .. } => match leaves[leaf].test {
                    TestShape::Like(like) => Some(like),
                    _ => None,
                },
                _ => None,
            };
            self.numbers_of(source, like, block)
        };
        plan.circuit.sources.iter().map(of).collect()
    }

    /// Those of one source; `like`: its pattern, of sources that are a pattern's.
    pub(crate) fn numbers_of(
        &self,
        source: &Source,
        like: Option<&LikeShape>,
        block: usize,
    ) -> Numbers {
        let placement = self.placement(block);
        let numbers = self.of_source(source, like, self.rows(block));
        let mut out = vec![None; self.params.slots()];
        let positions = self.params.plain.order().positions();
        for (number, &slot) in numbers.into_iter().zip(placement.slots()) {
            out[positions[slot as usize] as usize] = number;
        }
        out
    }

    fn of_source(&self, source: &Source, like: Option<&LikeShape>, rows: Range<usize>) -> Numbers {
        let (table, column) = (self.table, source.column);
        match &source.kind {
            SourceKind::Ordinal => {
                let domain = table.schema().columns[column].domain;
                let min = domain.map_or(0, |domain| domain.min);
                let number = |row| Some(table.ordinal(row, column)?.wrapping_sub(min) as u64);
                rows.map(number).collect()
            }
            SourceKind::Text => {
                let fingerprints = Fingerprints::new(&table.schema().salt);
                let number = |row| {
                    let text = table.text(row, column)?;
                    Some(fingerprints.of(text.as_bytes()) & source.largest)
                };
                rows.map(number).collect()
            }
            SourceKind::Like { place, .. } => {
                let mut deriver = Deriver::new(like.expect("the source of a pattern"));
                let fingerprints = Fingerprints::new(&table.schema().salt);
                let mut number = |row| {
                    deriver.read(table.text(row, column)?);
                    let derived = deriver.at(*place)?;
                    Some(fingerprints.of(derived) & source.largest)
                };
                rows.map(&mut number).collect()
            }
        }
    }
}
