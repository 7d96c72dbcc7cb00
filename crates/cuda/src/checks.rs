//! Comparison of ring operations on a machine with those of the processor, which every card must pass.

mod conversions;
mod messages;

pub use messages::messages;

use crate::{CudaRing, Machine, MachineError};
use chacha20::ChaCha20Rng;
use conversions::conversions;
use omr_ring::{
    At, Automorphism, AwayBytes, AwayRows, Basis, Coeff, Eval, Modulus, NttTable, PackedRow,
    PackedRows, Poly, Ring, RingError, RowLift, RowProducts, Switch, TurnedProducts, TurnedSymbol,
    Values, primes_below, primes_near, uniform_poly,
};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

/// An error of a check.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// Some residues differ.
    #[error("expected the processor's residues of {what} in dimension {n}, found {differ} others")]
    Differs {
        /// The operation.
        what: &'static str,
        /// The ring's dimension.
        n: usize,
        /// Number of residues that differ.
        differ: usize,
    },
    /// The machine failed.
    #[error("{0}")]
    Failed(String),
    /// A call of the machine failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The ring could not be made.
    #[error(transparent)]
    Ring(#[from] RingError),
}

/// A ring on the processor and the same ring on a machine.
struct Pair {
    here: Ring,
    away: Ring,
    rng: ChaCha20Rng,
}

impl Pair {
    fn new(machine: &Arc<dyn Machine>, here: Ring) -> Result<Self, CheckError> {
        let backend = CudaRing::new(machine.clone(), &here)?;
        Ok(Self {
            away: here.with_backend(Arc::new(backend)),
            here,
            rng: ChaCha20Rng::seed_from_u64(1),
        })
    }

    /// Makes a polynomial whose rows are random, largest, alternating or sparse.
    fn poly<D>(&mut self, basis: &Basis) -> Poly<D> {
        let mut poly = Poly::zero(&self.here, basis);
        for (limb, &id) in basis.ids().iter().enumerate() {
            let q = self.here.modulus(id).value();
            let kind = self.rng.next_u32() % 4;
            for (i, x) in poly.row_mut(limb).iter_mut().enumerate() {
                *x = match kind {
                    0 => self.rng.next_u64() % q,
                    1 => q - 1,
                    2 => (q - 1) * (i as u64 & 1),
                    _ => u64::from(self.rng.next_u32().is_multiple_of(64)),
                };
            }
        }
        poly
    }

    fn away<D>(&self, poly: &Poly<D>) -> Poly<D> {
        poly.moved_to(&self.away)
    }

    /// Makes a polynomial of the largest residues of either sign, alternating every `2^log` coefficients: their sums
    /// are the largest in transforms.
    fn largest<D>(&self, basis: &Basis, log: u32) -> Poly<D> {
        let mut poly = Poly::zero(&self.here, basis);
        for (limb, &id) in basis.ids().iter().enumerate() {
            let half = self.here.modulus(id).value() / 2;
            for (i, x) in poly.row_mut(limb).iter_mut().enumerate() {
                *x = half + (i as u64 >> log & 1);
            }
        }
        poly
    }

    /// Checks that the machine's polynomial equals the processor's.
    fn same<D>(&self, what: &'static str, here: &Poly<D>, away: Poly<D>) -> Result<(), CheckError> {
        let (here, away) = (here.to_words(), away.here().to_words());
        let differ = here.iter().zip(&away).filter(|(a, b)| a != b).count();
        match differ {
            0 => Ok(()),
            differ => Err(CheckError::Differs {
                what,
                n: self.here.n(),
                differ,
            }),
        }
    }
}

