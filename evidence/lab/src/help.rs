//! The text below the help of each command.

use omr_console::Groups;

/// The text below the help of `omr-lab`.
pub(crate) const LAB: &str = "\
Examples:
  omr-lab bench digest --threads 1
  omr-lab bench chaos --only kills --kills 20
  omr-lab compare --quick
  omr-lab params search --quick
  omr-lab fpga explore

`omr bench` and `omr compare` start this program. The trials (`load`, `mail`, `chaos`, `hostile`) start the `omr` that lies \
beside this program. Keys are derived from --seed: never use these.";

/// The commands of `omr-lab bench` by subject.
pub(crate) const GROUPS: &Groups = &[
    (
        "Digests",
        &[
            "digest",
            "rounds",
            "places",
            "decode",
            "stream",
            "crossover",
            "soak",
            "card",
        ],
    ),
    ("Clues", &["clues", "windows"]),
    (
        "Service",
        &[
            "post", "sizing", "cluster", "load", "mail", "inbox", "ledger", "chaos", "hostile",
        ],
    ),
    ("Private queries", &["pdq"]),
    (
        "Whole builds",
        &["sweep", "all", "compare", "compare-builds"],
    ),
];

/// The text below the help of `omr-lab compare`.
pub(crate) const COMPARE: &str = "\
Examples:
  omr-lab compare --out figures
  omr-lab compare sophomr instantomr --messages 65536 --pertinent 50 \\
    --bound 54 --payload-bytes 612 --threads 1
  omr-lab compare omr2p omr2p-as-published --allow-insecure
  omr-lab compare --params hybrid-v4,sophomr-v5 --threads 1 --csv
  omr-lab compare --runs 20 --threads 1 --json
  omr-lab compare --quick

Each scheme runs in a process of its own, one after another. Exits with 1 unless every run gave all pertinent \
messages, bit for bit; strangers' messages that pass are printed too. Yardstick NTTs need a build with the \
feature `yardstick`.";

/// The text below the help of `omr-lab bench`.
pub(crate) const BENCH: &str = "\
Examples:
  omr-lab bench digest --scheme sophomr --messages 65536 --pertinent 50 \\
    --bound 50 --threads 1 --json
  omr-lab bench digest --scheme sophomd --runs 20 --json
  omr-lab bench digest --recipients 16 --threads 1 --json
  omr-lab bench decode --rounds 1000
  omr-lab bench decode --scheme instantomr --messages 2000
  omr-lab bench post --messages 65536 --json

Exits with 1 if a run misses a message, finds one of others or gets a payload wrong.";

pub(crate) const BENCH_ROUNDS: &str = "\
Examples:
  omr-lab bench rounds --messages 65536 --recipients 8 --threads 1 --json
  omr-lab bench places --json

A share is the time of both rounds over that of the digest in the same minute. The counts of `places` are those of reference/rounds_places.py.";

pub(crate) const BENCH_SWEEP: &str = "\
Examples:
  omr-lab bench sweep --messages 65536,131072 --threads 1,2 > digests.csv
  omr-lab bench sweep --bound 25,50,100 --payload-bytes 612,2048 \\
    --svg bounds.svg -- digest --pertinent 20 --threads 1
  omr-lab bench sweep --messages 16384,65536,262144 --runs 5 \\
    --figure share --svg shares.svg -- rounds --recipients 1

Each run is a process of its own. CSV is printed at the end, or with --json one object after each run.";

pub(crate) const BENCH_PDQ: &str = "\
Examples:
  omr-lab bench pdq questions tables --asked reference/pdq_questions.sql \\
    --random 200 --out questions.json
  omr-lab bench pdq oracle tables answers.json
  omr-lab bench pdq compress --bounds 8,32,128 --runs 5
  omr-lab bench pdq compress --rows 16384,65536,262144,1048576 \\
    --bounds 8,32,128 --svg compress.svg
  omr-lab bench pdq query --rows 1000000 --bound 16 --threads 2 --json

reference/pdq_oracle.py writes the tables and answers the questions by DuckDB. Exits with 1 if a row or a value \
differs.";

pub(crate) const BENCH_STREAM: &str = "\
Examples:
  omr-lab bench digest --scheme instantomr --messages 1000 --threads 1 --json
  omr-lab bench stream --rate 7 --seconds 60 --threads 1
  omr-lab bench stream --rate 0.2362 --seconds 1000
  omr-lab bench crossover --threads 1 --svg crossover.svg
  omr-lab bench crossover --json > costs.json   # for omr digest --costs
  omr-lab bench windows --clues 10000000";

pub(crate) const SIZING: &str = "\
Examples:
  omr-lab bench sizing --messages-a-day 20408 --recipients 1000
  omr-lab bench sizing --messages-a-day 604800 --recipients 100 \\
    --digests-a-day 24 --json
  omr-lab bench sizing --messages-a-day 20408 --recipients 1000 \\
    --measure --save costs.json
  omr-lab bench sizing --messages-a-day 20408 --recipients 1000 \\
    --costs costs.json

docs/operating.md has the formulas.";

pub(crate) const CLUSTER: &str = "\
Examples:
  omr-lab bench cluster measure --threads 1 --save costs.json
  omr-lab bench cluster simulate --costs costs.json --recipients 1000000 \\
    --messages-a-day 20000 --svg cluster.svg
  omr-lab bench cluster simulate --costs costs.json --recipients 1000 \\
    --messages-a-day 20408 --policy two-rounds --digest-hours 24 --json
  omr-lab bench cluster compare --params insecure-tiny-v4 --recipients 12 \\
    --batches 3

