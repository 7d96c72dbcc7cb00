//! The 24 words of a recipient: printed once, or read from a file or a terminal.

use crate::commands::passphrase::read_secret;
use crate::error::{CliError, InputError};
use crate::io::is_standard;
use omr_client::{Words, os_rng};
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Options that derive keys from words.
#[derive(clap::Args)]
pub(crate) struct WordsArgs {
    /// Make the keys from 24 new words and print these, once: --from-words makes the same keys of them anywhere
    #[arg(long, conflicts_with_all = ["from_words", "json"])]
    pub(crate) words: bool,
    /// Make the keys of the 24 words in a file again; - reads the words from standard input, or unseen at a terminal
    #[arg(long, value_name = "FILE")]
    pub(crate) from_words: Option<PathBuf>,
}

/// Words in a line of what is printed.
const IN_LINE: usize = 4;

impl WordsArgs {
    /// Returns new words, or those that are given, or `None` where keys are random.
    ///
    /// Errors: `Input`.
    pub(super) fn wanted(&self) -> Result<Option<Words>, CliError> {
        match &self.from_words {
            Some(file) => read(file).map(Some),
            None => Ok(self.words.then(|| Words::generate(&mut os_rng()))),
        }
    }
}

/// Reads words from a file, from standard input, or from a terminal that does not show them.
fn read(path: &Path) -> Result<Words, CliError> {
    let words = || -> Result<Words, InputError> {
        if is_standard(path) && io::stdin().is_terminal() {
            let typed = rpassword::prompt_password("The 24 words, in one line: ")?;
            return Ok(Words::parse(&Zeroizing::new(typed))?);
        }
        let bytes = read_secret(path)?;
        let text = std::str::from_utf8(&bytes).map_err(io::Error::other)?;
        Ok(Words::parse(text)?)
    };
    words().map_err(CliError::input(path))
}

/// Returns new words as they are printed, with their numbers, and `birthday` below them where there is one.
pub(super) fn printed(words: &Words, birthday: Option<u64>) -> Zeroizing<String> {
    // The memory is reserved at once, so that no copies are left behind.
    let mut text = Zeroizing::new(String::with_capacity(1024));
    text.push_str("The words of these keys:\n\n");
    for (number, word) in (1..).zip(words.each()) {
        // Writing to a string does not fail.
        let _ = write!(text, "{number:>4} {word}");
        if number % IN_LINE == 0 {
            text.push('\n');
        } else {
            (word.len()..8).for_each(|_| text.push(' '));
        }
    }
    text.push('\n');
    let kept = match birthday {
        Some(birthday) => {
            let _ = writeln!(text, "Birthday: {birthday}\n");
            "words and birthday"
        }
        None => "them",
    };
    let _ = writeln!(
        text,
        "Write {kept} on paper, apart from this machine:\n\
         they are shown this once. Who has the words can read everything for you.\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_words_are_read_again() {
        let words = Words::generate(&mut os_rng());
        let text = printed(&words, Some(4711));
        assert!(text.lines().all(|line| line.len() <= 78), "{}", *text);
        assert!(text.contains("\nBirthday: 4711\n"));
        let grid: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
        assert_eq!(grid.len(), 6);
        assert_eq!(Words::parse(&grid.join("\n")).unwrap(), words);
        assert!(!printed(&words, None).contains("Birthday"));
    }
}
