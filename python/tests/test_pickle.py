"""What is plain bytes travels between processes; what has secrets or open files says how to get there instead."""

import concurrent.futures
import copy
import multiprocessing
import pickle

import pytest

import omr
from conftest import ROOT, TINY
from omr import pdq


def again(one):
    return pickle.loads(pickle.dumps(one))


def fields(one):
    """The values of a value, however deep."""
    names = [name for name in dir(type(one)) if not name.startswith("_")]
    if isinstance(one, list):
        return [fields(each) for each in one]
    if type(one).__module__ != "omr":
        return one
    return {name: fields(getattr(one, name)) for name in names}


@pytest.fixture(scope="module")
def rounds(alice, filled):
    detector = omr.Detector(alice.detection_key("two-rounds"))
    scan = detector.scan(filled)
    return detector, scan


def test_files_travel_as_their_bytes(filled, alice, detector, rounds):
    digest = detector.digest(filled, bound=10)
    scans, scan = rounds
    files = [digest, scan]
    with omr.Board.open(filled.path) as board:
        assert again(board[3]) == board[3] and again(board[3]).index == 3
    for one in files:
        for other in [again(one), copy.copy(one), copy.deepcopy(one)]:
            assert type(other) is type(one) and other == one and bytes(other) == bytes(one)
    assert fields(alice.decode(again(digest))) == fields(alice.decode(digest))


def test_queries_and_answers_travel_without_what_only_their_maker_knows(tmp_path, alice):
    with omr.Board.create(tmp_path / "board", params=TINY) as board:
        board.post_many((alice.address, b"%d" % i) for i in range(600))
        detector = omr.Detector(alice.detection_key("two-rounds"))
        scan = detector.scan(board)
        query = alice.ask(scan)
        answer = detector.fetch(board, query)
    assert query.indices and again(query) == query and again(query).indices is None
    assert again(answer) == answer and again(answer).stages == {}
    assert fields(alice.decode(again(scan), again(query), again(answer))) == fields(alice.decode(scan, query, answer))


def test_values_travel_with_all_their_fields(filled, alice, detector):
    digest = detector.digest(filled, bound=10)
    decoded = alice.decode(digest)
    values = [
        decoded,
        *decoded,
        *alice.retrieve(digest),
        *omr.parameter_sets(),
        omr.Incomplete([1, 2], 2, 3),
        omr.LeftOut(4, "sealed to another key"),
        omr.InboxLetter(1, 2, "a.txt", b"data", 3, True, None, "bob", False, "00", "Re", "text/plain", 4),
        omr.Kept(1, 9, 50, None, False, "damaged", False, 0, 1, 2, False),
        omr.Waiting(3, 1),
        omr.Taken([], [omr.Kept(1, 9, 50, 60, True, "overflow", True, 0, 1, 2, False)], 2),
        omr.Canary(1, 2, "missing", (3, 4)),
        omr.BoardInfo(bytes(16), TINY, "x-wing", 100, 612, 7, 0),
    ]
    for one in values:
        other = again(one)
        assert type(other) is type(one) and fields(other) == fields(one) and repr(other) == repr(one)
    assert [letter.data for letter in again(decoded)] == [letter.data for letter in decoded] != []


def letters_of(path, key):
    with omr.Board.open(path) as board:
        return omr.Detector(key, threads=1).digest(board, bound=10)


def test_a_process_of_a_pool_returns_a_digest(filled, alice, alice_key):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        digest = pool.submit(letters_of, filled.path, alice_key).result(timeout=60)
    assert len(alice.decode(digest)) == 5


def test_private_queries_travel_without_their_secret():
    table = pdq.Table.from_csv(ROOT / "examples" / "people.csv")
    keys = pdq.Keys.generate("insecure-tiny-pdq-v1")
    query = keys.query(table.schema, "SELECT name FROM people WHERE age > 85 LIMIT 64")
    assert bytes(again(table.schema)) == bytes(table.schema)
    key = again(keys.evaluation_key())
    assert query.rows(table.answer(bytes(query), key)).columns == ["name"]
    for one, way in [(keys, "Keys.load"), (query, "Query.from_bytes"), (table, "Table.load")]:
        with pytest.raises(TypeError, match=way):
            pickle.dumps(one)


def test_what_has_secrets_or_open_files_names_the_way(filled, alice, detector, carol_keys, hybrid_board):
    session = omr.Detector(carol_keys[1]).session(hybrid_board)
    ways = {
        "secret_bytes": alice,
        "detection keys": detector,
        "write the words down": omr.Words.generate(),
        "Board.open": filled,
        "Detector.resume": session,
    }
    for way, one in ways.items():
        for refused in [pickle.dumps, copy.copy, copy.deepcopy]:
            with pytest.raises(TypeError, match=way):
                refused(one)
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(omr.Client("http://127.0.0.1:9"))
