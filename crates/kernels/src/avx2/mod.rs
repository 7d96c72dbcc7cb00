//! AVX2 back end on fused double-precision arithmetic, four residues a vector.

mod convert;
mod float;
mod mul;
mod ntt;

use crate::Kernels;

pub(crate) static KERNELS: Kernels = Kernels {
    name: "avx2",
    ntt_forward: ntt::forward,
    ntt_inverse: ntt::inverse,
    add: mul::add,
    sub: mul::sub,
    neg: mul::neg,
    mul: mul::mul,
    mul_add: mul::mul_add,
    scale: mul::scale,
    scale_add: mul::scale_add,
    sub_scale: mul::sub_scale,
    dot: convert::dot,
    convert: convert::convert,
    quotient: convert::quotient,
    lift_centered: convert::lift_centered,
    gather: convert::gather,
};

/// Whether this CPU runs the back end.
pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}
