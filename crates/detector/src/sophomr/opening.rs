//! Clues packed at one small prime and opened in slots, in place of the affine transform.

use super::clues::ClueBatch;
use crate::progress::check_stopped;
use crate::{DetectorError, Progress};
use omr_bgv::{Ciphertext, Evaluator};
use omr_opening::{BlockOfClues, Narrowed, Opening, OpeningKeys, Place, Turned, open};
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::sophomr::{DetectionKey, OpeningKey, Params};
use omr_ring::{Eval, Poly};
use rayon::prelude::*;

/// Buffers of the turned secret, of so many words each.
pub(super) fn buffers(params: &Params, opening: &Opening) -> Vec<usize> {
    vec![poly_words(params); 2 * opening.turns()]
}

/// Buffers that opening works in beside [`buffers`]: what the transform turns and adds up, and the encoded diagonals of
/// a limb for each thread.
pub(super) fn buffers_of_steps(params: &Params, opening: &Opening, threads: usize) -> Vec<usize> {
    let coordinates = params.circuit().coordinates;
    let rows = opening.turns().max(opening.spec().baby);
    let mut lengths = vec![poly_words(params); 2 * coordinates * (opening.spec().baby + 2)];
    lengths.extend(vec![rows * params.slots(); threads]);
    lengths
}

fn poly_words(params: &Params) -> usize {
    Poly::<Eval>::words(params.ring.n(), params.chain.basis(0))
}

/// The encrypted secret that packed clues are opened from, turned by 0, 1, 2, ... slots.
pub(super) fn turned(
    ev: &Evaluator,
    opening: &Opening,
    key: &DetectionKey,
    progress: &dyn Progress,
) -> Result<Turned, DetectorError> {
    progress.stage("baby steps", 1);
    let turned = Turned::new(ev, opening, key.secrets[0].clone(), &key.step)?;
    progress.advance(1);
    check_stopped(progress)?;
    Ok(turned)
}

/// `b - a s`, and `b - a s - <h, w>` for bound clues, for all coordinates, at level 1.
pub(super) fn transform(
    ev: &Evaluator,
    params: &Params,
    (opening, key): (&Opening, &DetectionKey),
    turned: &Turned,
    clues: &ClueBatch,
    progress: &dyn Progress,
) -> Result<Vec<Ciphertext>, DetectorError> {
    progress.stage("opening", opening.blocks() as u64 + 1);
    let own = key.opening.as_ref();
    let own = own.expect("keys of a set that opens clues have the part for it");
    let packed = packed(params, opening, own, clues, progress)?;
    let keys = OpeningKeys {
        step: &key.step,
        baby: &own.baby,
        giant: &key.giant,
    };
    let opened = open(ev, opening, turned, &keys, &packed)?;
    progress.advance(1);
    check_stopped(progress)?;
    let down = |ct: &Ciphertext| Ok(ev.at_level(ct, 1)?);
    opened.iter().map(down).collect()
}

/// The clues of all blocks, coordinate by coordinate.
fn packed(
    params: &Params,
    opening: &Opening,
    key: &OpeningKey,
    clues: &ClueBatch,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Narrowed>>, DetectorError> {
    let blocks: Vec<Vec<Narrowed>> = (0..opening.blocks())
        .into_par_iter()
        .with_max_len(1)
        .map(|block| {
            check_stopped(progress)?;
            let packed = Block::new(params, opening, clues, block).packed(opening, key);
            progress.advance(1);
            Ok(packed)
        })
        .collect::<Result<_, DetectorError>>()?;
    let mut coordinates = vec![Vec::new(); params.circuit().coordinates];
    for block in blocks {
        for (coordinate, ct) in coordinates.iter_mut().zip(block) {
            coordinate.push(ct);
        }
    }
    Ok(coordinates)
}

/// The residues of the clues of a block, in the order of its coefficients.
struct Block {
    a: Vec<u32>,
    b: Vec<Vec<u32>>,
    extra: Vec<Vec<u32>>,
}

impl Block {
    fn new(params: &Params, opening: &Opening, clues: &ClueBatch, block: usize) -> Self {
        let width = params.spec().clue.n;
        let places = (0..opening.spec().n).map(|coefficient| Place { block, coefficient });
        let slots: Vec<usize> = places.map(|place| opening.slot(place)).collect();
        let mut a = vec![0; slots.len() * width];
        clues.rows_into(params, &slots, &mut a);
        let coordinates = clues.coordinates();
        let of = |values: &Vec<u32>| slots.iter().map(|&slot| values[slot]).collect();
        let rows =
            |rows: &Vec<[u32; OFFSET_LEN]>| slots.iter().flat_map(|&slot| rows[slot]).collect();
        Self {
            a,
            b: coordinates.b.iter().map(of).collect(),
            extra: coordinates.rows.iter().map(rows).collect(),
        }
    }

    fn packed<'a>(&'a self, opening: &Opening, key: &OpeningKey) -> Vec<Narrowed> {
        let of =
            |rows: &'a [Vec<u32>]| -> Vec<&'a [u32]> { rows.iter().map(Vec::as_slice).collect() };
        let clues = BlockOfClues {
            a: &self.a,
            b: &of(&self.b),
            extra: &of(&self.extra),
        };
        let packed = key.packing.pack(opening, &clues);
        let narrow = |ct| key.narrow.narrow(opening, ct);
        packed.iter().map(narrow).collect()
    }
}
