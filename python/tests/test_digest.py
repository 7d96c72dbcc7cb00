"""Digests: made, written, read, decoded."""

import shutil

import pytest

import omr
from conftest import HYBRID, TINY

SEED = bytes(range(32))


def test_a_digest_holds_exactly_her_messages(filled, alice, bob, detector):
    digest = detector.digest(filled, bound=10)
    letters = alice.decode(digest)
    assert [(letter.index, letter.data) for letter in letters] == [(i, b"letter %d" % i) for i in range(3, 40, 8)]
    assert len(letters) == 5 and letters[-1].index == 35 and letters[1:3][0].index == 11
    assert letters.left_out == [] and letters.incomplete == []
    assert (digest.params, digest.scheme, digest.range) == (TINY, "sophomr", range(0, 40))
    assert (digest.bound, digest.payload_bytes, digest.sealing) == (10, 612, "hpke-x25519")
    assert digest.board_id == filled.board_id and digest.unusable_clues == 0
    assert sum(digest.stages.values()) > 0
    with pytest.raises(omr.OtherKeyError) as error:
        bob.decode(digest)
    assert error.value.expected != error.value.found


def test_bytes_and_files_are_the_same_digest(filled, detector, tmp_path):
    digest = detector.digest(filled)
    digest.save(tmp_path / "digest")
    again = omr.Digest.from_bytes(bytes(digest))
    assert again == digest == omr.Digest.load(tmp_path / "digest")
    assert bytes(again) == (tmp_path / "digest").read_bytes()
    assert again.stages == {}
    with pytest.raises(FileExistsError):
        digest.save(tmp_path / "digest")
    digest.save(tmp_path / "digest", overwrite=True)


def test_a_seed_makes_the_digest_the_same(filled, alice_key, detector):
    digests = [bytes(detector.digest(filled, seed=SEED)) for _ in range(2)]
    digests.append(bytes(omr.Detector(alice_key, threads=1).digest(filled, seed=SEED)))
    assert len(set(digests)) == 1
    assert omr.Digest.from_bytes(digests[0]).seed == SEED
    assert bytes(detector.digest(filled)) != bytes(detector.digest(filled))
    with pytest.raises(ValueError, match="32 bytes"):
        detector.digest(filled, seed=b"short")


def test_ranges_and_indices(filled, alice, detector):
    digest = detector.digest(filled, range=range(4, 20))
    assert digest.range == range(4, 20)
    assert [letter.index for letter in alice.decode(digest)] == [11, 19]
    indices = detector.digest(filled, indices_only=True)
    assert indices.scheme == "sophomd" and indices.payload_bytes is None
    decoded = alice.decode(indices)
    assert list(decoded) == [] and decoded.indices == [3, 11, 19, 27, 35]
    assert [one.payload for one in alice.retrieve(indices)] == [None] * 5
    assert detector.digest(filled, scheme="sophomd").payload_bytes is None
    with pytest.raises(ValueError):
        detector.digest(filled, scheme="other")
    with pytest.raises(ValueError, match="step"):
        detector.digest(filled, range=range(0, 40, 2))
    with pytest.raises(omr.BoardError, match="within 0..40"):
        detector.digest(filled, range=range(0, 41))
    with pytest.raises(omr.PlanError, match="at least one message"):
        detector.digest(filled, range=range(5, 5))


def test_too_many_messages_are_counted(filled, alice, detector):
    digest = detector.digest(filled, bound=2)
    with pytest.raises(omr.DigestOverflowError) as error:
        alice.decode(digest)
    overflow = error.value
    assert (overflow.start, overflow.end) == (0, 40)
    assert (overflow.count, overflow.bound) == (5, 2)
    assert isinstance(overflow, omr.DecodeError) and isinstance(overflow, omr.OmrError)
    with pytest.raises(omr.PlanError) as error:
        detector.digest(filled, bound=5000)
    assert error.value.found == 5000


def test_progress_is_told_stage_by_stage(filled, alice_key):
    told = []
    detector = omr.Detector(alice_key, progress=lambda *news: told.append(news))
    assert told[0][0] == "reading key" and told[-1][1] == len(alice_key)
    told.clear()
    detector.digest(filled, progress=lambda *news: told.append(news))
    assert told and all(0 <= done <= total for _, done, total in told)
    assert all(isinstance(stage, str) for stage, _, _ in told)


def test_what_progress_raises_ends_the_work(filled, detector):
    class Enough(Exception):
        pass

    def progress(stage, done, total):
        raise Enough(stage)

    with pytest.raises(Enough):
        detector.digest(filled, progress=progress)
    detector.digest(filled)


def test_boards_without_sealing_warn(tmp_path, alice, detector):
    with omr.Board.create(tmp_path / "b", params=TINY, sealing="none") as board:
        board.post(alice.address, b"public")
        digest = detector.digest(board)
    with pytest.warns(omr.UnsealedWarning):
        assert alice.decode(digest)[0].data == b"public"
    assert alice.decode(digest, sealing="none")[0].data == b"public"
    with pytest.raises(omr.DecodeError) as error:
        alice.decode(digest, sealing="x-wing")
    assert (error.value.expected, error.value.found) == ("x-wing", "none")


def test_both_engines_answer(hybrid_board, carol, carol_keys):
    hybrid_board.post_many((carol.address, b"%d" % i) for i in range(5))
    sophomr, instantomr = carol_keys
    both = omr.Detector([sophomr, instantomr])
    schemes = {}
    for detector in [both, omr.Detector(sophomr), omr.Detector(instantomr)]:
        digest = detector.digest(hybrid_board, bound=9)
        schemes[digest.scheme] = [letter.data for letter in carol.decode(digest)]
    expected = [b"%d" % i for i in range(5)]
    assert schemes == {"instantomr": expected, "sophomr": expected}


