#!/usr/bin/env python3
"""Known answers for recipients from words (docs/wire.md, section 23): secret.key, byte by byte, and the states of
periods (section 26), from 32 bytes of entropy.

Usage: python3 reference/words.py [OUT]     (default: testdata/words beside this folder)

The derivation is that of the section; thresholds of errors come from `narrow.py`, streams and hashes from `xof.py`. Of
words and entropy it has the official vectors of BIP-39. Detection keys and the public keys of sealing are not made.
Output is deterministic.
"""

import json
import pathlib
import struct
import sys

from narrow import thresholds
from xof import IV, blake3_tree, chacha20, derive_hash, derive_key, residues, stream

P = 786433
Q = 4188161
TERNARY, BLOCKS = "ternary", "blocks"
# Name, modulus, dimension, and for each clue secret its kind and shape with the parameter of its errors.
SETS = [
    ("insecure-tiny-v4", Q, 64, [(TERNARY, 16, "0.52")]),
    ("insecure-tiny-hybrid-v4", Q, 64, [(TERNARY, 16, "0.52"), (BLOCKS, (10, 4, 6), "28")]),
    ("sophomr-v5", Q, 1024, [(TERNARY, 316, "0.52")]),
    ("hybrid-v4", Q, 1024, [(TERNARY, 316, "0.52"), (BLOCKS, (10, 86, 92), "28")]),
    ("instantomr-v2", P, 1024, [(BLOCKS, (5, 161, 167), "0.4775")]),
]
KINDS = {"plain": 1, "bound": 2}
# Official vectors of BIP-39, English list.
VECTORS = [
    (
        "7f" * 32,
        "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful "
        "legal winner thank year wave sausage worth title",
    ),
    (
        "68a79eaca2324873eacc50cb9c6eca8cc68ea5d936f98787c60c7ebc74e6ce7c",
        "hamster diagram private dutch cause delay private meat slide toddler razor book "
        "happy fancy gospel tennis maple dilemma loan word shrug inflict delay length",
    ),
]


class Draws:
    def __init__(self, key):
        self.source = chacha20(key)

    def bytes(self, count):
        return bytes(next(self.source) for _ in range(count))

    def words(self, count):
        return struct.unpack(f"<{count}Q", self.bytes(8 * count))


def ternary(draws, n, weight):
    keys = sorted(word & ~1 | (i < weight) for i, word in enumerate(draws.words(n)))
    return [0 if key & 1 == 0 else 1 if key & 2 == 0 else -1 for key in keys]


def blocks(draws, n, shape):
    block, least, most = shape
    while True:
        bits = [0] * n
        for i, word in enumerate(draws.words(n // block)):
            choice = (block + 1) * word >> 64
            if choice < block:
                bits[block * i + choice] = 1
        if least <= sum(bits) <= most:
            return bits


def errors(draws, n, table):
    found = []
    for word in draws.words(n):
        magnitude = sum(word >> 1 >= threshold for threshold in table)
        found.append(-magnitude if word & 1 else magnitude)
    return found


def multiply(a, s, q):
    """The product modulo X^n + 1 and q, s with few coefficients that are not zero."""
    n = len(a)
    out = [0] * n
    for j, y in enumerate(s):
        if y:
            for i, x in enumerate(a):
                if i + j < n:
                    out[i + j] += x * y
                else:
                    out[i + j - n] -= x * y
    return [x % q for x in out]


def pack(width, values):
    packed = sum(value << (width * i) for i, value in enumerate(values))
    return packed.to_bytes((width * len(values) + 7) // 8, "little")


def frame(kind, params, key_id, body):
    head = b"OMRF" + struct.pack("<HHB", 1, kind, len(params)) + params.encode() + key_id + struct.pack("<Q", len(body))
    head += derive_hash("omr file v1 header", head)[:8]
    return head + body + derive_hash("omr file v1", head + body)


def secret_key(entropy, name, q, n, secrets, kind):
    seed = derive_key("omr words v1 identity", entropy + bytes([kind]) + name.encode())
    draws = Draws(seed)
    drawn = [ternary(draws, n, shape) if of == TERNARY else blocks(draws, n, shape) for of, shape, _ in secrets]
    sealing, address_id, address_seed = draws.bytes(32), draws.bytes(16), draws.bytes(32)
    alpha = residues(stream("omr clue key alpha v1", address_seed, []), q, n)
    betas = []
    for s, (_, _, sigma) in zip(drawn, secrets):
        noise = errors(draws, n, thresholds(sigma))
        betas += [(x + e) % q for x, e in zip(multiply(alpha, s, q), noise)]
    detection_id, digest = draws.bytes(16), draws.bytes(32)
    address = address_seed + pack(q.bit_length(), betas) if kind == KINDS["bound"] else b""
    coefficients = pack(2, [x + 1 for s in drawn for x in s])
    body = address_id + detection_id + address + coefficients + digest + sealing
    return seed, frame(1, name, address_id, body)


def periods(entropy, name, kind):
    """The states of periods 0 and 2, and the seed of sealing of period 2."""
    key = derive_key("omr words v1 periods", entropy + bytes([kind]) + name.encode())
    first = Draws(key).bytes(32)
    third = derive_key("omr period v1 next state", derive_key("omr period v1 next state", first))
    return {
        "period 0": first.hex(), "period 2": third.hex(),
        "seed 2": derive_key("omr period v1 sealing seed", third).hex(),
    }  # fmt: skip


def cases():
    for entropy, words in VECTORS:
        for name, q, n, secrets in SETS:
            for clues, kind in KINDS.items():
                seed, file = secret_key(bytes.fromhex(entropy), name, q, n, secrets, kind)
                yield {
                    "entropy": entropy, "words": words, "params": name, "clues": clues, "seed": seed.hex(),
                    "secret.key": struct.pack("<8I", *blake3_tree(IV, file, 0)).hex(),
                    **periods(bytes.fromhex(entropy), name, kind),
                }  # fmt: skip


def main():
    beside = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "words"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else beside
    lines = [json.dumps(case, separators=(",", ":")) for case in cases()]
    (out / "secrets.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
