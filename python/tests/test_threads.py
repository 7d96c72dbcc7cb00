"""Ctrl-C ends what takes long, and other threads go on meanwhile."""

import threading
import time

import pytest

import omr
from conftest import TINY, interrupt

LONG = """
import sys, omr
alice = omr.Identity.load(sys.argv[1])
detector = omr.Detector(sys.argv[2], threads=1)
board = omr.Board.open(sys.argv[3])
print("ready", flush=True)
try:
    # About twenty seconds.
    detector.digest(board, bound=4000)
except KeyboardInterrupt:
    board.close()
    print("interrupted", flush=True)
"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory, alice, alice_key, bob):
    """A board whose digests take long where their bound is large, and the files to make them."""
    folder = tmp_path_factory.mktemp("busy")
    alice.save(folder, plain=True)
    (folder / "detection.key").write_bytes(alice_key)
    with omr.Board.create(folder / "board", params=TINY) as board:
        board.post_many((bob.address, b"%d" % i) for i in range(1500))
    return folder


def test_ctrl_c_ends_a_digest_within_a_second(busy):
    seconds, _ = interrupt(LONG, busy, busy / "detection.key", busy / "board")
    assert seconds < 1, seconds


def test_other_threads_run_while_a_digest_is_made(busy, alice_key):
    detector = omr.Detector(alice_key, threads=1)
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.005):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    with omr.Board.open(busy / "board") as board:
        ticker.start()
        try:
            start = time.monotonic()
            detector.digest(board, bound=300)
            seconds = time.monotonic() - start
        finally:
            over.set()
            ticker.join()
    # One tick takes a little more than its 5 ms; a lock that is held would leave none.
    assert len(ticks) > seconds / 0.005 / 4, (len(ticks), seconds)
    gaps = [after - before for before, after in zip(ticks, ticks[1:])]
    assert max(gaps) < 0.5, max(gaps)


def test_digests_of_several_threads_are_right(busy, filled, alice, detector):
    found = []

    def work():
        found.append([letter.index for letter in alice.decode(detector.digest(filled))])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [[3, 11, 19, 27, 35]] * 4


def test_a_board_closes_when_its_digest_ends(busy, alice_key):
    detector = omr.Detector(alice_key)
    board = omr.Board.open(busy / "board")
    closed = []

    def close(*_):
        board.close()
        closed.append(board.closed)

    digest = detector.digest(board, progress=close)
    assert closed[0] and digest.range == range(0, 1500)
    with omr.Board.open(busy / "board", writable=True):
        pass
