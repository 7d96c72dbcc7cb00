"""Actors: as many as there is work for, each with one task at hand and the next one on its way."""

from __future__ import annotations

import collections
import dataclasses
import logging
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from omr.ray.actor import Actor, ray

_log = logging.getLogger("omr.ray")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a driver may use of a cluster."""

    least: int = 1
    """Actors that stay without work."""
    most: int = 1
    """Actors at most; Ray adds machines for them where it may."""
    cpus: float = 1
    """Processors that Ray reserves for each actor: all of a machine for one actor a machine."""
    gpus: float = 0
    resources: dict[str, float] = dataclasses.field(default_factory=dict)
    """Other resources of Ray that each actor needs, such as machines of one kind."""
    threads: int | None = None
    """Threads of each actor; as many as its processors unless given."""
    keys: int = 8
    """Keys that an actor keeps in memory."""
    pieces: int = 2
    """Batches of messages that an actor keeps in memory."""
    prepared_bytes: int = 1 << 30
    """Bytes of payloads that an actor keeps prepared for fetches."""
    together: int = 0
    """Recipients of one unit at most; as many as the server puts together for 0."""
    batches: int = 1
    """Batches of one task; 0 for units that are done whole."""
    depth: int = 2
    """Tasks that an actor has: the one at hand, and those whose keys are fetched meanwhile."""
    attempts: int = 3
    """How often a task is tried whose actor dies."""
    idle: float = 60
    """Seconds after which an actor without work ends."""


@dataclasses.dataclass
class Task:
    """A call of an actor."""

    of: Any
    """What it belongs to."""
    submit: Callable[[Hand], Any]
    """Calls an actor; gives the reference of the answer."""
    wants: frozenset[Hashable]
    """What an actor may have at hand of what it needs."""
    attempts: int = 0
    cancelled: bool = False


class Hand:
    """An actor and its tasks."""

    def __init__(self, actor: Any, settings: Settings) -> None:
        self.actor = actor
        self.ready = actor.node.remote()
        self.node: str | None = None
        self.tasks: dict[Any, Task] = {}
        self.last = time.monotonic()
        # A batch of messages and the keys of a unit for each task.
        self.holds: collections.deque[Hashable] = collections.deque(maxlen=2 * max(1, settings.pieces))

    def fit(self, task: Task) -> int:
        """How much of what a task needs is at hand."""
        return len(task.wants & set(self.holds))

    def take(self, task: Task) -> None:
        """Has the actor do a task after those that it has."""
        self.tasks[task.submit(self)] = task
        self.holds.extend(task.wants)


class Pool:
    """Actors of one parameter set, and the tasks that wait for them."""

    def __init__(self, params: str, settings: Settings) -> None:
        self.settings = settings
        self.waiting: collections.deque[Task] = collections.deque()
        self.hands: list[Hand] = []
        self.died = 0
        self._stillborn = 0
        threads = settings.threads or max(1, int(settings.cpus))
        self._make = params, threads, settings.keys, settings.pieces, settings.prepared_bytes
        # An actor that dies is replaced: one that Ray restarts would wait for the place of a lost machine.
        self._actor = ray().remote(
            num_cpus=settings.cpus, num_gpus=settings.gpus, resources=settings.resources, max_restarts=0
        )(Actor)

    @property
    def tasks(self) -> int:
        """Tasks that wait or are done now."""
        return len(self.waiting) + sum(len(hand.tasks) for hand in self.hands)

    def cancel(self, of: Any) -> None:
        """Ends all tasks of something: those that wait, and those of actors, whose answers may still come."""
        self.waiting = collections.deque(task for task in self.waiting if task.of is not of)
        for hand in self.hands:
            for ref, task in hand.tasks.items():
                if task.of is of:
                    task.cancelled = True
                    ray().cancel(ref)

    def scale(self) -> None:
        """Starts actors for what waits, one after another, and ends those without work."""
        settings, now = self.settings, time.monotonic()
        starting = any(hand.node is None for hand in self.hands)
        room = sum(len(hand.tasks) == 0 for hand in self.hands)
        wanted = len(self.hands) < settings.most and len(self.waiting) > room
        if len(self.hands) < settings.least or (wanted and not starting):
            self.hands.append(Hand(self._actor.remote(*self._make), settings))
        for hand in list(self.hands):
            if hand.tasks or self.waiting:
                hand.last = now
            elif len(self.hands) > settings.least and now - hand.last > settings.idle:
                self.hands.remove(hand)
                ray().kill(hand.actor)

    def hand_out(self) -> None:
        """Gives tasks to actors with room, those with less first: what needs what is at hand there, else the oldest."""
        ready = [hand for hand in self.hands if hand.node is not None]
        for depth in range(self.settings.depth):
            for hand in ready:
                if len(hand.tasks) <= depth and self.waiting:
                    task = max(self.waiting, key=hand.fit)
                    self.waiting.remove(task)
                    hand.take(task)

    def settled(self, wait: float) -> Iterator[tuple[Task, Any]]:
        """Waits so long for answers: tasks and what came of them, also an exception. Those of dead actors wait anew."""
        starting = {hand.ready: hand for hand in self.hands if hand.node is None}
        running = {ref: hand for hand in self.hands for ref in hand.tasks}
        refs = [*starting, *running]
        if not refs:
            time.sleep(wait)
            return
        done, _ = ray().wait(refs, num_returns=1, timeout=wait)
        more, _ = ray().wait(refs, num_returns=len(refs), timeout=0)
        for ref in dict.fromkeys([*done, *more]):
            hand = starting.get(ref) or running[ref]
            try:
                answer = ray().get(ref)
            except ray().exceptions.RayActorError as error:
                yield from self._lost(hand, error)
                continue
            except ray().exceptions.RayError as error:
                answer = error
            if ref in starting:
                self._started(hand, answer)
            elif ref in hand.tasks:
                yield from self._answer(hand.tasks.pop(ref), answer)

    def _started(self, hand: Hand, answer: Any) -> None:
        if isinstance(answer, Exception):
            raise answer
        hand.node, self._stillborn = answer, 0

    def _answer(self, task: Task, answer: Any) -> Iterator[tuple[Task, Any]]:
        exceptions = ray().exceptions
        lost = (exceptions.ObjectLostError, exceptions.WorkerCrashedError, exceptions.NodeDiedError)
        if isinstance(answer, lost):
            yield from self._again(task, answer)
        else:
            yield task, answer

    def _lost(self, hand: Hand, error: Exception) -> Iterator[tuple[Task, Any]]:
        """An actor that is gone: others do its tasks."""
        if hand not in self.hands:
            return
        _log.warning("an actor died with %d tasks: %s", len(hand.tasks), str(error).splitlines()[0])
        self.died += 1
        self._stillborn += hand.node is None
        if self._stillborn >= self.settings.attempts:
            raise error
        self.hands.remove(hand)
        ray().kill(hand.actor)
        for task in reversed(list(hand.tasks.values())):
            yield from self._again(task, error)
        hand.tasks.clear()

    def _again(self, task: Task, error: Exception) -> Iterator[tuple[Task, Any]]:
        task.attempts += 1
        if task.attempts < self.settings.attempts and not task.cancelled:
            self.waiting.appendleft(task)
        else:
            yield task, error

    def close(self) -> None:
        """Ends all actors."""
        for hand in self.hands:
            ray().kill(hand.actor)
        self.hands.clear()
