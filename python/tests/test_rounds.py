"""Two rounds: scans, queries, answers, and the letters in them."""

import pytest

import omr
from conftest import HYBRID, TINY

# Messages whose payloads a scan contains, of a page, and for which a query asks, in the small sets; and a query's buckets:
# one without a message to ask for asks for a random place, which may be the place of another message.
BLOCK, PAGE, FETCHED, BUCKETS = 64, 48, 14, 16


@pytest.fixture(scope="module")
def rounds_key(alice):
    return alice.detection_key("two-rounds")


@pytest.fixture(scope="module")
def rounds(rounds_key):
    return omr.Detector(rounds_key)


@pytest.fixture(scope="module")
def long(tmp_path_factory, alice, bob):
    """A board with 150 letters, every sixth of them for Alice."""
    path = tmp_path_factory.mktemp("boards") / "long"
    with omr.Board.create(path, params=TINY) as board:
        to = [alice if i % 6 == 1 else bob for i in range(150)]
        board.post_many((who.address, b"letter %d" % i) for i, who in enumerate(to))
    with omr.Board.open(path) as board:
        yield board


HERS = list(range(1, 150, 6))


def test_queries_bring_all_letters_of_a_scan(long, alice, rounds, rounds_key):
    assert rounds.engines == ["two-rounds"]
    told = []
    scan = rounds.scan(long, progress=lambda *news: told.append(news))
    assert told[-1] == ("scan", 1, 1)
    assert (scan.params, scan.range, scan.board_id) == (TINY, range(150), long.board_id)
    assert (scan.sealing, scan.has_payloads, scan.lost, scan.unusable_clues) == ("hpke-x25519", False, [], 0)
    assert sum(scan.stages.values()) > 0
    found = alice.decode(scan)
    assert (list(found), found.indices, found.left_out) == ([], HERS, [])
    files, queries = [scan], []
    while not queries or queries[-1].left:
        query = alice.ask(scan, *queries)
        answer = omr.Detector(rounds_key, threads=1).fetch(long, query)
        assert bytes(answer) == bytes(rounds.fetch(long, query)) and answer.stages
        assert 0 < len(query.indices) <= BUCKETS
        assert {len(bytes(one)) for one in [query, *queries]} == {len(bytes(query))}
        before = {index for one in queries for index in one.indices}
        assert before.isdisjoint(query.indices)
        queries.append(query)
        files += [query, answer]
        letters = alice.decode(*reversed(files))
        came = sorted(before.union(query.indices))
        assert [(letter.index, letter.data) for letter in letters] == [(i, b"letter %d" % i) for i in came]
        assert (letters.indices, letters.left_out, letters.incomplete) == (HERS, [], [])
        payloads = [one.index for one in alice.retrieve(*files, scan, answer) if one.payload is not None]
        assert payloads == came and [one.index for one in alice.retrieve(*files)] == HERS
    assert came == HERS
    # An empty query looks like the others.
    more = alice.ask(scan, *queries)
    assert (more.indices, more.left, len(bytes(more))) == ([], 0, len(bytes(query)))
    assert alice.decode(scan, more, rounds.fetch(long, more)).indices == HERS


def test_a_scan_of_a_block_contains_the_letters(long, alice, bob, rounds):
    scan = rounds.scan(long, range=range(20, 20 + BLOCK))
    assert scan.has_payloads
    inside = [i for i in HERS if i in scan.range]
    assert [(letter.index, letter.data) for letter in alice.decode(scan)] == [(i, b"letter %d" % i) for i in inside]
    assert not rounds.scan(long, range=range(20, 21 + BLOCK)).has_payloads
    with pytest.raises(ValueError, match="contains them all"):
        alice.ask(scan)
    with pytest.raises(omr.OtherKeyError):
        bob.decode(scan)


def test_letters_in_parts_come_with_several_answers(board, alice, bob, rounds):
    long = bytes(range(256)) * 50
    first = board.post(alice.address, long)
    assert FETCHED < len(first)
    board.post(bob.address, bytes(500 * PAGE))
    scan = rounds.scan(board)
    one = alice.ask(scan)
    two = alice.ask(scan, one)
    answers = [rounds.fetch(board, query) for query in (one, two)]
    half = alice.decode(scan, one, answers[0])
    assert (len(half), half.incomplete[0].have) == (0, len(one.indices)) and half.indices == list(first)
    files, queries = [scan, one, two, *answers], [one, two]
    while queries[-1].left:
        queries.append(alice.ask(scan, *queries))
        files += [queries[-1], rounds.fetch(board, queries[-1])]
    assert [(letter.index, letter.data) for letter in alice.decode(*files)] == [(first[0], long)]


def test_files_are_the_same(long, alice, rounds, tmp_path):
    scan = rounds.scan(long)
    query = alice.ask(scan)
    answer = rounds.fetch(long, query)
    again = []
    for one in [scan, query, answer]:
        kind = type(one)
        one.save(tmp_path / "file", overwrite=True)
        assert (tmp_path / "file").read_bytes() == bytes(one)
        with pytest.raises(FileExistsError):
            one.save(tmp_path / "file")
        again.append(kind.load(tmp_path / "file"))
        assert again[-1] == kind.from_bytes(bytes(one)) == one
        with pytest.raises(omr.FileError):
            kind.from_bytes(bytes(one)[:-1])
        for other in {omr.Digest, omr.Scan, omr.FetchQuery, omr.FetchAnswer} - {kind}:
            with pytest.raises(omr.FileError, match="expected"):
                other.load(tmp_path / "file")
    assert again[0].range == again[1].range == scan.range
    assert (again[1].indices, again[1].left, again[0].stages, again[2].stages) == (None, None, {}, {})
    # Who reads them from files decodes and asks as before.
    letters = alice.decode(*again)
    assert [letter.index for letter in letters] == query.indices
    assert set(alice.ask(again[0], again[1]).indices).isdisjoint(query.indices)


