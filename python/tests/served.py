"""A server that leaves all digests to workers, and recipients of its board."""

import concurrent.futures
import os
import pathlib
import socket
import subprocess
import urllib.request

import omr

COMMAND = os.environ.get("OMR_COMMAND")
BOUND = 8


def _omr(*args):
    return subprocess.run([COMMAND, *map(str, args)], check=True, capture_output=True, text=True).stdout


class Server:
    """`omr serve`, which may be killed and started again at its address."""

    def __init__(self, folder, params, together=8, tls=None):
        self.folder, self.params = pathlib.Path(folder), params
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        data = self.folder / "data"
        data.mkdir()
        config = f"""
            listen = "127.0.0.1:{port}"
            data = "{data}"
            [board]
            params = "{params}"
            [access]
            tokens = "tokens.toml"
            [limits]
            messages_per_second = 1000000
            jobs = 64
            keys = 64
            [watch]
            metrics = "127.0.0.1:{port}"
            [detector]
            local_worker = false
            together = {together}
            together_seconds = 0.2
        """
        if tls:
            config += '[tls]\ncertificate = "{}"\nkey = "{}"'.format(*tls)
        (self.folder / "omr.toml").write_text(config)
        tokens = data / "tokens.toml"
        self.token = _omr("token", "add", "--file", tokens, "--name", "all", "--may", "post", "--may", "detect").strip()
        self.work = _omr("token", "add", "--file", tokens, "--name", "pool", "--may", "work").strip()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        self.start()

    def works_itself(self):
        """Has the server make digests itself from its next start on."""
        config = self.folder / "omr.toml"
        config.write_text(config.read_text().replace("local_worker = false", "local_worker = true"))

    def start(self):
        with (self.folder / "log").open("ab") as log:
            args = [COMMAND, "serve", "--config", self.folder / "omr.toml"]
            self.process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=log, text=True)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                return
        raise RuntimeError((self.folder / "log").read_text())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=60)

    def client(self):
        return omr.Client(self.url, self.token)

    def finished(self):
        """Digests that were made since the server started."""
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        of_done = [line for line in lines if line.startswith('omr_jobs_finished_total{outcome="done"}')]
        return sum(float(line.split()[1]) for line in of_done)


class World:
    """A board of some batches with a letter for each recipient in each of them, and their keys at the server."""

    def __init__(self, server, recipients, batches, batch):
        self.server, self.batches = server, batches
        client = server.client()
        board = client.board().board_id.hex()
        self.people, self.keys, self.letters = [], [], [{} for _ in range(recipients)]
        for number in range(recipients):
            home = server.folder / f"recipient-{number}"
            _omr("keygen", "--params", server.params, "--board", board, "--out", home)
            self.people.append(omr.Identity.load(home))
            self.keys.append(client.register(home / "detection.key"))
        stranger = omr.Identity.generate(server.params)
        for number in range(batches):
            # The last one is not full.
            filler = batch * (number + 1) - client.board().messages - recipients - 40
            while filler > 0:
                filler -= len(client.post(stranger.address, bytes(500 * min(filler, 900))))
            for recipient, letters in enumerate(self.letters):
                text = b"letter %d of %d" % (number, recipient)
                letters[client.post(self.people[recipient].address, text)[0]] = text
        self.range = range(client.board().messages)

    def ask(self, recipients, progress=None):
        """Asks for digests at once; futures of them."""
        pool = concurrent.futures.ThreadPoolExecutor(max(1, len(recipients)))
        client = self.server.client()
        digest = lambda number: client.digest(self.keys[number], range=self.range, bound=BOUND, progress=progress)
        futures = {number: pool.submit(digest, number) for number in recipients}
        pool.shutdown(wait=False)
        return futures

    def check(self, number, digest):
        """A digest holds the recipient's letters, and nothing else."""
        found = {letter.index: letter.data for letter in self.people[number].decode(digest)}
        assert found == self.letters[number]
