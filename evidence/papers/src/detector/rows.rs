//! The rows of bundles, read once for each batch, and the rows of leaves, computed block by block.

use super::blocks::Blocks;
use super::{Bundles, PaperError};
use crate::clear::Params;
use omr_ring::{Kernels, Modulus};
use rayon::prelude::*;

/// The number of positions whose transforms are computed together, and are adjacent: a cache line of residues.
pub(crate) const TILE: usize = 16;

/// The number of bundles that are read together: a cache line of residues.
const TOGETHER: usize = 16;

/// The layout of a digest's sums: first the sums of the index, then those of the payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// The number of positions in the index part.
    pub index: usize,
    /// The number of combinations of the random linear code.
    pub combinations: usize,
    /// The number of symbols in all payloads of a bundle together.
    pub symbols: usize,
}

impl RowShape {
    /// Returns the number of all sums.
    pub fn positions(&self) -> usize {
        self.index + self.combinations * self.symbols
    }

    /// Returns the position of the sum of `combination` over `symbol` in a digest.
    pub fn payload(&self, combination: usize, symbol: usize) -> usize {
        self.index + symbol * self.combinations + combination
    }

    /// Returns the number of ciphertexts of the small ring that contain all sums.
    pub(crate) fn ciphertexts(&self, n: usize) -> usize {
        self.positions().div_ceil(n)
    }
}

/// A function that appends the positions and values of a bundle.
pub type Entries<'a> = dyn Fn(usize, &mut Vec<(u32, u32)>) + Sync + 'a;

/// A function that writes the values of a bundle.
pub type Values<'a> = dyn Fn(usize, &mut [u32]) + Sync + 'a;

/// The rows of a batch's bundles: residues modulo p.
#[derive(Clone, Copy)]
pub struct RowSource<'a> {
    /// Appends the positions and values of a bundle in the index part. Positions may repeat.
    pub index: &'a Entries<'a>,
    /// Writes the weights of a bundle, one for each combination.
    pub weights: &'a Values<'a>,
    /// Writes the symbols of a bundle's payloads.
    pub symbols: &'a Values<'a>,
}

/// The rows of one batch, value by value.
pub(crate) struct BundleRows {
    shape: RowShape,
    bundles: usize,
    /// The bundle and value of each index entry, by position; `begin` contains the first entry of each
    /// position.
    entries: Vec<(u32, u32)>,
    begin: Vec<usize>,
    weights: Vec<u32>,
    symbols: Vec<u32>,
}

impl BundleRows {
    /// Reads and checks the rows of all bundles.
    ///
    /// Errors: `Position`, `Residue`.
    pub(crate) fn read(
        params: &Params,
        bundles: &Bundles,
        shape: RowShape,
        source: &RowSource,
    ) -> Result<Self, PaperError> {
        let (p, count) = (params.p().value(), bundles.count());
        let (entries, begin) = entries(p, count, shape.index, source)?;
        Ok(Self {
            shape,
            bundles: count,
            entries,
            begin,
            weights: columns(p, count, shape.combinations, source.weights)?,
            symbols: columns(p, count, shape.symbols, source.symbols)?,
        })
    }

    /// Computes the rows of the leaves of a block. The bundles' rows are multiplied by `factors`, one for each
    /// bundle.
    pub(crate) fn leaves(
        &self,
        params: &Params,
        blocks: &Blocks,
        factors: &[u64],
        out: &mut LeafRows,
    ) {
        let (p, kernels) = (params.p(), params.small.kernels());
        let weights: Vec<u64> = self
            .weights
            .par_chunks(self.bundles)
            .flat_map_iter(|column| {
                let products = column.iter().zip(factors);
                products.map(|(&w, &f)| p.mul(w.into(), f))
            })
            .collect();
        let made = Block {
            rows: self,
            blocks,
            factors,
            weights,
            p,
            kernels,
        };
        let tiles = self.shape.positions().div_ceil(TILE);
        out.leaves = blocks.len;
        out.words.resize(tiles * blocks.len * TILE, 0);
        out.words
            .par_chunks_mut(blocks.len * TILE)
            .enumerate()
            .for_each_init(
                || Scratch::new(self.bundles, blocks.len),
                |scratch, (tile, out)| made.tile(scratch, tile, out),
            );
    }
}

/// Reads the index part and sorts it by position: bundle and value of each entry, and the first entry of each
/// position.
#[allow(clippy::type_complexity)]
fn entries(
    p: u64,
    bundles: usize,
    positions: usize,
    source: &RowSource,
) -> Result<(Vec<(u32, u32)>, Vec<usize>), PaperError> {
    let (mut all, mut row) = (Vec::new(), Vec::new());
    for bundle in 0..bundles {
        row.clear();
        (source.index)(bundle, &mut row);
        for &(position, value) in &row {
            if position as usize >= positions {
                return Err(PaperError::Position {
                    bundle,
                    positions,
                    found: position as usize,
                });
            }
            residue(p, bundle, value)?;
            all.push((position, bundle as u32, value));
        }
    }
    all.sort_unstable();
    let mut begin = vec![0; positions + 1];
    for &(position, ..) in &all {
        begin[position as usize + 1] += 1;
    }
    for i in 0..positions {
        begin[i + 1] += begin[i];
    }
    Ok((all.into_iter().map(|(_, j, x)| (j, x)).collect(), begin))
}

