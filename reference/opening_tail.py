#!/usr/bin/env python3
"""How far below its floor the noise of opened slots must lie (packed clues).

Usage: python3 reference/opening_tail.py

Opening multiplies the noise E_t of the encrypted secret, turned t = 0 .. 12 times, by polynomials of
masks modulo p, "here" h_t and "beyond" b_t. The sums of the former are turned by a point and added to
those of the latter, and the whole, turned k = 0 .. 127 times, meets the constants of the inverse
transform. So E_t of one embedding meets both polynomials, by neighbouring constants. At an embedding

    V = sum_j sum_t (C_j(zeta) h_t(zeta_j) + C_(j + 1)(zeta) b_t(zeta_j)) E_t(zeta_j)

is complex Gaussian, as each E_t is, of variance T v^2: v^2 the mean square that `slot_noise` of
crates/opening predicts, and

    T = 1/128 sum_j sum_t g_t |C_j h_t + C_(j + 1) b_t|^2 / f^2        f = n p^2 / 12
    c_j = |C_j(zeta)|^2 / f

g_t grows with t, as E_t has the noise of t turns: the share of one product in v^2. `slot_noise` counts
25 products of 6 turns each. There are 24, since nothing is met beyond the end at t = 0, and nothing
new at t = 12; the sum of their g_t is 0.960. Masks are random, so T is a sum of 1,664 exponentials, of
means (c_j + c_(j + 1)) g_t / 128, and c_j g_t / 128 for t = 0 and 12. It varies little, where one
product has a single exponential. The turn by a point and those of the transform add nothing that
counts.

Theorem. Given the masks of the keys, the clues and the placement, V is a fixed linear form of
independent errors and roundings: up to the normal approximation, complex Gaussian of variance T v^2 at
every zeta. Moreover

1. for any clues, |h_t|^2 and |b_t|^2 are at most 3 f on average over zeta, and T is at most 98,000 (8.3
   bits) anywhere, for keys whose turns have at most 3.8 times their mean noise at a zeta (eight drawn
   keys: 3.73);
2. if the masks of packing and narrowing are uniform and independent of the clues, and no point of a
   block's ring is a zero of all its columns, the narrowed masks of the block are uniform modulo p, except
   with probability 2^-87 and a rounding bias of 2^-9.9, and the block adds a uniform or zero value to each
   coefficient of h_t and b_t;
3. the embedding where |s(zeta)|^2 is largest is uniform and independent of all that strangers know.

Proof. 1: Coefficients are at most p/2; by Parseval the squares at 128 zeta_j sum to at most n^2 p^2/8, as
conjugates agree; |C_j|^2 is at most 24.8 f, and two neighbours together count at most 71.3 f (computed).
2: Packed masks are uniform at every point where a column is not 0. All 52 digit polynomials of a block
vanish at a given point with probability below 2^-103, since the first four coefficients must have 26
given bits; there are 2^16 points. Where a digit does not vanish the narrowed masks are uniform and
independent, and coefficients are linear forms of them. 3: Galois automorphisms permute the embeddings and
preserve the distribution of s and the test of keys.

What T does to a chain of squarings is computed as in squaring_tail.py: the first x has
1 + T 4^-margin times its variance. "scaled" takes the opened noise to be as much larger at a bad
embedding as the floor is there, 12 times. It is not, because it comes from 128 embeddings: "as it
is" counts T 4^-margin / 12 for it.

TRIALS, HONEST, KEY and ANY_MASKS come from opening_batch.py. HONEST is T over embeddings of one
simulated batch of honest masks and a drawn key, with the real constants. Masks are uniform there, not
packed and narrowed. Standard library, a minute; deterministic.

Results: least margins in bits at which escapes are 1.05 times as likely.

    masks                                              scaled    as it is
    of honest clues                                      1.69        -0.10
    at the worst embedding, whatever the key             2.21        0.42
    the best of 2^128 choices, at one embedding          2.59        0.80
    any at all, which nobody knows how to make          10.00        8.21

They hold where nobody knows the rounding of the first x in advance: `print_known_masks`.
"""

import cmath
import math
import random

from opening_batch import N, by_turn, noise_weights
from squaring_tail import BOUND, ESCAPE, FALL, SQUARINGS, Chain

GROWTH = 1.05  # of the probability of an escape
BITS = math.log2(ESCAPE) / 2

# T at the worst embedding, for the best of 2^bits sets of masks, and what keys add: E_t has the noise of
# turns at other embeddings, which is KEY of its mean at most where |s|^2 is largest (keys drawn).
TRIALS = {0: 1.80, 65: 2.39, 128: 3.06}
KEY = 1.1
# T over embeddings in a simulated batch of full size: mean, standard deviation.
HONEST = 0.95, 0.14
# Whatever the masks are: |h_t|^2 and |b_t|^2 are n^2 p^2 / 8 at most, since the conjugate embedding has as
# much. All of it where the constants are largest, and where the turns have 3.8 times their mean.
ANY_MASKS = 25623 * 3.8


