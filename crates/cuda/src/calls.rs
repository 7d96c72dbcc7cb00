//! The arguments of kernels, in the layout that the comments in `kernels/` describe.

use crate::Arithmetic;
use omr_ring::{
    At, AwayBytes, ConversionNumbers, Modulus, PackedRow, PackedRows, RowConversion, RowForwardSum,
    RowLift, RowProducts, RowStream, RowSum, RowTransform, TurnedProducts,
};

/// Returns `floor(2^64 w / q)`.
pub(crate) fn quotient(m: &Modulus, w: u64) -> u64 {
    ((u128::from(w) << 64) / u128::from(m.value())) as u64
}

/// Number of words of a prime.
pub(crate) const PRIME_WORDS: usize = 6;

/// Returns a prime in the form that kernels use.
pub(crate) fn prime(m: &Modulus) -> [u64; PRIME_WORDS] {
    let wide = ((1u128 << 64) % u128::from(m.value())) as u64;
    let whole = m.value() as f64;
    [
        m.value(),
        ((1u128 << 64) / u128::from(m.value())) as u64,
        wide,
        quotient(m, wide),
        whole.to_bits(),
        (1.0 / whole).to_bits(),
    ]
}

/// Returns a factor in the form that kernels of transforms use: in the first word or in both.
pub(crate) fn factor(arithmetic: Arithmetic, m: &Modulus, w: u64) -> [u64; 2] {
    match arithmetic {
        Arithmetic::Whole => [w, quotient(m, w)],
        Arithmetic::Floating => [(m.to_centered(w) as f64).to_bits(), 0],
    }
}

/// Returns the number of words of a factor.
pub(crate) fn factor_words(arithmetic: Arithmetic) -> usize {
    match arithmetic {
        Arithmetic::Whole => 2,
        Arithmetic::Floating => 1,
    }
}

/// Returns the powers of a primitive 2n-th root, then those of its inverse, each in bit-reversed order.
pub(crate) fn factors(arithmetic: Arithmetic, m: &Modulus, n: usize, root: u64) -> Vec<u64> {
    let (shift, each) = (usize::BITS - n.trailing_zeros(), factor_words(arithmetic));
    let mut words = vec![0; 2 * n * each];
    for (table, root) in words.chunks_mut(n * each).zip([root, m.inv(root)]) {
        let mut power = 1;
        for i in 0..n {
            let slot = i.reverse_bits() >> shift;
            let factor = factor(arithmetic, m, power);
            table[slot * each..][..each].copy_from_slice(&factor[..each]);
            power = m.mul(power, root);
        }
    }
    words
}

/// A row that is transformed: its prime, where it lies, where its transform is written, and two words: for inverse
/// transforms the factor by which this is multiplied, in the form that kernels use; for others the place of an ending in
/// the call, or 0, and 0.
pub(crate) type TransformWords = [u64; 5];

/// Returns the words of a row that is transformed.
pub(crate) fn transform(row: &RowTransform<'_>, factor: [u64; 2]) -> TransformWords {
    let [first, second] = factor;
    let prime = row.prime as u64;
    [prime, row.from.address(), row.to.address(), first, second]
}

/// Returns the argument of transforms.
pub(crate) fn transforms(tables: [u64; 2], logs: [u32; 2], rows: &[TransformWords]) -> Vec<u64> {
    let mut call = vec![tables[0], tables[1], logs[0].into(), logs[1].into()];
    call.extend(rows.as_flattened());
    call
}

/// Returns the words of each term of a sum.
fn terms_of(sum: &RowSum<'_>) -> impl Iterator<Item = [u64; 2]> {
    let terms = sum.terms.iter();
    terms.map(|(factor, row)| [*factor, row.address()])
}

