//! What stands under the help of each command.
//!
//! A paragraph is one line, which the help wraps at the terminal's width; examples fit 78 columns, so that they can be
//! copied from any terminal.

mod pdq;

pub(super) use pdq::*;

pub(super) const OMR: &str = "\
Examples:
  omr keygen --out alice                # alice/clue.key: her address
  omr board init board                  # an empty board
  omr post --board board --to alice/clue.key letter.txt
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --out digest
  omr decode --secret-key alice/secret.key --digest digest --out letters
  omr demo                              # all of it, on 65,536 transactions

The same as mail, with a server:
  omr id new --server http://127.0.0.1:7600 --home ann
  omr address --home ann --out ann.addr # what she gives to everybody
  omr send --to ann.addr letter.txt
  omr inbox --home ann

Exit codes, of every command:
  0  success
  1  failure; the last line on standard error tells why
  2  wrong use
  3  overflow: a digest or answer holds more than its bound; the error tells
     how many

Results go to standard output, warnings and errors to standard error as lines that start with `omr: `. Bars and \
notes appear only if standard error is a terminal. With --json an error is one line \
{\"error\": {\"code\", \"exit_code\", \"message\"}} on standard error, a warning {\"warning\": {\"message\"}}. The \
code is one of usage, overflow, input (a file or board that cannot be used), output (a file that cannot be written), \
exists, unreachable, busy, access (tokens), damaged (digests or messages that do not hold what they \
should), internal (a fault of omr) and failure (all others).

For developers: `omr bench --help` and `omr compare --help`.";

pub(super) const SERVE: &str = "\
Examples:
  omr serve --anonymous                 # at http://127.0.0.1:7600
  omr serve --config /etc/omr/omr.toml
  omr serve --listen 127.0.0.1:0 --data board-data --params sophomr-v3
  omr health http://127.0.0.1:7600      # exit code 0: it serves

The first start makes the board; everything that is kept lies in one folder. With --anonymous \
anybody who reaches the address may post and ask for digests; without it clients need tokens (omr token). docs/operating.md explains every key of the \
configuration.";

pub(super) const TOKEN: &str = "\
Examples:
  omr token add --file omr-data/tokens.toml --name wallet \\
    --may post --may detect
  omr token add --file omr-data/tokens.toml --name backups --may admin
  omr token list --file omr-data/tokens.toml
  omr token remove --file omr-data/tokens.toml --name wallet";

pub(super) const DATA: &str = "\
Examples:
  omr data backup --server http://127.0.0.1:7600 --token TOKEN \\
    --to /backups/omr
  omr data backup --data omr-data --to /backups/omr # the server is stopped
  omr data verify --data omr-data
  omr data repair --data omr-data --from /backups/omr
  omr data restore --data new-data --from /backups/omr
  omr data expire --data omr-data --older-than 90d # the server is stopped

Messages expire in whole segments (4,096 messages unless configured otherwise); a server that runs does the same by \
itself with `board.expire_days`. Whoever fetches late is told which messages she missed.";

pub(super) const KEYGEN: &str = "\
Examples:
  omr keygen --out alice
  omr keygen --out carol --json
  omr keygen --scheme hybrid --out bob  # detection.key and instant.key
  omr keygen --passphrase --out dora    # secret.key under a passphrase

Give clue.key to everybody who writes to you, detection.key and instant.key to the detector you hire, and \
secret.key to nobody. `omr id passphrase --home DIR` sets, changes or removes its passphrase later. An existing key is replaced only with --force.";

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

Messages expire in whole chunks, whose size `omr board stat --json` tells. The others keep their indices, one-time \
keys stay used, and what asks for a message that expired is refused. A board keeps no times: to expire by age, note \
from time to time how many messages there are.";

pub(super) const POST: &str = "\
Examples:
  omr post --board board --to alice/clue.key letter.txt photo.jpg
  echo hello | omr post --board board --to alice/clue.key -
  omr post --board zcash --to alice/clue.key --raw output.bin

Prints the place of each file once it is safely on the disk: `INDEX FILE`, or `FIRST..END FILE` for a file in \
several messages. A file is posted whole or not at all; small ones go together, up to 1,000 messages at a time. If a \
later one fails, the lines printed tell what is posted. Sealed with a file goes its name, without folders: a small \
one that leaves no room for it goes without.

`omr board stat` tells how many bytes of a file a message holds. A file may take 131,072 messages; one of more than \
a digest's bound is fetched by several digests, whose ranges are told after posting.";

pub(super) const DIGEST: &str = "\
Examples:
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --out digest
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --range 2.. --out - > later
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --indices-only --out indices
  omr digest --board board --detection-key alice/detection.key \\
    --detection-key alice/instant.key --bound 50 --out both
  omr digest --board board --detection-key alice/detection.key \\
    --bound 50 --range 0..2 --out first

Others can post while a digest is made: it holds what was on the board when it began. A file that exists is replaced \
only with --force. The digest's size depends on the range, the bound and the payload size, never on what is found. The bound holds \
for each group of up to 12 batches of messages, with InstantOMR of 65,536 messages. With both keys, full batches \
go to SophOMR and the rest to InstantOMR, where that costs less; a key is read only where its engine has a part.";

pub(super) const STREAM: &str = "\
Examples:
  omr keygen --scheme instantomr --out alice
  omr board init board --params hybrid-v2
  omr stream run --board board --detection-key alice/instant.key \\
    --state alice.session --bound 50
  omr stream run --board board --detection-key alice/instant.key \\
    --state alice.session --bound 50 --follow
  omr stream cut --detection-key alice/instant.key \\
    --state alice.session --number 0 --out digest
  omr decode --secret-key alice/secret.key --digest digest --out letters

The session's file is replaced whole after each lot of messages, so that a killed run goes on where it was. A \
cut digest is kept until the next one: asked for again by its number, it is the same, and no message is lost or \
comes twice. Cut on a fixed schedule, whatever the last digest held.";

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

Anybody can write to an address, and one message of others in 2^26 looks pertinent. So payloads that cannot be \
opened are left out with a warning. The exit code is then 0, but 1 if nothing could be opened or with --strict. A \
board with sealing none vouches for nothing: --sealing none says that you expect that, --sealing hpke-x25519 refuses \
it.

Of a file that is not whole the warning names the messages that are missing. Its parts are kept in the folder \
`incomplete` beside the letters until other digests, in the same call or in later ones into the same folder, in any \
order, bring the rest.";

pub(super) const ID: &str = "\
Examples:
  omr id new --server https://mail.example.org:7600 --token TOKEN
  omr id new --home work --server http://127.0.0.1:7600 --bound 90 \\
    --scheme instantomr
  omr id register                       # goes on where an upload broke off
  omr id show --json
  omr id publish                        # prints the short address, omr1..
  omr id revoke

The identity lives in --home, else $OMR_HOME, else $XDG_DATA_HOME/omr, else ~/.local/share/omr. Nobody can restore \
secret.key: keep what `omr id export` writes apart from this machine. Keys of omr keygen that are in the folder become the identity's; no key is ever \
replaced. Bound, scheme and sealing are fixed when it is made: every request has the same form, so that it tells \
nothing, and no server can have letters to you unsealed. --spares 1 or 0 spares the server work and takes letters \
longer than the bound away. `publish` lets the server hand your address out to whoever has its short form: the server \
then knows whose it is. Fetches keep it published.";

pub(super) const ID_SAFE: &str = "\
Examples:
  omr id passphrase                     # set it, or change it
  omr id export --out ann.omr           # under the passphrase too
  omr id import ann.omr --home laptop
  omr id rotate                         # new keys, a new address
  omr id forget --all                   # letters to old addresses: no more
  omr id passphrase --remove

A passphrase is taken from --passphrase-file or $OMR_PASSPHRASE (a new one from --new-passphrase-file or \
$OMR_NEW_PASSPHRASE), else it is asked for at the terminal. It protects secret.key and exports; letters in the inbox are not \
under it. Nobody can restore what a forgotten passphrase locks.

An export holds secret, address, server, contacts, letters and where fetches stand: letters that come later are fetched \
by the restored identity, none of the others comes twice. It is made under the secret's passphrase, or a new one where \
the secret has none. Two copies of an identity can both fetch; the server sees that.

After `omr id rotate` the old identity lies in retired/DATE in the home, and `omr inbox` and `omr watch` fetch for it too, \
until `omr id forget`. The server sees that one account asks with both keys, so that they are one person's: who must not \
be linked makes an identity in another --home, with another token and from another network. Whoever had the old secret \
reads old letters, and new ones to the old address.";

pub(super) const ADDRESS: &str = "\
Examples:
  omr address
  omr address --out alice.txt

The text can stand in a mail. It says where you read, how letters to you are sealed and how many \
messages one may take; its fingerprint covers all of that: compare it by voice.";

pub(super) const CONTACT: &str = "\
Examples:
  omr contact add bob bob.txt
  omr contact list
  omr contact remove bob";

pub(super) const SEND: &str = "\
Examples:
  omr send --to bob letter.txt photo.jpg
  omr send --to alice.txt letter.txt
  echo hello | omr send --to bob -
  omr send --to alice/clue.key --server http://127.0.0.1:7600 letter.txt

--to takes a contact's name, a file with an address or a clue.key, - for an address on standard input, or a short \
address: omr1.., or omr1..@URL with the server that has it. A short address is looked for among contacts and in what \
was found before; else that server, --server or your own is asked, without any token. It can exchange nothing, as the \
short form proves the whole, but it learns that your network address wants to write to this recipient: an \
address that she gave you as a file tells nobody. \
Letters go to the address's server; the identity's token, and that in OMR_TOKEN, only to the identity's own or to \
--server. A letter of more messages than the address takes, and a board that does not seal letters as the address \
says, is refused before anything is posted. Files keep their names. Prints `INDEX FILE`, or `FIRST..END FILE` for \
a file in several messages. Files are posted in one go, in as few posts as the server's limits allow; a lost answer \
never posts anything twice.";

pub(super) const INBOX: &str = "\
Examples:
  omr inbox                             # fetch, then list what is new
  omr inbox --all --offline             # list everything, ask nobody
  omr inbox read 3
  omr inbox read 3 4 --out letters
  omr inbox --canary                    # a message to yourself
  omr inbox --audit
  omr inbox kept                        # ranges of which messages did not fit
  omr inbox --raise-bound 80
  omr inbox again 0..4 --by 2           # a range anew, in small requests
  omr inbox drop 0..4                   # give up what did not fit there
  omr inbox rebuild                     # everything anew from the server

A fetch asks for all messages since the last one, with the identity's bound, whatever was found before. If a \
digest holds more messages for you than the bound, its range is kept and the exit code is 3. Nothing need be done: \
every fetch also asks for a part of the messages of those before it, on a fixed schedule, and what did not fit \
comes with the next of them; the server cannot tell. `omr inbox kept` says how much came and how many fetches are \
left.

Asking for a range by hand is another matter. --raise-bound asks again for all that overflowed, --retry-damaged for \
all that did not decode, `omr inbox again RANGE` for any messages, with --bound or in small ranges with --by. The \
detector learns that you ask, so that something was amiss; whoever sends crafted messages and learns that can find \
out your secret, one answer at a time. Think of who may have sent so many. `omr inbox drop RANGE` gives them up and \
tells nobody.

`omr inbox rebuild` is for a damaged inbox: the file stays under another name, and the server is asked for \
everything once more. --audit exits with 1 if a canary is missing: the detector left messages out.";

pub(super) const WATCH: &str = "\
Examples:
  omr watch
  omr watch --every 300s --canaries 4
  omr watch --every 10s --session       # needs an instant.key
  omr watch --every 1s --count 3 --json

Fetches at whole multiples of --every on the clock; a slow fetch skips ticks. Decoding has a thread of its own, \
and canaries come at random: nothing that the server sees depends on what was found. That is why no command can \
be run for a message: whatever it did, a detector or a sender could see, and learn your secret from your \
reactions.";

pub(super) const DEMO: &str = "\
Examples:
  omr demo
  omr demo --messages 131072 --bound 100 --dir demo --json
  omr demo --params insecure-tiny-v2 --messages 2048
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
