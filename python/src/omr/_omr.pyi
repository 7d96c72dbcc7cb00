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
    "Schema",
    "Server",
    "Session",
    "Table",
    "Taken",
    "Unit",
    "Watch",
    "parameter_sets",
]

_Path: TypeAlias = str | PathLike[str]
_Bytes: TypeAlias = bytes | bytearray
_ReadBytes: TypeAlias = bytes
_File: TypeAlias = _Bytes | _Path
_Clues: TypeAlias = Literal["bound", "plain"]
_Sealing: TypeAlias = Literal["none", "hpke-x25519", "x-wing"]
_Engine: TypeAlias = Literal["sophomr", "instantomr"]
_Progress: TypeAlias = Callable[[str, int, int], object]
_Range: TypeAlias = range
_Letter: TypeAlias = tuple[_Bytes, _Bytes] | tuple[_Bytes, _Bytes, str | None]

class _Stream(Protocol):
    """A table of another library: a data frame of polars, duckdb, pyarrow, pandas and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _Array(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class ParameterSet:
    """What is known of a parameter set."""

    @property
    def name(self) -> str: ...
    @property
    def security_bits(self) -> float: ...
    @property
    def insecure(self) -> bool: ...
    @property
    def engines(self) -> list[str]: ...

def parameter_sets() -> list[ParameterSet]:
    """All published parameter sets."""

@final
class Message:
    """A message as it stands on a board: a clue for the detector, and a payload for its recipient."""

    def __new__(cls, clue: _Bytes, payload: _Bytes, *, index: int | None = None) -> Self: ...
    @property
    def clue(self) -> bytes: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def index(self) -> int | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Messages:
    """The messages of a board one after another."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Message: ...

@final
class Board:
    """A board in a folder, the same that `omr board init` makes. It is a context manager and a sequence of messages.

    Any number of readers may have it open, or one writer.
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
        """Opens a board; waits up to `timeout` seconds while somebody else has it open."""
    @property
    def path(self) -> Path: ...
    @property
    def board_id(self) -> bytes: ...
    @property
    def params(self) -> str: ...
    @property
    def sealing(self) -> str: ...
    @property
    def clues(self) -> str: ...
    @property
    def payload_bytes(self) -> int: ...
    @property
    def writable(self) -> bool: ...
    @property
    def closed(self) -> bool: ...
    @property
    def first(self) -> int:
        """The first message that has not expired."""
    def post(self, to: _File, data: _Bytes, *, name: str | None = None) -> range:
        """Seals a letter to an address and appends its messages; their indices."""
    def post_many(
        self, letters: Iterable[_Letter], *, progress: _Progress | None = None, threads: int | None = None
    ) -> list[range]:
        """Posts letters, each an address, a content and perhaps a name; the indices of each.

        It is sealed on all threads and appended by the thousand. What was appended before an error stays.
        """
    def append(self, messages: Iterable[Message]) -> range:
        """Appends messages that were made elsewhere, all or none; their indices."""
    def expire(self, before: int) -> range:
        """Removes the messages before an index for good; those that went. Indices never change."""
    def close(self) -> None:
        """Closes the board, at the latest when a digest that is being made of it ends."""
    def __len__(self) -> int:
        """The messages, those that have expired among them."""
    @overload
    def __getitem__(self, at: int, /) -> Message: ...
    @overload
    def __getitem__(self, at: slice, /) -> list[Message]: ...
    def __iter__(self) -> Messages: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Identity:
    """A recipient: a secret, an address for those who write to her, and detection keys for detectors.

    The secrets are wiped when the object goes, and no `repr` shows them.
    """

    @staticmethod
    def generate(params: str = ..., *, clues: _Clues = "bound") -> Identity:
        """A new recipient. `clues` says which her address takes."""
    @staticmethod
    def from_bytes(secret: _File, *, address: _File | None = None, passphrase: str | None = None) -> Identity:
        """The recipient of a secret key's file; an address for plain clues does not follow from it."""
    @staticmethod
    def load(folder: _Path, *, passphrase: str | None = None) -> Identity:
        """The recipient of the files `secret.key` and `clue.key` in a folder, as `omr keygen` writes them."""
    def save(self, folder: _Path, *, passphrase: str | None = None, overwrite: bool = False) -> None:
        """Writes the files `secret.key`, for the owner alone, and `clue.key` into a folder."""
    @property
    def params(self) -> str: ...
    @property
    def clues(self) -> str: ...
    @property
    def address(self) -> bytes:
        """The file `clue.key`: what she gives to everybody."""
    def secret_bytes(self, *, passphrase: str | None = None) -> bytes:
        """The file `secret.key`, under a passphrase if there is one. Python keeps no bytes from being copied."""
    def detection_key(
        self, engine: _Engine | None = None, *, board: Board | None = None, progress: _Progress | None = None
    ) -> bytes:
        """A detection key's file, for the set's first engine unless told otherwise.

        With `board` it shares its masks with those that others make for the same board in the same weeks, so that a
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
    def decode(self, *digests: Digest, sealing: _Sealing | None = None) -> Decoded:
        """The letters in digests of one board. Give all digests that hold parts of a letter in one call.

        `sealing` is what the caller expects; without it, a board that does not seal causes an `UnsealedWarning`.
        """
    def retrieve(self, digest: Digest) -> list[Retrieved]:
        """Her messages in a digest as they stand on the board, sealed ones not opened.

        Messages that were made to test how she reacts are among them: show nobody whether there are any.
        """

@final
class Retrieved:
    """A message of a digest as it stands on the board; without a payload where the digest is of indices."""

    @property
    def index(self) -> int: ...
    @property
    def payload(self) -> bytes | None: ...

@final
class Letter:
    """What somebody wrote: the index of its first message, its name if it has one, its content."""

    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str | None: ...
    @property
    def data(self) -> bytes: ...
    def __bytes__(self) -> bytes: ...

@final
class Incomplete:
    """A letter of which the digests hold some parts alone."""

    @property
    def indices(self) -> list[int]: ...
    @property
    def have(self) -> int: ...
    @property
    def total(self) -> int: ...

@final
class LeftOut:
    """A message that gave no letter, and why."""

    @property
    def index(self) -> int: ...
    @property
    def reason(self) -> str: ...

@final
class Decoded:
    """The letters of digests in the order of the board, and what is not one."""

    @property
    def letters(self) -> list[Letter]: ...
    @property
    def incomplete(self) -> list[Incomplete]: ...
    @property
    def left_out(self) -> list[LeftOut]: ...
    @property
    def indices(self) -> list[int]:
        """All messages of the recipient; of digests of indices there is nothing else."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int, /) -> Letter: ...
    @overload
    def __getitem__(self, at: slice, /) -> list[Letter]: ...
    def __iter__(self) -> Iterator[Letter]: ...

