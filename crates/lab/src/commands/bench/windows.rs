use crate::args::BenchWindows;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{WindowFigures, windows};
use omr_console::thousands;
use omr_protocol::ParamSet;

pub(super) fn run(args: &BenchWindows) -> Result<(), LabError> {
    let set = ParamSet::named(&args.params)?;
    let figures = windows(set.instantomr()?, args.clues, args.seed)?;
    show(args.json, &figures, table)
}

fn table(figures: &WindowFigures) -> String {
    let mut text = format!(
        "{}: {} clues of each kind, window [-{}, {}]\n\
         farther than   coordinates of the recipient's clues     expected\n",
        figures.params,
        thousands(figures.clues),
        figures.half,
        figures.half,
    );
    for line in &figures.missed {
        text += &format!(
            "{:>12} {:>40} {:>12.1}\n",
            line.half,
            thousands(line.found),
            line.expected
        );
    }
    text += "coordinates hit by strangers' clues              expected\n";
    for line in &figures.hits {
        text += &format!(
            "{:>12} {:>30} {:>12.1}\n",
            line.half,
            thousands(line.found),
            line.expected
        );
    }
    text + &format!(
        "by the exact distribution a message is missed with 2^{:.1}, a stranger's passes with 2^{:.1}\n",
        figures.miss_log2, figures.false_positive_log2
    )
}
