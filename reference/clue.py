#!/usr/bin/env python3
"""Known answers for clues (private signaling; SophOMR, section 3.1), from plain integers.

Usage: python3 reference/clue.py [OUT]     (default: testdata/clue beside this folder)

Address: alpha uniform, beta = alpha s + e, modulo Q. Clue: a = alpha x, b = the first coordinates of beta x, both
posted without the lowest bit of each residue, which is the sender's error. A posted residue v stands for 4 v + 1
modulo 2 Q, in halves of a residue. The recipient's rows: d_i = b_i - <Neg^i(a), s> in halves, pertinent when every
d_i P / (2 Q), rounded to an integer, lies in [-range, range]. On the wire: kind 1, four bytes of tag, residues of 21
bits, lowest bit first.

A bound clue (kind 2) adds <h_j, w> to b_j, w of the address, h a hash of all but b; a one-time key and a signature
follow (random bytes here: nothing else depends on the signature). Its fingerprint is what a digest says of it.
Output is deterministic.
"""

import json
import pathlib
import random
import sys

from xof import derive_hash, derive_key, keyed_hash, residues, stream

# The modulus of slots, in which windows are counted, and the modulus of clues.
P = 786433
Q = 4188161
WIDTH = 21
COORDINATES = 2
OFFSET = 8
# Name, dimension, weight of secret and randomness, window.
SETS = [("insecure-tiny-v4", 64, 16, 24), ("sophomr-v5", 1024, 316, 24)]
RNG = random.Random(0x636C7565)


def neg(a, i):
    """Row i of the clue's matrix: <Neg^i(a), s> is coefficient i of a s modulo X^n + 1."""
    n = len(a)
    return [a[i - j] if j <= i else -a[n + i - j] for j in range(n)]


def inner(a, b):
    return sum(x * y for x, y in zip(a, b))


def multiply(a, s):
    return [inner(neg(a, i), s) % Q for i in range(len(a))]


def ternary(n, weight):
    out = [0] * n
    for i in RNG.sample(range(n), weight):
        out[i] = RNG.choice([-1, 1])
    return out


def errors(n):
    """Narrow: two in three are 0."""
    return [RNG.choice([0, 0, 0, 0, -1, 1]) for _ in range(n)]


def posted(x):
    return x >> 1


def center(x):
    return (x + Q) % (2 * Q) - Q


def distances(a, b, s):
    """In halves of a residue, of posted residues."""
    a, b = [4 * x + 1 for x in a], [4 * y + 1 for y in b]
    return [center(y - inner(neg(a, i), s)) for i, y in enumerate(b)]


def inside(d, window):
    """Whether the nearest integer to d P / (2 Q) lies in the window."""
    return abs((2 * d * P + 2 * Q) // (4 * Q)) <= window


def wire(name, values):
    packed = sum(value << (WIDTH * i) for i, value in enumerate(values))
    size = (WIDTH * len(values) + 7) // 8
    tag = derive_key("omr params tag v1", name.encode())[:4]
    return b"\x01" + tag + packed.to_bytes(size, "little")


def address(name, n, weight, window):
    seed = RNG.randbytes(32)
    alpha = residues(stream("omr clue key alpha v1", seed, []), Q, n)
    s, e = ternary(n, weight), errors(n)
    beta = [(x + y) % Q for x, y in zip(multiply(alpha, s), e)]
    return {"range": window, "params": name, "seed": list(seed), "alpha": alpha, "s": s, "e": e, "beta": beta}


def clue(key, weight, secret, shift):
    """An honest clue to `key`, its b moved by `shift` residues, as the owner of `secret` sees it."""
    n = len(key["s"])
    x = ternary(n, weight)
    a = [posted(y) for y in multiply(key["alpha"], x)]
    exact = multiply(key["beta"], x)[:COORDINATES]
    # The schoolbook product, coefficient by coefficient, agrees with the rows.
    folded = sum(key["beta"][j] * x[-j] * (1 if j == 0 else -1) for j in range(n))
    assert exact[0] == folded % Q
    exact = [(y + move) % Q for y, move in zip(exact, shift)]
    b = [posted(y) for y in exact]
    d = distances(a, b, secret)
    return {
        "x": x, "shift": shift, "exact": exact, "a": a, "b": b, "d": d,
        "pertinent": all(inside(y, key["range"]) for y in d),
        "bytes": wire(key["params"], a + b).hex(),
    }  # fmt: skip


def bound(key, plain, payload):
    """The bound clue over a plain one."""
    n = len(key["s"])
    w = residues(stream("omr clue key offset v1", bytes(key["seed"]), []), Q, OFFSET)
    board, one_time, signature, seed = (RNG.randbytes(size) for size in (16, 32, 64, 32))
    body = wire(key["params"], plain["a"])
    tag, a = body[1:5], body[5:]
    assert len(a) * 8 == WIDTH * n
    hash_ = derive_hash("omr bound clue hash v1", tag + board + one_time + a + payload)
    source = stream("omr bound clue rows v1", hash_, [])
    rows = [residues(source, Q, OFFSET) for _ in range(COORDINATES)]
    b = [posted((y + inner(h, w)) % Q) for y, h in zip(plain["exact"], rows)]
    whole = b"\x02" + wire(key["params"], plain["a"] + b)[1:] + one_time + signature
    fingerprint = keyed_hash(derive_key("omr clue fingerprint v1", seed), hash_ + whole[5 + len(a) :])
    return {
        "payload": payload.hex(), "board": board.hex(), "w": w, "rows": rows, "a": plain["a"], "b": b,
        "bytes": whole.hex(), "seed": seed.hex(), "fingerprint": int.from_bytes(fingerprint[:4], "little"),
    }  # fmt: skip


def at_the_edge(key, weight, side):
    """Two clues whose first distances are neighbours: the last one inside the window on a side, and the next one."""
    state = RNG.getstate()

    def moved(steps):
        RNG.setstate(state)
        # Two residues are one posted residue, which is four halves of a residue.
        return clue(key, weight, key["s"], [2 * side * steps, 0])

    steps = next(k for k in range(Q) if not moved(k)["pertinent"])
    return moved(steps - 1), moved(steps)


def cases(name, n, weight, window):
    key, other = address(name, n, weight, window), address(name, n, weight, window)
    honest = [clue(key, weight, key["s"], [0, 0]) for _ in range(2)]
    assert all(c["pertinent"] for c in honest)
    foreign = clue(other, weight, key["s"], [0, 0])
    assert not foreign["pertinent"]
    foreign["foreign"] = True
    clues = [*honest, foreign]
    if n < 100:
        clues += [one for side in (-1, 1) for one in at_the_edge(key, weight, side)]
        assert [c["pertinent"] for c in clues[3:]] == [True, False, True, False]
    bounds = [bound(key, clues[0], RNG.randbytes(size)) for size in (6, 612)]
    keys = [{k: v for k, v in of.items() if k != "range"} for of in (key, other)]
    return {"key": keys[0], "other": keys[1], "range": window, "clues": clues, "bound": bounds}


def main():
    beside = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "clue"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else beside
    out.mkdir(parents=True, exist_ok=True)
    for name, *shape in SETS:
        text = json.dumps(cases(name, *shape), separators=(",", ":"))
        (out / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
