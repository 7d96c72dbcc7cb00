#!/usr/bin/env python3
"""How far below its floor the noise of opened slots must lie (packed clues).

Usage: python3 reference/opening_tail.py [--constants]

Opening multiplies the noise E_t of the encrypted secret, turned t = 0 .. 22 times, by diagonals m_t
of masks modulo p, and the sums, turned k = 0 .. 127 times, by the constants C_k of the inverse
transform. At an embedding

    V = sum_k C_k(zeta) sum_t m_t(zeta_k) E_t(zeta_k)

is complex Gaussian, as each E_t is, of variance T v^2: v^2 the mean square that `slot_noise` of
crates/opening predicts, and

    T = 1/128 sum_k c_k sum_t g_t P_t(zeta_k)        c_k = |C_k(zeta)|^2 / f,  P_t = |m_t|^2 / f

with f = n p^2 / 12. g_t grows with t, as E_t has the noise of t turns. sum g_t = 1.173: `slot_noise`
counts 12 products of 18 turns, but a diagonal with few slots has coefficients as large as any, so
there are 23. Masks are random, so P_t is exponential: T is a sum of 2,944 exponentials, which varies
little, where one product has a single one.

What T does to a chain of squarings is computed as in squaring_tail.py: the first x has
1 + T 4^-margin times its variance. "scaled" takes the opened noise to be as much larger at a bad
embedding as the floor is there, 12 times. It is not, because it comes from 128 embeddings: "as it
is" counts T 4^-margin / 12 for it.

`--constants` computes all c_k at full size (some ten minutes), and from them TRIALS. Standard
library, a minute without; deterministic.

Results: least margins in bits at which escapes are 1.05 times as likely.

    masks                                              scaled    as it is
    of honest clues                                      1.84        0.04
    at the worst embedding, whatever the key             2.35        0.55
    the best of 2^128 choices, at one embedding          2.73        0.94
    any at all, which nobody knows how to make           9.63        7.84

They hold where nobody knows the rounding of the first x in advance: `print_known_masks`.
"""

import cmath
import math
import random
import sys

from squaring_tail import BOUND, ESCAPE, FALL, SQUARINGS, Chain

P, N = 786433, 65536
POINTS, TURNS, WINDOW = 128, 23, 12
FRESH, TURN = 3.2404**2 + 1 / 12, 4097 / 12 * (1 + 2**-6)  # mean squares over n p^2
GROWTH = 1.05  # of the probability of an escape
BITS = math.log2(ESCAPE) / 2

# T at the worst embedding, for the best of 2^bits sets of masks (`--constants`), and what keys add:
# E_t has the noise of turns at other embeddings, which is KEY of its mean at most where it counts.
TRIALS = {0: 2.17, 65: 2.93, 128: 3.70}
KEY = 1.1
# T over embeddings, masks and keys, in simulated batches of full size: mean, standard deviation. The
# largest was 2.0; masks alike in all blocks or all but one, of two kinds, or all p/2 gave up to 2.1.
HONEST = 1.16, 0.16
# Whatever the masks are: |m_t|^2 is n^2 p^2 / 8 at most, since the conjugate embedding has as much.
# All 23 where c_k is 25, the largest, and where the turns have 2.6 times their mean.
ANY_MASKS = N * 1.5 * 24.8 * 1.173 / POINTS * 2.6


def noise_weights():
    """g_t."""
    predicted = WINDOW * (FRESH + 18 * TURN)
    return [(FRESH + t * TURN) / predicted for t in range(TURNS)]


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


class Constants:
    """|C_k(zeta)|^2 / f at the embeddings in the order of slots."""

    def __init__(self):
        psi = root_of_unity(2 * N)
        self.psi, self.omega = psi, root_of_unity(2 * POINTS)
        self.inverse = powers_of(pow(psi, -2, P), N, P)
        self.untwist = powers_of(pow(psi, -1, P), N, P)
        self.circle = [cmath.exp(2j * math.pi * i / N) for i in range(N)]
        self.twist = [cmath.exp(1j * math.pi * i / N) for i in range(N)]
        self.exponents, e = [], 1
        for _ in range(N // 2):
            self.exponents.append(e)
            e = e * 5 % (2 * N)

    def slots(self, k):
        """By point; `constant` of crates/opening."""
        values = ((2 * ((i + k) % POINTS) + 1) * i for i in range(POINTS))
        return [pow(self.omega, -x, P) * pow(POINTS, -1, P) % P for x in values]

    def encoded(self, slots):
        """A polynomial whose slots are those of their point, in both rows; centred."""
        values, columns = [0] * N, N // 2 // POINTS
        for slot, e in enumerate(self.exponents):
            values[(e - 1) // 2] = values[(2 * N - e - 1) // 2] = slots[slot // columns]
        n = pow(N, -1, P)
        coeffs = (x * w * n % P for x, w in zip(transform(values, self.inverse, P), self.untwist))
        return [x - P if x > P // 2 else x for x in coeffs]

    def powers(self, k):
        coeffs = self.encoded(self.slots(k))
        values = transform([x * w for x, w in zip(coeffs, self.twist)], self.circle)
        return [abs(values[(e - 1) // 2]) ** 2 / (N * P * P / 12) for e in self.exponents]


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


def print_constants():
    constants, g = Constants(), noise_weights()
    rows = []
    for k in range(POINTS):
        rows.append(constants.powers(k))
        print(f"\r{k + 1} of {POINTS}", end="", file=sys.stderr)
    at = list(zip(*rows))
    mean = [sum(c) / POINTS for c in at]
    average = sum(mean) / len(mean)
    spread = math.sqrt(sum((x - average) ** 2 for x in mean) / len(mean))
    print(f"\nsum of c_k / 128: mean {average:.3f}, standard deviation {spread:.3f}, "
          f"largest {max(mean):.3f}; largest c_k {max(map(max, rows)):.1f}")
    orders = (sum, lambda c: sum(x * x for x in c), max)
    worst = {c for key in orders for c in sorted(at, key=key)[-20:]}
    for trials in TRIALS:
        most = max(largest_sum([x * w / POINTS for x in c for w in g], trials + 15) for c in worst)
        print(f"2^{trials} trials: T at most {most:.2f}")


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
    """The first x is e0 + e1 s, e1 the rounding of a mask. Who knows the key's masks, and fills a batch
    with one clue, so that its masks do not depend on the placement, picks the clue that makes e1 the
    largest of 2^bits at one embedding. u, |s|^2 there, he does not know."""
    print("\nfirst rounding the best of 2^bits at one embedding: log2 of the probability that it escapes")
    tries = (20, 40, 60, 80)
    total = dict.fromkeys(tries, 0.0)
    for i in range(23):
        u = 1 + i / 2
        chain = Started(math.log2(ESCAPE * BOUND / u) / 2)
        for bits in tries:
            square = (bits + 15) * math.log(2) * u / (ESCAPE * BOUND)
            total[bits] += math.exp(-u) / 2 * chain.escapes_from(math.sqrt(square))
    print("".join(f"  2^{bits}: {math.log2(x):.1f}" for bits, x in total.items()))


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
    if sys.argv[1:] == ["--constants"]:
        return print_constants()
    assert abs(sum(noise_weights()) - 1.173) < 0.001
    growth = Growth()
    print_margins(growth)
    print_other_embeddings(growth)
    print_known_masks()
    simulate_products(random.Random(1))
    simulate_chain(random.Random(2))


if __name__ == "__main__":
    main()
