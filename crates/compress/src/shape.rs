//! The shape of sums: exponents, symbols, rounds and how they are packed.

use std::ops::Range;

/// Most exponents that one ciphertext holds.
pub const MAX_WIDTH: usize = 64;

/// Fewest exponents that one ciphertext has room for.
pub const MIN_WIDTH: usize = 16;

/// Symbols encoded at a time: what a piece reads of them stays in the second-level cache too.
pub const SYMBOLS_TOGETHER: usize = 32;

/// Sums that cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// No exponents.
    #[error("expected a bound of at least 1, found {0}")]
    Bound(usize),
    /// No symbols.
    #[error("expected at least one symbol, found {0}")]
    Symbols(usize),
    /// A ring that does not hold the exponents of a symbol.
    #[error("expected a small ring of a power of two from {least} up, found dimension {found}")]
    Dimension {
        /// The least dimension.
        least: usize,
        /// The small ring's.
        found: usize,
    },
}

/// The shape of sums: which sums there are and how they are packed.
///
/// The sums of `x^e * symbol` for each of some *symbols* and all exponents `e < bound`. One
/// ciphertext of the small ring of dimension n' holds `width` exponents of `stride = n' / width`
/// symbols: that of exponent `first + t` and symbol i stands in coefficient `stride t + i`. A
/// *round* has the ciphertexts of all symbols for the same exponents.
///
/// ```
/// let shape = omr_compress::SumsShape::new(8192, 50, 343)?;
/// assert_eq!((shape.width(), shape.stride()), (64, 128));
/// assert_eq!((shape.rounds(), shape.ciphertexts(), shape.parts()), (1, 3, 3));
/// assert_eq!(shape.symbols_of(2), 256..343);
/// # Ok::<(), omr_compress::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumsShape {
    small_n: usize,
    bound: usize,
    width: usize,
    symbols: usize,
}

impl SumsShape {
    /// Builds the shape of sums with `bound` exponents and `symbols` symbols, in a small ring of dimension
    /// `small_n`: the width is the least power of two that holds the bound, from [`MIN_WIDTH`] to
    /// 64.
    ///
    /// Errors: `Bound`, `Symbols`; `Dimension` unless `small_n` is a power of two of at least the width.
    pub fn new(small_n: usize, bound: usize, symbols: usize) -> Result<Self, ShapeError> {
        if bound == 0 {
            return Err(ShapeError::Bound(bound));
        }
        // Not by `next_power_of_two`, which has none for the largest bounds.
        let width = if bound < MAX_WIDTH {
            bound.next_power_of_two().max(MIN_WIDTH)
        } else {
            MAX_WIDTH
        };
        if !small_n.is_power_of_two() || small_n < width {
            let (least, found) = (width, small_n);
            return Err(ShapeError::Dimension { least, found });
        }
        let shape = Self {
            small_n,
            bound,
            width,
            symbols,
        };
        shape.with_symbols(symbols)
    }

    /// This shape with another number of symbols.
    ///
    /// Errors: `Symbols`.
    pub fn with_symbols(self, symbols: usize) -> Result<Self, ShapeError> {
        match symbols {
            0 => Err(ShapeError::Symbols(symbols)),
            _ => Ok(Self { symbols, ..self }),
        }
    }

    /// The number of exponents.
    pub fn bound(self) -> usize {
        self.bound
    }

    /// Symbols in all.
    pub fn symbols(self) -> usize {
        self.symbols
    }

    /// Exponents in one ciphertext.
    pub fn width(self) -> usize {
        self.width
    }

    /// Coefficients between two exponents of one symbol: symbols in one ciphertext.
    pub fn stride(self) -> usize {
        self.small_n / self.width
    }

    /// Rounds: sets of `width` exponents.
    pub fn rounds(self) -> usize {
        self.bound.div_ceil(self.width)
    }

    /// The exponents of a round.
    pub fn exponents(self, round: usize) -> Range<usize> {
        round * self.width..((round + 1) * self.width).min(self.bound)
    }

    /// Ciphertexts of one round.
    pub fn ciphertexts(self) -> usize {
        self.symbols.div_ceil(self.stride())
    }

    /// The symbols of a ciphertext.
    pub fn symbols_of(self, ciphertext: usize) -> Range<usize> {
        let start = ciphertext * self.stride();
        start..(start + self.stride()).min(self.symbols)
    }

