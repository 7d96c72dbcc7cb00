#!/usr/bin/env python3
"""Known answers for the codes of OMR1p, OMR2p and PerfOMR, from plain integers.

Usage: python3 reference/earlier.py [OUT]     (default: testdata/earlier beside this folder)

Sums are formed as whole numbers and reduced at the end. The script finds the bundles again by trying
every one for every bucket that holds something, and checks every sum of payloads, before it writes a
file. Output is deterministic.
"""

import itertools
import pathlib
import sys

from codec import write
from xof import derive_key, keyed_stream


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


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "earlier"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    out.mkdir(parents=True, exist_ok=True)
    write(out / "codes.json", codes())
    write(out / "bitmaps.json", bitmaps())


if __name__ == "__main__":
    main()
