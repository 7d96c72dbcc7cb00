//! InstantOMR's rotations and traces on a machine.

mod keys;

pub use keys::{MessageEngine, MessageKeys, Rotated};

use crate::pool::Pool;
use crate::{Arithmetic, Kernel, Launch, Machine, MachineError, Reading, calls};
use omr_ring::parallel::*;
use omr_ring::{Gadget, Modulus};
use omr_tfhe::{BootstrapShape, Lwe, RotationRing, Window, exponents};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Supported dimensions of the kernels.
const DIMENSIONS: RangeInclusive<usize> = 1 << 9..=1 << 11;

/// Supported numbers of digits of a trace: the digits and the body's image have at most eight rows, and two of them later
/// hold the results.
const TRACE_DIGITS: RangeInclusive<u32> = 2..=7;

/// Number of threads of a block that adds ciphertexts, one for each coefficient.
const THREADS: usize = 256;

/// A ring's tables in a machine's memory, and a pool of memory for ciphertexts.
pub struct MessageRing {
    machine: Arc<dyn Machine>,
    pool: Pool,
    n: usize,
    modulus: Modulus,
    /// Addresses of the prime, of the factors of transforms, and of all `X^a - 1`.
    tables: [u64; 3],
}

/// Words of the machine's memory that return to the pool when they are dropped.
struct Held<'a> {
    pool: &'a Pool,
    address: u64,
    words: usize,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.pool.give(self.address, self.words);
    }
}

/// A bootstrapping key in a machine's memory.
#[derive(Clone, Copy)]
struct KeyAt {
    shape: BootstrapShape,
    address: u64,
}

impl MessageRing {
    /// Writes a ring's tables to a machine.
    ///
    /// Errors: those of the machine; `Call` if the machine is not fast in double precision or has too little shared
    /// memory, and for dimensions outside 512 to 2,048.
    pub fn new(machine: Arc<dyn Machine>, ring: &RotationRing) -> Result<Self, MachineError> {
        let (n, m) = (ring.n(), *ring.modulus(0));
        let unfit = |found| MachineError::Call {
            call: "rotations",
            found,
        };
        if machine.arithmetic() != Arithmetic::Floating {
            return Err(unfit("a card with little double precision".into()));
        }
        if !DIMENSIONS.contains(&n) {
            return Err(unfit(format!("a ring of dimension {n}")));
        }
        let most = machine.most_shared()?;
        if most < 8 * shared_words(n) {
            return Err(unfit(format!(
                "a card with {most} bytes of shared memory a block"
            )));
        }
        let psi = ring.table(0).psi();
        let factors = calls::factors(Arithmetic::Floating, &m, n, psi);
        let powers = std::iter::successors(Some(1), |&x| Some(m.mul(x, psi)))
            .take(2 * n)
            .map(|x| double(&m, m.sub(x, 1)));
        let tables = [calls::prime(&m).to_vec(), factors, powers.collect()];
        let pool = Pool::new(machine.clone());
        let mut places = [0; 3];
        for (place, table) in places.iter_mut().zip(&tables) {
            *place = pool.take(table.len())?;
            machine.write_words(*place, table)?;
        }
        Ok(Self {
            machine,
            pool,
            n,
            modulus: m,
            tables: places,
        })
    }

