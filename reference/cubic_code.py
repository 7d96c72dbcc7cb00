#!/usr/bin/env python3
"""Known answers for the code over the cubic field, from plain integers and textbook definitions.

Usage: python3 reference/cubic_code.py [OUT]     (default: testdata/codec beside this folder)

Nothing here shares a method with the crate: the polynomial and all logarithms come from walking the
powers of y, products from a schoolbook rule on triples, symbols from Gaussian elimination, supports
from trying every element as a root. The script checks its own decoders against what it encoded
before it writes a file. Output is deterministic.
"""

import pathlib
import struct
import sys

from codec import below, pack, write
from xof import derive_key, derive_stream, keyed_stream

P = 97
SIZE = P**3
MESSAGES = SIZE - 1
SIDE, ROUNDS = 956, 10
ONE, ZERO = (1, 0, 0), (0, 0, 0)


# Field


def times_y(a, x):
    """The product of a triple by y, modulo y^3 + a2 y^2 + a1 y + a0."""
    return tuple((low - x[2] * c) % P for low, c in zip((0, x[0], x[1]), a))


def walk(a):
    """1, y, y^2, ... up to the first return to 1."""
    powers = [ONE]
    while (power := times_y(a, powers[-1])) != ONE:
        powers.append(power)
    return powers


def smallest_primitive():
    """The first (a2, a1, a0) whose y walks through all non-zero triples."""
    for a2 in range(P):
        for a1 in range(P):
            for a0 in range(1, P):
                powers = walk((a0, a1, a2))
                if len(powers) == MESSAGES:
                    return (a0, a1, a2), powers
    raise AssertionError("a finite field has primitive polynomials")


POLYNOMIAL, POWERS = smallest_primitive()
LOGARITHM = {power: exponent for exponent, power in enumerate(POWERS)}
assert len(LOGARITHM) == MESSAGES


def add(x, y):
    return tuple((a + b) % P for a, b in zip(x, y))


def mul(x, y):
    """Schoolbook: y0 x + y1 (y x) + y2 (y^2 x)."""
    result = ZERO
    for c in y:
        result = add(result, tuple(c * v % P for v in x))
        x = times_y(POLYNOMIAL, x)
    return result


def inverse(x):
    return POWERS[-LOGARITHM[x] % MESSAGES]


def power(x, e):
    return POWERS[LOGARITHM[x] * e % MESSAGES]


def total(values):
    result = ZERO
    for value in values:
        result = add(result, value)
    return result


# Nodes and factors


def draw(source, limit):
    """Eight bytes, little endian, as a fraction of 2^64 of the limit."""
    return int.from_bytes(bytes(next(source) for _ in range(8)), "little") * limit >> 64


def round_functions(seed):
    source = derive_stream("omr cubic permutation v1", seed)
    return [[draw(source, SIDE) for _ in range(SIDE)] for _ in range(ROUNDS)]


def permuted(functions, index):
    while True:
        left, right = divmod(index, SIDE)
        for function in functions:
            left, right = right, (left + function[right]) % SIDE
        index = left * SIDE + right
        if index < MESSAGES:
            return index


def blinded(seed, index, symbols):
    source = keyed_stream(derive_key("omr cubic units v1", seed), struct.pack("<Q", index))
    return [mul(symbol, POWERS[draw(source, MESSAGES)]) for symbol in symbols]


# Weights and sums


def power_sums(bound):
    """Newton's identities divide by 1 .. bound; where 97 is among these, a recurrence takes twice as many."""
    return bound if bound < P else 2 * bound


def index_weights(node, bound):
    return [1] + [c for t in range(1, power_sums(bound) + 1) for c in power(node, t)]