/// Checks conversions, and transforms, sums, products, permutations and packed residues in every supported dimension,
/// modulo primes of 31 to 50 bits, for rows of several kinds.
///
/// Errors: the first difference; those of the machine.
pub fn rows(machine: &Arc<dyn Machine>) -> Result<(), CheckError> {
    conversions(machine)?;
    for log in 8..=16 {
        let n = 1 << log;
        let prime = |bits| Ok(primes_below(bits, n, 1, &[])?[0]);
        let mut primes: Vec<u64> = [31, 37, 44, 49, 50]
            .into_iter()
            .map(prime)
            .collect::<Result<_, RingError>>()?;
        primes.extend(primes_near(41.0, n, 1, &[])?);
        let mut pair = Pair::new(machine, Ring::new(n, &primes)?)?;
        let watch = pair.away.watch();
        large_transforms(&pair)?;
        for _ in 0..2 {
            transforms(&mut pair)?;
            sums(&mut pair)?;
            distances(&mut pair)?;
            turned(&mut pair)?;
        }
        draws(&pair)?;
        for bits in [10, 21, 30] {
            unpacked(&mut pair, bits)?;
        }
        watch
            .failure()
            .map_or(Ok(()), |failure| Err(CheckError::Failed(failure)))?;
    }
    Ok(())
}

/// Checks transforms of residues whose sums are as large as possible.
fn large_transforms(pair: &Pair) -> Result<(), CheckError> {
    let basis = pair.here.everything();
    for log in 0..pair.here.n().ilog2() {
        let (here, away) = (&pair.here, &pair.away);
        let a = pair.largest(&basis, log);
        let there = away.forward(pair.away(&a));
        pair.same("transforms of large residues", &here.forward(a), there)?;
        let a = pair.largest(&basis, log);
        let there = away.inverse(pair.away(&a));
        pair.same(
            "inverse transforms of large residues",
            &here.inverse(a),
            there,
        )?;
    }
    Ok(())
}

fn transforms(pair: &mut Pair) -> Result<(), CheckError> {
    let basis = pair.here.everything();
    let a = pair.poly::<Coeff>(&basis);
    let (here, away) = (
        pair.here.forward(a.clone()),
        pair.away.forward(pair.away(&a)),
    );
    pair.same("transforms", &here, away)?;
    let a = pair.poly::<Eval>(&basis);
    let (here, away) = (
        pair.here.inverse(a.clone()),
        pair.away.inverse(pair.away(&a)),
    );
    pair.same("inverse transforms", &here, away)?;
    let p = 786_433;
    let coefficients: Vec<u32> = (0..pair.here.n())
        .map(|_| pair.rng.next_u32() % p)
        .collect();
    let away = pair.away.lift_plain(&coefficients, p, &basis);
    pair.same(
        "plaintexts",
        &pair.here.lift_plain(&coefficients, p, &basis),
        away,
    )?;
    columns(pair, p)?;
    interpolations(pair, p)?;
    let g = Automorphism::new(pair.here.n(), 5);
    let away = g.apply(&pair.away, &pair.away(&a));
    pair.same("automorphisms", &g.apply(&pair.here, &a), away)
}

/// Checks columns of a matrix of residues modulo p.
fn columns(pair: &mut Pair, p: u32) -> Result<(), CheckError> {
    const WIDTH: usize = 3;
    let (n, basis) = (pair.here.n(), pair.here.everything());
    let matrix: Vec<u32> = (0..WIDTH * n).map(|_| pair.rng.next_u32() % p).collect();
    let backend = pair.away.backend().expect("a ring on a machine");
    for polynomial in 0..WIDTH {
        let away = Poly::<Coeff>::scratch(&pair.away, &basis);
        let lift = |&prime: &usize| RowLift {
            polynomial,
            prime,
            to: away.at(prime),
        };
        let rows: Vec<RowLift> = basis.ids().iter().map(lift).collect();
        backend.lift_columns(p, &matrix, &rows);
        let column: Vec<u32> = matrix
            .iter()
            .skip(polynomial)
            .step_by(WIDTH)
            .copied()
            .collect();
        let here = pair.here.lift_plain(&column, p, &basis);
        drop(rows);
        pair.same("columns", &here, pair.away.forward(away))?;
    }
    Ok(())
}

