"""The process between a server and a cluster: leases units, has them done in tasks, brings their digests."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import importlib
import logging
import os
import pathlib
import queue
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

from omr._omr import Leases, Unit
from omr.errors import AccessError, OmrError, UnreachableError
from omr.ray.actor import Array, Made, Server, fetch_keys, fetch_piece, ray
from omr.ray.pool import Hand, Pool, Settings, Task

_log = logging.getLogger("omr.ray")

TICK = 0.05
"""Seconds between two looks at what was leased."""
WAIT = 5
"""Seconds that one request for a unit waits."""
RENEWALS = 3
"""Renewals of a lease while it lasts, at least: two may be lost."""
NEWS = 1
"""Seconds between two renewals at most: they tell what is not wanted any more."""
PIECES = 8
"""Batches of messages that stay in Ray's store, 0.2 GB each at full size."""


def _place(unit: Unit, span: range) -> Hashable:
    """What names messages as a unit needs them."""
    return unit.history_id, unit.indices_only, span.start, span.stop


@dataclasses.dataclass
class Figures:
    """What a driver did."""

    units: int = 0
    tasks: int = 0
    digests: int = 0
    """Digests that the server kept."""
    unwanted: int = 0
    """Digests that nobody wanted any more, or of units that the server forgot."""
    stopped: int = 0
    """Tasks that ended early, since nobody wanted their digests any more."""
    failed: int = 0
    """Jobs given back with an error."""
    given_back: int = 0
    died: int = 0
    """Actors that died."""
    seconds: float = 0
    """Seconds of work on digests, of all actors."""
    loading: float = 0
    """Seconds in which they read keys."""
    busy: float = 0
    """Seconds of their calls."""
    wall: float = 0


@dataclasses.dataclass
class _Held:
    """A unit that is being done."""

    unit: Unit
    jobs: int
    wanted: set[int]
    waiting: int
    """Tasks without an answer."""
    parts: list[list[Array]]
    """Sums of each job."""
    errors: dict[int, str | None]
    """Jobs without a digest."""
    keys: dict[str, list[Any]] = dataclasses.field(default_factory=dict)
    """References of its keys on each machine."""
    split: bool = False
    """Whether its tasks make sums."""
    over: bool = False

    @property
    def hashes(self) -> list[bytes]:
        return list(dict.fromkeys(hash for keys in self.unit.jobs for hash, _, _ in keys))


