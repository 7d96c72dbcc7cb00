//! Pointwise products. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).
//!
//! Whole vectors here; the residue after the last vector goes through the scalar back end.

use std::arch::aarch64::*;

use super::float::{Field, load, load_residues, store};
use crate::{Modulus, scalar::mul as scalar};

#[target_feature(enable = "neon")]
pub(super) fn mul(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let f = Field::new(m);
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        let product = f.mul_each(load_residues(a), f.factors(load_residues(b)));
        store(a, f.residues(product));
    }
    scalar::mul(m, a_tail, b_tail);
}

#[target_feature(enable = "neon")]
pub(super) fn mul_add(m: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let f = Field::new(m);
    let (acc, acc_tail) = acc.as_chunks_mut();
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks(), b.as_chunks());
    for ((acc, a), b) in acc.iter_mut().zip(a).zip(b) {
        let product = f.mul_each(load_residues(a), f.factors(load_residues(b)));
        let sum = vaddq_f64(load_residues(acc), product);
        store(acc, f.residues(f.reduce(sum)));
    }
    scalar::mul_add(m, acc_tail, a_tail, b_tail);
}

#[target_feature(enable = "neon")]
pub(super) fn scale(m: &Modulus, a: &mut [u64], c: u64) {
    let f = Field::new(m);
    let factor = f.factor(c);
    let (a, tail) = a.as_chunks_mut();
    for a in a {
        store(a, f.residues(f.mul(load_residues(a), factor)));
    }
    scalar::scale(m, tail, c);
}

#[target_feature(enable = "neon")]
pub(super) fn scale_add(m: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
    let f = Field::new(m);
    let factor = f.factor(c);
    let ((acc, acc_tail), (a, a_tail)) = (acc.as_chunks_mut(), a.as_chunks());
    for (acc, a) in acc.iter_mut().zip(a) {
        let sum = vaddq_f64(load_residues(acc), f.mul(load_residues(a), factor));
        store(acc, f.residues(f.reduce(sum)));
    }
    scalar::scale_add(m, acc_tail, a_tail, c);
}

#[target_feature(enable = "neon")]
pub(super) fn sub_scale(m: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
    let f = Field::new(m);
    let factor = f.factor(c);
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        store(a, f.residues(f.mul(difference(load(a), load(b)), factor)));
    }
    scalar::sub_scale(m, a_tail, b_tail, c);
}

#[target_feature(enable = "neon")]
pub(super) fn sub_scale_add(m: &Modulus, a: &mut [u64], b: &[u64], c: u64, d: &[u64], e: u64) {
    let f = Field::new(m);
    let (by_c, by_e) = (f.factor(c), f.factor(e));
    let (a, a_tail) = a.as_chunks_mut();
    let ((b, b_tail), (d, d_tail)) = (b.as_chunks(), d.as_chunks());
    for ((a, b), d) in a.iter_mut().zip(b).zip(d) {
        let product = f.mul(difference(load(a), load(b)), by_c);
        let sum = vaddq_f64(product, f.mul(load_residues(d), by_e));
        store(a, f.residues(f.reduce(sum)));
    }
    scalar::sub_scale_add(m, a_tail, b_tail, c, d_tail, e);
}

#[inline]
#[target_feature(enable = "neon")]
fn difference(a: uint64x2_t, b: uint64x2_t) -> float64x2_t {
    vcvtq_f64_s64(vreinterpretq_s64_u64(vsubq_u64(a, b)))
}
