from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, final, overload

from typing_extensions import Buffer, Self

__all__ = [
    "Board",
    "BoardInfo",
    "Canary",
    "Client",
    "Decoded",
    "Detector",
    "Digest",
    "EvaluationKey",
    "FetchAnswer",
    "FetchQuery",
    "Identity",
    "Inbox",
    "InboxLetter",
    "Incomplete",
    "Kept",
    "Keys",
    "Leases",
    "LeftOut",
    "Letter",
    "Maker",
    "Message",
    "Messages",
    "ParameterSet",
    "Query",
    "Retrieved",
    "Rows",
    "Scan",
    "Schema",
    "Server",
    "Session",
    "Table",
    "Taken",
    "Unit",
    "Waiting",
    "Watch",
    "Words",
    "parameter_sets",
]

_Path: TypeAlias = str | PathLike[str]
_ReadBytes: TypeAlias = bytes
_File: TypeAlias = Buffer | _Path
_Clues: TypeAlias = Literal["bound", "plain"]
_Sealing: TypeAlias = Literal["none", "hpke-x25519", "x-wing"]
_Engine: TypeAlias = Literal["sophomr", "instantomr", "two-rounds"]
_Progress: TypeAlias = Callable[[str, int, int], object]
_Range: TypeAlias = range
_Letter: TypeAlias = tuple[Buffer, Buffer] | tuple[Buffer, Buffer, str | None]

class _Stream(Protocol):
    """A table of another library: a data frame of polars, duckdb, pyarrow, pandas and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _Array(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class ParameterSet:
    """The properties of a parameter set.

    >>> [known.name for known in omr.parameter_sets() if known.insecure][0]
    'insecure-tiny-v4'
    """

    def __new__(cls, name: str, security_bits: float, insecure: bool, engines: list[str]) -> Self: ...
    @property
    def name(self) -> str:
        """The name of the set, as `params` takes it."""
    @property
    def security_bits(self) -> float:
        """The estimated security in bits."""
    @property
    def insecure(self) -> bool:
        """Whether the set is for tests alone."""
    @property
    def engines(self) -> list[str]:
        """The engines for which the set has detection keys."""

def parameter_sets() -> list[ParameterSet]:
    """Returns all published parameter sets.

    >>> all(known.security_bits > 120 for known in omr.parameter_sets() if not known.insecure)
    True
    """

@final
class Message:
    """A message on a board: a clue for the detector, and a payload for its recipient.

    >>> omr.Message(b"a clue", b"a payload").payload
    b'a payload'
    """

    def __new__(cls, clue: Buffer, payload: Buffer, index: int | None = None) -> Self: ...
    @property
    def clue(self) -> bytes:
        """The clue, in which a detector looks for its recipient under encryption."""
    @property
    def payload(self) -> bytes:
        """The payload, which is sealed for its recipient."""
    @property
    def index(self) -> int | None:
        """The index of the message on its board; None for a message that was made elsewhere."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Messages:
    """An iterator over the messages of a board.

    >>> [message.index for message in board]
    [0, 1]
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> Message: ...

@final
class Board:
    """A board in a folder, as `omr board init` makes it. It is a context manager and a sequence of messages.

    Any number of readers may have it open, or one writer.

    >>> with omr.Board.create("new", params="insecure-tiny-v4") as new:
    ...     new.post(alice.address, b"hello", name="letter.txt")
    range(0, 1)
    >>> with omr.Board.open("new") as new:
    ...     len(new), new[0].index
    (1, 0)
    """

    @staticmethod
    def create(
        path: _Path,
        *,
        params: str = ...,
        payload_bytes: int = 612,
        sealing: _Sealing = "hpke-x25519",
        clues: _Clues = "bound",
    ) -> Board:
        """Creates an empty board in a folder and opens it for writing."""
    @staticmethod
    def open(path: _Path, *, writable: bool = False, timeout: float = 0.0) -> Board:
        """Opens a board; waits up to `timeout` seconds while another process has it open."""
    @property
    def path(self) -> Path:
        """The folder of the board."""
    @property
    def board_id(self) -> bytes:
        """The 16 random bytes that name the board."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def sealing(self) -> str:
        """The way in which payloads are sealed: `none`, `hpke-x25519` or `x-wing`."""
    @property
    def clues(self) -> str:
        """The kind of clues: `bound` or `plain`."""
    @property
    def payload_bytes(self) -> int:
        """The size of each payload in bytes."""
    @property
    def writable(self) -> bool:
        """Whether the board is open for writing."""
    @property
    def closed(self) -> bool:
        """Whether the board was closed."""
    @property
    def first(self) -> int:
        """The index of the first message that has not expired."""
    def post(self, to: _File, data: Buffer, *, name: str | None = None) -> range:
        """Seals a letter to an address and appends its messages. Returns their indices."""
    def post_many(
        self, letters: Iterable[_Letter], *, progress: _Progress | None = None, threads: int | None = None
    ) -> list[range]:
        """Posts letters, each an address, a content and perhaps a name. Returns the indices of each letter's messages.

        They are sealed on all threads and appended in batches of about a thousand. Letters that were appended before an
        error stay.
        """
    def append(self, messages: Iterable[Message]) -> range:
        """Appends messages that were made elsewhere, all or none. Returns their indices."""
    def expire(self, before: int) -> range:
        """Removes the messages before an index for good. Returns the indices of the removed messages. Indices never
        change.
        """
    def close(self) -> None:
        """Closes the board; a digest that is being made of it is completed first."""
    def __len__(self) -> int:
        """The number of messages, including expired ones."""
    @overload
    def __getitem__(self, at: int, /) -> Message: ...
    @overload
    def __getitem__(self, at: slice, /) -> list[Message]: ...
    def __iter__(self) -> Messages: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the messages for any data frame, such as `polars.DataFrame(board)`: the columns `index`, `clue` and
        `payload`. They are read as they are taken, and the board stays open until then.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Words:
    """24 words of BIP-39, English list, from which a recipient's keys are made: the same ones with every later version.

    Who has the words has the secret. Keep them on paper. They are wiped when the object is deleted, and no `repr` shows
    them.

    >>> words = omr.Words.generate()
    >>> paper = " ".join(words.each())
    >>> omr.Words.parse(paper).each() == words.each()
    True
    """

    @staticmethod
    def generate() -> Words:
        """Returns new words."""
    @staticmethod
    def parse(text: str) -> Words:
        """Reads words. Case, blanks, line ends and numbers between them do not matter. Words that make no keys raise
        `WordsError`, which repeats none of them.
        """
    def each(self) -> list[str]:
        """Returns the words in their order, to be shown to their owner."""

