"""What runs on the machines of the cluster: actors that make digests, and tasks that fetch keys and messages."""

from __future__ import annotations

import importlib
import logging
import time
from typing import Any, NamedTuple

from omr._omr import Leases, Maker, Unit

_log = logging.getLogger("omr.ray")

Array = Any
"""A numpy array of bytes, which Ray hands from process to process without copying it."""
Piece = tuple[int, int, Array, Array, Array | None]
"""First message, the one after the last, clues, payloads, hashes."""


def ray() -> Any:
    """Ray, which nothing else of omr needs."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError("expected the packages ray and numpy: pip install 'ray>=2.60,<3' numpy") from error


def array(data: bytes) -> Array:
    """Bytes as Ray shares them between processes."""
    numpy = importlib.import_module("numpy")
    return numpy.frombuffer(data, dtype=numpy.uint8)


class Server(NamedTuple):
    """Where units come from, and under which name: only who leased a unit may read its keys."""

    url: str
    token: str
    name: str
    ca: bytes | None = None
    """What the file holds, which other machines do not have."""

    def connect(self) -> Leases:
        """The calls of a worker; one connection a process."""
        if self not in _CONNECTED:
            _CONNECTED.clear()
            _CONNECTED[self] = Leases(self.url, self.token, name=self.name, ca=self.ca)
        return _CONNECTED[self]


_CONNECTED: dict[Server, Leases] = {}


def fetch_keys(server: Server, keys: list[tuple[bytes, int]]) -> list[Array] | Array:
    """Keys of a unit, an answer each; a task that takes no processor."""
    leases = server.connect()
    files = [array(leases.key(hash, size)) for hash, size in keys]
    return files if len(files) > 1 else files[0]


def fetch_piece(server: Server, unit: Unit, start: int, end: int) -> Piece:
    """The messages of a range; a task that takes no processor."""
    clues, payloads, hashes = server.connect().messages(unit, range(start, end))
    return start, end, array(clues), array(payloads), None if hashes is None else array(hashes)


class Made(NamedTuple):
    """What came of a task."""

    jobs: list[tuple[Array | None, str | None]]
    """For each job a digest or sums, or why there are none; neither where the work was stopped."""
    seconds: float
    """Seconds of work on digests."""
    loading: float
    """Seconds in which keys were read before."""
    busy: float
    """Seconds from the call to its answer, with copies of what it was given."""


class Actor:
    """Makes digests on one machine, one task at a time on all its threads. Keeps the messages and keys of the last ones."""

    def __init__(self, params: str, threads: int | None, keys: int, pieces: int, prepared_bytes: int) -> None:
        self._maker = Maker(params, threads=threads, keys=keys, pieces=pieces, prepared_bytes=prepared_bytes)

    def node(self) -> str:
        """The machine, as Ray calls it."""
        return str(ray().get_runtime_context().get_node_id())

    def make(self, unit: Unit, batches: range | None, jobs: list[int], hashes: list[bytes], *arrays: Any) -> Made:
        """The digests of some jobs of a unit, or the sums of some of its batches, until Ray is told to cancel the call.

        `arrays`: the keys of all its jobs, then the pieces of the board.
        """
        start = self._start()
        keys, pieces = arrays[: len(hashes)], arrays[len(hashes) :]
        given = dict(zip(hashes, keys, strict=True)), list(pieces)
        stopped = ray().get_runtime_context().is_canceled
        made = self._maker.make(unit, *given, batches=batches, jobs=jobs, stopped=stopped)
        return self._made(made, start)

    def finish(self, unit: Unit, parts: list[list[Array]], hashes: list[bytes], *keys: Array) -> Made:
        """The digests of a unit from the sums of all its batches."""
        start = self._start()
        made = self._maker.finish(unit, dict(zip(hashes, keys, strict=True)), parts)
        return self._made(made, start)

    def _start(self) -> tuple[float, float]:
        return time.perf_counter(), self._maker.loading

    def _made(self, made: tuple[list[tuple[bytes | None, str | None]], float], start: tuple[float, float]) -> Made:
        jobs, seconds = made
        arrays = [(None if data is None else array(data), error) for data, error in jobs]
        began, loading = start
        busy = time.perf_counter() - began
        for error in {error for _, error in jobs if error is not None}:
            _log.warning("a digest is not made: %s", error)
        _log.info("%d jobs in %.2f s", len(jobs), busy)
        return Made(arrays, seconds, self._maker.loading - loading, busy)
