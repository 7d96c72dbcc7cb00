//! Permutations that keep blocks of eight together.

/// Residues of a block.
const BLOCK: usize = 8;

/// A permutation of a row that moves blocks of 8 residues as wholes and shuffles each by one of at
/// most 8 patterns. Automorphisms of evaluation rows are of this kind: the points of a block differ
/// by eighths of a turn, and multiplying exponents keeps such sets together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPermutation {
    /// For each block of the image, `8 * (source block) + pattern`.
    blocks: Vec<u32>,
    /// For each pattern, the source lane of each lane.
    lanes: [[u64; BLOCK]; BLOCK],
}

impl BlockPermutation {
    /// From the source index of each residue. None: blocks do not stay together, or there are more
    /// than 8 patterns.
    pub fn new(index: &[u32]) -> Option<Self> {
        let (chunks, []) = index.as_chunks::<BLOCK>() else {
            return None;
        };
        let mut patterns: Vec<[u64; BLOCK]> = Vec::new();
        let mut blocks = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let from = chunk[0] / BLOCK as u32;
            if from as usize >= chunks.len() || chunk.iter().any(|&i| i / BLOCK as u32 != from) {
                return None;
            }
            let pattern = chunk.map(|i| u64::from(i % BLOCK as u32));
            let known = patterns.iter().position(|known| *known == pattern);
            let number = known.unwrap_or_else(|| {
                patterns.push(pattern);
                patterns.len() - 1
            });
            blocks.push(BLOCK as u32 * from + number as u32);
        }
        let mut lanes = [[0; BLOCK]; BLOCK];
        if patterns.len() > BLOCK {
            return None;
        }
        lanes[..patterns.len()].copy_from_slice(&patterns);
        Some(Self { blocks, lanes })
    }

    /// Residues of a row.
    pub fn len(&self) -> usize {
        BLOCK * self.blocks.len()
    }

    /// Whether rows are empty.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    pub(crate) fn lanes(&self) -> &[[u64; BLOCK]; BLOCK] {
        &self.lanes
    }
}
