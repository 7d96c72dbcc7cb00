"""Boards: sequences of messages in a folder."""

import tomllib

import pytest

import omr
from conftest import HYBRID, ROOT, TINY


def test_a_board_is_a_sequence(filled):
    assert len(filled) == 40
    assert filled.first == 0
    messages = list(filled)
    assert [message.index for message in messages] == list(range(40))
    assert filled[5] == messages[5]
    assert filled[-1] == messages[39]
    assert filled[5:9] == messages[5:9]
    assert filled[-3:] == messages[37:]
    assert filled[9:5] == []
    assert {len(message.payload) for message in messages} == {612}
    assert len({len(message.clue) for message in messages}) == 1
    for outside in [40, -41, 1 << 40]:
        with pytest.raises(IndexError):
            filled[outside]
    with pytest.raises(ValueError, match="step"):
        filled[::2]
    with pytest.raises(TypeError):
        filled["first"]


def test_boards_and_identities_have_the_set_of_servers(tmp_path):
    server = tomllib.loads((ROOT / "packaging" / "omr.toml").read_text())["board"]["params"]
    with omr.Board.create(tmp_path / "board") as board:
        assert board.params == omr.Identity.generate().params == server


def test_what_a_board_says_of_itself(board, tmp_path):
    assert (board.params, board.sealing, board.clues) == (TINY, "hpke-x25519", "bound")
    assert (board.payload_bytes, len(board.board_id), len(board)) == (612, 16, 0)
    assert board.path == tmp_path / "board"
    assert board.writable and not board.closed
    assert TINY in repr(board)


def test_closed_boards_say_so(tmp_path, alice, detector):
    board = omr.Board.create(tmp_path / "b", params=TINY)
    with board:
        board.post(alice.address, b"hello")
        messages = iter(board)
    assert board.closed
    calls = [
        lambda: len(board),
        lambda: board[0],
        lambda: board.post(alice.address, b"late"),
        lambda: board.append([]),
        lambda: detector.digest(board),
        lambda: next(messages),
        lambda: board.__enter__(),
    ]
    for call in calls:
        with pytest.raises(omr.BoardClosedError):
            call()
    board.close()
    assert "closed" in repr(board)


def test_one_writer_or_many_readers(tmp_path):
    path = tmp_path / "b"
    with omr.Board.create(path, params=TINY):
        with pytest.raises(omr.BoardBusyError):
            omr.Board.open(path)
        with pytest.raises(omr.BoardBusyError):
            omr.Board.open(path, writable=True, timeout=0.05)
    with omr.Board.open(path) as one, omr.Board.open(path) as other:
        assert one.board_id == other.board_id


def test_readers_do_not_write(filled, alice):
    with pytest.raises(omr.BoardError, match="reading only"):
        filled.post(alice.address, b"no")
    assert len(filled) == 40


def test_long_letters_take_several_messages(board, alice, detector):
    text = bytes(range(256)) * 20
    where = board.post(alice.address, text, name="long.bin")
    assert len(where) > 8 and len(board) == len(where)
    whole = alice.decode(detector.digest(board))
    assert [(letter.index, letter.name, letter.data) for letter in whole] == [(0, "long.bin", text)]
    assert whole.indices == list(where)
    # Two digests that hold a part each.
    first = detector.digest(board, range=range(0, 4))
    rest = detector.digest(board, range=range(4, len(board)))
    half = alice.decode(first)
    assert len(half) == 0
    assert [(part.have, part.total) for part in half.incomplete] == [(4, len(where))]
    assert half.incomplete[0].indices == [0, 1, 2, 3]
    assert alice.decode(first, rest)[0].data == text


def test_posting_many_tells_where_each_letter_went(board, alice, bob):
    told = []
    letters = [(alice.address, b"one"), (bob.address, b"x" * 2000, "two.txt"), (alice.address, bytearray(b"three"))]
    where = board.post_many(iter(letters), progress=lambda *news: told.append(news), threads=2)
    assert [span.start for span in where] == [0, 1, where[1].stop]
    assert len(where[1]) > 1 and where[2] == range(where[1].stop, len(board))
    assert told[-1] == ("messages", 3, 3)


def test_messages_go_from_board_to_board_of_the_same_id_alone(filled, board, tmp_path):
    # A bound clue is signed for its board.
    with pytest.raises(omr.BoardError, match="signed"):
        board.append(filled[0:2])
    assert len(board) == 0
    # One-time keys are taken once.
    with pytest.raises(omr.BoardError):
        board.append([omr.Message(b"short", b"payload")])
    with pytest.raises(TypeError):
        board.append([(b"clue", b"payload")])


def test_plain_boards_take_any_message(tmp_path):
    plain = omr.Identity.generate(TINY, clues="plain")
    with omr.Board.create(tmp_path / "a", params=TINY, clues="plain", payload_bytes=100) as board:
        board.post(plain.address, b"hello")
        message = board[0]
        assert board.append([omr.Message(message.clue, b"p" * 100), message]) == range(1, 3)
        with pytest.raises(omr.BoardError, match="expected 100 bytes"):
            board.append([omr.Message(message.clue, b"p")])
        digest = omr.Detector(plain.detection_key()).digest(board)
    found = plain.retrieve(digest)
    assert [one.index for one in found] == [0, 1, 2]
    assert found[1].payload == b"p" * 100
    opened = plain.decode(digest)
    # Not sealed for her, and so left out with a reason.
    assert [letter.data for letter in opened] == [b"hello", b"hello"]
    assert [one.index for one in opened.left_out] == [1]


def test_boards_refuse_addresses_of_others(board, carol):
    with pytest.raises(omr.OtherParamsError) as error:
        board.post(carol.address, b"hello")
    assert (error.value.expected, error.value.found) == (TINY, HYBRID)
    plain = omr.Identity.generate(TINY, clues="plain")
    with pytest.raises(omr.BoardError) as error:
        board.post(plain.address, b"hello")
    assert (error.value.expected, error.value.found) == ("bound", "plain")


def test_expired_messages_are_gone_and_indices_stay(board, alice, detector):
    board.post_many((alice.address, b"%d" % i) for i in range(6))
    assert board.expire(4) == range(0, 4)
    assert (board.first, len(board)) == (4, 6)
    assert [message.index for message in board] == [4, 5]
    with pytest.raises(IndexError):
        board[3]
    with pytest.raises(omr.BoardError, match="expired"):
        detector.digest(board, range=range(0, 6))
    assert [letter.data for letter in alice.decode(detector.digest(board))] == [b"4", b"5"]


def test_boards_are_made_once(tmp_path):
    omr.Board.create(tmp_path / "b", params=TINY).close()
    with pytest.raises(omr.BoardError, match="exists"):
        omr.Board.create(tmp_path / "b", params=TINY)
    with pytest.raises(omr.BoardError, match="no board"):
        omr.Board.open(tmp_path / "nothing")
    with pytest.raises(omr.PlanError):
        omr.Board.create(tmp_path / "c", params=TINY, payload_bytes=0)
    with pytest.raises(omr.BoardError, match="at least 49"):
        omr.Board.create(tmp_path / "c", params=TINY, payload_bytes=20)
    for words in [{"sealing": "wax"}, {"clues": "loose"}]:
        with pytest.raises(ValueError):
            omr.Board.create(tmp_path / "c", params=TINY, **words)
    with pytest.raises(omr.ParamsError):
        omr.Board.create(tmp_path / "c", params="none-v1")