def test_what_does_not_belong_together_is_refused(long, filled, alice, bob, rounds, detector):
    scan, other = rounds.scan(long), rounds.scan(long)
    query = alice.ask(scan)
    answer = rounds.fetch(long, query)
    for files, missing in [((query, answer), "scan"), ((scan, answer), "query"), ((other, query, answer), "scan")]:
        with pytest.raises(omr.DecodeError, match=f"the {missing} of an answer"):
            alice.decode(*files)
    with pytest.raises(omr.DecodeError, match="the query of an answer"):
        alice.decode(scan, alice.ask(scan), answer)
    with pytest.raises(omr.DecodeError, match="digests of one board"):
        alice.decode(scan, detector.digest(filled))
    with pytest.raises(omr.DecodeError) as error:
        alice.decode(scan, sealing="x-wing")
    assert (error.value.expected, error.value.found) == ("x-wing", "hpke-x25519")
    # Scans have seeds of their own, even of the same messages.
    with pytest.raises(omr.DetectorError):
        alice.ask(other, query)
    with pytest.raises(omr.OtherKeyError):
        bob.ask(scan)
    with pytest.raises(omr.DetectorError):
        omr.Detector(bob.detection_key("two-rounds")).fetch(long, query)
    with pytest.raises(omr.BoardError):
        rounds.fetch(filled, query)
    with pytest.raises(omr.DetectorError, match="two rounds"):
        detector.scan(long)
    with pytest.raises(TypeError):
        alice.decode(bytes(scan))
    for choice in [{}, {"scheme": "two-rounds"}]:
        with pytest.raises(omr.DetectorError, match="it makes scans"):
            rounds.digest(long, **choice)
    with pytest.raises(omr.PlanError, match="at least one message"):
        rounds.scan(long, range=range(5, 5))
    with pytest.raises(omr.BoardError, match="within 0..150"):
        rounds.scan(long, range=range(0, 151))
    with pytest.raises(ValueError, match="sophomr, instantomr or two-rounds"):
        alice.detection_key("other")
    with pytest.raises(omr.ParamsError):
        omr.Identity.generate("instantomr-v2").detection_key("two-rounds")


def test_expired_messages_are_left_out(board, alice, rounds):
    board.post_many((alice.address, b"%d" % i) for i in range(90))
    whole = rounds.scan(board)
    board.expire(10)
    scan = rounds.scan(board)
    assert scan.range == range(10, 90)
    query = alice.ask(scan)
    letters = alice.decode(scan, query, rounds.fetch(board, query))
    assert [letter.data for letter in letters] == [b"%d" % i for i in query.indices] and len(query.indices) > 0
    with pytest.raises(omr.BoardError):
        rounds.fetch(board, alice.ask(whole))


def test_boards_without_sealing_warn(tmp_path, alice, rounds):
    with omr.Board.create(tmp_path / "b", params=TINY, sealing="none") as board:
        board.post_many((alice.address, b"public %d" % i) for i in range(BLOCK + 1))
        scan = rounds.scan(board)
        query = alice.ask(scan)
        answer = rounds.fetch(board, query)
    assert len(alice.decode(scan).indices) == BLOCK + 1
    with pytest.warns(omr.UnsealedWarning):
        assert len(alice.decode(scan, query, answer)) == len(query.indices)
    assert len(alice.decode(scan, query, answer, sealing="none")) == len(query.indices)


def test_one_detector_has_keys_for_everything(hybrid_board, carol, carol_keys):
    hybrid_board.post(carol.address, b"hello")
    detector = omr.Detector([carol.detection_key("two-rounds"), *carol_keys])
    assert detector.engines == ["two-rounds", "sophomr", "instantomr"] and detector.params == HYBRID
    assert detector.digest(hybrid_board).scheme == "instantomr"
    assert [letter.data for letter in carol.decode(detector.scan(hybrid_board))] == [b"hello"]


def test_a_server_scans_and_answers(url, bob, tmp_path):
    client, ann = omr.Client(url), omr.Identity.generate(TINY)
    ann.save_detection_key(tmp_path / "rounds.key", "two-rounds")
    key = client.register(tmp_path / "rounds.key")
    start = client.board().messages
    where = client.post(ann.address, b"hello", name="letter.txt")
    client.post(bob.address, bytes(500 * BLOCK))
    where += client.post(ann.address, b"there")
    scan = client.scan(key, range=range(start, where[-1] + 1))
    query = ann.ask(scan)
    told = []
    answer = client.fetch(key, query, progress=lambda *news: told.append(news))
    letters = ann.decode(scan, query, answer)
    assert [(letter.index, letter.data) for letter in letters] == list(zip(where, [b"hello", b"there"]))
    assert client.scan(key).range == range(where[-1] + 1)
    with pytest.raises(omr.DetectorError, match="it makes scans"):
        client.digest(key, scheme="two-rounds")
    # Its seeds are drawn by the server.
    with omr.Board.create(tmp_path / "other", params=TINY) as other:
        other.post_many((ann.address, b"x") for _ in range(BLOCK + 1))
        foreign = ann.ask(omr.Detector(tmp_path / "rounds.key").scan(other))
    with pytest.raises(omr.ServerError):
        client.fetch(key, foreign)
