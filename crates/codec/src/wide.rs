//! Products of two words.

/// `a b`.
///
/// Compilers call a function for it on WebAssembly, which has no such product; four of half words in place are faster.
#[inline]
pub(crate) fn product(a: u64, b: u64) -> u128 {
    if cfg!(target_family = "wasm") {
        by_halves(a, b)
    } else {
        u128::from(a) * u128::from(b)
    }
}

#[inline]
fn by_halves(a: u64, b: u64) -> u128 {
    const LOW: u64 = (1 << 32) - 1;
    let ([a1, a0], [b1, b0]) = ([a >> 32, a & LOW], [b >> 32, b & LOW]);
    let low = a0 * b0;
    let one = a1 * b0 + (low >> 32);
    let other = a0 * b1 + (one & LOW);
    let high = a1 * b1 + (one >> 32) + (other >> 32);
    u128::from(high) << 64 | u128::from(other << 32 | low & LOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_give_the_product() {
        let spread = (0..200).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let edges = [0, 1, u64::MAX, 1 << 32, (1 << 32) - 1, 1 << 63];
        let words: Vec<u64> = spread.chain(edges).collect();
        for &a in &words {
            for &b in &words {
                let expected = u128::from(a) * u128::from(b);
                assert_eq!((by_halves(a, b), product(a, b)), (expected, expected));
            }
        }
    }
}
