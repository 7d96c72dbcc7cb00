//! Conditions on columns of text.

use rand_core::Rng;

use super::draw::Draw;
use super::leaf::{both, list};
use super::{Rows, Twin};
use crate::Value;

/// The escape character of half of the patterns.
const ESCAPE: char = '!';

impl<G: Rng, R: Rows> Draw<'_, G, R> {
    pub(super) fn text_leaf(&mut self, column: usize, narrow: bool) -> Twin {
        match self.below(5) {
            0 => {
                let constants: Vec<Twin> =
                    (0..=self.below(4)).map(|_| self.string(column)).collect();
                let (name, not) = (self.name(column), self.not(narrow));
                both(|side| format!("{name} {not}IN ({})", list(&constants, side)))
            }
            1 => {
                let operator = if narrow {
                    "="
                } else {
                    self.pick(&["=", "<>", "!="])
                };
                let (name, constant) = (self.name(column), self.string(column).sql);
                Twin::same(if self.chance(25) {
                    format!("{constant} {operator} {name}")
                } else {
                    format!("{name} {operator} {constant}")
                })
            }
            _ => self.like(column, narrow),
        }
    }

    fn some_text(&mut self, column: usize) -> String {
        match self.value(column) {
            Value::Text(text) => text,
            _ => String::new(),
        }
    }

    fn string(&mut self, column: usize) -> Twin {
        if self.chance(3) {
            return Twin::same("NULL");
        }
        let mut text = self.some_text(column);
        if self.chance(10) {
            text.push('x');
        }
        Twin::same(literal(&text))
    }

    fn like(&mut self, column: usize, narrow: bool) -> Twin {
        let (name, not) = (self.name(column), self.not(narrow));
        let (escaped, folded) = (self.chance(50), self.chance(30));
        let pattern = literal(&self.pattern(column, escaped));
        let escape = if escaped {
            format!(" ESCAPE '{ESCAPE}'")
        } else {
            String::new()
        };
        if !folded {
            return Twin::same(format!("{name} {not}LIKE {pattern}{escape}"));
        }
        let pattern = if self.chance(50) {
            pattern.to_ascii_uppercase()
        } else {
            pattern
        };
        Twin {
            sql: format!("{name} {not}ILIKE {pattern}{escape}"),
            sqlite: format!("lower({name}) {not}LIKE lower({pattern}){escape}"),
        }
    }

    /// A text of the column, in which a part or two were replaced by `%`, and some characters by
    /// `_`.
    fn pattern(&mut self, column: usize, escaped: bool) -> String {
        let text: Vec<char> = self.some_text(column).chars().collect();
        let mut cuts: Vec<usize> = (0..4).map(|_| self.below(text.len() + 1)).collect();
        cuts.sort_unstable();
        let (prefix, infix, suffix) = (&text[..cuts[0]], &text[cuts[1]..cuts[2]], &text[cuts[3]..]);
        let mut piece = |characters: &[char]| self.piece(characters, escaped);
        let parts = [piece(prefix), piece(infix), piece(suffix)];
        match self.below(6) {
            0 => self.piece(&text, escaped),
            1 => format!("{}%", parts[0]),
            2 => format!("%{}", parts[2]),
            3 => format!("%{}%", parts[1]),
            4 => format!("{}%{}", parts[0], parts[2]),
            _ => {
                let mut gap = || self.pick(&["%", "%", "%_", "_%", "%_%", "%%"]);
                format!("{}{}{}{}{}", parts[0], gap(), parts[1], gap(), parts[2])
            }
        }
    }

    /// Without an escape character a text's own `%` would be one more part.
    fn piece(&mut self, characters: &[char], escaped: bool) -> String {
        let mut piece = String::new();
        for &character in characters {
            let special = matches!(character, '%' | '_' | ESCAPE);
            if self.chance(10) || (special && !escaped) {
                piece.push('_');
                continue;
            }
            if special {
                piece.push(ESCAPE);
            }
            piece.push(character);
        }
        piece
    }
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
