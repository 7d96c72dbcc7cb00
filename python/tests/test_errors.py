"""Errors by kind: what is wrong decides the class, and numbers are attributes."""

import pickle

import pytest

import omr
from conftest import HYBRID, ROOT, TINY


def test_every_class_is_an_omr_error():
    classes = [getattr(omr, name) for name in omr.__all__ if name.endswith("Error")]
    assert len(classes) == 27 and all(issubclass(one, omr.OmrError) for one in classes)
    assert issubclass(omr.DigestOverflowError, omr.DecodeError)
    assert issubclass(omr.PlanError, omr.DetectorError)
    assert not issubclass(omr.OmrError, (OSError, ValueError))


def test_errors_travel_between_processes():
    error = omr.DigestOverflowError("too many", start=1, end=9, count=5, bound=2)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "too many" and vars(again) == vars(error)
    assert omr.OmrError("x").expected is None


@pytest.mark.parametrize("wrong", [3, None, 2.5, object()])
def test_wrong_types_are_type_errors(wrong, alice, detector, filled, board):
    calls = [
        lambda: omr.Detector(wrong),
        lambda: omr.Digest.from_bytes(wrong),
        lambda: omr.Identity.from_bytes(wrong),
        lambda: omr.Identity.from_words(wrong),
        lambda: omr.Words.parse(wrong),
        lambda: detector.digest(wrong),
        lambda: board.post(alice.address, wrong),
        lambda: board.post_many([wrong]),
        lambda: board.post_many([(alice.address, wrong)]),
        lambda: alice.decode(wrong),
        lambda: omr.Message(wrong, b""),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        detector.digest(filled, bound="many")
    with pytest.raises(OverflowError):
        detector.digest(filled, bound=-1)
    with pytest.raises(TypeError):
        detector.digest(filled, range=(0, 5))


def test_unknown_sets_are_refused():
    with pytest.raises(omr.ParamsError, match="expected one of the parameter sets"):
        omr.Identity.generate("sophomr-v9")
    with pytest.raises(ValueError, match="plain or bound"):
        omr.Identity.generate(TINY, clues="other")
    names = {known.name: known for known in omr.parameter_sets()}
    assert names[TINY].insecure and names["sophomr-v5"].security_bits >= 128
    assert names[HYBRID].engines == ["sophomr", "instantomr", "two-rounds"]


def test_keys_of_other_kinds_and_other_sets(alice, alice_key, carol_keys, filled, hybrid_board):
    with pytest.raises(omr.FileError) as error:
        omr.Detector(alice.address)
    assert error.value.found == "a clue key"
    with pytest.raises(omr.OtherParamsError):
        omr.Detector([alice_key, carol_keys[1]])
    with pytest.raises(omr.DetectorError, match="found two"):
        omr.Detector((alice_key, alice_key))
    # Keys of two recipients, as it were.
    with pytest.raises(TypeError, match="positional"):
        omr.Detector(alice_key, carol_keys[1])
    with pytest.raises(omr.DetectorError, match="found none"):
        omr.Detector([])
    with pytest.raises(ValueError):
        omr.Detector(alice_key, threads=0)
    with pytest.raises(omr.OtherParamsError) as error:
        omr.Detector(alice_key).digest(hybrid_board)
    assert (error.value.expected, error.value.found) == (TINY, HYBRID)


def test_keys_of_plain_clues_refuse_bound_boards(filled):
    plain = omr.Identity.generate(TINY, clues="plain")
    with pytest.raises(omr.DetectorError) as error:
        omr.Detector(plain.detection_key()).digest(filled)
    assert (error.value.expected, error.value.found) == ("plain", "bound")


def test_digests_of_other_sets_are_not_decoded(alice):
    digest = omr.Digest.load(ROOT / "testdata" / "wire" / "v1" / "instant-v4" / "digest.bin")
    with pytest.raises(omr.OtherParamsError):
        alice.decode(digest)


def test_files_that_are_cut_short_or_damaged(alice, alice_key):
    for whole, read in [
        (alice_key, omr.Detector),
        (alice.secret_bytes(), omr.Identity.from_bytes),
        (alice.address, lambda bytes: omr.Identity.from_bytes(alice.secret_bytes(), address=bytes)),
    ]:
        for cut in [0, 5, 60, len(whole) // 2, len(whole) - 1]:
            with pytest.raises(omr.FileError):
                read(whole[:cut])
        mauled = bytearray(whole)
        mauled[len(whole) // 2] ^= 4
        with pytest.raises(omr.FileError):
            read(mauled)
        with pytest.raises(omr.FileError, match="not an omr file"):
            read(b"x" * len(whole))


def test_the_systems_errors_stay_the_systems(tmp_path, alice, filled, detector):
    with pytest.raises(FileNotFoundError):
        omr.Detector(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        omr.Identity.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        omr.Digest.load(tmp_path)
    with pytest.raises(OSError):
        detector.digest(filled).save(tmp_path / "no" / "folder")


def test_empty_boards_have_no_digest(board, detector):
    with pytest.raises(omr.PlanError, match="at least one message"):
        detector.digest(board)


def test_letters_that_do_not_fit(tmp_path, alice):
    with omr.Board.create(tmp_path / "b", params=TINY, payload_bytes=90) as board:
        with pytest.raises(omr.LetterError, match="parts of at least"):
            board.post(alice.address, b"x" * 400)
        assert len(board) == 0


def test_digests_of_two_boards_are_not_mixed(alice, board, filled, detector):
    board.post(alice.address, b"hello")
    one, other = detector.digest(filled), detector.digest(board)
    with pytest.raises(omr.DecodeError) as error:
        alice.decode(one, other)
    assert (error.value.expected, error.value.found) == (filled.board_id.hex(), board.board_id.hex())
