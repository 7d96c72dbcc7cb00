//! What stands under the help of each command.
//!
//! A paragraph is one line, which the help wraps at the terminal's width; examples fit 78 columns, so that they can be
//! copied from any terminal.

#[cfg(feature = "full")]
mod pdq;
#[cfg(feature = "full")]
mod service;

#[cfg(feature = "full")]
pub(super) use pdq::*;
#[cfg(feature = "full")]
pub(super) use service::*;

/// Under the help of `omr`.
pub(super) fn omr() -> String {
    [FIRST, MORE, LAST, DEVELOPERS].concat()
}

const FIRST: &str = "\
Examples:
  omr demo --params insecure-tiny-hybrid-v4 --messages 2048 # a second
  omr keygen --out alice                # alice/clue.key: her address
  omr board init board                  # an empty board
  omr post --board board --to alice/clue.key letter.txt
  omr digest --board board --detection-key alice/detection.key \\
    --detection-key alice/instant.key --bound 50 --out digest
  omr decode --secret-key alice/secret.key --digest digest --out letters
  omr demo                              # all of it, on 65,536 transactions
";

/// What this build has besides.
#[cfg(feature = "full")]
const MORE: &str = "
The same as mail, with a server:
  omr id new --server http://127.0.0.1:7600 --home ann
  omr address --home ann --out ann.addr # what she gives to everybody
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
  1  failure; the last line on standard error tells why
  2  wrong use
  3  overflow: a digest or answer holds more than its bound, and the rest
     does not come by itself; the error tells how many

