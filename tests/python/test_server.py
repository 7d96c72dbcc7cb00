"""The client against a real server, and against the commands that read what it sends."""

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

import grpc
from blake3 import blake3
from omr_client import digests, instant, parts, remote, rounds
from omr_client.address import period_at, read_address
from omr_client.clues import BoundSender
from omr_client.frames import ClueKey, SecretKey

TINY = "insecure-tiny-v4"
TINY_HYBRID = "insecure-tiny-hybrid-v4"
# Whoever runs the tests shows no token.
OPEN = "[access]\nanonymous_post = true\nanonymous_detect = true\n"
COMMAND = os.environ.get("OMR_COMMAND", "omr")
PATIENCE_S = 60
BOUND = 20


class Scene:
    """A folder and a server on a free port of this machine."""

    def __init__(self, params=None, config=OPEN):
        self.folder = tempfile.TemporaryDirectory(prefix="omr-python-")
        self.path = pathlib.Path(self.folder.name)
        (self.path / "omr.toml").write_text(config)
        args = ["serve", "--config", "omr.toml", "--listen", "127.0.0.1:0", "--data", "data"]
        args += ["--params", params] if params else []
        with (self.path / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [COMMAND, *args], cwd=self.path, stdout=subprocess.PIPE, stderr=log, text=True
            )
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                return
        raise RuntimeError(f"the server ended: {(self.path / 'log').read_text()}")

    def omr(self, *args):
        """Runs the command and gives what it printed."""
        done = subprocess.run([COMMAND, *args], cwd=self.path, capture_output=True, timeout=PATIENCE_S)
        if done.returncode:
            raise RuntimeError(f"omr {' '.join(args)}: {done.stderr.decode()}")
        return done.stdout

    def identity(self, name, *more):
        """Makes an identity and gives the clue key of its address, whose sealing key is the permanent one."""
        self.omr("id", "new", "--home", name, "--server", self.url, "--bound", str(BOUND), *more)
        return self.address(name)[0]

    def address(self, name):
        """The clue key of an identity's address, and its keys of periods."""
        server, clue_key, periods = read_address(self.omr("address", "--home", name).decode())
        assert server == self.url
        return ClueKey.read(clue_key), periods

    def inbox(self, name):
        """First lines of the letters that are new to a recipient."""
        shown = json.loads(self.omr("inbox", "--home", name, "--json"))
        return [message["first_line"] for message in shown["messages"]]

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE_S)
        self.folder.cleanup()


