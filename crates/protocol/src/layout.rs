//! Where messages lie: batches, slots of the large ring, classes of the small one.

use crate::Params;

/// The slots of the large ring as classes over those of the small ring.
///
/// The roots `w` of the large ring that share `w^step` (step = n / n') lie over one slot of the
/// small ring; the one with exponent e is in class `e div 2n'`.
pub struct SlotClasses {
    classes: usize,
    slot: Vec<u32>,
    root: Vec<u32>,
    from: Vec<(u32, u32)>,
}

impl SlotClasses {
    /// The layout of a parameter set.
    pub fn new(params: &Params) -> Self {
        let (n, small_n) = (params.ring.n(), params.small.n());
        let classes = n / small_n;
        let p = params.p();
        // psi^step and the small ring's own root are both primitive: find the power that links them.
        let (large, small) = (params.plain.root(classes), params.small_plain.root(1));
        let link = (1..2 * small_n)
            .step_by(2)
            .find(|&k| p.pow(small, k as u64) == large)
            .expect("both roots generate the same group");
        let mut slot_at = vec![0u32; 2 * small_n];
        for slot in 0..small_n {
            slot_at[params.small_plain.order().exponent(slot)] = slot as u32;
        }
        let mut layout = Self {
            classes,
            slot: vec![0; n],
            root: vec![0; n],
            from: Vec::with_capacity(n),
        };
        for z in 0..n {
            let exponent = params.plain.order().exponent(z);
            let small_slot = slot_at[link * (exponent % (2 * small_n)) % (2 * small_n)];
            let class = exponent / (2 * small_n);
            layout.slot[class * small_n + small_slot as usize] = z as u32;
            layout.root[class * small_n + small_slot as usize] = params.plain.root(exponent) as u32;
            layout.from.push((class as u32, small_slot));
        }
        layout
    }

    /// How many classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// For each small slot: the large slot of class `class` over it.
    pub fn slots(&self, class: usize) -> &[u32] {
        let n = self.slot.len() / self.classes;
        &self.slot[class * n..(class + 1) * n]
    }

    /// For each small slot: the root of the large ring of class `class` over it, modulo p.
    pub fn roots(&self, class: usize) -> &[u32] {
        let n = self.root.len() / self.classes;
        &self.root[class * n..(class + 1) * n]
    }

    /// Class and small slot of a large slot.
    pub fn locate(&self, slot: usize) -> (usize, usize) {
        let (class, small) = self.from[slot];
        (class as usize, small as usize)
    }
}
