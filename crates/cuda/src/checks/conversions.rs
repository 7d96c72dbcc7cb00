//! Comparison of conversions between primes.

use super::{CheckError, Pair};
use crate::Machine;
use crate::backend::SOURCES;
use omr_ring::{
    Basis, Coeff, ConversionNumbers, Poly, Ring, RowConversion, primes_below, primes_near,
};
use rand_core::Rng;
use std::sync::Arc;

/// The coefficients of a conversion.
#[derive(Clone, Copy)]
enum Kind {
    Largest,
    LargestNegative,
    Alternating,
    Random,
}

/// Checks conversions from as many primes as possible, from small primes and from single ones, to primes of 31 to 50
/// bits. Sums of products reach both ends of their ranges.
///
/// Errors: the first difference; those of the machine.
pub(super) fn conversions(machine: &Arc<dyn Machine>) -> Result<(), CheckError> {
    const N: usize = 256;
    let mut primes = primes_below(50, N, SOURCES + 1, &[])?;
    for bits in [31, 37, 44, 49] {
        primes.extend(primes_below(bits, N, 1, &[])?);
    }
    // 2^51 is almost 2.5 times the second one: its residue is as large as possible.
    for log2 in [41.0, 51.0 - 2.5f64.log2()] {
        primes.extend(primes_near(log2, N, 1, &[])?);
    }
    let mut pair = Pair::new(machine, Ring::new(N, &primes)?)?;
    let watch = pair.away.watch();
    let all = primes.len();
    for (sources, targets) in [
        (0..SOURCES, SOURCES..all),
        (SOURCES..all, 0..2),
        (0..1, 1..all),
        (SOURCES + 1..SOURCES + 2, 0..1),
    ] {
        let [sources, targets] = [sources, targets].map(Basis::new);
        for kind in [
            Kind::Largest,
            Kind::LargestNegative,
            Kind::Alternating,
            Kind::Random,
        ] {
            let coefficients = coefficients(&mut pair, kind, sources.len() + 1, &targets);
            converted(&mut pair, &sources, &targets, &coefficients)?;
        }
    }
    watch
        .failure()
        .map_or(Ok(()), |failure| Err(CheckError::Failed(failure)))
}

/// Returns `count` coefficients for each target.
fn coefficients(pair: &mut Pair, kind: Kind, count: usize, targets: &Basis) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    for &id in targets.ids() {
        let q = pair.here.modulus(id).value();
        let own = (0..count as u64).map(|i| match kind {
            Kind::Largest => q / 2,
            Kind::LargestNegative => q / 2 + 1,
            Kind::Alternating => q / 2 + (i & 1),
            Kind::Random => pair.rng.next_u64() % q,
        });
        all.push(own.collect());
    }
    all
}

/// Checks the conversion of small, large and mixed residues together.
fn converted(
    pair: &mut Pair,
    sources: &Basis,
    targets: &Basis,
    coefficients: &[Vec<u64>],
) -> Result<(), CheckError> {
    let mut small = Poly::<Coeff>::zero(&pair.here, sources);
    let mut large = small.clone();
    let mut inverse = Vec::new();
    for (limb, &id) in sources.ids().iter().enumerate() {
        let q = pair.here.modulus(id).value();
        inverse.push(1.0 / q as f64);
        small
            .row_mut(limb)
            .copy_from_slice(&Vec::from_iter(0..pair.here.n() as u64));
        for (large, small) in large.row_mut(limb).iter_mut().zip(small.row(limb)) {
            *large = q - 1 - small;
        }
    }
    let groups = [small, large, pair.poly(sources)];
    let away: Vec<[Poly<Coeff>; 2]> = groups
        .iter()
        .map(|from| [pair.away(from), Poly::scratch(&pair.away, targets)])
        .collect();
    let rows = away.iter().map(|[from, to]| RowConversion {
        from: sources.ids().iter().map(|&id| from.at(id)).collect(),
        to: targets.ids().iter().map(|&id| to.at(id)).collect(),
    });
    let numbers = ConversionNumbers {
        inverse: &inverse,
        targets: targets.ids(),
        coefficients,
    };
    let backend = pair.away.backend().expect("a ring on a machine");
    backend.convert(&numbers, &rows.collect::<Vec<_>>());

    let (kernels, mut wraps) = (pair.here.kernels(), vec![0; pair.here.n()]);
    for (from, [_, found]) in groups.iter().zip(away) {
        let mut rows: Vec<&[u64]> = from.rows().collect();
        kernels.quotient(&mut wraps, &rows, &inverse);
        rows.push(&wraps);
        let mut expected = Poly::<Coeff>::zero(&pair.here, targets);
        for (limb, &id) in targets.ids().iter().enumerate() {
            let row = expected.row_mut(limb);
            kernels.convert(pair.here.modulus(id), row, &rows, &coefficients[limb]);
        }
        pair.same("conversions", &expected, found)?;
    }
    Ok(())
}
