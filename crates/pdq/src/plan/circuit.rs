//! Circuits: what the server computes on each block of rows, and which constants it takes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The place of a value in [`Circuit::ops`].
pub type Id = usize;

/// One value: a ciphertext of 0 or 1 for each row of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The entry of an encrypted truth table that a row's digit stands at: the sum over its values of a mask, known to
    /// the server, times an encrypted constant. 0 where the source has no value.
    Select {
        /// Place in [`Circuit::sources`].
        source: usize,
        /// The digit, 0 the least significant.
        digit: usize,
        /// Place in [`Circuit::tables`].
        table: usize,
    },
    /// Whether the source has a value, or has none: known to the server.
    Known {
        /// Place in [`Circuit::sources`].
        source: usize,
        /// Whether rows with a value are meant, or those without.
        present: bool,
    },
    /// The sum of products, with one relinearisation.
    Dot(Vec<(Id, Id)>),
    /// A difference.
    Minus(Id, Id),
    /// A sum.
    Sum(Vec<Id>),
    /// 1 - x; where a source is given, 0 in rows in which it has no value, those past the table's end among them.
    Complement {
        /// x.
        of: Id,
        /// Place in [`Circuit::sources`].
        within: Option<usize>,
    },
}

impl Op {
    /// The values that it is made of.
    pub(crate) fn operands(&self) -> Vec<Id> {
        match self {
            Self::Select { .. } | Self::Known { .. } => Vec::new(),
            Self::Dot(pairs) => pairs.iter().flat_map(|&(a, b)| [a, b]).collect(),
            Self::Minus(a, b) => vec![*a, *b],
            Self::Sum(terms) => terms.clone(),
            Self::Complement { of, .. } => vec![*of],
        }
    }
}

/// The entries of a truth table that are 1, in terms of a leaf's constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truth {
    /// The digit of constant number so and so.
    Equal(usize),
    /// Digits below that of the interval's lower end.
    BelowLow,
    /// The digit of the lower end.
    AtLow,
    /// Digits below that of the first ordinal past the interval.
    BelowHigh,
    /// The digit of that one.
    AtHigh,
    /// All constants of the leaf, for sources of one digit.
    Set,
    /// The interval, for sources of one digit.
    Interval,
}

/// A truth table that the client encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// The leaf, in the order of the shape.
    pub leaf: usize,
    /// The digit it is for.
    pub digit: usize,
    /// The entries that are 1.
    pub truth: Truth,
    /// Entries: the radix of the source.
    pub radix: usize,
    /// Digits of the source.
    pub digits: usize,
    /// Place of its first entry among all constants of the query.
    pub first: usize,
}

/// The number of a row that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// The ordinal minus the domain's least ordinal.
    Ordinal,
    /// Fingerprint of the whole text.
    Text,
    /// Fingerprint of the characters that the leaf's pattern requires, with the infix at a place.
    Like {
        /// The leaf.
        leaf: usize,
        /// The place of the infix.
        place: usize,
    },
}

/// A number in each row, in digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The column.
    pub column: usize,
    /// The number that is derived from the column.
    pub kind: SourceKind,
    /// The largest number.
    pub largest: u64,
    /// Digits.
    pub digits: usize,
    /// Base of a digit.
    pub radix: usize,
}

impl Source {
    /// Returns a digit of `number`.
    pub fn digit(&self, number: u64, digit: usize) -> usize {
        let radix = self.radix as u64;
        // Digits above the last are 0, and their power may not fit.
        let power = radix.checked_pow(digit as u32);
        power.map_or(0, |power| (number / power % radix) as usize)
    }

    /// Digits for numbers up to `largest` when a table has at most `widest` entries, and the base then.
    pub(super) fn split(largest: u64, widest: usize) -> (usize, usize) {
        let holds = |radix: usize, digits: usize| {
            let all = (radix as u128).checked_pow(digits as u32);
            all.is_none_or(|all| all > u128::from(largest))
        };
        let digits = (1..64).find(|&digits| holds(widest, digits)).unwrap_or(64);
        let radix = (1..=widest)
            .find(|&radix| holds(radix, digits))
            .unwrap_or(widest);
        (digits, radix)
    }
}

/// A circuit. Each value follows the values it is computed from; the last one is the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circuit {
    /// Values.
    pub ops: Vec<Op>,
    /// The level of each value in the modulus chain.
    pub levels: Vec<usize>,
    /// The numbers of rows that are compared.
    pub sources: Vec<Source>,
    /// The truth tables that the client encrypts.
    pub tables: Vec<Table>,
}

impl Circuit {
    /// Entries of all tables.
    pub fn constants(&self) -> usize {
        self.tables
            .last()
            .map_or(0, |table| table.first + table.radix)
    }

    /// Products one after another.
    pub fn depth(&self) -> usize {
        self.levels.last().map_or(0, |level| level - 1)
    }
}

/// Makes a circuit; equal values are made once.
#[derive(Default)]
pub(super) struct Builder {
    circuit: Circuit,
    sources: HashMap<Source, usize>,
    tables: HashMap<Table, usize>,
    selects: HashMap<(usize, usize, usize), Id>,
}

