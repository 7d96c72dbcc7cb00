//! AVX-512 back end on 52-bit multiply-accumulate (IFMA), eight residues a vector.

mod convert;
mod field;
mod mul;
mod ntt;
mod ntt_inverse;

use crate::Kernels;

pub(crate) static KERNELS: Kernels = Kernels {
    name: "avx512ifma",
    ntt_forward: ntt::forward,
    ntt_inverse: ntt_inverse::inverse,
    add: mul::add,
    sub: mul::sub,
    neg: mul::neg,
    mul: mul::mul,
    mul_add: mul::mul_add,
    scale: mul::scale,
    scale_add: mul::scale_add,
    sub_scale: mul::sub_scale,
    dot: mul::dot,
    convert: convert::convert,
    quotient: convert::quotient,
    lift_centered: convert::lift_centered,
    gather: convert::gather,
};

/// Whether this CPU runs the back end.
pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512ifma")
}
