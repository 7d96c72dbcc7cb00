#!/usr/bin/env python3
"""Known answers for packing and opening of clues (docs/wire.md, sections 3 and 4; crates/protocol/src/sophomr/key.rs;
docs/design/opening.md).

Usage: python3 reference/opening.py [OUT]     (default: testdata/opening beside this folder)

`keys.json`: the keys of packing and narrowing from given secrets and errors, a block of clues, packed and narrowed,
plain and bound, and residues at the edges of every rounding. `slots.json`: where blocks and the sparse secret lie in
slots, and what the slots of opened clues hold.

All products are schoolbook, all roundings of whole numbers. Values in slots are computed twice: from the phases, and
from the slots of the secret alone. An insecure small shape; output is deterministic.
"""

import json
import pathlib
import random
import sys

from bgv import N, TRANSFORM_EXPONENTS, add, interpolate, is_prime, multiply, transform
from xof import residues, stream

P = 786433
CLUE_Q = 4188161
CLUE_N = 70
COORDINATES = 2
OFFSET = 8
PACKING_RANK, RANK, WEIGHT = 2, 3, 5
DIGITS, BASE = 13, 4
PACKING, NARROW = 10, 11
# 5 times the 6 parts of the secret, and two empty columns.
POINTS, SLOTS = 8, 512
PARTS = N // POINTS
COLUMNS = SLOTS // 2 // POINTS
RNG = random.Random(0x6F70656E)


# Numbers


