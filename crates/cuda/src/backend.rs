//! A ring's polynomials in a machine's memory.

use crate::pool::Pool;
use crate::{Arithmetic, Kernel, Launch, Machine, MachineError, calls};
use omr_ring::{
    At, Backend, ConversionNumbers, Modulus, Ring, RowConversion, RowLift, RowProducts, RowStream,
    RowSum, RowTransform, TurnedProducts,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest number of sources of a conversion: `SOURCES` of `kernels/rows.cu`.
const SOURCES: usize = 44;

/// Number of threads in a block of kernels of single words.
const THREADS: usize = 256;
/// Number of symbols whose sums with turned rows a thread makes: `SYMBOLS` of `kernels/rows.cu`.
const SYMBOLS: usize = 4;
/// Number of threads in a block of kernels that convert.
const CONVERTING: usize = 128;

/// Supported dimensions of transforms: each of the two halves of a transform has 4 to 8 levels.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 1 << 8..=1 << 16;

/// A ring's tables in a machine's memory, and a pool of memory for its polynomials.
pub struct CudaRing {
    machine: Arc<dyn Machine>,
    arithmetic: Arithmetic,
    pool: Arc<Pool>,
    n: usize,
    moduli: Vec<Modulus>,
    /// `n^-1` modulo each prime.
    scale: Vec<u64>,
    /// Addresses of the primes and of the factors of transforms.
    tables: [u64; 2],
    /// Addresses of the indices of permutations, by the permutation's name.
    permutations: Mutex<HashMap<usize, u64>>,
    state: Mutex<State>,
}

/// The number of watchers, and the first failure while there are any.
#[derive(Default)]
struct State {
    watchers: usize,
    failure: Option<MachineError>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sorts rows by prime, because the rows of a prime share factors in the card's cache.
fn by_prime(rows: &mut [(&RowTransform<'_>, [u64; 2])]) {
    rows.sort_by_key(|(row, _)| row.prime);
}

impl CudaRing {
    /// Returns whether rings of dimension `n` are supported.
    #[must_use]
    pub fn supports(n: usize) -> bool {
        n.is_power_of_two() && DIMENSIONS.contains(&n)
    }

    /// Writes a ring's tables to a machine: 16 or 32 bytes for each prime and coefficient.
    ///
    /// Errors: those of the machine.   Panics: for dimensions outside 256 to 65,536.
    pub fn new(machine: Arc<dyn Machine>, ring: &Ring) -> Result<Self, MachineError> {
        let pool = Arc::new(Pool::new(machine.clone()));
        Self::with_pool(machine, pool, ring)
    }

    /// Writes another ring's tables to the machine of this one. Both share the memory that neither uses.
    ///
    /// Errors, panics: as [`CudaRing::new`].
    pub fn beside(&self, ring: &Ring) -> Result<Self, MachineError> {
        Self::with_pool(self.machine.clone(), self.pool.clone(), ring)
    }

    fn with_pool(
        machine: Arc<dyn Machine>,
        pool: Arc<Pool>,
        ring: &Ring,
    ) -> Result<Self, MachineError> {
        let n = ring.n();
        assert!(Self::supports(n), "a dimension from 256 to 65,536");
        let ids = 0..ring.everything().len();
        let moduli: Vec<Modulus> = ids.clone().map(|id| *ring.modulus(id)).collect();
        let primes: Vec<u64> = moduli.iter().flat_map(calls::prime).collect();
        let arithmetic = machine.arithmetic();
        let of_prime = 2 * n * calls::factor_words(arithmetic);
        let tables = [
            pool.take(primes.len())?,
            pool.take(of_prime * moduli.len())?,
        ];
        machine.write(tables[0], &primes)?;
        for id in ids {
            let factors = calls::factors(arithmetic, &moduli[id], n, ring.table(id).psi());
            machine.write(tables[1] + (8 * of_prime * id) as u64, &factors)?;
        }
        Ok(Self {
            scale: moduli.iter().map(|m| m.inv(m.reduce(n as u64))).collect(),
            permutations: Mutex::default(),
            state: Mutex::default(),
            machine,
            arithmetic,
            pool,
            n,
            moduli,
            tables,
        })
    }

    /// Runs `work` unless there has been a failure.
    fn attempt<T: Default>(&self, work: impl FnOnce() -> Result<T, MachineError>) -> T {
        if lock(&self.state).failure.is_some() {
            return T::default();
        }
        work().unwrap_or_else(|error| {
            lock(&self.state).failure.get_or_insert(error);
            T::default()
        })
    }

    fn launch(&self, kernel: Kernel, grid: [usize; 3], call: &[u64]) {
        let [blocks, rows, threads] = grid;
        if rows > 0 {
            self.attempt(|| {
                self.machine.launch(Launch {
                    kernel,
                    blocks: blocks as u32,
                    rows: rows as u32,
                    threads: threads as u32,
                    shared: 0,
                    call,
                })
            });
        }
    }

    /// Returns the number of blocks of a row, of rows and of threads for kernels of single words.
    fn words(&self, rows: usize, threads: usize) -> [usize; 3] {
        let most = threads.min(self.n);
        [self.n / most, rows, most]
    }

    /// Returns log2 of the numbers of rows and of columns into which transforms divide their values.
    fn logs(&self) -> [u32; 2] {
        let log = self.n.trailing_zeros();
        [log / 2, log - log / 2]
    }

    /// Runs both halves of transforms: levels over distant values and levels over neighbours.
    fn transform(&self, kernels: [Kernel; 2], distant_first: bool, rows: usize, call: &[u64]) {
        let [high, low] = self.logs().map(|log| 1 << log);
        // Tiles of 16 columns have a thread for each row, tiles of 16 rows a thread for each column.
        let grids = if distant_first {
            [[low / 16, rows, high], [high / 16, rows, low]]
        } else {
            [[high / 16, rows, low], [low / 16, rows, high]]
        };
        for (kernel, grid) in kernels.into_iter().zip(grids) {
            self.launch(kernel, grid, call);
        }
    }

    /// Returns the address of a permutation's indices, after writing them if necessary.
    fn permutation(&self, key: usize, index: &[u32]) -> Result<u64, MachineError> {
        if let Some(&address) = lock(&self.permutations).get(&key) {
            return Ok(address);
        }
        let address = self.halves(&[index])?;
        // If two threads write them at once, both copies are right, and one of them is used.
        Ok(*lock(&self.permutations).entry(key).or_insert(address))
    }

    /// Lifts polynomials whose coefficients lie in `halves`, after writing these one after another. The strides are from
    /// one polynomial to the next, and from one coefficient to the next.
    fn lift_strided(&self, p: u32, halves: &[&[u32]], strides: [usize; 2], rows: &[RowLift<'_>]) {
        let own = self.attempt(|| self.halves(halves));
        let call = calls::lifts(self.tables[0], p, own, strides, rows);
        self.launch(Kernel::Lift, self.words(rows.len(), THREADS), &call);
        let count: usize = halves.iter().map(|part| part.len()).sum();
        self.give(own, count / 2);
    }

    /// Writes rows of halves of words to new memory, one after another.
    fn halves(&self, rows: &[&[u32]]) -> Result<u64, MachineError> {
        let pair = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
        let pairs = rows.iter().flat_map(|row| row.chunks_exact(2));
        let words: Vec<u64> = pairs.map(pair).collect();
        let address = self.pool.take(words.len())?;
        self.machine.write(address, &words)?;
        Ok(address)
    }
}

impl Backend for CudaRing {
    fn name(&self) -> String {
        self.machine.name()
    }

    fn begin(&self) {
        lock(&self.state).watchers += 1;
    }

    fn end(&self) {
        let mut state = lock(&self.state);
        state.watchers -= 1;
        if state.watchers == 0 {
            state.failure = None;
        }
    }

    fn failure(&self) -> Option<String> {
        lock(&self.state).failure.as_ref().map(ToString::to_string)
    }

    fn take(&self, words: usize) -> u64 {
        self.attempt(|| self.pool.take(words))
    }

    fn give(&self, address: u64, words: usize) {
        if address != 0 {
            self.pool.give(address, words);
        }
    }

    fn wipe(&self) {
        self.attempt(|| self.pool.clear());
    }

    fn write(&self, address: u64, words: &[u64]) {
        self.attempt(|| self.machine.write(address, words));
    }

    fn read(&self, address: u64, words: &mut [u64]) {
        self.attempt(|| self.machine.read(address, words));
    }

    fn clear(&self, address: u64, words: usize) {
        self.attempt(|| self.machine.clear(address, words));
    }

    fn copy(&self, from: u64, to: u64, words: usize) {
        self.attempt(|| self.machine.copy(from, to, words));
    }

    fn forward(&self, rows: &[RowTransform<'_>]) {
        let mut sorted: Vec<_> = rows.iter().map(|row| (row, [0; 2])).collect();
        by_prime(&mut sorted);
        let call = calls::transforms(self.tables, self.logs(), &sorted);
        let kernels =
            [Kernel::ForwardFirst, Kernel::ForwardSecond].map(|kernel| kernel(self.arithmetic));
        self.transform(kernels, true, rows.len(), &call);
    }

    fn inverse(&self, rows: &[(RowTransform<'_>, u64)]) {
        let with_weight = |(row, weight): &'_ (RowTransform<'_>, u64)| {
            let m = &self.moduli[row.prime];
            calls::factor(self.arithmetic, m, m.mul(*weight, self.scale[row.prime]))
        };
        let mut sorted: Vec<_> = rows.iter().map(|row| (&row.0, with_weight(row))).collect();
        by_prime(&mut sorted);
        let call = calls::transforms(self.tables, self.logs(), &sorted);
        let kernels =
            [Kernel::InverseFirst, Kernel::InverseSecond].map(|kernel| kernel(self.arithmetic));
        self.transform(kernels, false, rows.len(), &call);
    }

    fn combine(&self, sums: &[RowSum<'_>]) {
        let call = calls::sums(self.tables[0], sums);
        self.launch(Kernel::Combine, self.words(sums.len(), THREADS), &call);
    }

    fn multiply(&self, sums: &[RowProducts<'_>]) {
        let call = calls::products(self.tables[0], sums);
        self.launch(Kernel::Multiply, self.words(sums.len(), THREADS), &call);
    }

    fn convert(&self, numbers: &ConversionNumbers<'_>, groups: &[RowConversion<'_>]) {
        assert!(
            numbers.inverse.len() <= SOURCES,
            "at most 44 primes to convert from"
        );
        let call = calls::conversions(self.tables[0], numbers, groups);
        let grid = self.words(groups.len(), CONVERTING);
        self.launch(Kernel::Convert, grid, &call);
    }

    fn permute(&self, key: usize, index: &[u32], rows: &[(At<'_>, At<'_>)]) {
        let mut call = vec![self.attempt(|| self.permutation(key, index))];
        call.extend(
            rows.iter()
                .flat_map(|(from, to)| [from.address(), to.address()]),
        );
        self.launch(Kernel::Permute, self.words(rows.len(), THREADS), &call);
    }

    fn turned_products(&self, sums: &TurnedProducts<'_>) {
        let terms = 2 * sums.turns * sums.classes;
        assert_eq!(
            sums.terms.len(),
            terms,
            "a term for each sign, turn and class"
        );
        assert!(
            sums.symbols
                .iter()
                .all(|symbol| symbol.rows.len() == sums.classes),
            "a row for each class"
        );
        let call = calls::turned(self.tables[0], self.n.ilog2() - 1, sums);
        let groups = sums.symbols.len().div_ceil(SYMBOLS);
        self.launch(Kernel::Turned, self.words(groups, THREADS), &call);
    }

    fn lift(&self, p: u32, polynomials: &[&[u32]], rows: &[RowLift<'_>]) {
        self.lift_strided(p, polynomials, [self.n, 1], rows);
    }

    fn lift_columns(&self, p: u32, matrix: &[u32], rows: &[RowLift<'_>]) {
        self.lift_strided(p, &[matrix], [1, matrix.len() / self.n], rows);
    }

    fn draw(&self, rows: &[RowStream<'_>]) {
        let call = calls::streams(self.tables[0], self.n, &self.moduli, rows);
        self.launch(Kernel::Draw, [1, rows.len(), THREADS], &call);
    }
}

impl Drop for CudaRing {
    fn drop(&mut self) {
        for (_, address) in lock(&self.permutations).drain() {
            self.pool.give(address, self.n / 2);
        }
        let primes = self.moduli.len();
        let of_prime = 2 * self.n * calls::factor_words(self.arithmetic);
        self.pool.give(self.tables[0], calls::PRIME_WORDS * primes);
        self.pool.give(self.tables[1], of_prime * primes);
    }
}
