//! Pointwise operations. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use crate::Modulus;

/// Residues whose double-word sums are kept together, so that sources stream.
pub(crate) const CHUNK: usize = 32;

pub(crate) fn add(m: &Modulus, a: &mut [u64], b: &[u64]) {
    for (x, &y) in a.iter_mut().zip(b) {
        *x = m.add(*x, y);
    }
}

pub(crate) fn sub(m: &Modulus, a: &mut [u64], b: &[u64]) {
    for (x, &y) in a.iter_mut().zip(b) {
        *x = m.sub(*x, y);
    }
}

pub(crate) fn neg(m: &Modulus, a: &mut [u64]) {
    for x in a {
        *x = m.neg(*x);
    }
}

pub(crate) fn mul(m: &Modulus, a: &mut [u64], b: &[u64]) {
    for (x, &y) in a.iter_mut().zip(b) {
        *x = m.mul(*x, y);
    }
}

pub(crate) fn mul_add(m: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    for ((x, &y), &z) in acc.iter_mut().zip(a).zip(b) {
        *x = m.add(*x, m.mul(y, z));
    }
}

pub(crate) fn scale(m: &Modulus, a: &mut [u64], c: u64) {
    for x in a {
        *x = m.mul(*x, c);
    }
}

pub(crate) fn scale_add(m: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
    for (x, &y) in acc.iter_mut().zip(a) {
        *x = m.add(*x, m.mul(y, c));
    }
}

pub(crate) fn sub_scale(m: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
    for (x, &y) in a.iter_mut().zip(b) {
        *x = m.mul(m.sub(*x, y), c);
    }
}

pub(crate) fn sub_scale_add(m: &Modulus, a: &mut [u64], b: &[u64], c: u64, d: &[u64], e: u64) {
    for ((x, &y), &z) in a.iter_mut().zip(b).zip(d) {
        *x = m.add(m.mul(m.sub(*x, y), c), m.mul(z, e));
    }
}

pub(crate) fn dot(m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    dot_from(m, out, a, b, 0);
}

/// [`dot`] from residue `start` on.
pub(crate) fn dot_from(m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]], start: usize) {
    for (block, chunk) in out[start..].chunks_mut(CHUNK).enumerate() {
        let from = start + block * CHUNK;
        let range = from..from + chunk.len();
        // 4096 products below 2^100 each.
        let mut sums = [0u128; CHUNK];
        for (a, b) in a.iter().zip(b) {
            for ((sum, &x), &y) in sums
                .iter_mut()
                .zip(&a[range.clone()])
                .zip(&b[range.clone()])
            {
                *sum += u128::from(x) * u128::from(y);
            }
        }
        for (x, &sum) in chunk.iter_mut().zip(&sums) {
            *x = m.reduce_u128(sum);
        }
    }
}
