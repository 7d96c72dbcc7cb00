//! The portable back end: it defines what the others compute, in double precision up to rounding.

pub(crate) mod block;
pub(crate) mod convert;
pub(crate) mod fourier;
pub(crate) mod mul;
pub(crate) mod ntt;
pub(crate) mod words;

use crate::Kernels;

pub(crate) static KERNELS: Kernels = Kernels {
    name: "scalar",
    ntt_forward: ntt::forward,
    ntt_factors: ntt::forward,
    encode: None,
    ntt_inverse: ntt::inverse,
    ntt_inverse_from: None,
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
    dot_pair: None,
    dot_square: None,
    sliding_dots: None,
    dot_square_words: words::dot_square_words,
    dot_words: words::dot_words,
    convert: convert::convert,
    convert_many: None,
    quotient: convert::quotient,
    lift_centered: convert::lift_centered,
    gather: convert::gather,
    permute: convert::permute,
    spread: convert::spread,
    decompose: block::decompose,
    block_product: block::block_product,
    fourier_digits: fourier::digits,
    fourier_add: fourier::add,
    fourier_product: fourier::product,
};
