//! Packed clues of a section on one mask.

use crate::scan::{COORDINATES, Scan, ScanKey};
use omr_opening::ModuleCipher;
use omr_ring::{Coeff, Poly, Rescale};
use omr_rlwe::{SharedInput, SharedRlwe};

/// The distances of one coordinate of a section, encrypted and rounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanPart {
    /// The mask, with the dimension of the ring of responses.
    pub mask: Vec<u64>,
    /// The bodies of the groups that have messages, in their order.
    pub bodies: Vec<Vec<u64>>,
}

/// The packed clues of a block, coordinate by coordinate; `None` if no message of a range lies in the block.
pub type Packed = Option<Vec<ModuleCipher>>;

/// Returns the distances of a section for one recipient, coordinate by coordinate. Only groups with at least one block
/// get a body.
///
/// Shape: `blocks` are those of the section. `recipient` is the recipient's number in these ciphertexts.
/// Panics: if there are more or fewer blocks, or none with messages.
pub fn share(scan: &Scan, key: &ScanKey, recipient: usize, blocks: &[Packed]) -> Vec<ScanPart> {
    assert_eq!(blocks.len(), scan.blocks(), "the blocks of a section");
    let groups: Vec<&[Packed]> = blocks.chunks(scan.step()).collect();
    let last = groups.iter().rposition(|group| has_messages(group));
    let used = &groups[..=last.expect("a block with messages")];
    let coordinate = |c: usize| {
        let shared = switched(scan, key, recipient, used, c);
        let bodies = shared.bodies.iter().zip(used);
        ScanPart {
            mask: rounded(scan, &shared.mask, scan.spec().mask_bits[c]),
            bodies: bodies
                .filter(|(_, group)| has_messages(group))
                .map(|(body, _)| rounded(scan, body, scan.spec().body_bits[c]))
                .collect(),
        }
    };
    (0..COORDINATES).map(coordinate).collect()
}

fn has_messages(group: &[Packed]) -> bool {
    group.iter().any(Option::is_some)
}

fn rounded(scan: &Scan, poly: &Poly<Coeff>, bits: u32) -> Vec<u64> {
    let rescale = Rescale::new(scan.ring().modulus(0).value(), 1 << bits);
    poly.row(0).iter().map(|&x| rescale.round(x)).collect()
}

/// Returns one coordinate of some groups on one mask.
fn switched(
    scan: &Scan,
    key: &ScanKey,
    recipient: usize,
    groups: &[&[Packed]],
    coordinate: usize,
) -> SharedRlwe<Coeff> {
    let (ring, shape) = (scan.ring(), scan.switch_shape());
    let from = scan.opening().packing.modulus(0).value();
    let to_mask = Rescale::new(from, 1 << shape.mask_bits());
    let to_body = Rescale::new(from, ring.modulus(0).value());
    let mut sum: Option<SharedRlwe<Coeff>> = None;
    for (rank, switch) in key.switch.iter().enumerate() {
        let input = |group: &&[Packed]| {
            let mask = interleaved(scan, group, coordinate, to_mask, |block| &block.masks[rank]);
            // A ciphertext has one body, and a mask for each rank.
            let body = if rank == 0 {
                interleaved(scan, group, coordinate, to_body, |block| {
                    &block.bodies[recipient]
                })
            } else {
                vec![0; ring.n()]
            };
            SharedInput { body, mask }
        };
        let inputs: Vec<SharedInput> = groups.iter().map(input).collect();
        let own = switch.switch(ring, &inputs);
        let Some(all) = &mut sum else {
            sum = Some(own);
            continue;
        };
        ring.add_assign(&mut all.mask, &own.mask);
        for (body, other) in all.bodies.iter_mut().zip(&own.bodies) {
            ring.add_assign(body, other);
        }
    }
    sum.expect("packing has a rank of at least 1")
}

/// Returns a row of each of a group's blocks, rescaled, with coefficient y of block i at `step y + i`.
fn interleaved(
    scan: &Scan,
    group: &[Packed],
    coordinate: usize,
    rescale: Rescale,
    row: impl Fn(&ModuleCipher) -> &[u64],
) -> Vec<u64> {
    let mut out = vec![0; scan.ring().n()];
    for (i, block) in group.iter().enumerate() {
        let Some(packed) = block else { continue };
        let places = out[i..].iter_mut().step_by(scan.step());
        for (place, &x) in places.zip(row(&packed[coordinate])) {
            *place = rescale.round(x);
        }
    }
    out
}
