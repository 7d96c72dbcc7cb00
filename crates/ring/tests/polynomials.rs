//! Polynomials whose rows are kept apart, the memory behind them, and automorphisms of their rows.
use chacha20::ChaCha20Rng;
use omr_ring::*;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroize;

/// Dimensions below and from the one at which rows are padded.
const DIMENSIONS: [usize; 4] = [8, 2048, 4096, 8192];

fn ring(n: usize, primes: usize) -> Ring {
    Ring::new(n, &primes_below(50, n, primes, &[]).unwrap()).unwrap()
}

fn words(ring: &Ring, basis: &Basis, rng: &mut ChaCha20Rng) -> Vec<u64> {
    let mut words = vec![0; ring.n() * basis.len()];
    for (row, &id) in words.chunks_mut(ring.n()).zip(basis.ids()) {
        uniform_residues(rng, ring.modulus(id), row);
    }
    words
}

#[test]
fn rows_go_in_and_come_out() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for n in DIMENSIONS {
        let ring = ring(n, 4);
        let basis = Basis::new([2, 0, 3]);
        let all = words(&ring, &basis, &mut rng);
        let mut poly = Poly::<Coeff>::from_rows(n, &basis, all.clone());
        assert_eq!(poly.to_words(), all);
        for (i, (&id, row)) in basis.ids().iter().zip(all.chunks(n)).enumerate() {
            assert_eq!(poly.row(i), row);
            assert_eq!(poly.row_mut(i), row);
            assert_eq!(poly.row_of(id), row);
        }
        assert!(poly.rows().zip(all.chunks(n)).all(|(a, b)| a == b));
        assert!(poly.rows_mut().zip(all.chunks(n)).all(|(a, b)| a == b));
        assert_eq!((poly.rows().count(), poly.rows_mut().count()), (3, 3));
        let [first, _, last]: [&[u64]; 3] = std::array::from_fn(|i| &all[i * n..(i + 1) * n]);
        let part = poly.restrict(&Basis::new([3, 2]));
        assert_eq!(part.to_words(), [last, first].concat());
        assert_eq!(ring.inverse(ring.forward(poly.clone())).to_words(), all);
        let mut wiped = poly.clone();
        wiped.zeroize();
        assert_eq!(wiped.to_words(), vec![0; 3 * n]);
        assert_eq!(poly.to_words(), all);
    }
}

#[test]
fn reused_memory_is_zero_where_zeros_are_asked_for() {
    let len = 1 << 17;
    let _kept = reserve(&[len, len]);
    for shorter in [0, 5, len / 3] {
        let mut used = Buffer::any(len);
        used.fill(u64::MAX);
        drop(used);
        let fresh = Buffer::zeroed(len - shorter);
        assert_eq!(fresh.len(), len - shorter);
        assert!(fresh.iter().all(|&word| word == 0));
    }
}

/// Resident memory of this process in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib: usize = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kib << 10
}

#[test]
#[cfg(target_os = "linux")]
fn released_memory_is_the_systems_again() {
    // Other tests use the pool beside this one: far less.
    let (bytes, len) = (256 << 20, 1 << 22);
    let held = Buffer::zeroed(len);
    let lengths = vec![len; bytes / (8 * len)];
    let kept = reserve(&lengths);
    let before = resident();
    assert!(release() >= bytes);
    let after = resident();
    assert!(before - after > bytes / 2, "{before} before, {after} after");
    // What is in use stays, and returns to the pool.
    assert!(held.iter().all(|&word| word == 0));
    drop(held);
    assert!(Buffer::any(len).len() == len);
    // A reservation that ends gives its memory back, unless another one asks for it.
    let again = reserve(&lengths);
    drop(kept);
    let reserved = resident();
    assert!(reserved > after + bytes / 2, "{after}, then {reserved}");
    // While all of it is in use, another one that asks for as much takes no more.
    let used: Vec<Buffer> = lengths.iter().map(|&len| Buffer::any(len)).collect();
    let shared = reserve(&lengths);
    let both = resident();
    assert!(both < reserved + bytes / 4, "{reserved}, then {both}");
    drop((used, shared, again));
    let ended = resident();
    assert!(ended + bytes / 2 < reserved, "{reserved}, then {ended}");
}

/// The image of a row equals the gather by its indices, which keep blocks of eight together.
fn check_image(ring: &Ring, g: usize, rng: &mut ChaCha20Rng) {
    let automorphism = Automorphism::new(ring.n(), g);
    let indices = automorphism.indices();
    assert!(BlockPermutation::new(indices).is_some(), "g = {g}");
    let row: Vec<u64> = (0..ring.n()).map(|_| rng.next_u64()).collect();
    let mut image = vec![0; ring.n()];
    automorphism.apply_row(ring, &mut image, &row);
    let expected = indices.iter().map(|&i| row[i as usize]);
    assert!(image.into_iter().eq(expected), "n = {}, g = {g}", ring.n());
}

#[test]
fn automorphisms_move_blocks() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for n in [8, 16, 32, 64] {
        let ring = ring(n, 1);
        (1..2 * n)
            .step_by(2)
            .for_each(|g| check_image(&ring, g, &mut rng));
    }
    let n = 1 << 16;
    let ring = ring(n, 1);
    for _ in 0..8 {
        check_image(&ring, (rng.next_u64() as usize % (2 * n)) | 1, &mut rng);
    }
    check_image(&ring, Automorphism::row_swap(n), &mut rng);
}

/// Rows shorter than a block are gathered.
#[test]
fn automorphisms_of_short_rows() {
    let ring = Ring::new(4, &[97]).unwrap();
    for g in [1, 3, 5, 7] {
        let automorphism = Automorphism::new(4, g);
        assert!(BlockPermutation::new(automorphism.indices()).is_none());
        let (row, mut image) = ([10, 11, 12, 13], [0; 4]);
        automorphism.apply_row(&ring, &mut image, &row);
        let expected = automorphism.indices().iter().map(|&i| row[i as usize]);
        assert!(image.into_iter().eq(expected));
    }
}