class LettersAtTheTinySet(unittest.TestCase):
    """Two recipients; what is sent to one reaches no other."""

    @classmethod
    def setUpClass(cls):
        cls.scene = Scene(TINY)
        cls.addClassCleanup(cls.scene.close)
        key = cls.scene.identity("ann", "--scheme", "sophomr")
        cls.scene.identity("bob", "--scheme", "sophomr")
        cls.server = remote.Server(cls.scene.url)
        cls.short = b"hello from Python"
        cls.long = b"".join(b"line %d\n" % i for i in range(200))
        messages = [remote.write_letter(cls.server.board, key, content) for content in (cls.short, cls.long)]
        assert len(messages[0]) == 1 and len(messages[1]) > 1
        cls.indices = cls.server.post([message for letter in messages for message in letter])

    def digest(self, name, start=0, bound=BOUND):
        """The digest of the board from an index on for the registered key of a recipient."""
        key_hash = blake3((self.scene.path / name / "detection.key").read_bytes()).digest()
        return self.server.digest([key_hash], start, len(self.indices), bound)

    def test_inbox_reads_letters_of_one_part_and_of_several(self):
        self.assertEqual(self.scene.inbox("ann"), ["hello from Python", "line 0"])
        self.assertEqual(self.scene.omr("inbox", "read", "--home", "ann", "1"), self.short)
        self.assertEqual(self.scene.omr("inbox", "read", "--home", "ann", "2"), self.long)
        self.assertEqual(self.scene.inbox("bob"), [])

    def test_a_digest_opens_with_the_command(self):
        (self.scene.path / "digest").write_bytes(self.digest("ann"))
        args = ["decode", "--secret-key", "ann/secret.key", "--digest", "digest", "--out", "letters", "--strict"]
        paths = self.scene.omr(*args).decode().split()
        files = {(self.scene.path / path).read_bytes() for path in paths}
        self.assertEqual(files, {self.short, self.long})

    def test_a_digest_opens_here(self):
        secret = SecretKey.read((self.scene.path / "ann" / "secret.key").read_bytes())
        letters = digests.read_letters(self.digest("ann"), secret)
        self.assertEqual([index for index, _ in letters], self.indices)
        self.assertEqual(parts.join([part for _, part in letters]), [self.short, self.long])
        later = digests.read_letters(self.digest("ann", start=1), secret)
        self.assertEqual(later, letters[1:])
        other = SecretKey.read((self.scene.path / "bob" / "secret.key").read_bytes())
        self.assertEqual(digests.read_letters(self.digest("bob"), other), [])

    def test_an_overflow_tells_its_count(self):
        digest = self.digest("ann", bound=2)
        secret = SecretKey.read((self.scene.path / "ann" / "secret.key").read_bytes())
        with self.assertRaisesRegex(digests.Overflow, f"^{len(self.indices)} messages, 2 fit"):
            digests.read_letters(digest, secret)

    def test_a_letter_to_the_key_of_the_present_period_arrives(self):
        scene = Scene(TINY)
        self.addCleanup(scene.close)
        scene.identity("ann", "--scheme", "sophomr")
        key, periods = scene.address("ann")
        present, server = period_at(time.time()), remote.Server(scene.url)
        self.assertEqual(sorted(periods), list(range(present, present + 24)))
        for period, content in [(present, b"in time"), (present + 2, b"too early")]:
            to = dataclasses.replace(key, x25519=periods[period])
            server.post(remote.write_letter(server.board, to, content))
        self.assertEqual(scene.inbox("ann"), ["in time"])

    def test_letters_of_the_command_are_read_here(self):
        scene = Scene(TINY)
        self.addCleanup(scene.close)
        # Keys of `omr keygen` have no periods, whose secrets are not read here.
        scene.omr("keygen", "--params", TINY, "--scheme", "sophomr", "--out", "ann")
        scene.identity("ann", "--scheme", "sophomr")
        (scene.path / "ann.txt").write_bytes(scene.omr("address", "--home", "ann"))
        contents = [b"short", b"line\n" * 200]
        for content in contents:
            (scene.path / "letter.txt").write_bytes(content)
            scene.omr("send", "--home", "carl", "--to", "ann.txt", "letter.txt")
        server = remote.Server(scene.url)
        key_hash = blake3((scene.path / "ann" / "detection.key").read_bytes()).digest()
        digest = server.digest([key_hash], 0, server.board.messages, BOUND)
        secret = SecretKey.read((scene.path / "ann" / "secret.key").read_bytes())
        letters = digests.read_letters(digest, secret)
        self.assertEqual(parts.join([part for _, part in letters]), contents)

    def test_a_part_that_somebody_copied_first_does_not_stop_the_others(self):
        scene = Scene(TINY)
        self.addCleanup(scene.close)
        key = scene.identity("ann")
        server = remote.Server(scene.url)
        letter = remote.write_letter(server.board, key, self.long)
        self.assertGreater(len(letter), 3)
        self.assertEqual(server.post(letter[2:3]), [0])
        self.assertEqual(server.post(letter), list(range(1, len(letter))))
        self.assertEqual(server.post(letter), [])
        self.assertEqual(scene.inbox("ann"), ["line 0"])
        self.assertEqual(scene.omr("inbox", "read", "--home", "ann", "1"), self.long)

    def test_a_clue_made_in_another_way_is_dropped(self):
        """The board takes what is well signed; whoever did not derive it from the sealed seed is not read."""
        scene = Scene(TINY)
        self.addCleanup(scene.close)
        key = scene.identity("ann")
        server = remote.Server(scene.url)
        [(_, payload)] = remote.write_letter(server.board, key, b"dropped")
        sender = BoundSender(key.set, key.seed, key.beta, server.board.board_id)
        clue, _ = sender.clue(os.urandom(32), payload)
        self.assertEqual(server.post([(clue, payload)]), [0])
        server.post(remote.write_letter(server.board, key, b"read"))
        self.assertEqual(scene.inbox("ann"), ["read"])