def test_sessions_grow_with_the_board(hybrid_board, carol, carol_keys, filled):
    detector = omr.Detector(carol_keys[1])
    hybrid_board.post(carol.address, b"before")
    session = detector.session(hybrid_board, bound=8)
    assert session.next == 0
    assert session.extend(hybrid_board) == range(0, 1)
    hybrid_board.post(carol.address, b"after")
    told = []
    assert session.extend(hybrid_board, progress=lambda *news: told.append(news)) == range(1, 2)
    assert told[-1] == ("messages", 1, 1)
    assert session.extend(hybrid_board) == range(2, 2)
    digest = session.digest()
    assert [letter.data for letter in carol.decode(digest)] == [b"before", b"after"]
    resumed = detector.resume(bytes(session))
    assert (resumed.next, resumed.params) == (2, HYBRID)
    assert bytes(resumed.digest()) == bytes(digest)
    cut = session.cut(0)
    assert (session.cuts, cut) == (1, digest) and session.cut(0) == cut
    with pytest.raises(omr.DetectorError):
        session.cut(7)
    with pytest.raises(omr.BoardError, match="within"):
        session.extend(hybrid_board, end=9)
    with pytest.raises(omr.OtherParamsError):
        session.extend(filled)


def test_lost_messages_are_named_apart_from_clues_that_cannot_be_read(carol, carol_keys, tmp_path):
    folder = tmp_path / "board"
    with omr.Board.create(folder, params=HYBRID) as board:
        for letter in [b"0", b"1", b"2", b"3"]:
            board.post(carol.address, letter)
        payload = board[2].payload
    # One bit of the message's payload is damaged, wherever the file has it.
    file = folder / "board.redb"
    content = bytearray(file.read_bytes())
    at = content.find(payload)
    assert at >= 0
    while at >= 0:
        content[at + len(payload) // 2] ^= 4
        at = content.find(payload, at + 1)
    file.write_bytes(content)
    detector = omr.Detector(carol_keys)
    with omr.Board.open(folder) as board:
        digest = detector.digest(board, bound=4)
        assert [letter.data for letter in carol.decode(digest)] == [b"0", b"1", b"3"]
        assert (digest.lost, digest.unusable_clues) == ([2], 0)
        before = detector.digest(board, range=range(0, 2), bound=4)
        assert (before.lost, before.unusable_clues) == ([], 0)
        assert omr.Digest.from_bytes(bytes(digest)).lost == []
        session = detector.session(board, bound=4)
        session.extend(board, end=2)
        assert session.digest().lost == []
        session.extend(board, end=3)
        assert (session.digest().lost, session.digest().unusable_clues) == ([2], 0)
        cut = session.cut(0)
        assert (cut.lost, cut.unusable_clues) == ([2], 0)
        session.extend(board)
        rest = session.digest()
        assert (rest.range, rest.lost, rest.unusable_clues) == (range(3, 4), [], 0)
        assert (session.cut(0).lost, session.cut(1).lost) == ([2], [])


def test_sessions_notice_a_board_that_was_put_back(carol, carol_keys, tmp_path):
    folder, older, newer = tmp_path / "board", tmp_path / "older", tmp_path / "newer"
    omr.Board.create(folder, params=HYBRID).close()

    def post(*letters):
        with omr.Board.open(folder, writable=True) as board:
            for letter in letters:
                board.post(carol.address, letter)

    def put(copy):
        shutil.copy(copy, folder / "board.redb")

    post(b"0", b"1")
    shutil.copy(folder / "board.redb", older)
    post(b"2", b"3")
    detector = omr.Detector(carol_keys[1])
    with omr.Board.open(folder) as board:
        session = detector.session(board, start=1, bound=8)
        start = session.log_hash
        session.extend(board)
        seen = session.log_hash
        assert len(seen) == 32 and seen != start
        # Another session of the same messages has seen the same.
        assert detector.session(board, start=4).log_hash == seen
    post(b"4")
    shutil.copy(folder / "board.redb", newer)
    put(older)
    kept = bytes(session)
    for more, hash_is_known in [((), False), ((b"5", b"6"), True), ((b"7",), True)]:
        post(*more)
        for one in [session, detector.resume(kept)]:
            with omr.Board.open(folder) as board:
                with pytest.raises(omr.OtherHistoryError, match="start=1") as error:
                    one.extend(board)
                found = len(board)
            said = error.value
            assert (said.expected, said.found, said.common) == (4, found, 1)
            assert said.expected_hash == seen.hex()
            assert (said.found_hash is not None) == hash_is_known
            assert said.found_hash != seen.hex()
            assert bytes(one) == kept
    put(newer)
    with omr.Board.open(folder) as board:
        assert session.extend(board) == range(4, 5)
    letters = carol.decode(session.digest())
    assert [letter.data for letter in letters] == [b"1", b"2", b"3", b"4"]


def test_sessions_end_with_their_room(hybrid_board, carol, carol_keys, tmp_path):
    detector = omr.Detector(carol_keys[1])
    hybrid_board.post_many((carol.address, b"%d" % i) for i in range(4))
    session = detector.session(hybrid_board, start=1, room=2)
    assert session.extend(hybrid_board) == range(1, 3)
    with pytest.raises(omr.DetectorError, match="room"):
        session.extend(hybrid_board, end=4)
    with omr.Board.create(tmp_path / "other", params=HYBRID) as other:
        with pytest.raises(omr.BoardError) as error:
            session.extend(other)
    assert error.value.found == other.board_id.hex()
    with pytest.raises(omr.DetectorError, match="InstantOMR"):
        omr.Detector(carol_keys[0]).session(hybrid_board)