@final
class Identity:
    """A recipient: a secret, an address for senders, and detection keys for detectors.

    The secrets are wiped when the object is deleted, and no `repr` shows them.

    >>> bob = omr.Identity.generate("insecure-tiny-v4")
    >>> bob.save("bob", passphrase="correct horse battery")
    >>> omr.Identity.load("bob", passphrase="correct horse battery").address == bob.address
    True
    """

    @staticmethod
    def generate(params: str = ..., *, clues: _Clues = "bound") -> Identity:
        """Returns a new recipient. `clues` is the kind of clues that the address accepts."""
    @staticmethod
    def from_words(words: Words, params: str = ..., *, clues: _Clues = "bound") -> Identity:
        """Returns the recipient of words, as `omr keygen --from-words`: the same secret, address and detection keys
        whenever and wherever. Other sets and kinds of clues have independent ones.
        """
    @staticmethod
    def from_bytes(secret: _File, *, address: _File | None = None, passphrase: str | None = None) -> Identity:
        """Returns the recipient of a secret key's file. An address for plain clues cannot be derived from it."""
    @staticmethod
    def load(folder: _Path, *, passphrase: str | None = None) -> Identity:
        """Returns the recipient of the files `secret.key` and `clue.key` in a folder, as `omr keygen` writes them, with
        `periods.key`, if that is there, as in the home folder of an `Inbox`.
        """
    def save(
        self, folder: _Path, *, passphrase: str | None = None, plain: bool = False, overwrite: bool = False
    ) -> None:
        """Writes the files `secret.key`, for the owner alone, and `clue.key` into a folder, with `periods.key` for keys of
        words and where `load` found it. The secret is under the passphrase; `plain=True` in its place writes the secret
        without one.
        """
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def clues(self) -> str:
        """The kind of clues that the address accepts: `bound` or `plain`."""
    @property
    def address(self) -> bytes:
        """The bytes of `clue.key`, the address for senders."""
    def secret_bytes(self, *, passphrase: str | None = None) -> bytes:
        """Returns the bytes of `secret.key`, under a passphrase if one is given. Python may copy these bytes in memory.
        """
    def detection_key(
        self, engine: _Engine | None = None, *, board: Board | None = None, progress: _Progress | None = None
    ) -> bytes:
        """Returns a detection key's file, for the set's first engine unless `engine` is given.

        With `board` it shares its masks with the keys that others make for this board in the same weeks, so that a
        detector serves them together.
        """
    def save_detection_key(
        self,
        path: _Path,
        engine: _Engine | None = None,
        *,
        board: Board | None = None,
        overwrite: bool = False,
        progress: _Progress | None = None,
    ) -> None:
        """Writes a detection key's file piece by piece, for the owner alone."""
    def ask(self, scan: Scan, *earlier: FetchQuery) -> FetchQuery:
        """Encrypts a query for 56 messages of a scan, without those for which earlier queries ask.

        Ask after each scan, also if it has no message of the recipient: a detector sees whether a query comes, and
        nothing else. A scan that `has_payloads` needs none, and is refused.
        """
    def decode(
        self, *files: Digest | Scan | FetchQuery | FetchAnswer, sealing: _Sealing | None = None
    ) -> Decoded:
        """Returns the letters in files of one board. Pass all files with parts of a letter in one call, and each answer
        with its scan and its query. Letters to keys of periods open where `load` found `periods.key`.

        `sealing` is the expected sealing; without it, a board that does not seal causes an `UnsealedWarning`.
        """
    def retrieve(self, *files: Digest | Scan | FetchQuery | FetchAnswer) -> list[Retrieved]:
        """Returns the recipient's messages in files, unopened.

        They include messages that were made to test how the recipient reacts: do not reveal whether there are any.
        """

@final
class Retrieved:
    """A message, unopened; without a payload where the file has indices alone.

    >>> [(one.index, len(one.payload)) for one in alice.retrieve(digest)]
    [(0, 612), (1, 612)]
    """

    def __new__(cls, index: int, payload: bytes | None) -> Self: ...
    @property
    def index(self) -> int:
        """The index of the message on its board."""
    @property
    def payload(self) -> bytes | None:
        """The payload, sealed; None where the file has indices alone."""

@final
class Letter:
    """A letter: the index of its first message, its name if it has one, and its content.

    >>> letter = alice.decode(digest)[0]
    >>> letter.name, letter.data
    ('a.txt', b'hello')
    """

    def __new__(cls, index: int, name: str | None, data: bytes) -> Self: ...
    @property
    def index(self) -> int:
        """The index of the letter's first message."""
    @property
    def name(self) -> str | None:
        """The name that the sender gave the letter, if there is one."""
    @property
    def data(self) -> bytes:
        """The content, which `bytes(letter)` returns, too."""
    def __bytes__(self) -> bytes: ...

@final
class Incomplete:
    """A letter with missing parts.

    >>> [f"{one.have} of {one.total} parts" for one in alice.decode(digest).incomplete]
    []
    """

    def __new__(cls, indices: list[int], have: int, total: int) -> Self: ...
    @property
    def indices(self) -> list[int]:
        """The indices of the messages that are there."""
    @property
    def have(self) -> int:
        """The number of parts that are there."""
    @property
    def total(self) -> int:
        """The number of parts of the whole letter."""

