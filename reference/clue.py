#!/usr/bin/env python3
"""Known answers for clues (private signaling; SophOMR, section 3.1), from plain integers.

Usage: python3 reference/clue.py [OUT]     (default: testdata/clue beside this folder)

Address: alpha uniform, beta = alpha s + e. Clue: a = alpha x + e1, b = the first coordinates of
beta x + e2. The recipient's rows: d_i = b_i - <Neg^i(a), s>, pertinent when every d_i lies in
[-range, range]. On the wire: kind 1, four bytes of tag, residues of 20 bits, lowest bit first.

A bound clue (kind 2) adds <h_j, w> to b_j, w of the address, h a hash of all but b; a one-time key and a signature
follow (random bytes here: nothing else depends on the signature). Its fingerprint is what a digest says of it.
Output is deterministic.
"""

import json
import pathlib
import random
import sys

from xof import derive_hash, derive_key, keyed_hash, residues, stream

P = 786433
COORDINATES = 2
OFFSET = 8
# Name, dimension, weight, window.
SETS = [("insecure-tiny-v2", 64, 16, 38), ("sophomr-v2", 1024, 84, 38), ("sophomr-v3", 1024, 140, 40)]
RNG = random.Random(0x636C7565)


def neg(a, i):
    """Row i of the clue's matrix: <Neg^i(a), s> is coefficient i of a s modulo X^n + 1."""
    n = len(a)
    return [a[i - j] if j <= i else -a[n + i - j] for j in range(n)]


def inner(a, b):
    return sum(x * y for x, y in zip(a, b))


def multiply(a, s):
    return [inner(neg(a, i), s) % P for i in range(len(a))]


def ternary(n, weight):
    out = [0] * n
    for i in RNG.sample(range(n), weight):
        out[i] = RNG.choice([-1, 1])
    return out


def errors(n):
    """Narrow: two in three are 0."""
    return [RNG.choice([0, 0, 0, 0, -1, 1]) for _ in range(n)]


def center(x):
    return (x + P // 2) % P - P // 2


def distances(a, b, s):
    return [center(y - inner(neg(a, i), s)) for i, y in enumerate(b)]


def wire(name, values):
    packed = sum(value << (20 * i) for i, value in enumerate(values))
    size = (20 * len(values) + 7) // 8
    tag = derive_key("omr params tag v1", name.encode())[:4]
    return b"\x01" + tag + packed.to_bytes(size, "little")


def address(name, n, weight, window):
    seed = RNG.randbytes(32)
    alpha = residues(stream("omr clue key alpha v1", seed, []), P, n)
    s, e = ternary(n, weight), errors(n)
    beta = [(x + y) % P for x, y in zip(multiply(alpha, s), e)]
    return {"range": window, "params": name, "seed": list(seed), "alpha": alpha, "s": s, "e": e, "beta": beta}


def clue(key, weight, secret, shift):
    """An honest clue to `key`, its b moved by `shift`, as the owner of `secret` sees it."""
    n = len(key["s"])
    x, e1, e2 = ternary(n, weight), errors(n), errors(COORDINATES)
    a = [(y + z) % P for y, z in zip(multiply(key["alpha"], x), e1)]
    exact = [(y + z) % P for y, z in zip(multiply(key["beta"], x), e2)]
    # The schoolbook product, coefficient by coefficient, agrees with the rows.
    folded = sum(key["beta"][j] * x[-j] * (1 if j == 0 else -1) for j in range(n))
    assert exact[0] == (folded + e2[0]) % P
    b = [(y + move) % P for y, move in zip(exact, shift)]
    d = distances(a, b, secret)
    return {
        "x": x, "e1": e1, "e2": e2, "shift": shift, "a": a, "b": b, "d": d,
        "pertinent": all(abs(y) <= key["range"] for y in d),
        "bytes": wire(key["params"], a + b).hex(),
    }  # fmt: skip


def bound(key, plain, payload):
    """The bound clue over a plain one."""
    n = len(key["s"])
    w = residues(stream("omr clue key offset v1", bytes(key["seed"]), []), P, OFFSET)
    board, one_time, signature, seed = (RNG.randbytes(size) for size in (16, 32, 64, 32))
    body = wire(key["params"], plain["a"])
    tag, a = body[1:5], body[5:]
    assert len(a) * 8 == 20 * n
    hash_ = derive_hash("omr bound clue hash v1", tag + board + one_time + a + payload)
    source = stream("omr bound clue rows v1", hash_, [])
    rows = [residues(source, P, OFFSET) for _ in range(COORDINATES)]
    b = [(y + inner(h, w)) % P for y, h in zip(plain["b"], rows)]
    posted = b"\x02" + wire(key["params"], plain["a"] + b)[1:] + one_time + signature
    fingerprint = keyed_hash(derive_key("omr clue fingerprint v1", seed), hash_ + posted[5 + len(a) :])
    return {
        "payload": payload.hex(), "board": board.hex(), "w": w, "rows": rows, "a": plain["a"], "b": b,
        "bytes": posted.hex(), "seed": seed.hex(), "fingerprint": int.from_bytes(fingerprint[:4], "little"),
    }  # fmt: skip


def to_the_edge(key, weight, target):
    """A clue whose first distance is exactly `target`."""
    state = RNG.getstate()
    found = clue(key, weight, key["s"], [0, 0])
    RNG.setstate(state)
    moved = clue(key, weight, key["s"], [target - found["d"][0], 0])
    assert moved["d"][0] == target
    return moved


def cases(name, n, weight, window):
    key, other = address(name, n, weight, window), address(name, n, weight, window)
    honest = [clue(key, weight, key["s"], [0, 0]) for _ in range(2)]
    assert all(c["pertinent"] for c in honest)
    foreign = clue(other, weight, key["s"], [0, 0])
    assert not foreign["pertinent"]
    foreign["foreign"] = True
    clues = [*honest, foreign]
    if n < 100:
        clues += [to_the_edge(key, weight, d) for d in (-39, -38, 38, 39)]
        assert [c["pertinent"] for c in clues[3:]] == [False, True, True, False]
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
