//! The slots of the large ring as classes over those of the small ring.

use omr_bgv::Plain;

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
    /// The classes of the slots of a large ring over those of a small one.
    ///
    /// Panics: unless both have the same plaintext modulus, and the large one is no smaller.
    pub fn new(large_plain: &Plain, small_plain: &Plain) -> Self {
        let (n, small_n) = (large_plain.n(), small_plain.n());
        let classes = n / small_n;
        let p = large_plain.p();
        // psi^step and the small ring's own root are both primitive: find the power that links them.
        let (large, small) = (large_plain.root(classes), small_plain.root(1));
        let link = (1..2 * small_n)
            .step_by(2)
            .find(|&k| p.pow(small, k as u64) == large)
            .expect("both roots generate the same group");
        let mut slot_at = vec![0u32; 2 * small_n];
        for slot in 0..small_n {
            slot_at[small_plain.order().exponent(slot)] = slot as u32;
        }
        let mut layout = Self {
            classes,
            slot: vec![0; n],
            root: vec![0; n],
            from: Vec::with_capacity(n),
        };
        for z in 0..n {
            let exponent = large_plain.order().exponent(z);
            let small_slot = slot_at[link * (exponent % (2 * small_n)) % (2 * small_n)];
            let class = exponent / (2 * small_n);
            layout.slot[class * small_n + small_slot as usize] = z as u32;
            layout.root[class * small_n + small_slot as usize] = large_plain.root(exponent) as u32;
            layout.from.push((class as u32, small_slot));
        }
        layout
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The large slot of class `class` over each small slot.
    pub fn slots(&self, class: usize) -> &[u32] {
        let n = self.slot.len() / self.classes;
        &self.slot[class * n..(class + 1) * n]
    }

    /// The root of the large ring of class `class` over each small slot, modulo p.
    pub fn roots(&self, class: usize) -> &[u32] {
        let n = self.root.len() / self.classes;
        &self.root[class * n..(class + 1) * n]
    }

    /// For each class, in the order of the small evaluation domain: the value of `values` that lies there.
    ///
    /// Shape: `values` has one for each slot of the large ring.
    /// Panics: on another length, or when `small_plain` is not the small ring's.
    pub fn order(&self, small_plain: &Plain, values: &[u32]) -> Vec<u32> {
        assert_eq!(values.len(), self.slot.len(), "one value a slot");
        let n = small_plain.n();
        let mut order = vec![0; values.len()];
        for (class, order) in order.chunks_mut(n).enumerate() {
            let positions = small_plain.order().positions();
            for (&position, &slot) in positions.iter().zip(self.slots(class)) {
                order[position as usize] = values[slot as usize];
            }
        }
        order
    }

    /// Class and small slot of a large slot.
    pub fn locate(&self, slot: usize) -> (usize, usize) {
        let (class, small) = self.from[slot];
        (class as usize, small as usize)
    }
}
