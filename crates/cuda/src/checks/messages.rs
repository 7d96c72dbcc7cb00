//! Comparison of InstantOMR's rotations and traces on a machine with those of the processor.

use super::CheckError;
use crate::{Machine, MessageKeys, MessageRing};
use chacha20::ChaCha20Rng;
use omr_protocol::instantomr::InstantParams;
use omr_ring::{Eval, Poly};
use omr_tfhe::{
    BootstrapKey, BootstrapShape, Lwe, MaskSeed, RingCipher, Rotation, RotationRing, TraceKey,
    Window,
};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

/// Number of whole blocks of the secrets.
const BLOCKS: usize = 3;
/// Number of coordinates after them.
const BEYOND: usize = 1;

/// Numbers of rotations: fewer than share a block of threads, and more.
const COUNTS: [usize; 2] = [1, 5];

/// The content of the rows of a key.
#[derive(Clone, Copy, Debug)]
enum Rows {
    /// Alternating rows of random values, of q - 1, and of the largest values of either sign.
    Mixed,
    /// Largest values, with the signs with which sums of products are largest for ciphertexts of [`Keys::turn`],
    /// positive in bodies and negative in masks.
    Worst,
}

/// The inputs of a machine, in a set's dimension, with secrets of a few blocks.
struct Keys<'a> {
    params: &'a InstantParams,
    shape: BootstrapShape,
    /// The exponent of all coordinates of a ciphertext.
    turn: usize,
    bootstrap: BootstrapKey,
    trace: TraceKey,
    rng: ChaCha20Rng,
}

/// Returns for each point whether X^a - 1, as a centred residue, is at least 0 there.
fn signs(ring: &RotationRing, a: usize) -> Vec<bool> {
    let (m, mut row) = (ring.modulus(0), vec![0; ring.n()]);
    row[a] = 1;
    ring.kernels().ntt_forward(ring.table(0), &mut row);
    row.iter()
        .map(|&x| m.to_centered(m.sub(x, 1)) >= 0)
        .collect()
}

/// Returns a row of a body or a mask, multiplied by n, because machines divide by it.
fn row(
    ring: &RotationRing,
    rows: Rows,
    part: usize,
    signs: &[bool],
    rng: &mut impl Rng,
) -> Poly<Eval> {
    let (m, mut out) = (ring.modulus(0), Poly::zero(ring, &ring.everything()));
    let (q, n) = (m.value(), m.reduce(ring.n() as u64));
    let kind = rng.next_u32() % 3;
    for (i, (x, up)) in out.row_mut(0).iter_mut().zip(signs).enumerate() {
        let value = match (rows, kind) {
            (Rows::Worst, _) => q / 2 + u64::from(*up == (part == 1)),
            (Rows::Mixed, 0) => rng.next_u64() % q,
            (Rows::Mixed, 1) => q - 1,
            (Rows::Mixed, _) => q / 2 + (i as u64 & 1),
        };
        *x = m.mul(value, n);
    }
    out
}

impl<'a> Keys<'a> {
    fn new(params: &'a InstantParams, rows: Rows) -> Self {
        let (ring, whole) = (&params.ring, params.bootstrap());
        let shape = BootstrapShape {
            n: BLOCKS * whole.block + BEYOND,
            ..whole
        };
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let turn = ring.n() / 2 + 3;
        let signs = signs(ring, turn);
        let made: Vec<[Poly<Eval>; 2]> = (0..shape.rows())
            .map(|_| [0, 1].map(|part| row(ring, rows, part, &signs, &mut rng)))
            .collect();
        let pairs = made.iter().map(|[body, mask]| (body.row(0), mask.clone()));
        let cut = params.spec().trace;
        let bodies = (0..ring.n().ilog2()).map(|_| {
            let bodies = (0..cut.digits).map(|_| row(ring, rows, 0, &signs, &mut rng));
            bodies.collect()
        });
        let bodies = bodies.collect();
        Self {
            bootstrap: BootstrapKey::from_rows(ring, shape, pairs),
            trace: TraceKey::from_bodies(ring, cut, bodies, MaskSeed::new(&[4; 32], 0)),
            params,
            shape,
            turn,
            rng,
        }
    }

