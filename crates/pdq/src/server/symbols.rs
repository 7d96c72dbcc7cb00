//! Rows as symbols to compress.

use super::Server;
use super::numbers::{Layout, Places};
use crate::{Plan, ServerError, lock, plan};
use omr_codec::Symbols;
use omr_protocol::sophomr::{INDEX_SYMBOLS, checksum};
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
        places: &Places,
    ) -> Result<Vec<Vec<u32>>, ServerError> {
        let params = self.server.params;
        let mut by_row = vec![0u32; places.rows.len() * self.count];
        by_row
            .par_chunks_mut(self.count)
            .zip(&places.rows)
            .zip(&places.slots)
            .try_for_each_init(
                || vec![0; self.codec.bytes()],
                |bytes, ((symbols, &row), &slot)| -> Result<(), ServerError> {
                    symbols[0] = 1;
                    symbols[1] = params.nodes.node(batch, slot as usize);
                    self.codec.encode(self.server.table, row, bytes)?;
                    let label = layout.label(row, block, slot);
                    self.payload(layout, bytes, label, &mut symbols[INDEX_SYMBOLS..])
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

    /// The symbols of a row's bytes and their checksum; with two-sided privacy its key, and these under its mask.
    fn payload(
        &self,
        layout: &Layout,
        bytes: &[u8],
        label: u64,
        out: &mut [u32],
    ) -> Result<(), ServerError> {
        let params = self.server.params;
        let (key, symbols) = out.split_at_mut(plan::locks(params));
        let (body, sum) = symbols.split_at_mut(self.code.count());
        self.code.pack(bytes, body)?;
        sum.copy_from_slice(&checksum(label, bytes, &self.code));
        if let Some(hidden) = layout.hidden {
            key.copy_from_slice(&hidden.key(params, label));
            lock::lock(key, label, params.p(), symbols);
        }
        Ok(())
    }
}
