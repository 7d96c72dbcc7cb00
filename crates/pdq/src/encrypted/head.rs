//! The public head of an encrypted table.

use super::is_pattern;
use crate::plan::{Piece, Source, SourceKind, source_of};
use crate::{Params, PlanError};
use omr_table::{ColumnType, LikeShape, Schema, Shape, TestShape};
use serde::{Deserialize, Serialize};

/// An entry of an encrypted table's index: what its queries can test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Indexed {
    /// A column's numbers, or its whole texts.
    Column(usize),
    /// Texts of a column as a pattern without infix sees them.
    Like(usize, LikeShape),
}

/// The public description of an encrypted table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EncryptedHead {
    /// The table's schema, row count and domains among it.
    pub schema: Schema,
    /// Values of a digit, 2 to 16: masks for each.
    pub radix: usize,
    /// Products one after another that its ciphertexts have room for, that with the symbols of rows among them.
    pub depth: usize,
    /// The columns and patterns that have masks.
    pub indexed: Vec<Indexed>,
}

/// The default number of values of a digit: 3 and 4 take the fewest masks, and 4 the fewer products.
const DEFAULT_RADIX: usize = 4;

impl EncryptedHead {
    /// Every column, and every prefix of text columns of these lengths in characters.
    pub fn new(params: &Params, schema: &Schema, prefixes: &[usize]) -> Self {
        let mut indexed: Vec<Indexed> = (0..schema.columns.len()).map(Indexed::Column).collect();
        for (column, of) in schema.columns.iter().enumerate() {
            let ColumnType::Text { max_bytes } = of.kind else {
                continue;
            };
            let lengths = prefixes
                .iter()
                .filter(|&&length| length <= max_bytes.into());
            indexed.extend(lengths.map(|&length| {
                let shape = LikeShape {
                    exact: false,
                    prefix: vec![true; length],
                    infix: Vec::new(),
                    suffix: Vec::new(),
                    fold: false,
                };
                Indexed::Like(column, shape)
            }));
        }
        Self {
            schema: schema.clone(),
            radix: DEFAULT_RADIX,
            depth: params.depth(),
            indexed,
        }
    }

    /// Errors: a schema, radix, depth or entries out of range.
    pub fn check(&self, params: &Params) -> Result<(), PlanError> {
        let wrong = |what: &'static str, expected: String, found: usize| PlanError::Head {
            what,
            expected,
            found,
        };
        self.schema.check()?;
        if params.two_sided() {
            // An encrypted table's owner is its only client.
            let expected = "without two-sided privacy".into();
            return Err(wrong("parameters", expected, params.depth()));
        }
        if !(2..=16).contains(&self.radix) {
            return Err(wrong("radix", "2 to 16".into(), self.radix));
        }
        if !(1..=params.depth()).contains(&self.depth) {
            return Err(wrong(
                "depth",
                format!("1 to {}", params.depth()),
                self.depth,
            ));
        }
        for entry in &self.indexed {
            let (Indexed::Column(column) | Indexed::Like(column, _)) = entry;
            let columns = self.schema.columns.len();
            let Some(of) = self.schema.columns.get(*column) else {
                return Err(wrong("column", format!("below {columns}"), *column));
            };
            if let Indexed::Like(_, like) = entry {
                let text = matches!(of.kind, ColumnType::Text { .. });
                if !text || !like.infix.is_empty() {
                    let expected = "a column of text and a pattern of one place".into();
                    return Err(wrong("pattern", expected, *column));
                }
            }
        }
        Ok(())
    }

    /// The level that masks are encrypted at.
    pub fn start(&self, params: &Params) -> usize {
        params.depth() - self.depth
    }

    /// Returns the sources that masks are made of, in the order of the masks.
    pub(crate) fn sources(&self) -> Vec<Source> {
        let source = |(number, entry): (usize, &Indexed)| match entry {
            Indexed::Column(column) => source_of(&self.schema, *column, None, self.radix),
            Indexed::Like(column, _) => source_of(&self.schema, *column, Some(number), self.radix),
        };
        self.indexed.iter().enumerate().map(source).collect()
    }

    /// The pattern of one of [`Self::sources`].
    pub(crate) fn like(&self, source: &Source) -> Option<&LikeShape> {
        match (&source.kind, &self.indexed) {
            (SourceKind::Like { leaf, .. }, indexed) => match indexed.get(*leaf) {
                Some(Indexed::Like(_, like)) => Some(like),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the index in [`Self::sources`] of a circuit's source; `None` where it has no masks.
    pub(crate) fn place(&self, shape: &Shape, source: &Source) -> Option<usize> {
        let wanted = match &source.kind {
            SourceKind::Like { leaf, .. } => match shape.leaves().get(*leaf)?.test {
                TestShape::Like(like) => Some(like),
                _ => None,
            },
            _ => None,
        };
        let same = |(entry, own): (&Indexed, &Source)| match entry {
            Indexed::Column(column) => *column == source.column && !is_pattern(&source.kind),
            Indexed::Like(column, like) => {
                *column == source.column && wanted == Some(like) && own.largest == source.largest
            }
        };
        self.indexed.iter().zip(&self.sources()).position(same)
    }

    /// Where the masks of each of [`Self::sources`] begin, and how many there are in all.
    pub(crate) fn first_masks(&self) -> (Vec<usize>, usize) {
        let mut all = 0;
        let first = |source: &Source| {
            let first = all;
            all += source.digits * source.radix;
            first
        };
        (self.sources().iter().map(first).collect(), all)
    }

    /// Where the symbols of each column begin, and how many there are in all.
    pub(crate) fn first_symbols(&self, params: &Params) -> Result<(Vec<usize>, usize), PlanError> {
        let (mut firsts, mut all) = (Vec::new(), 0);
        for column in 0..self.schema.columns.len() {
            firsts.push(all);
            all += Piece::new(&self.schema, &[column])?.symbols(params);
        }
        Ok((firsts, all))
    }
}
