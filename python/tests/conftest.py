"""What the tests share: recipients and detection keys of the small sets, made once."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import tomllib

import pytest

import omr

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
TINY = "insecure-tiny-v4"
HYBRID = "insecure-tiny-hybrid-v4"
COMMAND = os.environ.get("OMR_COMMAND")
# A name of the servers that only a proxy can resolve.
HIDDEN = "board.omr-test.onion"


def interrupt(program, *args):
    """Sends Ctrl-C to a program that prints `ready` and then `interrupted`: the seconds between, what it prints after."""
    child = subprocess.Popen(
        [sys.executable, "-c", program, *args],
        stdout=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, Ctrl-C is ignored, which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.4)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        seconds = time.monotonic() - start
        rest, _ = child.communicate(timeout=20)
        assert child.returncode == 0
    finally:
        child.kill()
        child.wait()
    return seconds, rest


@pytest.fixture(scope="session")
def alice():
    return omr.Identity.generate(TINY)


@pytest.fixture(scope="session")
def bob():
    return omr.Identity.generate(TINY)


@pytest.fixture(scope="session")
def alice_key(alice):
    return alice.detection_key()


@pytest.fixture(scope="session")
def detector(alice_key):
    return omr.Detector(alice_key)


@pytest.fixture(scope="session")
def carol():
    """She has keys for both engines."""
    return omr.Identity.generate(HYBRID)


@pytest.fixture(scope="session")
def carol_keys(carol):
    return carol.detection_key("sophomr"), carol.detection_key("instantomr")


@pytest.fixture
def board(tmp_path):
    with omr.Board.create(tmp_path / "board", params=TINY) as board:
        yield board


@pytest.fixture
def hybrid_board(tmp_path):
    with omr.Board.create(tmp_path / "hybrid", params=HYBRID) as board:
        yield board


@pytest.fixture(scope="session")
def filled(tmp_path_factory, alice, bob):
    """A board with 40 letters, every eighth of them for Alice."""
    path = tmp_path_factory.mktemp("boards") / "filled"
    with omr.Board.create(path, params=TINY) as board:
        to = [alice if i % 8 == 3 else bob for i in range(40)]
        board.post_many((who.address, b"letter %d" % i) for i, who in enumerate(to))
    with omr.Board.open(path) as board:
        yield board


@pytest.fixture(scope="session")
def serve(tmp_path_factory):
    """Starts servers of the command that `OMR_COMMAND` names; without it such tests are skipped."""
    if not COMMAND:
        pytest.skip("OMR_COMMAND names no command")
    servers = []

    def start(*args):
        folder = tmp_path_factory.mktemp("server")
        command = [COMMAND, *map(str, args), "--anonymous", "--listen", "127.0.0.1:0", "--data", str(folder / "data")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        servers.append(server)
        for line in server.stdout:
            if line.startswith("listening on "):
                return line.split()[-1]
        pytest.fail((folder / "log").read_text())

    yield start
    for server in servers:
        server.terminate()
        server.communicate(timeout=60)


@pytest.fixture(scope="session")
def url(serve, tmp_path_factory):
    config = tmp_path_factory.mktemp("config") / "omr.toml"
    # A digest waits for no others.
    config.write_text(f'[access]\nhosts = ["{HIDDEN}"]\n[detector]\ntogether_seconds = 0.0\n')
    return serve("serve", "--params", TINY, "--config", config)
