//! Shapes as people read them: SQL with `?` for every constant.

use super::{FilterShape, LeafShape, LikeShape, Shape, TestShape};
use crate::Schema;

/// Constants that are shown one by one.
const LONG_LIST: usize = 16;

impl Shape {
    /// The question as SQL, with `?` for each constant and for each character that a pattern asks for:
    /// `SELECT name FROM people WHERE state = ? AND name LIKE '?????%'`. For people; columns that do not exist read
    /// `#7`.
    #[must_use]
    pub fn render(&self, schema: &Schema) -> String {
        let columns: Vec<String> = self
            .select
            .iter()
            .map(|&column| column_name(schema, column))
            .collect();
        let (columns, table) = (columns.join(", "), quoted(&schema.name));
        format!(
            "SELECT {columns} FROM {table} WHERE {}",
            self.filter.render(schema)
        )
    }
}

impl FilterShape {
    /// Writes the condition alone as SQL: see [`Shape::render`].
    #[must_use]
    pub fn render(&self, schema: &Schema) -> String {
        match self {
            Self::And(parts) => join(parts, " AND ", schema),
            Self::Or(parts) => join(parts, " OR ", schema),
            Self::Leaf {
                column,
                test,
                negated,
            } => LeafShape {
                column: *column,
                test,
                negated: *negated,
            }
            .render(schema),
        }
    }

    /// Writes the condition as a part of an AND or OR: in parentheses where it contains an AND
    /// itself.
    fn render_part(&self, schema: &Schema) -> String {
        let text = self.render(schema);
        match self {
            Self::Leaf {
                test:
                    TestShape::Range {
                        low: true,
                        high: true,
                    },
                ..
            }
            | Self::And(_)
            | Self::Or(_) => format!("({text})"),
            Self::Leaf { .. } => text,
        }
    }
}

fn join(parts: &[FilterShape], word: &str, schema: &Schema) -> String {
    parts
        .iter()
        .map(|part| part.render_part(schema))
        .collect::<Vec<_>>()
        .join(word)
}

impl LeafShape<'_> {
    fn render(&self, schema: &Schema) -> String {
        let column = column_name(schema, self.column);
        let not = if self.negated { "NOT " } else { "" };
        match self.test {
            TestShape::Ordinals(1) | TestShape::Texts(1) if self.negated => {
                format!("{column} <> ?")
            }
            TestShape::Ordinals(1) | TestShape::Texts(1) => format!("{column} = ?"),
            TestShape::Ordinals(count) | TestShape::Texts(count) => {
                format!("{column} {not}IN ({})", marks(*count))
            }
            TestShape::Range {
                low: true,
                high: true,
            } => format!("{column} {not}BETWEEN ? AND ?"),
            TestShape::Range { low: true, .. } => format!("{not}{column} >= ?"),
            TestShape::Range { .. } => format!("{not}{column} <= ?"),
            TestShape::Like(like) => {
                let word = if like.fold { "ILIKE" } else { "LIKE" };
                format!("{column} {not}{word} '{}'", like.render())
            }
            TestShape::Null => format!("{column} IS {not}NULL"),
        }
    }
}

/// Returns `count` question marks. A long list is written as its length, which may come from a stranger.
fn marks(count: usize) -> String {
    if count > LONG_LIST {
        return format!("{count} x ?");
    }
    vec!["?"; count].join(", ")
}

impl LikeShape {
    /// The pattern with `?` for each character asked for.
    #[must_use]
    pub fn render(&self) -> String {
        let marks = |asked: &[bool]| -> String {
            asked
                .iter()
                .map(|&asked| if asked { '?' } else { '_' })
                .collect()
        };
        let (prefix, infix, suffix) =
            (marks(&self.prefix), marks(&self.infix), marks(&self.suffix));
        match (self.exact, self.infix.is_empty()) {
            (true, _) => prefix,
            (false, true) => format!("{prefix}%{suffix}"),
            (false, false) => format!("{prefix}%{infix}%{suffix}"),
        }
    }
}

fn column_name(schema: &Schema, column: usize) -> String {
    schema
        .columns
        .get(column)
        .map_or_else(|| format!("#{column}"), |found| quoted(&found.name))
}

/// A name as SQL reads it back.
fn quoted(name: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if name.chars().all(plain) && !name.starts_with(|first: char| first.is_ascii_digit()) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}
