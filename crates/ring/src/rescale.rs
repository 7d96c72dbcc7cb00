//! Switches of moduli, residue by residue.

/// From residues modulo one number to those modulo another.
#[derive(Clone, Copy, Debug)]
pub struct Rescale {
    from: u64,
    to: u64,
    ratio: f64,
}

impl Rescale {
    /// From residues modulo `from` to those modulo `to`.
    ///
    /// Panics: when one of them is above 2^50, or 0.
    #[must_use]
    pub fn new(from: u64, to: u64) -> Self {
        let moduli = 1..=1 << 50;
        assert!(
            moduli.contains(&from) && moduli.contains(&to),
            "moduli of at most 50 bits"
        );
        Self {
            from,
            to,
            ratio: to as f64 / from as f64,
        }
    }

    /// `round(x to / from)` modulo `to`, halves upwards, of x below `from`.
    #[must_use]
    pub fn round(&self, x: u64) -> u64 {
        // Its error is at most a quarter, so this is the quotient or one less: the remainder of the sum decides.
        let guess = (x as f64 * self.ratio) as u64;
        let sum = x.wrapping_mul(self.to).wrapping_add(self.from / 2);
        let left = sum.wrapping_sub(guess.wrapping_mul(self.from));
        let rounded = guess + u64::from(left >= self.from);
        // x / from is below 1: it can only round up to 1 itself.
        if rounded == self.to { 0 } else { rounded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(x: u64, from: u64, to: u64) -> u64 {
        let sum = u128::from(x) * u128::from(to) + u128::from(from / 2);
        (sum / u128::from(from)) as u64 % to
    }

    #[test]
    fn residues_round_and_wrap() {
        // x / 10 in units of 1 / 4: 2.5 a unit.
        let quarters = Rescale::new(10, 4);
        let rounded: Vec<u64> = (0..10).map(|x| quarters.round(x)).collect();
        assert_eq!(rounded, [0, 0, 1, 1, 2, 2, 2, 3, 3, 0]);
        assert_eq!(Rescale::new(1 << 50, 1 << 21).round((1 << 50) - 1), 0);
        assert_eq!(Rescale::new(7, 7).round(3), 3);
        assert_eq!(Rescale::new(1, 1).round(0), 0);
    }

    #[test]
    #[should_panic = "at most 50 bits"]
    fn larger_moduli_are_refused() {
        let _ = Rescale::new((1 << 50) + 1, 2);
    }

    /// Numbers of all sizes up to `2^50`, often beside powers of two.
    fn modulus() -> impl Strategy<Value = u64> {
        let near = |(bits, off): (u32, u64)| (1 << bits) - off.min((1 << bits) - 1);
        (0u32..=50, prop_oneof![0u64..3, any::<u64>()]).prop_map(near)
    }

    proptest! {
        #[test]
        fn residues_round_as_integers_do((from, to, x) in (modulus(), modulus(), any::<u64>())) {
            let rescale = Rescale::new(from, to);
            // Around a multiple of half a unit, where rounding may go wrong, and anywhere.
            let half = u128::from(x % (2 * to)) * u128::from(from) / u128::from(2 * to);
            let half = half as u64;
            for x in [x % from, half, half.saturating_sub(1), half + 1, 0, from - 1] {
                let x = x.min(from - 1);
                prop_assert_eq!(rescale.round(x), exact(x, from, to), "{} of {}", x, from);
            }
        }
    }
}
