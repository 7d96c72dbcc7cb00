//! Examples can be copied from any terminal, and are valid command lines of the program.

use super::{Cli, command};
use crate::help;
use clap::{Command, CommandFactory, Parser};

/// Calls `visit` for a command and all commands below it.
fn walk(command: &Command, path: &str, visit: &mut impl FnMut(&str, &Command)) {
    visit(path, command);
    for inner in command.get_subcommands() {
        walk(inner, &format!("{path} {}", inner.get_name()), visit);
    }
}

fn after(command: &Command) -> String {
    let help = command.get_after_help();
    help.map(ToString::to_string).unwrap_or_default()
}

#[test]
fn every_example_parses() {
    Cli::command().debug_assert();
    let mut count = 0;
    walk(&Cli::command(), "omr-lab", &mut |path, command| {
        let text = after(command).replace("\\\n", " ");
        for line in text.lines().filter(|line| line.starts_with("  omr-lab ")) {
            let words = shlex::split(line).unwrap_or_else(|| panic!("quotes in {line}"));
            let end = words.iter().position(|word| word.starts_with('>'));
            let arguments = &words[..end.unwrap_or(words.len())];
            if let Err(error) = Cli::try_parse_from(arguments) {
                panic!("{path}: {line}: {error}");
            }
            count += 1;
        }
    });
    assert!(count > 100, "{count}");
}

#[test]
fn every_page_has_examples_that_fit_any_terminal() {
    walk(&Cli::command(), "omr-lab", &mut |path, command| {
        let text = after(command);
        for line in text.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.len() <= 78, "{path}: {line}");
        }
    });
}

#[test]
fn every_benchmark_is_in_one_group() {
    let all = command();
    let bench = all.find_subcommand("bench").expect("bench");
    let mut found: Vec<&str> = bench.get_subcommands().map(Command::get_name).collect();
    let groups = help::GROUPS.iter();
    let mut listed: Vec<&str> = groups.flat_map(|(_, names)| *names).copied().collect();
    found.sort_unstable();
    listed.sort_unstable();
    assert_eq!(found, listed);
}
