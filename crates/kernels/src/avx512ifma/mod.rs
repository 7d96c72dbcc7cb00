//! AVX-512 back end on 52-bit multiply-accumulate (IFMA), eight residues a vector.

mod block;
mod convert;
mod field;
mod fourier;
mod fourier_product;
mod mul;
mod ntt;
mod ntt_inverse;
mod sliding;
mod words;

use crate::Kernels;

pub(crate) static KERNELS: Kernels = Kernels {
    name: "avx512ifma",
    ntt_forward: ntt::forward,
    ntt_factors: ntt::forward_factors,
    encode: Some(ntt::encode),
    ntt_inverse: ntt_inverse::inverse,
    ntt_inverse_from: Some(ntt_inverse::inverse_from),
    add: mul::add,
    sub: mul::sub,
    neg: mul::neg,
    mul: mul::mul,
    mul_add: mul::mul_add,
    scale: mul::scale,
    scale_add: mul::scale_add,
    sub_scale: mul::sub_scale,
    sub_scale_add: mul::sub_scale_add,
    dot: mul::dot,
    dot_pair: Some(mul::dot_pair),
    dot_square: Some(mul::dot_square),
    sliding_dots: Some(sliding::sliding_dots),
    dot_square_words: words::dot_square_words,
    dot_words: words::dot_words,
    convert: convert::convert,
    convert_many: Some(convert::convert_many),
    quotient: convert::quotient,
    lift_centered: convert::lift_centered,
    gather: convert::gather,
    permute: convert::permute,
    spread: convert::spread,
    decompose: block::decompose,
    block_product: block::block_product,
    fourier_digits: fourier::digits,
    fourier_add: fourier::add,
    fourier_product: fourier_product::product,
};

/// Whether this CPU runs the back end.
pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512ifma")
}