class TwoRounds(unittest.TestCase):
    """Section 22 of docs/wire.md, at the small set."""

    @classmethod
    def setUpClass(cls):
        cls.scene = Scene(TINY)
        cls.addClassCleanup(cls.scene.close)
        keys = {}
        for name in ("eve", "bob"):
            cls.scene.omr("keygen", "--params", TINY, "--scheme", "two-rounds", "--out", name)
            keys[name] = ClueKey.read((cls.scene.path / name / "clue.key").read_bytes())
        cls.secret = SecretKey.read((cls.scene.path / "eve" / "secret.key").read_bytes())
        cls.server = remote.Server(cls.scene.url)
        assert cls.server.capabilities.limits.fetch_messages > 0
        cls.key_hash = cls.server.register((cls.scene.path / "eve" / "rounds.key").read_bytes())
        # More pages than a row of a bucket has positions, more letters than a query asks for.
        cls.contents = [b"first", b"".join(b"line %d\n" % i for i in range(900)), b"in the middle", b"last"]
        capacity = cls.server.board.payload_bytes - 112
        others = [bytes(capacity * count) for count in (30, 300, 500)]
        plan = [others[0], *cls.contents[:2], others[1], cls.contents[2], others[2], cls.contents[3]]
        cls.indices = []
        for content in plan:
            own = content in cls.contents
            letter = remote.write_letter(cls.server.board, keys["eve" if own else "bob"], content)
            posted = cls.server.post(letter)
            cls.indices += posted if own else []
        cls.end = posted[-1] + 1
        assert cls.end > 16 * cls.secret.set.page and len(cls.indices) > cls.secret.set.fetched

    def letters(self, messages, header):
        """Indices and files of messages."""
        opened = digests.open_messages(header, messages, self.secret)
        return [index for index, _ in opened], parts.join([part for _, part in opened])

    def test_both_rounds_bring_every_letter(self):
        # The range begins within a page, a block and a group.
        start = self.indices[0]
        scan = rounds.read_scan(self.server.scan(self.key_hash, start, self.end), self.secret)
        self.assertEqual((scan.indices, scan.messages), (self.indices, None))
        self.assertEqual(self.server.seeds(start, self.end), scan.header.seeds)
        wanted, found, sizes = list(scan.indices), [], set()
        while wanted:
            query, asked = rounds.write_query(scan.header, self.secret, wanted)
            answer = self.server.fetch(self.key_hash, start, self.end, query)
            sizes.add((len(query), len(answer)))
            messages, unreadable = rounds.read_answer(answer, query, asked, self.secret)
            self.assertEqual(unreadable, [])
            self.assertEqual([message.index for message in messages], sorted(asked.values()))
            self.assertGreater(len(messages), 0)
            wanted = [index for index in wanted if index not in asked.values()]
            found += messages
        self.assertEqual(len(sizes), 1)
        indices, files = self.letters(found, scan.header)
        self.assertEqual(sorted(indices), self.indices)
        self.assertEqual(sorted(files), sorted(self.contents))

    def test_a_scan_of_a_block_contains_the_letters(self):
        start = self.indices[0] - 7
        data = self.server.scan(self.key_hash, start, start + 60)
        scan = rounds.read_scan(data, self.secret)
        self.assertEqual(scan.indices, [index for index in self.indices if index < start + 60])
        indices, files = self.letters(scan.messages, scan.header)
        self.assertEqual((indices, files), (scan.indices, self.contents[:2]))
        bob = SecretKey.read((self.scene.path / "bob" / "secret.key").read_bytes())
        with self.assertRaisesRegex(ValueError, "another recipient"):
            rounds.read_scan(data, bob)

    def test_an_empty_query_is_answered(self):
        header = rounds.read_scan(self.server.scan(self.key_hash, 0, 100), self.secret).header
        query, asked = rounds.write_query(header, self.secret, [])
        answer = self.server.fetch(self.key_hash, 0, 100, query)
        self.assertEqual(rounds.read_answer(answer, query, asked, self.secret), ([], []))
        other, _ = rounds.write_query(header, self.secret, [])
        with self.assertRaisesRegex(ValueError, "another query"):
            rounds.read_answer(answer, other, asked, self.secret)