# What the opened noise does to the chain


class Growth:
    """How much likelier escapes get with the variance 1 + added of the first x."""

    ADDED = [0, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.2, 2, 3, 5, 8]

    def __init__(self):
        chain = Chain(BITS)
        self.escape = chain.escapes(SQUARINGS)[-1]
        probabilities = [chain.escapes(SQUARINGS, 1 + x)[-1] for x in self.ADDED]
        self.ln = [math.log(x / self.escape) for x in probabilities]

    def of(self, added):
        i = next((i for i, x in enumerate(self.ADDED) if x > added), len(self.ADDED) - 1) - 1
        low, high = self.ADDED[i : i + 2]
        share = (added - low) / (high - low)
        return math.exp(min(self.ln[i] * (1 - share) + self.ln[i + 1] * share, -math.log(self.escape)))

    def mean(self, law, share):
        """law: values of T with their probabilities."""
        return sum(weight * self.of(t * share) for t, weight in law)

    def least_margin(self, law, scale, growth=GROWTH):
        low, high = -4.0, 16.0
        for _ in range(40):
            middle = (low + high) / 2
            fits = self.mean(law, 4.0**-middle / scale) <= growth
            low, high = (low, middle) if fits else (middle, high)
        return high


def law(density, most, steps=400):
    values = [(i + 0.5) * most / steps for i in range(steps)]
    weights = [density(t) for t in values]
    return [(t, w / sum(weights)) for t, w in zip(values, weights)]


def gamma(mean, deviation):
    shape, scale = (mean / deviation) ** 2, deviation**2 / mean
    log = -math.lgamma(shape) - shape * math.log(scale)
    return law(lambda t: math.exp(log + (shape - 1) * math.log(t) - t / scale), mean + 10 * deviation)


def cases():
    yield "one product: honest", law(lambda t: math.exp(-t), 40)
    yield "one product: hostile, 3 times the variance", law(lambda t: math.exp(-t / 3) / 3, 120)
    yield "opened: honest", gamma(*HONEST)
    for bits, most in TRIALS.items():
        yield f"opened: worst embedding, best of 2^{bits} masks", [(most * KEY, 1)]
    yield "opened: any masks at all", [(ANY_MASKS, 1)]


def print_margins(growth):
    print(f"escape 2^{math.log2(growth.escape):.2f}; least margin for 1.05 and 1.41 times that, which "
          f"makes 2^-40 a batch\n{'':46}scaled 1.05  1.41   as it is 1.05  1.41")
    for name, t in cases():
        row = [growth.least_margin(t, scale, most) for scale in (1, BOUND) for most in (GROWTH, 2**0.5)]
        print(f"{name:46}{row[0]:11.2f}{row[1]:6.2f}{row[2]:16.2f}{row[3]:6.2f}")
    print("\nhow much likelier at margins 1, 2, 3 (scaled; as it is)")
    for name, t in list(cases())[:-1]:
        row = [growth.mean(t, 4.0**-m / scale) for scale in (1, BOUND) for m in (1, 2, 3)]
        print(f"{name:46}{''.join(f'{x:10.3f}' for x in row)}")


def print_other_embeddings(growth):
    """The bound on keys takes escapes at |s|^2 = u to be exp(-32 (12 / u - 1)) of those at 12."""
    print("\n|s|^2 at the embedding, added noise over the mean floor: escapes over what is allowed")
    added = (0, 0.3, 0.6, 1.2)
    print(f"{'':6}{''.join(f'{x:8.1f}' for x in added)}")
    for u in (12, 11, 10, 8, 6):
        chain = Chain(math.log2(ESCAPE * BOUND / u) / 2)
        allowed = growth.escape * math.exp(-FALL * (BOUND / u - 1))
        row = [chain.escapes(SQUARINGS, 1 + x / u)[-1] / allowed for x in added]
        print(f"{u:6}{''.join(f'{x:8.3f}' for x in row)}")


# Masks that are known before clues are posted


class Started(Chain):
    """The chain from a first |w| that is chosen."""

    def escapes_from(self, start):
        if start >= 1:
            return 1.0
        cell = min(int(start * len(self.points)), len(self.points) - 1)
        mass, gone = [row[cell] for row in self.move], self.leave[cell]
        for _ in range(SQUARINGS - 1):
            gone += sum(m * e for m, e in zip(mass, self.leave))
            mass = [sum(map(float.__mul__, row, mass)) for row in self.move]
        return min(gone, 1.0)


