#!/usr/bin/env python3
"""Known answers for the codes and clues of OMR1p, OMR2p and PerfOMR, from plain integers.

Usage: python3 reference/earlier.py [OUT]     (default: testdata/earlier beside this folder)

Sums are formed as whole numbers and reduced at the end. The script finds the bundles again by trying
every one for every bucket that holds something, and checks every sum of payloads, before it writes a
file. Output is deterministic.

Clues: PVW and LWEmongrass add up the rows (A_i, A_i s_j + e_ij) of a random subset and q/4, PerfOMR2's
are ring LWE modulo a number that is no prime. On the wire: kind 1, four bytes of tag, residues of as
many bits as q - 1 has, lowest bit first; secrets: name, residues, 32 bytes of sealing secret.
"""

import itertools
import pathlib
import random
import sys

from codec import write
from xof import derive_key, keyed_stream, residues, stream

RNG = random.Random(0x6561726C)
NAME = "insecure-tiny-lwe"


def words(key, index):
    source = keyed_stream(key, index.to_bytes(8, "little"))
    while True:
        yield int.from_bytes(bytes(next(source) for _ in range(8)), "little")


def below(word, limit):
    return word * limit >> 64


# Bitmaps


def bitmap_place(p, slots, index):
    """Slot and power of two; `slots` of a batch, or None for bits side by side."""
    bits = p.bit_length() - 1
    if slots is None:
        return index // bits, 1 << index % bits
    batch, slot = divmod(index, slots)
    return batch // bits * slots + slot, 1 << batch % bits


def bitmap_case(p, slots, messages, support):
    size = max(bitmap_place(p, slots, i)[0] for i in range(messages)) + 1
    size += 0 if slots is None else -size % slots
    sums = [0] * size
    for index in support:
        slot, weight = bitmap_place(p, slots, index)
        sums[slot] += weight
    assert max(sums) < p
    return {"p": p, "slots": slots, "messages": messages, "support": support, "sums": sums}


# Buckets


