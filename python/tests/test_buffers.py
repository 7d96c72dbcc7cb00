"""Whatever has the buffer interface is taken where bytes are; what has gaps or other elements is refused."""

import array
import mmap

import pytest

import omr
from omr import pdq


def views(data):
    """The same bytes in other objects."""
    yield bytearray(data)
    yield memoryview(data)
    yield memoryview(b"--" + data + b"--")[2:-2]
    yield array.array("B", data)
    table = memoryview(data[: len(data) // 2 * 2]).cast("B", (len(data) // 2, 2))
    if table.nbytes == len(data):
        yield table


def test_keys_come_from_any_buffer(alice, alice_key, filled, tmp_path):
    expected = [letter.data for letter in alice.decode(omr.Detector(alice_key).digest(filled))]
    (tmp_path / "key").write_bytes(alice_key)
    with (tmp_path / "key").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for key in [*views(alice_key), mapped]:
            digest = omr.Detector(key, threads=1).digest(filled)
            assert [letter.data for letter in alice.decode(digest)] == expected
    for secret in views(alice.secret_bytes()):
        for address in views(alice.address):
            assert omr.Identity.from_bytes(secret, address=address).address == alice.address
    for file in views(bytes(digest)):
        assert omr.Digest.from_bytes(file) == digest


def test_letters_and_messages_come_from_any_buffer(alice, alice_key, board):
    data = b"even"
    for view in views(data):
        board.post(alice.address, view)
        board.post_many([(memoryview(alice.address), view, "name")])
        assert omr.Message(view, view) == omr.Message(data, data)
    letters = alice.decode(omr.Detector(alice_key).digest(board))
    assert [letter.data for letter in letters] == [data] * 10


def test_private_queries_come_from_any_buffer(tmp_path):
    keys = pdq.Keys.generate("insecure-tiny-pdq-v1")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    table = pdq.Table.from_csv(tmp_path / "t.csv")
    key = pdq.EvaluationKey.from_bytes(memoryview(bytes(keys.evaluation_key())))
    query = keys.query(pdq.Schema.from_bytes(bytearray(bytes(table.schema))), "SELECT b FROM t WHERE a = 3")
    assert query.rows(memoryview(table.answer(memoryview(bytes(query)), key))).to_csv().split() == ["row,b", "1,4"]


def test_gaps_and_other_elements_are_refused(alice, alice_key, board):
    with pytest.raises(BufferError, match="without gaps, found one of the type memoryview"):
        omr.Detector(memoryview(alice_key)[::2])
    with pytest.raises(BufferError, match="format B, found the type array with the format d"):
        omr.Digest.from_bytes(array.array("d", [1.0]))
    with pytest.raises(BufferError, match="gaps"):
        board.post(alice.address, memoryview(b"abcd")[::-1])
    with pytest.raises(TypeError, match="its path, found int"):
        omr.Identity.from_bytes(3)
    with pytest.raises(TypeError, match="found str"):
        board.post(alice.address, "text")
