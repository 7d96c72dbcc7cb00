//! The compression of pertinency vectors to a digest.

use super::blocks::Blocks;
use super::pack::pack;
use super::rows::{BundleRows, LeafRows, TILE};
use super::sums::{GROUP, Scratch, Sums};
use super::{Bundles, PaperError, Pertinency, RowShape, RowSource, check_stopped};
use crate::clear::{DetectionKey, Params};
use omr_bgv::{Expander, GaloisKey};
use omr_compress::finish;
use omr_detector::{Progress, Stages};
use omr_protocol::Mismatch;
use omr_protocol::PackedCiphertext;
use omr_rlwe::{Rlwe, SharedKey};
use rayon::prelude::*;
use std::time::Instant;

/// The default limit for bytes of rows in memory.
const ROW_BYTES: usize = 1 << 30;

/// The number of levels of a block that are expanded before its subtrees are distributed to threads.
const SPLIT: usize = 3;

/// The smallest number of leaves in a block.
const LEAST: usize = 64;

/// A computation of the sums `sum_j PV_j row_j` over the bundles of all batches.
pub struct Compressor<'a> {
    params: &'a Params,
    expansion: &'a [GaloisKey],
    last: &'a SharedKey,
    bundles: Bundles,
    shape: RowShape,
    row_bytes: usize,
    sums: Sums,
    stages: Stages,
}

impl<'a> Compressor<'a> {
    /// Prepares a digest of this shape.
    ///
    /// Errors: `NoExpansion` if the key lacks the automorphisms; `Empty` if the shape has no sums.
    pub fn new(
        params: &'a Params,
        key: &'a DetectionKey,
        bundles: Bundles,
        shape: RowShape,
    ) -> Result<Self, PaperError> {
        Self::with_keys(params, &key.merge, &key.last, bundles, shape)
    }

    pub(crate) fn with_keys(
        params: &'a Params,
        expansion: &'a [GaloisKey],
        last: &'a SharedKey,
        bundles: Bundles,
        shape: RowShape,
    ) -> Result<Self, PaperError> {
        if params.circuit().least_width > 1 {
            let found = params.name();
            return Err(PaperError::NoExpansion(found));
        }
        if shape.positions() == 0 {
            return Err(PaperError::Empty);
        }
        Ok(Self {
            params,
            expansion,
            last,
            bundles,
            shape,
            row_bytes: ROW_BYTES,
            sums: Sums::new(params, shape.ciphertexts(params.small.n())),
            stages: Stages::default(),
        })
    }

    /// Limits the bytes of rows in memory, as far as blocks of at least 64 leaves allow. Half the limit doubles
    /// the products modulo p.
    pub fn with_row_bytes(self, row_bytes: usize) -> Self {
        Self { row_bytes, ..self }
    }

    /// Returns the seconds of each stage. Expansion and products run side by side and share the time that
    /// passed.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Returns the number of blocks that the leaves of a batch are divided into.
    fn blocks(&self) -> usize {
        let leaves = self.bundles.count();
        let bytes = self.shape.positions().div_ceil(TILE) * TILE * size_of::<u32>();
        let mut count = (leaves / self.params.small.n()).max(1);
        while leaves / count * bytes > self.row_bytes && leaves / count > LEAST {
            count *= 2;
        }
        count
    }