/// Returns the argument of forward transforms that end in sums.
pub(crate) fn forward_sums(
    tables: [u64; 2],
    logs: [u32; 2],
    rows: &[&RowForwardSum<'_>],
) -> Vec<u64> {
    let mut endings = Vec::new();
    let mut words = Vec::new();
    for row in rows {
        let place = 4 + 5 * rows.len() + endings.len();
        words.push(transform(&row.transform, [place as u64, 0]));
        let sum = &row.sum;
        let terms = sum.terms.len() as u64;
        endings.extend([sum.to.address(), row.factor, sum.constant, terms]);
        endings.extend(terms_of(sum).flatten());
    }
    let mut call = transforms(tables, logs, &words);
    call.extend(endings);
    call
}

pub(crate) fn sums(primes: u64, sums: &[RowSum<'_>]) -> Vec<u64> {
    let heads_and_terms = sums.iter().map(|sum| {
        let head = [sum.prime as u64, sum.to.address(), sum.constant];
        (head, terms_of(sum).collect())
    });
    lists(primes, heads_and_terms)
}

pub(crate) fn products(primes: u64, sums: &[&RowProducts<'_>]) -> Vec<u64> {
    let heads_and_runs = sums.iter().map(|sum| {
        let head = [sum.prime as u64, sum.to.address(), sum.adds.into()];
        (head, runs(&sum.pairs))
    });
    lists(primes, heads_and_runs)
}

/// Returns pairs of rows as runs of equal distances: rows of keys and of clues lie one after another.
fn runs(pairs: &[(At<'_>, At<'_>)]) -> Vec<[u64; 5]> {
    let mut addresses = pairs
        .iter()
        .map(|(a, b)| [a.address(), b.address()])
        .peekable();
    let mut runs = Vec::new();
    while let Some([a, b]) = addresses.next() {
        let ([mut last_a, mut last_b], mut number) = ([a, b], 1);
        let after = addresses.peek().copied().unwrap_or_default();
        let apart = [after[0].wrapping_sub(a), after[1].wrapping_sub(b)];
        while addresses
            .next_if(|[a, b]| [a.wrapping_sub(last_a), b.wrapping_sub(last_b)] == apart)
            .is_some()
        {
            [last_a, last_b] = [last_a.wrapping_add(apart[0]), last_b.wrapping_add(apart[1])];
            number += 1;
        }
        runs.push([a, b, apart[0], apart[1], number]);
    }
    runs
}

/// Returns the argument of sums over lists: for each sum its head, the number of its first item among all and the number
/// of its own, and after all sums the items.
fn lists<const WORDS: usize>(
    primes: u64,
    sums: impl ExactSizeIterator<Item = ([u64; 3], Vec<[u64; WORDS]>)>,
) -> Vec<u64> {
    let mut call = vec![primes, (2 + 5 * sums.len()) as u64];
    let mut all = Vec::new();
    for (head, items) in sums {
        call.extend(head);
        call.extend([all.len(), items.len()].map(|x| x as u64));
        all.extend(items);
    }
    call.extend(all.as_flattened());
    call
}

pub(crate) fn conversions(
    arithmetic: Arithmetic,
    primes: u64,
    moduli: &[Modulus],
    numbers: &ConversionNumbers<'_>,
    groups: &[RowConversion<'_>],
) -> Vec<u64> {
    let (sources, targets) = (numbers.inverse.len(), numbers.targets.len());
    let inverses = 6 + (sources + targets) * groups.len();
    let places = [inverses, inverses + sources, inverses + sources + targets];
    let mut call = vec![primes, sources as u64, targets as u64];
    call.extend(places.map(|place| place as u64));
    for group in groups {
        call.extend(group.from.iter().chain(&group.to).map(|row| row.address()));
    }
    call.extend(numbers.inverse.iter().map(|x| x.to_bits()));
    call.extend(numbers.targets.iter().map(|&prime| prime as u64));
    for (&prime, coefficients) in numbers.targets.iter().zip(numbers.coefficients) {
        match arithmetic {
            Arithmetic::Whole => call.extend(coefficients),
            Arithmetic::Floating => call.extend(centred(&moduli[prime], coefficients)),
        }
    }
    call
}

/// Returns the coefficients of a conversion to one prime in the form that the kernel in double precision uses.
fn centred(m: &Modulus, coefficients: &[u64]) -> Vec<u64> {
    /// The kernel subtracts it from residues.
    const HALF: u64 = 1 << 49;
    /// The kernel adds it to integers, to get their bits.
    const ROUNDS: f64 = 1.5 * (1u64 << 52) as f64;
    /// The upper part of the kernel's sum is a multiple of it.
    const UNIT: u64 = 1 << 51;
    /// The lower part is above its negative.
    const LEAST: u64 = 1 << 57;
    let double = |c: u64| m.to_centered(c) as f64;
    let mut words: Vec<u64> = coefficients.iter().map(|&c| double(c).to_bits()).collect();
    words.push((double(m.reduce(UNIT)) / UNIT as f64).to_bits());

    let (_, of_sources) = coefficients.split_last().expect("one for the wraps");
    let sum = of_sources.iter().fold(0, |sum, &c| m.add(sum, c));
    let missing = m.mul(sum, m.reduce(HALF)) + LEAST.next_multiple_of(m.value());
    let integers = coefficients.len() as u64 + 1;
    words.push(missing.wrapping_sub(integers.wrapping_mul(ROUNDS.to_bits())));
    words
}

/// Returns the argument of sums of products with turned rows of `2^(log_half + 1)` words.
pub(crate) fn turned(primes: u64, log_half: u32, sums: &TurnedProducts<'_>) -> Vec<u64> {
    let numbers = [sums.prime, sums.turns, sums.classes, sums.symbols.len()];
    let [prime, turns, classes, symbols] = numbers.map(|number| number as u64);
    let mut call = vec![primes, prime, log_half.into(), turns, classes, symbols];
    call.extend(sums.terms.iter().flatten().map(|row| row.address()));
    for symbol in &sums.symbols {
        call.extend(
            symbol
                .rows
                .iter()
                .chain(&symbol.to)
                .map(|row| row.address()),
        );
    }
    call
}

/// Returns the argument of rows of `n` uniform residues.
pub(crate) fn streams(
    primes: u64,
    n: usize,
    moduli: &[Modulus],
    rows: &[RowStream<'_>],
) -> Vec<u64> {
    let mut call = vec![primes, n as u64];
    for row in rows {
        let mask = u64::MAX >> (64 - moduli[row.prime].bits());
        call.extend([row.prime as u64, row.to.address(), mask]);
        let (key, _) = row.key.as_chunks::<8>();
        call.extend(key.iter().map(|word| u64::from_le_bytes(*word)));
    }
    call
}

/// Coefficients modulo p that lie as halves of words in a machine's memory.
pub(crate) struct Coefficients {
    /// The modulus.
    pub(crate) p: u32,
    /// The address of the first coefficient of the first polynomial.
    pub(crate) first: u64,
    /// The number of halves from one polynomial to the next.
    pub(crate) of_polynomials: usize,
    /// The number of halves from one coefficient to the next.
    pub(crate) of_coefficients: usize,
}

/// Returns the argument of lifts.
pub(crate) fn lifts(primes: u64, coefficients: &Coefficients, rows: &[RowLift<'_>]) -> Vec<u64> {
    let row = |row: &RowLift<'_>| {
        let place = coefficients.of_polynomials * row.polynomial;
        let from = coefficients.first + 4 * place as u64;
        [row.prime as u64, from, 0, row.to.address()]
    };
    let rows: Vec<[u64; 4]> = rows.iter().map(row).collect();
    lifts_of(primes, coefficients, &rows)
}

/// Returns the argument of lifts, given the words of each row.
pub(crate) fn lifts_of(primes: u64, coefficients: &Coefficients, rows: &[[u64; 4]]) -> Vec<u64> {
    let step = coefficients.of_coefficients as u64;
    let mut call = vec![primes, coefficients.p.into(), step];
    call.extend(rows.as_flattened());
    call
}

/// Returns the argument of columns of packed residues.
pub(crate) fn unpacked(
    primes: u64,
    p: u32,
    n: usize,
    bytes: &AwayBytes,
    packed: &PackedRows,
    rows: &[RowLift<'_>],
) -> Vec<u64> {
    let mut call = vec![primes, p.into(), bytes.at().address()];
    call.extend([packed.bits, packed.factor, packed.constant].map(u64::from));
    call.push((7 + 4 * rows.len()) as u64);
    for row in rows {
        let (matrix, column) = (row.polynomial / packed.width, row.polynomial % packed.width);
        call.extend([row.prime, column, n * matrix].map(|x| x as u64));
        call.push(row.to.address());
    }
    let source = |row: &PackedRow| 2 * 8 * row.first as u64 + u64::from(row.is_negated);
    let sources = packed.rows.iter();
    call.extend(sources.map(|row| row.as_ref().map_or(u64::MAX, source)));
    call
}
