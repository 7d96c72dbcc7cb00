//! What rows are compared by, block by block, in the order of slots.

use super::select::Numbers;
use crate::Params;
use crate::plan::{Plan, Source, SourceKind};
use omr_protocol::Placement;
use omr_table::{Deriver, Fingerprints, Table, TestShape};
use std::ops::Range;

/// Where rows lie.
pub(super) struct Layout<'a> {
    pub(super) params: &'a Params,
    pub(super) table: &'a Table,
    pub(super) seed: &'a [u8; 32],
}

impl Layout<'_> {
    pub(super) fn placement(&self, block: usize) -> Placement {
        Placement::new(self.seed, block, self.params.slots())
    }

    /// The rows of a block.
    pub(super) fn rows(&self, block: usize) -> Range<usize> {
        let slots = self.params.slots();
        let start = (block * slots).min(self.table.rows());
        start..(start + slots).min(self.table.rows())
    }

    /// By source: the number of the row in each slot, in the order of the evaluation domain.
    pub(super) fn numbers(&self, plan: &Plan, block: usize) -> Vec<Numbers> {
        let placement = self.placement(block);
        let rows = self.rows(block);
        let sources = plan.circuit.sources.iter();
        sources
            .map(|source| {
                let numbers = self.of_source(plan, source, rows.clone());
                let mut out = vec![None; self.params.slots()];
                let positions = self.params.plain.order().positions();
                for (number, &slot) in numbers.into_iter().zip(placement.slots()) {
                    out[positions[slot as usize] as usize] = number;
                }
                out
            })
            .collect()
    }

    fn of_source(&self, plan: &Plan, source: &Source, rows: Range<usize>) -> Numbers {
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
            SourceKind::Like { leaf, place } => {
                let leaves = plan.shape.leaves();
                let TestShape::Like(like) = leaves[*leaf].test else {
                    unreachable!("the source of a pattern")
                };
                let mut deriver = Deriver::new(like);
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
