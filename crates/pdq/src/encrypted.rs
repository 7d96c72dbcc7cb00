//! Tables that the server cannot read: their owner encrypts them, and asks queries under the same secret.
//!
//! For each column that may be tested, and each digit of its numbers, a block has one encrypted *mask* for each value of
//! the digit; for each column one encrypted polynomial a symbol. Selections are then products of ciphertexts, and rows
//! are marked by one more product before they are compressed (Section IV of the paper, its "encrypted database").

mod file;
mod head;
mod server;

pub use head::{EncryptedHead, Indexed};
pub use server::EncryptedServer;

use crate::keys::random;
use crate::plan::{Piece, SourceKind};
use crate::server::{Layout, masks};
use crate::{Params, PlanError, SecretKey, ServerError};
use omr_marks::published;
use omr_protocol::sophomr::checksum;
use omr_ring::{Eval, Poly};
use omr_rlwe::{SecretPoly, encrypt, mask};
use omr_table::{RowCodec, Table};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// An encrypted table. Holds no secret.
pub struct EncryptedTable {
    /// Names the owner's keys.
    pub key_id: [u8; 16],
    /// The public head of the table.
    pub head: EncryptedHead,
    /// The seed of all masks of ciphertexts.
    pub seed: [u8; 32],
    /// The seed of where rows lie in their blocks.
    pub placement: [u8; 32],
    /// Bodies.
    blocks: Vec<EncryptedBlock>,
}

/// Bodies of a block.
struct EncryptedBlock {
    /// Bodies of masks, by entry of the head, digit and value.
    masks: Vec<Poly<Eval>>,
    /// Bodies of symbols, by column.
    symbols: Vec<Poly<Eval>>,
}

/// The index of the mask of one ciphertext of a block.
fn mask_index(block: usize, symbols: bool, place: usize) -> [u64; 3] {
    [block as u64, u64::from(symbols), place as u64]
}

impl EncryptedTable {
    /// Encrypts a table under its owner's secret.
    ///
    /// `progress` is called for each block. Errors: the errors of [`EncryptedHead::check`]; a row too long.
    pub fn encrypt(
        params: &Params,
        table: &Table,
        head: EncryptedHead,
        secret: &SecretKey,
        rng: &mut impl CryptoRng,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Self, ServerError> {
        head.check(params)?;
        let mut out = Self {
            key_id: secret.id,
            // Public: masks and slots follow from them.
            seed: published(random(rng)),
            placement: published(random(rng)),
            blocks: Vec::new(),
            head,
        };
        let large = secret.large(params);
        let [first, last] = [out.head.start(params), params.last_level() - 1]
            .map(|level| large.poly(&params.ring, params.chain.basis(level)));
        let count = table.rows().div_ceil(params.slots()).max(1);
        for block in 0..count {
            let writer = Writer {
                params,
                table,
                out: &out,
                block,
            };
            let masks = writer.masks(&first, rng);
            let symbols = writer.symbols(&last, rng)?;
            out.blocks.push(EncryptedBlock { masks, symbols });
            progress(block + 1, count);
        }
        Ok(out)
    }
}

struct Writer<'a> {
    params: &'a Params,
    table: &'a Table,
    out: &'a EncryptedTable,
    block: usize,
}

impl Writer<'_> {
    fn layout(&self) -> Layout<'_> {
        Layout {
            params: self.params,
            table: self.table,
            seed: &self.out.placement,
            hidden: None,
        }
    }

    fn body(
        &self,
        secret: &SecretPoly,
        coeffs: &[u32],
        level: usize,
        index: [u64; 3],
        rng: &mut impl CryptoRng,
    ) -> Poly<Eval> {
        let (ring, p) = (&self.params.ring, self.params.p().value());
        let basis = self.params.chain.basis(level);
        let mut message = ring.lift_plain(coeffs, p as u32, basis);
        let mask = mask(ring, basis, &self.out.seed, &index);
        let body = encrypt(ring, secret, &message, p, &mask, rng);
        message.zeroize();
        body
    }

    fn masks(&self, secret: &SecretPoly, rng: &mut impl CryptoRng) -> Vec<Poly<Eval>> {
        let level = self.out.head.start(self.params);
        let mut bodies = Vec::new();
        let places = self.layout().places(self.block);
        for source in self.out.head.sources() {
            let like = self.out.head.like(&source);
            let numbers = self.layout().numbers_of(&source, like, &places);
            for digit in 0..source.digits {
                let digits: Vec<Option<usize>> = numbers
                    .iter()
                    .map(|number| number.map(|number| source.digit(number, digit)))
                    .collect();
                for coeffs in masks(self.params, &digits, source.radix) {
                    let index = mask_index(self.block, false, bodies.len());
                    bodies.push(self.body(secret, &coeffs, level, index, rng));
                }
            }
        }
        bodies
    }

    fn symbols(
        &self,
        secret: &SecretPoly,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Poly<Eval>>, ServerError> {
        let (params, level) = (self.params, self.params.last_level() - 1);
        let (p, scale) = (params.p(), params.scale(level));
        let mut bodies = Vec::new();
        for column in 0..self.table.schema().columns.len() {
            for values in self.columns(column)? {
                let slots: Vec<u32> = values
                    .iter()
                    .map(|&x| p.mul(x.into(), scale) as u32)
                    .collect();
                let coeffs = params.plain.encode(&slots);
                let index = mask_index(self.block, true, bodies.len());
                bodies.push(self.body(secret, &coeffs, level, index, rng));
            }
        }
        Ok(bodies)
    }

    /// The symbols of a column with those of their checksum, by slot.
    fn columns(&self, column: usize) -> Result<Vec<Vec<u32>>, ServerError> {
        let params = self.params;
        let piece = Piece::new(self.table.schema(), &[column])?;
        let codec = RowCodec::new(self.table.schema(), &[column])?;
        let code = piece.code(params);
        let count = piece.symbols(params);
        let mut columns = vec![vec![0; params.slots()]; count];
        let (mut bytes, mut symbols) = (vec![0; codec.bytes()], vec![0; count]);
        let places = self.layout().places(self.block);
        for (&row, &slot) in places.rows.iter().zip(&places.slots) {
            codec.encode(self.table, row, &mut bytes)?;
            let (body, sum) = symbols.split_at_mut(code.count());
            code.pack(&bytes, body)?;
            sum.copy_from_slice(&checksum(row as u64, &bytes, &code));
            for (column, &symbol) in columns.iter_mut().zip(&symbols) {
                column[slot as usize] = symbol;
            }
        }
        Ok(columns)
    }
}

/// Whether a source is one of a pattern.
fn is_pattern(kind: &SourceKind) -> bool {
    matches!(kind, SourceKind::Like { .. })
}

impl From<PlanError> for ServerError {
    fn from(error: PlanError) -> Self {
        Self::Query(error.into())
    }
}
