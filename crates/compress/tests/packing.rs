//! Packing and finishing without slots and nodes: random polynomials of a small, insecure ring, judged by decryption.

use chacha20::ChaCha20Rng;
use omr_bgv::{Chain, Ciphertext, Decryptor, GaloisKey, Plain, encrypt_symmetric};
use omr_compress::{
    Finisher, KeyUse, MergeKeys, Packing, Phases, SumsShape, finish, merge_levels, pack,
};
use omr_ring::{Basis, Ring, primes_below};
use omr_rlwe::{KeyShape, MaskSeed, Rlwe, Secret, SecretPoly, SharedKey, SharedShape};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

const INSECURE_SMALL: usize = 128;
const INSECURE_FINAL: usize = 32;
const P: u64 = 1_179_649;
const WIDTH: usize = 16;
const SEED: [u8; 32] = [8; 32];

#[test]
fn every_number_of_symbols_is_packed_and_finished() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let primes = primes_below(47, INSECURE_SMALL, 4, &[P]).unwrap();
    let ring = Ring::new(INSECURE_SMALL, &primes).unwrap();
    let plain = Plain::new(P, INSECURE_SMALL, ring.kernels()).unwrap();
    let basis = Basis::new(0..2);
    let shape = KeyShape::new(&basis, 1, &Basis::new(2..4));
    let secret = Secret::uniform_ternary(&mut rng, INSECURE_SMALL);
    let s = secret.poly(&ring, &shape.extended());
    let levels = merge_levels(INSECURE_SMALL, WIDTH);
    let first_level = *levels.start();
    let keys: Vec<GaloisKey> = levels
        .map(|level| {
            let g = KeyUse::Merge(level).exponent(INSECURE_SMALL);
            let seed = MaskSeed::new(&SEED, level.into());
            GaloisKey::generate(&ring, &shape, &s, g, P, seed, &mut rng)
        })
        .collect();
    let keys = MergeKeys {
        keys: &keys,
        first_level,
    };
    let last_prime = primes_below(50, INSECURE_FINAL, 1, &[]).unwrap();
    let final_ring = Arc::new(Ring::new(INSECURE_FINAL, &last_prime).unwrap());
    let final_shape = SharedShape {
        components: INSECURE_SMALL / INSECURE_FINAL,
        parts: 2,
        digits: 2,
        digit_bits: 16,
    };
    let last_secrets: Vec<Secret> = (0..final_shape.bodies())
        .map(|_| Secret::uniform_ternary(&mut rng, INSECURE_FINAL))
        .collect();
    let everything = final_ring.everything();
    let polys = || -> Vec<SecretPoly> {
        let secrets = last_secrets.iter();
        secrets.map(|s| s.poly(&final_ring, &everything)).collect()
    };
    let seed = MaskSeed::new(&SEED, 0);
    let last = SharedKey::generate(&final_ring, final_shape, &secret, &polys(), seed, &mut rng);
    let packing = Packing {
        small: &ring,
        p: plain.p(),
        limbs: 2,
        final_ring: &final_ring,
        final_shape,
        mask_bits: 29,
        body_bits: 21,
    };
    let phases = Phases::new(packing.last(), polys());
    let decryptor = Decryptor {
        ring: &ring,
        plain: &plain,
        secret: &secret,
    };
    let chain = Chain::new(vec![basis.clone()]);
    let own = secret.poly(&ring, &basis);
    let stride = INSECURE_SMALL / WIDTH;
    let mut index = 100;
    for count in 1..=stride {
        let sums = SumsShape::new(INSECURE_SMALL, WIDTH, count).unwrap();
        let symbols: Vec<Vec<u64>> = (0..count)
            .map(|_| {
                (0..INSECURE_SMALL)
                    .map(|_| u64::from(rng.next_u32()) % P)
                    .collect()
            })
            .collect();
        let encrypted: Vec<Rlwe> = symbols
            .iter()
            .map(|coeffs| {
                index += 1;
                let seed = MaskSeed::new(&SEED, index);
                let slots = plain.decode(coeffs.clone());
                encrypt_symmetric(&ring, &plain, &chain, 0, &own, &slots, seed, &mut rng)
                    .into_pair()
            })
            .collect();
        let packed = pack(packing, sums, keys, encrypted);

        let mut expected = vec![0; INSECURE_SMALL];
        for (symbol, coeffs) in symbols.iter().enumerate() {
            for at in (0..INSECURE_SMALL).step_by(stride) {
                expected[at + symbol] = coeffs[at] as u32;
            }
        }
        let found = decryptor.decrypt(&Ciphertext::new(packed.clone(), 0, 1));
        assert_eq!(plain.encode(&found), expected, "{count} symbols");

        let mut finisher = Finisher::new(packing, &last, sums);
        finisher.push(&packed);
        let found = phases.sums(sums, &finisher.finish()).unwrap();
        let scale = finish::gathered_scale(packing);
        for (symbol, coeffs) in symbols.iter().enumerate() {
            let own = coeffs.iter().step_by(stride);
            let expected: Vec<u32> = own.map(|&c| plain.p().mul(c, scale) as u32).collect();
            assert_eq!(found[symbol], expected, "symbol {symbol} of {count}");
        }
    }
}