@final
class LeftOut:
    """A message without a letter, and the reason.

    >>> [f"{one.index}: {one.reason}" for one in alice.decode(digest).left_out]
    []
    """

    def __new__(cls, index: int, reason: str) -> Self: ...
    @property
    def index(self) -> int:
        """The index of the message."""
    @property
    def reason(self) -> str:
        """The reason why there is no letter."""

@final
class Decoded:
    """The letters of files in the order of the board, and the messages without a letter.

    >>> decoded = alice.decode(digest)
    >>> [letter.data for letter in decoded], decoded.indices
    ([b'hello', b'again'], [0, 1])
    """

    def __new__(
        cls,
        letters: list[Letter],
        incomplete: list[Incomplete],
        left_out: list[LeftOut],
        indices: list[int],
    ) -> Self: ...
    @property
    def letters(self) -> list[Letter]:
        """The letters in the order of the board, as the object itself has them."""
    @property
    def incomplete(self) -> list[Incomplete]:
        """The letters with missing parts."""
    @property
    def left_out(self) -> list[LeftOut]:
        """The messages without a letter."""
    @property
    def indices(self) -> list[int]:
        """The indices of all messages of the recipient; a digest of indices, or a scan without an answer, has nothing
        else.
        """
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int, /) -> Letter: ...
    @overload
    def __getitem__(self, at: slice, /) -> list[Letter]: ...
    def __iter__(self) -> Iterator[Letter]: ...

