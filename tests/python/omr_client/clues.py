"""Clues bound to their payload (docs/wire.md, section 8)."""

import struct

import numpy
from blake3 import blake3
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from .streams import Stream, derive, pack

OFFSET_LENGTH = 8
SEED_BYTES = 32


def sparse_ternary(stream, n, weight):
    """`n` coefficients, `weight` of them 1 or -1: section 8, step 3."""
    keys = sorted(word & ~1 | (i < weight) for i, word in enumerate(stream.words(n)))
    return [(key & 1) * (1 - (key & 2)) for key in keys]


def narrow(stream, thresholds, count):
    """Errors by a table of thresholds: section 8, step 3."""
    out = []
    for word in stream.words(count):
        size = sum(word >> 1 >= threshold for threshold in thresholds)
        out.append(-size if word & 1 else size)
    return out


def coordinates(of, dense, ternary):
    """The first coefficients of the products with every clue secret's part of `dense`, as many as are its own."""
    parts = [dense[at : at + of.n] for at in range(0, len(dense), of.n)]
    return numpy.concatenate([multiply(part, ternary, of.q)[:count] for part, count in zip(parts, of.secrets)])


def multiply(dense, ternary, modulus=None):
    """The product of a polynomial and a ternary one modulo X^n + 1, reduced if there is a modulus."""
    dense = numpy.array(dense, numpy.int64)
    twice = numpy.concatenate([-dense, dense])
    n = len(dense)
    total = numpy.zeros(n, numpy.int64)
    for i, sign in enumerate(ternary):
        if sign:
            total += sign * twice[n - i : 2 * n - i]
    return total % modulus if modulus else total


class BoundSender:
    """Makes the bound clues of one address on one board, for its senders and for its recipient, who checks them."""

    def __init__(self, of, seed, beta, board_id):
        self.set, self.seed, self.beta, self.board_id = of, seed, beta, board_id
        self.alpha = Stream("omr clue key alpha v1", seed).residues(of.q, of.n)
        self.offset = Stream("omr clue key offset v1", seed).residues(of.q, OFFSET_LENGTH)
        listed = struct.pack(f"<{of.beta_length}I", *beta)
        self.address = derive("omr bound clue address v1", of.tag, seed, listed)

    def sample(self, clue_seed):
        """`x`, `e1`, `e2`."""
        key = derive("omr bound clue sample v1", clue_seed, self.address)
        stream = Stream("omr bound clue randomness v1", key)
        x = sparse_ternary(stream, self.set.n, self.set.weight)
        if self.set.halved:
            return x, [0] * self.set.n, [0] * self.set.coordinates
        e1 = narrow(stream, self.set.thresholds, self.set.n)
        return x, e1, narrow(stream, self.set.thresholds, self.set.coordinates)

    def clue(self, clue_seed, payload):
        """The clue of a payload as it stands on the board, and the hash `S`."""
        of = self.set
        x, e1, e2 = self.sample(clue_seed)
        a = of.post((multiply(self.alpha, x, of.q) + e1) % of.q)
        exact = (coordinates(of, self.beta, x) + e2) % of.q
        one_time = Ed25519PrivateKey.from_private_bytes(
            derive("omr bound clue key v1", clue_seed, self.address, payload)
        )
        public = one_time.public_key().public_bytes_raw()
        packed = pack(of.width, a)
        hashed = derive("omr bound clue hash v1", of.tag, self.board_id, public, packed, payload)
        rows = Stream("omr bound clue rows v1", hashed)
        offsets = [
            sum(h * w for h, w in zip(rows.residues(of.q, OFFSET_LENGTH), self.offset)) for _ in range(of.coordinates)
        ]
        b = of.post((exact + numpy.array(offsets, dtype=object)) % of.q)
        body = of.tag + pack(of.width, [*a, *b])
        signed = derive("omr bound clue signature v1", self.board_id, public, body, payload)
        return b"\x02" + body + public + one_time.sign(signed), hashed

    def fingerprint(self, clue_seed, payload, placement_seed):
        """What a digest with this seed says of the clue of a payload."""
        clue, hashed = self.clue(clue_seed, payload)
        behind = 5 + (self.set.width * self.set.n + 7) // 8
        key = derive("omr clue fingerprint v1", placement_seed)
        return int.from_bytes(blake3(hashed + clue[behind:], key=key).digest()[:4], "little")