docs/cluster.md has a simulated table.";

pub(crate) const SOAK: &str = "\
Examples:
  omr-lab bench soak --scheme sophomr --keys 20 --batches 200 \\
    --json > soak.jsonl
  omr-lab bench soak --keys 20 --batches 200 --from-key 7 --json >> soak.jsonl
  omr-lab bench soak --params insecure-tiny-v4 --keys 4 --batches 12
  omr-lab bench soak --scheme two-rounds --params hybrid-v4 \\
    --json > rounds.jsonl

Every digest is printed as soon as it is checked: a run that is stopped leaves its lines and goes on with \
--from-key. A clue counts as pertinent if it lies in the window in the clear; each digest must hold exactly \
these messages, bit for bit. In two rounds every batch has a scan, and fetches until nothing waits; all pertinent \
messages must come back bit for bit, and the noise is compared with predictions. Exits with 1 if a message does not.";

pub(crate) const BENCH_COMPARE: &str = "\
Examples:
  omr-lab bench all --json > new.json
  omr-lab bench compare old.json new.json
  omr-lab bench all --quick
  omr-lab bench compare-builds ./omr-lab-before target/release/omr-lab
  omr-lab bench compare-builds ./omr-lab-before target/release/omr-lab \\
    --rounds 8 -- digest --scheme sophomd --threads 2

Each measurement of `all` runs in a process of its own; without --quick they take a quarter of an hour. `cargo xtask \
figures new.json` writes them into the documents. Figures of one machine and one parameter set compare; others are refused with exit code 1. Ratios are new over \
old: below 1 is better. Times of a machine that others use too change by the minute: trust compare-builds, whose \
ratios are of runs in the same minutes.";

pub(crate) const TRIALS: &str = "\
Examples:
  omr-lab bench load                        # all parts, about an hour
  omr-lab bench load --only posts --seconds 60 --json
  omr-lab bench load --only keys --keys 10 --key-kind both
  omr-lab bench mail --messages 20000
  omr-lab bench inbox --letters 100000 --page 50
  omr-lab bench ledger --blocks 100 --messages 10000
  omr-lab bench chaos                       # every fault; 300 kills
  omr-lab bench chaos --only damage --json
  omr-lab bench hostile --seconds 60 --connections 10000

Servers, and for mail all senders and recipients, are processes of their own on this machine, in a folder that \
is removed. Exit code 1 if a promise of the service did not hold; figures are printed first.";

/// The text below the help of `omr-lab papers`.
pub(crate) const PAPERS: &str = "\
Examples:
  omr-lab papers
  omr-lab papers SophOMR --csv
  omr-lab papers --figures figures.json --json

Published figures were measured on other machines, and most sets of papers have less than 128 bits of security: no \
ratios. A row of a scheme that omr replaces stands beside today's scheme for the same work. Commands \
follow `omr-lab`; `omr-lab bench all --json > figures.json` measures ours on this machine.";

/// The text below the help of `omr-lab fpga`.
pub(crate) const FPGA: &str = "\
Examples:
  omr-lab fpga explore
  omr-lab fpga predict --cores 3 --sum-lanes 96 --each-reduced
  omr-lab fpga detect --messages 65536 --threads 1

docs/fpga.md has the model and its figures.";

pub(crate) const FPGA_EXPLORE: &str = "\
Examples:
  omr-lab fpga explore
  omr-lab fpga explore --json
  omr-lab fpga explore --cycles hw/model/cycles.json --picture fpga.svg

Milliseconds are of a whole affine transform, both coordinates, predicted at an assumed clock; nothing was placed and \
routed. A row is the fastest design of a variant on the Alveo U55C, with at most 80 % of its DSP slices, look-up tables and \
flip-flops. The source states \
whether cycles of blocks were measured in RTL or computed by a formula.";

pub(crate) const FPGA_PREDICT: &str = "\
Examples:
  omr-lab fpga predict
  omr-lab fpga predict --cores 3 --sum-lanes 96 --each-reduced
  omr-lab fpga predict --hoisted 4 --json

A design that exceeds the Alveo U55C, of which it may use 80 % of DSP slices, look-up tables and flip-flops, is an error.";

pub(crate) const FPGA_DETECT: &str = "\
Examples:
  omr-lab fpga detect
  omr-lab fpga detect --params insecure-tiny-sophomr-affine-v1 \\
    --messages 2048 --json

Exits with 1 unless the pertinent messages are found, and no others.";

/// The text below the help of `omr-lab params show`.
pub(crate) const SHOW: &str = "\
Examples:
  omr-lab params show
  omr-lab params show hybrid-v4 --toml > mine.toml
  omr-lab params show mine.toml --json
  omr-lab bench digest --params mine.toml --threads 1
  omr-lab compare --params hybrid-v4,mine.toml --threads 1

A file has a name that begins with `experimental-`, a base, which is a published set, and the fields that differ from it. \
Numbers are near the base's. Clues, and keys of rings with a limit, are checked against their estimates; other keys must \
be at least as secure as the base's. Servers and clients know published sets alone.";

/// The text below the help of `omr-lab params search`.
pub(crate) const SEARCH: &str = "\
Examples:
  omr-lab params search
  omr-lab params search --quick --json

Derives InstantOMR's sets from the published ones, drops all below 128 bits and lists those that no other beats in \
time, clue and group of messages at once. Rotations are measured; windows and groups are chosen for the rates that sets \
promise.";