    /// Adds the bundles of a batch.
    ///
    /// Errors: `Parts`; `Position` and `Residue` of `rows`; `Stopped`. Nothing was added if rows are refused;
    /// after `Stopped` the sums are useless.
    pub fn add_batch(
        &mut self,
        pertinency: &Pertinency,
        rows: &RowSource,
        progress: &dyn Progress,
    ) -> Result<(), PaperError> {
        let params = self.params;
        let (expected, found) = (params.slots() / params.small.n(), pertinency.parts.len());
        if expected != found {
            return Err(PaperError::Parts(Mismatch::new(expected, found)));
        }
        let bundle_rows = self.stages.time("reading", || {
            BundleRows::read(params, &self.bundles, self.shape, rows)
        })?;
        let blocks = Blocks::new(params, &self.bundles, self.blocks())?;
        let expander = expander(params, self.expansion);
        let mut factors = vec![self.unit(pertinency.scale, blocks.len); self.bundles.count()];
        // Fresh pages are expensive: all blocks use the same ones.
        let mut leaf_rows = LeafRows::default();
        progress.stage("expansion", blocks.count as u64);
        for beta in 0..blocks.count {
            self.stages.time("rows", || {
                bundle_rows.leaves(params, &blocks, &factors, &mut leaf_rows);
            });
            let (part, level, number) = blocks.root(beta, self.bundles.size(), expected);
            let node = expander.node(&pertinency.parts[part], level, number);
            let started = Instant::now();
            let (mut expansion, mut products) = (0.0, 0.0);
            for (sums, seconds) in self.block(&expander, node, level, &leaf_rows) {
                self.sums.add(params, &sums);
                expansion += seconds[0];
                products += seconds[1];
            }
            // Threads work side by side: the stages divide the time that passed in proportion to their work.
            let both = (expansion + products).max(f64::MIN_POSITIVE);
            let passed = started.elapsed().as_secs_f64() / both;
            self.stages.count("expansion", passed * expansion);
            self.stages.count("products", passed * products);
            let next = factors.iter_mut().zip(&blocks.roots);
            next.for_each(|(factor, &root)| *factor = params.p().mul(*factor, root));
            progress.advance(1);
            check_stopped(progress)?;
        }
        Ok(())
    }

    /// Returns the factor of all rows: v, the transform's length, and the inverse of the scales that sums
    /// collect before and after.
    fn unit(&self, scale: u64, transform: usize) -> u64 {
        let (params, p) = (self.params, self.params.p());
        let expansion = p.reduce(params.small.n() as u64);
        let gathered = p.mul(
            p.mul(scale, expansion),
            finish::gathered_scale(params.compression().packing),
        );
        let wanted = p.reduce((self.bundles.size() * transform) as u64);
        p.mul(wanted, p.inv(gathered))
    }

    /// Returns the sums of a block's subtrees, which are distributed to the threads, each with its seconds of
    /// expansion and of products.
    fn block(
        &self,
        expander: &Expander,
        node: Rlwe,
        level: usize,
        rows: &LeafRows,
    ) -> Vec<(Sums, [f64; 2])> {
        let params = self.params;
        let split = SPLIT.min(expander.levels() - level);
        let leaves = 1 << (expander.levels() - level - split);
        let work = |(task, node): (usize, Rlwe)| {
            let (started, mut products) = (Instant::now(), 0.0);
            let mut sums = Sums::new(params, self.sums.ciphertexts().len());
            let mut scratch = Scratch::new(params);
            let mut group = Vec::with_capacity(GROUP);
            let mut place = task * leaves;
            expander.leaves(node, level + split, &mut |leaf| {
                group.push(leaf);
                if group.len() == GROUP.min(leaves) {
                    let started = Instant::now();
                    sums.add_group(params, rows, &group, place, &mut scratch);
                    place += group.len();
                    group.clear();
                    products += started.elapsed().as_secs_f64();
                }
            });
            let expansion = started.elapsed().as_secs_f64() - products;
            (sums, [expansion, products])
        };
        let nodes = expander.below(node, level, split);
        nodes.into_par_iter().enumerate().map(work).collect()
    }

    /// Returns the sums before they are rounded, for measuring noise.
    #[cfg(test)]
    pub(crate) fn sums(&self) -> &Sums {
        &self.sums
    }

    /// Returns the digest's ciphertexts, in the ring of digests and rounded like SophOMR's. Part k of all of
    /// them together contains the sums `n' k` to `n' (k + 1)`, as far as there are any.
    pub fn finish(mut self) -> (Vec<PackedCiphertext>, Stages) {
        let (sums, last, positions) = (self.sums.ciphertexts(), self.last, self.shape.positions());
        let made = self
            .stages
            .time("packing", || pack(self.params, last, sums, positions));
        (made, self.stages)
    }
}

/// Returns an expander down to single coefficients that uses the keys of all merge levels. Merging is the
/// reverse of expansion: its first level is the last of expansion.
fn expander<'a>(params: &'a Params, merge: &'a [GaloisKey]) -> Expander<'a> {
    let keys = merge.iter().rev().collect();
    Expander::new(&params.small, &params.small_basis(), params.p(), keys)
}

#[cfg(test)]
mod tests;