/// Reads the values of all bundles, column by column.
fn columns(p: u64, bundles: usize, width: usize, fill: &Values) -> Result<Vec<u32>, PaperError> {
    let mut out = vec![0; bundles * width];
    let mut rows = vec![0; TOGETHER * width];
    for first in (0..bundles).step_by(TOGETHER) {
        let together = TOGETHER.min(bundles - first);
        for i in 0..together {
            let row = &mut rows[i * width..(i + 1) * width];
            row.fill(0);
            fill(first + i, row);
            row.iter().try_for_each(|&x| residue(p, first + i, x))?;
        }
        for (s, column) in out.chunks_mut(bundles).enumerate() {
            for (i, x) in column[first..first + together].iter_mut().enumerate() {
                *x = rows[i * width + s];
            }
        }
    }
    Ok(out)
}

fn residue(p: u64, bundle: usize, value: u32) -> Result<(), PaperError> {
    if u64::from(value) < p {
        Ok(())
    } else {
        Err(PaperError::Residue {
            bundle,
            modulus: p,
            found: value.into(),
        })
    }
}

/// The inputs of the tiles of a block.
struct Block<'a> {
    rows: &'a BundleRows,
    blocks: &'a Blocks,
    factors: &'a [u64],
    /// Weights times factors, combination by combination.
    weights: Vec<u64>,
    p: &'a Modulus,
    kernels: &'static Kernels,
}

struct Scratch {
    symbol: Option<usize>,
    column: Vec<u64>,
    values: Vec<u64>,
    eval: Vec<u64>,
    coeffs: Vec<u32>,
}

impl Scratch {
    fn new(bundles: usize, len: usize) -> Self {
        Self {
            symbol: None,
            column: vec![0; bundles],
            values: vec![0; len],
            eval: vec![0; len],
            coeffs: vec![0; TILE * len],
        }
    }
}

impl Block<'_> {
    /// Writes a tile to `out`: for each leaf, in the order of the expansion, its values at the tile's
    /// positions.
    fn tile(&self, scratch: &mut Scratch, tile: usize, out: &mut [u32]) {
        let len = self.blocks.len;
        let end = self.rows.shape.positions().min((tile + 1) * TILE);
        for (i, position) in (tile * TILE..end).enumerate() {
            match position.checked_sub(self.rows.shape.index) {
                None => self.index(position, &mut scratch.values),
                Some(at) => self.payload(at, scratch),
            }
            self.kernels
                .gather(&mut scratch.eval, &scratch.values, &self.blocks.gather);
            let coeffs = &mut scratch.coeffs[i * len..(i + 1) * len];
            self.blocks
                .plain
                .interpolate_into(&mut scratch.eval, coeffs);
        }
        let columns: Vec<&[u32]> = scratch.coeffs.chunks(len).collect();
        let filled = end - tile * TILE;
        for (place, line) in out.chunks_mut(TILE).enumerate() {
            let t = self.blocks.leaf(place);
            for (x, column) in line[..filled].iter_mut().zip(&columns) {
                *x = column[t];
            }
        }
    }

    /// Computes the sums over the bundles of each kappa, at a position of the index part.
    fn index(&self, position: usize, values: &mut [u64]) {
        values.fill(0);
        let entries = self.rows.begin[position]..self.rows.begin[position + 1];
        for &(bundle, value) in &self.rows.entries[entries] {
            let sum = &mut values[self.blocks.kappa(bundle as usize)];
            let product = self.p.mul(self.factors[bundle as usize], value.into());
            *sum = self.p.add(*sum, product);
        }
    }

    /// Computes the sums over the bundles of each kappa, for combination `at % combinations` of symbol
    /// `at / combinations`.
    fn payload(&self, at: usize, scratch: &mut Scratch) {
        let (bundles, half) = (self.rows.bundles, self.blocks.len / 2);
        let (symbol, combination) = (
            at / self.rows.shape.combinations,
            at % self.rows.shape.combinations,
        );
        if scratch.symbol != Some(symbol) {
            let column = &self.rows.symbols[symbol * bundles..(symbol + 1) * bundles];
            for (x, &symbol) in scratch.column.iter_mut().zip(column) {
                *x = symbol.into();
            }
            scratch.symbol = Some(symbol);
        }
        let weights = &self.weights[combination * bundles..(combination + 1) * bundles];
        let rows = scratch.values.chunks_mut(half);
        let columns = scratch.column.chunks(bundles / 2);
        for ((out, weights), column) in rows.zip(weights.chunks(bundles / 2)).zip(columns) {
            let weights: Vec<&[u64]> = weights.chunks(half).collect();
            let column: Vec<&[u64]> = column.chunks(half).collect();
            self.kernels.dot(self.p, out, &weights, &column);
        }
    }
}

/// The rows of the leaves of one block: tile by tile, then leaf by leaf in the order of the expansion.
#[derive(Default)]
pub(crate) struct LeafRows {
    words: Vec<u32>,
    leaves: usize,
}

impl LeafRows {
    /// Writes the coefficients `first..first + n` of the plaintexts of some leaves, leaf by leaf. `first` and
    /// `n` are multiples of a tile.
    pub(crate) fn plaintexts(
        &self,
        places: std::ops::Range<usize>,
        first: usize,
        n: usize,
        out: &mut [u32],
    ) {
        let mut tiles = self.words.chunks(self.leaves * TILE).skip(first / TILE);
        for at in (0..n).step_by(TILE) {
            let tile = tiles.next();
            for (i, place) in places.clone().enumerate() {
                let to = &mut out[i * n + at..][..TILE];
                match tile {
                    Some(tile) => to.copy_from_slice(&tile[place * TILE..][..TILE]),
                    None => to.fill(0),
                }
            }
        }
    }
}
