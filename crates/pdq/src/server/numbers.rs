//! The numbers that rows are compared by, block by block, in the order of slots.

use super::hidden::Hidden;
use super::select::Numbers;
use crate::Params;
use crate::plan::{Plan, Source, SourceKind};
use omr_protocol::Placement;
use omr_table::{Deriver, Fingerprints, LikeShape, Table, TestShape};

/// Where rows lie.
#[derive(Clone, Copy)]
pub(crate) struct Layout<'a> {
    pub(crate) params: &'a Params,
    pub(crate) table: &'a Table,
    /// The seed of placements block by block, which the client receives.
    pub(crate) seed: &'a [u8; 32],
    /// With two-sided privacy: where rows lie instead.
    pub(crate) hidden: Option<&'a Hidden>,
}

/// The rows of a block.
pub(crate) struct Places {
    /// The numbers of the rows.
    pub(crate) rows: Vec<usize>,
    /// The slot of each.
    pub(crate) slots: Vec<u32>,
    /// For each slot: the place of its row among these; where there is none, a place past them.
    pub(crate) order: Vec<u32>,
}

impl Layout<'_> {
    pub(crate) fn places(&self, block: usize) -> Places {
        match self.hidden {
            Some(hidden) => self.scattered(&hidden.placement, block),
            None => self.together(block),
        }
    }

    /// The table's next rows, permuted.
    fn together(&self, block: usize) -> Places {
        let slots = self.params.slots();
        let placement = Placement::new(self.seed, block, slots);
        let start = (block * slots).min(self.table.rows());
        let rows = start..(start + slots).min(self.table.rows());
        Places {
            slots: placement.slots()[..rows.len()].to_vec(),
            rows: rows.collect(),
            order: placement.messages().to_vec(),
        }
    }

    /// Rows from everywhere.
    fn scattered(&self, placement: &Placement, block: usize) -> Places {
        let slots = self.params.slots();
        let here = &placement.messages()[block * slots..(block + 1) * slots];
        let is_row = |&slot: &u32| (here[slot as usize] as usize) < self.table.rows();
        let (taken, empty): (Vec<u32>, Vec<u32>) = (0..slots as u32).partition(is_row);
        let mut order = vec![0; slots];
        for (place, &slot) in (0..).zip(taken.iter().chain(&empty)) {
            order[slot as usize] = place;
        }
        Places {
            rows: taken
                .iter()
                .map(|&slot| here[slot as usize] as usize)
                .collect(),
            slots: taken,
            order,
        }
    }

    /// Returns the label that a row's checksum is bound to: the row's number, or with two-sided privacy its place.
    pub(crate) fn label(&self, row: usize, block: usize, slot: u32) -> u64 {
        match self.hidden {
            Some(_) => (block * self.params.slots()) as u64 + u64::from(slot),
            None => row as u64,
        }
    }

    /// Returns for each slot whether it has a row, in the order of the evaluation domain.
    pub(crate) fn exists(&self, block: usize) -> Vec<bool> {
        let mut out = vec![false; self.params.slots()];
        let positions = self.params.plain.order().positions();
        for &slot in &self.places(block).slots {
            out[positions[slot as usize] as usize] = true;
        }
        out
    }

    /// By source: the number of the row in each slot, in the order of the evaluation domain.
    pub(crate) fn numbers(&self, plan: &Plan, block: usize) -> Vec<Numbers> {
        let (leaves, places) = (plan.shape.leaves(), self.places(block));
        let of = |source: &Source| {
            let like = match source.kind {
                SourceKind::Like { leaf, .. } => match leaves[leaf].test {
                    TestShape::Like(like) => Some(like),
                    _ => None,
                },
                _ => None,
            };
            self.numbers_of(source, like, &places)
        };
        plan.circuit.sources.iter().map(of).collect()
    }

    /// The numbers of one source; `like` is its pattern, for sources that are a pattern's.
    pub(crate) fn numbers_of(
        &self,
        source: &Source,
        like: Option<&LikeShape>,
        places: &Places,
    ) -> Numbers {
        let numbers = self.of_source(source, like, &places.rows);
        let mut out = vec![None; self.params.slots()];
        let positions = self.params.plain.order().positions();
        for (number, &slot) in numbers.into_iter().zip(&places.slots) {
            out[positions[slot as usize] as usize] = number;
        }
        out
    }

    fn of_source(&self, source: &Source, like: Option<&LikeShape>, rows: &[usize]) -> Numbers {
        let (table, column) = (self.table, source.column);
        let rows = rows.iter().copied();
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
