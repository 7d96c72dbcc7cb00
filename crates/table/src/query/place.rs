//! Where in a query's text an error lies.

use super::QueryError;
use super::error::PLACE;
use std::ops::Range;

impl QueryError {
    /// Returns the range of the query's bytes that the error is about; `None` where it cannot be determined.
    pub fn place(&self, sql: &str) -> Option<Range<usize>> {
        match self {
            Self::Syntax(message) => in_message(message, sql),
            Self::Unsupported { piece, .. }
            | Self::Constant { piece, .. }
            | Self::Moment { piece, .. } => find(piece, sql),
            Self::Table(names) => find(&names.found, sql),
            Self::Column { found, .. } => find(found, sql),
            Self::SelectedTwice(column) => {
                let first = find(column, sql)?;
                let rest = find(column, &sql[first.end..])?;
                Some(first.end + rest.start..first.end + rest.end)
            }
            Self::TooManyParts(pattern) | Self::OpenEscape(pattern) => find(pattern, sql),
            _ => None,
        }
    }
}

/// The word at the line and column that the parser's message ends in, or the query's end where more should follow.
fn in_message(message: &str, sql: &str) -> Option<Range<usize>> {
    let place = message.rsplit_once(PLACE).and_then(|(_, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((line.parse::<usize>().ok()?, column.parse::<usize>().ok()?))
    });
    let end = sql.trim_end().len();
    let Some((line, column)) = place else {
        return message.ends_with("found: EOF").then_some(end..end);
    };
    let lines = sql.split_inclusive('\n');
    let before: usize = lines.take(line.saturating_sub(1)).map(str::len).sum();
    let within = sql[before..].char_indices().nth(column.saturating_sub(1));
    let start = within.map_or(end, |(at, _)| (before + at).min(end));
    Some(start..start + word(&sql[start..end]))
}

/// Bytes of the first word of a text, or of its first character.
fn word(text: &str) -> usize {
    let is_outside = |c: char| !c.is_alphanumeric() && c != '_';
    match text.find(is_outside).unwrap_or(text.len()) {
        0 => text.chars().next().map_or(0, char::len_utf8),
        len => len,
    }
}

/// The first place of a piece of a query, whatever its case: outside of strings, unless it has a quote itself.
fn find(piece: &str, sql: &str) -> Option<Range<usize>> {
    let piece = piece.trim_end_matches('…').to_ascii_lowercase();
    let text = sql.to_ascii_lowercase();
    let bare = !piece.contains('\'');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = text
        .match_indices(&piece)
        .map(|(at, _)| at..at + piece.len());
    let mut places = found.filter(|place| {
        let joins = |inner: Option<char>, outer: Option<char>| {
            inner.is_some_and(is_word) && outer.is_some_and(is_word)
        };
        let begins = !joins(
            piece.chars().next(),
            text[..place.start].chars().next_back(),
        );
        let ends = !joins(piece.chars().next_back(), text[place.end..].chars().next());
        !place.is_empty() && begins && ends
    });
    let quotes = |place: &Range<usize>| text[..place.start].matches('\'').count();
    let outside = |place: &Range<usize>| quotes(place).is_multiple_of(2);
    let first = places.clone().next();
    if bare {
        places.find(outside).or(first)
    } else {
        first
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::cut_message;
    use super::in_message;
    use crate::{Column, ColumnType, Query, Schema};

    fn schema() -> Schema {
        let column = |name: &str, kind| Column {
            name: name.into(),
            kind,
            nullable: false,
            domain: None,
        };
        Schema {
            name: "people".into(),
            rows: 1,
            salt: [0; 16],
            columns: vec![
                column("name", ColumnType::Text { max_bytes: 8 }),
                column("age", ColumnType::Integer),
            ],
        }
    }

    /// Returns the part of a query that its error points at.
    fn pointed(sql: &str) -> Option<String> {
        let error = Query::parse(sql, &schema()).unwrap_err();
        let place = error.place(sql)?;
        Some(sql.get(place).expect("a place of the query").to_owned())
    }

    #[test]
    fn errors_point_at_the_piece_that_they_are_about() {
        for (sql, piece) in [
            ("SELECT name\nFROM people\nWHERE ä ä = 1", "ä"),
            ("SELECT * FROM people WHERE age = ", ""),
            ("SELECT * FROM people WHERE (age = 1", ""),
            ("SELECT nme FROM people WHERE age = 1", "nme"),
            (
                "SELECT * FROM people WHERE name = 'agee' AND AGEE = 1",
                "AGEE",
            ),
            ("SELECT name, age, name FROM people WHERE age = 1", "name"),
            ("SELECT * FROM persons WHERE age = 1", "persons"),
            ("SELECT * FROM people WHERE age = 'x'", "'x'"),
            (
                "SELECT * FROM people WHERE age = 1 ORDER BY age",
                "ORDER BY age",
            ),
        ] {
            assert_eq!(pointed(sql).as_deref(), Some(piece), "{sql}");
        }
        let twice = "SELECT name, age, name FROM people WHERE age = 1";
        let error = Query::parse(twice, &schema()).unwrap_err();
        assert_eq!(error.place(twice), Some(18..22));
    }

    #[test]
    fn messages_with_a_line_and_a_column_point_there() {
        let long = "x".repeat(500);
        let message = cut_message(&format!("found {long} at Line: 2, Column: 3"));
        assert!(message.len() < 200, "{message}");
        assert_eq!(in_message(&message, "SELECT\nä FROM x"), Some(10..14));
        assert_eq!(in_message("unterminated", "SELECT"), None);
    }
}
