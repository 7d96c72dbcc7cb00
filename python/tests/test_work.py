"""Units of work: leased from a server, pickled, done whole and in parts."""

import concurrent.futures
import pickle
import shutil
import subprocess

import pytest

import omr
from conftest import TINY
from omr.ray import Leases, Maker, Unit
from omr.ray import Server as Place
from served import COMMAND, Server, World

pytestmark = pytest.mark.skipif(not COMMAND, reason="OMR_COMMAND names no command")
BATCH = 2048
# Messages of a page.
PAGE = 48


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("served"), TINY)
    yield World(server, recipients=2, batches=3, batch=BATCH)
    server.stop()


def test_a_unit_gives_the_same_bytes_whole_and_in_parts(world):
    asked = world.ask([0, 1])
    leases = Leases(world.server.url, world.server.work, name="py")
    unit = pickle.loads(pickle.dumps(leases.lease()))
    assert (leases.name, leases.params, unit.params, len(unit.jobs)) == ("py", TINY, TINY, 2)
    assert unit.range == world.range and unit.batches[1] == range(BATCH, 2 * BATCH) and len(unit.batches) == 3
    assert leases.renew(unit) == [0, 1]
    keys = {hash: leases.key(hash, size) for ((hash, _, size),) in unit.jobs}
    piece = lambda span: (span.start, span.stop, *leases.messages(unit, span))
    pieces = [piece(span) for span in unit.batches]
    whole, seconds = Maker(TINY, threads=1).make(unit, keys, pieces)
    assert seconds > 0 and all(error is None for _, error in whole)
    for split in [[range(3)], [range(1), range(1, 3)], [range(2, 3), range(1), range(1, 2)]]:
        parts = [[], []]
        for batches in split:
            # Another process each time, as it were.
            made, _ = Maker(TINY, threads=1).make(unit, keys, [pieces[i] for i in batches], batches=batches)
            for job, (sums, error) in zip(parts, made, strict=True):
                assert error is None
                job.append(sums)
        assert Maker(TINY, threads=1).finish(unit, keys, parts)[0] == whole, split
    for job, (digest, _) in enumerate(whole):
        assert leases.complete(unit, job, digest) and leases.complete(unit, job, digest)
    for number, digest in asked.items():
        world.check(number, digest.result())
    unwanted = (None, None)
    for batches in [None, range(3)]:
        maker = Maker(TINY, threads=1)
        make = lambda **how: maker.make(unit, keys, pieces, batches=batches, **how)[0]
        both = make()
        assert make(jobs=[1]) == [unwanted, both[1]] and make(jobs=[]) == [unwanted, unwanted]
        asks = iter([False, True])
        assert make(stopped=lambda: next(asks, True)) == [unwanted, unwanted] and next(asks, None) is None
        with pytest.raises(ZeroDivisionError):
            make(stopped=lambda: 1 / 0)
        assert make(stopped=lambda: False) == both


def test_a_digest_that_nobody_awaits_is_cancelled(world):
    class Enough(Exception):
        pass

    leases, leased = Leases(world.server.url, world.server.work), []

    def progress(*_):
        # A job that waits alone is leased alone.
        leased.extend(filter(None, [leases.lease()]) if not leased else [])
        raise Enough

    with pytest.raises(Enough):
        world.server.client().digest(world.keys[0], range=world.range, progress=progress)
    assert len(leased[0].jobs) == 1 and leases.renew(leased[0]) == []


