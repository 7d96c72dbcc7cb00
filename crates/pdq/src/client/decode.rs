//! From an answer to rows.

use super::Client;
use crate::{Answer, Plan, lock, plan};
use omr_codec::{Nodes, Solver, Symbols};
use omr_compress::Phases;
use omr_protocol::Placement;
use omr_protocol::plan::{INDEX_SYMBOLS, checksum, packing};
use omr_table::{RowCodec, Value};

/// Rows of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Numbers of the rows in the table, ascending; none with two-sided privacy, where rows come in random order.
    pub numbers: Vec<u64>,
    /// For each of them the columns asked for.
    pub values: Vec<Vec<Value>>,
}

/// An answer that does not decode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// More rows match than the answer holds.
    #[error(
        "{found} rows match, the answer holds {bound}: ask again with a bound of at least {found}, or a narrower condition"
    )]
    Overflow {
        /// The bound.
        bound: usize,
        /// Rows that match.
        found: u64,
    },
    /// The answer is one to another query.
    #[error("expected {expected} of an answer, found {found}: it is the answer to another query")]
    Shape {
        /// What the plan says.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The answer is under another key.
    #[error("expected an answer under key {expected}, found one under {found}")]
    Key {
        /// Her key.
        expected: String,
        /// The answer's.
        found: String,
    },
    /// Sums that no set of rows has: the wrong key, another table, or a server that does not compute what it should.
    #[error("the answer does not decode: {0}")]
    Code(#[from] omr_codec::DecodeError),
    /// A row that fails its checksum.
    #[error(
        "row {number} fails its checksum: wrong key, damaged answer, or another table than the schema says"
    )]
    Checksum {
        /// The row; with two-sided privacy its place in the answer.
        number: u64,
    },
    /// A row whose bytes are no values.
    #[error(transparent)]
    Row(#[from] omr_table::RowError),
    /// Ciphertexts of another shape.
    #[error(transparent)]
    Phases(#[from] omr_compress::PhasesError),
}

impl Client<'_> {
    /// The rows of an answer. What comes of it is for the client alone: whoever sends crafted answers and hears how they
    /// decode learns of her secret.
    ///
    /// Errors: `Overflow` with the true number of rows; `Key`, `Shape`, `Phases`; `Code` and `Checksum` where the answer
    /// is no honest one.
    pub fn decode(&self, plan: &Plan, answer: &Answer) -> Result<Rows, DecodeError> {
        let params = self.params;
        if answer.key_id != self.secret.id {
            let hex = |id: &[u8]| crate::hex(id);
            return Err(DecodeError::Key {
                expected: hex(&self.secret.id),
                found: hex(&answer.key_id),
            });
        }
        let shape = plan.sums(params);
        let groups = plan.groups(params);
        if answer.groups.len() != groups {
            return Err(DecodeError::Shape {
                expected: format!("{groups} groups"),
                found: format!("{}", answer.groups.len()),
            });
        }
        let found = answer.placement.is_some();
        if found == params.two_sided() {
            let said = |placement| format!("{} placement", if placement { "a" } else { "no" });
            return Err(DecodeError::Shape {
                expected: said(!found),
                found: said(found),
            });
        }
        let phases = Phases::new(params.compression(), self.secret.last(params));
        let reader = Reader {
            client: self,
            plan,
            placement: answer.placement.as_ref(),
            codec: RowCodec::new(self.schema, &plan.shape.select)?,
            code: packing(params.p().value(), plan.row_bytes, false).expect("a plan's rows pack"),
        };
        let sums: Vec<Vec<Vec<u32>>> = answer
            .groups
            .iter()
            .map(|packed| phases.sums(shape, packed))
            .collect::<Result<_, _>>()?;
        reader.check_count(&sums)?;
        let mut rows: Vec<(u64, Vec<Value>)> = Vec::new();
        for (group, sums) in sums.iter().enumerate() {
            reader.group(group, sums, &mut rows)?;
        }
        rows.sort_by_key(|(label, _)| *label);
        let (mut numbers, values): (Vec<u64>, _) = rows.into_iter().unzip();
        if params.two_sided() {
            numbers.clear();
        }
        Ok(Rows { numbers, values })
    }
}

struct Reader<'a> {
    client: &'a Client<'a>,
    plan: &'a Plan,
    placement: Option<&'a [u8; 32]>,
    codec: RowCodec,
    code: Symbols,
}

impl Reader<'_> {
    /// The sums of x^0 count rows: a group has fewer than p.
    fn check_count(&self, sums: &[Vec<Vec<u32>>]) -> Result<(), DecodeError> {
        let found: u64 = sums.iter().map(|sums| u64::from(sums[0][0])).sum();
        let over = sums
            .iter()
            .any(|sums| sums[0][0] as usize > self.plan.bound);
        match over {
            true => Err(DecodeError::Overflow {
                bound: self.plan.bound,
                found,
            }),
            false => Ok(()),
        }
    }

    fn group(
        &self,
        group: usize,
        sums: &[Vec<u32>],
        rows: &mut Vec<(u64, Vec<Value>)>,
    ) -> Result<(), DecodeError> {
        let params = self.client.params;
        let (nodes, slots): (&Nodes, usize) = (&params.nodes, params.slots());
        // Sums of x^e for e < bound, and with the last of x^(e+1) those for e = bound.
        let mut powers = sums[0].clone();
        powers.extend(sums[1].last());
        let mut search = nodes.search(&powers, self.plan.bound)?;
        let all: Vec<u32> = (0..slots as u32).collect();
        for batch in 0..self.plan.blocks_of(params, group).len() {
            search.batch(batch, &all);
        }
        let support = search.finish();
        let found = support.count()?;
        let solver = Solver::new(nodes.field(), support.nodes(), self.plan.bound);
        let mut columns: Vec<Vec<u32>> = Vec::new();
        for sums in &sums[INDEX_SYMBOLS..] {
            columns.push(solver.solve(sums)?);
        }
        for i in 0..found {
            let label = support.labels()[i] as usize;
            let symbols: Vec<u32> = columns.iter().map(|column| column[i]).collect();
            let block = group * params.nodes.batches() + label / slots;
            let number = self.label(block, label % slots);
            rows.push((number, self.row(number, symbols)?));
        }
        Ok(())
    }

    /// The values of a row. `symbols`: its key where it has one, its bytes and their checksum.
    fn row(&self, number: u64, mut symbols: Vec<u32>) -> Result<Vec<Value>, DecodeError> {
        let params = self.client.params;
        let (key, symbols) = symbols.split_at_mut(plan::locks(params));
        if params.two_sided() {
            lock::unlock(key, number, params.p(), symbols);
        }
        let (body, sum) = symbols.split_at(self.code.count());
        let damaged = || DecodeError::Checksum { number };
        let payload = self.code.unpack(body).map_err(|_| damaged())?;
        match sum == checksum(number, &payload, params.p().value()) {
            true => Ok(self.codec.decode(&payload)?),
            false => Err(damaged()),
        }
    }

    /// The number of the row in a slot; with two-sided privacy the place.
    fn label(&self, block: usize, slot: usize) -> u64 {
        let slots = self.client.params.slots();
        let place = |seed| Placement::new(seed, block, slots).messages()[slot];
        let within = self.placement.map_or(slot as u32, place);
        (block * slots) as u64 + u64::from(within)
    }
}
