//! What stands under the help of commands around a server: of those who run one, and of mail.

pub(in crate::args) const SERVE: &str = "\
Examples:
  omr serve --anonymous                 # at http://127.0.0.1:7600
  omr serve --config /etc/omr/omr.toml
  omr serve --listen 127.0.0.1:0 --data board-data --params sophomr-v5
  omr health http://127.0.0.1:7600      # exit code 0: it serves

The first start makes the board; everything that is kept lies in one folder. With --anonymous \
anybody who reaches the address may post and ask for digests; without it clients need tokens (omr token). docs/operating.md explains every key of the \
configuration.";

pub(in crate::args) const WORKER: &str = "\
Examples:
  omr token add --file omr-data/tokens.toml --name pool --may work
  omr worker --server https://mail.example.org:7600 --token-file pool.token
  omr worker --server http://127.0.0.1:7600 --token TOKEN \\
    --keys 4 --threads 8 --name box-1
  omr worker --server http://127.0.0.1:7600 --token TOKEN --engine instantomr

It keeps nothing but what is in its memory, and may be stopped at any time: the server gives what it was at to \
others. docs/operating.md says how many to run, and how the server leaves all work to them.";

pub(in crate::args) const TOKEN: &str = "\
Examples:
  omr token add --file omr-data/tokens.toml --name wallet \\
    --may post --may detect
  omr token add --file omr-data/tokens.toml --name backups --may admin
  omr token list --file omr-data/tokens.toml
  omr token remove --file omr-data/tokens.toml --name wallet";

pub(in crate::args) const DATA: &str = "\
Examples:
  omr data backup --server http://127.0.0.1:7600 --token TOKEN \\
    --to /backups/omr --keep 30
  omr data verify --from /backups/omr
  omr data backup --data omr-data --to /backups/omr # the server is stopped
  omr data verify --data omr-data
  omr data repair --data omr-data --from /backups/omr
  omr data restore --data new-data --from /backups/omr
  omr data expire --data omr-data --older-than 90d # the server is stopped
  omr data jobs --data omr-data --drop all # the server is stopped

Messages expire in whole segments (4,096 messages unless configured otherwise); a server that runs does the same by \
itself with `board.expire_days`. Whoever fetches late is told which messages she missed.";

pub(in crate::args) const ID: &str = "\
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

pub(in crate::args) const ID_SAFE: &str = "\
Examples:
  omr id passphrase                     # set it, or change it
  omr id export --out ann.omr           # under the passphrase too
  omr id import ann.omr --home laptop
  omr id rotate                         # new keys, a new address
  omr id forget --all                   # letters to old addresses: no more
  omr id passphrase --remove

A passphrase is taken from --passphrase-file or $OMR_PASSPHRASE (a new one from --new-passphrase-file or \
$OMR_NEW_PASSPHRASE), else it is asked for at the terminal; a new one has at least 8 characters. It protects secret.key and exports; letters in the inbox are not \
under it. Nobody can restore what a forgotten passphrase locks.

An export holds secret, address, server, contacts, letters and where fetches stand: letters that come later are fetched \
by the restored identity, none of the others comes twice. It is made under the secret's passphrase, or a new one where \
the secret has none. Two copies of an identity can both fetch; the server sees that. After `omr id rotate` on one of \
them the other goes on with the old address until that is forgotten, and is then told so: import what the first exports \
there anew.

secret.key alone restores an identity too: in an empty folder of its own, `omr id new --home DIR --server URL` takes it \
over, with the same address if --sealing, --bound and --spares are as they were, and fetches the whole board; contacts, \
letters that expired and identities that were replaced are not in it.

After `omr id rotate` the old identity lies in retired/DATE in the home, and `omr inbox` and `omr watch` fetch for it too, \
until `omr id forget`. The server sees that one account asks with both keys, so that they are one person's: who must not \
be linked makes an identity in another --home, with another token and from another network. Whoever had the old secret \
reads old letters, and new ones to the old address.";

pub(in crate::args) const ADDRESS: &str = "\
Examples:
  omr address
  omr address --out alice.txt
  omr address --json

The text can stand in a mail. It says where you read, how letters to you are sealed and how many \
messages one may take; its fingerprint covers all of that: compare it by voice.";

pub(in crate::args) const CONTACT: &str = "\
Examples:
  omr contact add bob bob.txt
  omr contact list
  omr contact remove bob";