    fn take(&self, words: usize) -> Result<Held<'_>, MachineError> {
        Ok(Held {
            pool: &self.pool,
            address: self.pool.take(words)?,
            words,
        })
    }

    fn written(&self, words: &[u64]) -> Result<Held<'_>, MachineError> {
        let held = self.take(words.len())?;
        self.machine.write_words(held.address, words)?;
        Ok(held)
    }

    fn launch(&self, kernel: Kernel, blocks: usize, call: &[u64]) -> Result<(), MachineError> {
        let launch = Launch {
            kernel,
            blocks: blocks as u32,
            rows: 1,
            threads: self.n as u32 / 4,
            shared: 8 * shared_words(self.n) as u32,
        };
        self.machine.launch(&[launch], call)
    }

    fn call(&self) -> Vec<u64> {
        let [primes, factors, _] = self.tables;
        vec![primes, factors, self.n.trailing_zeros().into()]
    }

    /// Rotates ciphertexts by the first `digits` digits of a key. Each result is a body and a mask.
    fn rotate(
        &self,
        key: KeyAt,
        digits: u32,
        cts: &[Lwe],
        window: Window,
    ) -> Result<Held<'_>, MachineError> {
        let (kernel, together) = match digits {
            1 => (Kernel::RotateOne, 4),
            _ => (Kernel::RotateTwo, 2),
        };
        let all = cts.len().next_multiple_of(together);
        let shape = key.shape.first_digits(digits);
        let turns = self.written(&turns(self.n, &shape, cts, all))?;
        let mut of_cts: Vec<u64> = cts
            .iter()
            .map(|ct| window.start(self.n as u64, ct.body) % (2 * self.n as u64))
            .collect();
        of_cts.resize(all, 0);
        let starts = self.written(&of_cts)?;
        let to = self.take(2 * self.n * all)?;
        let mut call = self.call();
        let of_digit = 4 * self.n * shape.keys();
        call.extend([self.tables[2], key.address]);
        call.extend([shape.blocks(), shape.block, of_digit].map(|x| x as u64));
        call.extend(gadget(&self.modulus, shape.gadget));
        call.extend([turns.address, shape.keys() as u64, starts.address]);
        call.extend([2 * u64::from(window.half), window.value, to.address]);
        self.launch(kernel, all / together, &call)?;
        Ok(to)
    }

    /// Adds every `each` neighbouring ciphertexts: the first [`THREADS`] words of their bodies, and their masks.
    fn sums(
        &self,
        cts: &Held<'_>,
        each: usize,
        count: usize,
    ) -> Result<[Box<dyn Reading>; 2], MachineError> {
        let (bodies, masks) = (self.take(THREADS * count)?, self.take(self.n * count)?);
        for (part, to, words) in [(0, &bodies, THREADS), (1, &masks, self.n)] {
            let row = |sum: usize, at: usize| {
                let ct = sum * each + at;
                [1, cts.address + 8 * (self.n * (2 * ct + part)) as u64]
            };
            let mut call = vec![self.tables[0], (2 + 5 * count) as u64];
            for sum in 0..count {
                let address = to.address + 8 * (words * sum) as u64;
                call.extend([0, address, 0, (sum * each) as u64, each as u64]);
            }
            let terms = (0..count).flat_map(|sum| (0..each).map(move |at| (sum, at)));
            call.extend(terms.flat_map(|(sum, at)| row(sum, at)));
            let launch = Launch {
                kernel: Kernel::Combine,
                blocks: (words / THREADS) as u32,
                rows: count as u32,
                threads: THREADS as u32,
                shared: 0,
            };
            self.machine.launch(&[launch], &call)?;
        }
        Ok([self.read(&bodies)?, self.read(&masks)?])
    }

    /// Computes the traces of the first `count` ciphertexts, in place.
    fn trace(
        &self,
        key: u64,
        cut: Gadget,
        cts: &Held<'_>,
        count: usize,
    ) -> Result<(), MachineError> {
        assert!(TRACE_DIGITS.contains(&cut.digits), "two to seven digits");
        let m = &self.modulus;
        let unscale = m.inv(m.reduce(self.n as u64));
        let mut call = self.call();
        call.extend([key, cut.digits.into()]);
        call.extend(gadget(m, cut));
        call.extend([double(m, unscale), cts.address]);
        self.launch(Kernel::Trace, count, &call)
    }

    fn read(&self, held: &Held<'_>) -> Result<Box<dyn Reading>, MachineError> {
        self.machine.clone().start_reading(held.address, held.words)
    }
}

/// Returns the number of words of a block's shared memory: eight rows and the powers, with gaps.
fn shared_words(n: usize) -> usize {
    8 * (n + n / 16) + 2 * n + 32
}

/// Returns a centred residue as a double.
fn double(m: &Modulus, x: u64) -> u64 {
    (m.to_centered(x) as f64).to_bits()
}

/// Returns the parameters with which kernels split residues into digits.
fn gadget(m: &Modulus, gadget: Gadget) -> [u64; 4] {
    let cut = gadget.cut(m);
    [cut.ratio, cut.offset, cut.top.into(), gadget.bits.into()]
}

/// Returns the exponents of rotations in the blocks of a secret, two in each word; those after the last ciphertext are
/// 0.
fn turns(n: usize, shape: &BootstrapShape, cts: &[Lwe], all: usize) -> Vec<u64> {
    let keys = shape.keys();
    let mut words = vec![0; (all * keys).div_ceil(2)];
    let turns: &mut [u32] = bytemuck::cast_slice_mut(&mut words);
    let each = turns.par_chunks_mut(keys).zip(cts);
    each.for_each(|(turns, ct)| {
        assert_eq!(ct.mask.len(), shape.n, "dimension of the key");
        let exponents = exponents(n as u64, ct);
        turns.iter_mut().zip(exponents).for_each(|(to, x)| *to = x);
    });
    words
}