class OtherSets(unittest.TestCase):
    """Sets with more coordinates, read by InstantOMR."""

    def check(self, scene):
        self.addCleanup(scene.close)
        key = scene.identity("ann", "--scheme", "instantomr")
        server = remote.Server(scene.url)
        letters = [b"first", b"x" * 3 * server.board.payload_bytes]
        server.post([message for letter in letters for message in remote.write_letter(server.board, key, letter)])
        self.assertEqual(len(scene.inbox("ann")), 2)
        self.assertEqual([scene.omr("inbox", "read", "--home", "ann", n) for n in "12"], letters)

    def test_letters_at_the_tiny_hybrid_set(self):
        self.check(Scene(TINY_HYBRID))

    def test_a_digest_of_instantomr_opens_here(self):
        self.check_digest(TINY_HYBRID, 6)

    def test_a_digest_of_a_large_bound_opens_here(self):
        self.check_digest(TINY_HYBRID, 100)

    def test_an_overflow_is_counted_exactly(self):
        """More messages than an element of the field counts, over more than one counter."""
        scene = Scene(TINY_HYBRID)
        self.addCleanup(scene.close)
        key = scene.identity("ann", "--scheme", "instantomr")
        server = remote.Server(scene.url)
        letter = remote.write_letter(server.board, key, b"x" * 100 * server.board.payload_bytes)
        self.assertGreater(len(letter), 97)
        server.post(letter)
        digest = self.instant_digest(scene, "ann", 0, len(letter), 4)
        secret = SecretKey.read((scene.path / "ann" / "secret.key").read_bytes())
        with self.assertRaisesRegex(digests.Overflow, f"^{len(letter)} messages, 4 fit"):
            digests.read_letters(digest, secret, instant.read_messages)

    @staticmethod
    def instant_digest(scene, name, start, end, bound):
        key_hash = blake3((scene.path / name / "instant.key").read_bytes()).digest()
        return remote.Server(scene.url).digest([key_hash], start, end, bound)

    def check_digest(self, params, bound):
        scene = Scene(params)
        self.addCleanup(scene.close)
        keys = [scene.identity(name, "--scheme", "instantomr") for name in ("ann", "bob")]
        server = remote.Server(scene.url)
        contents = [b"one", b"for Bob", b"x" * 2 * server.board.payload_bytes]
        for content, key in zip(contents, [keys[0], keys[1], keys[0]]):
            server.post(remote.write_letter(server.board, key, content))
        digest = self.instant_digest(scene, "ann", 1, 5, bound)
        secret = SecretKey.read((scene.path / "ann" / "secret.key").read_bytes())
        letters = digests.read_letters(digest, secret, instant.read_messages)
        self.assertEqual([index for index, _ in letters], [2, 3, 4])
        self.assertEqual(parts.join([part for _, part in letters]), [contents[2]])

    def test_letters_at_the_set_that_servers_have_by_default(self):
        self.check(Scene())


class ProofOfWork(unittest.TestCase):
    """docs/service.md, "Proof of work"."""

    def test_posts_pay(self):
        scene = Scene(TINY, OPEN + "posting_work_bits = 10\n")
        self.addCleanup(scene.close)
        key = scene.identity("ann")
        server = remote.Server(scene.url)
        self.assertEqual(server.capabilities.posting_work_bits, 10)
        letter = remote.write_letter(server.board, key, b"paid for")
        self.assertEqual(server.post(letter), [0])
        self.assertEqual(scene.inbox("ann"), ["paid for"])
        server.capabilities.posting_work_bits = 0
        with self.assertRaises(grpc.RpcError):
            server.post(remote.write_letter(server.board, key, b"for nothing"))


if __name__ == "__main__":
    unittest.main()
