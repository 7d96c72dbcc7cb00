"""Digests on a cluster of Ray of two machines, one of which dies, for a server that is killed meanwhile.

`cargo xtask cluster` runs it; OMR_CLUSTER="sophomr-v5 16 3" has it do so with another set, and so many recipients and
batches.
"""

import concurrent.futures
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

import omr
import omr.ray
from conftest import TINY
from served import COMMAND, Server, World

PARAMS, RECIPIENTS, BATCHES = os.environ.get("OMR_CLUSTER", f"{TINY} 16 3").split()
BATCH = 2048 if PARAMS == TINY else 65536
PORT, JOB = 8267, "omr-job"
STORE = (1 if PARAMS == TINY else 4) << 30


def _has_ray():
    try:
        importlib.import_module("ray")
    except ImportError:
        return False
    return True


pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not COMMAND, reason="OMR_COMMAND names no command"),
    pytest.mark.skipif(not _has_ray(), reason="Ray is not installed"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("served"), PARAMS)
    yield World(server, int(RECIPIENTS), int(BATCHES), BATCH)
    server.stop()


@pytest.fixture
def cluster():
    """Two machines of one processor each, one of them the head."""
    made = importlib.import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": STORE}
    )
    made.second = made.add_node(num_cpus=1, object_store_memory=STORE)
    yield made
    made.shutdown()


class Driver:
    """`python -m omr.ray`."""

    def __init__(self, world, cluster, *args):
        (world.server.folder / "work.token").write_text(world.server.work)
        command = [sys.executable, "-m", "omr.ray", "--server", world.server.url, "--json"]
        command += ["--token-file", world.server.folder / "work.token", "--address", cluster.address, *args]
        self.log = (world.server.folder / "driver.log").open("w+")
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=self.log, text=True)
        assert self.process.stdout.readline().startswith("working for "), self.read()

    def read(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self):
        self.process.terminate()
        out, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, self.read()
        # Ray writes there as well.
        return json.loads(out.splitlines()[-1])


def _rest(figures):
    """Seconds of calls in which no digest was made and no key read."""
    return figures["busy"] - figures["seconds"] - figures["loading"]


def wait_for(what, seconds=600):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_every_digest_comes_once_though_a_machine_and_the_server_die(world, cluster):
    server, recipients = world.server, int(RECIPIENTS)
    first, second, third = (range(recipients)[i : i + -(-recipients // 3)] for i in range(0, recipients, -(-recipients // 3)))
    # At full size a key takes 0.3 GB of an actor.
    driver = Driver(world, cluster, "--min", 2, "--max", 2, "--together", 2, "--keys", 4)
    digests = world.ask(first)
    wait_for(lambda: server.finished() >= 1)
    cluster.remove_node(cluster.second, allow_graceful=False)
    done = {number: digest.result() for number, digest in digests.items()}
    before = server.finished()
    digests = world.ask(second)
    wait_for(lambda: server.finished() > before)
    before = server.finished()
    server.kill()
    server.start()
    digests |= world.ask(third)
    done |= {number: digest.result() for number, digest in digests.items()}
    figures = driver.stop()
    print(json.dumps(figures))
    for number, digest in done.items():
        world.check(number, digest)
    # No digest that the client has had is made once more.
    assert server.finished() <= recipients - before
    assert len(done) == recipients and figures["digests"] <= recipients
    log = driver.read()
    assert figures["died"] >= 1 and figures["failed"] == 0, log
    assert re.search(r"actor\.py.* jobs in ", log), log


def test_a_submitted_job_works_with_the_logs_of_its_actors(world):
    """A cluster as `ray start` makes it."""
    ray = str(pathlib.Path(sys.executable).with_name("ray"))
    call = lambda *args: subprocess.run([ray, *map(str, args)], check=True, capture_output=True, text=True).stdout
    call("start", "--head", "--port", 0, "--dashboard-port", PORT, "--num-cpus", 1, "--object-store-memory", STORE)
    try:
        address = f"http://127.0.0.1:{PORT}"
        token = world.server.folder / "job.token"
        token.write_text(world.server.work)
        driver = ["-m", "omr.ray", "--server", world.server.url, "--token-file", token, "--until-idle", 5]
        options = ["--address", address, "--submission-id", JOB, "--no-wait"]
        call("job", "submit", *options, "--", sys.executable, *driver)
        world.check(0, world.ask([0])[0].result())
        jobs = importlib.import_module("ray.job_submission").JobSubmissionClient(address)
        wait_for(lambda: jobs.get_job_status(JOB).is_terminal(), 120)
        logs = jobs.get_job_logs(JOB)
        assert jobs.get_job_status(JOB) == "SUCCEEDED", logs
        assert re.search(r"actor\.py.* 1 jobs in ", logs), logs
    finally:
        call("stop", "--force")


def test_what_ray_costs_and_a_second_machine_brings(world, cluster):
    """Not held to times: the figures are printed."""
    walls = []
    for machines in (2, 1):
        driver = Driver(world, cluster, "--min", machines, "--max", machines)
        # Actors have started.
        world.ask([0])[0].result()
        start = time.monotonic()
        asked = world.ask(range(int(RECIPIENTS)))
        for number, digest in asked.items():
            world.check(number, digest.result())
        walls.append(time.monotonic() - start)
        figures = driver.stop()
        assert figures["digests"] == int(RECIPIENTS) + 1 and figures["died"] == figures["failed"] == 0, driver.read()
        ray, loading = (part / figures["busy"] for part in (_rest(figures), figures["loading"]))
        idle = 1 - (figures["seconds"] / (machines * walls[-1]))
        print(json.dumps(figures))
        print(f"{machines} machines: {walls[-1]:.2f} s; of the calls keys took {loading:.2%}, Ray {ray:.2%}; idle {idle:.1%}")
    print(f"two machines are {walls[1] / walls[0]:.2f} times as fast")


def test_a_digest_that_is_cancelled_is_worked_on_no_more(world, cluster, tmp_path):
    ray, begun = importlib.import_module("ray"), tmp_path / "begun"

    class Watched(omr.ray.Actor):
        def make(self, *args):
            begun.touch()
            self.made = super().make(*args)
            return self.made

        def jobs(self):
            return self.made.jobs

    class Cancelled(Exception):
        pass

    def progress(*_):
        wait_for(begun.exists)
        raise Cancelled

    ray.init(address=cluster.address, log_to_driver=False)
    # One task has all batches of all recipients.
    driver = omr.ray.Driver(world.server.url, world.server.work, omr.ray.Settings(batches=0))
    driver.pool._actor = ray.remote(max_restarts=0)(Watched)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        figures = beside.submit(driver.run)
        try:
            for digest in world.ask(range(8), progress).values():
                with pytest.raises(Cancelled):
                    digest.result()
            wait_for(lambda: driver.figures.stopped)
            (hand,) = driver.pool.hands
            assert {data is None for data, _ in ray.get(hand.actor.jobs.remote())} == {True}
            world.check(0, world.ask([0])[0].result())
        finally:
            driver.stop()
            figures.exception()
            ray.shutdown()
        assert figures.result().digests == 1 and figures.result().failed == figures.result().died == 0


def test_ray_is_optional():
    code = "import sys; sys.modules['ray'] = None; import omr, omr.ray\ntry: omr.ray.Pool('x', omr.ray.Settings())\nexcept ImportError as e: print(e)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert omr and out.endswith("pip install 'ray>=2.60,<3' numpy\n")