class Driver:
    """Works for a server on the cluster that `ray.init` joined."""

    def __init__(
        self, url: str, token: str, settings: Settings, *, name: str | None = None, ca: str | os.PathLike[str] | None = None
    ) -> None:
        pem = None if ca is None else pathlib.Path(ca).read_bytes()
        self._leases = Leases(url, token, name=name, ca=pem)
        self._server = Server(url, token, self._leases.name, pem)
        self.settings = settings
        self.pool = Pool(self._leases.params, settings)
        self.figures = Figures()
        self._held: dict[bytes, _Held] = {}
        self._pieces: collections.OrderedDict[Hashable, Any] = collections.OrderedDict()
        self._leased: queue.SimpleQueue[Unit] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._fault: BaseException | None = None
        self._counting = threading.Lock()
        self._fetch_keys, self._fetch_piece = (
            ray().remote(num_cpus=0, max_retries=3)(function) for function in (fetch_keys, fetch_piece)
        )
        affinity = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        self._near: Callable[[str], Any] = lambda node: affinity(node_id=node, soft=True)

    def stop(self) -> None:
        """Ends `run` once what is leased is done."""
        self._stop.set()

    def run(self, *, idle: float | None = None) -> Figures:
        """Works until it is stopped, or without work for so many seconds.

        Raises what the server refuses for good, such as a token without the right `work`.
        """
        start = last = time.monotonic()
        threads = [threading.Thread(target=work, daemon=True) for work in (self._lease, self._renew)]
        with concurrent.futures.ThreadPoolExecutor(4) as bring:
            self._bring = bring
            for thread in threads:
                thread.start()
            try:
                while self._held or not self._leased.empty() or not self._stop.is_set():
                    self._turn()
                    if self._held:
                        last = time.monotonic()
                    elif idle is not None and time.monotonic() - last > idle:
                        self._stop.set()
            finally:
                self._stop.set()
                self._give_back()
                self.pool.close()
        for thread in threads:
            thread.join()
        self._give_back()
        if self._fault:
            raise self._fault
        self.figures.died, self.figures.wall = self.pool.died, time.monotonic() - start
        return self.figures

    def _turn(self) -> None:
        """Looks once at everything."""
        while not self._leased.empty():
            self._begin(self._leased.get())
        for held in [held for held in self._held.values() if not held.wanted]:
            self.figures.unwanted += held.jobs
            self._end(held, {})
        self.pool.scale()
        self.pool.hand_out()
        for task, answer in self.pool.settled(TICK):
            self._settle(task.of, answer)

    def _lease(self) -> None:
        """Leases units as long as there is room: two for each actor."""
        while not self._stop.is_set():
            actors = max(1, len(self.pool.hands), self.settings.least)
            if len(self._held) + self._leased.qsize() >= 2 * actors:
                self._stop.wait(TICK)
                continue
            try:
                unit = self._leases.lease(wait=WAIT, jobs=self.settings.together)
            except UnreachableError as error:
                _log.warning("no work for now: %s", error)
                self._stop.wait(1)
            except BaseException as error:
                self._fault = error
                self._stop.set()
            else:
                if unit is not None:
                    self._leased.put(unit)

    def _renew(self) -> None:
        """Lets leases last, and hears which jobs are still wanted."""
        while not self._stop.is_set() or self._held:
            held = list(self._held.values())
            # Units may come meanwhile.
            least = min((one.unit.lease_seconds for one in held), default=1.0)
            time.sleep(min(NEWS, least / RENEWALS / 2))
            for one in held:
                if one.over:
                    continue
                try:
                    wanted = self._leases.renew(one.unit)
                except OmrError as error:
                    # What is made all the same may still be wanted.
                    _log.warning("a lease is not renewed: %s", error)
                else:
                    one.wanted = set(wanted or [])

    def _begin(self, unit: Unit) -> None:
        """Has a unit done."""
        self.figures.units += 1
        batches, jobs = unit.batches, len(unit.jobs)
        step = self.settings.batches
        whole = step == 0 or len(batches) <= step
        starts = range(0, len(batches), step or 1)
        parts = [None] if whole else [range(start, min(start + step, len(batches))) for start in starts]
        sums: list[list[Array]] = [[] for _ in range(jobs)]
        held = _Held(unit, jobs, set(range(jobs)), len(parts), sums, {}, split=not whole)
        self._held[unit.id] = held
        for part in parts:
            spans = batches or [unit.range]
            self.pool.waiting.append(self._task(held, part, spans if part is None else [spans[i] for i in part]))

    def _task(self, held: _Held, part: range | None, spans: list[range]) -> Task:
        """Digests of a unit, or sums of some of its batches."""
        unit = held.unit

        def submit(hand: Hand) -> Any:
            pieces = [self._piece(unit, span, hand) for span in spans]
            arrays = [*self._keys(held, hand), *pieces]
            return hand.actor.make.remote(unit, part, sorted(held.wanted), held.hashes, *arrays)

        pieces = (_place(unit, span) for span in spans)
        return Task(held, submit, frozenset([*pieces, tuple(held.hashes)]))

    def _finish(self, held: _Held) -> None:
        """Has the sums of a unit put together, best where its keys are."""
        held.waiting = 1

        def submit(hand: Hand) -> Any:
            return hand.actor.finish.remote(held.unit, held.parts, held.hashes, *self._keys(held, hand))

        self.pool.waiting.appendleft(Task(held, submit, frozenset([tuple(held.hashes)])))

    def _keys(self, held: _Held, hand: Hand) -> list[Any]:
        """The keys of a unit, on their way to the machine of an actor."""
        node = str(hand.node)
        if node not in held.keys:
            sizes = {hash: size for keys in held.unit.jobs for hash, _, size in keys}
            wanted = [(hash, sizes[hash]) for hash in held.hashes]
            near = self._fetch_keys.options(scheduling_strategy=self._near(node), num_returns=len(wanted))
            refs = near.remote(self._server, wanted)
            held.keys[node] = refs if len(wanted) > 1 else [refs]
        return held.keys[node]

    def _piece(self, unit: Unit, span: range, hand: Hand) -> Any:
        """Messages, on their way to the machine of an actor; from another one if they are there."""
        place = _place(unit, span)
        if place not in self._pieces:
            near = self._fetch_piece.options(scheduling_strategy=self._near(str(hand.node)))
            self._pieces[place] = near.remote(self._server, unit, span.start, span.stop)
            while len(self._pieces) > PIECES:
                self._pieces.popitem(last=False)
        self._pieces.move_to_end(place)
        return self._pieces[place]

    def _settle(self, held: _Held, answer: Any) -> None:
        """Takes what came of a task."""
        self.figures.tasks += 1
        if held.over:
            self.figures.stopped += not isinstance(answer, Made) or all(data is None for data, _ in answer.jobs)
        elif isinstance(answer, Made):
            self._made(held, answer)
        else:
            self._broken(held, answer)

    def _made(self, held: _Held, made: Made) -> None:
        self.figures.seconds += made.seconds
        self.figures.loading += made.loading
        self.figures.busy += made.busy
        held.waiting -= 1
        for job, (data, error) in enumerate(made.jobs):
            if data is None:
                # What became of sums is told once.
                held.errors.setdefault(job, error)
        if not held.split:
            self._end(held, {job: data for job, (data, _) in enumerate(made.jobs) if data is not None})
            return
        for job, (data, _) in enumerate(made.jobs):
            if data is not None:
                held.parts[job].append(data)
        if held.waiting == 0:
            # Sums of some batches alone are no digest.
            held.parts = [[] if job in held.errors else parts for job, parts in enumerate(held.parts)]
            held.split = False
            self._finish(held)

    def _broken(self, held: _Held, error: Any) -> None:
        """A task has no answer: all jobs of its unit are given back."""
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, OmrError):
            # Messages that could not be had may be had later.
            self._pieces.clear()
        _log.warning("a unit is given up: %s", cause)
        passing = isinstance(cause, UnreachableError | AccessError)
        text = None if passing else next(iter(str(cause).splitlines()), repr(cause))
        held.errors = dict.fromkeys(range(held.jobs), text)
        self._end(held, {})

    def _end(self, held: _Held, digests: dict[int, Array]) -> None:
        """Ends a unit: brings what there is, gives back what there is not."""
        held.over = True
        del self._held[held.unit.id]
        self.pool.cancel(held)
        for job in sorted(held.wanted):
            if job in digests:
                self._bring.submit(self._complete, held.unit, job, digests[job])
            else:
                self._bring.submit(self._fail, held.unit, job, held.errors.get(job))

    def _complete(self, unit: Unit, job: int, digest: Array) -> None:
        try:
            kept = self._leases.complete(unit, job, digest)
        except OmrError as error:
            _log.warning("a digest is not taken: %s", error)
            kept = False
        with self._counting:
            self.figures.digests += kept
            self.figures.unwanted += not kept

    def _fail(self, unit: Unit, job: int, error: str | None) -> None:
        with self._counting:
            self.figures.failed += error is not None
            self.figures.given_back += error is None
        try:
            self._leases.fail(unit, job, error)
        except OmrError as refused:
            _log.warning("a job is not given back: %s", refused)

    def _give_back(self) -> None:
        """Gives back all that is not done."""
        left = [held.unit for held in self._held.values()]
        self._held.clear()
        while not self._leased.empty():
            left.append(self._leased.get())
        for unit in left:
            for job in range(len(unit.jobs)):
                self._fail(unit, job, None)