/// Checks polynomials that are interpolated from columns of values modulo p, several of each column.
fn interpolations(pair: &mut Pair, p: u32) -> Result<(), CheckError> {
    const OF_COLUMN: usize = 3;
    let (n, basis) = (pair.here.n(), pair.here.everything());
    let len = OF_COLUMN * n;
    let modulus = Modulus::new(p.into()).map_err(RingError::from)?;
    let table = NttTable::new(modulus, n).map_err(RingError::from)?;
    let mut column = || -> Vec<u32> { (0..len).map(|_| pair.rng.next_u32() % p).collect() };
    let columns = [column(), column()];
    let mut order: Vec<u32> = (0..len as u32).collect();
    for i in 0..len {
        order.swap(i, pair.rng.next_u32() as usize % len);
    }
    let values = Values {
        table: &table,
        columns: &columns.each_ref().map(Vec::as_slice),
        order: &order,
    };
    let here = pair.here.interpolated(&values, &basis);
    let away = pair.away.interpolated(&values, &basis);
    for (here, away) in here.iter().zip(away) {
        pair.same("interpolated polynomials", here, away)?;
    }
    Ok(())
}

/// An operation that changes a polynomial, with others as inputs.
type Change = fn(&Ring, &mut Poly<Eval>, &[Poly<Eval>]);

/// All operations of a ring that are sums or products of rows.
const CHANGES: [(&str, Change); 11] = [
    ("sums", |ring, a, polys| ring.add_assign(a, &polys[1])),
    ("differences", |ring, a, polys| {
        ring.sub_assign(a, &polys[1])
    }),
    ("negatives", |ring, a, _| ring.neg_assign(a)),
    ("products", |ring, a, polys| ring.mul_assign(a, &polys[1])),
    ("products added", |ring, a, polys| {
        ring.mul_add_assign(a, &polys[1], &polys[2])
    }),
    ("multiples", |ring, a, _| {
        ring.scale_assign(a, |m| m.from_i64(-12_345))
    }),
    ("multiples added", |ring, a, polys| {
        ring.scale_add_assign(a, &polys[1], |m| m.value() - 1)
    }),
    ("constants added", |ring, a, _| {
        ring.add_constant_assign(a, |m: &Modulus| m.value() - 2)
    }),
    ("linear combinations", |ring, a, polys| {
        *a = ring.linear_combination(&[(-7, &polys[0]), (9, &polys[1])]);
    }),
    ("sums of products", |ring, a, polys| {
        let pairs = [
            (&polys[0], &polys[1]),
            (&polys[1], &polys[2]),
            (&polys[2], &polys[2]),
        ];
        *a = ring.sum_of_products(&pairs);
        ring.add_products_assign(a, &pairs);
    }),
    ("multiples of some rows added", |ring, a, polys| {
        let some = Basis::new(a.basis().ids()[1..3].iter().copied());
        ring.scale_add_common_assign(a, &polys[1].restrict(&some), |m| m.value() - 3);
    }),
];

fn sums(pair: &mut Pair) -> Result<(), CheckError> {
    let basis = pair.here.everything();
    let polys: Vec<Poly<Eval>> = (0..3).map(|_| pair.poly(&basis)).collect();
    let others: Vec<Poly<Eval>> = polys.iter().map(|poly| pair.away(poly)).collect();
    for (what, change) in CHANGES {
        let (mut a, mut b) = (polys[0].clone(), others[0].clone());
        change(&pair.here, &mut a, &polys);
        change(&pair.away, &mut b, &others);
        pair.same(what, &a, b)?;
    }
    Ok(())
}

/// Checks sums of products of rows at equal distances, at several of them, and at none.
fn distances(pair: &mut Pair) -> Result<(), CheckError> {
    const ROWS: usize = 24;
    let (n, basis) = (pair.here.n(), Basis::new([0]));
    let m = *pair.here.modulus(0);
    let all: Vec<Poly<Eval>> = (0..ROWS).map(|_| pair.poly(&basis)).collect();
    let rows: Vec<&[u64]> = all.iter().map(|poly| poly.row(0)).collect();
    let away_rows = AwayRows::of(&pair.away, &rows);
    let forwards = (0..8).map(|i| [i, 3 * i]);
    let backwards = (0..6).map(|i| [20 - 2 * i, 7]);
    let apart = [[3, 9], [4, 1], [23, 0]].into_iter();
    let pairs: Vec<[usize; 2]> = forwards.chain(backwards).chain(apart).collect();
    let mut expected = pair.poly::<Eval>(&basis);
    let found = pair.away(&expected);
    let backend = pair.away.backend().expect("a ring on a machine");
    backend.multiply(&[RowProducts {
        prime: 0,
        to: found.at(0),
        pairs: pairs
            .iter()
            .map(|pair| pair.map(|row| away_rows.at(row)).into())
            .collect(),
        adds: true,
    }]);
    let sums = expected.row_mut(0);
    for [a, b] in pairs {
        for place in 0..n {
            sums[place] = m.add(sums[place], m.mul(rows[a][place], rows[b][place]));
        }
    }
    pair.same("sums of products at equal distances", &expected, found)
}

