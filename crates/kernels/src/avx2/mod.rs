//! AVX2 back end on fused double-precision arithmetic, four residues a vector.

mod block;
mod chain;
mod convert;
mod dot;
mod float;
mod fourier;
mod fourier_product;
mod mul;
mod ntt;
mod words;

use crate::{Kernels, scalar};

pub(crate) static KERNELS: Kernels = Kernels {
    name: "avx2",
    ntt_forward: ntt::forward,
    ntt_factors: ntt::forward,
    encode: None,
    ntt_inverse: ntt::inverse,
    ntt_inverse_from: Some(ntt::inverse_from),
    add: mul::add,
    sub: mul::sub,
    neg: mul::neg,
    mul: mul::mul,
    mul_add: mul::mul_add,
    scale: mul::scale,
    scale_add: mul::scale_add,
    sub_scale: mul::sub_scale,
    sub_scale_add: mul::sub_scale_add,
    dot: dot::dot,
    dot_pair: Some(dot::dot_pair),
    dot_square: Some(dot::dot_square),
    sliding_dots: None,
    dot_square_words: words::dot_square_words,
    dot_words: words::dot_words,
    convert: convert::convert,
    convert_many: Some(convert::convert_many),
    quotient: convert::quotient,
    lift_centered: convert::lift_centered,
    gather: convert::gather,
    permute: scalar::convert::permute,
    spread: scalar::convert::spread,
    decompose: scalar::block::decompose,
    block_product: block::block_product,
    fourier_digits: fourier::digits,
    fourier_add: fourier::add,
    fourier_product: fourier_product::product,
};

/// Whether this CPU runs the back end.
pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}
