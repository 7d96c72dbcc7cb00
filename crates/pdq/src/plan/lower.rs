//! From the shape of a filter to a circuit.

use super::circuit::{Builder, Circuit, Id, Source, SourceKind, Truth};
use omr_table::{ColumnType, Domain, FilterShape, Schema, TestShape};

/// Bits of a fingerprint beyond those that count rows and places: how improbable it is that any text of the table
/// passes for another.
const FINGERPRINT_MARGIN: u32 = 40;

/// Products that share a relinearisation: their factors are held until then.
const PAIRS: usize = 32;

/// Bits of the longest fingerprint.
const FINGERPRINT_BITS: u32 = 60;

/// Lowers a shape that was checked against the schema, with truth tables of at most `widest` entries for numbers of
/// several digits.
pub(super) fn lower(schema: &Schema, filter: &FilterShape, widest: usize) -> Circuit {
    let mut lowering = Lowering {
        schema,
        widest,
        builder: Builder::default(),
        leaves: 0,
    };
    lowering.value(filter);
    lowering.builder.finish()
}

struct Lowering<'a> {
    schema: &'a Schema,
    widest: usize,
    builder: Builder,
    /// Leaves so far, in the order of the shape.
    leaves: usize,
}

/// A leaf of a shape.
#[derive(Clone, Copy)]
struct Leaf<'a> {
    number: usize,
    column: usize,
    test: &'a TestShape,
    negated: bool,
}