@final
class Detector:
    """Detection keys of one recipient, ready to work. It learns neither which messages are hers nor how many.

    Takes a key for each engine, as bytes or by its path. `threads`: those of its own, in place of all cores.
    """

    def __new__(cls, *keys: _File, threads: int | None = None, progress: _Progress | None = None) -> Self: ...
    @property
    def params(self) -> str: ...
    @property
    def engines(self) -> list[str]: ...
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

        `seed`, 32 bytes, makes the digest the same each time; it must be random and drawn after the messages were
        posted, which it is by itself. `progress` is called with a stage's name, the steps done and all of them.
        """
    def session(
        self,
        board: Board,
        *,
        start: int | None = None,
        bound: int = 50,
        room: int | None = None,
        indices_only: bool = False,
    ) -> Session:
        """Begins a session of InstantOMR. With `room` for few messages until it is cut it is faster."""
    def resume(self, session: _File) -> Session:
        """Goes on with a session's file."""

@final
class Session:
    """Sums of a recipient's messages, which grow as messages come. `bytes(session)` is its file."""

    def extend(self, board: Board, *, end: int | None = None, progress: _Progress | None = None) -> range:
        """Takes the messages of the board up to `end`, all that there are unless told otherwise; those taken.

        What was taken before an error or Ctrl-C stays taken. A board that was put back from an older copy is an
        `OtherHistoryError`: nothing is taken of it.
        """
    def digest(self) -> Digest:
        """A digest of all messages since the last cut, in milliseconds."""
    def cut(self, number: int) -> Digest:
        """Cuts off the digest of this number, counted from 0, and begins anew behind it; the last one again."""
    @property
    def params(self) -> str: ...
    @property
    def next(self) -> int:
        """The next message that it waits for."""
    @property
    def log_hash(self) -> bytes | None:
        """The running hash of the board's log at `next`: two boards that have it in common have the same messages."""
    @property
    def cuts(self) -> int: ...
    def __bytes__(self) -> bytes: ...

