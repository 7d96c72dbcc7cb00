"""What can go wrong: one class a kind, with the numbers as attributes.

An attribute is None where an error has no such number.
"""

from __future__ import annotations


class OmrError(Exception):
    """Whatever omr refuses. Files that are not there stay `OSError`, wrong values `ValueError`."""

    expected: str | int | None = None
    """What would have been right."""
    found: str | int | None = None
    """What was there instead."""

    def __init__(self, message: str = "", **fields: str | int | bool) -> None:
        super().__init__(message)
        for name, value in fields.items():
            setattr(self, name, value)


class ParamsError(OmrError):
    """No such parameter set, one without the engine, or an old one for new keys."""


class OtherParamsError(ParamsError):
    """Two things of different parameter sets, `expected` and `found`."""


class FileError(OmrError):
    """A key, an address, a digest or a session that is damaged, cut short or something else."""


class PassphraseError(OmrError):
    """A passphrase that is missing, wrong, or too short for something new."""


class WordsError(OmrError):
    """Words that make no keys: another number of them, others than the list has, or a checksum that does not fit."""


class BoardError(OmrError):
    """A board that is not there, is damaged, or does not take a message."""


class BoardBusyError(BoardError):
    """Somebody else has the board open."""


class BoardClosedError(BoardError):
    """The board was closed."""


class OtherHistoryError(BoardError):
    """A board that was put back from an older copy: the session has seen `expected` messages of it, it has `found`."""

    expected_hash: str | None = None
    """The running hash of the board's log after `expected` messages, as the session has seen it; hexadecimal."""
    found_hash: str | None = None
    """The board's own hash there; None where the board is shorter."""
    common: int | None = None
    """A length up to which the board has the messages that the session has seen, if one is known."""


class LetterError(OmrError):
    """A letter that does not fit the board."""


class DetectorError(OmrError):
    """A digest that was not made."""


class PlanError(DetectorError):
    """A digest that nobody can make: its bound or its range is wrong."""


class DecodeError(OmrError):
    """A digest that does not decode: it contradicts itself, or is of other clues."""


class DigestOverflowError(DecodeError):
    """More pertinent messages than the bound: ask with a larger one, or for smaller ranges."""

    start: int
    """First message of the group that holds too many."""
    end: int
    """One past its last."""
    count: int
    """How many of them are the recipient's."""
    bound: int
    """How many fit."""


class OtherKeyError(DecodeError):
    """The digest is for another recipient."""


class ServerError(OmrError):
    """A server that refuses, gives up, or breaks the protocol."""


class UnreachableError(ServerError):
    """No server answers there."""


class AccessError(ServerError):
    """The server does not know the token, or the token does not allow this."""


class IdentityError(OmrError):
    """A home folder without an identity, with another one in the way, or one that is not registered."""


class InboxError(OmrError):
    """An inbox that is damaged or has no such letter."""


class InboxBusyError(InboxError):
    """Somebody else has the inbox open, or fetches."""


class InboxClosedError(InboxError):
    """The inbox was closed."""


class AddressError(OmrError):
    """An address that is damaged or nobody's, or a contact that is not there or in the way."""


class TableError(OmrError):
    """Data that make no table for private queries."""


class QueryError(OmrError):
    """A private query that is none, does not fit its table, or is too deep for its parameter set."""


class RowsOverflowError(DecodeError):
    """More rows match than the answer holds: ask with a larger bound, or more narrowly."""

    count: int
    """How many match."""
    bound: int
    """How many fit."""


class UnsealedWarning(UserWarning):
    """Payloads that nobody but the detector vouches for."""


__all__ = [
    "AccessError",
    "AddressError",
    "BoardBusyError",
    "BoardClosedError",
    "BoardError",
    "DecodeError",
    "DetectorError",
    "DigestOverflowError",
    "FileError",
    "IdentityError",
    "InboxBusyError",
    "InboxClosedError",
    "InboxError",
    "LetterError",
    "OmrError",
    "OtherHistoryError",
    "OtherKeyError",
    "OtherParamsError",
    "ParamsError",
    "PassphraseError",
    "PlanError",
    "QueryError",
    "RowsOverflowError",
    "ServerError",
    "TableError",
    "UnreachableError",
    "UnsealedWarning",
    "WordsError",
]
