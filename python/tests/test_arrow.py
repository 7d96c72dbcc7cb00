"""Boards as data frames, by Arrow's interface."""

import os

import nanoarrow
import pytest

import omr
from conftest import TINY


def test_a_board_is_a_stream_of_its_messages(tmp_path, alice):
    with omr.Board.create(tmp_path / "board", params=TINY) as board:
        assert nanoarrow.Array(board).to_pylist() == []
        board.post_many((alice.address, b"%d" % i) for i in range(2100))
        board.expire(50)
        stream = nanoarrow.ArrayStream(board)
        assert [field.name for field in stream.schema.fields] == ["index", "clue", "payload"]
        rows = [row for batch in stream for row in batch.to_pylist()]
        expected = [{"index": one.index, "clue": one.clue, "payload": one.payload} for one in board]
        assert rows == expected and [rows[0]["index"], len(rows)] == [50, 2050]
        late = nanoarrow.ArrayStream(board)
    assert sum(len(batch) for batch in late) == 2050
    with pytest.raises(omr.BoardClosedError):
        nanoarrow.ArrayStream(board)


@pytest.mark.skipif(not os.environ.get("OMR_FRAMES"), reason="OMR_FRAMES asks for the large libraries of data frames")
def test_data_frames_of_others_read_boards(filled):
    import polars
    import pyarrow

    expected = {
        "index": list(range(40)),
        "clue": [message.clue for message in filled],
        "payload": [message.payload for message in filled],
    }
    assert polars.DataFrame(filled).to_dict(as_series=False) == expected
    assert pyarrow.table(filled).to_pydict() == expected