/// Checks uniform residues, where almost all words of streams are kept and where almost half of them are not.
fn draws(pair: &Pair) -> Result<(), CheckError> {
    let basis = pair.here.everything();
    for index in 0..2 {
        let drawn =
            |ring: &Ring| uniform_poly(ring, &basis, "omr check of a card", &[5; 32], &[index]);
        pair.same("uniform residues", &drawn(&pair.here), drawn(&pair.away))?;
    }
    Ok(())
}

/// Checks residues of this width in rows that begin at any byte: some are negated, some missing, and the last one ends where
/// the bytes end.
fn unpacked(pair: &mut Pair, bits: u32) -> Result<(), CheckError> {
    // Eight residues fill as many bytes as a residue has bits. All rows together are written in two pieces.
    const WIDTH: usize = 8;
    const FACTOR: u32 = 2;
    // Without a constant there are zeros, which have no sign.
    let constant = bits % 2;
    let length = 1 + bits as usize;
    let rows = (3 << 20) / length;
    let (n, basis) = (pair.here.n(), pair.here.everything());
    let mut bytes = vec![0; rows * length];
    pair.rng.fill_bytes(&mut bytes);
    let mut row = |place: usize| {
        let random = pair.rng.next_u32();
        let number = if place == 0 {
            rows - 1
        } else {
            random as usize % rows
        };
        (place % 3 != 1).then_some(PackedRow {
            first: 1 + length * number,
            is_negated: random >> 31 == 1,
        })
    };
    let packed = PackedRows {
        bits,
        width: WIDTH,
        factor: FACTOR,
        constant,
        rows: (0..2 * n).map(&mut row).collect(),
    };
    // As small as residues allow: half of them are above its half.
    let p = FACTOR << bits;
    let away_bytes = AwayBytes::of(&pair.away, &bytes);
    let backend = pair.away.backend().expect("a ring on a machine");
    for [matrix, column] in [[0, 0], [0, 3], [0, WIDTH - 1], [1, 2]] {
        let away = Poly::<Coeff>::scratch(&pair.away, &basis);
        let lift = |&prime: &usize| RowLift {
            polynomial: WIDTH * matrix + column,
            prime,
            to: away.at(prime),
        };
        let rows: Vec<RowLift> = basis.ids().iter().map(lift).collect();
        backend.unpack(p, &away_bytes, &packed, &rows);
        drop(rows);
        let bit = |at: usize| i64::from(bytes[at / 8] >> (at % 8) & 1);
        let p = i64::from(p);
        let value = |row: &Option<PackedRow>| {
            let Some(row) = row else {
                return 0;
            };
            let first = 8 * row.first + bits as usize * column;
            let x: i64 = (0..bits as usize).map(|i| bit(first + i) << i).sum();
            let x = i64::from(FACTOR) * x + i64::from(constant);
            let x = if row.is_negated { p - x } else { x };
            if x > p / 2 { x - p } else { x }
        };
        let values: Vec<i64> = packed.rows[n * matrix..][..n].iter().map(value).collect();
        let mut here = Poly::<Coeff>::zero(&pair.here, &basis);
        for (limb, &id) in basis.ids().iter().enumerate() {
            for (to, &x) in here.row_mut(limb).iter_mut().zip(&values) {
                *to = pair.here.modulus(id).from_i64(x);
            }
        }
        pair.same("packed residues", &here, away)?;
    }
    Ok(())
}

