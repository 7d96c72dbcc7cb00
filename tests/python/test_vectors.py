"""Known answers of testdata/clue/bound, which the Rust crates made: every step from seed to clue."""

import json
import pathlib
import unittest

import numpy
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from omr_client import parts, rounds, sealing
from omr_client.clues import OFFSET_LENGTH, SEED_BYTES, BoundSender, coordinates, multiply
from omr_client.frames import SECRET_KEY, ClueKey, SecretKey
from omr_client.locked import unlock
from omr_client.sets import NARROW, SETS, P
from omr_client.streams import Stream, derive, pack, unpack

TESTDATA = pathlib.Path(__file__).resolve().parent.parent.parent / "testdata"
# What a vector has as it stands in JSON; all else is hexadecimal.
PLAIN = {"params", "x", "e1", "e2", "a", "b", "w", "rows", "offsets", "fingerprint"}


def vectors():
    """Every vector with its bytes decoded."""
    for name in SETS:
        case = json.loads((TESTDATA / "clue" / "bound" / f"{name}.json").read_text())
        yield {name: value if name in PLAIN else bytes.fromhex(value) for name, value in case.items()}


class BoundClues(unittest.TestCase):
    """The derivation of docs/wire.md, section 8."""

    def test_every_known_set_has_a_vector(self):
        self.assertEqual([case["params"] for case in vectors()], list(SETS))

    def test_every_step_from_seed_to_clue(self):
        for case in vectors():
            with self.subTest(case["params"]):
                self.check_steps(case)

    def check_steps(self, case):
        key = ClueKey.read(case["clue_key"])
        of = key.set
        self.assertTrue(key.bound)
        self.assertEqual(of.tag, case["tag"])
        sender = BoundSender(of, key.seed, key.beta, case["board_id"])
        self.assertEqual((sender.address, sender.offset), (case["address"], case["w"]))
        seed, payload = case["clue_seed"], case["payload"]
        self.assertEqual(derive("omr bound clue sample v1", seed, sender.address), case["sample_key"])
        x, e1, e2 = sender.sample(seed)
        self.assertEqual((x, e1, e2), (case["x"], case["e1"], case["e2"]))
        self.assertEqual(sum(map(abs, x)), of.weight)
        a = (multiply(sender.alpha, x, of.q) + e1) % of.q
        b = (coordinates(of, key.beta, x) + e2) % of.q
        self.assertEqual((a.tolist(), b.tolist()), (case["a"], case["b"]))
        self.assertEqual(derive("omr bound clue key v1", seed, sender.address, payload), case["one_time_secret"])
        clue, hashed = sender.clue(seed, payload)
        rows = Stream("omr bound clue rows v1", hashed)
        self.assertEqual([rows.residues(of.q, OFFSET_LENGTH) for _ in range(of.coordinates)], case["rows"])
        offsets = [sum(h * w for h, w in zip(row, case["w"])) % of.q for row in case["rows"]]
        self.assertEqual(offsets, case["offsets"])
        self.assertEqual(clue, case["clue"])
        self.assertEqual((clue[-96:-64], clue[-64:]), (case["one_time_key"], case["signature"]))
        Ed25519PublicKey.from_public_bytes(clue[-96:-64]).verify(clue[-64:], case["signed"])
        self.assertEqual(sender.fingerprint(seed, payload, case["placement_seed"]), case["fingerprint"])

    def test_payloads_are_sealed_and_opened(self):
        for case in vectors():
            with self.subTest(case["params"]):
                key, secret = ClueKey.read(case["clue_key"]), SecretKey.read(case["secret_key"])
                self.assertEqual((secret.address_seed, secret.beta), (key.seed, key.beta))
                own = sealing.recipient_key(secret.sealing_seed)
                self.assertEqual(own.public_key().public_bytes_raw(), key.x25519)
                aad = sealing.additional_data(case["board_id"], case["params"])
                self.assertEqual(aad, case["additional_data"])
                plaintext = case["clue_seed"] + case["part"]
                payload = sealing.seal(key.x25519, aad, plaintext, case["ephemeral_material"])
                self.assertEqual(payload, case["payload"])
                self.assertEqual(sealing.unseal(own, aad, payload), plaintext)
                self.assertIsNone(sealing.unseal(own, aad + b"x", payload))
                self.assertEqual(parts.join([plaintext[SEED_BYTES:]]), [b"known answer"])

    def test_the_clue_reaches_its_recipient_alone(self):
        """Section 8: the distances lie in the window under the secret of the address."""
        for case in vectors():
            of = SETS[case["params"]]
            # Section 6: the clue secret stands behind seed and beta of the address.
            size = (2 * of.beta_length + 7) // 8
            start = len(case["secret_key"]) - 32 - 64 - size
            secrets = unpack(2, of.beta_length, case["secret_key"][start : start + size]) - 1
            a = unpack(of.width, of.n + of.coordinates, case["clue"][5:-96])
            a, b = a[: of.n], a[of.n :]
            modulus, offsets = of.rounded, numpy.array(case["offsets"]) * of.rounded // of.q
            if of.halved:
                # Each stands for the middle of two residues, in halves of a unit.
                a, b, modulus, offsets = 4 * a + 1, 4 * b + 1, 2 * of.q, 2 * offsets
            secrets = secrets.reshape(len(of.secrets), of.n).tolist()
            products = [multiply(a, secret)[:count] for secret, count in zip(secrets, of.secrets)]
            distance = (b - offsets - numpy.concatenate(products)) % modulus
            distance = numpy.minimum(distance, modulus - distance) * of.rounded / modulus
            with self.subTest(case["params"]):
                # Windows of SophOMR count residues modulo P, that of InstantOMR alone rounded residues.
                limit = 24 * of.q // P if of.halved else 23
                first = of.secrets[0]
                self.assertLessEqual(distance[:first].max(), limit)
                # The betas of second secrets have wider errors, of parameter 28, one for each coefficient of x.
                self.assertLessEqual(distance[first:].max(initial=0), 8 * 28 * of.weight**0.5)


