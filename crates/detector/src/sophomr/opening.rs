//! From clues to encrypted distances: clues are packed at one small prime and opened in slots.

use super::clues::ClueBatch;
use crate::progress::check_stopped;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator, GaloisKey};
use omr_opening::{
    BLOCKS_TOGETHER, BlockOfClues, ModuleCipher, NarrowKey, Narrowed, Opening, OpeningKeys,
    PackingKey, PhaseValues, Place, Turned, narrow, open, pack,
};
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::sophomr::{DetectionKey, EncryptedSecret, OpeningKey, Params, ParamsSpec};
use omr_ring::{Eval, Poly};
use rayon::prelude::*;
use std::sync::Arc;

/// Returns the lengths in words of the buffers for the rotated secret of one recipient.
pub(super) fn buffers(params: &Params, opening: &Opening) -> Vec<usize> {
    vec![poly_words(params); 2 * opening.turns()]
}

/// Returns the lengths in words of the buffers for the two steps of opening: the values of phases, beside [`buffers`],
/// then the transform.
pub(super) fn buffers_of_steps(
    params: &Params,
    opening: &Opening,
    threads: usize,
) -> [Vec<usize>; 2] {
    let (coordinates, n) = (ParamsSpec::COORDINATES, params.slots());
    let (poly, basis) = (poly_words(params), params.chain.basis(0));
    let [of_values, of_transform] = opening
        .rows_encoded(coordinates)
        .map(|rows| vec![rows * n; threads]);
    // The sums of products within a row and beyond its end.
    let values = [vec![poly; 2 * 2 * coordinates], of_values].concat();
    let raised_basis = basis.union(params.giant_shape.special());
    let raised = vec![Poly::<Eval>::words(params.ring.n(), &raised_basis); 2 * coordinates];
    let switch = params.giant_shape.buffers(&params.ring, basis, coordinates);
    let own = vec![poly; 2 * coordinates * opening.polynomials_of_transform()];
    [values, [own, of_transform, raised, switch].concat()]
}

fn poly_words(params: &Params) -> usize {
    Poly::<Eval>::words(params.ring.n(), params.chain.basis(0))
}

/// Returns the encrypted secrets for opening packed clues, rotated by 0, 1, 2, ... slots, of keys with one seed of
/// masks.
pub(super) fn turned(
    ev: &Evaluator,
    opening: &Opening,
    keys: &[&DetectionKey],
    progress: &dyn Progress,
) -> Result<Turned, DetectorError> {
    progress.stage("baby steps", 1);
    let each: Vec<&EncryptedSecret> = keys.iter().map(|key| &key.secret).collect();
    let secrets = EncryptedSecret::together(&each);
    let step: Vec<&GaloisKey> = keys.iter().map(|key| &key.step).collect();
    let turned = Turned::new(ev, opening, secrets, &step)?;
    progress.advance(1);
    check_stopped(progress)?;
    Ok(turned)
}

