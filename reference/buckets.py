#!/usr/bin/env python3
"""Known answers for buckets and random combinations, from plain integers.

Usage: python3 reference/buckets.py [OUT]     (default: testdata/codec beside this folder)

Sums are formed as whole numbers and reduced at the end. The script finds the messages again by trying
every index for every bucket that holds one, and their digits by trying all values, before it writes a
file. Output is deterministic.
"""

import pathlib
import sys

from codec import write
from xof import derive_key, keyed_stream

P, ROUNDS, SPARE, LIMIT = 97, 8, 6, 97**3 - 1


def below(word, limit):
    return word * limit >> 64


def words(key, index):
    source = keyed_stream(key, index.to_bytes(8, "little"))
    while True:
        yield int.from_bytes(bytes(next(source) for _ in range(8)), "little")


def draws(seed, bound, index):
    """The message's bucket of each round, and its factor of each row."""
    source = words(derive_key("omr bucket code v1", seed), index)
    buckets = [below(next(source), -(-12 * bound // 5)) for _ in range(ROUNDS)]
    return buckets, [below(next(source), P) for _ in range(bound + SPARE)]


def digits(index):
    return [index // P**i % P for i in range(3)]


def encode(seed, bound, messages):
    """Sums over (index, digits), before any reduction."""
    buckets, width = -(-12 * bound // 5), len(messages[0][1])
    of_index = [[[0] * 4 for _ in range(buckets)] for _ in range(ROUNDS)]
    of_payload = [[0] * width for _ in range(bound + SPARE)]
    for index, payload in messages:
        places, factors = draws(seed, bound, index)
        for row, place in zip(of_index, places):
            row[place] = [x + y for x, y in zip(row[place], digits(index) + [1])]
        for row, factor in zip(of_payload, factors):
            row[:] = [x + factor * digit for x, digit in zip(row, payload)]
    return of_index, of_payload


def check(seed, bound, messages, of_index, of_payload):
    """Whoever is alone in a bucket is there by the draws, and everybody is found by taking out."""
    left, found = [[list(b) for b in row] for row in of_index], set()
    while True:
        alone = [b for row in left for b in row if b[3] == 1]
        if not alone:
            break
        index = sum(d * P**i for i, d in enumerate(alone[0][:3]))
        for row, place in zip(left, draws(seed, bound, index)[0]):
            row[place] = [x - y for x, y in zip(row[place], digits(index) + [1])]
        found.add(index)
    assert all(b == [0] * 4 for row in left for b in row)
    assert found == {index for index, _ in messages}
    for r, row in enumerate(of_payload):
        factors = [draws(seed, bound, index)[1][r] for index, _ in messages]
        for j, total in enumerate(row):
            assert total == sum(f * m[1][j] for f, m in zip(factors, messages))


def case(seed, bound, count, width):
    stream = words(derive_key("omr bucket test messages", seed), bound)
    indices = sorted({below(next(stream), LIMIT) for _ in range(count)})
    messages = [(i, [below(next(stream), P) for _ in range(width)]) for i in indices]
    of_index, of_payload = encode(seed, bound, messages)
    check(seed, bound, messages, of_index, of_payload)
    return {
        "seed": seed.hex(),
        "bound": bound,
        "messages": [{"index": i, "digits": d} for i, d in messages],
        "index_sums": [x % P for row in of_index for b in row for x in b],
        "payload_sums": [x % P for row in of_payload for x in row],
    }


def main():
    default = pathlib.Path(__file__).parent.parent / "testdata" / "codec"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    cases = [
        case(bytes([1] * 32), 1, 1, 3),
        case(bytes([2] * 32), 7, 4, 5),
        case(bytes(range(32)), 20, 20, 9),
        case(bytes([255] * 32), 96, 60, 2),
    ]
    write(out / "buckets.json", cases)


if __name__ == "__main__":
    main()
