//! The file of an encrypted table.

use super::{EncryptedBlock, EncryptedHead, EncryptedTable};
use crate::{Params, TableFileError};
use omr_protocol::Mismatch;
use omr_protocol::frame::{FrameHeader, FrameReader, FrameWriter, Kind};
use omr_protocol::key_file::{read_poly, row_bytes, write_poly};
use omr_ring::Basis;
use std::io::{Read, Write};
use std::sync::Arc;

/// Longest public part, in bytes.
const MAX_HEAD_BYTES: u64 = 1 << 21;

/// Bodies of a block: masks and symbols, each with its primes and number.
struct Contents<'a> {
    masks: (&'a Basis, usize),
    symbols: (&'a Basis, usize),
    blocks: usize,
}

impl<'a> Contents<'a> {
    fn new(params: &'a Params, head: &EncryptedHead) -> Result<Self, TableFileError> {
        let slots = params.slots() as u64;
        Ok(Self {
            masks: (params.chain.basis(head.start(params)), head.first_masks().1),
            symbols: (
                params.chain.basis(params.last_level() - 1),
                head.first_symbols(params)?.1,
            ),
            blocks: head.schema.rows.div_ceil(slots).max(1) as usize,
        })
    }

    fn bytes(&self, params: &Params) -> u64 {
        let poly = |basis: &Basis| -> u64 {
            let row = |&id: &usize| row_bytes(&params.ring, id) as u64;
            basis.ids().iter().map(row).sum()
        };
        let of = |(basis, count): (&Basis, usize)| poly(basis).saturating_mul(count as u64);
        of(self.masks)
            .saturating_add(of(self.symbols))
            .saturating_mul(self.blocks as u64)
    }
}

impl EncryptedHead {
    /// Returns how many bytes the encrypted rows of a table with this head take, which is all of its file but some
    /// thousand bytes.
    ///
    /// Errors: those of [`EncryptedHead::check`]; a row too long.
    pub fn table_bytes(&self, params: &Params) -> Result<u64, TableFileError> {
        self.check(params)?;
        Ok(Contents::new(params, self)?.bytes(params))
    }
}

impl EncryptedTable {
    /// Writes the file: length of the public part, the public part as JSON, both seeds, bodies block by block.
    pub fn write(&self, params: &Params, out: impl Write) -> Result<(), TableFileError> {
        let head = serde_json::to_vec(&self.head).map_err(TableFileError::Head)?;
        let contents = Contents::new(params, &self.head)?;
        let header = FrameHeader::new(Kind::PdqTable, params.name(), self.key_id);
        let bytes = 8 + head.len() as u64 + 64 + contents.bytes(params);
        let mut frame = FrameWriter::new(out, &header, bytes)?;
        frame.write_all(&(head.len() as u64).to_le_bytes())?;
        frame.write_all(&head)?;
        frame.write_all(&self.seed)?;
        frame.write_all(&self.placement)?;
        for block in &self.blocks {
            for body in block.masks.iter().chain(&block.symbols) {
                write_poly(&params.ring, body, &mut frame)?;
            }
        }
        frame.finish()?;
        Ok(())
    }

    /// Reads the file of at most `max_bytes`.
    ///
    /// Errors: `Frame` (damage, another kind of file, other parameters), `Length`, `Head`, `Plan`, `Part`.
    pub fn read(params: &Params, from: impl Read, max_bytes: u64) -> Result<Self, TableFileError> {
        let frame = FrameReader::read_header(from, Kind::PdqTable, max_bytes)?;
        frame.header().expect_params(params.name())?;
        Self::read_body(params, frame)
    }

    /// Reads the file of at most `max_bytes`, with the parameters that it names.
    ///
    /// Errors: `Params` (unknown parameters), and those of [`Self::read`].
    pub fn read_any(
        from: impl Read,
        max_bytes: u64,
    ) -> Result<(Arc<Params>, Self), TableFileError> {
        let frame = FrameReader::read_header(from, Kind::PdqTable, max_bytes)?;
        let params = Params::named(&frame.header().params_id)?;
        let table = Self::read_body(&params, frame)?;
        Ok((params, table))
    }

    fn read_body(
        params: &Params,
        mut frame: FrameReader<impl Read>,
    ) -> Result<Self, TableFileError> {
        let mut length = [0; 8];
        frame.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEAD_BYTES {
            return Err(TableFileError::Length(Mismatch::new(
                MAX_HEAD_BYTES,
                length,
            )));
        }
        let mut head = vec![0; length as usize];
        frame.read_exact(&mut head)?;
        let head: EncryptedHead = serde_json::from_slice(&head).map_err(TableFileError::Head)?;
        head.check(params)?;
        let contents = Contents::new(params, &head)?;
        let expected = (8 + length + 64).saturating_add(contents.bytes(params));
        if frame.body_len() != expected {
            return Err(TableFileError::Length(Mismatch::new(
                expected,
                frame.body_len(),
            )));
        }
        let (mut seed, mut placement) = ([0; 32], [0; 32]);
        frame.read_exact(&mut seed)?;
        frame.read_exact(&mut placement)?;
        let mut blocks = Vec::new();
        for _ in 0..contents.blocks {
            let mut read = |(basis, count): (&Basis, usize)| {
                (0..count)
                    .map(|_| Ok(read_poly(&params.ring, basis, &mut frame)?))
                    .collect::<Result<Vec<_>, TableFileError>>()
            };
            let masks = read(contents.masks)?;
            let symbols = read(contents.symbols)?;
            blocks.push(EncryptedBlock { masks, symbols });
        }
        let key_id = frame.finish()?.key_id;
        Ok(Self {
            key_id,
            head,
            seed,
            placement,
            blocks,
        })
    }
}
