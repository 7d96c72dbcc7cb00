"""Properties that hold for any letters, ranges and bytes."""

import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omr
import pytest
from conftest import TINY

few = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
many = settings(few, max_examples=200)
numbers = itertools.count()

names = st.none() | st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=30)
letters = st.lists(st.tuples(st.booleans(), st.binary(max_size=1500), names), min_size=1, max_size=6)


@few
@given(letters=letters)
def test_what_is_posted_is_found(letters, tmp_path, alice, bob, detector):
    with omr.Board.create(tmp_path / str(next(numbers)), params=TINY) as board:
        where = board.post_many((alice.address if hers else bob.address, data, name) for hers, data, name in letters)
        assert [i for span in where for i in span] == list(range(len(board)))
        decoded = alice.decode(detector.digest(board))
    expected = [(span.start, data) for span, (hers, data, _) in zip(where, letters) if hers]
    assert [(letter.index, letter.data) for letter in decoded] == expected
    assert decoded.incomplete == [] and decoded.left_out == []
    # A name is made harmless, so that it is one of a file and nothing else.
    assert all(letter.name is None or "/" not in letter.name for letter in decoded)


@few
@given(span=st.tuples(st.integers(0, 39), st.integers(1, 40)).map(sorted).filter(lambda s: s[0] < s[1]))
def test_a_range_holds_what_lies_in_it(span, filled, alice, detector):
    start, end = span
    digest = detector.digest(filled, range=range(start, end), bound=8)
    assert digest.range == range(start, end)
    assert [letter.index for letter in alice.decode(digest)] == [i for i in range(start, end) if i % 8 == 3]


@many
@given(at=st.slices(40).filter(lambda s: s.step in (None, 1)), index=st.integers(-50, 50))
def test_boards_index_as_lists_do(at, index, filled):
    numbers = list(range(40))
    assert [message.index for message in filled[at]] == numbers[at]
    try:
        expected = numbers[index]
    except IndexError:
        with pytest.raises(IndexError):
            filled[index]
    else:
        assert filled[index].index == expected


@many
@given(junk=st.binary(max_size=300), cut=st.integers(0, 200))
def test_no_bytes_do_more_than_raise(junk, cut, alice):
    begun = alice.secret_bytes()[:cut] + junk
    for bytes in [junk, begun]:
        for read in [omr.Digest.from_bytes, omr.Detector, omr.Identity.from_bytes]:
            with pytest.raises(omr.OmrError):
                read(bytes)