@final
class Digest:
    """What a detector answers. `bytes(digest)` is its file."""

    @staticmethod
    def from_bytes(digest: _File) -> Digest: ...
    @staticmethod
    def load(path: _Path) -> Digest: ...
    def save(self, path: _Path, *, overwrite: bool = False) -> None: ...
    @property
    def params(self) -> str: ...
    @property
    def scheme(self) -> str: ...
    @property
    def range(self) -> _Range: ...
    @property
    def bound(self) -> int: ...
    @property
    def payload_bytes(self) -> int | None: ...
    @property
    def board_id(self) -> bytes: ...
    @property
    def sealing(self) -> str: ...
    @property
    def seed(self) -> bytes: ...
    @property
    def stages(self) -> dict[str, float]:
        """Seconds by stage, where it was made by this process."""
    @property
    def unusable_clues(self) -> int:
        """Messages whose clues cannot be read, where it was made by this process, without those that are `lost`."""
    @property
    def lost(self) -> list[int]:
        """Messages that are lost by damage of the board, where it was made by this process: no digest brings them."""
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class BoardInfo:
    """What a server says of its board."""

    @property
    def board_id(self) -> bytes: ...
    @property
    def params(self) -> str: ...
    @property
    def sealing(self) -> str: ...
    @property
    def clue_bytes(self) -> int: ...
    @property
    def payload_bytes(self) -> int: ...
    @property
    def messages(self) -> int:
        """Messages on the board, those that have expired among them: the index of the next one."""
    @property
    def first(self) -> int:
        """The first message that has not expired."""

@final
class Client:
    """A connection to a server, made with the first call and again whenever it breaks. Calls wait for their answers.

    Calls are made again where the network fails, for a bounded time; none does anything twice. `ca` is the file of a
    certificate that signed the server's.
    """

    def __new__(cls, url: str, token: str | None = None, *, ca: _Path | None = None) -> Self: ...
    def board(self) -> BoardInfo:
        """The board, as long as it is now."""
    def post(self, to: _File, data: _Bytes, *, name: str | None = None) -> list[int]:
        """Seals a letter to an address and posts its messages; their indices."""
    def register(self, path: _Path, *, progress: _Progress | None = None) -> bytes:
        """Uploads a detection key's file, registers it under the token, and gives its hash, which names it."""
    def revoke(self, key: bytes) -> None:
        """Ends the registration of the key of a hash."""
    def digest(
        self,
        *keys: bytes,
        bound: int = 50,
        range: _Range | None = None,
        indices_only: bool = False,
        scheme: str | None = None,
        progress: _Progress | None = None,
    ) -> Digest:
        """Asks for a digest with registered keys, given by their hashes, waits for it and fetches it.

        Which ranges are asked for, and when, must not depend on what digests held: the server sees it.
        """

@final
class InboxLetter:
    """A letter of an inbox; `retired` names the address that it was written to where that was replaced since."""

    @property
    def number(self) -> int:
        """What the inbox calls it, as `omr inbox read` does."""
    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str | None: ...
    @property
    def data(self) -> bytes: ...
    @property
    def fetched(self) -> int:
        """When it came, in seconds since 1970."""
    @property
    def read(self) -> bool: ...
    @property
    def retired(self) -> str | None: ...
    def __bytes__(self) -> bytes: ...

