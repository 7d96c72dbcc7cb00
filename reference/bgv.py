#!/usr/bin/env python3
"""Known answers for ring, key switching and the BGV evaluator, from plain integers.

Usage: python3 reference/bgv.py [OUT]     (default: testdata beside this folder)

Polynomials are lists of n integers modulo X^n + 1, multiplied by the schoolbook rule; moduli are
single large integers; transforms are evaluations. No residue number system, no fast transform.
The script decrypts all it computes before it writes a file. Output is deterministic.
"""

import json
import pathlib
import random
import sys
from itertools import islice
from math import prod

from xof import residues, stream

N = 16
P = 97
RNG = random.Random(0x6F6D72)


# Numbers and polynomials


def is_prime(x):
    return x > 1 and all(x % d for d in range(2, int(x**0.5) + 1))


def primes_above(start, count):
    step = 2 * N
    found, x = [], start // step * step + 1
    while len(found) < count:
        if x > start and is_prime(x):
            found.append(x)
        x += step
    return found


def root(q):
    """psi: the first x^((q - 1) / 2n), x = 2, 3, ..., whose n-th power is -1."""
    powers = (pow(x, (q - 1) // (2 * N), q) for x in range(2, q))
    return next(psi for psi in powers if pow(psi, N, q) == q - 1)


def center(x, m):
    """The representative of x modulo m in [-m/2, m/2)."""
    return (x + m // 2) % m - m // 2


def multiply(a, b):
    out = [0] * N
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            sign = 1 if i + j < N else -1
            out[(i + j) % N] += sign * x * y
    return out


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def scale(c, a):
    return [c * x for x in a]


def modulo(a, m):
    return [x % m for x in a]


def automorphism(a, g):
    """a(X^g)."""
    out = [0] * N
    for i, x in enumerate(a):
        sign = 1 if i * g % (2 * N) < N else -1
        out[i * g % N] += sign * x
    return out


def evaluate(a, x, q):
    return sum(c * pow(x, k, q) for k, c in enumerate(a)) % q


def interpolate(values, exponents, q):
    """The polynomial with these values at psi^exponent."""
    psi, unit = root(q), pow(N, -1, q)
    pairs = list(zip(values, exponents))
    return [unit * sum(v * pow(psi, -e * k, q) for v, e in pairs) % q for k in range(N)]


def reverse_bits(j):
    return int(format(j, f"0{N.bit_length() - 1}b")[::-1], 2)


TRANSFORM_EXPONENTS = [2 * reverse_bits(j) + 1 for j in range(N)]
SLOT_EXPONENTS = [
    (-1) ** row * pow(5, column, 2 * N) % (2 * N) for row in range(2) for column in range(N // 2)
]


def transform(a, q):
    psi = root(q)
    return [evaluate(a, pow(psi, e, q), q) for e in TRANSFORM_EXPONENTS]


def encode(slots):
    return interpolate(slots, SLOT_EXPONENTS, P)


def decode(a):
    psi = root(P)
    return [evaluate(a, pow(psi, e, P), P) for e in SLOT_EXPONENTS]


def join(rows, moduli):
    """Chinese remainders: one polynomial from its rows of residues."""
    q = prod(moduli)
    units = [q // m * pow(q // m, -1, m) for m in moduli]
    return [sum(u * row[i] for u, row in zip(units, rows)) % q for i in range(N)]


def split(a, moduli):
    return [modulo(a, m) for m in moduli]


# The scheme


def switch(a, old, new):
    """From the primes `old` to the primes `new`: (N x - d) / D with d = N x mod D, d = 0 mod P."""
    dropped = prod(m for m in old if m not in new)
    added = prod(m for m in new if m not in old)
    out = []
    for x in a:
        x *= added
        d = P * center(x * pow(P, -1, dropped), dropped)
        assert (x - d) % dropped == 0
        out.append((x - d) // dropped % prod(new))
    return out


def switch_factor(old, new):
    dropped = prod(m for m in old if m not in new)
    added = prod(m for m in new if m not in old)
    return added * pow(dropped, -1, P) % P


def small_secret():
    return [RNG.choice([-1, 0, 1]) for _ in range(N)]


def small_noise():
    return [RNG.randint(-9, 9) for _ in range(N)]


def mask(seed, index, moduli):
    """Uniform; each prime's transform has its own stream."""
    rows = []
    for q in moduli:
        values = residues(stream("omr rlwe mask v1", seed, [*index, q]), q, N)
        rows.append(interpolate(values, TRANSFORM_EXPONENTS, q))
    return join(rows, moduli)


def encrypt(message, secret, noise, a, q):
    body = add(add(scale(P, noise), message), scale(-1, multiply(a, secret)))
    return [modulo(body, q), a]


def switching_key(source, target, digits, special, seed, index, noises):
    """For each digit P g s_source under s_target: g is 1 modulo the digit, 0 modulo the others."""
    moduli = [m for digit in digits for m in digit] + special
    q = prod(m for digit in digits for m in digit)
    out = []
    for d, (digit, noise) in enumerate(zip(digits, noises)):
        rest = q // prod(digit)
        gadget = prod(special) * rest * pow(rest, -1, prod(digit))
        a = mask(seed, [index, d], moduli)
        out.append(encrypt(scale(gadget, source), target, noise, a, prod(moduli)))
    return out


def raised(c, moduli, key, digits, special):
    """P c s_source under s_target, modulo `moduli` and the special primes."""
    whole = prod(moduli + special)
    total = [[0] * N, [0] * N]
    for digit, parts in zip(digits, key):
        own = prod(m for m in digit if m in moduli)
        centered = [center(x, own) for x in c]
        for acc, part in zip(total, parts):
            acc[:] = modulo(add(acc, multiply(centered, part)), whole)
    return total


def relinearised(parts, moduli, key, digits, special, new):
    total = raised(parts[2], moduli, key, digits, special)
    lifted = [add(t, scale(prod(special), part)) for t, part in zip(total, parts)]
    return [switch(modulo(x, prod(moduli + special)), moduli + special, new) for x in lifted]


def rotated(parts, moduli, key, digits, special, g):
    total = raised(parts[1], moduli, key, digits, special)
    total[0] = add(total[0], scale(prod(special), parts[0]))
    whole = prod(moduli + special)
    down = [switch(modulo(x, whole), moduli + special, moduli) for x in total]
    return [modulo(automorphism(x, g), prod(moduli)) for x in down]


def tensor(a, b):
    middle = add(multiply(a[0], b[1]), multiply(a[1], b[0]))
    return [multiply(a[0], b[0]), middle, multiply(a[1], b[1])]


def decrypt(parts, secret, moduli, factor):
    q = prod(moduli)
    value = [center(x, q) for x in add(parts[0], multiply(parts[1], secret))]
    return [x * pow(factor, -1, P) % P for x in decode(value)]


# Cases


def transform_cases():
    out = []
    for q in [97, *primes_above(2**20, 1), *primes_above(2**49, 1)]:
        a = [RNG.randrange(q) for _ in range(N)]
        out.append({"q": q, "psi": root(q), "coeffs": a, "values": transform(a, q)})
    return out


def automorphism_cases():
    out = []
    for g in [1, 3, 5, 25, 31]:
        a = [RNG.randrange(P) for _ in range(N)]
        image = modulo(automorphism(a, g), P)
        slots, image_slots = decode(a), decode(image)
        out.append(
            {"g": g, "coeffs": a, "image": image, "slots": slots, "image_slots": image_slots}
        )
        if g == 5:  # a rotation of both rows to the left by one
            row = slots[: N // 2]
            assert image_slots[: N // 2] == row[1:] + row[:1]
    return out


def slot_cases():
    out = []
    for slots in [[0] * N, [1] * N, list(range(N)), [RNG.randrange(P) for _ in range(N)]]:
        coeffs = encode(slots)
        assert decode(coeffs) == slots
        out.append({"slots": slots, "coeffs": coeffs})
    return out


def switch_cases(primes):
    """Primes by their index: down by one, by two, sideways, up, down by two in another order."""
    out = []
    for old, new in [
        ([0, 1, 2], [0, 1]),
        ([0, 1, 2, 3], [1, 3]),
        ([0, 1, 2], [0, 3]),
        ([0], [0, 1, 2]),
        ([2, 0, 1], [1]),
    ]:
        old_primes, new_primes = [primes[i] for i in old], [primes[i] for i in new]
        a = [RNG.randrange(prod(old_primes)) for _ in range(N)]
        image = switch(a, old_primes, new_primes)
        out.append({
            "from": old, "to": new,
            "coeffs": split(a, old_primes), "image": split(image, new_primes),
            "factor": switch_factor(old_primes, new_primes),
        })  # fmt: skip
    return {"p": P, "primes": primes, "cases": out}


def stream_cases():
    out = []
    for domain, index, q in [
        ("omr rlwe mask v1", [7], 2**50 - 27),
        ("omr clue key alpha v1", [], 786433),
    ]:
        seed = bytes(range(32))
        first = list(islice(stream(domain, seed, index), 80))
        words = residues(stream(domain, seed, index), q, 20)
        out.append({
            "domain": domain, "seed": list(seed), "index": index,
            "bytes": first, "modulus": q, "residues": words,
        })  # fmt: skip
    return out


def evaluator_case(primes):
    """Universe: two base primes, two that levels drop, two special ones."""
    levels = [primes[:4], primes[:3], primes[:2]]
    digits, special = [primes[:2], primes[2:4]], primes[4:]
    secret = small_secret()
    seed = bytes([5] * 32)
    case = {"primes": primes, "seed": list(seed), "secret": secret, "ciphertexts": []}
    fresh = []
    for index in range(2):
        slots, noise = [RNG.randrange(P) for _ in range(N)], small_noise()
        message = [center(x, P) for x in encode(slots)]
        parts = encrypt(message, secret, noise, mask(seed, [index], levels[0]), prod(levels[0]))
        assert decrypt(parts, secret, levels[0], 1) == slots
        fresh.append((slots, parts))
        rows = [split(x, levels[0]) for x in parts]
        case["ciphertexts"].append({"slots": slots, "noise": noise, "parts": rows})
    noises = [small_noise() for _ in digits]
    key = switching_key(multiply(secret, secret), secret, digits, special, seed, 10, noises)
    factor = prod(special) * switch_factor(levels[0] + special, levels[1]) % P
    pair = tensor(fresh[0][1], fresh[1][1])
    product = relinearised(pair, levels[0], key, digits, special, levels[1])
    slots = [x * y % P for x, y in zip(fresh[0][0], fresh[1][0])]
    assert decrypt(product, secret, levels[1], factor) == slots
    rows = [split(x, levels[1]) for x in product]
    case["product"] = {
        "index": 10, "noises": noises, "slots": slots, "scale": factor, "parts": rows,
    }  # fmt: skip
    # One level down, where the second digit is cut short.
    square = relinearised(tensor(product, product), levels[1], key, digits, special, levels[2])
    factor = factor * factor * prod(special) * switch_factor(levels[1] + special, levels[2]) % P
    slots = [x * x % P for x in slots]
    assert decrypt(square, secret, levels[2], factor) == slots
    rows = [split(x, levels[2]) for x in square]
    case["square"] = {"slots": slots, "scale": factor, "parts": rows}
    case["rotation"] = rotation_case(fresh[0], secret, levels[0], digits, special, seed)
    return case


def rotation_case(fresh, secret, moduli, digits, special, seed):
    g, noises = 5, [small_noise() for _ in digits]
    preimage = automorphism(secret, pow(g, -1, 2 * N))
    key = switching_key(secret, preimage, digits, special, seed, 11, noises)
    turned = rotated(fresh[1], moduli, key, digits, special, g)
    # The key switch multiplies by P and divides by it: the scale stays 1.
    slots = decrypt(turned, secret, moduli, 1)
    half = N // 2
    assert slots[:half] == fresh[0][1:half] + fresh[0][:1]
    assert slots[half:] == fresh[0][half + 1 :] + fresh[0][half : half + 1]
    rows = [split(x, moduli) for x in turned]
    return {"g": g, "index": 11, "noises": noises, "slots": slots, "parts": rows}


def main():
    root_folder = pathlib.Path(__file__).resolve().parent.parent
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root_folder / "testdata"
    primes = primes_above(2**30, 4) + primes_above(2**36, 2)
    files = {
        "ring/transform.json": transform_cases(),
        "ring/automorphism.json": automorphism_cases(),
        "ring/switch.json": switch_cases(primes),
        "ring/stream.json": stream_cases(),
        "bgv/slots.json": slot_cases(),
        "bgv/evaluator.json": evaluator_case(primes),
    }
    for name, content in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(json.dumps(content, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
