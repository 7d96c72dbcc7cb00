#!/usr/bin/env python3
"""Known answers for the codec, from plain integers and textbook definitions.

Usage: python3 reference/codec.py [OUT]     (default: testdata/codec beside this folder)

Nothing here shares a method with the crate: logarithms come from a table of all powers, supports
from trying every subset or every element, symbols from Gaussian elimination. The script checks its
own decoders against what it encoded before it writes a file. Output is deterministic.
"""

import itertools
import json
import pathlib
import sys

SEED = 0x6F6D72


def stream():
    """An endless deterministic stream of 32-bit numbers (xorshift64*)."""
    state = SEED
    while True:
        state ^= state >> 12
        state = (state ^ (state << 25)) & (2**64 - 1)
        state ^= state >> 27
        yield (state * 0x2545F4914F6CDD1D & (2**64 - 1)) >> 32


NUMBERS = stream()


def below(limit):
    return next(NUMBERS) % limit


# Field and nodes


def generator(p):
    """The smallest generator: the first g whose order, found by walking its powers, is p - 1."""
    for g in range(2, p):
        value, order = g, 1
        while value != 1:
            value = value * g % p
            order += 1
        if order == p - 1:
            return g
    raise ValueError(p)


def node(p, slots, g, batch, slot):
    return pow(g, (p - 1) // slots * slot + batch, p)


def power_sums(p, values, m):
    return [sum(x**e for x in values) % p for e in range(m)]


# Symbols


def least_symbols(p, size):
    count = 0
    while p**count < 256**size:
        count += 1
    return count


def block_bytes(p):
    """Of 8, 16, ..., 64 bytes the fewest symbols a byte, then the shortest."""
    best = 8
    for size in range(16, 65, 8):
        if least_symbols(p, size) * best < least_symbols(p, best) * size:
            best = size
    return best


def bits_of(p, count):
    """The most bits that `count` symbols hold whatever they are."""
    return (p**count).bit_length() - 1


def pack_marked(p, payload, mark):
    """The same with a number of 32 bits above the bytes of blocks, and in symbols of its own what is left."""
    symbols, size, left = [], block_bytes(p), 32
    for start in range(0, len(payload), size):
        block = payload[start : start + size]
        count = least_symbols(p, len(block))
        free = min(left, bits_of(p, count) - 8 * len(block))
        value = int.from_bytes(block, "little") + (mark % 2**free << 8 * len(block))
        mark, left = mark >> free, left - free
        symbols += [value // p**i % p for i in range(count)]
        assert value < p**count
    more = 0
    while bits_of(p, more) < left:
        more += 1
    return symbols + [mark // p**i % p for i in range(more)]


def pack(p, payload):
    symbols, size = [], block_bytes(p)
    for start in range(0, len(payload), size):
        block = payload[start : start + size]
        value = int.from_bytes(block, "little")
        for _ in range(least_symbols(p, len(block))):
            value, symbol = divmod(value, p)
            symbols.append(symbol)
        assert value == 0
    return symbols


# Decoders, to check the encoders


def elimination(p, nodes, rhs):
    """Solves the Vandermonde system of the first len(nodes) sums."""
    t = len(nodes)
    rows = [[pow(x, e, p) for x in nodes] + [rhs[e]] for e in range(t)]
    for i in range(t):
        pivot = next(r for r in range(i, t) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        scale = pow(rows[i][i], p - 2, p)
        rows[i] = [v * scale % p for v in rows[i]]
        for r in range(t):
            if r != i:
                factor = rows[r][i]
                rows[r] = [(v - factor * w) % p for v, w in zip(rows[r], rows[i])]
    return [row[t] for row in rows]


def explained(p, sums):
    """All sets of non-zero elements with these power sums, by trying every one."""
    size = sums[0]
    if size > p - 1:
        return []
    sets = itertools.combinations(range(1, p), size)
    return [list(s) for s in sets if power_sums(p, s, len(sums)) == sums]


# The files


def symbols_cases():
    cases = []
    for p in (3, 257, 65537, 786433, 2147483647):
        for size in (1, 7, 8, 9, 55, 56, 57, 64, 65, 112, 130):
            cases.append((p, bytes(below(256) for _ in range(size))))
        cases += [(p, b"\xff" * 64), (p, b"\x00" * 9), (p, b"\xff" * 9)]
    cases += [(786433, bytes(below(256) for _ in range(size))) for size in (611, 612, 613)]
    return [{"p": p, "payload": b.hex(), "symbols": pack(p, b)} for p, b in cases]


def marked_cases():
    cases = []
    for p in (97, 65537, 786433, 2147483647):
        for size in (1, 8, 9, 56, 57, 64, 130, 612):
            payload, mark = bytes(below(256) for _ in range(size)), next(NUMBERS)
            symbols = pack_marked(p, payload, mark)
            assert pack_marked(p, payload, 0)[: len(pack(p, payload))] == pack(p, payload)
            cases.append({"p": p, "payload": payload.hex(), "mark": mark, "symbols": symbols})
    return cases


def support_cases():
    cases = []
    shapes = [(786433, 65536, c) for c in (0, 1, 2, 3, 10, 50)]
    shapes += [(65537, 32768, 20), (257, 32, 30), (13, 4, 5)]
    generators = {p: generator(p) for p, _, _ in shapes}
    for p, slots, count in shapes:
        g, batches, places = generators[p], (p - 1) // slots, set()
        while len(places) < count:
            places.add((below(batches), below(slots)))
        places = sorted(places)
        nodes = [node(p, slots, g, b, s) for b, s in places]
        assert len(set(nodes)) == count
        located = [[b, s, x] for (b, s), x in zip(places, nodes)]
        sums = power_sums(p, nodes, count + 4)
        case = {"p": p, "slots": slots, "generator": g, "batches": batches, "bound": count + 1}
        cases.append(case | {"support": located, "sums": sums})
    return cases


def tiny_cases():
    """Random sums over F_13 with every set that explains them."""
    cases, p = [], 13
    for i in range(200):
        if i % 2:
            chosen = [1 + below(p - 1) for _ in range(below(6))]  # may repeat
            sums = power_sums(p, chosen, 7)
        else:
            sums = [below(6)] + [below(p) for _ in range(5)]
        cases.append({"sums": sums, "sets": explained(p, sums)})
    return cases


def values_cases():
    cases = []
    for p, count in ((786433, 1), (786433, 7), (786433, 50), (2147483647, 20), (257, 40)):
        nodes = []
        while len(nodes) < count:
            x = 1 + below(p - 1)
            if x not in nodes:
                nodes.append(x)
        values = [below(p) for _ in nodes]
        rhs = [sum(x**e * v for x, v in zip(nodes, values)) % p for e in range(count + 3)]
        assert elimination(p, nodes, rhs) == values
        cases.append({"p": p, "nodes": nodes, "values": values, "rhs": rhs})
    return cases


def write(path, cases):
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    path.write_text(f"[\n{lines}\n]\n")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "testdata" / "codec"
    out.mkdir(parents=True, exist_ok=True)
    write(out / "symbols.json", symbols_cases())
    write(out / "support.json", support_cases())
    write(out / "tiny.json", tiny_cases())
    write(out / "values.json", values_cases())
    write(out / "marked.json", marked_cases())


if __name__ == "__main__":
    main()