pub(in crate::args) const SEND: &str = "\
Examples:
  omr send --to bob letter.txt photo.jpg
  omr send --to alice.txt letter.txt
  echo hello | omr send --to bob -
  omr send --to alice/clue.key --server http://127.0.0.1:7600 letter.txt

--to takes a file with an address, a short address or a clue.key, - for such on standard input, a short address itself \
(omr1.., or omr1..@URL with the server that has it), or a contact's name. A short address is looked for among contacts and in what \
was found before; else that server, --server or your own is asked, without any token. It can exchange nothing, as the \
short form proves the whole, but it learns that your network address wants to write to this recipient: an \
address that she gave you as a file tells nobody. \
Letters go to the address's server; the identity's token, and that in OMR_TOKEN, only to the identity's own or to \
--server. A letter of more messages than the address takes, and a board that does not seal letters as the address \
says, is refused before anything is posted. An address does not say which board of its server it is for: where the server \
was set up anew, letters go to its new board and the recipient learns that hers is gone when she fetches; ask her for \
her new address. Files keep their names. Prints `INDEX FILE`, or `FIRST..END FILE` for \
a file in several messages. Files are posted in one go, in as few posts as the server's limits allow; a lost answer \
never posts anything twice.";

pub(in crate::args) const HISTORY: &str = "\
Examples:
  omr inbox history                     # lengths of the board and hashes

Each line is a length that the board had when this inbox looked, with the running hash of all messages before it. Every \
fetch asks the server for these hashes. Where one differs, the board went back to an older state, or the server shows \
different boards to different people: the fetch goes back to the last length that agrees, asks for everything behind it \
again, and warns. Letters that came before stay.

Two people who read one board find with --compare LENGTH:HASH whether they are shown the same one: each compares the \
last line of the other. The server is asked only where this inbox has not seen that length; it learns that somebody compares.
";

pub(in crate::args) const INBOX: &str = "\
Examples:
  omr inbox                             # fetch, then list what is new
  omr inbox --all --offline             # list everything, ask nobody
  omr inbox read 3
  omr inbox read 3 4 --out letters
  omr inbox read 3 --json
  omr inbox --canary                    # a message to yourself
  omr inbox --audit
  omr inbox kept                        # ranges of which messages did not fit
  omr inbox --raise-bound 80
  omr inbox again 0..4 --by 2           # a range anew, in small requests
  omr inbox drop 0..4                   # give up what did not fit there
  omr inbox history                     # lengths of the board and hashes
  omr inbox rebuild                     # everything anew from the server

The list is in the order of the board, with the time of the fetch. While `omr watch` runs, `omr inbox --offline`, \
`omr inbox read` and `omr id export` work beside it.

A fetch asks for all messages since the last one, with the identity's bound, whatever was found before. If a \
digest holds more messages for you than the bound, its range is kept, with a warning. Nothing need be done: \
every fetch also asks for a part of the messages of those before it, on a fixed schedule, and what did not fit \
comes with the next of them; the server cannot tell. A letter of 125 KB, for one, comes with the 14th fetch. `omr inbox \
kept` says how much came and how many fetches are left. Where none is, as with --spares 0, the exit code is 3.

Asking for a range by hand is another matter. --raise-bound asks again for all that overflowed, --retry-damaged for \
all that did not decode, `omr inbox again RANGE` for any messages, with --bound or in small ranges with --by. The \
detector learns that you ask, so that something was amiss; whoever sends crafted messages and learns that can find \
out your secret, one answer at a time. Think of who may have sent so many. `omr inbox drop RANGE` gives them up and \
tells nobody.

`omr inbox rebuild` is for a damaged inbox: the file stays under another name, and the server is asked for \
everything once more. --audit exits with 1 if a canary is missing: the detector left messages out.";

pub(in crate::args) const WATCH: &str = "\
Examples:
  omr watch
  omr watch --every 300s --canaries 4
  omr watch --every 10s --session       # needs an instant.key
  omr watch --every 1s --count 3 --json

Fetches at whole multiples of --every on the clock; a slow fetch skips ticks. Decoding has a thread of its own, \
and canaries come at random: nothing that the server sees depends on what was found. That is why no command can \
be run for a message: whatever it did, a detector or a sender could see, and learn your secret from your \
reactions.";
