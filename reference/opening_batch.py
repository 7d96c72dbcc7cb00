#!/usr/bin/env python3
"""Figures of opening_tail.py: constants, keys and batches of opened clues at full size.

Usage: python3 reference/opening_batch.py

Prints bounds of T (opening_tail.py) from all constants, its share of drawn keys, and T itself in
simulated batches: real diagonals of masks, as crates/opening makes them, meet real constants and the
noise of turns that |s(zeta)|^2 of a drawn key gives. Errors themselves are not drawn: T is their
variance. Last comes a small ring in which clues that are alike have signs: how much the probability
that a rounding is large depends on the clue. Standard library, some five minutes; deterministic.
"""

import cmath
import math
import random
import sys

P, N = 786433, 65536
POINTS, COLUMNS, TURNS, WINDOW, PARTS = 128, 256, 13, 12, 4
WEIGHT, EXCESS = 4096, 2**-6
FRESH, TURN = 3.2404**2 + 1 / 12, (WEIGHT + 1) / 12 * (1 + EXCESS)  # mean squares over n p^2
PREDICTED = (2 * TURNS - 1) * (FRESH + TURNS // 2 * TURN)  # `slot_noise` of crates/opening
TRIALS = 0, 65, 128


def noise_weights():
    """g_t."""
    return [(FRESH + t * TURN) / PREDICTED for t in range(TURNS)]


def by_turn(once, twice):
    """Turns 1 to 11 have two polynomials: nothing is beyond the end at 0, nothing is new there at 12."""
    return [once] + [twice] * (TURNS - 2) + [once]


# The constants


def transform(values, powers, p=None):
    """sum_j values[j] root^(i j); `powers` of the root; modulo p, or complex."""
    if len(values) == 1:
        return values
    even = transform(values[0::2], powers[0::2], p)
    odd = transform(values[1::2], powers[0::2], p)
    if p:
        odd = [x * w % p for x, w in zip(odd, powers)]
    else:
        odd = [x * w for x, w in zip(odd, powers)]
    return [x + y for x, y in zip(even, odd)] + [x - y for x, y in zip(even, odd)]


def powers_of(root, count, p=None):
    out = [1]
    for _ in range(count - 1):
        out.append(out[-1] * root % p if p else out[-1] * root)
    return out


def root_of_unity(order):
    roots = (pow(g, (P - 1) // order, P) for g in range(2, 100))
    return next(x for x in roots if pow(x, order // 2, P) != 1)


class Slots:
    """Polynomials by their slots, and their values at the embeddings in the order of slots."""

    def __init__(self):
        psi = root_of_unity(2 * N)
        self.omega = root_of_unity(2 * POINTS)
        self.inverse = powers_of(pow(psi, -2, P), N, P)
        self.untwist = powers_of(pow(psi, -1, P), N, P)
        self.circle = [cmath.exp(2j * math.pi * i / N) for i in range(N)]
        self.twist = [cmath.exp(1j * math.pi * i / N) for i in range(N)]
        self.exponents, e = [], 1
        for _ in range(N // 2):
            self.exponents.append(e)
            e = e * 5 % (2 * N)

    def constant(self, k):
        """C_k, by point; `constant` of crates/opening."""
        values = ((2 * ((i + k) % POINTS) + 1) * i for i in range(POINTS))
        by_point = [pow(self.omega, -x, P) * pow(POINTS, -1, P) % P for x in values]
        return [by_point[slot // COLUMNS] for slot in range(N // 2)] * 2

    def coefficients(self, slots):
        """Those of the polynomial with these slots, row 0, then row 1; centred."""
        values = [0] * N
        for e, x, y in zip(self.exponents, slots, slots[N // 2 :]):
            values[(e - 1) // 2], values[(2 * N - e - 1) // 2] = x, y
        n = pow(N, -1, P)
        coeffs = (x * w * n % P for x, w in zip(transform(values, self.inverse, P), self.untwist))
        return [x - P if x > P // 2 else x for x in coeffs]

    def embedded(self, coeffs, mean):
        """Values over the root of `mean`, a mean square."""
        values = transform([x * w for x, w in zip(coeffs, self.twist)], self.circle)
        return [values[(e - 1) // 2] / math.sqrt(mean) for e in self.exponents]

    def of(self, slots):
        return self.embedded(self.coefficients(slots), N * P * P / 12)


def largest_sum(weights, bits):
    """Chernoff: what sum w X, X exponential, exceeds with probability 2^-bits at most."""
    cost = bits * math.log(2)

    def bound(rate):
        return (cost - sum(math.log1p(-rate * w) for w in weights)) / rate

    low, high = 0.0, (1 - 1e-9) / max(weights)
    for _ in range(40):
        a, b = high - 0.618 * (high - low), low + 0.618 * (high - low)
        low, high = (low, b) if bound(a) < bound(b) else (a, high)
    return bound((low + high) / 2)


def pairs(values):
    """Neighbours: E_t(zeta_j) meets the polynomial "here" by C_j, "beyond" by C_(j + 1)."""
    return list(zip(values, values[1:] + values[:1]))


def weights_of(c):
    """Of the exponentials that T is a sum of, at an embedding."""
    g = noise_weights()
    return [s * w / POINTS for x, y in pairs(c) for s, w in zip(by_turn(x, x + y), g)]


def largest_pair(c):
    """sum_j |C_j a_j + C_(j + 1) b_j|^2 at most, where |a_j|^2 and |b_j|^2 have the sum 1."""
    return 2 * max(c) + 2 * max(math.sqrt(x * y) for x, y in pairs(c))


def print_constants():
    slots, rows = Slots(), []
    for k in range(POINTS):
        rows.append(slots.of(slots.constant(k)))
        print(f"\r{k + 1} of {POINTS}", end="", file=sys.stderr)
    at = [[abs(x) ** 2 for x in values] for values in zip(*rows)]
    mean = [sum(c) / POINTS for c in at]
    average = sum(mean) / len(mean)
    spread = math.sqrt(sum((x - average) ** 2 for x in mean) / len(mean))
    print(f"\nsum of c_k / 128: mean {average:.3f}, standard deviation {spread:.3f}, "
          f"largest {max(mean):.3f}; largest c_k {max(map(max, at)):.1f}, of two {max(map(largest_pair, at)):.1f}")
    orders = (sum, lambda c: sum(x * x for x in c), max)
    worst = [c for key in orders for c in sorted(at, key=key)[-20:]]
    for trials in TRIALS:
        most = max(largest_sum(weights_of(c), trials + 15) for c in worst)
        print(f"2^{trials} trials: T at most {most:.2f}")
    single, double = max(map(max, at)), max(map(largest_pair, at))
    shares = zip(by_turn(single, double), noise_weights())
    print(f"any masks: T at most {N * 1.5 / POINTS * sum(x * g for x, g in shares):.0f} times what turns add")
    return slots, rows, at


# Keys and batches at full size


class Key:
    """The noise of the turned secrets of a random key."""

    def __init__(self, slots, rng):
        coeffs = [0] * N
        for i in rng.sample(range(N), WEIGHT):
            coeffs[i] = rng.choice((-1, 1))
        self.squares = [abs(x) ** 2 for x in slots.embedded(coeffs, WEIGHT)]
        turns = ((1 + WEIGHT * u) / 12 + (WEIGHT + 1) / 12 * EXCESS for u in self.squares)
        self.sums = [0.0]
        for x in list(turns) * 2:
            self.sums.append(self.sums[-1] + x)

    def noise(self, at):
        """g_t at an embedding."""
        return [(FRESH + self.sums[at + t] - self.sums[at]) / PREDICTED for t in range(TURNS)]

    def share(self, at, c):
        """What T is for this key, on average over masks, over what it is for all keys."""
        points = [(at + COLUMNS * j) % (N // 2) for j in range(POINTS)]
        met = zip(pairs(c), map(self.noise, points))
        total = sum(s * w for (x, y), g in met for s, w in zip(by_turn(x, x + y), g))
        return total / POINTS / sum(weights_of(c))


def print_keys(slots, at, rng, keys=8):
    """At the embedding that decides, that of the largest |s|^2, and anywhere for `ANY_MASKS`."""
    mean, found, most = sum(noise_weights()[1:-1]), [], 0
    for _ in range(keys):
        key = Key(slots, rng)
        worst = max(range(N // 2), key=key.squares.__getitem__)
        found.append(key.share(worst, at[worst]))
        most = max(most, max(sum(key.noise(i)[1:-1]) for i in range(N // 2)) / mean)
    print(f"{keys} keys, at their worst embedding over the mean: {' '.join(f'{x:.2f}' for x in found)}; "
          f"turns anywhere at most {most:.2f}")


def layout():
    """`layout` of crates/opening: the part of the secret in a column."""
    repeats, empty = divmod(COLUMNS, WINDOW)
    out = []
    for i in range(repeats):
        out += [*range(WINDOW), *[None] * (empty // repeats + (i < empty % repeats))]
    return out


class Block:
    """The narrowed masks of a block, in values, as they are and times omega^(2 i + 1)."""

    def __init__(self, slots, coefficient):
        powers = powers_of(slots.omega, 2 * POINTS, P)
        circle = powers[0::2]
        self.masks = []
        for _ in range(WINDOW):
            own = [coefficient() * w % P for w in powers[:POINTS]]
            values = [x % P for x in transform(own, circle, P)]
            self.masks.append((values, [x * w % P for x, w in zip(values, powers[1::2])]))

    def met(self, part, own):
        """What part `part` of the secret meets in column `own` of the block."""
        first, residue = part // PARTS * PARTS, part % PARTS
        return self.masks[first + (own - residue) % PARTS][own < residue]


def diagonal(blocks, turn, beyond):
    """The slots of m_t; `factors` of crates/opening."""
    parts, half = layout(), N // 2
    out = [0] * N
    for number in range(2 * COLUMNS):
        row, u = divmod(number, COLUMNS)
        met = parts[(u + turn) % COLUMNS]
        earlier = (parts[(u + i) % COLUMNS] for i in range(turn))
        if met is None or (u + turn >= COLUMNS) != beyond or met in earlier:
            continue
        values = blocks[number // PARTS].met(met, number % PARTS)
        if beyond:
            values = values[1:] + values[:1]
        out[row * half + u : (row + 1) * half : COLUMNS] = values
    return out


def batches(slots, rng):
    def uniform():
        return Block(slots, lambda: rng.randrange(P))

    one, other, count = uniform(), uniform(), 2 * COLUMNS // PARTS
    yield "honest", [uniform() for _ in range(count)]
    yield "alike", [one] * count
    yield "alike but one", [other] + [one] * (count - 1)
    yield "two kinds", [rng.choice((one, other)) for _ in range(count)]
    yield "of one block alone", [one] + [Block(slots, lambda: 0)] * (count - 1)
    yield "all (p - 1) / 2", [Block(slots, lambda: P // 2)] * count


def print_batches(slots, rows, rng, step=13):
    """T at every `step`-th embedding, for a batch and a key of each kind."""
    for name, blocks in batches(slots, rng):
        key, found = Key(slots, rng), []
        masks = [[slots.of(diagonal(blocks, t, beyond)) for t in range(TURNS)] for beyond in (False, True)]
        for at in range(0, N // 2, step):
            total = 0.0
            for j in range(POINTS):
                i, x, y = (at + COLUMNS * j) % (N // 2), rows[j][at], rows[(j + 1) % POINTS][at]
                met = (abs(x * here[i] + y * beyond[i]) ** 2 for here, beyond in zip(*masks))
                total += sum(g * square for g, square in zip(key.noise(i), met))
            found.append(total / POINTS)
        mean = sum(found) / len(found)
        spread = math.sqrt(sum((t - mean) ** 2 for t in found) / len(found))
        print(f"masks {name}: T {mean:.3f}, standard deviation {spread:.3f}, largest {max(found):.2f}", flush=True)


# Signs of clues that are alike


class Small:
    """Packing, narrowing and a first rounding in rings of 16 and 32 coefficients, at random masks."""

    n, out, p, packing, narrow, top, dropped, digits = 16, 32, 193, 2**20 - 3, 2**12 - 3, 2**40 - 87, 2**20, 6

    def __init__(self, rng):
        self.rng = rng
        self.key = [[self.uniform(self.narrow) for _ in range(self.digits)] for _ in range(2)]
        self.opening = [[rng.randrange(self.top) for _ in range(self.out)] for _ in range(self.n)]
        self.root = [cmath.exp(5j * math.pi * i / self.out) for i in range(self.out)]

    def uniform(self, q):
        return [self.rng.randrange(q) for _ in range(self.n)]

    def product(self, a, b):
        out = [0] * self.n
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                out[(i + j) % self.n] += x * y if i + j < self.n else -x * y
        return out

    def cut(self, x):
        x, out = (x + self.narrow // 2) % self.narrow - self.narrow // 2, []
        for _ in range(self.digits):
            out.append((x + 2) % 4 - 2)
            x = (x - out[-1]) // 4
        return out

    def narrowed(self, packed):
        sums = [0] * self.n
        for mask, rows in zip(packed, self.key):
            digits = zip(*(self.cut(round(x % self.packing * self.narrow / self.packing)) for x in mask))
            for digit, row in zip(digits, rows):
                sums = [x + y for x, y in zip(sums, self.product(digit, row))]
        return [round(x % self.narrow * self.p / self.narrow) % self.p for x in sums]

    def first(self, masks):
        """|e1|^2 at an embedding over its mean: what is rounded when most of the modulus goes."""
        opened = [0] * self.out
        for x, row in zip(masks, self.opening):
            centred = x - self.p if x > self.p // 2 else x
            opened = [a + centred * b for a, b in zip(opened, row)]
        parts = (x % self.top / self.dropped for x in opened)
        e1 = sum((x - round(x)) * root for x, root in zip(parts, self.root))
        return abs(e1) ** 2 * 12 / self.out


def print_signs(rng, clues=40, draws=1000):
    """All clues of a block alike: packed masks are c times the polynomial of their signs."""
    small, counts = Small(rng), []
    for _ in range(clues):
        c, count = [small.uniform(small.packing) for _ in range(2)], 0
        for _ in range(draws):
            signs = [rng.choice((1, -1)) for _ in range(small.n)]
            count += small.first(small.narrowed([small.product(signs, x) for x in c])) > 3
        counts.append(count)
    mean = sum(counts) / clues
    spread = math.sqrt(sum((x - mean) ** 2 for x in counts) / clues)
    binomial = math.sqrt(mean * (1 - mean / draws))
    print(f"clues alike, signs: |e1|^2 over 3 times its mean in {mean:.1f} of {draws} draws, standard "
          f"deviation over {clues} clues {spread:.1f} (binomial {binomial:.1f}), at most {max(counts)}")


def main():
    slots, rows, at = print_constants()
    print_keys(slots, at, random.Random(3))
    print_batches(slots, rows, random.Random(4))
    print_signs(random.Random(5))


if __name__ == "__main__":
    main()
