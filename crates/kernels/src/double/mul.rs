//! Pointwise operations. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use super::field::Field;
use crate::Modulus;

pub(super) fn mul(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let f = Field::new(m);
    for (x, &y) in a.iter_mut().zip(b) {
        *x = f.mul(*x, y);
    }
}

pub(super) fn mul_add(m: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let f = Field::new(m);
    for ((x, &y), &z) in acc.iter_mut().zip(a).zip(b) {
        *x = m.add(*x, f.mul(y, z));
    }
}

pub(super) fn scale(m: &Modulus, a: &mut [u64], c: u64) {
    let f = Field::new(m);
    for x in a {
        *x = f.mul(*x, c);
    }
}

pub(super) fn scale_add(m: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
    let f = Field::new(m);
    for (x, &y) in acc.iter_mut().zip(a) {
        *x = m.add(*x, f.mul(y, c));
    }
}

pub(super) fn sub_scale(m: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
    let f = Field::new(m);
    for (x, &y) in a.iter_mut().zip(b) {
        *x = f.mul(m.sub(*x, y), c);
    }
}

pub(super) fn sub_scale_add(m: &Modulus, a: &mut [u64], b: &[u64], c: u64, d: &[u64], e: u64) {
    let f = Field::new(m);
    for ((x, &y), &z) in a.iter_mut().zip(b).zip(d) {
        *x = m.add(f.mul(m.sub(*x, y), c), f.mul(z, e));
    }
}
