//! Test vectors of the operators and of a rotation of set `sophomr-affine-v1`, with a real detection key.

use crate::Outcome;
use crate::image::Image;
use crate::machine::{Machine, key_of};
use crate::operators::{self, Context};
use chacha20::ChaCha20Rng;
use omr_bgv::{Decryptor, Evaluator};
use omr_papers::clear::{Params, Part, Spec};
use omr_papers::client::ring_keys;
use omr_protocol::ClueKind;
use rand_core::{Rng, SeedableRng};

const SET: &str = Spec::SOPHOMR;

/// The number of limbs that are transformed in sequence, in either direction.
const TRANSFORMS: usize = 4;

/// One of the two rotations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Step,
    Giant,
}

/// Returns the image. The expected rotated ciphertext was decrypted and compared with the rotated slots.
pub(crate) fn image(turn: Turn) -> Outcome<Image> {
    let params = Params::named(SET)?;
    let mut rng = ChaCha20Rng::seed_from_u64(22);
    let keys = ring_keys(&params, ClueKind::Plain, &mut rng);
    let key = keys.detection;
    let (galois, part, steps) = match turn {
        Turn::Step => (&key.step, Part::Step, 1),
        Turn::Giant => (&key.giant, Part::Giant, params.giant_step()),
    };

    let ev = Evaluator {
        ring: &params.ring,
        plain: &params.plain,
        chain: &params.chain,
        stop: None,
    };
    let input = &key.secrets[0];
    let turned = ev.automorphism(input, galois)?;
    let open = Decryptor {
        ring: &params.ring,
        plain: &params.plain,
        secret: &keys.large,
    };
    expect_rotated(&open.decrypt(input), &open.decrypt(&turned), steps)?;

    let basis = params.chain.basis(0);
    let mut machine = Machine::new(SET, &params.ring, params.p(), basis);
    machine.load_key(0, &key_of(galois, key.seed, part.index(), steps));
    machine.reserve_work(&[galois.switching_key().shape()]);
    if turn == Turn::Step {
        let cx = Context { ev, key: galois };
        let p = params.p().value();
        let mut slots = || -> Vec<u32> {
            let slots = (0..params.slots()).map(|_| (rng.next_u64() % p) as u32);
            slots.collect()
        };
        let random_slots = [slots(), slots()];
        let inputs = [input.clone(), turned.clone()];
        let basis = galois.switching_key().shape().extended();
        let rows = operators::random_rows(&params.ring, &basis, &mut rng);
        operators::transforms(&cx, &mut machine, &rows, TRANSFORMS);
        operators::conversions(&cx, &mut machine, &rows);
        let slots = random_slots.each_ref().map(Vec::as_slice);
        operators::sums_and_products(&cx, &mut machine, &inputs, slots)?;
        operators::automorphism(&cx, &mut machine, input);
    }
    operators::rotation(&mut machine, input, &turned);
    Ok(machine.image)
}

/// Checks that slot i of a row of slots contains the previous slot `i + steps` of the same row.
fn expect_rotated(before: &[u32], after: &[u32], steps: usize) -> Outcome<()> {
    let half = before.len() / 2;
    for (row, image) in before.chunks(half).zip(after.chunks(half)) {
        let mut expected = row.to_vec();
        expected.rotate_left(steps);
        if expected != image {
            return Err(format!("expected slots rotated by {steps}, found others").into());
        }
    }
    Ok(())
}