Results go to standard output, warnings and errors to standard error as lines that start with `omr: `, \
those of wrong use with `error: `. --json and --home follow the command that they are for. Bars and \
notes appear only if standard error is a terminal. With --json an error is one line \
{\"error\": {\"code\", \"exit_code\", \"message\"}} on standard error, a warning {\"warning\": {\"message\"}}. The \
code is one of usage, overflow, input (a file or board that cannot be used), output (a file that cannot be written), \
exists, unreachable, busy, access (tokens), damaged (digests or messages that do not hold what they \
should), internal (a fault of omr) and failure (all others).";

/// The commands that this build has for developers.
#[cfg(feature = "lab")]
const DEVELOPERS: &str = "\n\nFor developers: `omr bench --help` and `omr compare --help`.";
#[cfg(not(feature = "lab"))]
const DEVELOPERS: &str = "";

pub(super) const KEYGEN: &str = "\
Examples:
  omr keygen --out alice
  omr keygen --out carol --json
  omr keygen --scheme sophomr --out bob # detection.key alone
  omr keygen --passphrase --out dora    # secret.key under a passphrase
  omr keygen --board 00112233445566778899aabbccddeeff --out emil

Give clue.key to everybody who writes to you, detection.key and instant.key to the detector you hire, and \
secret.key to nobody. `omr id passphrase --home DIR` sets, changes or removes its passphrase later. An existing key is replaced only with --force. `omr id show` and \
`omr board stat` print a board's id; what a key for a board shares, and with whom, SECURITY.md says under Masks of an \
epoch.";

pub(super) const PARAMS: &str = "\
Examples:
  omr params list
  omr params show
  omr params show sophomr-v3 --bound 512 --messages 524288 \\
    --payload-bytes 1024 --json";

pub(super) const BOARD: &str = "\
Examples:
  omr board init board
  omr board init zcash --sealing none --payload-bytes 612
  omr board init quantum --sealing x-wing --payload-bytes 2048
  omr board stat board --json
  omr board verify board
  omr board expire board --keep 100000

All payloads of a board have one size: shorter files are padded, longer ones split.

Messages that stay when others expire keep their indices, one-time keys stay used, and what asks for a message that \
expired is refused. A board keeps no times: to expire by age, note from time to time how many messages there are.";

pub(super) const POST: &str = "\
Examples:
  omr post --board board --to alice/clue.key letter.txt photo.jpg
  echo hello | omr post --board board --to alice/clue.key -
  omr post --board zcash --to alice/clue.key --raw output.bin

A file is posted as it is when its turn comes: one that grows meanwhile, or whose size the system does not know, is \
posted with what it holds then. Prints the place of each file once it is safely on the disk: `INDEX FILE`, or `FIRST..END FILE` for a file in \
several messages. A file is posted whole or not at all; small ones go together, up to 1,000 messages at a time. If a \
later one fails, the lines printed tell what is posted. Sealed with a file goes its name, without folders: a small \
one that leaves no room for it goes without.

`omr board stat` tells how many bytes of a file a message holds. A file may take 131,072 messages; one of more than \
a digest's bound is fetched by several digests, whose ranges are told after posting.";

pub(super) const DIGEST: &str = "\
Examples:
  omr digest --board board --detection-key alice/detection.key \\
    --detection-key alice/instant.key --bound 50 --out digest
  omr digest --board board --detection-key alice/instant.key \\
    --bound 50 --range 2.. --out - > later
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --indices-only --out indices
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --range 0..2 --out first

Others can post while a digest is made: it holds what was on the board when it began. A file that exists is replaced \
only with --force. The digest's size depends on the range, the bound and the payload size, never on what is found. The bound holds \
for each group of up to 12 batches of messages, with InstantOMR of 65,536 messages. With both keys, full batches \
go to SophOMR and the rest to InstantOMR, where that costs less; a key is read only where its engine has a part.";

pub(super) const STREAM: &str = "\
Examples:
  omr keygen --scheme instantomr --out alice
  omr board init board
  omr stream run --board board --detection-key alice/instant.key \\
    --state alice.session --bound 50
  omr stream run --board board --detection-key alice/instant.key \\
    --state alice.session --bound 50 --follow
  omr stream cut --detection-key alice/instant.key \\
    --state alice.session --number 0 --out digest
  omr decode --secret-key alice/secret.key --digest digest --out letters

The session's file is replaced whole after each lot of messages, so that a killed run goes on where it was. A \
cut digest is kept until the next one: asked for again by its number, it is the same, and no message is lost or \
comes twice. Cut on a fixed schedule, whatever the last digest held. Where that is after so many messages at most, \
--room says so, and each takes less time.";

pub(super) const DECODE: &str = "\
Examples:
  omr decode --secret-key alice/secret.key --digest digest --out letters
  omr decode --secret-key alice/secret.key --digest - --out - < digest
  omr decode --secret-key alice/secret.key --digest digest \\
    --raw --out payloads
  omr decode --secret-key alice/secret.key --digest first second --out all

Writes one file for each that was posted, named by the index of its first payload and what its sender called it \
(000123-letter.txt, or 000123.bin), and prints the paths; a digest of indices gives indices.txt. With --out - contents go to standard output, one after another in the order of the \
board.

Anybody can write to an address, and one message of others in 2^27.9 looks pertinent. So payloads that cannot be \
opened are left out with a warning. The exit code is then 0, but 1 if nothing could be opened or with --strict. A \
board with sealing none vouches for nothing: --sealing none says that you expect that, --sealing hpke-x25519 refuses \
it.

Of a file that is not whole the warning names the messages that are missing. Its parts are kept in the folder \
`incomplete` beside the letters until other digests, in the same call or in later ones into the same folder, in any \
order, bring the rest.";

pub(super) const DEMO: &str = "\
Examples:
  omr demo --params insecure-tiny-hybrid-v4 --messages 2048 # a second
  omr demo                              # at full size
  omr demo --messages 131072 --bound 100 --dir demo --json
  omr demo --scheme instantomr --messages 1000
  omr demo --scheme hybrid --messages 66000

Exits with 1 unless every message is retrieved bit for bit, no other is, and neither the board nor what the \
detector has or makes contains the secret key.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  omr completions bash > omr.bash       # then: source omr.bash
  omr completions zsh > _omr            # in a folder of $fpath
  omr completions fish > omr.fish       # in ~/.config/fish/completions";

pub(super) const MAN: &str = "\
Examples:
  omr man --out man1                    # then: man -l man1/omr-inbox.1";

#[cfg(test)]
mod tests;