def digits(p, bundles, bundle, index):
    """Base p for bundles of one message, else bits, each with room for `bundle`."""
    if bundle == 1:
        count = next(d for d in itertools.count(1) if p**d >= bundles)
        return [index // p**i % p for i in range(count)]
    width, bits = bundle.bit_length(), max(1, (bundles - 1).bit_length())
    chunks = (p.bit_length() - 1) // width
    binary = f"{index:b}"[::-1].ljust(chunks * -(-bits // chunks), "0")
    rows = [binary[i : i + chunks] for i in range(0, len(binary), chunks)]
    return [sum(int(bit) << i * width for i, bit in enumerate(row)) for row in rows]


def index_sums(seed, p, shape, bundles, bundle, support):
    """Whole numbers: rounds of buckets of digits and a counter."""
    rounds, buckets = shape
    key = derive_key("omr earlier index buckets v1", seed)
    zero = [0] * (len(digits(p, bundles, bundle, 0)) + 1)
    sums = [[list(zero) for _ in range(buckets)] for _ in range(rounds)]
    for index, count in support:
        content = digits(p, bundles, bundle, index) + [1]
        for row, word in zip(sums, words(key, index)):
            place = below(word, buckets)
            row[place] = [x + count * y for x, y in zip(row[place], content)]
    return sums


def check_buckets(p, bundles, bundle, support, sums):
    """Buckets of one bundle name it; no mix of bundles looks like one bundle."""
    contents = {tuple(digits(p, bundles, bundle, i) + [1]): i for i in range(bundles)}
    assert len(contents) == bundles
    found = set()
    for bucket in itertools.chain(*sums):
        for count in range(1, bundle + 1):
            multiple = tuple(x // count for x in bucket)
            if bucket[-1] == count and multiple in contents and all(x % count == 0 for x in bucket):
                found.add((contents[multiple], count))
    assert found == set(support), "buckets of the case that tell all bundles"


# Combinations


def factors(seed, p, rows, weight, index):
    """Row: factor."""
    source = words(derive_key("omr earlier payload combinations v1", seed), index)
    values = [1 + below(next(source), p - 1) for _ in range(weight)]
    if weight == rows:
        return dict(enumerate(values))
    chosen = []
    for last in range(rows - weight, rows):
        row = below(next(source), last + 1)
        chosen.append(last if row in chosen else row)
    assert len(set(chosen)) == weight
    return dict(zip(chosen, values))


def payload_sums(seed, p, rows, weight, support, symbols):
    width = len(symbols[0])
    sums = [[0] * width for _ in range(rows)]
    for (index, count), own in zip(support, symbols):
        for row, factor in factors(seed, p, rows, weight, index).items():
            sums[row] = [x + count * factor * y for x, y in zip(sums[row], own)]
    return sums


# Cases


def code_case(seed, p, shape, rows, weight, bundles, bundle, amount, width):
    stream = words(derive_key("omr earlier test messages", seed), amount)
    places = sorted({below(next(stream), bundles) for _ in range(amount)})
    support = [(i, 1 + below(next(stream), bundle)) for i in places]
    symbols = [[below(next(stream), p) for _ in range(width)] for _ in support]
    of_index = index_sums(seed, p, shape, bundles, bundle, support)
    check_buckets(p, bundles, bundle, support, of_index)
    of_payload = payload_sums(seed, p, rows, weight, support, symbols)
    return {
        "seed": seed.hex(), "p": p, "rounds": shape[0], "buckets": shape[1],
        "rows": rows, "weight": weight, "bundles": bundles, "bundle": bundle,
        "bound": sum(count for _, count in support),
        "support": [{"index": i, "count": c, "symbols": s}
                    for (i, c), s in zip(support, symbols)],
        "index_sums": [x % p for row in of_index for b in row for x in b],
        "payload_sums": [x % p for row in of_payload for x in row],
    }  # fmt: skip


def codes():
    return [
        code_case(bytes([1] * 32), 65537, (5, 512), 20, 5, 70000, 1, 9, 4),
        code_case(bytes([2] * 32), 786433, (8, 32), 12, 12, 3000, 1, 9, 3),
        code_case(bytes([3] * 32), 65537, (16, 60), 11, 11, 4096, 8, 8, 3),
        code_case(bytes(range(32)), 786433, (8, 40), 30, 5, 1000, 2, 12, 2),
        code_case(bytes([255] * 32), 257, (6, 50), 9, 9, 100, 3, 6, 2),
        code_case(bytes(32), 65537, (4, 20), 6, 6, 1, 16, 1, 2),
    ]


def bitmaps():
    return [
        bitmap_case(65537, None, 100, [0, 1, 15, 16, 40, 99]),
        bitmap_case(786433, None, 100, [0, 18, 19, 99]),
        bitmap_case(65537, 4, 100, [0, 5, 63, 64, 65, 99]),
        bitmap_case(786433, 8, 200, []),
    ]


# Clues


def errors(count):
    return [RNG.choice([0, 0, 0, 0, -1, 1]) for _ in range(count)]


def ternary(n, weight):
    out = [0] * n
    for i in RNG.sample(range(n), weight):
        out[i] = RNG.choice([-1, 1])
    return out


def inner(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def multiply(a, s):
    """Modulo X^n + 1, term by term, as integers."""
    n, out = len(a), [0] * len(a)
    for i, x in enumerate(a):
        for j, y in enumerate(s):
            out[(i + j) % n] += x * y if i + j < n else -x * y
    return out


def lift(x, q):
    """To [-q/2, q/2)."""
    return x - q if 2 * x >= q else x


def packed(values, q):
    bits = (q - 1).bit_length()
    number = sum(value << (bits * i) for i, value in enumerate(values))
    return number.to_bytes((bits * len(values) + 7) // 8, "little")


def public_rows(seed, count, n, q):
    return [residues(stream("omr lwe clue key row v1", seed, [i]), q, n) for i in range(count)]


def secret_of(kind, n, q, coordinates, weight, large):
    uniform = [[RNG.randrange(q) for _ in range(n)] for _ in range(coordinates)]
    if kind == "integers":
        return [ternary(n, weight)]
    kept = 0 if kind == "subset" else n - large
    return [[RNG.choice([-1, 0, 1]) for _ in range(kept)] + row[kept:] for row in uniform]


def products_of(kind, matrix, secret, q):
    if kind == "integers":
        exact = multiply(matrix[0], secret[0])
    else:
        exact = [inner(row, s) for row in matrix for s in secret]
    return [(x + e) % q for x, e in zip(exact, errors(len(exact)))]


def clue_of(kind, matrix, products, q, coordinates, weight, large):
    n = len(matrix[0])
    if kind == "integers":
        x = ternary(n, weight)
        samples = multiply(matrix[0], x), multiply(products, x)[:coordinates]
        return [[(y + e) % q for y, e in zip(row, errors(n))] for row in samples]
    chosen = [i for i in range(len(matrix)) if RNG.randrange(2)]
    a = [sum(matrix[i][j] for i in chosen) for j in range(n)]
    b = [sum(products[i * coordinates + j] for i in chosen) + q // 4 for j in range(coordinates)]
    if kind == "lwemongrass":
        a = [x + e for x, e in zip(a, errors(n - large) + [0] * large)]
        b = [x + e for x, e in zip(b, errors(coordinates))]
    return [x % q for x in a], [x % q for x in b]


def distances(kind, a, b, secret, q):
    if kind == "integers":
        masks = multiply([lift(x, q) for x in a], secret[0])
        return [lift(y, q) - mask for y, mask in zip(b, masks)]
    return [lift((y - q // 4 - inner(a, s)) % q, q) for y, s in zip(b, secret)]


def pertinent(d, q, window):
    return all(abs(lift(x % q, q)) <= window for x in d)


def clue_case(kind, n, q, coordinates, window, rows=1, large=0, weight=0):
    seed, name, seal = RNG.randbytes(32), RNG.randbytes(16), RNG.randbytes(32)
    matrix = public_rows(seed, rows, n, q)
    shape = (kind, n, q, coordinates, weight, large)
    secret, other = secret_of(*shape), secret_of(*shape)
    products = products_of(kind, matrix, secret, q)
    clues = []
    for shift in (0, 0, window + 40):
        a, b = clue_of(kind, matrix, products, q, coordinates, weight, large)
        b[-1] = (b[-1] + shift) % q
        d = [distances(kind, a, b, s, q) for s in (secret, other)]
        verdict = [pertinent(own, q, window) for own in d]
        assert verdict == [shift == 0, False]
        wire = b"\x01" + derive_key("omr params tag v1", NAME.encode())[:4] + packed(a + b, q)
        clues.append({"a": a, "b": b, "d": d[0], "of_other": d[1], "pertinent": verdict[0],
                      "bytes": wire.hex()})  # fmt: skip
    body = [name + packed([x % q for row in s for x in row], q) + seal for s in (secret, other)]
    return {
        "kind": kind, "n": n, "q": q, "coordinates": coordinates, "range": window, "rows": rows,
        "large": large, "weight": weight, "id": name.hex(), "seed": seed.hex(),
        "matrix": matrix, "products": products,
        "secret": [x for row in secret for x in row],
        "secret_body": body[0].hex(), "other_body": body[1].hex(), "clues": clues,
    }  # fmt: skip


def clues():
    return [
        clue_case("subset", 12, 65537, 3, 40, rows=60),
        clue_case("subset", 5, 786433, 2, 40, rows=40),
        clue_case("lwemongrass", 12, 65537, 3, 40, rows=30, large=1),
        clue_case("lwemongrass", 16, 786433, 2, 40, rows=30, large=3),
        clue_case("integers", 16, 400, 4, 15, weight=5),
        clue_case("integers", 32, 407, 6, 18, weight=8),
    ]


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "earlier"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    out.mkdir(parents=True, exist_ok=True)
    write(out / "codes.json", codes())
    write(out / "bitmaps.json", bitmaps())
    write(out / "clues.json", clues())


if __name__ == "__main__":
    main()
