//! NEON back end on fused double-precision arithmetic, two residues a vector.
//!
//! What compilers vectorise by themselves, or vectors make no faster, is the scalar code.

mod block;
mod convert;
mod float;
mod fourier;
mod fourier_product;
mod mul;
mod ntt;
mod ntt_inverse;
mod words;

use crate::{Kernels, scalar};

pub(crate) static KERNELS: Kernels = Kernels {
    name: "neon",
    ntt_forward: ntt::forward,
    ntt_factors: ntt::forward,
    encode: None,
    ntt_inverse: ntt_inverse::inverse,
    ntt_inverse_from: None,
    add: scalar::mul::add,
    sub: scalar::mul::sub,
    neg: scalar::mul::neg,
    mul: mul::mul,
    mul_add: mul::mul_add,
    scale: mul::scale,
    scale_add: mul::scale_add,
    sub_scale: mul::sub_scale,
    sub_scale_add: mul::sub_scale_add,
    dot: convert::dot,
    dot_pair: None,
    dot_square: None,
    sliding_dots: None,
    dot_square_words: words::dot_square_words,
    dot_words: words::dot_words,
    convert: convert::convert,
    convert_many: None,
    quotient: convert::quotient,
    lift_centered: convert::lift_centered,
    gather: scalar::convert::gather,
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
    std::arch::is_aarch64_feature_detected!("neon")
}
