//! Products modulo `X^n + 1` and any `q`, by the schoolbook method.

use crate::clear::Residues;
use zeroize::Zeroizing;

/// Returns the first `count` coefficients of `a s`, as integers.
///
/// Shape:  `n` coefficients each.   Range: `|a| < 2^24`, `s` ternary.   Time: constant, `O(count n)`.
pub(super) fn negacyclic(a: &[i64], s: &[i64], count: usize) -> Vec<i64> {
    let n = a.len();
    // Coefficient i is the sum of s_j a_(i - j), where a_(-k) stands for -a_(n - k).
    let signed: Vec<i64> = a.iter().map(|x| -x).chain(a.iter().copied()).collect();
    let coefficient = |i: usize| {
        let row = signed[i + 1..i + 1 + n].iter().rev();
        row.zip(s).map(|(x, y)| x * y).sum()
    };
    (0..count).map(coefficient).collect()
}

/// Returns the first `count` coefficients of `key s + error` modulo q.
pub(super) fn sample(
    residues: &Residues,
    key: &[u32],
    s: &[i64],
    error: &[i64],
    count: usize,
) -> Vec<u32> {
    let key: Vec<i64> = key.iter().map(|&x| x.into()).collect();
    let exact = Zeroizing::new(negacyclic(&key, s, count));
    let sums = exact.iter().zip(error).map(|(x, e)| x + e);
    sums.map(|x| residues.reduce_signed(x)).collect()
}