    /// Returns ciphertexts modulo 2n: one with equal coordinates, one with powers that are constants, then random ones.
    fn ciphertexts(&mut self, count: usize) -> Vec<Lwe> {
        let turn = 2 * self.params.ring.n() as u64;
        let mut ct = |number: usize| {
            let coordinate = |i: usize| match number {
                0 => turn - self.turn as u64,
                1 => [0, turn / 2, turn - 1, 1][i % 4],
                _ => self.rng.next_u64() % turn,
            };
            Lwe {
                mask: (0..self.shape.n).map(coordinate).collect(),
                body: self.rng.next_u64() % turn,
            }
        };
        (0..count).map(&mut ct).collect()
    }

    /// Returns the set's windows with values whose first digit is the largest.
    fn windows(&self) -> [Window; 2] {
        let value = self.params.ring.q() / 2 + 1;
        let windows = self.params.windows();
        windows.map(|window| Window { value, ..window })
    }

    fn rotated(&self, digits: u32, cts: &[Lwe], window: Window) -> Vec<RingCipher> {
        let ring = &self.params.ring;
        let start = cts.iter().map(|ct| Rotation::new(ring, ct, window));
        self.bootstrap.rotate(ring, digits, start.collect())
    }

    fn same(
        &self,
        what: &'static str,
        here: &[RingCipher],
        away: &[RingCipher],
    ) -> Result<(), CheckError> {
        let words = |cts: &[RingCipher]| -> Vec<u64> {
            let parts = cts.iter().flat_map(|ct| [&ct.body, &ct.mask]);
            parts.flat_map(|row| row.to_vec()).collect()
        };
        let (here, away) = (words(here), words(away));
        let differ = here.iter().zip(&away).filter(|(a, b)| a != b).count();
        match differ + here.len().abs_diff(away.len()) {
            0 => Ok(()),
            differ => Err(CheckError::Differs {
                what,
                n: self.params.ring.n(),
                differ,
            }),
        }
    }

    /// Checks first layers: sums of one, two and three rotations.
    fn first(&mut self, away: &MessageKeys) -> Result<(), CheckError> {
        let (ring, [window, _]) = (&self.params.ring, self.windows());
        let m = ring.modulus(0);
        for (each, messages) in [(1, 3), (2, 3), (3, 1)] {
            let cts = self.ciphertexts(each * messages);
            let rotated = self.rotated(1, &cts, window);
            let sums = rotated.chunks(each).map(|cts| {
                let mut sum = RingCipher::trivial(&vec![0; ring.n()]);
                for ct in cts {
                    sum.body[0] = m.add(sum.body[0], ct.body[0]);
                    ring.kernels().add_assign(m, &mut sum.mask, &ct.mask);
                }
                sum
            });
            let sums: Vec<RingCipher> = sums.collect();
            self.same(
                "first layers",
                &sums,
                &away.hits(&cts, each, window)?.wait()?,
            )?;
        }
        Ok(())
    }

    /// Checks second layers, and some traces.
    fn second(&mut self, away: &MessageKeys) -> Result<(), CheckError> {
        let (ring, [_, window]) = (&self.params.ring, self.windows());
        for count in COUNTS {
            let cts = self.ciphertexts(count);
            let here = self.rotated(2, &cts, window);
            self.same("rotations", &here, &away.rotated(&cts, window)?.wait()?)?;
        }
        let cts = self.ciphertexts(3);
        let here = self.rotated(2, &cts, window).into_iter();
        let here: Vec<RingCipher> = here.map(|ct| self.trace.apply(ring, ct)).collect();
        self.same("traces", &here, &away.traced(&cts, window)?.wait()?)
    }
}

/// Checks first layers, second layers and traces in the dimension and with the digits of a set, for secrets of three
/// blocks and keys of several kinds.
///
/// Errors: the first difference; those of the machine.
pub fn messages(machine: &Arc<dyn Machine>, params: &InstantParams) -> Result<(), CheckError> {
    let ring = Arc::new(MessageRing::new(machine.clone(), &params.ring)?);
    for rows in [Rows::Mixed, Rows::Worst] {
        let mut keys = Keys::new(params, rows);
        let away = MessageKeys::new(ring.clone(), &keys.bootstrap, &keys.trace)?;
        keys.first(&away)?;
        keys.second(&away)?;
    }
    Ok(())
}
