//! Compression alone: data in the clear at the server, and one encrypted index.

use super::PdqBenchError;
use crate::measure::cpu::process_seconds;
use crate::measure::digest::timed;
use crate::measure::yardstick::Yardstick;
use chacha20::ChaCha20Rng;
use omr_compress::{PackedCiphertext, SumsShape};
use omr_pdq::compress::{Batch, Compressor, decrypt, encrypt_index, marked};
use omr_pdq::{BODY_BITS, EvaluationKey, MASK_BITS, Params, Quiet, SecretKey, Stage, Times};
use omr_protocol::Mismatch;
use omr_rlwe::Rlwe;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The number of symbols of a row: a 1, the node, and one of data.
const SYMBOLS: usize = 3;

/// One run of compression.
#[derive(Clone)]
pub struct CompressBench {
    /// The parameters.
    pub params: Arc<Params>,
    /// The number of rows, each with one symbol modulo p.
    pub rows: usize,
    /// The bound on marked rows, and their number.
    pub bound: usize,
    /// The seed of all randomness.
    pub seed: u64,
}

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct CompressFigures {
    /// The name of the parameter set.
    pub params: &'static str,
    /// The number of rows.
    pub rows: usize,
    /// The bound on marked rows, and their number.
    pub bound: usize,
    /// The number of threads in use.
    pub threads: usize,
    /// Seconds of ring switching, codes, products, packing and finishing.
    pub compress_s: f64,
    /// Processor seconds of all threads in that time. Other work on the machine lowers them.
    pub cpu_s: f64,
    /// Seconds of each stage of `compress_s`.
    pub stages: BTreeMap<&'static str, f64>,
    /// Seconds from the answer's ciphertexts to rows.
    pub decode_s: f64,
    /// Bytes of masks and bodies at their exact width.
    pub answer_bytes: usize,
    /// The mean of the yardstick before and after, if built in.
    pub yardstick_us: Option<f64>,
    /// `compress_s` in yardstick NTTs.
    pub compress_ntts: Option<f64>,
    /// True if all rows were returned with their symbols, and no others.
    pub exact: bool,
}

/// The inputs: blocks of data, and the marked rows.
struct World {
    data: Vec<Vec<u32>>,
    wanted: BTreeSet<usize>,
}

impl CompressBench {
    /// Runs the benchmark on rayon's threads.
    ///
    /// Errors: `Rows` if the rows do not share one group, or are fewer than the bound; those of all steps.
    pub fn run(
        &self,
        secret: &SecretKey,
        key: &EvaluationKey,
    ) -> Result<CompressFigures, PdqBenchError> {
        let params = &*self.params;
        let (slots, limit) = (params.slots(), params.slots() * params.nodes.batches());
        if self.rows > limit || self.bound > self.rows {
            return Err(PdqBenchError::Rows(Mismatch::new(
                limit,
                self.rows.max(self.bound),
            )));
        }
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let world = self.world(&mut rng);
        let indices: Vec<Rlwe> = (0..world.data.len())
            .map(|block| {
                let index: Vec<u32> = (0..slots)
                    .map(|slot| u32::from(world.wanted.contains(&(block * slots + slot))))
                    .collect();
                encrypt_index(params, secret, &index, &mut rng)
            })
            .collect();
        let shape = SumsShape::new(params.spec().small_n, self.bound, SYMBOLS)?;
        let compressor = Compressor::new(params, shape, key);
        let times = Times::new();
        let yardstick = Yardstick::start(true);
        let cpu = process_seconds();
        let (packed, compress_s) = timed(|| self.compress(&compressor, &world, &indices, &times));
        let cpu_s = process_seconds() - cpu;
        let yardstick_us = yardstick.mean();
        let (found, decode_s) = timed(|| self.decode(secret, shape, &packed, world.data.len()));
        let stages = [Stage::Descent, Stage::Codes, Stage::Symbols, Stage::Packing];
        Ok(CompressFigures {
            params: params.name(),
            rows: self.rows,
            bound: self.bound,
            threads: rayon::current_num_threads(),
            compress_s,
            cpu_s,
            stages: stages.map(|s| (s.name(), times.seconds(s))).into(),
            decode_s,
            answer_bytes: answer_bytes(&packed),
            yardstick_us,
            compress_ntts: yardstick_us.map(|us| compress_s * 1e6 / us),
            exact: found? == world.expected(slots),
        })
    }

    fn world(&self, rng: &mut ChaCha20Rng) -> World {
        let (slots, p) = (self.params.slots(), self.params.p().value() as u32);
        let mut data = vec![vec![0; slots]; self.rows.div_ceil(slots)];
        for row in 0..self.rows {
            data[row / slots][row % slots] = rng.next_u32() % p;
        }
        let mut wanted = BTreeSet::new();
        while wanted.len() < self.bound {
            wanted.insert((rng.next_u64() % self.rows as u64) as usize);
        }
        World { data, wanted }
    }

    /// Runs the part that is timed.
    fn compress(
        &self,
        compressor: &Compressor,
        world: &World,
        indices: &[Rlwe],
        times: &Times,
    ) -> Vec<PackedCiphertext> {
        let (params, slots) = (&self.params, self.params.slots());
        let rows: Vec<u32> = (0..slots as u32).collect();
        let mut sums = compressor.sums();
        for (number, (index, data)) in indices.iter().zip(&world.data).enumerate() {
            let index = times.of(Stage::Descent, || compressor.descend(index));
            let columns = times.of(Stage::Symbols, || {
                let nodes = (0..slots).map(|slot| params.nodes.node(number, slot));
                [vec![1; slots], nodes.collect(), data.clone()]
            });
            let batch = Batch {
                number,
                rows: &rows,
                index: &index,
                columns: &columns,
            };
            let added = compressor.add(&mut sums, &batch, times, &Quiet);
            added.expect("nobody stops it");
        }
        times.of(Stage::Packing, || compressor.finish(sums))
    }

    /// Returns the rows that were found, with their symbols.
    fn decode(
        &self,
        secret: &SecretKey,
        shape: SumsShape,
        packed: &[PackedCiphertext],
        blocks: usize,
    ) -> Result<BTreeMap<usize, u32>, PdqBenchError> {
        let sums = decrypt(&self.params, secret, shape, packed)?;
        let found = marked(&self.params, blocks, self.bound, &sums)?;
        let row = |row: omr_pdq::compress::Marked| {
            (row.batch * self.params.slots() + row.slot, row.symbols[0])
        };
        Ok(found.into_iter().map(row).collect())
    }
}

impl World {
    fn expected(&self, slots: usize) -> BTreeMap<usize, u32> {
        self.wanted
            .iter()
            .map(|&row| (row, self.data[row / slots][row % slots]))
            .collect()
    }
}

fn answer_bytes(packed: &[PackedCiphertext]) -> usize {
    let bits = |ct: &PackedCiphertext| {
        let bodies: usize = ct.parts.iter().map(Vec::len).sum();
        ct.mask.len() * MASK_BITS as usize + bodies * BODY_BITS as usize
    };
    packed.iter().map(bits).sum::<usize>().div_ceil(8)
}
