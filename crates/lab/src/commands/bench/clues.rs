use crate::args::BenchClues;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{AttackTable, attacks};
use omr_console::thousands;
use omr_protocol::params::SetSpec;
use omr_protocol::{ClueParams, ParamsError};

pub(super) fn run(args: &BenchClues) -> Result<(), LabError> {
    let set = SetSpec::named(&args.params)?;
    let params = ClueParams::named(&args.params)?;
    let spec = set.sophomr.ok_or_else(|| ParamsError::NoEngine {
        name: args.params.clone(),
        expected: "SophOMR",
    })?;
    let table = attacks(&params, &spec, args.keys as usize, args.seed)?;
    show(args.json, &table, text)
}

fn text(table: &AttackTable) -> String {
    let mut text = format!(
        "{}: {} recipients, window [-{}, {}]; a stranger's clue is pertinent with 2^{:.1}\n\
         {:<32} {:>10} {:>11} {:>11} {:>11} {:>10}\n",
        table.params,
        thousands(table.keys as u64),
        table.range,
        table.range,
        table.stranger_rate.log2(),
        "clues",
        "pairs",
        "plain",
        "bound",
        "lwemongrass",
        "refused",
    );
    for line in &table.lines {
        let share = |hits: u64| 100.0 * hits as f64 / line.pairs as f64;
        text += &format!(
            "{:<32} {:>10} {:>10.2}% {:>10.2}% {:>10.2}% {:>10}\n",
            line.attack,
            thousands(line.pairs),
            share(line.plain),
            share(line.bound),
            share(line.lwemongrass),
            thousands(line.refused),
        );
    }
    text + "pairs: of a clue and a recipient at whom it is not, or no longer, aimed. refused: bound clues, by the board, for their signature\n"
}
