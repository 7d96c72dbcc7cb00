//! A ring's polynomials in a machine's memory.

use crate::calls::{Coefficients, TransformWords};
use crate::machine::{CALLS, ROWS};
use crate::pool::Pool;
use crate::{Arithmetic, Kernel, Launch, Machine, MachineError, calls};
use omr_ring::{
    At, AwayBytes, Backend, ConversionNumbers, Modulus, NttTable, PackedRows, Ring, RowConversion,
    RowForwardSum, RowLift, RowProducts, RowStream, RowSum, RowTransform, TurnedProducts, Values,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest number of sources of a conversion: `SOURCES` of `kernels/conversions.cu`.
pub(crate) const SOURCES: usize = 44;

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
    /// Addresses of the tables of transforms modulo other primes, those of plaintexts.
    plain_tables: Mutex<HashMap<u64, [u64; 2]>>,
    /// Addresses of the indices of permutations, by the permutation's name.
    permutations: Mutex<HashMap<usize, u64>>,
    /// The state of all rings beside one another: a polynomial of one may be read by another.
    state: Arc<Mutex<State>>,
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

/// Writes the tables of transforms of one dimension, and returns their addresses.
fn write_tables(
    machine: &dyn Machine,
    pool: &Pool,
    tables: &[&NttTable],
) -> Result<[u64; 2], MachineError> {
    let arithmetic = machine.arithmetic();
    let primes: Vec<u64> = tables
        .iter()
        .flat_map(|table| calls::prime(table.modulus()))
        .collect();
    let of_prime = table_words(arithmetic, tables[0].n());
    let addresses = [
        pool.take(primes.len())?,
        pool.take(of_prime * tables.len())?,
    ];
    machine.write_words(addresses[0], &primes)?;
    for (i, table) in tables.iter().enumerate() {
        let factors = calls::factors(arithmetic, table.modulus(), table.n(), table.psi());
        let address = addresses[1] + (8 * of_prime * i) as u64;
        machine.write_words(address, &factors)?;
    }
    Ok(addresses)
}

/// Returns the run of a kernel on a grid: numbers of blocks of a row, of rows, and of threads of a block.
fn launch_of(kernel: Kernel, grid: [usize; 3]) -> Launch {
    let [blocks, rows, threads] = grid.map(|number| number as u32);
    Launch {
        kernel,
        blocks,
        rows,
        threads,
        shared: 0,
    }
}

/// Returns the number of words of a prime's factors.
fn table_words(arithmetic: Arithmetic, n: usize) -> usize {
    2 * n * calls::factor_words(arithmetic)
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
        Self::with_pool(machine, pool, Arc::default(), ring)
    }

    /// Writes another ring's tables to the machine of this one. Both share the memory that neither uses, and their
    /// failures.
    ///
    /// Errors, panics: as [`CudaRing::new`].
    pub fn beside(&self, ring: &Ring) -> Result<Self, MachineError> {
        let (machine, pool) = (self.machine.clone(), self.pool.clone());
        Self::with_pool(machine, pool, self.state.clone(), ring)
    }

    fn with_pool(
        machine: Arc<dyn Machine>,
        pool: Arc<Pool>,
        state: Arc<Mutex<State>>,
        ring: &Ring,
    ) -> Result<Self, MachineError> {
        let n = ring.n();
        assert!(Self::supports(n), "a dimension from 256 to 65,536");
        let tables: Vec<&NttTable> = (0..ring.everything().len())
            .map(|id| ring.table(id))
            .collect();
        let addresses = write_tables(&*machine, &pool, &tables)?;
        let moduli: Vec<Modulus> = tables.iter().map(|table| *table.modulus()).collect();
        Ok(Self {
            scale: moduli.iter().map(|m| m.inv(m.reduce(n as u64))).collect(),
            permutations: Mutex::default(),
            state,
            plain_tables: Mutex::default(),
            arithmetic: machine.arithmetic(),
            machine,
            pool,
            n,
            moduli,
            tables: addresses,
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
        self.launch_all([launch_of(kernel, grid)], call);
    }

    /// Runs kernels one after another, unless they have no rows.
    fn launch_all<const KERNELS: usize>(&self, kernels: [Launch; KERNELS], call: &[u64]) {
        assert!(
            call.len() <= CALLS,
            "an argument that fits the place for it"
        );
        assert!(
            kernels.iter().all(|launch| launch.rows <= ROWS),
            "rows that a card supports"
        );
        if kernels.iter().all(|launch| launch.rows > 0) {
            self.attempt(|| self.machine.launch(&kernels, call));
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
        let [first, second] = kernels;
        let launches = [launch_of(first, grids[0]), launch_of(second, grids[1])];
        self.launch_all(launches, call);
    }

    /// Transforms rows to the evaluation domain.
    fn launch_forward(&self, rows: usize, call: &[u64]) {
        let kernels =
            [Kernel::ForwardFirst, Kernel::ForwardSecond].map(|kernel| kernel(self.arithmetic));
        self.transform(kernels, true, rows, call);
    }

    /// Transforms rows to the coefficient domain modulo the primes of these tables.
    fn inverse_of(&self, tables: [u64; 2], rows: &[TransformWords]) {
        let call = calls::transforms(tables, self.logs(), rows);
        let kernels =
            [Kernel::InverseFirst, Kernel::InverseSecond].map(|kernel| kernel(self.arithmetic));
        self.transform(kernels, false, rows.len(), &call);
    }

    /// Returns the tables of a transform modulo another prime, after writing them if necessary.
    fn plain_tables(&self, table: &NttTable) -> Result<[u64; 2], MachineError> {
        let mut known = lock(&self.plain_tables);
        let p = table.modulus().value();
        if let Some(&addresses) = known.get(&p) {
            return Ok(addresses);
        }
        let addresses = write_tables(&*self.machine, &self.pool, &[table])?;
        known.insert(p, addresses);
        Ok(addresses)
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

    /// Lifts polynomials whose coefficients are `halves`, after writing these one after another. The strides are from one
    /// polynomial to the next, and from one coefficient to the next.
    fn lift_halves(&self, p: u32, halves: &[&[u32]], strides: [usize; 2], rows: &[RowLift<'_>]) {
        let first = self.attempt(|| self.halves(halves));
        let [of_polynomials, of_coefficients] = strides;
        let coefficients = Coefficients {
            p,
            first,
            of_polynomials,
            of_coefficients,
        };
        self.launch_lifts(
            rows.len(),
            &calls::lifts(self.tables[0], &coefficients, rows),
        );
        self.give_halves(first, halves);
    }

    fn launch_lifts(&self, rows: usize, call: &[u64]) {
        self.launch(Kernel::Lift, self.words(rows, THREADS), call);
    }

    /// Writes rows of halves of words to new memory, one after another.
    fn halves(&self, rows: &[&[u32]]) -> Result<u64, MachineError> {
        let address = self.pool.take(words_of(rows))?;
        let parts: Vec<&[u8]> = rows.iter().map(|row| bytemuck::cast_slice(row)).collect();
        self.machine
            .write(address, &parts)
            .inspect_err(|_| self.give_halves(address, rows))?;
        Ok(address)
    }

    /// Gives back the memory of rows of halves.
    fn give_halves(&self, address: u64, rows: &[&[u32]]) {
        self.give(address, words_of(rows));
    }
}

/// Returns the number of words of rows of halves.
///
/// Panics: if a row has an odd length.
fn words_of(rows: &[&[u32]]) -> usize {
    assert!(
        rows.iter().all(|row| row.len().is_multiple_of(2)),
        "rows of whole words"
    );
    rows.iter().map(|row| row.len() / 2).sum()
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

    fn write(&self, address: u64, bytes: &[u8]) {
        self.attempt(|| self.machine.write(address, &[bytes]));
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
        let mut words: Vec<TransformWords> = rows
            .iter()
            .map(|row| calls::transform(row, [0; 2]))
            .collect();
        // The rows of a prime share factors in the card's cache.
        words.sort_by_key(|[prime, ..]| *prime);
        let call = calls::transforms(self.tables, self.logs(), &words);
        self.launch_forward(rows.len(), &call);
    }

    fn forward_sums(&self, rows: &[RowForwardSum<'_>]) {
        let mut sorted: Vec<&RowForwardSum> = rows.iter().collect();
        sorted.sort_by_key(|row| row.transform.prime);
        let call = calls::forward_sums(self.tables, self.logs(), &sorted);
        self.launch_forward(rows.len(), &call);
    }

    fn inverse(&self, rows: &[(RowTransform<'_>, u64)]) {
        let with_weight = |(row, weight): &'_ (RowTransform<'_>, u64)| {
            let m = &self.moduli[row.prime];
            let factor = m.mul(*weight, self.scale[row.prime]);
            calls::transform(row, calls::factor(self.arithmetic, m, factor))
        };
        let mut words: Vec<TransformWords> = rows.iter().map(with_weight).collect();
        words.sort_by_key(|[prime, ..]| *prime);
        self.inverse_of(self.tables, &words);
    }

    fn combine(&self, sums: &[RowSum<'_>]) {
        let call = calls::sums(self.tables[0], sums);
        self.launch(Kernel::Combine, self.words(sums.len(), THREADS), &call);
    }

    fn multiply(&self, sums: &[RowProducts<'_>]) {
        let mut sorted: Vec<&RowProducts> = sums.iter().collect();
        // The sums of a prime share rows, of digits and of keys, in the card's cache.
        sorted.sort_by_key(|sum| sum.prime);
        let call = calls::products(self.tables[0], &sorted);
        self.launch(Kernel::Multiply, self.words(sums.len(), THREADS), &call);
    }

    fn convert(&self, numbers: &ConversionNumbers<'_>, groups: &[RowConversion<'_>]) {
        assert!(
            numbers.inverse.len() <= SOURCES,
            "at most 44 primes to convert from"
        );
        let call = calls::conversions(
            self.arithmetic,
            self.tables[0],
            &self.moduli,
            numbers,
            groups,
        );
        let grid = self.words(groups.len(), CONVERTING);
        self.launch(Kernel::Convert(self.arithmetic), grid, &call);
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
        self.lift_halves(p, polynomials, [self.n, 1], rows);
    }

    fn lift_columns(&self, p: u32, matrix: &[u32], rows: &[RowLift<'_>]) {
        self.lift_halves(p, &[matrix], [1, matrix.len() / self.n], rows);
    }

    fn interpolate(&self, values: &Values<'_>, rows: &[RowLift<'_>]) {
        let (p, n) = (values.table.modulus(), self.n);
        let count = values.polynomials();
        let Some(column) = values.columns.first() else {
            return;
        };
        let is_whole = values
            .columns
            .iter()
            .all(|other| other.len() == column.len());
        let is_there = values
            .order
            .iter()
            .all(|&place| (place as usize) < column.len());
        assert!(is_whole && is_there, "columns with all places of the order");
        assert_eq!(values.table.n(), n, "a transform of the ring's dimension");
        let tables = self.attempt(|| self.plain_tables(values.table));
        let columns = self.attempt(|| self.halves(values.columns));
        let order = self.attempt(|| self.halves(&[values.order]));
        // Values in the order of the evaluation domain, then coefficients.
        let own = self.take(count * n);
        let mut coefficients = Coefficients {
            p: p.value() as u32,
            first: own,
            of_polynomials: 2 * n,
            of_coefficients: 1,
        };
        let column_bytes = 4 * column.len();
        let place = |polynomial: usize| {
            let (column, number) = (
                polynomial / values.of_column(),
                polynomial % values.of_column(),
            );
            let from = columns + (column_bytes * column) as u64;
            let places = order + (4 * n * number) as u64;
            [0, from, places, own + (8 * n * polynomial) as u64]
        };
        let placed: Vec<[u64; 4]> = (0..count).map(place).collect();
        self.launch_lifts(count, &calls::lifts_of(tables[0], &coefficients, &placed));
        let [first, second] = calls::factor(self.arithmetic, p, p.inv(p.reduce(n as u64)));
        let transform = |[_, _, _, at]: &[u64; 4]| [0, *at, *at, first, second];
        let transforms: Vec<TransformWords> = placed.iter().map(transform).collect();
        self.inverse_of(tables, &transforms);
        // A residue modulo p is the lower half of its word.
        coefficients.of_coefficients = 2;
        self.launch_lifts(
            rows.len(),
            &calls::lifts(self.tables[0], &coefficients, rows),
        );
        self.give(own, count * n);
        self.give_halves(order, &[values.order]);
        self.give_halves(columns, values.columns);
    }

    fn unpack(&self, p: u32, bytes: &AwayBytes, packed: &PackedRows, rows: &[RowLift<'_>]) {
        assert!((1..=32).contains(&packed.bits), "residues of 1 to 32 bits");
        let columns = packed.rows.len() / self.n * packed.width;
        assert!(
            rows.iter().all(|row| row.polynomial < columns),
            "columns of the matrices"
        );
        let bits = packed.bits as usize * packed.width;
        let ends = packed.rows.iter().flatten().map(|row| 8 * row.first + bits);
        assert!(
            ends.max() <= Some(8 * bytes.count()),
            "rows within the bytes"
        );
        let call = calls::unpacked(self.tables[0], p, self.n, bytes, packed, rows);
        self.launch(Kernel::Unpack, self.words(rows.len(), THREADS), &call);
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
        let give_tables = |[primes, factors]: [u64; 2], count: usize| {
            self.pool.give(primes, calls::PRIME_WORDS * count);
            let words = table_words(self.arithmetic, self.n);
            self.pool.give(factors, words * count);
        };
        give_tables(self.tables, self.moduli.len());
        for (_, tables) in lock(&self.plain_tables).drain() {
            give_tables(tables, 1);
        }
    }
}
