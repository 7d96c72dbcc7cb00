//! The leaves of a query and of its shape, in one order: depth first, as written from left to right.

use super::{Filter, FilterShape, Leaf, Query, Shape, Test, TestShape};

/// A leaf of a [`Shape`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeafShape<'a> {
    /// The column's place in the schema.
    pub column: usize,
    /// The test.
    pub test: &'a TestShape,
    /// Whether rows are wanted that fail it (absent values fail both).
    pub negated: bool,
}

impl Query {
    /// Returns the part of the query that the server sees.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape {
            select: self.select.clone(),
            filter: self.filter.shape(),
        }
    }

    /// All leaves, depth first from left to right: the order of [`Shape::leaves`].
    #[must_use]
    pub fn leaves(&self) -> Vec<&Leaf> {
        self.filter.leaves()
    }
}

impl Filter {
    /// The filter without constants: the same tree.
    #[must_use]
    pub fn shape(&self) -> FilterShape {
        match self {
            Self::And(parts) => FilterShape::And(parts.iter().map(Self::shape).collect()),
            Self::Or(parts) => FilterShape::Or(parts.iter().map(Self::shape).collect()),
            Self::Leaf(leaf) => FilterShape::Leaf {
                column: leaf.column,
                test: leaf.test.shape(),
                negated: leaf.negated,
            },
        }
    }

    /// All leaves, depth first from left to right: the order of [`FilterShape::leaves`].
    #[must_use]
    pub fn leaves(&self) -> Vec<&Leaf> {
        let mut leaves = Vec::new();
        self.gather(&mut leaves);
        leaves
    }

    fn gather<'a>(&'a self, leaves: &mut Vec<&'a Leaf>) {
        match self {
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.gather(leaves));
            }
            Self::Leaf(leaf) => leaves.push(leaf),
        }
    }
}

impl Test {
    /// The test without constants.
    #[must_use]
    pub fn shape(&self) -> TestShape {
        match self {
            Self::Ordinals(values) => TestShape::Ordinals(values.len()),
            Self::Range { low, high } => TestShape::Range {
                low: low.is_some(),
                high: high.is_some(),
            },
            Self::Texts(values) => TestShape::Texts(values.len()),
            Self::Like(pattern) => TestShape::Like(pattern.shape()),
            Self::Null => TestShape::Null,
        }
    }
}

impl Shape {
    /// All leaves, depth first from left to right: the order of [`Query::leaves`].
    #[must_use]
    pub fn leaves(&self) -> Vec<LeafShape<'_>> {
        self.filter.leaves()
    }
}

impl FilterShape {
    /// All leaves, depth first from left to right: the order of [`Filter::leaves`].
    #[must_use]
    pub fn leaves(&self) -> Vec<LeafShape<'_>> {
        let mut leaves = Vec::new();
        self.gather(&mut leaves);
        leaves
    }

    fn gather<'a>(&'a self, leaves: &mut Vec<LeafShape<'a>>) {
        match self {
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.gather(leaves));
            }
            Self::Leaf {
                column,
                test,
                negated,
            } => {
                leaves.push(LeafShape {
                    column: *column,
                    test,
                    negated: *negated,
                });
            }
        }
    }
}
