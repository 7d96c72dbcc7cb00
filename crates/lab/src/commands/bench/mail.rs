use super::trial::{program, watched};
use crate::args::BenchMail;
use crate::commands::show;
use crate::error::LabError;
use crate::trials::mail::{Mail, MailFigures};
use omr_console::{Ui, thousands};

pub(super) fn run(args: &BenchMail, ui: &Ui) -> Result<(), LabError> {
    let mail = Mail {
        program: program()?,
        params: args.params.clone(),
        dir: args.dir.clone(),
        messages: args.messages,
        senders: args.senders,
        recipients: args.recipients,
        letters: args.letters,
    };
    let figures = watched(ui, |progress| mail.run(progress))?;
    show(args.json, &figures, table)?;
    Ok(figures.verdict()?)
}

fn table(figures: &MailFigures) -> String {
    let delivered = &figures.delivered;
    let mut text = format!(
        "{}: {} messages on the board, {} letters in {} of them, {} senders, {} recipients, bound {}\n\
         \x20 joining        {:.2} s\n\
         \x20 posting        {:.2} s, then {:.2} s\n\
         \x20 server killed  {} times, away for {:.2} s\n\
         \x20 fetch killed   {} times\n",
        figures.params,
        thousands(figures.messages),
        figures.letters,
        thousands(figures.letter_messages),
        figures.senders,
        figures.recipients,
        figures.bound,
        figures.join_s,
        figures.posting_s[0],
        figures.posting_s[1],
        figures.restarts,
        figures.away_s,
        figures.killed_fetches,
    );
    for round in &figures.fetches {
        let seconds: Vec<String> = round.seconds.iter().map(|s| format!("{s:.2} s")).collect();
        text += &format!(
            "  fetches        {}; {} bytes each\n",
            seconds.join(", "),
            thousands(round.received_bytes)
        );
    }
    text + &format!(
        "  letters        {} exact, {} missing, {} doubled, {} foreign; {} unopened, {} incomplete\n",
        delivered.exact,
        delivered.missing,
        delivered.doubled,
        delivered.foreign,
        figures.unopened,
        figures.incomplete_files,
    )
}
