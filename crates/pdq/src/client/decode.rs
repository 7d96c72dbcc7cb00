//! From an answer to rows.

use super::Client;
use crate::compress::marked;
use crate::{Answer, Plan, lock, plan};
use omr_codec::Symbols;
use omr_compress::Phases;
use omr_marks::publish;
use omr_protocol::Mismatch;
use omr_protocol::Placement;
use omr_protocol::sophomr::{CHECKSUM_SYMBOLS, checksum};
use omr_table::{RowCodec, Schema, Value};

/// Rows of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Numbers of the rows in the table, ascending; empty where the server keeps them to itself.
    pub numbers: Vec<u64>,
    /// The values of each row, one for each column asked for.
    pub values: Vec<Vec<Value>>,
}

impl Rows {
    /// The rows with the columns that were asked for.
    ///
    /// Panics: no such column.
    pub fn of_columns(self, schema: &Schema, select: &[usize]) -> omr_table::Rows {
        let columns = select.iter().map(|&column| schema.columns[column].clone());
        omr_table::Rows {
            columns: columns.collect(),
            // With two-sided privacy the server keeps numbers to itself.
            numbers: (self.numbers.len() == self.values.len()).then_some(self.numbers),
            rows: self.values,
        }
    }
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
    /// More rows match than there are: the wrong key, another table, or a damaged answer.
    #[error("expected at most the {} rows of the table to match, found {}: wrong key, damaged answer, or another table", .0.expected, .0.found)]
    Count(Mismatch<u64>),
    /// The answer is one to another query.
    #[error("expected {} of an answer, found {}: it is the answer to another query", .0.expected, .0.found)]
    Shape(Mismatch<String>),
    /// The answer is under another key.
    #[error("expected an answer under key {}, found one under {}", .0.expected, .0.found)]
    Key(Mismatch<String>),
    /// Sums that no set of rows has: the wrong key, another table, or a server that does not compute what it should.
    #[error("the answer does not decode: {0}")]
    Code(#[from] omr_codec::DecodeError),
    /// This row fails its checksum.
    #[error(
        "row {0} fails its checksum: wrong key, damaged answer, or another table than the schema says"
    )]
    Checksum(u64),
    /// A row whose bytes are no values.
    #[error(transparent)]
    Row(#[from] omr_table::RowError),
    /// Ciphertexts of another shape.
    #[error(transparent)]
    Packed(#[from] omr_compress::PackedError),
}

impl Client<'_> {
    /// The rows of an answer.
    ///
    /// Errors: `Overflow` with the true number of rows; `Key`, `Shape`, `Packed`; `Code` and `Checksum` where the answer
    /// is no honest one.
    pub fn decode(&self, plan: &Plan, answer: &Answer) -> Result<Rows, DecodeError> {
        let params = self.params;
        if answer.key_id != self.secret.id {
            return Err(DecodeError::Key(Mismatch::new(
                omr_protocol::hex(&self.secret.id),
                omr_protocol::hex(&answer.key_id),
            )));
        }
        let shape = plan.sums(params);
        let groups = plan.groups(params);
        if answer.groups.len() != groups {
            return Err(DecodeError::Shape(Mismatch::new(
                format!("{groups} groups"),
                format!("{}", answer.groups.len()),
            )));
        }
        let phases = Phases::new(
            params.compression().packing.last(),
            self.secret.last(params),
        );
        let reader = Reader {
            client: self,
            plan,
            placement: answer.placement.as_ref(),
            pieces: plan
                .pieces
                .iter()
                .map(|piece| {
                    Ok((
                        RowCodec::new(self.schema, &piece.columns)?,
                        piece.code(params),
                    ))
                })
                .collect::<Result<_, omr_table::RowError>>()?,
        };
        let mut sums: Vec<Vec<Vec<u32>>> = answer
            .groups
            .iter()
            .map(|packed| phases.sums(shape, packed))
            .collect::<Result<_, _>>()?;
        // From here on time depends on the rows found, which only their reader acts on.
        for row in sums.iter_mut().flatten() {
            publish(row);
        }
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
    /// How the bytes of each piece are read, and its symbols.
    pieces: Vec<(RowCodec, Symbols)>,
}

impl Reader<'_> {
    /// The sums of x^0 count rows: a group has fewer than p.
    fn check_count(&self, sums: &[Vec<Vec<u32>>]) -> Result<(), DecodeError> {
        let found: u64 = sums.iter().map(|sums| u64::from(sums[0][0])).sum();
        let over = sums
            .iter()
            .any(|sums| sums[0][0] as usize > self.plan.bound);
        let rows = self.client.schema.rows;
        if found > rows {
            return Err(DecodeError::Count(Mismatch::new(rows, found)));
        }
        if over {
            Err(DecodeError::Overflow {
                bound: self.plan.bound,
                found,
            })
        } else {
            Ok(())
        }
    }

    fn group(
        &self,
        group: usize,
        sums: &[Vec<u32>],
        rows: &mut Vec<(u64, Vec<Value>)>,
    ) -> Result<(), DecodeError> {
        let params = self.client.params;
        let batches = self.plan.blocks_of(params, group).len();
        for row in marked(params, batches, self.plan.bound, sums)? {
            let block = group * params.nodes.batches() + row.batch;
            let number = self.label(block, row.slot);
            rows.push((number, self.row(number, row.symbols)?));
        }
        Ok(())
    }

    /// The values of a row. `symbols`: its key where it has one, its pieces and their checksums.
    fn row(&self, number: u64, mut symbols: Vec<u32>) -> Result<Vec<Value>, DecodeError> {
        let params = self.client.params;
        let (key, mut symbols) = symbols.split_at_mut(plan::locks(params));
        if params.two_sided() {
            lock::unlock(key, number, params.p(), symbols);
        }
        let mut values = Vec::new();
        for (codec, code) in &self.pieces {
            let (body, rest) = symbols.split_at_mut(code.count());
            let (sum, rest) = rest.split_at_mut(CHECKSUM_SYMBOLS);
            symbols = rest;
            let bytes = code
                .unpack(body)
                .map_err(|_| DecodeError::Checksum(number))?;
            if sum != checksum(number, &bytes, code) {
                return Err(DecodeError::Checksum(number));
            }
            values.extend(codec.decode(&bytes)?);
        }
        Ok(values)
    }

    /// The number of the row in a slot; with two-sided privacy the place.
    fn label(&self, block: usize, slot: usize) -> u64 {
        let slots = self.client.params.slots();
        let place = |seed| Placement::new(seed, block, slots).messages()[slot];
        let within = self.placement.map_or(slot as u32, place);
        (block * slots) as u64 + u64::from(within)
    }
}
