#!/usr/bin/env python3
"""Known answers for retrieval in two rounds (crates/rounds; crates/protocol/src/rounds).

Usage: python3 reference/rounds.py [OUT]     (default: testdata/rounds beside this folder)

`scan.json`: packed ciphertexts of a section, the keys that switch them to one mask, from given secrets and errors, the
rounded masks and bodies, and the distances that a recipient reads. `places.json`, `units.json`: what is drawn from a
page's seed. `seeds.json`: seeds of pages from a detector's secret. `fetch.json`: keys from given secrets and errors, messages of six pages, a query in the clear and encrypted, its
answer, and the symbols by bucket.

What is encrypted here is also decrypted and compared with the exact values before a file is written. Insecure small
shapes; output is deterministic.
"""

import itertools
import json
import pathlib
import sys
from math import prod

from bgv import add, center, modulo, scale
from rounds_fetch import (
    BUCKETS, CHOICES, FETCH_N, P, PAGE, PAGES, POSITIONS, SYMBOLS, Keys, encoded, encrypted, expanded, finished,
    merged, read, row_polynomials,
)  # fmt: skip
from rounds_ring import (
    DIGIT_BITS, DIGITS, RNG, error, mask, multiply, nearest, primes_below, rescaled, shared_key, switched, ternary,
    transforms, uniform, written,
)  # fmt: skip
from xof import stream

# Scan

BLOCK, RANK, SCAN_N, GROUPS = 16, 2, 64, 4
STEP = SCAN_N // BLOCK
BODY_BITS, MASK_BITS = [15, 9], [22, 16]
# The blocks of a section that have messages: groups 1 and 3 have none.
PRESENT = [0, 1, 2, 3, 8, 10]


def interleaved(blocks, group, pick):
    out = [0] * SCAN_N
    for i in range(STEP):
        ct = blocks.get(group * STEP + i)
        if ct:
            out[i::STEP] = pick(ct)
    return out


def spread(secret):
    """s(X^STEP)."""
    out = [0] * SCAN_N
    out[::STEP] = secret
    return out