def packing_prime():
    """The largest prime below 2^50 that is 1 modulo 2n."""
    return next(q for q in range((2**50 - 2) // (2 * N) * 2 * N + 1, 0, -2 * N) if is_prime(q))


def narrow_prime():
    """The least prime from 2^29.5 on that is 1 modulo 2n."""
    return next(q for q in range(1, 2**31, 2 * N) if q * q >= 2**59 and is_prime(q))


Q1, Q2 = packing_prime(), narrow_prime()


def nearest(x, times, over):
    """x times / over, rounded; halves up."""
    return (2 * x * times + over) // (2 * over)


def centered(x, q):
    return x if 2 * x < q else x - q


def modulo(a, q):
    return [x % q for x in a]


def ternary(count):
    return [RNG.choice([-1, 0, 1]) for _ in range(count)]


def sparse():
    out = [0] * N
    for i in RNG.sample(range(N), WEIGHT):
        out[i] = RNG.choice([-1, 1])
    return out


def uniform(q, count):
    return [RNG.randrange(q) for _ in range(count)]


# Keys


def mask(q, seed, index):
    """In the evaluation domain."""
    return residues(stream("omr rlwe mask v1", seed, [*index, q]), q, N)


def row(q, seed, index, secret, message, error):
    """Body and masks of an encryption, as coefficients."""
    masks = [mask(q, seed, [*index, l]) for l in range(len(secret))]
    masks = [interpolate(values, TRANSFORM_EXPONENTS, q) for values in masks]
    body = add(message, error)
    for a, s in zip(masks, secret):
        body = [x - y for x, y in zip(body, multiply(a, s))]
    return {"body": modulo(body, q), "masks": masks}


def met(secret, i):
    """The coefficient that row i hides: in coordinate c column j of clues meets row COORDINATES - 1 - c + j."""
    t = COORDINATES - 1 - i
    return secret[t] if t >= 0 else -secret[t + len(secret)]


def packing_key(seed, clue, w, secret, errors):
    unit = nearest(Q1, 1, CLUE_Q)
    values = [unit * met(clue, i) for i in range(CLUE_N + COORDINATES - 1)]
    values += [Q1 * x // CLUE_Q for x in w]
    messages = [[-x] + [0] * (N - 1) for x in values]
    cases = enumerate(zip(messages, errors))
    return [row(Q1, seed, [PACKING, i], secret, message, error) for i, (message, error) in cases]


def narrow_key(seed, start, secret, errors):
    units = [nearest(Q2, 1, BASE ** (d + 1)) for d in range(DIGITS)]
    messages = [[unit * x for x in part] for part in start for unit in units]
    cases = enumerate(zip(messages, errors))
    return [row(Q2, seed, [NARROW, i], secret, message, error) for i, (message, error) in cases]


# Ciphertexts


def combination(factors, rows, q):
    """The sum of the rows times their polynomials: masks and body."""
    masks = [[0] * N for _ in rows[0]["masks"]]
    body = [0] * N
    for factor, own in zip(factors, rows):
        masks = [add(out, multiply(factor, a)) for out, a in zip(masks, own["masks"])]
        body = add(body, multiply(factor, own["body"]))
    return {"masks": [modulo(a, q) for a in masks], "body": modulo(body, q)}


def columns(rows, width):
    """Centred: residue j of every message is a polynomial."""
    return [[centered(x, CLUE_Q) for x in rows[j::width]] for j in range(width)]


def pack(key, clues, extra):
    """One ciphertext a coordinate."""
    a, own = columns(clues["a"], CLUE_N), key[CLUE_N + COORDINATES - 1 :]
    out = []
    for c in range(COORDINATES):
        rows = key[COORDINATES - 1 - c :][:CLUE_N]
        factors = list(a)
        if extra:
            factors, rows = factors + columns(clues["extra"][c], OFFSET), rows + own
        ct = combination(factors, rows, Q1)
        body = [x + nearest(b, Q1, CLUE_Q) for x, b in zip(ct["body"], clues["b"][c])]
        out.append({"masks": ct["masks"], "body": modulo(body, Q1)})
    return out


def rescaled(a, start, end):
    return [nearest(x, end, start) % end for x in a]


def digits(x):
    """Of x / q2 in units of BASE^-DIGITS, rounded: from the last on, each in [-BASE/2, BASE/2); the first comes first,
    and what it would carry is a whole."""
    y, out = nearest(x, BASE**DIGITS, Q2), []
    for _ in range(DIGITS):
        digit = (y + BASE // 2) % BASE - BASE // 2
        y = (y - digit) // BASE
        out.insert(0, digit)
    return out


def key_sum(key, ct):
    """Under the sparse secret, modulo q2."""
    factors = []
    for a in ct["masks"]:
        factors += map(list, zip(*(digits(x) for x in rescaled(a, Q1, Q2))))
    return combination(factors, key, Q2)


def narrow(key, ct):
    under = key_sum(key, ct)
    body = modulo(add(under["body"], rescaled(ct["body"], Q1, Q2)), Q2)
    return {"masks": [rescaled(a, Q2, P) for a in under["masks"]], "body": rescaled(body, Q2, P)}


def phase(ct, secret, q):
    out = ct["body"]
    for a, s in zip(ct["masks"], secret):
        out = add(out, multiply(a, s))
    return modulo(out, q)


def edges(key):
    """Masks where digits and their rounding turn; bodies whose sums lie where the last rounding turns."""
    y = [0, 1, BASE**DIGITS - 1, BASE**DIGITS // 2, BASE**DIGITS // 2 - 1, 2 * (BASE**DIGITS // 3)]
    turns = [(2 * x + 1) * Q2 // (2 * BASE**DIGITS) + after for x in y for after in (0, 1)]
    firsts = [x * Q1 // Q2 % Q1 for x in turns] + [Q1 - 1, Q1 // 2, Q1 // 2 + 1, Q1 // (2 * Q2)]
    seconds = [Q1 - 1 - x for x in firsts]
    ct = {"masks": [firsts, seconds], "body": [0] * N}
    under = key_sum(key, ct)["body"]
    turns = [((2 * x + 1) * Q2 // (2 * P) + after) % Q2 for x in (0, 1, 2, P - 2, P - 1) for after in (0, 1)]
    # Nowhere is p / q2 times a residue closer to a half.
    halves = [x * pow(P, -1, Q2) % Q2 for x in (Q2 // 2, Q2 // 2 + 1)]
    turns += [0, Q2 - 1, Q2 // 2, Q2 // 2 + 1, *halves]
    body = [nearest((turn - x) % Q2, Q1, Q2) for turn, x in zip(turns, under)]
    assert modulo(add(under, rescaled(body, Q1, Q2)), Q2) == turns
    return {"masks": ct["masks"], "body": body}


# Slots


def slot(block, coefficient):
    """Where a message of a block comes to."""
    number = block * PARTS + coefficient % PARTS
    return number // COLUMNS * (SLOTS // 2) + coefficient // PARTS * COLUMNS + number % COLUMNS


def layout():
    """The part of the secret in each column of slots."""
    parts = RANK * PARTS
    repeats = COLUMNS // parts
    out = []
    for i in range(repeats):
        out += list(range(parts)) + [None] * ((COLUMNS % parts + repeats - 1 - i) // repeats)
    assert len(out) == COLUMNS
    return out


def omega():
    powers = (pow(x, (P - 1) // (2 * POINTS), P) for x in range(2, P))
    return next(x for x in powers if pow(x, POINTS, P) == P - 1)


OMEGA = omega()


def value(a, point):
    """Of a polynomial of degree below POINTS at omega^(2 point + 1)."""
    return sum(x * pow(OMEGA, (2 * point + 1) * k, P) for k, x in enumerate(a)) % P


def secret_slots(secret):
    parts = [s[r::PARTS] for s in secret for r in range(PARTS)]
    row = [0 if part is None else value(parts[part], i) for i in range(POINTS) for part in layout()]
    return row + row


def opened(blocks, secret):
    out = [None] * SLOTS
    for b, ct in enumerate(blocks):
        for y, x in enumerate(phase(ct, secret, P)):
            out[slot(b, y)] = x
    assert None not in out
    return out


def turns():
    """The least number of turns by one slot, from none on, that bring every part to every column."""
    parts = layout()
    seen = lambda u, count: {parts[(u + t) % COLUMNS] for t in range(count)} - {None}
    full = lambda count: all(len(seen(u, count)) == RANK * PARTS for u in range(COLUMNS))
    return next(count for count in range(COLUMNS + 1) if full(count))


def factor(masks, part, own, point):
    """What part `part` of the secret meets for part `own` of a phase."""
    l, r = divmod(part, PARTS)
    wrapped = pow(OMEGA, 2 * point + 1, P) if own < r else 1
    return value(masks[l][(own - r) % PARTS :: PARTS], point) * wrapped


def opened_from_slots(blocks, slots):
    """Steps 3 and 4 without encryption, one column after another."""
    out, parts = [None] * SLOTS, layout()
    for number in range(2 * COLUMNS):
        start, u = number // COLUMNS * (SLOTS // 2), number % COLUMNS
        ct, own = blocks[number // PARTS], number % PARTS
        values = [value(ct["body"][own::PARTS], i) for i in range(POINTS)]
        sources = {parts[(u + t) % COLUMNS]: (u + t) % COLUMNS for t in range(turns())}
        for part, column in sources.items():
            if part is not None:
                for i in range(POINTS):
                    values[i] += factor(ct["masks"], part, own, i) * slots[start + i * COLUMNS + column]
        for k in range(POINTS):
            terms = (x * pow(OMEGA, -(2 * i + 1) * k, P) for i, x in enumerate(values))
            out[start + k * COLUMNS + u] = sum(terms) * pow(POINTS, -1, P) % P
    return out


# Cases


def random_clues():
    a = uniform(CLUE_Q, N * CLUE_N)
    a[:4] = [0, CLUE_Q - 1, CLUE_Q // 2, CLUE_Q // 2 + 1]
    b = [uniform(CLUE_Q, N) for _ in range(COORDINATES)]
    b[0][:4] = a[:4]
    extra = [uniform(CLUE_Q, N * OFFSET) for _ in range(COORDINATES)]
    extra[1][:4] = a[:4]
    return {"a": a, "b": b, "extra": extra}


def distance(clues, clue, w, y, c):
    a = clues["a"][y * CLUE_N :][:CLUE_N]
    out = clues["b"][c][y] - sum(x * z for x, z in zip(clues["extra"][c][y * OFFSET :][:OFFSET], w))
    for i, x in enumerate(a):
        j = (c - i) % CLUE_N
        out -= x * clue[j] * (1 if i + j < CLUE_N else -1)
    return out % CLUE_Q


def check(narrowed, secret, exact):
    """Phases modulo p are distances but for noise of a few units."""
    for ct, distances in zip(narrowed, exact):
        for x, d in zip(phase(ct, secret, P), distances):
            assert abs(centered((x - nearest(d, P, CLUE_Q)) % P, P)) < 24


def both(of_packing, of_narrowing, clues, extra):
    packed = pack(of_packing, clues, extra)
    return {"packed": packed, "narrowed": [narrow(of_narrowing, ct) for ct in packed]}


def written(key, q, seed, part, errors):
    """A key's bodies as they are sent, and the masks of its first and last row."""
    ends = [0, len(key) - 1]
    masks = [[mask(q, seed, [part, i, l]) for l in range(len(key[0]["masks"]))] for i in ends]
    bodies = [transform(own["body"], q) for own in key]
    return {"index": part, "errors": errors, "bodies": bodies, "rows": ends, "masks": masks}


def keys_case():
    seed = RNG.randbytes(32)
    clue, w = ternary(CLUE_N), uniform(CLUE_Q, OFFSET)
    w[:2] = [0, CLUE_Q - 1]
    packing, last = [ternary(N) for _ in range(PACKING_RANK)], [sparse() for _ in range(RANK)]
    count = CLUE_N + COORDINATES - 1 + OFFSET
    small = [[RNG.choice([0, 0, 0, 0, 1, -1, 1, -1, 2, -2]) for _ in range(N)] for _ in range(count)]
    wide = [[RNG.randrange(-9, 10) for _ in range(N)] for _ in range(PACKING_RANK * DIGITS)]
    of_packing = packing_key(seed, clue, w, packing, small)
    of_narrowing = narrow_key(seed, packing, last, wide)
    clues = random_clues()
    plain, bound = (both(of_packing, of_narrowing, clues, extra) for extra in (False, True))
    for case, offset in ((plain, [0] * OFFSET), (bound, w)):
        exact = [[distance(clues, clue, offset, y, c) for y in range(N)] for c in range(COORDINATES)]
        check(case["narrowed"], last, exact)
    at_edges = edges(of_narrowing)
    return {
        "n": N, "p": P, "clue_q": CLUE_Q, "primes": [Q1, Q2], "seed": list(seed), "clue_secret": clue, "w": w,
        "packing_secret": packing, "sparse_secret": last,
        "packing": written(of_packing, Q1, seed, PACKING, small),
        "narrow": written(of_narrowing, Q2, seed, NARROW, wide),
        "clues": clues, "plain": plain, "bound": bound,
        "edges": {"packed": [at_edges], "narrowed": [narrow(of_narrowing, at_edges)]},
    }  # fmt: skip


def slots_case():
    secret = [sparse() for _ in range(RANK)]
    block = lambda: {"masks": [uniform(P, N) for _ in range(RANK)], "body": uniform(P, N)}
    coordinates = [[block() for _ in range(SLOTS // N)] for _ in range(COORDINATES)]
    slots = secret_slots(secret)
    answers = [opened(blocks, secret) for blocks in coordinates]
    assert answers == [opened_from_slots(blocks, slots) for blocks in coordinates]
    places = [[slot(block, y) for y in range(N)] for block in range(SLOTS // N)]
    return {
        "p": P, "points": POINTS, "slots": SLOTS, "turns": turns(), "places": places, "sparse_secret": secret,
        "secret_slots": slots, "narrowed": coordinates, "opened": answers,
    }  # fmt: skip


def main():
    beside = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "opening"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else beside
    out.mkdir(parents=True, exist_ok=True)
    for name, case in (("keys", keys_case()), ("slots", slots_case())):
        (out / f"{name}.json").write_text(json.dumps(case, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
