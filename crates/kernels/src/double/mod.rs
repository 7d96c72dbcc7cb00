//! Back end whose quotients are estimated in double precision: for machines without a product of 64-bit words, which is
//! WebAssembly. One residue at a time, without intrinsics, so that it runs and is tested everywhere.

mod dot;
mod field;
mod mul;
mod ntt;

use crate::{Kernels, scalar};

pub(crate) static KERNELS: Kernels = Kernels {
    name: "double",
    ntt_forward: ntt::forward,
    ntt_factors: ntt::forward,
    ntt_inverse: ntt::inverse,
    mul: mul::mul,
    mul_add: mul::mul_add,
    scale: mul::scale,
    scale_add: mul::scale_add,
    sub_scale: mul::sub_scale,
    sub_scale_add: mul::sub_scale_add,
    dot: dot::dot,
    convert: dot::convert,
    ..scalar::KERNELS
};