class TwoRounds(unittest.TestCase):
    """What the seed of a page determines: section 22."""

    def test_places(self):
        vectors = json.loads((TESTDATA / "rounds" / "places.json").read_text())
        for case in vectors["cases"]:
            buckets, choices, positions, messages = case["shape"]
            self.assertEqual(choices, rounds.CHOICES)
            drawn = rounds.places(bytes(vectors["seed"]), case["page"], messages, buckets, positions)
            expected = [[tuple(place) for place in own] for own in case["places"]]
            self.assertEqual(drawn[-len(expected) :], expected)

    def test_units(self):
        vectors = json.loads((TESTDATA / "rounds" / "units.json").read_text())
        self.assertEqual(vectors["p"], P)
        for case in vectors["cases"]:
            units = case["units"]
            self.assertEqual(rounds.units(bytes(vectors["seed"]), case["page"], len(units)), units)


class Locked(unittest.TestCase):
    """The example of docs/wire.md, section 21."""

    def test_the_passphrase_opens_it_and_no_other_does(self):
        folder = TESTDATA / "wire" / "v1" / "plain-v4"
        locked = (folder / "secret.key.locked").read_bytes()
        opened = unlock(locked, "correct horse battery staple")
        self.assertEqual(opened, (SECRET_KEY, (folder / "secret.key").read_bytes()))
        self.assertEqual(unlock(locked, "\ufeffcorrect horse battery staple\r\n"), opened)
        with self.assertRaises(InvalidTag):
            unlock(locked, "correct horse battery stable")


class Documents(unittest.TestCase):
    """What docs/wire.md states as numbers."""

    def setUp(self):
        self.words = " ".join((TESTDATA.parent / "docs" / "wire.md").read_text().split())

    def test_thresholds_are_those_of_the_document(self):
        for parameter, thresholds in NARROW.items():
            self.assertIn(f" {parameter} " + ", ".join(map(str, thresholds)) + " ", self.words)

    def test_sets_are_those_of_the_document(self):
        for of in SETS.values():
            posted = "halved" if of.halved else "q" if of.rounded == of.q else f"{of.rounded:,}"
            cells = [of.name, f"{of.n:,}", of.weight, of.sigma, of.coordinates, posted, of.tag.hex()]
            self.assertIn(f" {' '.join(map(str, cells))} ", self.words)

    def test_examples(self):
        self.assertEqual(pack(20, [1, 2, 3]).hex(), "0100200000030000")
        seed = bytes([7]) * 32
        stream = Stream("omr rlwe mask v1", seed, (0, 0, 1034261134704641))
        self.assertEqual(stream.residues(1034261134704641, 2), [246400121052774, 1007446482281912])
        self.assertEqual(parts.split(b"hello", 16)[0].hex(), "0b68656c6c6f00000000000000000000")


if __name__ == "__main__":
    unittest.main()