/// Returns the rows modulo the first prime.
fn first_rows(polys: &[Poly<Eval>; 2]) -> [At<'_>; 2] {
    polys.each_ref().map(|poly| poly.at(0))
}

/// Checks sums of products with turned rows, modulo the prime of 31 bits.
fn turned(pair: &mut Pair) -> Result<(), CheckError> {
    const TURNS: usize = 3;
    const CLASSES: usize = 2;
    const TERMS: usize = 2 * TURNS * CLASSES;
    const SYMBOLS: usize = 6;
    let (n, basis) = (pair.here.n(), Basis::new([0]));
    let m = *pair.here.modulus(0);
    // Bodies and the first symbol's rows are the largest: their sums exceed 64 bits.
    let mut row = |is_largest: bool| -> Poly<Eval> {
        let mut poly = pair.poly(&basis);
        if is_largest {
            poly.row_mut(0).fill(m.value() - 1);
        }
        poly
    };
    let terms: Vec<[Poly<Eval>; 2]> = (0..TERMS).map(|_| [row(true), row(false)]).collect();
    let rows: Vec<Vec<Poly<Eval>>> = (0..SYMBOLS)
        .map(|symbol| (0..CLASSES).map(|_| row(symbol == 0)).collect())
        .collect();
    let sums: Vec<[Poly<Eval>; 2]> = (0..SYMBOLS).map(|_| [row(true), row(false)]).collect();

    let away = |poly: &Poly<Eval>| pair.away(poly);
    let both = |polys: &[Poly<Eval>; 2]| polys.each_ref().map(away);
    let terms_away: Vec<_> = terms.iter().map(both).collect();
    let rows_away: Vec<Vec<_>> = rows
        .iter()
        .map(|rows| rows.iter().map(away).collect())
        .collect();
    let sums_away: Vec<_> = sums.iter().map(both).collect();
    let symbols = rows_away.iter().zip(&sums_away);
    let products = TurnedProducts {
        prime: 0,
        turns: TURNS,
        classes: CLASSES,
        terms: terms_away.iter().map(first_rows).collect(),
        symbols: symbols
            .map(|(rows, sums)| TurnedSymbol {
                rows: rows.iter().map(|row| row.at(0)).collect(),
                to: first_rows(sums),
            })
            .collect(),
    };
    let backend = pair.away.backend().expect("a ring on a machine");
    backend.turned_products(&products);
    drop(products);

    let half = n / 2;
    for ((mut expected, rows), found) in sums.into_iter().zip(&rows).zip(sums_away) {
        for (part, (expected, found)) in expected.iter_mut().zip(found).enumerate() {
            for (place, sum) in expected.row_mut(0).iter_mut().enumerate() {
                for (number, term) in terms.iter().enumerate() {
                    let (class, turn) = (number % CLASSES, number / CLASSES % TURNS);
                    let other = (place / half) ^ (number / CLASSES / TURNS);
                    let from = other * half + (place + turn) % half;
                    let product = m.mul(term[part].row(0)[place], rows[class].row(0)[from]);
                    *sum = m.add(*sum, product);
                }
            }
            pair.same("sums of products with turned rows", expected, found)?;
        }
    }
    Ok(())
}

/// Checks switches from each basis of a ring to the next.
///
/// Errors: the first difference; those of the machine.
pub fn switches(
    machine: &Arc<dyn Machine>,
    ring: &Ring,
    levels: &[&Basis],
    p: &Modulus,
) -> Result<(), CheckError> {
    let mut pair = Pair::new(machine, ring.clone())?;
    let watch = pair.away.watch();
    for levels in levels.windows(2) {
        let a = pair.poly::<Eval>(levels[0]);
        let switch = Switch::new(&pair.here, levels[0], levels[1], p);
        let here = switch.apply(&pair.here, &a);
        let away = switch.apply(&pair.away, &pair.away(&a));
        pair.same("a level", &here, away)?;
        let both = [pair.away(&a), pair.away(&a)];
        for away in switch.apply_all(&pair.away, &both.each_ref()) {
            pair.same("levels together", &here, away)?;
        }
    }
    watch
        .failure()
        .map_or(Ok(()), |failure| Err(CheckError::Failed(failure)))
}
