//! Plans: from the public shape of a query to a circuit, its cost, and what will be sent.

pub mod circuit;
mod cost;
mod forecast;
mod lower;

pub use circuit::{Circuit, Id, Op, Source, SourceKind, Table, Truth};
pub use cost::Cost;

use crate::{Params, PlanError, noise};
use omr_table::{RowCodec, Schema, Shape};

/// Most rows that an answer may hold.
pub const MAX_BOUND: usize = 4096;

/// Truth tables tried: the widest that a digit may have.
const RADICES: [usize; 12] = [2, 3, 4, 6, 8, 11, 16, 24, 32, 64, 128, 256];

/// What server and client agree on before a query is encrypted. Both make it from public data alone.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The public part of the query.
    pub shape: Shape,
    /// Most rows that the answer can hold.
    pub bound: usize,
    /// What is computed on each block.
    pub circuit: Circuit,
    /// The level that constants are encrypted at: deep circuits begin higher in the chain.
    pub start: usize,
    /// Bytes of a row of the answer.
    pub row_bytes: usize,
    /// Blocks of rows.
    pub blocks: usize,
    /// Predicted noise of the index: log2 of the root mean square embedding, at the level that is compressed.
    pub noise: f64,
    /// What it takes.
    pub cost: Cost,
}

impl Plan {
    /// The cheapest circuit that the parameters have the depth for.
    ///
    /// Errors: a bound of 0 or too large; a shape that does not fit the schema; no circuit shallow enough.
    pub fn new(params: &Params, schema: &Schema, shape: &Shape, bound: usize) -> Result<Self, PlanError> {
        if !(1..=MAX_BOUND).contains(&bound) {
            return Err(PlanError::Bound { found: bound });
        }
        shape.check(schema)?;
        let row_bytes = RowCodec::new(schema, &shape.select)?.bytes();
        let blocks = (schema.rows as usize).div_ceil(params.slots()).max(1);
        let mut found: Option<Plan> = None;
        let mut shallowest = usize::MAX;
        for widest in RADICES {
            let circuit = lower::lower(schema, &shape.filter, widest);
            let depth = circuit.depth();
            shallowest = shallowest.min(depth);
            let Some((start, noise)) = settle(params, &circuit) else {
                continue;
            };
            let cost = Cost::new(params, &circuit, start, (blocks, bound, row_bytes));
            if found.as_ref().is_none_or(|best| cost.transforms < best.cost.transforms) {
                found = Some(Plan {
                    shape: shape.clone(),
                    bound,
                    circuit,
                    start,
                    row_bytes,
                    blocks,
                    noise,
                    cost,
                });
            }
        }
        found.ok_or(PlanError::Depth {
            expected: params.depth(),
            found: shallowest,
        })
    }

    /// The level of a value in the chain.
    pub fn level(&self, id: Id) -> usize {
        self.start + self.circuit.levels[id]
    }
}

/// Where the chain is entered so that the index arrives quiet enough, as late as possible; and its noise then.
fn settle(params: &Params, circuit: &Circuit) -> Option<(usize, f64)> {
    let latest = params.depth().checked_sub(circuit.depth())?;
    let limit = noise::last(params.spec());
    (0..=latest).rev().find_map(|start| {
        let noise = forecast::index(params, circuit, start);
        (noise <= limit).then_some((start, noise))
    })
}
