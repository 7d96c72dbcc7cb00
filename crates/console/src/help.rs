//! Groups of subcommands in help texts.

use clap::Command;

/// Names of groups, each with the names of its subcommands.
pub type Groups = [(&'static str, &'static [&'static str])];

/// Makes `--help` of a command list its subcommands in groups, which clap cannot do. Hidden subcommands, and names that
/// this build lacks, are left out.
#[must_use]
pub fn grouped(command: Command, groups: &Groups) -> Command {
    let styles = command.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let names = groups.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let mut list = String::new();
    for (title, names) in groups {
        let found = names
            .iter()
            .filter_map(|name| command.find_subcommand(name));
        let rows: String = found
            .filter(|command| !command.is_hide_set())
            .map(|command| {
                let name = command.get_name();
                let about = command
                    .get_about()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                format!("  {literal}{name:<width$}{literal:#}  {about}\n")
            })
            .collect();
        if !rows.is_empty() {
            list += &format!("{header}{title}:{header:#}\n{rows}\n");
        }
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_list_what_there_is_and_is_not_hidden() {
        let named = |name: &'static str| Command::new(name).about(format!("Does {name}"));
        let all = Command::new("omr")
            .about("Everything")
            .subcommand(named("post"))
            .subcommand(named("keygen"))
            .subcommand(named("bench").hide(true));
        let groups: &Groups = &[
            ("Recipient", &["keygen", "absent"]),
            ("Evidence", &["bench"]),
            ("Sender", &["post"]),
        ];
        let help = grouped(all, groups).render_help().to_string();
        let expected = "Everything\n\nUsage: omr [COMMAND]\n\n\
                        Recipient:\n  keygen  Does keygen\n\nSender:\n  post    Does post\n\n\
                        Options:\n  -h, --help  Print help\n";
        assert_eq!(help, expected);
    }
}
