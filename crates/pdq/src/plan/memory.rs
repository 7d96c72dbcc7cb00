//! Forecasts the memory that a query needs.

use super::{Masks, Op, Plan, Schedule};
use crate::Params;
use omr_compress::Plaintexts;

/// The number of threads that memory is forecast for: client and server must compute the same
/// figure, whatever machines they run on.
const THREADS: usize = 16;

impl Plan {
    /// Bytes of the server's memory for constants, values, masks and the sums of the answer, beside table and key.
    pub fn memory_bytes(&self, params: &Params) -> u64 {
        let circuit = Schedule::new(params, self).bytes_of(params, self);
        let beside = marked(params, self) + compression(params, self) + scratch(params, self);
        (circuit + beside) as u64
    }
}

/// Bytes of a ciphertext at a level of the chain.
pub(super) fn ciphertext(params: &Params, level: usize) -> usize {
    2 * params.chain.basis(level).len() * params.slots() * size_of::<u64>()
}

/// Bytes of a block's numbers that rows are compared by, or of the masks of present values in an
/// encrypted table.
pub(super) fn numbers(params: &Params, plan: &Plan) -> usize {
    let each = match plan.masks {
        Masks::Clear => params.slots() * size_of::<Option<u64>>(),
        Masks::Encrypted => ciphertext(params, plan.start + 1),
    };
    plan.circuit.sources.len() * each
}

/// Returns the bytes of the masks of a digit for `blocks` blocks.
pub(super) fn masks(params: &Params, plan: &Plan, blocks: usize) -> usize {
    let radix = |op: &Op| match op {
        Op::Select { source, .. } => plan.circuit.sources[*source].radix,
        _ => 0,
    };
    let radix = plan.circuit.ops.iter().map(radix).max().unwrap_or(0);
    let each = match plan.masks {
        Masks::Clear => params.slots() * size_of::<u32>(),
        Masks::Encrypted => ciphertext(params, plan.start),
    };
    blocks * radix * each
}

/// Returns the bytes of temporary memory that key switches take, in all threads.
fn scratch(params: &Params, plan: &Plan) -> usize {
    let (spec, limbs) = (params.spec(), params.chain.basis(plan.start).len());
    let parts = limbs.div_ceil(spec.digit_primes) + 4;
    THREADS * parts * (limbs + spec.product_special) * params.slots() * size_of::<u64>()
}

/// Tables, the images and codes of a block, its rows as symbols, and the sums of a group.
fn compression(params: &Params, plan: &Plan) -> usize {
    let (setting, sums) = (params.compression(), plan.sums(params));
    let words = size_of::<u64>();
    let marked = ciphertext(params, params.last_level());
    let tables = params.p().value() as usize * words;
    // Residues of codes are half as long as those of the images that the codes of several rounds are made of.
    let images = if sums.rounds() > 1 { sums.width() } else { 2 };
    let codes = (sums.rounds() * sums.width() / 2 + images) * marked;
    let columns = 2 * sums.symbols() * params.slots() * size_of::<u32>();
    let plaintexts = sums.symbols() * Plaintexts::words(setting, sums) * words;
    let sums = sums.rounds() * sums.symbols() * marked / setting.classes();
    tables + codes + columns + plaintexts + sums
}

/// Products with the symbols of an encrypted table, which are held for all blocks of a group.
fn marked(params: &Params, plan: &Plan) -> usize {
    match plan.masks {
        Masks::Clear => 0,
        Masks::Encrypted => {
            let symbols = plan.sums(params).symbols();
            plan.blocks_of(params, 0).len() * symbols * ciphertext(params, params.last_level())
        }
    }
}
