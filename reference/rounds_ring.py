"""Polynomials modulo X^n + 1, and ciphertexts of several secrets on one mask, from plain integers: a part of
`rounds.py`. Products are schoolbook, roundings those of whole numbers.

A transform has the values of a polynomial at odd powers of psi, a root of -1, in bit-reversed order.
"""

import itertools
import random
from math import prod

from bgv import add, center, modulo, scale
from xof import residues, stream

RNG = random.Random(0x726F756E6473)
# Digits of masks that are switched to one mask.
DIGIT_BITS, DIGITS = 16, 2


# Numbers and polynomials modulo X^n + 1


def is_prime(x):
    """Miller and Rabin's test with bases that decide below 2^64."""
    odd = x - 1
    while odd % 2 == 0:
        odd //= 2
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        powers = [pow(base, odd, x)]
        while odd << len(powers) < x:
            powers.append(powers[-1] ** 2 % x)
        if powers[0] != 1 and x - 1 not in powers[:-1]:
            return False
    return True


def primes_below(bits, n, count, taken=()):
    """The largest primes below 2^bits that are 1 modulo 2n."""
    candidates = range((2**bits - 2) // (2 * n) * 2 * n + 1, 0, -2 * n)
    return list(itertools.islice((q for q in candidates if q not in taken and is_prime(q)), count))


def nearest(x, times, over):
    """x times / over, rounded; halves up."""
    return (2 * x * times + over) // (2 * over)


def rescaled(a, start, end):
    return [nearest(x, end, start) % end for x in a]


def multiply(a, b):
    n = len(a)
    out = [0] * n
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if i + j < n:
                out[i + j] += x * y
            else:
                out[i + j - n] -= x * y
    return out


def subtract(a, b):
    return [x - y for x, y in zip(a, b)]


def image(a, g):
    """a(X^g)."""
    n = len(a)
    out = [0] * n
    for i, x in enumerate(a):
        out[i * g % n] += x if i * g % (2 * n) < n else -x
    return out


def monomial(n, k):
    """X^k, also for negative k."""
    out = [0] * n
    out[k % n] = 1 if k % (2 * n) < n else -1
    return out


def root(q, n):
    """psi: the first x^((q - 1) / 2n), x = 2, 3, ..., whose n-th power is -1."""
    powers = (pow(x, (q - 1) // (2 * n), q) for x in range(2, q))
    return next(psi for psi in powers if pow(psi, n, q) == q - 1)


def root_powers(q, n):
    psi, powers = root(q, n), [1]
    while len(powers) < 2 * n:
        powers.append(powers[-1] * psi % q)
    return powers


def interpolate(values, q):
    """The polynomial with these values: a dictionary by exponent of psi."""
    n = len(values)
    powers, unit = root_powers(q, n), pow(n, -1, q)
    return [unit * sum(v * powers[-e * k % (2 * n)] for e, v in values.items()) % q for k in range(n)]


def exponents(n):
    """Of a transform, in its order."""
    bits = n.bit_length() - 1
    return [2 * int(format(j, f"0{bits}b")[::-1], 2) + 1 for j in range(n)]


def transform(a, q):
    n = len(a)
    powers = root_powers(q, n)
    return [sum(x * powers[e * k % (2 * n)] for k, x in enumerate(a)) % q for e in exponents(n)]


def transforms(a, primes):
    return [transform(a, q) for q in primes]


def join(rows, primes):
    """Chinese remainders of polynomials."""
    whole = prod(primes)
    units = [whole // q * pow(whole // q, -1, q) for q in primes]
    return [sum(u * x for u, x in zip(units, column)) % whole for column in zip(*rows)]


def ternary(n):
    return [RNG.choice([-1, 0, 1]) for _ in range(n)]


def error(n):
    return [RNG.randrange(-9, 10) for _ in range(n)]


def uniform(q, n):
    return [RNG.randrange(q) for _ in range(n)]


def mask(primes, n, seed, index):
    """Uniform; the values of each prime's transform have a stream of their own."""
    drawn = [residues(stream("omr rlwe mask v1", seed, [*index, q]), q, n) for q in primes]
    return join([interpolate(dict(zip(exponents(n), row)), q) for row, q in zip(drawn, primes)], primes)


# One mask for several secrets


def gadget(q, bits, d):
    return nearest(q, 1, 2 ** (bits * (d + 1)))


def digits(x, bits, count):
    """Of x in units of 2^-(bits count), most significant first: each in [-2^bits / 2, 2^bits / 2). What the first one
    would carry is a whole."""
    out = []
    for _ in range(count):
        digit = center(x, 2**bits)
        x = (x - digit) >> bits
        out.insert(0, digit)
    return out


def shared_key(q, bits, count, parts, secrets, seed, index):
    """Rows for digit d of component k of part t: a mask, and for each secret z_i the body of gadget_d times what the
    component hides in i, or of 0. `parts`[t][k] lists (i, polynomial)."""
    rows, n = [], len(secrets[0])
    for inputs in parts:
        for hidden in inputs:
            for d in range(count):
                a, errors, bodies = mask([q], n, seed, [index, len(rows)]), [], []
                for i, z in enumerate(secrets):
                    errors.append(error(n))
                    body = subtract(errors[-1], multiply(a, z))
                    if i in hidden:
                        body = add(body, scale(gadget(q, bits, d), hidden[i]))
                    bodies.append(modulo(body, q))
                rows.append({"mask": a, "bodies": bodies, "errors": errors})
    return rows


def switched(rows, masks, q, bits, count, bodies):
    """The sum of rows times the digits of masks: a mask, and bodies."""
    n = len(rows[0]["mask"])
    cut = ([digits(x, bits, count) for x in a] for a in masks)
    factors = [list(digit) for polynomial in cut for digit in zip(*polynomial)]
    assert len(factors) <= len(rows)
    sums = [[0] * n for _ in range(1 + bodies)]
    for factor, own in zip(factors, rows):
        for total, a in zip(sums, [own["mask"], *own["bodies"][:bodies]]):
            total[:] = add(total, multiply(factor, a))
    return [modulo(a, q) for a in sums]


def written(rows, q):
    return {
        "errors": [x for own in rows for x in own["errors"]],
        "bodies": [transform(x, q) for own in rows for x in own["bodies"]],
    }
