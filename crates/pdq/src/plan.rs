//! Plans: from the public shape of a query to a circuit, its cost, and what will be sent.

pub mod circuit;
mod cost;
mod flooding;
mod forecast;
mod lower;
mod measure;
mod memory;
mod schedule;

pub use circuit::{Circuit, Id, Op, Source, SourceKind, Table, Truth};
pub use cost::Cost;
pub use flooding::Flooding;
pub(crate) use lower::source_of;
use omr_protocol::Mismatch;
pub(crate) use schedule::{Schedule, Step, spent};

use crate::lock::LOCK_SYMBOLS;
use crate::{EncryptedHead, Params, PlanError, noise};
use omr_codec::Symbols;
use omr_compress::SumsShape;
use omr_protocol::sophomr::{CHECKSUM_SYMBOLS, INDEX_SYMBOLS, packing};
use omr_table::{RowCodec, RowError, Schema, Shape};
use std::ops::Range;

/// Most rows that an answer may hold.
pub const MAX_BOUND: usize = 4096;
/// The default number of rows that an answer holds.
const USUAL_BOUND: u64 = 16;

/// The bound of a query: the one that is wanted, else the usual one.
///
/// Errors: `Bound`.
pub fn bound(wanted: Option<u64>) -> Result<usize, PlanError> {
    let wanted = wanted.unwrap_or(USUAL_BOUND);
    let found = usize::try_from(wanted).unwrap_or(usize::MAX);
    if (1..=MAX_BOUND).contains(&found) {
        Ok(found)
    } else {
        Err(PlanError::Bound(found))
    }
}

/// Truth tables tried: the widest that a digit may have.
const RADICES: [usize; 12] = [2, 3, 4, 6, 8, 11, 16, 24, 32, 64, 128, 256];

/// The plan of a query, on which server and client agree before it is encrypted. Both make it from
/// public data alone.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The public part of the query.
    pub shape: Shape,
    /// Most rows that the answer can hold.
    pub bound: usize,
    /// The circuit that is computed on each block.
    pub circuit: Circuit,
    /// The level that constants are encrypted at: deep circuits begin higher in the chain.
    pub start: usize,
    /// The pieces of a row of the answer: one piece for a table in the clear, one for each column of an encrypted table.
    pub pieces: Vec<Piece>,
    /// Blocks of rows.
    pub blocks: usize,
    /// Predicted noise of the index: log2 of the root mean square embedding, at the level that is compressed.
    pub noise: f64,
    /// The flooding noise in sets with two-sided privacy, and how well it hides the rest of the
    /// table from the client; `None` in other sets.
    pub flooding: Option<Flooding>,
    /// The masks that constants are multiplied with.
    pub(crate) masks: Masks,
    /// The predicted cost of the answer.
    pub cost: Cost,
}

/// The masks that encrypted constants are multiplied with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Masks {
    /// Masks of a table in the clear.
    Clear,
    /// Masks of an encrypted table.
    Encrypted,
}

impl Plan {
    /// The cheapest circuit that the parameters have the depth for.
    ///
    /// Errors: a bound of 0 or too large; a shape that does not fit the schema; no circuit shallow enough.
    pub fn new(
        params: &Params,
        schema: &Schema,
        shape: &Shape,
        bound: usize,
    ) -> Result<Self, PlanError> {
        check(schema, shape, bound)?;
        let pieces = vec![Piece::new(schema, &shape.select)?];
        let blocks = blocks(params, schema);
        let sums = sums(params, bound, &pieces);
        let mut found: Option<Plan> = None;
        let mut shallowest = usize::MAX;
        for widest in RADICES {
            let circuit = lower::lower(schema, &shape.filter, widest);
            let depth = circuit.depth();
            shallowest = shallowest.min(depth);
            let Some((start, noise)) = settle(params, &circuit) else {
                continue;
            };
            let cost = Cost::new(params, &circuit, start, blocks, sums);
            if found
                .as_ref()
                .is_none_or(|best| cost.transforms < best.cost.transforms)
            {
                found = Some(Plan {
                    shape: shape.clone(),
                    bound,
                    circuit,
                    start,
                    pieces: pieces.clone(),
                    blocks,
                    noise,
                    flooding: None,
                    masks: Masks::Clear,
                    cost,
                });
            }
        }
        let mut plan = found.ok_or(PlanError::Depth(Mismatch::new(params.depth(), shallowest)))?;
        plan.flooding = Flooding::new(params, &plan);
        Ok(plan)
    }

    /// Whether the client learns no more than the result (see [`Flooding`]); otherwise only the server learns nothing.
    pub fn two_sided(&self) -> bool {
        self.flooding.is_some()
    }

