/// The largest log2(PQ) estimated to give 128 bits in dimension `n`; 0 where none is known.
///
/// lattice-estimator at commit 27a581bb8e9d49f5e9e2db315bd48ac769d5f5f5, MATZOV cost, GSA:
/// uniform ternary secrets with error 3.19, and the fixed weight 4096 in dimension 65536 at 1724
/// bits (usvp 129.9, bdd 129.6, primal_hybrid 130.2, dual_hybrid 130.7). That one is moved to 1740
/// by `reference/security.py`, which meets those figures within 0.1 bit: bdd 128.5, less 0.3 for
/// rejected secrets. A larger weight in the same dimension is at least as secure.
pub fn largest_log_pq(n: usize, weight: Option<usize>) -> f64 {
    match (n, weight) {
        (65_536, Some(4096..)) => 1740.0,
        (1024, None) => 26.0,
        (2048, None) => 53.0,
        (4096, None) => 106.0,
        (8192, None) => 214.0,
        (16_384, None) => 430.0,
        (32_768, None) => 868.0,
        (65_536, None) => 1746.0,
        _ => 0.0,
    }
}
