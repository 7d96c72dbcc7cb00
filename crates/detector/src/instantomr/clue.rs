//! The coordinates of clues as LWE ciphertexts.

use crate::BoundTo;
use omr_protocol::clue::OFFSET_LEN;
use omr_protocol::instantomr::{InstantParams, OffsetKey};
use omr_protocol::{ClueParams, ClueParser};
use omr_tfhe::Lwe;
use rayon::prelude::*;

/// The coordinates of clues as LWE ciphertexts modulo a turn of the ring's rotations, message by message.
pub(super) struct Clues {
    pub(super) coordinates: Vec<Lwe>,
    /// The fingerprints of bound clues, message by message; empty for plain clues.
    pub(super) fingerprints: Vec<u32>,
    /// Number of clues that did not parse.
    pub(super) unusable: usize,
}

impl Clues {
    /// Reads plain clues, which follow one another in `bytes`. Clues that do not parse are replaced by one far from
    /// every window, and cost as much as others.
    pub(super) fn new(params: &InstantParams, bytes: &[u8], clue_bytes: usize) -> Self {
        let clue = &params.clue;
        let parser = ClueParser::new(clue);
        let scratch = || vec![0; parser.residues()];
        let read = bytes
            .par_chunks(clue_bytes)
            .map_init(scratch, |words, clue_of_message| {
                let usable = parser.parse_into(clue_of_message, words).is_ok();
                if !usable {
                    far(clue, words);
                }
                (coordinates(params, words), usable, None)
            });
        Self::of(read.collect())
    }

    /// Reads bound clues, as [`Clues::new`] reads plain ones. Signatures are not verified; the board has done that.
    pub(super) fn bound(
        params: &InstantParams,
        bytes: &[u8],
        clue_bytes: usize,
        key: &OffsetKey,
        to: &BoundTo,
    ) -> Self {
        let clue = &params.clue;
        let parser = ClueParser::bound(clue);
        let scratch = || vec![0; parser.residues()];
        let numbered = bytes.par_chunks(clue_bytes).enumerate();
        let read = numbered.map_init(scratch, |words, (message, clue_of_message)| {
            let usable = parser.parse_into(clue_of_message, words).is_ok();
            let mut rows = vec![[0; OFFSET_LEN]; clue.spec().coordinates];
            let mut fingerprint = 0;
            if usable {
                let hashed = to.hashed(clue, message, clue_of_message);
                hashed.rows_into(clue, &mut rows);
                fingerprint = to.fingerprint(&hashed);
            } else {
                far(clue, words)
            }
            let coordinates = bare_coordinates(params, words, &rows, key);
            (coordinates, usable, Some(fingerprint))
        });
        Self::of(read.collect())
    }

    fn of(read: Vec<(Vec<Lwe>, bool, Option<u32>)>) -> Self {
        Self {
            unusable: read.iter().filter(|(_, usable, _)| !usable).count(),
            fingerprints: read
                .iter()
                .filter_map(|(.., fingerprint)| *fingerprint)
                .collect(),
            coordinates: read.into_iter().flat_map(|(cts, ..)| cts).collect(),
        }
    }
}

/// Makes a clue without hits: `a = 0`, `b = q / 2`.
fn far(clue: &ClueParams, words: &mut [u32]) {
    let (a, b) = words.split_at_mut(clue.spec().n);
    a.fill(0);
    b.fill((clue.spec().modulus() / 2) as u32);
}

/// Returns the coordinates of a clue, `d_j = b_j - (a s)_j`, as LWE ciphertexts modulo a turn. `words` has a, then b.
pub fn coordinates(params: &InstantParams, words: &[u32]) -> Vec<Lwe> {
    let modulus = params.clue.spec().modulus();
    let exact = exact(params, words).into_iter();
    exact.map(|ct| to_turn(params, modulus, &ct)).collect()
}

/// Returns the coordinates of a bound clue without its offsets: `d_j = b_j - (a s)_j - <h_j, w>`.
fn bare_coordinates(
    params: &InstantParams,
    words: &[u32],
    rows: &[[u32; OFFSET_LEN]],
    key: &OffsetKey,
) -> Vec<Lwe> {
    let (q, own) = (params.clue.spec().q, params.clue.spec().modulus());
    // Offsets are residues modulo q.
    let modulus = if own < q { q } else { own };
    let own_rows = &rows[params.secret().coordinates];
    exact(params, words)
        .into_iter()
        .zip(own_rows)
        .map(|(ct, row)| {
            let mut bare = if own == modulus {
                ct
            } else {
                ct.switch(own, modulus)
            };
            key.take_off(params, row, modulus, &mut bare);
            to_turn(params, modulus, &bare)
        })
        .collect()
}

/// Returns the coordinates for the engine's secret modulo the modulus of clues.
fn exact(params: &InstantParams, words: &[u32]) -> Vec<Lwe> {
    let clue = params.clue.spec();
    let q = clue.modulus();
    let (a, all_b) = words.split_at(clue.n);
    let b = &all_b[params.secret().coordinates];
    let coordinate = |(j, &body): (usize, &u32)| {
        // (a s)_j is the sum of a_(j - i) s_i, with the opposite sign before the start.
        let negative = |&x: &u32| if x == 0 { 0 } else { q - u64::from(x) };
        let near = a[..=j].iter().rev().map(negative);
        let past = a[j + 1..].iter().rev().map(|&x| u64::from(x));
        Lwe {
            body: body.into(),
            mask: near.chain(past).collect(),
        }
    };
    b.iter().enumerate().map(coordinate).collect()
}

/// Switches from a modulus to a turn of the ring's rotations.
fn to_turn(params: &InstantParams, modulus: u64, ct: &Lwe) -> Lwe {
    let (turn, (block, _)) = (2 * params.ring.n() as u64, params.blocks());
    if params.rounds_blocks() {
        ct.switch_blocks(modulus, turn, block)
    } else {
        ct.switch(modulus, turn)
    }
}