@final
class Detector:
    """Detection keys of one recipient in memory. A detector learns neither which messages are the recipient's nor their
    number.

    A key is given as bytes or by its path; several, one for each engine, are given as a list and must be of the same
    recipient. `threads` is the number of its own threads, in place of all cores.

    >>> detector = omr.Detector(alice.detection_key(), threads=1)
    >>> detector.digest(board, bound=10).range
    range(0, 2)
    """

    def __new__(
        cls,
        keys: _File | list[_File] | tuple[_File, ...],
        *,
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> Self: ...
    @property
    def params(self) -> str:
        """The name of the parameter set of the keys."""
    @property
    def engines(self) -> list[str]:
        """The engines of the keys."""
    def digest(
        self,
        board: Board,
        *,
        bound: int = 50,
        range: _Range | None = None,
        indices_only: bool = False,
        scheme: str | None = None,
        seed: bytes | None = None,
        progress: _Progress | None = None,
    ) -> Digest:
        """Scans a board, or a range of it, for up to `bound` messages of the recipient.

        A digest with the same `seed`, 32 bytes, is the same one. The seed must be random and drawn after the messages
        were posted, which is the default. `progress` is called with a stage's name, the number of completed steps, and
        that of all steps.
        """
    def scan(self, board: Board, *, range: _Range | None = None, progress: _Progress | None = None) -> Scan:
        """Scans a board, or a range of it, with a key for two rounds: the recipient finds all messages."""
    def fetch(self, board: Board, query: FetchQuery, *, progress: _Progress | None = None) -> FetchAnswer:
        """Answers a recipient's query with payloads from the board."""
    def session(
        self,
        board: Board,
        *,
        start: int | None = None,
        bound: int = 50,
        room: int | None = None,
        indices_only: bool = False,
    ) -> Session:
        """Starts a session of InstantOMR. It is faster with `room` for few messages until a digest is cut."""
    def resume(self, session: _File) -> Session:
        """Returns the session in a file."""

@final
class Scan:
    """The first of two rounds: what a recipient needs to find messages. `bytes(scan)` is the scan's file.

    >>> scan = omr.Detector(alice.detection_key("two-rounds")).scan(board)
    >>> scan.has_payloads, [letter.data for letter in alice.decode(scan)]
    (True, [b'hello', b'again'])
    """

    @classmethod
    def from_bytes(cls, scan: _File) -> Scan:
        """Returns the scan in a file."""
    @staticmethod
    def load(path: _Path) -> Scan:
        """Reads the file of a scan."""
    def save(self, path: _Path, *, overwrite: bool = False) -> None:
        """Writes the file of the scan."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def range(self) -> _Range:
        """The indices of the messages that were scanned."""
    @property
    def board_id(self) -> bytes:
        """The id of the board."""
    @property
    def sealing(self) -> str:
        """The way in which the board's payloads are sealed."""
    @property
    def has_payloads(self) -> bool:
        """Whether the scan contains all payloads, as one of up to 512 messages does: there is nothing to be fetched."""
    @property
    def stages(self) -> dict[str, float]:
        """The seconds of each stage, if this process made the scan."""
    @property
    def unusable_clues(self) -> int:
        """The number of clues that cannot be read, as in `Digest`."""
    @property
    def lost(self) -> list[int]:
        """The messages that the board has lost by damage, as in `Digest`."""
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class FetchQuery:
    """An encrypted query for messages of a scan. `bytes(query)` is the file for the detector.

    Repeat a query that was lost with the same bytes. It shows neither which messages are wanted nor how many.

    >>> query = alice.ask(scan)
    >>> query.save("query")
    >>> omr.FetchQuery.load("query") == query
    True
    """

    @classmethod
    def from_bytes(cls, query: _File) -> FetchQuery:
        """Returns the query in a file."""
    @staticmethod
    def load(path: _Path) -> FetchQuery:
        """Reads the file of a query."""
    def save(self, path: _Path, *, overwrite: bool = False) -> None:
        """Writes the file of the query."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def range(self) -> _Range:
        """The indices of the messages of the scan."""
    @property
    def indices(self) -> list[int] | None:
        """The messages for which it asks; None for a query from a file."""
    @property
    def left(self) -> int | None:
        """The number of the recipient's messages that are left for further queries; None for a query from a file."""
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class FetchAnswer:
    """A detector's answer to a query. `bytes(answer)` is the answer's file.

    >>> answer = rounds.fetch(board, alice.ask(scan))
    >>> omr.FetchAnswer.from_bytes(bytes(answer)) == answer
    True
    """

    @classmethod
    def from_bytes(cls, answer: _File) -> FetchAnswer:
        """Returns the answer in a file."""
    @staticmethod
    def load(path: _Path) -> FetchAnswer:
        """Reads the file of an answer."""
    def save(self, path: _Path, *, overwrite: bool = False) -> None:
        """Writes the file of the answer."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def stages(self) -> dict[str, float]:
        """The seconds of each stage, if this process made the answer."""
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Session:
    """A recipient's sums, which grow as messages come. `bytes(session)` is the session's file.

    >>> session = omr.Detector(hybrid.detection_key("instantomr")).session(board, bound=8)
    >>> session.extend(board)
    range(0, 2)
    >>> [letter.data for letter in hybrid.decode(session.digest())]
    [b'hello', b'again']
    """

    def extend(self, board: Board, *, end: int | None = None, progress: _Progress | None = None) -> range:
        """Processes the messages of the board up to `end`, or all messages. Returns the indices of the processed ones.

        Messages that were processed before an error or Ctrl-C stay processed. A board that was restored from an older
        copy causes an `OtherHistoryError`, and no message is processed.
        """
    def digest(self) -> Digest:
        """Returns a digest of all messages since the last cut, in milliseconds."""
    def cut(self, number: int) -> Digest:
        """Ends the digest of this number, counted from 0, and returns it; the last one may be requested again."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def next(self) -> int:
        """The index of the next message to process."""
    @property
    def log_hash(self) -> bytes | None:
        """The running hash of the board's log at `next`: boards with equal hashes have the same messages."""
    @property
    def cuts(self) -> int:
        """The number of digests that were cut."""
    def __bytes__(self) -> bytes: ...

@final
class Digest:
    """The result of a detector. `bytes(digest)` is the digest's file.

    >>> digest.save("digest")
    >>> omr.Digest.load("digest") == digest
    True
    """

    @classmethod
    def from_bytes(cls, digest: _File) -> Digest:
        """Returns the digest in a file."""
    @staticmethod
    def load(path: _Path) -> Digest:
        """Reads the file of a digest."""
    def save(self, path: _Path, *, overwrite: bool = False) -> None:
        """Writes the file of the digest."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def scheme(self) -> str:
        """The name of the scheme that made the digest."""
    @property
    def range(self) -> _Range:
        """The indices of the messages that were examined."""
    @property
    def bound(self) -> int:
        """The largest number of the recipient's messages for which the digest has room."""
    @property
    def payload_bytes(self) -> int | None:
        """The size of each payload in bytes; None for a digest of indices."""
    @property
    def board_id(self) -> bytes:
        """The id of the board."""
    @property
    def sealing(self) -> str:
        """The way in which the board's payloads are sealed."""
    @property
    def seed(self) -> bytes:
        """The random bytes that placed the messages in the digest."""
    @property
    def stages(self) -> dict[str, float]:
        """The seconds of each stage, if this process made the digest."""
    @property
    def unusable_clues(self) -> int:
        """The number of clues that cannot be read, without those of `lost` messages, if this process made the digest.
        """
    @property
    def lost(self) -> list[int]:
        """The messages that the board has lost by damage, if this process made the digest: no digest can contain them.
        """
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class BoardInfo:
    """A server's description of its board.

    >>> omr.Client(url).board().params
    'insecure-tiny-v4'
    """

    def __new__(
        cls,
        board_id: bytes,
        params: str,
        sealing: str,
        clue_bytes: int,
        payload_bytes: int,
        messages: int,
        first: int,
    ) -> Self: ...
    @property
    def board_id(self) -> bytes:
        """The 16 random bytes that name the board."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def sealing(self) -> str:
        """The way in which payloads are sealed."""
    @property
    def clue_bytes(self) -> int:
        """The size of each clue in bytes."""
    @property
    def payload_bytes(self) -> int:
        """The size of each payload in bytes."""
    @property
    def messages(self) -> int:
        """The number of messages on the board, including expired ones: the index of the next message."""
    @property
    def first(self) -> int:
        """The index of the first message that has not expired."""

@final
class Client:
    """A connection to a server, made with the first call and again whenever it breaks. It is a context manager. Calls
    wait for their answers.

    Calls are repeated where the network fails, for a bounded time; none takes effect twice. `ca` is the file of the
    certificate that signed the server's. `proxy` is a SOCKS5 proxy, `socks5h://host:port`, which also resolves the
    server's name: no connection is made beside it.

    >>> with omr.Client(url) as client:
    ...     indices = client.post(alice.address, b"hello")
    >>> len(indices)
    1
    """

    def __new__(
        cls, url: str, token: str | None = None, *, ca: _Path | None = None, proxy: str | None = None
    ) -> Self: ...
    def board(self) -> BoardInfo:
        """Returns the board's description, with its present length."""
    def post(self, to: _File, data: Buffer, *, name: str | None = None) -> list[int]:
        """Seals a letter to an address and posts its messages. Returns their indices."""
    def register(self, path: _Path, *, progress: _Progress | None = None) -> bytes:
        """Uploads a detection key's file and registers it under the token. Returns the key's hash, by which other calls
        name it.
        """
    def revoke(self, key: bytes) -> None:
        """Revokes the registration of the key with this hash."""
    def digest(
        self,
        *keys: bytes,
        bound: int = 50,
        range: _Range | None = None,
        indices_only: bool = False,
        scheme: str | None = None,
        progress: _Progress | None = None,
    ) -> Digest:
        """Requests a digest with registered keys, given by their hashes, waits for it and downloads it.

        The requested ranges and their times must not depend on the content of digests: the server sees them.
        """
    def scan(self, key: bytes, *, range: _Range | None = None, progress: _Progress | None = None) -> Scan:
        """Requests a scan with a registered key for two rounds, given by its hash."""
    def fetch(self, key: bytes, query: FetchQuery, *, progress: _Progress | None = None) -> FetchAnswer:
        """Sends a query for messages of a scan, and downloads its answer."""
    @property
    def closed(self) -> bool:
        """Whether the client was closed."""
    def close(self) -> None:
        """Ends the connection. Calls that wait for an answer get it first; later ones raise `ServerError`."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class InboxLetter:
    """A letter of an inbox; `retired` is the name of the address to which it was written, if that was replaced since.

    >>> (index,) = inbox.send(inbox.address, b"to myself", subject="Dinner", signed=True)
    >>> [(letter.subject, letter.data) for letter in inbox.take()]
    [('Dinner', b'to myself')]
    """

    def __new__(
        cls,
        number: int,
        index: int,
        name: str | None,
        data: bytes,
        fetched: int,
        read: bool,
        retired: str | None,
        sender: str | None,
        forged: bool,
        thread: str | None,
        subject: str | None,
        media_type: str | None,
        time: int | None,
    ) -> Self: ...
    @property
    def number(self) -> int:
        """The number of the letter in the inbox, as in `omr inbox read`."""
    @property
    def index(self) -> int:
        """The index of the letter's first message on the board."""
    @property
    def name(self) -> str | None:
        """The name that the sender gave the letter, if there is one."""
    @property
    def data(self) -> bytes:
        """The content, which `bytes(letter)` returns, too."""
    @property
    def fetched(self) -> int:
        """The time when it was taken in, in seconds since 1970."""
    @property
    def read(self) -> bool:
        """Whether the letter was marked as read when it was listed."""
    @property
    def retired(self) -> str | None:
        """The name of the address to which the letter was written, if that address was replaced since."""
    @property
    def sender(self) -> str | None:
        """The short address of the sender, if the letter names one and the signature matches."""
    @property
    def forged(self) -> bool:
        """Whether the letter names a sender whose signature does not match."""
    @property
    def thread(self) -> str | None:
        """The conversation, 32 hexadecimal digits that its letters have in common."""
    @property
    def subject(self) -> str | None:
        """The subject, if the letter has one."""
    @property
    def media_type(self) -> str | None:
        """The media type of the content, such as `text/plain`, if the letter names one."""
    @property
    def time(self) -> int | None:
        """The time in seconds since 1970, by the sender's clock."""
    def __bytes__(self) -> bytes: ...

@final
class Kept:
    """A range of the board with missing messages: its digest overflowed or was damaged.

    >>> [f"{kept.start} to {kept.end}: {kept.reason}" for kept in inbox.kept()]
    []
    """

    def __new__(
        cls,
        start: int,
        end: int,
        bound: int,
        count: int | None,
        exact: bool,
        reason: str,
        asked_again: bool,
        read: int,
        fetches_left: int,
        fetches_expected: int,
        expired: bool,
    ) -> Self: ...
    @property
    def start(self) -> int:
        """The first message of the range."""
    @property
    def end(self) -> int:
        """The message after the last one."""
    @property
    def bound(self) -> int:
        """The bound of the digest."""
    @property
    def count(self) -> int | None:
        """The number of the recipient's messages in it, where that is known; a lower bound unless `exact` is true."""
    @property
    def exact(self) -> bool:
        """Whether `count` is the exact number."""
    @property
    def reason(self) -> str:
        """The reason why messages are missing."""
    @property
    def asked_again(self) -> bool:
        """Whether the next fetch requests it again."""
    @property
    def read(self) -> int:
        """The number of its messages that later digests contained."""
    @property
    def fetches_left(self) -> int:
        """The number of further fetches that cover it by themselves."""
    @property
    def fetches_expected(self) -> int:
        """The number of these fetches after which it is expected to be complete, unless many other letters arrive
        meanwhile.
        """
    @property
    def expired(self) -> bool:
        """Whether the board's messages of the range have expired, so that nothing can bring them."""

@final
class Canary:
    """A letter to oneself; its absence shows that a detector leaves letters out.

    >>> inbox.post_canary()
    >>> [canary.state for canary in inbox.canaries()]
    ['posted']
    """

    def __new__(
        cls,
        made: int,
        index: int | None,
        state: Literal["posting", "posted", "returned", "missing", "gone"],
        missing_from: tuple[int, int] | None,
    ) -> Self: ...
    @property
    def made(self) -> int:
        """The time when it was made, in seconds since 1970."""
    @property
    def index(self) -> int | None:
        """The index of the canary on the board, once it is known."""
    @property
    def state(self) -> Literal["posting", "posted", "returned", "missing", "gone"]:
        """The state of the canary: whether it is on the board, and whether a fetch brought it back."""
    @property
    def missing_from(self) -> tuple[int, int] | None:
        """Start and end of the messages whose digest lacks it."""

@final
class Taken:
    """The result of a fetch: a sequence of new letters, with the ranges and messages that brought none.

    >>> taken = inbox.take()
    >>> len(taken), taken.kept
    (0, [])
    """

    def __new__(cls, letters: list[InboxLetter], kept: list[Kept], unopened: int) -> Self: ...
    @property
    def letters(self) -> list[InboxLetter]:
        """The new letters, as the object itself has them."""
    @property
    def kept(self) -> list[Kept]:
        """The ranges with missing messages."""
    @property
    def unopened(self) -> int:
        """The number of messages that could not be opened."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int, /) -> InboxLetter: ...
    @overload
    def __getitem__(self, at: slice, /) -> list[InboxLetter]: ...
    def __iter__(self) -> Iterator[InboxLetter]: ...

@final
class Waiting:
    """Messages that were found and whose payloads later fetches bring.

    >>> inbox.waiting().messages
    0
    """

    def __new__(cls, messages: int, syncs: int) -> Self: ...
    @property
    def messages(self) -> int:
        """The number of these messages."""
    @property
    def syncs(self) -> int:
        """The number of fetches that bring them, unless others are found before them."""

@final
class Watch:
    """Letters as they arrive: an iterator and a context manager. It waits for the next letter; Ctrl-C ends it.

    >>> with inbox.watch(every=0.1, count=1) as watch:
    ...     [letter.data for letter in watch]
    []
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> InboxLetter: ...
    def close(self) -> None:
        """Ends the schedule; letters that arrived and were not returned are in the inbox."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Inbox:
    """A recipient at a server, in the home folder of `omr id`, with the received letters. It is a context manager.

    What a server sees, and when, does not depend on what was found. Warnings go to the logger `omr`. With `proxy`, as
    `Client` takes it, all connections of this object are made through it, each under a name of its own. It is not
    stored.

    >>> with omr.Inbox.create("ann", url) as ann:
    ...     (index,) = ann.send(ann.address, b"to myself")
    ...     [letter.data for letter in ann.take()]
    [b'to myself']
    """

    @staticmethod
    def create(
        home: _Path,
        url: str,
        token: str | None = None,
        *,
        ca: _Path | None = None,
        proxy: str | None = None,
        params: str | None = None,
        scheme: str | None = None,
        bound: int = 50,
        clues: _Clues = "bound",
        sealing: _Sealing | None = None,
        spares: int = ...,
        batches: bool = False,
        own_masks: bool = False,
        words: Words | None = None,
        birthday: int | None = None,
        passphrase: str | None = None,
        progress: _Progress | None = None,
    ) -> Inbox:
        """Makes an identity for a server's board and registers its detection keys, as `omr id new`.

        With `words` its keys are made from them; the address is the same as before if `clues`, `scheme`, `bound`,
        `spares` and the board's sealing are. `birthday` is the index of the first message that can be for these keys,
        or for keys that are in the home: the first fetch begins there, or without it with the board's first message.

        `scheme` is that of two rounds where the server serves them, unless it is given or `batches` is true.
        With `batches` only whole batches are fetched, which the server computes as soon as they are full.
        """
    @staticmethod
    def register(
        home: _Path,
        url: str | None = None,
        token: str | None = None,
        *,
        ca: _Path | None = None,
        proxy: str | None = None,
        passphrase: str | None = None,
        progress: _Progress | None = None,
    ) -> Inbox:
        """Continues an interrupted registration, as `omr id register`."""
    @staticmethod
    def open(
        home: _Path, *, token: str | None = None, proxy: str | None = None, passphrase: str | None = None
    ) -> Inbox:
        """Opens the inbox of an identity.

        If another program fetches into it, letters can still be listed, read and sent; `take`, `watch`, and the methods
        that change requests (`raise_bound`, `retry_damaged`, `again`, `drop`) raise `InboxBusyError`.
        """
    @property
    def home(self) -> Path:
        """The home folder of the identity."""
    @property
    def address(self) -> str:
        """The address for senders, as text that can be sent by mail."""
    def publish(self) -> str:
        """Publishes the address at the server and returns its short form, `omr1..`, which is easily passed on.

        The server then sends the address to everybody who has the short form, and knows whose address it is. Fetches keep
        it published.
        """
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def bound(self) -> int:
        """The number of messages for which a digest has room."""
    @property
    def birthday(self) -> int:
        """The index of the first message of the board that can be for the identity: the board's length when the keys
        were made, or what was given.
        """
    @property
    def closed(self) -> bool:
        """Whether the inbox was closed."""
    def take(self, *, progress: _Progress | None = None) -> Taken:
        """Fetches all messages since the last fetch and decodes them. Letters that arrived before an error are in
        `letters()`.
        """
    def watch(
        self,
        every: float = 60.0,
        *,
        count: int | None = None,
        session: bool = False,
        canaries: float | None = None,
    ) -> Watch:
        """Fetches at whole multiples of `every` seconds, at most `count` times, and returns letters as they arrive.

        A thread keeps the times, however long the letters take. With `session` the server processes messages as they
        come (InstantOMR). `canaries` is the average number of canaries a day, posted at random times.
        """
    def letters(self, *, all: bool = False) -> list[InboxLetter]:
        """Returns the letters in the inbox, in the order of the board: the unread ones, or all."""
    def mark_read(self, *letters: InboxLetter) -> None:
        """Marks letters as read, so that `letters` lists them no more."""
    def conversations(self) -> list[list[InboxLetter]]:
        """Returns all letters by conversation, in the order of their first ones. A letter of no conversation is one by
        itself.
        """
    def delete(self, *letters: InboxLetter) -> None:
        """Removes letters. Later fetches do not bring them back."""
    def mute(self, sender: str) -> None:
        """Has all letters of a sender, a contact or a short address, count as read, also those to come."""
    def unmute(self, sender: str) -> bool:
        """Ends the muting of a sender. Returns whether the sender was muted."""
    def muted(self) -> list[str]:
        """Returns the short addresses of muted senders, without their servers."""
    def kept(self) -> list[Kept]:
        """Returns the ranges with missing messages. `fetches_left` further fetches cover them by themselves."""
    def waiting(self) -> Waiting:
        """Returns how many messages were found that did not come yet."""
    def raise_bound(self, bound: int) -> int:
        """Has the next fetch request all overflowed ranges again, with a larger bound. Returns their number.

        The detector learns that the old bound was too small.
        """
    def retry_damaged(self) -> int:
        """Has the next fetch request all ranges again whose digests did not decode, which the detector learns."""
    def again(self, start: int, end: int, *, bound: int | None = None, by: int | None = None) -> int:
        """Has the next fetch request messages again, `by` in a request, whatever is known of them. Returns the number
        of requests.

        The detector learns that somebody wants these messages once more.
        """
    def drop(self, start: int, end: int) -> tuple[int, int]:
        """Forgets kept ranges, and requests that were not answered, within these messages. Returns the number of each.
        """
    def post_canary(self) -> None:
        """Posts a letter to oneself, without the token if the server accepts posts without one."""
    def canaries(self) -> list[Canary]:
        """Returns the states of these letters, oldest first."""
    @property
    def contacts(self) -> dict[str, str]:
        """The addresses of contacts, by name."""
    def add_contact(self, name: str, address: str | Buffer) -> None:
        """Keeps an address, a short address or a `clue.key` under a name."""
    def remove_contact(self, name: str) -> None:
        """Removes a name and its address."""
    def send(
        self,
        to: str | Buffer,
        data: Buffer,
        *,
        name: str | None = None,
        sealing: _Sealing | None = None,
        large: bool = False,
        signed: bool = False,
        subject: str | None = None,
        media_type: str | None = None,
    ) -> list[int]:
        """Sends a letter to a contact, an address or a short address, at the recipient's server. Returns the messages'
        indices.

        With `signed` the letter names this recipient as its sender, with the time, and begins a conversation.
        """
    def reply(
        self,
        letter: InboxLetter,
        data: Buffer,
        *,
        name: str | None = None,
        sealing: _Sealing | None = None,
        large: bool = False,
        subject: str | None = None,
        media_type: str | None = None,
    ) -> list[int]:
        """Answers a letter: to its sender, in its conversation, with its subject, signed. Returns the messages' indices.

        A sender who is no contact is looked up by the short address, once.
        """
    def close(self) -> None:
        """Closes the inbox and ends its watches."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Schema:
    """The public part of a table, which is all that queries need. `bytes(schema)` is the file of `omr pdq schema`.

    >>> schema = pdq.Schema.from_bytes(bytes(table.schema))
    >>> schema.name, schema.columns
    ('cities', {'city': 'text(4)', 'people': 'integer'})
    """

    @classmethod
    def from_bytes(cls, schema: _File) -> Schema:
        """Returns the schema in a file."""
    @property
    def name(self) -> str:
        """The name of the table."""
    @property
    def columns(self) -> dict[str, str]:
        """The type of each column, as `types` declares it."""
    def __len__(self) -> int:
        """The number of rows of the table."""
    def __bytes__(self) -> bytes: ...

@final
class Table:
    """A table for private queries, in the clear or encrypted; the file of `omr pdq import`.

    Types are inferred unless `types` declares them, such as `{"fare": "decimal(2)"}`. Nothing is rounded or cut without
    a declared type or `truncate`. Content that may be a mistake, such as one `NA` that turns a column of numbers into
    text, is reported as a `UserWarning`.

    >>> with open("cities.csv", "w") as file:
    ...     length = file.write("city,people\\nBern,137000\\nZug,31000\\n")
    >>> table = pdq.Table.from_csv("cities.csv")
    >>> len(table)
    2
    """

    @staticmethod
    def from_csv(
        path: _Path,
        *,
        name: str | None = None,
        columns: list[str] | None = None,
        types: dict[str, str] | None = None,
        truncate: bool = False,
        delimiter: str | None = None,
        progress: _Progress | None = None,
    ) -> Table:
        """Returns a table from a file of comma-separated values, or with another `delimiter`."""
    @staticmethod
    def from_arrow(
        data: _Stream | _Array,
        name: str,
        *,
        columns: list[str] | None = None,
        types: dict[str, str] | None = None,
        truncate: bool = False,
        progress: _Progress | None = None,
    ) -> Table:
        """Returns a table from a data frame, or any object with `__arrow_c_stream__` or `__arrow_c_array__`."""
    @staticmethod
    def load(path: _Path) -> Table:
        """Reads the file of a table of either kind."""
    def save(self, path: _Path, *, overwrite: bool = False) -> None:
        """Writes the file of the table."""
    @property
    def schema(self) -> Schema:
        """The public part of the table."""
    @property
    def encrypted(self) -> bool:
        """Whether the table is encrypted, so that its server cannot read it."""
    def __len__(self) -> int: ...
    def answer(
        self, query: Buffer, key: EvaluationKey, *, threads: int | None = None, progress: _Progress | None = None
    ) -> bytes:
        """Answers a query's file. This reveals neither the constants of the query nor the rows that match."""

@final
class Keys:
    """The secret of a person who makes queries. It is wiped when the object is deleted.

    >>> keys = pdq.Keys.generate("insecure-tiny-pdq-v1")
    >>> query = keys.query(table.schema, "SELECT city FROM cities WHERE people > 100000")
    >>> query.rows(table.answer(bytes(query), keys.evaluation_key())).to_json()
    '[{"row":0,"city":"Bern"}]'
    """

    @staticmethod
    def generate(params: str = ...) -> Keys:
        """Returns new keys of a parameter set."""
    @staticmethod
    def load(folder: _Path, *, passphrase: str | None = None) -> Keys:
        """Returns the secret of the file `pdq-secret.key` in a folder, as `omr pdq keygen` writes it."""
    def save(
        self, folder: _Path, *, passphrase: str | None = None, plain: bool = False, overwrite: bool = False
    ) -> None:
        """Writes `pdq-secret.key`, for the owner alone, and `pdq-evaluation.key` into a folder. `passphrase` and
        `plain` are those of `omr.Identity.save`.
        """
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    def evaluation_key(self) -> EvaluationKey:
        """Returns the key for a table's owner, another one at each call."""
    def query(self, schema: Schema, sql: str, *, bound: int | None = None) -> Query:
        """Encrypts a question. If more rows match than `bound`, or the `LIMIT`, or 16, only their number can be
        decoded.
        """
    def encrypt_table(
        self,
        table: Table,
        *,
        prefixes: list[int] = ...,
        depth: int | None = None,
        progress: _Progress | None = None,
    ) -> Table:
        """Encrypts a table, so that the server that answers cannot read it; `prefixes` are the lengths that `LIKE` may
        use.
        """

@final
class EvaluationKey:
    """The key with which a table's owner answers queries; it contains no secret. `bytes(key)` is the key's file.

    >>> key = keys.evaluation_key()
    >>> pdq.EvaluationKey.from_bytes(bytes(key)).params
    'insecure-tiny-pdq-v1'
    """

    @classmethod
    def from_bytes(cls, key: _File) -> EvaluationKey:
        """Returns the key in a file."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    def __bytes__(self) -> bytes: ...

@final
class Query:
    """An encrypted question. `bytes(query)` is the file for the table's owner.

    >>> keys.query(table.schema, "SELECT city FROM cities WHERE people > 100000").shape
    'SELECT city FROM cities WHERE people >= ?'
    """

    @staticmethod
    def from_bytes(keys: Keys, schema: Schema, query: _File) -> Query:
        """Returns a query whose file was kept, to decode its answer."""
    @property
    def shape(self) -> str:
        """The part of the query that the table's owner sees."""
    @property
    def bound(self) -> int:
        """The largest number of rows for which an answer has room."""
    @property
    def seconds(self) -> float:
        """The estimated seconds in which one thread of this machine would answer."""
    @property
    def memory_bytes(self) -> int:
        """The bytes of memory that answering takes, beside table and key."""
    @property
    def answer_bytes(self) -> int:
        """The size of an answer in bytes, without its header."""
    def rows(self, answer: _File) -> Rows:
        """Decodes the file of an answer."""
    def __bytes__(self) -> bytes: ...

@final
class Rows:
    """Rows of an answer, for any data frame: `polars.DataFrame(rows)`, `pyarrow.table(rows)`.

    >>> query = keys.query(table.schema, "SELECT city FROM cities WHERE people < 100000")
    >>> query.rows(table.answer(bytes(query), keys.evaluation_key())).to_csv().split()
    ['row,city', '1,Zug']
    """

    @property
    def numbers(self) -> list[int] | None:
        """The numbers of the rows in the table, counted from 0; None where the owner keeps them secret."""
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    def to_csv(self) -> str:
        """Returns the rows as comma-separated values under their names."""
    def to_json(self) -> str:
        """Returns the rows as a list in JSON."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Server:
    """A connection to a server of tables (`omr pdq serve`). `proxy` is as in `omr.Client`.

    >>> server = pdq.Server(tables)
    >>> server.tables()
    ['cities']
    >>> server.ask(keys, keys.query(server.schema("cities"), "SELECT city FROM cities WHERE people > 100000")).columns
    ['city']
    """

    def __new__(
        cls, url: str, token: str | None = None, *, ca: _Path | None = None, proxy: str | None = None
    ) -> Self: ...
    def tables(self) -> list[str]:
        """Returns the names of the tables."""
    def schema(self, table: str) -> Schema:
        """Returns the public part of a table."""
    def register(self, path: _Path) -> bytes:
        """Uploads an evaluation key's file, unless the server has it. Returns the key's hash, which links all queries
        with it.
        """
    def ask(self, keys: Keys, query: Query, *, key: bytes | None = None, progress: _Progress | None = None) -> Rows:
        """Requests the rows of a query. Without the hash of a registered key a new key is made and uploaded."""

@final
class Unit:
    """Digests, scans or answers about the same messages that one run makes; it may be pickled."""

    def __new__(cls, params: str, unit: Buffer, first: int) -> Self: ...
    @property
    def id(self) -> bytes:
        """The random bytes that name the unit."""
    @property
    def params(self) -> str:
        """The name of the parameter set."""
    @property
    def history_id(self) -> bytes:
        """The bytes that name the board and its history."""
    @property
    def indices_only(self) -> bool:
        """Whether the digests are of indices alone."""
    @property
    def range(self) -> _Range:
        """The messages that are read, from the first to the last; for a fetch from the beginning of a page."""
    @property
    def batches(self) -> list[_Range]:
        """The messages of each batch; None where the unit must be done as a whole."""
    @property
    def lease_seconds(self) -> float:
        """The seconds for which the unit is leased, unless it is renewed."""
    @property
    def jobs(self) -> list[list[tuple[bytes, str, int]]]:
        """The keys of each job: hash, engine, bytes."""
    def __reduce__(self) -> tuple[type[Unit], tuple[str, bytes, int]]: ...

@final
class Leases:
    """The calls of a worker of a server, with a token that has the right `work`. `ca` is the certificate of the server's
    authority, as PEM. Passing errors are `UnreachableError`.
    """

    def __new__(cls, url: str, token: str, *, name: str | None = None, ca: bytes | None = None) -> Self: ...
    @property
    def params(self) -> str:
        """The name of the parameter set of the server."""
    @property
    def name(self) -> str:
        """The name of this worker in the server's log."""
    def lease(self, *, wait: int = 20, jobs: int = 0) -> Unit | None:
        """Leases a unit; returns None if there is none within `wait` seconds."""
    def renew(self, unit: Unit) -> list[int] | None:
        """Renews a lease. Returns the positions of the jobs that are still wanted; None if the server does not know the
        unit.
        """
    def complete(self, unit: Unit, job: int, digest: Buffer) -> bool:
        """Uploads the digest of a job. Returns False if it is no longer wanted."""
    def fail(self, unit: Unit, job: int, error: str | None = None) -> None:
        """Returns a job to the server, without a reason, or with an error that counts as a failed attempt."""
    def key(self, hash: bytes, bytes: int) -> _ReadBytes:
        """Downloads the file of a key of a unit that was leased under this name."""
    def messages(self, unit: Unit, range: _Range) -> tuple[bytes, bytes, bytes | None]:
        """Downloads clues, payloads and kept hashes of messages."""

@final
class Maker:
    """Makes digests of units and their parts, one task at a time; keeps keys and messages from one to the next."""

    def __new__(
        cls, params: str, *, threads: int | None = None, keys: int = 8, pieces: int = 2, prepared_bytes: int = ...
    ) -> Self: ...
    @property
    def loading(self) -> float:
        """The seconds that reading keys took so far."""
    def make(
        self,
        unit: Unit,
        keys: dict[bytes, Buffer],
        board: list[tuple[int, int, Buffer, Buffer, Buffer | None]],
        *,
        batches: _Range | None = None,
        jobs: list[int] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> tuple[list[tuple[bytes | None, str | None]], float]:
        """Returns the digests of all jobs of a unit, or the sums of some of its batches, and the seconds that it took.

        Each job has bytes, or the reason why there are none; a stopped job has neither. `board` are pieces of the board
        with the messages: first, end, clues, payloads, hashes. `jobs` are the wanted jobs, by default all; `stopped` is
        called every few hundredths of a second and returns true once none is wanted any more.
        """
    def finish(
        self, unit: Unit, keys: dict[bytes, Buffer], parts: list[list[Buffer]]
    ) -> tuple[list[tuple[bytes | None, str | None]], float]:
        """Returns the digests of all jobs from their sums, in any order."""
