//! Rows as symbols to compress.

use super::Server;
use super::numbers::Layout;
use crate::{Plan, ServerError};
use omr_codec::Symbols;
use omr_protocol::plan::{INDEX_SYMBOLS, checksum};
use omr_table::RowCodec;
use rayon::prelude::*;

pub(super) struct RowSymbols<'a> {
    server: &'a Server<'a>,
    count: usize,
    codec: RowCodec,
    code: Symbols,
}

impl<'a> RowSymbols<'a> {
    pub(super) fn new(server: &'a Server, plan: &Plan) -> Result<Self, ServerError> {
        let params = server.params;
        Ok(Self {
            server,
            count: plan.sums(params).symbols(),
            codec: RowCodec::new(server.table.schema(), &plan.shape.select)?,
            code: plan.pieces[0].code(params),
        })
    }

    /// The symbols of the rows of block `block`, number `batch` of its group: one column each.
    pub(super) fn columns(
        &self,
        layout: &Layout,
        batch: usize,
        block: usize,
    ) -> Result<Vec<Vec<u32>>, ServerError> {
        let params = self.server.params;
        let placement = layout.placement(block);
        let rows = layout.rows(block);
        let mut by_row = vec![0u32; rows.len() * self.count];
        by_row
            .par_chunks_mut(self.count)
            .zip(rows.clone().into_par_iter())
            .zip(placement.slots())
            .try_for_each_init(
                || vec![0; self.codec.bytes()],
                |bytes, ((symbols, row), &slot)| -> Result<(), ServerError> {
                    self.codec.encode(self.server.table, row, bytes)?;
                    symbols[0] = 1;
                    symbols[1] = params.nodes.node(batch, slot as usize);
                    let (body, sum) = symbols[INDEX_SYMBOLS..].split_at_mut(self.code.count());
                    self.code.pack(bytes, body)?;
                    sum.copy_from_slice(&checksum(row as u64, bytes, params.p().value()));
                    Ok(())
                },
            )?;
        let column = |symbol: usize| {
            let mut column = vec![0; params.slots()];
            for (value, symbols) in column.iter_mut().zip(by_row.chunks(self.count)) {
                *value = symbols[symbol];
            }
            column
        };
        Ok((0..self.count).into_par_iter().map(column).collect())
    }
}