    /// The plan of a query to an encrypted table. Its masks settle radices and where the chain is entered; a row has a
    /// piece a column.
    ///
    /// Errors: as [`Plan::new`]; a head that no table has; a pattern that the table has no fingerprints of.
    pub fn encrypted(
        params: &Params,
        head: &EncryptedHead,
        shape: &Shape,
        bound: usize,
    ) -> Result<Self, PlanError> {
        // The head comes from the server.
        head.check(params)?;
        let schema = &head.schema;
        check(schema, shape, bound)?;
        let circuit = lower::lower(schema, &shape.filter, head.radix);
        for source in &circuit.sources {
            head.place(shape, source)
                .ok_or_else(|| PlanError::NotIndexed(schema.columns[source.column].name.clone()))?;
        }
        // The last product is that with the symbols of rows.
        let (expected, found) = (head.depth - 1, circuit.depth());
        if found > expected {
            return Err(PlanError::Depth(Mismatch::new(expected, found)));
        }
        let start = head.start(params);
        let noise = forecast::index(params, &circuit, start, Masks::Encrypted);
        let limit = noise::last(params.spec());
        if noise > limit {
            return Err(PlanError::Noise(Mismatch::new(limit, noise)));
        }
        let columns = shape.select.iter();
        let pieces: Vec<Piece> = columns
            .map(|&column| Piece::new(schema, &[column]))
            .collect::<Result<_, _>>()?;
        let blocks = blocks(params, schema);
        let cost = Cost::new(
            params,
            &circuit,
            start,
            blocks,
            sums(params, bound, &pieces),
        );
        Ok(Plan {
            shape: shape.clone(),
            bound,
            circuit,
            start,
            pieces,
            blocks,
            noise,
            flooding: None,
            masks: Masks::Encrypted,
            cost,
        })
    }

    /// The sums of a group of the answer.
    pub fn sums(&self, params: &Params) -> SumsShape {
        sums(params, self.bound, &self.pieces)
    }

    /// Groups of blocks; each has sums of its own.
    pub fn groups(&self, params: &Params) -> usize {
        self.blocks.div_ceil(params.nodes.batches())
    }

    /// The group of a block.
    pub(crate) fn group_of(&self, params: &Params, block: usize) -> usize {
        block / params.nodes.batches()
    }

    /// The blocks of a group.
    pub fn blocks_of(&self, params: &Params, group: usize) -> Range<usize> {
        let start = group * params.nodes.batches();
        start..(start + params.nodes.batches()).min(self.blocks)
    }

    /// Predicted noise of a packed coefficient of the largest group: log2 of its root mean square.
    pub(crate) fn compressed(&self, params: &Params) -> f64 {
        let blocks = self.blocks_of(params, 0).len();
        let width = self.sums(params).width();
        let index = self.noise - (params.slots() as f64).log2() / 2.0;
        let start = omr_rlwe::noise::add(index, params.switches(width));
        noise::packed(params.spec(), start, width, blocks)
    }

    /// The level of a value in the chain.
    pub fn level(&self, id: Id) -> usize {
        self.start + self.circuit.levels[id]
    }
}

/// Bytes that come as symbols and a checksum of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The columns.
    pub columns: Vec<usize>,
    /// Bytes of their values.
    pub bytes: usize,
}

impl Piece {
    pub(crate) fn new(schema: &Schema, columns: &[usize]) -> Result<Self, RowError> {
        Ok(Self {
            columns: columns.to_vec(),
            bytes: RowCodec::new(schema, columns)?.bytes(),
        })
    }

    /// How its bytes become symbols.
    pub(crate) fn code(&self, params: &Params) -> Symbols {
        packing(params.p().value(), self.bytes, false).expect("rows are short")
    }

    /// Symbols with those of the checksum.
    pub(crate) fn symbols(&self, params: &Params) -> usize {
        self.code(params).count() + CHECKSUM_SYMBOLS
    }
}

/// Symbols of a row's key, between those of the index and those of the row.
pub(crate) fn locks(params: &Params) -> usize {
    if params.two_sided() { LOCK_SYMBOLS } else { 0 }
}

/// Errors: a bound of 0 or too large; a shape that does not fit the schema.
fn check(schema: &Schema, shape: &Shape, bound: usize) -> Result<(), PlanError> {
    if !(1..=MAX_BOUND).contains(&bound) {
        return Err(PlanError::Bound(bound));
    }
    Ok(shape.check(schema)?)
}

/// Blocks of a table; at least one.
fn blocks(params: &Params, schema: &Schema) -> usize {
    (schema.rows as usize).div_ceil(params.slots()).max(1)
}

/// The sums of rows of these pieces.
fn sums(params: &Params, bound: usize, pieces: &[Piece]) -> SumsShape {
    let symbols: usize = pieces.iter().map(|piece| piece.symbols(params)).sum();
    let shape = SumsShape::new(
        params.spec().small_n,
        bound,
        INDEX_SYMBOLS + locks(params) + symbols,
    );
    shape.expect("bound and symbols are not 0")
}

/// Where the chain is entered so that the index arrives quiet enough, as late as possible; and its noise then.
fn settle(params: &Params, circuit: &Circuit) -> Option<(usize, f64)> {
    let latest = params.depth().checked_sub(circuit.depth())?;
    let limit = noise::last(params.spec());
    (0..=latest).rev().find_map(|start| {
        let noise = forecast::index(params, circuit, start, Masks::Clear);
        (noise <= limit).then_some((start, noise))
    })
}
