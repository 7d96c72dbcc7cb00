"""The command `omr` and this package read and write the same files, and make the same digests.

`OMR_COMMAND` names the command; without it these tests are skipped.
"""

import json
import os
import subprocess

import pytest

import omr
from conftest import HYBRID, TINY

COMMAND = os.environ.get("OMR_COMMAND")
pytestmark = pytest.mark.skipif(not COMMAND, reason="OMR_COMMAND names no command")


def run(*args):
    done = subprocess.run([COMMAND, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def files(tmp_path):
    """Keys, a board with two letters and its digest, all by the command."""
    (tmp_path / "letter.txt").write_bytes(b"hello Alice")
    (tmp_path / "long.txt").write_bytes(b"long " * 400)
    run("keygen", "--params", TINY, "--out", tmp_path / "alice")
    run("board", "init", "--params", TINY, tmp_path / "board")
    address = tmp_path / "alice" / "clue.key"
    run("post", "--board", tmp_path / "board", "--to", address, tmp_path / "letter.txt", tmp_path / "long.txt")
    key = tmp_path / "alice" / "detection.key"
    run("digest", "--board", tmp_path / "board", "--detection-key", key, "--bound", 20, "--out", tmp_path / "digest")
    return tmp_path


def test_digests_of_one_seed_are_equal_byte_for_byte(files):
    theirs = omr.Digest.load(files / "digest")
    detector = omr.Detector(files / "alice" / "detection.key")
    with omr.Board.open(files / "board") as board:
        ours = detector.digest(board, bound=20, seed=theirs.seed)
        other = detector.digest(board, bound=20)
    assert bytes(ours) == (files / "digest").read_bytes()
    assert bytes(other) != bytes(ours) and len(bytes(other)) == len(bytes(ours))


def test_python_reads_what_the_command_wrote(files):
    alice = omr.Identity.load(files / "alice")
    letters = alice.decode(omr.Digest.load(files / "digest"))
    assert [(letter.name, letter.data) for letter in letters] == [
        ("letter.txt", b"hello Alice"),
        ("long.txt", b"long " * 400),
    ]


def test_the_command_reads_what_python_wrote(files):
    bob = omr.Identity.generate(TINY)
    bob.save(files / "bob", plain=True)
    bob.save_detection_key(files / "bob" / "detection.key")
    with omr.Board.open(files / "board", writable=True) as board:
        board.post(files / "bob" / "clue.key", b"from Python", name="note.txt")
    board = files / "board"
    assert run("board", "verify", board).startswith("sound")
    key = files / "bob" / "detection.key"
    run("digest", "--board", board, "--detection-key", key, "--bound", 5, "--out", files / "bobs")
    secret, out = files / "bob" / "secret.key", files / "letters"
    told = json.loads(run("decode", "--json", "--secret-key", secret, "--digest", files / "bobs", "--out", out))
    assert told["pertinent"] == 1
    assert [path.read_bytes() for path in out.iterdir()] == [b"from Python"]


def test_boards_that_python_made_are_the_commands(tmp_path):
    carol = omr.Identity.generate(HYBRID)
    with omr.Board.create(tmp_path / "board", params=HYBRID, payload_bytes=300) as board:
        board.post(carol.address, b"hello")
        board_id = board.board_id.hex()
    told = json.loads(run("board", "stat", "--json", tmp_path / "board"))
    assert (told["board_id"], told["params"], told["messages"]) == (board_id, HYBRID, 1)
    assert (told["payload_bytes"], told["sealing"], told["clues"]) == (300, "hpke-x25519", "bound")