def print_known_masks():
    """The first x is e0 + e1 s, e1 the rounding of a mask. Who knows the key's masks picks the clue that
    makes e1 the largest of 2^bits at one embedding. u, |s|^2 there, he does not know.

    In a batch filled with one clue masks depend on the signs alone. Without them the clue escapes as
    printed. Where a batch has one clue and no other, masks have one of 2^16 places and a sign, which
    changes all digits: the best clue is the best of as many tries in one case, which may not come."""
    print("\nfirst rounding the best of 2^bits at one embedding: log2 of the probability that it escapes")
    tries = (20, 40, 60, 80)
    total = dict.fromkeys(tries, 0.0)
    for i in range(23):
        u = 1 + i / 2
        chain = Started(math.log2(ESCAPE * BOUND / u) / 2)
        for bits in tries:
            square = (bits + 15) * math.log(2) * u / (ESCAPE * BOUND)
            total[bits] += math.exp(-u) / 2 * chain.escapes_from(math.sqrt(square))
    rows = ("a full batch of one, without signs", 0), ("a single clue", math.log2(2 * N))
    for name, chance in rows:
        print(name + "".join(f"  2^{bits}: {math.log2(x) - chance:.1f}" for bits, x in total.items()))


# Simulations


def convolved(weights, step, cells):
    """Distribution of sum w X, X exponential, in cells."""
    mass = [1.0] + [0.0] * (cells - 1)
    for w in weights:
        stay, carried, out = w / (w + step), 0.0, []
        for m in mass:
            carried = stay * carried + (1 - stay) * m
            out.append(carried)
        mass = out
    return [(i * step, m) for i, m in enumerate(mass) if m > 1e-15]


def simulate_products(rng, n=64, p=97, points=3, turns=2, trials=20000):
    """|V|^2 over its mean in a small ring, with real polynomials: how often it exceeds 3, 6, 9."""
    e = 1
    roots = []
    for _ in range(points):
        roots.append([cmath.exp(1j * math.pi * e * i / n) for i in range(n)])
        e = e * 5 % (2 * n)
    constants = [1.0, 0.4, 0.1]
    squares = []
    for _ in range(trials):
        diagonals = [[rng.randrange(p) - p // 2 for _ in range(n)] for _ in range(turns)]
        noises = [[rng.gauss(0, 1) for _ in range(n)] for _ in range(turns)]
        v = 0j
        for c, root in zip(constants, roots):
            for m, noise in zip(diagonals, noises):
                v += math.sqrt(c) * sum(map(complex.__mul__, map(complex, m), root)) * sum(
                    map(complex.__mul__, map(complex, noise), root))
        squares.append(abs(v) ** 2)
    mean = turns * sum(constants) * n * n * (p * p - 1) / 12
    weights = [c / sum(constants) / turns for c in constants for _ in range(turns)]
    laws = convolved(weights, 0.005, 4000)
    print("\n|V|^2 over its mean exceeds: simulated, by convolution, if |V|^2 were exponential")
    for x in (1, 3, 6, 9):
        found = sum(s > x * mean for s in squares) / trials
        predicted = sum(m * math.exp(-x / t) for t, m in laws if t > 0)
        print(f"{x:3}  {found:.5f}  {predicted:.5f}  {math.exp(-x):.5f}")
        assert abs(found - predicted) < 4 * math.sqrt(predicted / trials) + 0.001


def simulate_chain(rng, trials=20000):
    """Escapes of a chain whose first x carries V, with few terms so that T varies."""
    weights = [0.5, 0.3, 0.2]
    print("\nlog2(q / sigma), T 4^-margin on average: simulated, by the grid")
    for bits, share in ((1.25, 0.5), (1.5, 0.5), (1.5, 1.0)):
        deviation, escaped = 2.0**-bits / math.sqrt(2), 0
        for _ in range(trials):
            t = share * sum(w * rng.expovariate(1) for w in weights)
            w = 0j
            for k in range(SQUARINGS + 1):
                size = deviation * (math.sqrt(1 + t) if k == 0 else 1)
                w = w * w + complex(rng.gauss(0, size), rng.gauss(0, size))
                if abs(w) >= 1:
                    escaped += 1
                    break
        chain = Chain(bits)
        laws = convolved(weights, 0.01, 1200)
        cells = [(sum(t * m for t, m in part), sum(m for _, m in part))
                 for part in (laws[i : i + 40] for i in range(0, len(laws), 40))]
        predicted = sum(m * chain.escapes(SQUARINGS, 1 + share * t / m)[-1] for t, m in cells if m > 1e-6)
        print(f"{bits:5}  {share}: {escaped / trials:.4f}  {predicted:.4f}")
        assert abs(escaped / trials - predicted) < 0.012


def main():
    assert abs(sum(s * g for s, g in zip(by_turn(1, 2), noise_weights())) - 0.960) < 0.001
    growth = Growth()
    print_margins(growth)
    print_other_embeddings(growth)
    print_known_masks()
    simulate_products(random.Random(1))
    simulate_chain(random.Random(2))


if __name__ == "__main__":
    main()
