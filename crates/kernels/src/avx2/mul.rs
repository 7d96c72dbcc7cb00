//! Pointwise operations. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).
//!
//! Whole vectors here; the residues after the last vector go through the scalar back end.

use std::arch::x86_64::*;

use super::float::{Field, load, splat, store, to_float, to_int};
use crate::{Modulus, scalar::mul as scalar};

#[target_feature(enable = "avx2,fma")]
pub(super) fn add(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let q = splat(m.value());
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        let sum = _mm256_add_epi64(load(a), load(b));
        store(a, lift_negative(_mm256_sub_epi64(sum, q), q));
    }
    scalar::add(m, a_tail, b_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn sub(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let q = splat(m.value());
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        store(a, lift_negative(_mm256_sub_epi64(load(a), load(b)), q));
    }
    scalar::sub(m, a_tail, b_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn neg(m: &Modulus, a: &mut [u64]) {
    let q = splat(m.value());
    let (a, tail) = a.as_chunks_mut();
    for a in a {
        store(a, lift_negative(_mm256_sub_epi64(splat(0), load(a)), q));
    }
    scalar::neg(m, tail);
}

/// `[-q, q)` to `[0, q)`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn lift_negative(x: __m256i, q: __m256i) -> __m256i {
    let negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), x);
    _mm256_add_epi64(x, _mm256_and_si256(negative, q))
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn mul(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let f = Field::new(m);
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        let product = f.mul(to_float(load(a)), f.factors(to_float(load(b))));
        store(a, to_int(f.canonical(product)));
    }
    scalar::mul(m, a_tail, b_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn mul_add(m: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let f = Field::new(m);
    let (acc, acc_tail) = acc.as_chunks_mut();
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks(), b.as_chunks());
    for ((acc, a), b) in acc.iter_mut().zip(a).zip(b) {
        let product = f.mul(to_float(load(a)), f.factors(to_float(load(b))));
        let sum = _mm256_add_pd(to_float(load(acc)), product);
        store(acc, to_int(f.canonical(f.reduce(sum))));
    }
    scalar::mul_add(m, acc_tail, a_tail, b_tail);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn scale(m: &Modulus, a: &mut [u64], c: u64) {
    let f = Field::new(m);
    let factor = f.splat(c);
    let (a, tail) = a.as_chunks_mut();
    for a in a {
        let product = f.mul(to_float(load(a)), factor);
        store(a, to_int(f.canonical(product)));
    }
    scalar::scale(m, tail, c);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn scale_add(m: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
    let f = Field::new(m);
    let factor = f.splat(c);
    let ((acc, acc_tail), (a, a_tail)) = (acc.as_chunks_mut(), a.as_chunks());
    for (acc, a) in acc.iter_mut().zip(a) {
        let product = f.mul(to_float(load(a)), factor);
        let sum = _mm256_add_pd(to_float(load(acc)), product);
        store(acc, to_int(f.canonical(f.reduce(sum))));
    }
    scalar::scale_add(m, acc_tail, a_tail, c);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn sub_scale(m: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
    let f = Field::new(m);
    let factor = f.splat(c);
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        let difference = _mm256_sub_pd(to_float(load(a)), to_float(load(b)));
        store(a, to_int(f.canonical(f.mul(difference, factor))));
    }
    scalar::sub_scale(m, a_tail, b_tail, c);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn sub_scale_add(m: &Modulus, a: &mut [u64], b: &[u64], c: u64, d: &[u64], e: u64) {
    let f = Field::new(m);
    let (unit, factor) = (f.splat(c), f.splat(e));
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    let (d, d_tail) = d.as_chunks();
    for ((a, b), d) in a.iter_mut().zip(b).zip(d) {
        let difference = _mm256_sub_pd(to_float(load(a)), to_float(load(b)));
        let product = f.mul(to_float(load(d)), factor);
        let sum = _mm256_add_pd(f.mul(difference, unit), product);
        store(a, to_int(f.canonical(f.reduce(sum))));
    }
    scalar::sub_scale_add(m, a_tail, b_tail, c, d_tail, e);
}
