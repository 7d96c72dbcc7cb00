//! From clues to encrypted distances: clues are packed at one small prime and opened in slots.

use super::clues::ClueBatch;
use crate::progress::check_stopped;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator, GaloisKey};
use omr_opening::{
    BLOCKS_TOGETHER, BlockOfClues, ModuleCipher, NarrowKey, Narrowed, Opening, OpeningKeys,
    PackingKey, PhaseValues, Place, Turned, narrow, open, pack, pack_placed,
};
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::sophomr::{DetectionKey, EncryptedSecret, OpeningKey, Params, ParamsSpec};
use omr_ring::{AwayBytes, Eval, PackedRows, Poly};
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
    let bytes = keys[0].packing.place(clues.bytes());
    let blocks: Vec<usize> = (0..opening.blocks()).collect();
    let packed_blocks: Vec<Vec<Vec<Narrowed>>> = blocks
        .par_chunks(BLOCKS_TOGETHER)
        .with_max_len(1)
        .map(|numbers| {
            check_stopped(progress)?;
            let packed = packed_together(params, opening, keys, clues, bytes.as_ref(), numbers);
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

/// Returns the clues of a block, with their signs, in the order of its coefficients. `a` returns the residues a of the
/// clues in slots.
fn block_of<A>(
    params: &Params,
    opening: &Opening,
    clues: &ClueBatch,
    block: usize,
    a: impl Fn(&[usize]) -> A,
) -> BlockOfClues<A> {
    let places = (0..opening.spec().n).map(|coefficient| Place { block, coefficient });
    let slots: Vec<usize> = places.map(|place| opening.slot(place)).collect();
    let (modulus, q) = (params.spec().clue.modulus(), params.spec().clue.q);
    let b = |values: &Vec<u32>| {
        let mut own: Vec<u32> = slots.iter().map(|&slot| values[slot]).collect();
        negate(&mut own, modulus, clues, &slots);
        own
    };
    let extra = |rows: &Vec<[u32; OFFSET_LEN]>| {
        let mut own: Vec<u32> = slots.iter().flat_map(|&slot| rows[slot]).collect();
        negate(&mut own, q, clues, &slots);
        own
    };
    let coordinates = clues.coordinates();
    BlockOfClues {
        a: a(&slots),
        b: coordinates.b.iter().map(b).collect(),
        extra: coordinates.rows.iter().map(extra).collect(),
    }
}

/// Returns the residues a of the clues in slots, with their signs, row by row.
fn residues(params: &Params, clues: &ClueBatch, slots: &[usize]) -> Vec<u32> {
    let spec = &params.spec().clue;
    let mut a = vec![0; slots.len() * spec.n];
    clues.rows_into(params, slots, &mut a);
    negate(&mut a, spec.modulus(), clues, slots);
    a
}

/// Negates, modulo `q`, the rows of slots whose clues are negated.
fn negate(rows: &mut [u32], q: u64, clues: &ClueBatch, slots: &[usize]) {
    let (width, q) = (rows.len() / slots.len(), q as u32);
    for (row, &slot) in rows.chunks_mut(width).zip(slots) {
        if clues.is_negated(slot) {
            row.iter_mut()
                .for_each(|x| *x = if *x == 0 { 0 } else { q - *x });
        }
    }
}

/// Returns the packed and narrowed clues of blocks, coordinate by coordinate. `bytes` are those of the clues in the memory
/// of a backend that packs them.
fn packed_together(
    params: &Params,
    opening: &Opening,
    keys: &[&OpeningKey],
    clues: &ClueBatch,
    bytes: Option<&AwayBytes>,
    blocks: &[usize],
) -> Vec<Vec<Narrowed>> {
    let (packing, narrowing): (Vec<&PackingKey>, Vec<&NarrowKey>) =
        keys.iter().map(|key| (&key.packing, &key.narrow)).unzip();
    let packed = match bytes {
        None => {
            let a = |slots: &[usize]| residues(params, clues, slots);
            let block = |&block: &usize| block_of(params, opening, clues, block, a);
            let own: Vec<BlockOfClues> = blocks.iter().map(block).collect();
            pack(opening, &packing, &own)
        }
        Some(bytes) => {
            let a = |slots: &[usize]| clues.packed_rows(params, slots);
            let block = |&block: &usize| block_of(params, opening, clues, block, a);
            let own: Vec<BlockOfClues<PackedRows>> = blocks.iter().map(block).collect();
            pack_placed(opening, &packing, bytes, &own)
        }
    };
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

    /// Returns a residue of packed rows, modulo q.
    fn unpacked(bytes: &[u8], packed: &PackedRows, row: usize, residue: usize, q: u32) -> u32 {
        let Some(own) = packed.rows[row] else {
            return 0;
        };
        let bits = packed.bits as usize;
        let first = 8 * own.first + bits * residue;
        let bit = |at: usize| u32::from(bytes[at / 8] >> (at % 8) & 1);
        let x = (0..bits).map(|i| bit(first + i) << i).sum::<u32>();
        let x = packed.factor * x + packed.constant;
        if own.is_negated { (q - x) % q } else { x }
    }

    /// The residues of a block equal those of the clues in its slots, with the signs of the placement.
    #[test]
    fn blocks_hold_clues_with_their_signs() {
        const UNUSABLE: usize = 5;
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
        let mut bytes: Vec<Vec<u8>> = clues.iter().map(|c| c.to_bytes(&params.clue)).collect();
        bytes[UNUSABLE][0] = 0;
        let placement = Placement::new(&[4; 32], 0, params.slots());
        let batch = ClueBatch::new(params, &placement, bytes.concat(), bytes[0].len());
        assert_eq!(batch.unusable(), 1);
        let negated = placement.negated();
        let sign = |slot: usize, x: u32| if negated[slot] { (q - x) % q } else { x };
        for number in 0..opening.blocks() {
            let here = |slots: &[usize]| residues(params, &batch, slots);
            let packed = |slots: &[usize]| batch.packed_rows(params, slots);
            let block = block_of(params, opening, &batch, number, here);
            let packed = block_of(params, opening, &batch, number, packed);
            assert_eq!([&packed.b, &packed.extra], [&block.b, &block.extra]);
            for y in 0..opening.spec().n {
                let place = Place {
                    block: number,
                    coefficient: y,
                };
                let slot = opening.slot(place);
                let message = placement.messages()[slot] as usize;
                let (a, b) = match message {
                    UNUSABLE => (vec![0; spec.n], [params.nobody(); 2]),
                    _ => {
                        let clue = &clues[message];
                        let of = |&x: &u32| spec.stands_for(x);
                        (
                            clue.a.iter().map(of).collect(),
                            [of(&clue.b[0]), of(&clue.b[1])],
                        )
                    }
                };
                for (i, x) in a.into_iter().enumerate() {
                    let expected = sign(slot, x);
                    assert_eq!(block.a[y * spec.n + i], expected);
                    let found = unpacked(batch.bytes(), &packed.a, y, i, q);
                    assert_eq!(found, expected);
                }
                assert_eq!([block.b[0][y], block.b[1][y]], b.map(|x| sign(slot, x)));
            }
        }
    }
}
