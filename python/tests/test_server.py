"""The client against a server of the command."""

import socket
import threading
import time

import pytest

import omr
from conftest import HYBRID, TINY


@pytest.fixture(scope="module")
def client(url):
    return omr.Client(url)


@pytest.fixture(scope="module")
def key(client, alice, alice_key, tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "detection.key"
    path.write_bytes(alice_key)
    told = []
    hash = client.register(path, progress=lambda *news: told.append(news))
    assert told[-1] == ("uploading key", len(alice_key), len(alice_key))
    return hash


def test_letters_come_through_a_server(client, key, alice, bob):
    before = client.board()
    assert (before.params, before.first, len(before.board_id)) == (TINY, 0, 16)
    short = client.post(alice.address, b"hello", name="letter.txt")
    other = client.post(bob.address, b"not for her")
    long = client.post(alice.address, b"long " * 400)
    assert len(short) == len(other) == 1 and len(long) > 3
    assert client.board().messages == long[-1] + 1
    digest = client.digest(key, bound=20)
    letters = alice.decode(digest)
    assert [(letter.index, letter.data) for letter in letters] == [(short[0], b"hello"), (long[0], b"long " * 400)]
    assert letters[0].name == "letter.txt"
    told = []
    part = client.digest(
        key, range=range(short[0], other[0]), bound=5, indices_only=True, progress=lambda *news: told.append(news)
    )
    assert alice.decode(part).indices == short
    assert part.range == range(short[0], other[0])


def test_servers_refuse_by_kind(url, client, key, carol, alice, tmp_path):
    with pytest.raises(omr.OtherParamsError) as error:
        client.post(carol.address, b"hello")
    assert (error.value.expected, error.value.found) == (TINY, HYBRID)
    with pytest.raises(omr.ServerError):
        client.digest(b"x" * 32)
    with pytest.raises(omr.ServerError):
        client.digest(key, range=range(0, 1 << 40))
    with pytest.raises(ValueError, match="32 bytes"):
        client.digest(b"short")
    with pytest.raises(FileNotFoundError):
        client.register(tmp_path / "nothing")
    with pytest.raises(omr.AccessError):
        omr.Client(url, "unknown-token").post(alice.address, b"x")
    for bad in ["no url", "http://example.org:1"]:
        with pytest.raises(omr.ServerError):
            omr.Client(bad)


def test_nobody_answers():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    start = time.monotonic()
    with pytest.raises(omr.UnreachableError):
        omr.Client(f"http://127.0.0.1:{port}").board()
    assert time.monotonic() - start < 20


def test_other_threads_run_while_a_call_waits(client):
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.002):
            ticks.append(1)

    ticker = threading.Thread(target=tick)
    ticker.start()
    for _ in range(40):
        client.board()
    over.set()
    ticker.join()
    assert ticks


def test_a_revoked_key_serves_no_longer(client, bob, tmp_path):
    path = tmp_path / "bob.key"
    bob.save_detection_key(path)
    hash = client.register(path)
    client.revoke(hash)
    with pytest.raises(omr.ServerError):
        client.digest(hash)
