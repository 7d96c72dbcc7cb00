//! What stands under the help of the developers' commands.

use omr_console::Groups;

/// The commands of `omr bench` by what they are about.
pub const GROUPS: &Groups = &[
    (
        "Digests",
        &["digest", "decode", "stream", "crossover", "soak", "card"],
    ),
    ("Clues", &["clues", "windows"]),
    (
        "Service",
        &[
            "post", "sizing", "cluster", "load", "mail", "chaos", "hostile",
        ],
    ),
    ("Private queries", &["pdq"]),
    ("Whole builds", &["all", "compare", "compare-builds"]),
];

/// Under the help of `omr compare`.
pub const COMPARE: &str = "\
Examples:
  omr compare --out figures
  omr compare sophomr instantomr --messages 65536 --pertinent 50 \\
    --bound 54 --payload-bytes 612 --threads 1
  omr compare omr2p omr2p-as-published --allow-insecure
  omr compare --runs 20 --threads 1 --json
  omr compare --quick

Each scheme runs in a process of its own, one after another. Exits with 1 unless every run gave all pertinent \
messages, bit for bit; strangers' messages that pass besides are told. Yardstick NTTs need a build with the \
feature `yardstick`.";

/// Under the help of `omr bench`.
pub const BENCH: &str = "\
Examples:
  omr bench digest --scheme sophomr --messages 65536 --pertinent 50 \\
    --bound 50 --threads 1 --json
  omr bench digest --scheme sophomd --runs 20 --json
  omr bench digest --recipients 16 --keep-baby-steps --threads 1 --json
  omr bench decode --rounds 1000
  omr bench decode --scheme instantomr --messages 2000
  omr bench post --messages 65536 --json

Exits with 1 if a run misses a message, finds one of others or gets a payload wrong.";

pub(crate) const BENCH_PDQ: &str = "\
Examples:
  omr bench pdq questions tables --asked reference/pdq_questions.sql \\
    --random 200 --out questions.json
  omr bench pdq oracle tables answers.json
  omr bench pdq compress --bounds 8,32,128 --runs 5
  omr bench pdq compress --rows 16384,65536,262144,1048576 \\
    --bounds 8,32,128 --svg compress.svg
  omr bench pdq query --rows 1000000 --bound 16 --threads 2 --json

reference/pdq_oracle.py writes the tables and answers the questions by DuckDB. Exits with 1 if a row or a value \
differs.";

pub(crate) const BENCH_STREAM: &str = "\
Examples:
  omr bench digest --scheme instantomr --messages 1000 --threads 1 --json
  omr bench stream --rate 7 --seconds 60 --threads 1
  omr bench stream --rate 0.2362 --seconds 1000
  omr bench crossover --threads 1 --svg crossover.svg
  omr bench crossover --json > costs.json   # for omr digest --costs
  omr bench windows --clues 10000000";

pub(crate) const SIZING: &str = "\
Examples:
  omr bench sizing --messages-a-day 20408 --recipients 1000
  omr bench sizing --messages-a-day 604800 --recipients 100 \\
    --digests-a-day 24 --json
  omr bench sizing --messages-a-day 20408 --recipients 1000 \\
    --measure --save costs.json
  omr bench sizing --messages-a-day 20408 --recipients 1000 --costs costs.json

docs/operating.md has the formulas.";

pub(crate) const CLUSTER: &str = "\
Examples:
  omr bench cluster measure --threads 1 --save costs.json
  omr bench cluster simulate --costs costs.json --recipients 1000000 \\
    --messages-a-day 20000 --svg cluster.svg
  omr bench cluster simulate --costs costs.json --recipients 1000 \\
    --messages-a-day 20408 --policy grouped --node-cores 4 --json
  omr bench cluster compare --params insecure-tiny-v4 --recipients 12 \\
    --batches 3

docs/operating.md has what they say.";

pub(crate) const SOAK: &str = "\
Examples:
  omr bench soak --scheme sophomr --keys 20 --batches 200 --json > soak.jsonl
  omr bench soak --keys 20 --batches 200 --from-key 7 --json >> soak.jsonl
  omr bench soak --params insecure-tiny-v4 --keys 4 --batches 12

Every digest is printed as soon as it is checked: a run that is stopped leaves its lines and goes on with \
--from-key. A clue counts as pertinent if it lies in the window in the clear; each digest must hold exactly \
these messages, bit for bit. Exits with 1 if one does not.";

pub(crate) const BENCH_COMPARE: &str = "\
Examples:
  omr bench all --json > new.json
  omr bench compare old.json new.json
  omr bench all --quick
  omr bench compare-builds ./omr-before target/release/omr
  omr bench compare-builds ./omr-before target/release/omr --rounds 8 \\
    -- digest --scheme sophomd --threads 2

Figures of one machine and one parameter set compare; others are refused with exit code 1. Ratios are new over \
old: below 1 is better. Times of a machine that others use too change by the minute: trust compare-builds, whose \
ratios are of runs in the same minutes.";

pub(crate) const TRIALS: &str = "\
Examples:
  omr bench load                        # all parts, about an hour
  omr bench load --only posts --seconds 60 --json
  omr bench load --only keys --keys 10 --key-kind both
  omr bench mail --messages 20000
  omr bench chaos                       # every fault; 300 kills
  omr bench chaos --only damage --json
  omr bench hostile --seconds 60 --connections 10000

Servers, and for mail all senders and recipients, are processes of their own on this machine, in a folder that \
is removed. Exit code 1 if a promise of the service did not hold; figures are printed first.";

/// Under the help of `omr fpga`.
pub const FPGA: &str = "\
Examples:
  omr fpga explore
  omr fpga predict --cores 3 --sum-lanes 96 --each-reduced
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --engine fpga-model --out digest

docs/fpga.md has the model and its figures.";

pub(crate) const FPGA_EXPLORE: &str = "\
Examples:
  omr fpga explore
  omr fpga explore --params sophomr-v2 --json
  omr fpga explore --cycles hw/model/cycles.json --picture fpga.svg

Milliseconds are of a whole affine transform, both coordinates, predicted at an assumed clock; nothing was placed and \
routed. A row is the quickest design of a variant on the Alveo U55C, with at most 80 % of its DSP slices, look-up tables and \
flip-flops. Source tells \
whether cycles of blocks were measured in RTL or are of a formula.";

pub(crate) const FPGA_PREDICT: &str = "\
Examples:
  omr fpga predict
  omr fpga predict --cores 3 --sum-lanes 96 --each-reduced
  omr fpga predict --params hybrid-v2 --hoisted 4 --json

A design that exceeds the Alveo U55C, of which it may use 80 % of DSP slices, look-up tables and flip-flops, is an error.";

/// Under the help of `omr params search`.
pub const SEARCH: &str = "\
Examples:
  omr params search
  omr params search --quick --json

Derives sets from the default, drops all below 128 bits and lists those that no other beats in seconds, key, \
memory, clue and digest at once. Seconds are counts of row operations times what these take here, one thread; \
--check makes a real digest and shows how far the model is off. For InstantOMR rotations are measured, windows \
and groups of messages are chosen for the rates that sets promise.";
