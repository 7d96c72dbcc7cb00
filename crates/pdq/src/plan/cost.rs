//! The cost of a circuit, counted: transforms of the large ring's length, bytes on the wire.

use super::circuit::{Circuit, Op};
use crate::{BODY_BITS, MASK_BITS, Params, noise};
use omr_compress::SumsShape;
use serde::Serialize;

/// The cost of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Products one after another.
    pub depth: usize,
    /// Masks encoded and multiplied with a constant, in each block.
    pub masks: usize,
    /// Relinearisations in each block.
    pub relinearisations: usize,
    /// Encrypted constants.
    pub constants: usize,
    /// Ciphertexts of the query.
    pub query_ciphertexts: usize,
    /// Transforms of the large ring's length for all blocks, compression counted in the same unit.
    pub transforms: u64,
    /// Bytes of the query.
    pub query_bytes: u64,
    /// Bytes of the answer.
    pub answer_bytes: u64,
}

impl Cost {
    pub(super) fn new(
        params: &Params,
        circuit: &Circuit,
        start: usize,
        blocks: usize,
        sums: SumsShape,
    ) -> Self {
        let mut cost = Cost {
            depth: circuit.depth(),
            constants: circuit.constants(),
            query_ciphertexts: circuit.constants().div_ceil(1 << noise::EXPANSION_LEVELS),
            ..Cost::default()
        };
        let count = Counter::new(params, start);
        let mut block = 0;
        let mut encoded = std::collections::HashSet::new();
        for (op, &level) in circuit.ops.iter().zip(&circuit.levels) {
            match op {
                Op::Select { source, digit, .. } => {
                    let radix = circuit.sources[*source].radix;
                    cost.masks += radix;
                    if encoded.insert((*source, *digit)) {
                        block += count.masks(radix);
                    }
                    block += 2 * count.limbs(0);
                }
                Op::Dot(_) => {
                    cost.relinearisations += 1;
                    block += count.relinearisation(level - 1);
                }
                _ => {}
            }
        }

        let expansion = count.expansion(cost.constants);
        cost.transforms = (blocks * (block + compression(params, sums)) + expansion) as u64;
        cost.query_bytes = (cost.query_ciphertexts * count.ciphertext_bytes()) as u64;
        let groups = blocks.div_ceil(params.nodes.batches());
        cost.answer_bytes = answer_bytes(params, sums, groups) as u64;
        cost
    }
}

/// Counts transforms of a circuit whose constants are encrypted at level `start`.
pub(super) struct Counter<'a> {
    params: &'a Params,
    start: usize,
}

impl<'a> Counter<'a> {
    pub(super) fn new(params: &'a Params, start: usize) -> Self {
        Self { params, start }
    }

    /// Returns the transforms of encoding `count` masks modulo every prime.
    pub(super) fn masks(&self, count: usize) -> usize {
        count * (1 + self.limbs(0))
    }

    /// Returns the transforms of expanding `constants` constants.
    pub(super) fn expansion(&self, constants: usize) -> usize {
        constants * self.relinearisation(0)
    }

    fn limbs(&self, level: usize) -> usize {
        self.params.chain.basis(self.start + level).len()
    }

    /// A key switch from a level to the next: the input back, digits to all other primes, both parts' dropped primes
    /// back and to those that stay.
    fn relinearisation(&self, level: usize) -> usize {
        let spec = self.params.spec();
        let (limbs, special) = (self.limbs(level), spec.product_special);
        let digits = limbs.div_ceil(spec.digit_primes);
        limbs + digits * (limbs + special) - limbs + 2 * (special + 1) + 2 * (limbs - 1)
    }

    /// A body in bits as they are; the mask is a seed.
    fn ciphertext_bytes(&self) -> usize {
        let ring = &self.params.ring;
        let basis = self.params.chain.basis(self.start);
        let bits = |&id: &usize| 64 - ring.modulus(id).value().leading_zeros() as usize;
        let bits: usize = basis.ids().iter().map(bits).sum();
        bits * ring.n() / 8
    }
}

/// The cost of compressing one block: ring switch, turns and constants of the codes, symbols
/// encoded.
fn compression(params: &Params, sums: SumsShape) -> usize {
    let spec = params.spec();
    let classes = spec.n / spec.small_n;
    let switch = 4 * spec.base_primes + 4 * spec.descent_special;
    let codes =
        sums.rounds() * sums.width() * classes * (switch + classes * (1 + spec.base_primes));
    let symbols = sums.symbols() * classes * (1 + spec.base_primes);
    // Transforms of the small ring are shorter.
    (codes + symbols) / classes + 3 * switch
}

/// Masks and kept coefficients.
fn answer_bytes(params: &Params, sums: SumsShape, groups: usize) -> usize {
    let mask = (params.spec().final_n * MASK_BITS as usize).div_ceil(8);
    let part = |(round, ct)| mask + (sums.kept_len(round, ct) * BODY_BITS as usize).div_ceil(8);
    groups * sums.positions().map(part).sum::<usize>()
}