def counters(indices, group):
    """Message i adds 1 to counter i // 96: none exceeds 96."""
    counts = [sum(i // (P - 1) == j for i in indices) for j in range(-(-group // (P - 1)))]
    assert all(count < P for count in counts) and sum(counts) == len(indices)
    return counts


def payload_weights(node, symbols, bound):
    """For every power and coefficient one row over the symbols."""
    rows = []
    for t in range(1, bound + 1):
        products = [mul(power(node, t), symbol) for symbol in symbols]
        rows += [product[c] for c in range(3) for product in products]
    return rows


def sums(rows):
    return [sum(column) % P for column in zip(*rows)]


# Decoders, to check the encoders


def roots(index_sums, count):
    """The set with these power sums: every element tried in Newton's polynomial."""
    power_sums = [tuple(index_sums[3 * t - 2 : 3 * t + 1]) for t in range(1, count + 1)]
    elementary = [ONE]
    for k in range(1, count + 1):
        terms = [mul(elementary[k - i], power_sums[i - 1]) for i in range(1, k + 1)]
        signed = [t if i % 2 == 0 else tuple(-v % P for v in t) for i, t in enumerate(terms)]
        scale = pow(k, P - 2, P)
        elementary.append(tuple(v * scale % P for v in total(signed)))
    signed = [e if i % 2 == 0 else tuple(-v % P for v in e) for i, e in enumerate(elementary)]
    logs = [(LOGARITHM[e], count - i) for i, e in enumerate(signed) if e != ZERO]
    found = []
    for x in range(MESSAGES):
        terms = [POWERS[(log + degree * x) % MESSAGES] for log, degree in logs]
        if not any(sum(column) % P for column in zip(*terms)):
            found.append(POWERS[x])
    return found


def check_recurrence(nodes, index_sums):
    """The product of 1 - x X over the nodes annihilates the power sums, so that they determine it."""
    product = [ONE]
    for x in nodes:
        minus = tuple(-v % P for v in x)
        shifted = [ZERO] + [mul(c, minus) for c in product]
        product = [add(a, b) for a, b in zip(product + [ZERO], shifted)]
    at = lambda t: tuple(index_sums[3 * t - 2 : 3 * t + 1])
    for t in range(len(nodes) + 1, (len(index_sums) - 1) // 3 + 1):
        assert total(mul(c, at(t - i)) for i, c in enumerate(product)) == ZERO


def elimination(nodes, rhs):
    """Solves sum x_i^t v_i = rhs_t for t = 1, 2, ..."""
    rows = [[power(x, t + 1) for x in nodes] + [rhs[t]] for t in range(len(nodes))]
    for i in range(len(nodes)):
        pivot = next(r for r in range(i, len(nodes)) if rows[r][i] != ZERO)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        scale = inverse(rows[i][i])
        rows[i] = [mul(v, scale) for v in rows[i]]
        for r in range(len(nodes)):
            if r != i and rows[r][i] != ZERO:
                factor = tuple(-v % P for v in rows[r][i])
                rows[r] = [add(v, mul(factor, w)) for v, w in zip(rows[r], rows[i])]
    return [row[-1] for row in rows]


def check(nodes, symbols, index_sums, payload_sums, by_trying):
    if by_trying:
        assert sorted(roots(index_sums, len(nodes))) == sorted(nodes)
    width = len(symbols[0])
    for j in range(min(width, 3)):
        sum_of = lambda t: tuple(payload_sums[(3 * t + c) * width + j] for c in range(3))
        rhs = [sum_of(t) for t in range(len(nodes))]
        assert elimination(nodes, rhs) == [row[j] for row in symbols]


# The files


def triples(payload):
    digits = pack(P, payload)
    digits += [0] * (-len(digits) % 3)
    return [tuple(digits[i : i + 3]) for i in range(0, len(digits), 3)]


def symbols_cases():
    payloads = [bytes(below(256) for _ in range(n)) for n in (1, 2, 8, 55, 56, 57, 112, 130, 612)]
    payloads += [b"\xff" * 56, b"\x00" * 9, b"\xff" * 3]
    return [{"payload": b.hex(), "symbols": triples(b)} for b in payloads]


def code_case(count, bound, size, by_trying):
    seed = bytes(below(256) for _ in range(32))
    functions, indices = round_functions(seed), set()
    while len(indices) < count:
        indices.add(below(MESSAGES))
    indices = sorted(indices)
    nodes = [POWERS[permuted(functions, i)] for i in indices]
    assert len(set(nodes)) == count
    payloads = [bytes(below(256) for _ in range(size)) for _ in indices]
    symbols = [blinded(seed, i, triples(b)) for i, b in zip(indices, payloads)]
    index_sums = sums([index_weights(x, bound) for x in nodes])
    payload_sums = sums([payload_weights(x, v, bound) for x, v in zip(nodes, symbols)])
    check(nodes, symbols, index_sums, payload_sums, by_trying)
    messages = [
        {"index": i, "node": x, "payload": b.hex(), "first_blinded": v[0]}
        for i, x, b, v in zip(indices, nodes, payloads, symbols)
    ]
    case = {"seed": seed.hex(), "bound": bound, "messages": messages}
    return case | {"index_sums": index_sums, "payload_sums": payload_sums}


def counted_case(count, bound, size, group):
    seed = bytes(below(256) for _ in range(32))
    functions, indices = round_functions(seed), set()
    while len(indices) < count:
        indices.add(below(group))
    indices = sorted(indices)
    nodes = [POWERS[permuted(functions, i)] for i in indices]
    payloads = [bytes(below(256) for _ in range(size)) for _ in indices]
    symbols = [blinded(seed, i, triples(b)) for i, b in zip(indices, payloads)]
    index_sums = sums([index_weights(x, bound) for x in nodes])
    payload_sums = sums([payload_weights(x, v, bound) for x, v in zip(nodes, symbols)])
    if bound < count:
        assert index_sums[0] == count % P
    elif bound < P:
        check(nodes, symbols, index_sums, payload_sums, False)
    else:
        check_recurrence(nodes, index_sums)
    messages = [
        {"index": i, "node": x, "payload": b.hex(), "first_blinded": v[0]}
        for i, x, b, v in zip(indices, nodes, payloads, symbols)
    ]
    case = {"seed": seed.hex(), "bound": bound, "group": group, "messages": messages}
    case |= {"index_sums": index_sums, "payload_sums": payload_sums}
    return case | {"counters": counters(indices, group)}


def counted_cases():
    """Within small and large bounds, and above them."""
    return [counted_case(*shape) for shape in [(5, 7, 10, 300), (98, 99, 2, 4096), (205, 3, 2, 1000)]]


def code_cases():
    shapes = [(1, 1, 1, True), (4, 4, 10, True), (3, 6, 612, False), (20, 22, 2, False)]
    return [code_case(*shape) for shape in [*shapes, (50, 50, 4, False)]]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "testdata" / "codec"
    out.mkdir(parents=True, exist_ok=True)
    write(out / "cubic_symbols.json", symbols_cases())
    write(out / "cubic.json", [{"polynomial": POLYNOMIAL}, *code_cases()])
    write(out / "cubic_counted.json", counted_cases())


if __name__ == "__main__":
    main()