impl Builder {
    pub(super) fn finish(self) -> Circuit {
        self.circuit
    }

    pub(super) fn source(&mut self, source: &Source) -> usize {
        let next = self.circuit.sources.len();
        let place = *self.sources.entry(source.clone()).or_insert(next);
        if place == next {
            self.circuit.sources.push(source.clone());
        }
        place
    }

    pub(super) fn digits(&self, source: usize) -> usize {
        self.circuit.sources[source].digits
    }

    fn table(&mut self, mut table: Table) -> usize {
        table.first = 0;
        let next = self.circuit.tables.len();
        let place = *self.tables.entry(table).or_insert(next);
        if place == next {
            table.first = self.circuit.constants();
            self.circuit.tables.push(table);
        }
        place
    }

    fn push(&mut self, op: Op, level: usize) -> Id {
        self.circuit.ops.push(op);
        self.circuit.levels.push(level);
        self.circuit.ops.len() - 1
    }

    fn level(&self, id: Id) -> usize {
        self.circuit.levels[id]
    }

    pub(super) fn select(&mut self, source: usize, digit: usize, leaf: usize, truth: Truth) -> Id {
        let of = &self.circuit.sources[source];
        let table = Table {
            leaf,
            digit,
            truth,
            radix: of.radix,
            digits: of.digits,
            first: 0,
        };
        let table = self.table(table);
        let key = (source, digit, table);
        if let Some(&known) = self.selects.get(&key) {
            return known;
        }
        let id = self.push(
            Op::Select {
                source,
                digit,
                table,
            },
            1,
        );
        self.selects.insert(key, id);
        id
    }

    pub(super) fn known(&mut self, source: usize, present: bool) -> Id {
        self.push(Op::Known { source, present }, 1)
    }

    pub(super) fn complement(&mut self, of: Id, within: Option<usize>) -> Id {
        self.push(Op::Complement { of, within }, self.level(of))
    }

    pub(super) fn minus(&mut self, a: Id, b: Id) -> Id {
        let level = self.level(a).max(self.level(b));
        self.push(Op::Minus(a, b), level)
    }

    pub(super) fn sum(&mut self, terms: Vec<Id>) -> Id {
        if let [one] = terms[..] {
            return one;
        }
        let level = terms.iter().map(|&id| self.level(id)).max().unwrap_or(1);
        self.push(Op::Sum(terms), level)
    }

    /// The sum of products, with one relinearisation.
    pub(super) fn dot(&mut self, pairs: Vec<(Id, Id)>) -> Id {
        let level = |&(a, b): &(Id, Id)| self.level(a).max(self.level(b));
        let level = pairs.iter().map(level).max().unwrap_or(1) + 1;
        self.push(Op::Dot(pairs), level)
    }

    /// Multiplies the two of the lowest level until `left` are left.
    pub(super) fn join(&mut self, factors: Vec<Id>, left: usize) -> Vec<Id> {
        let mut heap: BinaryHeap<Reverse<(usize, Id)>> = factors
            .into_iter()
            .map(|id| Reverse((self.level(id), id)))
            .collect();
        while heap.len() > left {
            let [a, b] = [0, 1].map(|_| heap.pop().expect("more than are left").0.1);
            let id = self.dot(vec![(a, b)]);
            heap.push(Reverse((self.level(id), id)));
        }
        heap.into_iter().map(|Reverse((_, id))| id).collect()
    }

    /// The product of all.
    pub(super) fn product(&mut self, factors: Vec<Id>) -> Id {
        self.join(factors, 1)[0]
    }

    /// Whether any of them holds.
    pub(super) fn any(&mut self, values: Vec<Id>) -> Id {
        if let [one] = values[..] {
            return one;
        }
        let none = values
            .into_iter()
            .map(|id| self.complement(id, None))
            .collect();
        let none = self.product(none);
        self.complement(none, None)
    }

    /// Whether numbers lie below an interval's end, from (below, at) of each digit, the least significant first; none is
    /// asked whether it is at the least significant one.
    pub(super) fn less(&mut self, below: &[Id], at: &[Option<Id>]) -> Id {
        self.less_and_equal(below, at, false).0
    }

    fn less_and_equal(&mut self, below: &[Id], at: &[Option<Id>], equal: bool) -> (Id, Option<Id>) {
        if let [one] = below {
            return (*one, at[0].filter(|_| equal));
        }
        let half = below.len() / 2;
        let (less_low, equal_low) = self.less_and_equal(&below[..half], &at[..half], equal);
        let (less_high, equal_high) = self.less_and_equal(&below[half..], &at[half..], true);
        let equal_high = equal_high.expect("digits above the least significant one are compared");
        let carried = self.dot(vec![(equal_high, less_low)]);
        let less = self.sum(vec![less_high, carried]);
        let both = equal_low.map(|equal_low| self.dot(vec![(equal_high, equal_low)]));
        (less, both)
    }
}
