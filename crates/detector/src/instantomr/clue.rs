use omr_protocol::{ClueParams, ClueParser, InstantParams};
use omr_tfhe::Lwe;
use rayon::prelude::*;

/// The coordinates of clues as LWE ciphertexts modulo a turn of the ring's rotations, message by
/// message.
pub(super) struct Clues {
    pub(super) coordinates: Vec<Lwe>,
    /// Clues that did not parse.
    pub(super) unusable: usize,
}

impl Clues {
    /// Reads clues laid one after another. Those that do not parse lie far from every window and cost
    /// the same.
    pub(super) fn new(params: &InstantParams, bytes: &[u8], clue_bytes: usize) -> Self {
        let clue = &params.clue;
        let parser = ClueParser::new(clue);
        let scratch = || vec![0; parser.residues()];
        let read = bytes
            .par_chunks(clue_bytes)
            .map_init(scratch, |words, bytes| {
                let usable = parser.parse_into(bytes, words).is_ok();
                if !usable {
                    far(clue, words);
                }
                (coordinates(params, words), usable)
            });
        let read: Vec<(Vec<Lwe>, bool)> = read.collect();
        Self {
            unusable: read.iter().filter(|(_, usable)| !usable).count(),
            coordinates: read.into_iter().flat_map(|(cts, _)| cts).collect(),
        }
    }
}

/// A clue that hits nothing: `a = 0`, `b = q / 2`.
fn far(clue: &ClueParams, words: &mut [u32]) {
    let (a, b) = words.split_at_mut(clue.spec().n);
    a.fill(0);
    b.fill((clue.spec().rounded / 2) as u32);
}

/// The coordinates of a clue, `d_j = b_j - (a s)_j`, as LWE ciphertexts modulo a turn: a, then b in
/// `words`.
pub fn coordinates(params: &InstantParams, words: &[u32]) -> Vec<Lwe> {
    let (clue, turn) = (params.clue.spec(), 2 * params.ring.n() as u64);
    let (q, (block, _)) = (clue.rounded, params.blocks());
    let (a, b) = words.split_at(clue.n);
    let coordinate = |(j, &body): (usize, &u32)| {
        // (a s)_j has a_(j - i) s_i, past the start with the other sign.
        let near = a[..=j].iter().rev().map(|&x| (q - u64::from(x)) % q);
        let past = a[j + 1..].iter().rev().map(|&x| u64::from(x));
        let exact = Lwe {
            body: body.into(),
            mask: near.chain(past).collect(),
        };
        match params.rounds_blocks() {
            true => exact.switch_blocks(q, turn, block),
            false => exact.switch(q, turn),
        }
    };
    b.iter().enumerate().map(coordinate).collect()
}