@final
class Kept:
    """A range of the board of which not everything is here: its digest was too full or damaged."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def bound(self) -> int: ...
    @property
    def count(self) -> int | None:
        """The letters' messages in it, where that is known; where not `exact`, at least so many."""
    @property
    def exact(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def asked_again(self) -> bool:
        """Whether the next fetch asks for it again."""
    @property
    def read(self) -> int:
        """How many of them came with later digests."""
    @property
    def fetches_left(self) -> int:
        """Fetches that look at it once more by themselves."""
    @property
    def fetches_expected(self) -> int:
        """Those of them with which the rest comes, unless many other letters come meanwhile."""
    @property
    def expired(self) -> bool: ...

@final
class Canary:
    """A letter to oneself, whose absence shows a detector that leaves letters out."""

    @property
    def made(self) -> int:
        """When, in seconds since 1970."""
    @property
    def index(self) -> int | None:
        """Its place on the board, once that is known."""
    @property
    def state(self) -> Literal["posting", "posted", "returned", "missing", "gone"]: ...
    @property
    def missing_from(self) -> tuple[int, int] | None:
        """Start and end of the messages whose digest lacks it."""

@final
class Taken:
    """What a fetch gave: a sequence of new letters, and what is not one."""

    @property
    def letters(self) -> list[InboxLetter]: ...
    @property
    def kept(self) -> list[Kept]: ...
    @property
    def unopened(self) -> int:
        """Messages that were not sealed as they should be."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int, /) -> InboxLetter: ...
    @overload
    def __getitem__(self, at: slice, /) -> list[InboxLetter]: ...
    def __iter__(self) -> Iterator[InboxLetter]: ...

@final
class Watch:
    """Letters as they come: an iterator and a context manager. Without a letter it waits; Ctrl-C ends it."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> InboxLetter: ...
    def close(self) -> None:
        """Ends the schedule; what came and was not given out is in the inbox."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Inbox:
    """A recipient at a server, in the home folder of `omr id`, with what came for her. It is a context manager.

    What a server sees, and when, does not depend on what was found. What did not go as it should, and nothing failed
    of, goes to the logger `omr`.
    """

    @staticmethod
    def create(
        home: _Path,
        url: str,
        token: str | None = None,
        *,
        ca: _Path | None = None,
        params: str | None = None,
        scheme: str | None = None,
        bound: int = 50,
        clues: _Clues = "bound",
        sealing: _Sealing | None = None,
        spares: int = ...,
        batches: bool = False,
        own_masks: bool = False,
        passphrase: str | None = None,
        progress: _Progress | None = None,
    ) -> Inbox:
        """Makes an identity for a server's board and registers its detection keys, as `omr id new`.

        With `batches`, fetches take full batches alone, which the server works when they fill.
        """
    @staticmethod
    def register(
        home: _Path,
        url: str | None = None,
        token: str | None = None,
        *,
        ca: _Path | None = None,
        passphrase: str | None = None,
        progress: _Progress | None = None,
    ) -> Inbox:
        """Goes on with a registration that was interrupted, as `omr id register`."""
    @staticmethod
    def open(home: _Path, *, token: str | None = None, passphrase: str | None = None) -> Inbox:
        """Opens the inbox of an identity.

        Where another program fetches into it, letters are listed, read and sent all the same; `take`, `watch`, and what
        changes the requests (`raise_bound`, `retry_damaged`, `again`, `drop`) are an `InboxBusyError`.
        """
    @property
    def home(self) -> Path: ...
    @property
    def address(self) -> str:
        """What she gives to everybody, as text that survives a mail."""
    @property
    def params(self) -> str: ...
    @property
    def bound(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    def take(self, *, progress: _Progress | None = None) -> Taken:
        """Fetches everything since the last fetch and decodes it. What came before an error is in `letters()`."""
    def watch(
        self,
        every: float = 60.0,
        *,
        count: int | None = None,
        session: bool = False,
        canaries: float | None = None,
    ) -> Watch:
        """Fetches at whole multiples of `every` seconds, `count` times at most, and gives letters as they come.

        A thread keeps the times, however long the letters take. With `session` the server looks at messages as they
        come (InstantOMR). `canaries`: so many a day on average, at random times.
        """
    def letters(self, *, all: bool = False) -> list[InboxLetter]:
        """The letters here, in the order of the board: those that were not read, or all."""
    def mark_read(self, *letters: InboxLetter) -> None: ...
    def kept(self) -> list[Kept]:
        """Ranges of which not everything is here. `fetches_left` fetches look at them once more by themselves."""
    def raise_bound(self, bound: int) -> int:
        """Has the next fetch ask for all ranges that overflowed again, with a larger bound; how many they are.

        The detector learns that the old bound did not do.
        """
    def retry_damaged(self) -> int:
        """Has the next fetch ask again for all ranges whose digests did not decode, which the detector learns."""
    def again(self, start: int, end: int, *, bound: int | None = None, by: int | None = None) -> int:
        """Has the next fetch ask again for messages, `by` in a request, whatever came of them; how many requests.

        The detector learns that somebody wants these once more.
        """
    def drop(self, start: int, end: int) -> tuple[int, int]:
        """Forgets kept ranges, and requests that were not answered, within these messages; how many of each."""
    def post_canary(self) -> None:
        """Posts a letter to oneself, without the token where the server lets strangers post."""
    def canaries(self) -> list[Canary]:
        """What became of such letters, oldest first."""
    @property
    def contacts(self) -> dict[str, str]:
        """Addresses by name."""
    def add_contact(self, name: str, address: str | _Bytes) -> None: ...
    def remove_contact(self, name: str) -> None: ...
    def send(
        self,
        to: str | _Bytes,
        data: _Bytes,
        *,
        name: str | None = None,
        sealing: _Sealing | None = None,
        large: bool = False,
    ) -> list[int]:
        """Writes to a contact, an address or a short address, at her server; the indices of the messages."""
    def close(self) -> None:
        """Closes the inbox and ends its watches."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Schema:
    """What is public about a table: with it alone queries are made. `bytes(schema)` is what `omr pdq schema` writes."""

    @staticmethod
    def from_bytes(schema: _File) -> Schema: ...
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> dict[str, str]:
        """The type of each column, as `types` declares it."""
    def __len__(self) -> int:
        """Rows of the table."""
    def __bytes__(self) -> bytes: ...

@final
class Table:
    """A table for private queries, in the clear or encrypted; the file of `omr pdq import`.

    Types are found out unless `types` declares them, such as `{"fare": "decimal(2)"}`. Nothing is rounded or cut unless
    a declared type or `truncate` says so. What is perhaps not meant, such as one `NA` that turns a column of numbers
    into text, is reported as a `UserWarning`.
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
    ) -> Table: ...
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
        """A table from a data frame, or what else has `__arrow_c_stream__` or `__arrow_c_array__`."""
    @staticmethod
    def load(path: _Path) -> Table: ...
    def save(self, path: _Path, *, overwrite: bool = False) -> None: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def encrypted(self) -> bool: ...
    def __len__(self) -> int: ...
    def answer(
        self, query: _Bytes, key: EvaluationKey, *, threads: int | None = None, progress: _Progress | None = None
    ) -> bytes:
        """The answer to a query's file. Neither its constants nor which rows match are learned."""

@final
class Keys:
    """The secret of whoever asks. It is wiped when the object goes."""

    @staticmethod
    def generate(params: str = ...) -> Keys: ...
    @staticmethod
    def load(folder: _Path, *, passphrase: str | None = None) -> Keys:
        """The secret of the file `pdq-secret.key` in a folder, as `omr pdq keygen` writes it."""
    def save(self, folder: _Path, *, passphrase: str | None = None, overwrite: bool = False) -> None:
        """Writes `pdq-secret.key`, for the owner alone, and `pdq-evaluation.key` into a folder."""
    @property
    def params(self) -> str: ...
    def evaluation_key(self) -> EvaluationKey: ...
    def query(self, schema: Schema, sql: str, *, bound: int | None = None) -> Query:
        """Encrypts a question. Of more rows than `bound`, else the `LIMIT`, else 16, only the number can be read."""
    def encrypt_table(
        self,
        table: Table,
        *,
        prefixes: list[int] = ...,
        depth: int | None = None,
        progress: _Progress | None = None,
    ) -> Table:
        """A table that whoever answers cannot read; `prefixes`: lengths that `LIKE` may ask for."""

@final
class EvaluationKey:
    """What a table's owner needs to answer queries; it holds no secret. `bytes(key)` is its file."""

    @staticmethod
    def from_bytes(key: _File) -> EvaluationKey: ...
    @property
    def params(self) -> str: ...
    def __bytes__(self) -> bytes: ...

@final
class Query:
    """A question under its keys. `bytes(query)` is what the table's owner gets."""

    @staticmethod
    def from_bytes(keys: Keys, schema: Schema, query: _File) -> Query:
        """A query whose file was kept, to decode its answer."""
    @property
    def shape(self) -> str:
        """What the table's owner sees of it."""
    @property
    def bound(self) -> int: ...
    @property
    def seconds(self) -> float:
        """About how long one thread of this machine would take to answer."""
    @property
    def memory_bytes(self) -> int:
        """Memory of whoever answers, beside table and key."""
    @property
    def answer_bytes(self) -> int:
        """Bytes of an answer without its header."""
    def rows(self, answer: _File) -> Rows: ...
    def __bytes__(self) -> bytes: ...

@final
class Rows:
    """Rows of an answer, for any data frame: `polars.DataFrame(rows)`, `pyarrow.table(rows)`."""

    @property
    def numbers(self) -> list[int] | None:
        """Where in the table each stands, counted from 0; None where its owner keeps that to herself."""
    @property
    def columns(self) -> list[str]: ...
    def to_csv(self) -> str: ...
    def to_json(self) -> str: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Server:
    """A connection to a server of tables (`omr pdq serve`)."""

    def __new__(cls, url: str, token: str | None = None, *, ca: _Path | None = None) -> Self: ...
    def tables(self) -> list[str]: ...
    def schema(self, table: str) -> Schema: ...
    def register(self, path: _Path) -> bytes:
        """Sends an evaluation key's file, unless the server has it; its hash, which links all queries under it."""
    def ask(self, keys: Keys, query: Query, *, key: bytes | None = None, progress: _Progress | None = None) -> Rows:
        """The rows of a query. Without the hash of a registered key a new one is made and sent."""

@final
class Unit:
    """Digests of the same messages that one run makes; it may be pickled."""

    def __new__(cls, params: str, told: _Bytes) -> Self: ...
    @property
    def id(self) -> bytes: ...
    @property
    def params(self) -> str: ...
    @property
    def board_id(self) -> bytes: ...
    @property
    def indices_only(self) -> bool: ...
    @property
    def range(self) -> _Range:
        """The messages from the first to the last."""
    @property
    def batches(self) -> list[_Range]:
        """The messages of each batch; none where the unit must be done whole."""
    @property
    def lease_seconds(self) -> float: ...
    @property
    def jobs(self) -> list[list[tuple[bytes, str, int]]]:
        """The keys of each job: hash, engine, bytes."""
    def __reduce__(self) -> tuple[type[Unit], tuple[str, bytes]]: ...

@final
class Leases:
    """The calls of a worker of a server, under a token with the right `work`. Errors that pass are `UnreachableError`."""

    def __new__(cls, url: str, token: str, *, name: str | None = None, ca: _Path | None = None) -> Self: ...
    @property
    def params(self) -> str: ...
    @property
    def name(self) -> str:
        """What the server's log calls this worker."""
    def lease(self, *, wait: int = 20, jobs: int = 0) -> Unit | None:
        """A unit, or none after so many seconds."""
    def renew(self, unit: Unit) -> list[int] | None:
        """Lets a lease last anew: the places of the jobs that are still wanted; None of a unit that the server forgot."""
    def complete(self, unit: Unit, job: int, digest: _Bytes) -> bool:
        """Brings the digest of a job; False: nobody wants it any more."""
    def fail(self, unit: Unit, job: int, error: str | None = None) -> None:
        """Gives a job back: without blame, or with an error that counts as a failed attempt."""
    def key(self, hash: bytes, bytes: int) -> _ReadBytes:
        """The file of a key of a unit that was leased under this name."""
    def messages(self, unit: Unit, range: _Range) -> tuple[bytes, bytes, bytes | None]:
        """Clues, payloads and kept hashes of messages."""

@final
class Maker:
    """Makes digests of units and their parts, one task at a time; keeps keys and messages from one to the next."""

    def __new__(
        cls, params: str, *, threads: int | None = None, keys: int = 8, pieces: int = 2
    ) -> Self: ...
    @property
    def loading(self) -> float:
        """Seconds that it took so far to read keys."""
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
        """The digests of all jobs of a unit, or of some of its batches the sums; and the seconds of work.

        Of each job bytes, or why there are none; neither where it was stopped. `board` has pieces of the board with the
        messages: first, end, clues, payloads, hashes. `jobs` are those that are wanted, all unless given; `stopped` is
        asked every few hundredths of a second whether none of them is any more.
        """
    def finish(
        self, unit: Unit, keys: dict[bytes, Buffer], parts: list[list[Buffer]]
    ) -> tuple[list[tuple[bytes | None, str | None]], float]:
        """The digests of all jobs from their sums, in any order."""
