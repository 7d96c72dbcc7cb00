//! The text under the help of each command.
//!
//! A paragraph is one line, which the help wraps at the terminal's width; examples fit in 78 columns, so that they can
//! be copied from any terminal.

/// Returns the text under the help of `omr`.
pub(super) fn omr() -> String {
    [FIRST, MORE, LAST].concat()
}

const FIRST: &str = "\
Examples:
  omr demo --params insecure-tiny-hybrid-v4 --messages 2048 # a second
  omr keygen --out alice                # alice/clue.key: the address
  omr board init board                  # an empty board
  omr post --board board --to alice/clue.key letter.txt
  omr digest --board board --detection-key alice/detection.key \\
    --detection-key alice/instant.key --bound 50 --out digest
  omr decode --secret-key alice/secret.key --digest digest --out letters
  omr demo                              # all of it, on 65,536 transactions
";

/// The further examples of this build.
#[cfg(feature = "full")]
const MORE: &str = "
The same as mail, with a server:
  omr id new --server http://127.0.0.1:7600 --home ann
  omr address --home ann --out ann.addr # for everybody who writes
  omr send --to ann.addr letter.txt
  omr inbox --home ann
";
#[cfg(not(feature = "full"))]
const MORE: &str = "
This build has no mail, no servers and no private queries: `cargo build --release --features full` makes one that has.
";

const LAST: &str = "
Exit codes, of every command:
  0  success
  1  failure; the last line on standard error has the reason
  2  wrong use
  3  overflow: more messages or rows than the bound, and the rest does not
     come by itself; the error has their number

Results go to standard output, warnings and errors to standard error as lines that start with `omr: `, \
those of wrong use with `error: `. --json and --home follow the command that they are for. Bars and \
notes appear only if standard error is a terminal. With --json an error is one line \
{\"error\": {\"code\", \"exit_code\", \"message\"}} on standard error, a warning {\"warning\": {\"message\"}}. The \
code is one of usage, overflow, input (a file or board that cannot be used), output (a file that cannot be written), \
exists, unreachable, busy, access (tokens), damaged (digests or messages that do not hold what they \
should), internal (a fault of omr) and failure (all others).";

#[cfg(test)]
mod tests;
