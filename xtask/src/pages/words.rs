//! Words that documentation comments must not contain.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Fault;

/// First words of a comment that leave out its subject, or refer to the comment before.
const FIRST: [&str; 7] = [
    "The same", "Its", "Those", "That of", "Which", "What", "None",
];

/// Words that have plainer ones, such as "reports", "again" or "a number of".
const ANYWHERE: [&str; 9] = [
    "told",
    "tells",
    "anew",
    "at hand",
    "whoever",
    "of which",
    "of the other",
    "so many",
    "her",
];

/// Returns the faults of the documentation comments; a line has at most one.
pub(super) fn faults(sources: &BTreeMap<PathBuf, String>) -> Vec<Fault> {
    let mut found = Vec::new();
    for (source, text) in sources {
        let mut inside = false;
        for (line, text) in (1..).zip(text.lines()) {
            let comment = comment(text);
            let word = comment.and_then(|comment| word(comment, !inside));
            found.extend(word.map(|word| Fault::Word {
                source: source.clone(),
                line,
                word,
            }));
            inside = comment.is_some();
        }
    }
    found
}

/// Returns the text of a line of a documentation comment.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))
}

/// Returns the first word of the lists in a line of a comment, which is perhaps the comment's first line.
fn word(comment: &str, first: bool) -> Option<&'static str> {
    let comment = comment.trim_start();
    let begins = |word: &&&str| {
        let rest = comment.strip_prefix(**word);
        first && rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let text = comment.to_lowercase();
    let contains = |word: &&&str| {
        text.match_indices(**word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            ![before, after]
                .into_iter()
                .flatten()
                .any(|c| c.is_alphanumeric() || c == '_')
        })
    };
    let first = FIRST.iter().find(begins);
    first.or_else(|| ANYWHERE.iter().find(contains)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str, text: &str) -> Vec<(usize, &'static str)> {
        let sources = BTreeMap::from([(PathBuf::from(source), text.to_owned())]);
        let word = |fault| match fault {
            Fault::Word { line, word, .. } => (line, word),
            other => panic!("{other}"),
        };
        faults(&sources).into_iter().map(word).collect()
    }

    #[test]
    fn words_of_the_lists_are_found() {
        let text = "//! Tables.\n\n/// What a row holds.\nfn a() {}\n    /// Makes it Anew.\n";
        assert_eq!(of("crates/ring/src/a.rs", text), [(3, "What"), (5, "anew")]);
        assert_eq!(of("xtask/src/a.rs", "/// Its rows.\n"), [(1, "Its")]);
        // Code and other comments are free.
        let code = "let told = \"anew\"; // so many\n";
        assert_eq!(of("crates/ring/src/a.rs", code), []);
    }

    #[test]
    fn parts_of_words_and_later_lines_are_not() {
        let text = "/// Returns the rows, each with\n/// Its of the text is kept.\n/// other threshold, here\n";
        assert_eq!(of("crates/ring/src/a.rs", text), []);
        assert_eq!(of("crates/ring/src/a.rs", "/// Itself a row.\n"), []);
    }
}
