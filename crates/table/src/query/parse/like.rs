//! Patterns as they are written.

use super::super::error::cut;
use super::super::{Pattern, QueryError, Segment, Test};

/// A pattern's pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// `%`.
    Any,
    /// `_` or a character.
    One(Option<char>),
}

/// The test that a pattern is: an equality where it has neither `%` nor `_` and case counts, which hides its length.
///
/// Errors: more than one part between `%`s; an escape character at the end.
pub(super) fn read(text: &str, escape: Option<char>, fold: bool) -> Result<Test, QueryError> {
    let pieces = pieces(text, escape)?;
    let characters: Option<String> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::One(character) => *character,
            Piece::Any => None,
        })
        .collect();
    match characters {
        Some(whole) if !fold => Ok(Test::Texts(vec![whole])),
        _ => pattern(&pieces, text, fold).map(Test::Like),
    }
}

fn pieces(text: &str, escape: Option<char>) -> Result<Vec<Piece>, QueryError> {
    let mut pieces = Vec::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        pieces.push(match character {
            _ if Some(character) == escape => {
                let next = rest.next();
                Piece::One(Some(next.ok_or_else(|| QueryError::OpenEscape(cut(text)))?))
            }
            '%' => Piece::Any,
            '_' => Piece::One(None),
            _ => Piece::One(Some(character)),
        });
    }
    Ok(pieces)
}

fn pattern(pieces: &[Piece], text: &str, fold: bool) -> Result<Pattern, QueryError> {
    let mut parts = pieces.split(|piece| *piece == Piece::Any).map(segment);
    let prefix = parts.next().unwrap_or_default();
    let Some(suffix) = parts.next_back() else {
        let (infix, suffix) = (Segment::default(), Segment::default());
        return Ok(Pattern {
            exact: true,
            prefix,
            infix,
            suffix,
            fold,
        });
    };
    let mut inner = parts.filter(|part| !part.0.is_empty());
    let infix = inner.next().unwrap_or_default();
    let mut pattern = Pattern {
        exact: false,
        prefix,
        infix,
        suffix,
        fold,
    };
    // Of further parts only `_` can do: it may stand anywhere.
    for part in inner {
        merge(&mut pattern, part, text)?;
    }
    tighten(&mut pattern);
    Ok(pattern)
}

fn segment(pieces: &[Piece]) -> Segment {
    let one = |piece: &Piece| match piece {
        Piece::One(character) => *character,
        Piece::Any => None,
    };
    Segment(pieces.iter().map(one).collect())
}

fn merge(pattern: &mut Pattern, part: Segment, text: &str) -> Result<(), QueryError> {
    let blank = |segment: &Segment| segment.0.iter().all(Option::is_none);
    if blank(&part) {
        pattern.suffix.0.splice(0..0, part.0);
    } else if blank(&pattern.infix) {
        pattern.prefix.0.append(&mut pattern.infix.0);
        pattern.infix = part;
    } else {
        return Err(QueryError::TooManyParts(cut(text)));
    }
    Ok(())
}

/// `a%_b_%c` is `a_%b%_c`: fewer places, and none for an infix of `_` alone.
fn tighten(pattern: &mut Pattern) {
    let infix = &mut pattern.infix.0;
    let leading = infix
        .iter()
        .take_while(|character| character.is_none())
        .count();
    pattern.prefix.0.extend(infix.drain(..leading));
    let trailing = infix
        .iter()
        .rev()
        .take_while(|character| character.is_none())
        .count();
    let kept = infix.len() - trailing;
    pattern.suffix.0.splice(0..0, infix.drain(kept..));
}
