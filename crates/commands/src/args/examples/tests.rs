//! Examples can be copied from any terminal, and the command understands them.

use super::super::command;
use crate::args::Cli;
use clap::{Command, CommandFactory, Parser};
use omr_console::Code;

/// Visits all commands with their names, including the innermost ones.
fn walk(command: &Command, path: &str, visit: &mut impl FnMut(&str, &Command)) {
    visit(path, command);
    for inner in command.get_subcommands() {
        walk(inner, &format!("{path} {}", inner.get_name()), visit);
    }
}

/// Returns the text under a command's help.
fn after(command: &Command) -> String {
    command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Returns the lines of examples: they are indented, and no list of exit codes.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let indented = |line: &&str| line.starts_with("  ");
    let digit = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let listed = move |line: &&str| !digit(line) && !line.starts_with("     ");
    text.lines().filter(indented).filter(listed)
}

/// Returns the examples of a text, each in one line.
fn examples(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines(text) {
        let (part, more) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match found.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(part.trim_start()),
            None => found.push(part.trim_start().to_owned()),
        }
        goes_on = more;
    }
    found
}

/// Returns the words of the omr commands in a line of a shell.
fn commands(line: &str) -> Vec<Vec<String>> {
    let words = shlex::split(line).unwrap_or_else(|| panic!("quotes in {line}"));
    let ends = |word: &String| ["|", "&&", "&"].contains(&word.as_str());
    let parts = words
        .split(ends)
        .filter(|part| part.first().is_some_and(|word| word == "omr"));
    let unredirected = |part: &[String]| {
        let end = part
            .iter()
            .position(|word| ["<", ">", ">>"].contains(&word.as_str()));
        part[..end.unwrap_or(part.len())].to_vec()
    };
    parts.map(unredirected).collect()
}

#[test]
fn every_example_is_understood() {
    Cli::command().debug_assert();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "a token\n").unwrap();
    let token = file.path().to_str().unwrap().to_owned();
    let mut count = 0;
    walk(&Cli::command(), "omr", &mut |path, command| {
        for example in examples(&after(command)) {
            let commands = commands(&example);
            assert!(!commands.is_empty(), "{path}: {example}");
            for mut words in commands {
                count += 1;
                // The file of a token is read while arguments are parsed.
                if let Some(at) = words.iter().position(|word| word == "--token-file") {
                    words[at + 1].clone_from(&token);
                }
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{path}: {example}: {error}");
                }
            }
        }
    });
    assert!(count > 100, "{count}");
}

#[test]
fn examples_fit_any_terminal_and_text_is_wrapped_once() {
    walk(&Cli::command(), "omr", &mut |path, command| {
        let text = after(command);
        for line in text.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.len() <= 78, "{path}: {line}");
        }
        // Two lines of one paragraph would be wrapped separately.
        let lines: Vec<&str> = text.lines().collect();
        let prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
        for pair in lines.windows(2) {
            let both = prose(pair[0]) && prose(pair[1]);
            assert!(!both || pair[0].ends_with(':'), "{path}: {pair:?}");
        }
    });
}

#[test]
fn every_page_shows_its_own_command() {
    walk(&Cli::command(), "omr", &mut |path, command| {
        if command.has_subcommands() || command.is_hide_set() {
            return;
        }
        let text = after(command);
        assert!(
            examples(&text).iter().any(|line| line.contains(path)),
            "{path}"
        );
        if path.starts_with("omr pdq") {
            assert!(examples(&text).len() <= 4, "{path}");
        }
    });
}

#[test]
fn help_lists_every_word_for_an_error() {
    let text = after(&Cli::command());
    for code in Code::ALL {
        assert!(text.contains(code.word()), "{code:?}");
    }
}

#[test]
fn developers_commands_are_not_in_a_users_list() {
    let help = command().render_help().to_string();
    let listed = |name: &str| help.lines().any(|line| line.trim_start().starts_with(name));
    assert!(
        listed("keygen") && !listed("bench") && !listed("compare "),
        "{help}"
    );
}