    /// The symbols of a ciphertext, as many as are best encoded at a time: [`SYMBOLS_TOGETHER`] or fewer.
    pub fn runs(self, ciphertext: usize) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
        let symbols = self.symbols_of(ciphertext);
        let starts = symbols.clone().step_by(SYMBOLS_TOGETHER);
        starts.map(move |start| start..(start + SYMBOLS_TOGETHER).min(symbols.end))
    }

    /// Ciphertexts of all rounds: *parts*.
    pub fn parts(self) -> usize {
        self.rounds() * self.ciphertexts()
    }

    /// Returns the round of part `part` and its place in the round. Numbers past the last part start again at the first.
    pub fn position(self, part: usize) -> (usize, usize) {
        let part = part % self.parts();
        (part / self.ciphertexts(), part % self.ciphertexts())
    }

    /// Iterates over the round of each ciphertext and its place in the round, in order.
    pub fn positions(self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.parts()).map(move |part| self.position(part))
    }

    /// The number of coefficients that are kept of a ciphertext.
    pub fn kept_len(self, round: usize, ciphertext: usize) -> usize {
        self.exponents(round).len() * self.symbols_of(ciphertext).len()
    }

    /// Coefficients kept of a ciphertext, exponent by exponent, symbol by symbol.
    pub fn kept(self, round: usize, ciphertext: usize) -> impl Iterator<Item = usize> + use<> {
        let (exponents, symbols) = (
            self.exponents(round).len(),
            self.symbols_of(ciphertext).len(),
        );
        let stride = self.stride();
        (0..exponents).flat_map(move |e| (0..symbols).map(move |i| e * stride + i))
    }

    /// The sums by symbol and exponent, from the kept coefficients of all parts.
    ///
    /// Shape: `parts[i]` has [`SumsShape::kept_len`] values of part i; out `symbols` rows of `bound`.
    pub fn by_symbol(self, parts: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let mut sums = vec![Vec::with_capacity(self.bound); self.symbols];
        for ((_, ciphertext), values) in self.positions().zip(parts) {
            let symbols = self.symbols_of(ciphertext);
            for (k, &value) in values.iter().enumerate() {
                sums[symbols.start + k % symbols.len()].push(value);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_checked() {
        let of = SumsShape::new;
        assert_eq!(of(128, 0, 1), Err(ShapeError::Bound(0)));
        assert_eq!(of(128, 1, 0), Err(ShapeError::Symbols(0)));
        for (found, bound, least) in [(8, 1, 16), (96, 1, 16), (0, 17, 32), (32, usize::MAX, 64)] {
            assert_eq!(
                of(found, bound, 1),
                Err(ShapeError::Dimension { least, found })
            );
        }
        let shape = of(64, usize::MAX, 1).unwrap();
        assert_eq!((shape.width(), shape.stride()), (64, 1));
    }

    #[test]
    fn every_sum_has_one_place() {
        for (bound, symbols) in [(1, 1), (16, 8), (17, 9), (64, 3), (65, 2), (200, 17)] {
            let shape = SumsShape::new(128, bound, symbols).unwrap();
            let mut parts = Vec::new();
            for (round, ciphertext) in shape.positions() {
                let kept: Vec<usize> = shape.kept(round, ciphertext).collect();
                assert_eq!(kept.len(), shape.kept_len(round, ciphertext));
                let sum = |&at: &usize| {
                    let exponent = shape.exponents(round).start + at / shape.stride();
                    let symbol = shape.symbols_of(ciphertext).start + at % shape.stride();
                    (symbol * bound + exponent) as u32
                };
                parts.push(kept.iter().map(sum).collect());
            }
            let sums = shape.by_symbol(&parts).concat();
            assert!(
                sums.into_iter().eq(0..(symbols * bound) as u32),
                "{shape:?}"
            );
        }
    }

    #[test]
    fn runs_cover_the_symbols_of_a_ciphertext() {
        let shape = SumsShape::new(8192, 50, 343).unwrap();
        for ciphertext in 0..shape.ciphertexts() {
            let runs: Vec<_> = shape.runs(ciphertext).collect();
            assert!(
                runs.iter()
                    .all(|run| (1..=SYMBOLS_TOGETHER).contains(&run.len()))
            );
            assert!(runs.into_iter().flatten().eq(shape.symbols_of(ciphertext)));
        }
    }
}