/// Returns `b - a s`, or `b - a s - <h, w>` for bound clues, for all coordinates, at level 1, for each key. For the
/// last batch, the caller should pass the last reference to the rotated secrets, so that their memory can be used
/// again.
pub(super) fn transform(
    ev: &Evaluator,
    params: &Params,
    keys: &[&DetectionKey],
    turned: Arc<Turned>,
    clues: &ClueBatch,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Ciphertext>>, DetectorError> {
    let opening = &params.opening;
    progress.stage("opening", opening.blocks() as u64 + 2);
    let own: Vec<&OpeningKey> = keys.iter().map(|key| &key.opening).collect();
    let packed = packed(params, opening, &own, clues, progress)?;
    let of_transform = OpeningKeys {
        baby: own.iter().map(|key| &key.baby).collect(),
        giant: keys.iter().map(|key| &key.giant).collect(),
    };
    let values = PhaseValues::new(ev, opening, &turned, &of_transform, &packed)?;
    drop((turned, packed));
    progress.advance(1);
    check_stopped(progress)?;
    let opened = open(ev, opening, &of_transform, values, 1)?;
    progress.advance(1);
    check_stopped(progress)?;
    Ok(opened)
}

/// Returns the clues of all blocks, coordinate by coordinate.
fn packed(
    params: &Params,
    opening: &Opening,
    keys: &[&OpeningKey],
    clues: &ClueBatch,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Narrowed>>, DetectorError> {
    let blocks: Vec<usize> = (0..opening.blocks()).collect();
    let packed_blocks: Vec<Vec<Vec<Narrowed>>> = blocks
        .par_chunks(BLOCKS_TOGETHER)
        .with_max_len(1)
        .map(|numbers| {
            check_stopped(progress)?;
            let of_block = |&number: &usize| block_of(params, opening, clues, number);
            let own: Vec<BlockOfClues> = numbers.iter().map(of_block).collect();
            let packed = packed_together(&own, opening, keys);
            progress.advance(numbers.len() as u64);
            Ok(packed)
        })
        .collect::<Result<_, DetectorError>>()?;
    let mut coordinates = vec![Vec::new(); ParamsSpec::COORDINATES];
    for block in packed_blocks.into_iter().flatten() {
        for (coordinate, ct) in coordinates.iter_mut().zip(block) {
            coordinate.push(ct);
        }
    }
    Ok(coordinates)
}

/// Returns the clues of a block, with their signs, in the order of its coefficients.
fn block_of(params: &Params, opening: &Opening, clues: &ClueBatch, block: usize) -> BlockOfClues {
    let width = params.spec().clue.n;
    let places = (0..opening.spec().n).map(|coefficient| Place { block, coefficient });
    let slots: Vec<usize> = places.map(|place| opening.slot(place)).collect();
    let mut a = vec![0; slots.len() * width];
    clues.rows_into(params, &slots, &mut a);
    let coordinates = clues.coordinates();
    let of = |values: &Vec<u32>| slots.iter().map(|&slot| values[slot]).collect();
    let rows = |rows: &Vec<[u32; OFFSET_LEN]>| slots.iter().flat_map(|&slot| rows[slot]).collect();
    let mut block = BlockOfClues {
        a,
        b: coordinates.b.iter().map(of).collect(),
        extra: coordinates.rows.iter().map(rows).collect(),
    };
    let negated = |&y: &usize| clues.is_negated(slots[y]);
    let (modulus, q) = (params.spec().clue.modulus(), params.spec().clue.q);
    for y in (0..slots.len()).filter(negated) {
        negate(&mut block, modulus as u32, q as u32, y);
    }
    block
}

/// Negates the clue of coefficient y: its residues modulo `modulus` and its rows modulo `q`.
fn negate(block: &mut BlockOfClues, modulus: u32, q: u32, y: usize) {
    let messages = block.b[0].len();
    let negate = |q: u32, rows: &mut [u32]| {
        let width = rows.len() / messages;
        for x in &mut rows[y * width..][..width] {
            *x = if *x == 0 { 0 } else { q - *x };
        }
    };
    let residues = [&mut block.a].into_iter().chain(&mut block.b);
    residues.for_each(|rows| negate(modulus, rows));
    block.extra.iter_mut().for_each(|rows| negate(q, rows));
}

/// Returns the packed and narrowed clues of blocks, coordinate by coordinate.
fn packed_together(
    blocks: &[BlockOfClues],
    opening: &Opening,
    keys: &[&OpeningKey],
) -> Vec<Vec<Narrowed>> {
    let (packing, narrowing): (Vec<&PackingKey>, Vec<&NarrowKey>) =
        keys.iter().map(|key| (&key.packing, &key.narrow)).unzip();
    let packed = pack(opening, &packing, blocks);
    let narrowed = |block: &Vec<ModuleCipher>| {
        let coordinates = block.iter();
        coordinates
            .map(|ct| narrow(opening, &narrowing, ct))
            .collect()
    };
    packed.iter().map(narrowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use omr_protocol::{Clue, Placement};

    /// The residues of a block equal those of the clues in its slots, with the signs of the placement.
    #[test]
    fn blocks_hold_clues_with_their_signs() {
        let params = &*Params::named("insecure-tiny-v4").unwrap();
        let (spec, opening) = (&params.spec().clue, &params.opening);
        let (q, posted) = (spec.modulus() as u32, spec.posted_modulus() as u32);
        let clue = |w: usize| Clue {
            a: (0..spec.n)
                .map(|i| (w * 7919 + i * 131) as u32 % posted)
                .collect(),
            b: vec![w as u32, 0],
        };
        let clues: Vec<Clue> = (0..params.slots()).map(clue).collect();
        let bytes: Vec<Vec<u8>> = clues.iter().map(|c| c.to_bytes(&params.clue)).collect();
        let placement = Placement::new(&[4; 32], 0, params.slots());
        let batch = ClueBatch::new(params, &placement, bytes.concat(), bytes[0].len());
        let negated = placement.negated();
        let sign = |slot: usize, posted: u32| match (negated[slot], spec.stands_for(posted)) {
            (true, x) => (q - x) % q,
            (false, x) => x,
        };
        for number in [0, opening.blocks() - 1] {
            let block = block_of(params, opening, &batch, number);
            for y in 0..opening.spec().n {
                let place = Place {
                    block: number,
                    coefficient: y,
                };
                let slot = opening.slot(place);
                let clue = &clues[placement.messages()[slot] as usize];
                let row = block.a[y * spec.n..][..spec.n].iter();
                assert!(
                    row.eq(clue
                        .a
                        .iter()
                        .map(|&x| sign(slot, x))
                        .collect::<Vec<_>>()
                        .iter())
                );
                assert_eq!(block.b[0][y], sign(slot, clue.b[0]));
                assert_eq!(block.b[1][y], sign(slot, 0));
            }
        }
    }
}