def test_what_does_not_fit_is_told(world):
    asked = world.ask([0])
    leases = Leases(world.server.url, world.server.work)
    unit = leases.lease()
    (((hash, kind, size),),) = unit.jobs
    assert kind == "sophomr"
    maker = Maker(TINY, threads=1)
    with pytest.raises(ValueError, match="unit's 3 batches, found 3..4"):
        maker.make(unit, {}, [], batches=range(3, 4))
    with pytest.raises(ValueError, match="unit of work"):
        Unit(TINY, b"\xff", 0)
    with pytest.raises(omr.OtherParamsError):
        Maker("insecure-tiny-hybrid-v4").make(unit, {}, [])
    ((nothing, error),), _ = maker.make(unit, {}, [], batches=range(1))
    assert nothing is None and "expected the key of a job" in error
    key = leases.key(hash, size)
    ((nothing, error),), _ = maker.make(unit, {hash: key[:-1]}, [], batches=range(1))
    assert nothing is None and error
    first = unit.batches[0]
    board = [(first.start, first.stop, *leases.messages(unit, first))]
    ((nothing, error),), _ = maker.make(unit, {hash: key}, board, batches=range(1, 2))
    assert nothing is None and "expected messages within 0..2048" in error
    ((sums, _),), _ = maker.make(unit, {hash: key}, board, batches=range(1))
    ((nothing, error),), _ = maker.finish(unit, {hash: key}, [[sums]])
    assert nothing is None and "found none of batch 1" in error
    assert maker.finish(unit, {hash: key}, [[]])[0] == [(None, None)]
    leases.fail(unit, 0)
    with pytest.raises(omr.AccessError):
        leases.key(hash, size)
    unit = leases.lease()
    board = [(span.start, span.stop, *leases.messages(unit, span)) for span in unit.batches]
    (((digest, _),), _) = maker.make(unit, {hash: key}, board)
    assert leases.complete(unit, 0, digest)
    world.check(0, asked[0].result())
    with pytest.raises(omr.AccessError):
        Leases(world.server.url, world.server.token)


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
def test_machines_of_a_cluster_need_no_file_of_the_authority(tmp_path):
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=omr"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run([*make.split(), *names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    server = Server(tmp_path, TINY, tls=(cert, key))
    try:
        place = Place(server.url, server.work, "py", cert.read_bytes())
        cert.unlink()
        assert pickle.loads(pickle.dumps(place)).connect().params == TINY
    finally:
        server.stop()
    with pytest.raises(TypeError):
        Leases(server.url, server.work, ca=str(cert))


def made(leases, maker, ask, jobs=1):
    """What a worker makes of so many calls, which wait for it meanwhile, and the ranges that it read."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        asked = [pool.submit(ask) for _ in range(jobs)]
        reads = []
        while not all(one.done() for one in asked):
            unit = leases.lease(wait=1)
            if unit is None:
                continue
            unit = pickle.loads(pickle.dumps(unit))
            keys = {hash: leases.key(hash, size) for ((hash, kind, size),) in unit.jobs if kind == "two-rounds"}
            assert unit.batches == []
            reads.append(unit.range)
            board = [(unit.range.start, unit.range.stop, *leases.messages(unit, unit.range))]
            outcomes, seconds = maker.make(unit, keys, board)
            for job, (file, error) in enumerate(outcomes):
                assert error is None and seconds > 0 and leases.complete(unit, job, file)
        return [one.result() for one in asked], set(reads)


def test_scans_and_fetches_give_the_bytes_of_the_servers_own_worker(tmp_path):
    server = Server(tmp_path, TINY)
    client = server.client()
    ann = omr.Identity.generate(TINY)
    ann.save_detection_key(tmp_path / "rounds.key", "two-rounds")
    key = client.register(tmp_path / "rounds.key")
    stranger = omr.Identity.generate(TINY)
    start = client.post(stranger.address, bytes(500 * 60))[-1] + 1
    letters = {client.post(ann.address, b"letter %d" % i)[0]: b"letter %d" % i for i in range(3)}
    client.post(stranger.address, bytes(500 * 90))
    # A range that begins within a page, the beginning of which is prepared too.
    wanted = range(start, client.board().messages)
    assert start % PAGE != 0
    leases, maker = Leases(server.url, server.work), Maker(TINY, threads=1, prepared_bytes=1 << 20)

    try:
        (scan,), reads = made(leases, maker, lambda: client.scan(key, range=wanted))
        assert reads == {wanted} and scan.range == wanted and not scan.has_payloads
        query = ann.ask(scan)
        answers, reads = made(leases, maker, lambda: client.fetch(key, query), 2)
        assert answers[0] == answers[1] and reads == {range(start // PAGE * PAGE, wanted.stop)}
        assert {letter.index: letter.data for letter in ann.decode(scan, query, answers[0])} == letters
        server.stop()
        server.works_itself()
        server.start()
        assert client.scan(key, range=wanted) == scan
        assert client.fetch(key, query) == answers[0]
    finally:
        server.stop()