impl Lowering<'_> {
    fn value(&mut self, filter: &FilterShape) -> Id {
        match filter {
            FilterShape::And(_) | FilterShape::Leaf { .. } => {
                let factors = self.factors(filter);
                self.builder.product(factors)
            }
            FilterShape::Or(parts) => {
                let values = parts.iter().map(|part| self.value(part)).collect();
                self.builder.any(values)
            }
        }
    }

    /// Values whose product it is: factors of nested conditions join one tree.
    fn factors(&mut self, filter: &FilterShape) -> Vec<Id> {
        match filter {
            FilterShape::And(parts) => parts.iter().flat_map(|part| self.factors(part)).collect(),
            FilterShape::Or(_) => vec![self.value(filter)],
            FilterShape::Leaf {
                column,
                test,
                negated,
            } => {
                let leaf = Leaf {
                    number: self.leaves,
                    column: *column,
                    test,
                    negated: *negated,
                };
                self.leaves += 1;
                self.leaf(leaf)
            }
        }
    }

    fn leaf(&mut self, leaf: Leaf) -> Vec<Id> {
        match leaf.test {
            TestShape::Null => {
                let source = self.source(leaf.column);
                vec![self.builder.known(source, leaf.negated)]
            }
            TestShape::Ordinals(count) | TestShape::Texts(count) => {
                let source = self.source(leaf.column);
                let factors = self.one_of(source, leaf.number, *count);
                self.negate(factors, leaf, source)
            }
            TestShape::Range { low, high } => {
                let source = self.source(leaf.column);
                let value = self.interval(source, leaf.number, *low, *high);
                self.negate(vec![value], leaf, source)
            }
            TestShape::Like(like) => {
                let places = like.places(self.characters(leaf.column)).max(1);
                let factors = self.like(leaf, places);
                // A text may lack the shape at a place and still be a text.
                let present = self.source(leaf.column);
                self.negate(factors, leaf, present)
            }
            _ => unreachable!("shapes are checked before they are lowered"),
        }
    }

    fn negate(&mut self, factors: Vec<Id>, leaf: Leaf, within: usize) -> Vec<Id> {
        if !leaf.negated {
            return factors;
        }
        let value = self.builder.product(factors);
        vec![self.builder.complement(value, Some(within))]
    }

    /// Factors of "the number is one of `count` constants".
    fn one_of(&mut self, source: usize, leaf: usize, count: usize) -> Vec<Id> {
        let digits = self.builder.digits(source);
        if digits == 1 {
            return vec![self.builder.select(source, 0, leaf, Truth::Set)];
        }
        if count == 1 {
            return self.equal(source, leaf, 0);
        }
        let constants: Vec<usize> = (0..count).collect();
        let sums = constants
            .chunks(PAIRS)
            .map(|some| {
                let pair = |&constant: &usize| {
                    let factors = self.equal(source, leaf, constant);
                    match self.builder.join(factors, 2)[..] {
                        [a, b] => (a, b),
                        _ => unreachable!("two digits or more"),
                    }
                };
                let pairs = some.iter().map(pair).collect();
                self.builder.dot(pairs)
            })
            .collect();
        vec![self.builder.sum(sums)]
    }

    /// Factors of "the number is this constant".
    fn equal(&mut self, source: usize, leaf: usize, constant: usize) -> Vec<Id> {
        let truth = Truth::Equal(constant);
        (0..self.builder.digits(source))
            .map(|digit| self.builder.select(source, digit, leaf, truth))
            .collect()
    }

    fn interval(&mut self, source: usize, leaf: usize, low: bool, high: bool) -> Id {
        let digits = self.builder.digits(source);
        if digits == 1 {
            return self.builder.select(source, 0, leaf, Truth::Interval);
        }
        let mut end = |below: Truth, at: Truth| {
            let mut select = |digit, truth| self.builder.select(source, digit, leaf, truth);
            let less: Vec<Id> = (0..digits).map(|digit| select(digit, below)).collect();
            let equal: Vec<Option<Id>> = (0..digits)
                .map(|digit| (digit > 0).then(|| select(digit, at)))
                .collect();
            self.builder.less(&less, &equal)
        };
        let below_low = low.then(|| end(Truth::BelowLow, Truth::AtLow));
        let below_high = high.then(|| end(Truth::BelowHigh, Truth::AtHigh));
        match (below_low, below_high) {
            (Some(low), Some(high)) => self.builder.minus(high, low),
            (None, Some(high)) => high,
            (Some(low), None) => self.builder.complement(low, Some(source)),
            (None, None) => self.builder.known(source, true),
        }
    }

    fn characters(&self, column: usize) -> usize {
        match self.schema.columns[column].kind {
            ColumnType::Text { max_bytes } => max_bytes.into(),
            _ => 0,
        }
    }

    /// The column's own numbers: ordinals, or fingerprints of whole texts.
    fn source(&mut self, column: usize) -> usize {
        let source = source_of(self.schema, column, None, self.widest);
        self.builder.source(&source)
    }

    /// Factors of "the text matches", whatever place its infix stands at.
    fn like(&mut self, leaf: Leaf, places: usize) -> Vec<Id> {
        let mut values = Vec::with_capacity(places);
        for place in 0..places {
            let kind = SourceKind::Like {
                leaf: leaf.number,
                place,
            };
            let largest = fingerprints(self.schema, places as u64);
            let source = source(leaf.column, kind, largest, self.widest);
            let source = self.builder.source(&source);
            let factors = self.one_of(source, leaf.number, 1);
            if places == 1 {
                return factors;
            }
            values.push(self.builder.product(factors));
        }
        vec![self.builder.any(values)]
    }
}

/// Returns the largest fingerprint where each row has `places` fingerprints.
fn fingerprints(schema: &Schema, places: u64) -> u64 {
    let all = schema.rows.max(1).saturating_mul(places);
    let bits = (FINGERPRINT_MARGIN + u64::BITS - all.leading_zeros()).min(FINGERPRINT_BITS);
    (1 << bits) - 1
}

/// A column's own numbers, or what the pattern of a leaf, which has one place, makes of its texts.
pub(crate) fn source_of(
    schema: &Schema,
    column: usize,
    leaf: Option<usize>,
    widest: usize,
) -> Source {
    let of = &schema.columns[column];
    let (kind, largest) = match (of.kind, leaf) {
        (_, Some(leaf)) => (SourceKind::Like { leaf, place: 0 }, fingerprints(schema, 1)),
        (ColumnType::Text { .. }, None) => (SourceKind::Text, fingerprints(schema, 1)),
        (_, None) => {
            let span = |domain: Domain| domain.max.abs_diff(domain.min);
            (SourceKind::Ordinal, of.domain.map_or(0, span))
        }
    };
    source(column, kind, largest, widest)
}

fn source(column: usize, kind: SourceKind, largest: u64, widest: usize) -> Source {
    let (digits, radix) = Source::split(largest, widest);
    Source {
        column,
        kind,
        largest,
        digits,
        radix,
    }
}
