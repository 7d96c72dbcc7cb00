"""What the tests share: recipients and detection keys of the small sets, made once."""

import pathlib

import pytest

import omr

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = "insecure-tiny-v3"
HYBRID = "insecure-tiny-hybrid-v3"


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
