//! Patterns and their shapes.

use super::{LikeShape, Pattern, Segment};

/// The character without its case: its lower case where that is one character, so that places do not move.
pub(super) fn fold(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

impl Pattern {
    /// The pattern without its characters.
    #[must_use]
    pub fn shape(&self) -> LikeShape {
        LikeShape {
            exact: self.exact,
            prefix: self.prefix.shape(),
            infix: self.infix.shape(),
            suffix: self.suffix.shape(),
            fold: self.fold,
        }
    }
}

impl Segment {
    fn shape(&self) -> Vec<bool> {
        self.0.iter().map(Option::is_some).collect()
    }
}

impl LikeShape {
    /// Characters that the shortest text of this shape has.
    #[must_use]
    pub fn min_chars(&self) -> usize {
        self.prefix.len() + self.infix.len() + self.suffix.len()
    }

    /// Where an infix may stand in texts of at most `max_chars` characters: 1 without an infix, 0 where no such text has
    /// the shape.
    #[must_use]
    pub fn places(&self, max_chars: usize) -> usize {
        match max_chars.checked_sub(self.min_chars()) {
            None => 0,
            Some(_) if self.infix.is_empty() => 1,
            Some(spare) => spare + 1,
        }
    }
}