def scan_section(keys, blocks, coordinate, q1, q):
    """The mask and the body of each group with messages, unrounded."""
    total = [[0] * SCAN_N for _ in range(1 + GROUPS)]
    for rank, rows in enumerate(keys):
        fine = 2 ** (DIGIT_BITS * DIGITS)
        pick = lambda ct: rescaled(ct["masks"][rank], q1, fine)
        masks = [interleaved(blocks, group, pick) for group in range(GROUPS)]
        own = switched(rows, masks, q, DIGIT_BITS, DIGITS, GROUPS)
        total = [add(x, y) for x, y in zip(total, own)]
    bodies = []
    for group in range(GROUPS):
        own = interleaved(blocks, group, lambda ct: rescaled(ct["body"], q1, q))
        bodies.append(modulo(add(total[1 + group], own), q))
    kept = [group for group in range(GROUPS) if any(b // STEP == group for b in blocks)]
    bits, fine = BODY_BITS[coordinate], MASK_BITS[coordinate]
    return {
        "mask": rescaled(modulo(total[0], q), q, 2**fine),
        "groups": kept, "bodies": [rescaled(bodies[group], q, 2**bits) for group in kept],
    }  # fmt: skip


def distances(part, secrets, coordinate):
    """Of each group's messages, in the order of the board."""
    fine, shift = MASK_BITS[coordinate], MASK_BITS[coordinate] - BODY_BITS[coordinate]
    out = []
    for group, body in zip(part["groups"], part["bodies"]):
        phase = add(multiply(part["mask"], secrets[group]), scale(2**shift, body))
        phase = [center(x, 2**fine) for x in phase]
        out.append([phase[STEP * y + i] for i in range(STEP) for y in range(BLOCK)])
    return out


def check_distances(part, found, blocks, secret, q1, coordinate):
    """The phases of the ciphertexts under the packing secret, up to noise."""
    fine = MASK_BITS[coordinate]
    for group, own in zip(part["groups"], found):
        for i in range(STEP):
            ct = blocks.get(group * STEP + i)
            exact = [0] * BLOCK
            if ct:
                exact = ct["body"]
                for a, s in zip(ct["masks"], secret):
                    exact = add(exact, multiply(a, s))
            for x, y in zip(own[BLOCK * i :], exact):
                off = center(x - nearest(y % q1, 2**fine, q1), 2**fine)
                assert abs(off) < 0.8 * 2 ** (fine - BODY_BITS[coordinate])


def scan_case():
    seed, index = RNG.randbytes(32), 64
    q1, q = primes_below(50, BLOCK, 1)[0], primes_below(50, SCAN_N, 1)[0]
    packing = [ternary(BLOCK) for _ in range(RANK)]
    secrets = [ternary(SCAN_N) for _ in range(GROUPS)]
    keys = []
    for rank, s in enumerate(packing):
        parts = [[{group: spread(s)}] for group in range(GROUPS)]
        keys.append(shared_key(q, DIGIT_BITS, DIGITS, parts, secrets, seed, index + rank))
    coordinates, parts, found = [], [], []
    for c in range(2):
        blocks = {
            b: {"masks": [uniform(q1, BLOCK) for _ in range(RANK)], "body": uniform(q1, BLOCK)}
            for b in PRESENT
        }
        # Where digits turn, and the last residues.
        blocks[0]["masks"][0][:6] = [0, q1 - 1, q1 // 2, q1 // 2 + 1, q1 >> 17, (q1 >> 17) + 1]
        blocks[0]["body"][:4] = [0, q1 - 1, q1 // 2, q1 // 2 + 1]
        parts.append(scan_section(keys, blocks, c, q1, q))
        found.append(distances(parts[c], secrets, c))
        check_distances(parts[c], found[c], blocks, packing, q1, c)
        coordinates.append([blocks.get(b) for b in range(GROUPS * STEP)])
    return {
        "primes": [q1, q], "seed": list(seed), "index": index, "packing_secret": packing, "secrets": secrets,
        "keys": [written(rows, q) for rows in keys], "packed": coordinates, "parts": parts, "distances": found,
    }  # fmt: skip


# Places and units


def places(buckets, choices, positions, seed, page, messages):
    """For each message its buckets and the number of earlier messages in each; and how many bytes named a full one."""
    source, used, out, skipped = stream("omr fetch places v1", seed, [page]), [0] * buckets, [], 0
    for _ in range(messages):
        # Wherever the earlier messages lie.
        assert sum(count < positions for count in used) >= choices
        own = []
        while len(own) < choices:
            bucket = next(source) % buckets
            skipped += used[bucket] == positions
            if used[bucket] < positions and bucket not in own:
                own.append(bucket)
        out.append([[b, used[b]] for b in own])
        for b in own:
            used[b] += 1
    return out, skipped


def places_case():
    """Pages of the shape of `fetch.json`; the last messages of one of the published shape."""
    seed, out = RNG.randbytes(32), []
    for shape, page, shown in [
        *(([BUCKETS, CHOICES, POSITIONS, PAGE], page, PAGE) for page in (0, 1, 2, 3, 1 << 40)),
        ([64, 4, 128, 1824], 5, 200),
    ]:
        drawn, skipped = places(*shape[:3], seed, page, shape[3])
        assert skipped > 0
        out.append({"shape": shape, "page": page, "places": drawn[-shown:]})
    return {"seed": list(seed), "cases": out}


def units(seed, page, messages):
    """From 1 to p - 1: words of 32 bits below the largest multiple of p - 1 that fits; and how many words that takes."""
    source, out = stream("omr fetch units v1", seed, [page]), []
    for words in itertools.count():
        if len(out) == messages:
            return out, words
        word = int.from_bytes(bytes(next(source) for _ in range(4)), "little")
        if word < 2**32 // (P - 1) * (P - 1):
            out.append(word % (P - 1) + 1)


def units_case():
    """The first page, and the first one in which a word is refused, as one in 16,384 is."""
    seed, count = RNG.randbytes(32), 50
    refused = next(page for page in itertools.count() if units(seed, page, count)[1] > count)
    cases = [{"page": page, "units": units(seed, page, count)[0]} for page in (0, refused)]
    return {"p": P, "seed": list(seed), "cases": cases}


def seeds_case():
    """Ranges that end within a page, with it and behind it, of pages of the published shape."""
    secret, page, out = RNG.randbytes(32), 1824, []
    for start, end in [(0, 1), (1823, 1825), (1700, 2 * page), (page, 2 * page), (page, 2 * page + 1), (0, 3 * page - 1)]:
        seeds = []
        for number in range(start // page, -(-end // page)):
            source = stream("omr rounds page seed v1", secret, [number, min((number + 1) * page, end)])
            seeds.append([next(source) for _ in range(32)])
        out.append({"range": [start, end], "seeds": seeds})
    # A whole page has one seed, a part of it another one.
    assert out[2]["seeds"][1] == out[3]["seeds"][0] == out[4]["seeds"][0] == out[5]["seeds"][1] != out[1]["seeds"][1]
    return {"secret": list(secret), "cases": out}


# Fetch


def fetch_case():
    keys = Keys()
    seed, rows = RNG.randbytes(32), len(PAGES)
    # A message's symbols by row, which is that of its page, bucket and position.
    board, pages = {}, []
    for page, count in enumerate(PAGES):
        drawn, _ = places(BUCKETS, CHOICES, POSITIONS, seed, page, PAGE)
        values = [uniform(P, SYMBOLS) for _ in range(count)]
        pages.append([x for own in values for x in own])
        for own, symbols in zip(drawn, values):
            for bucket, position in own:
                board[page, bucket, position] = symbols
    choices = [[RNG.randrange(rows), RNG.randrange(POSITIONS)] for _ in range(BUCKETS)]
    whole = prod(keys.query)
    messages = [encoded({(b, position): 1 for b, (_, position) in enumerate(choices)})]
    counts = [min(POSITIONS, rows - first) for first in range(0, rows, POSITIONS)]
    for i, count in enumerate(counts):
        messages.append(row_polynomials(choices, i * POSITIONS, count, -whole % P))
    own_seed, query, noises = RNG.randbytes(32), [], []
    for i, message in enumerate(messages):
        noises.append(error(FETCH_N))
        a, centred = mask(keys.query, FETCH_N, own_seed, [i]), [center(x, P) for x in message]
        query.append([encrypted(centred, keys.secret, noises[i], a, whole), a])
    leaves = [leaf for ct, count in zip(query[1:], counts) for leaf in expanded(keys, ct, count)]
    selected = [keys.multiplied(query[0], leaf) for leaf in leaves]
    sums = []
    for symbol in range(SYMBOLS):
        total = [[0] * FETCH_N] * 2
        for row, ct in enumerate(selected):
            values = {(b, x): own[symbol] for (r, b, x), own in board.items() if r == row}
            plain = [center(x, P) for x in encoded(values)]
            total = [add(x, multiply(plain, y)) for x, y in zip(total, ct)]
        sums.append([modulo(x, prod(keys.sums)) for x in total])
    packed, shown = [], []
    for first in range(0, SYMBOLS, POSITIONS):
        own = sums[first : first + POSITIONS]
        packed.append(merged(keys, own + [None] * (POSITIONS - len(own))))
        shown.append([POSITIONS * i + k for i in range(BUCKETS) for k in range(len(own))])
    answer = finished(keys, packed, shown)
    symbols = read(keys, answer, shown)
    empty = [0] * SYMBOLS
    expected = [board.get((row, b, position), empty) for b, (row, position) in enumerate(choices)]
    assert symbols == expected and expected.count(empty) <= BUCKETS // 2
    extended = keys.query + keys.special
    bodies = lambda key: {k: key[k] for k in ("index", "errors")} | {"bodies": transforms(key["pair"][0], extended)}
    return {
        "primes": extended, "final_prime": keys.last_prime, "seed": list(keys.seed), "secret": keys.secret,
        "final_secrets": keys.finals, "product": bodies(keys.product),
        "merge": [bodies(key) for key in keys.merge.values()], "final": written(keys.final, keys.last_prime),
        "places_seed": list(seed), "pages": pages, "choices": choices,
        "query": {
            "seed": list(own_seed), "errors": noises, "messages": messages,
            "bodies": [transforms(ct[0], keys.query) for ct in query],
        },
        "answer": answer, "symbols": symbols,
    }  # fmt: skip


def main():
    beside = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "rounds"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else beside
    out.mkdir(parents=True, exist_ok=True)
    cases = {
        "scan": scan_case, "places": places_case, "units": units_case, "fetch": fetch_case, "seeds": seeds_case,
    }  # fmt: skip
    for name, case in cases.items():
        (out / f"{name}.json").write_text(json.dumps(case(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
