#!/usr/bin/env python3
"""How far above its noise floor a level of a squaring chain must lie.

Usage: python3 reference/squaring_tail.py [OUT]     (default: testdata/bgv beside this folder)

At one complex embedding the noise of a chain of squarings, each followed by a modulus switch that
drops q, is v -> v^2 / q + x, with x complex Gaussian: |x|^2 is exponential of mean sigma^2. In
units of q the map is w -> w^2 + x, x of mean square eps^2 = (sigma / q)^2. Below |w| = 1 noise dies
out, above it grows without end. Two independent answers to "how likely is |w| >= 1 within L
squarings":

1. The cheapest way out. P = exp(-V / eps^2) to leading order, V the least sum of |x_k|^2 that leads
   from 0 to 1. One kick costs 1; several moderate ones, each grown by the squarings, cost less.
2. The probability itself. The phase of w is uniform and independent of |w| (all x are isotropic),
   so |w| is a Markov chain with Rice's transition density; it is followed on a grid.

A simulation at moderate probabilities checks 2. The table that 2 yields is written for the Rust
tests; the summary goes to standard output. Plain Python, under a minute; deterministic.

Results. V = 0.640 (five kicks). At (q / sigma)^2 = 53.8 a chain of 28 squarings escapes with
probability 2^-41.6, and beyond that the logarithm falls by at least 0.62 for each unit, so that an
embedding with |s(zeta)|^2 = u is exp(33.5 (12 / u - 1)) times safer than one at the bound 12. A key is
accepted when all its embeddings together are no worse than a single one at the bound (computed with
32 for 33.5): 81 % of keys are. A level needs log2(12 * 53.8) / 2 = 4.67 bits over the root mean square
floor then. Without such a test the mean of |s(zeta)|^2 alone, which is 1, allows 32768 / 12 embeddings at
the bound: 4.80 bits. Hostile clues, at a margin of 3 bits for level 0, make escapes 1.05 times as likely.
"""

import json
import math
import pathlib
import random
import sys

GRID = 240  # cells of |w| below 1; 480 move log2 P by less than 0.001
SQUARINGS = 28  # products in the longest path from d to the pertinency vector
EMBEDDINGS = 32768  # n / 2, sophomr-v2
BOUND = 12  # largest |s(zeta)|^2 over its mean that a key may have
FALL = 32  # how fast escapes get rarer below the bound, in the test of a key
ESCAPE = 53.8  # (q / sigma)^2 at the bound that sophomr-v2's levels are sized for
HONEST_MARGIN = 3.0  # bits of the affine transform's noise below the floor, honest clues
FAILURE = -40 * math.log(2)  # ln, a batch
TABLE_SQUARINGS = 6


# 1. The cheapest way out


def path_cost(first, kicks):
    """Cost and end of the stationary path of `kicks` kicks that starts with `first`.

    Stationary: the derivative by each w_k of sum (w_(k+1) - w_k^2)^2 is zero, so that
    x_k = x_(k-1) / (2 w_k). All phases agree: any other choice only loses length.
    """
    w = x = first
    cost = x * x
    for _ in range(kicks - 1):
        x = x / (2 * w)
        w = w * w + x
        cost += x * x
    return cost, w


def exit_cost(kicks):
    """The least cost of reaching 1 with exactly this many kicks, by bisection on the first."""
    low, high = 1e-9, 1.0
    if path_cost(low, kicks)[1] >= 1:
        return None  # a shorter path is as good: the first kick would be 0
    for _ in range(100):
        middle = (low + high) / 2
        if path_cost(middle, kicks)[1] < 1:
            low = middle
        else:
            high = middle
    return path_cost(high, kicks)[0]


# 2. The probability itself


def log_bessel_i0(z):
    """log I0(z): the power series, or the asymptotic one (relative error below 1e-7)."""
    if z < 30:
        term = total = 1.0
        k = 0
        while term > 1e-17 * total:
            k += 1
            term *= (z / (2 * k)) ** 2
            total += term
        return math.log(total)
    tail = 1 + 1 / (8 * z) + 9 / (128 * z * z) + 225 / (3072 * z**3)
    return z - 0.5 * math.log(2 * math.pi * z) + math.log(tail)


def rice(r, center, eps2):
    """Density at r of |center + x|."""
    z = 2 * r * center / eps2
    return 2 * r / eps2 * math.exp(log_bessel_i0(z) - (r * r + center * center) / eps2)


def escape_cell(center, eps2):
    """P(|center + x| >= 1), by Simpson's rule out to 13 standard deviations."""
    steps = 120
    high = max(1.0, center) + 13 * math.sqrt(eps2 / 2)
    width = (high - 1) / steps
    weights = [1] + [4, 2] * (steps // 2 - 1) + [4, 1]
    values = (w * rice(1 + i * width, center, eps2) for i, w in enumerate(weights))
    return sum(values) * width / 3


class Chain:
    """The Markov chain of |w| on a grid, for log2(q / sigma) = bits."""

    def __init__(self, bits):
        self.eps2 = 4.0**-bits
        self.points = [(i + 0.5) / GRID for i in range(GRID)]
        self.move = [[rice(r, u * u, self.eps2) / GRID for u in self.points] for r in self.points]
        self.leave = [escape_cell(u * u, self.eps2) for u in self.points]

    def escapes(self, squarings, first=1.0):
        """P(|w| >= 1 after 0, 1, ..., `squarings` squarings or before).

        `first`: the mean square of the first x over that of the others.
        """
        eps2 = self.eps2 * first
        mass = [2 * r / eps2 * math.exp(-r * r / eps2) / GRID for r in self.points]
        gone = [math.exp(-1 / eps2)]  # the start is x itself: its escape is exact
        for _ in range(squarings):
            gone.append(gone[-1] + sum(m * e for m, e in zip(mass, self.leave)))
            mass = [sum(map(float.__mul__, row, mass)) for row in self.move]
        return gone


def escape_probabilities(bits, squarings):
    return Chain(bits).escapes(squarings)


def hostile_factor(bits, margin):
    """How much likelier an escape is when the first x carries the affine transform's noise too.

    Honest clues leave it 4^-margin of the mean square of x. Hostile ones have coefficients of 3 times
    the variance, and the diagonals' |.|^2 at the embedding, T times its mean, is exponential: one and
    the same for all diagonals at worst. Simpson's rule over T.
    """
    chain, steps = Chain(bits), 40
    weights = [1] + [4, 2] * (steps // 2 - 1) + [4, 1]
    mixed = (
        w * math.exp(-t) * chain.escapes(SQUARINGS, 1 + 3 * t * 4.0**-margin)[-1]
        for t, w in enumerate(weights)
    )
    return sum(mixed) / sum(w * math.exp(-t) for t, w in enumerate(weights)) / chain.escapes(SQUARINGS)[-1]


def simulate(bits, squarings, trials):
    """The same rate at the end, by running the chain."""
    rng = random.Random(1)
    sd = 2.0**-bits / math.sqrt(2)
    escaped = 0
    for _ in range(trials):
        w = 0j
        for _ in range(squarings + 1):
            w = w * w + complex(rng.gauss(0, sd), rng.gauss(0, sd))
            if abs(w) >= 1:
                escaped += 1
                break
    return escaped / trials


# What a level needs


class Escape:
    """ln P within SQUARINGS at any log2(q / sigma), interpolated as the exponent of 1."""

    STEP = 0.125
    LOW, HIGH = 1.0, 4.0

    def __init__(self):
        count = round((self.HIGH - self.LOW) / self.STEP) + 1
        self.bits = [self.LOW + self.STEP * i for i in range(count)]
        self.ln = [math.log(escape_probabilities(b, SQUARINGS)[-1]) for b in self.bits]
        self.exponent = [-p / 4**b for b, p in zip(self.bits, self.ln)]

    def at(self, bits):
        if bits <= self.LOW:
            return 0.0  # likely: counted as certain
        i = min(int((bits - self.LOW) / self.STEP), len(self.bits) - 2)
        t = (bits - self.bits[i]) / self.STEP
        return -(self.exponent[i] * (1 - t) + self.exponent[i + 1] * t) * 4**bits


def at_the_bound(escape, margin, embeddings):
    """ln of the failure a batch when this many embeddings stand at the bound."""
    return math.log(embeddings) + escape.at(margin - math.log2(BOUND) / 2)


def least_margin(failure):
    """The least bits over the root mean square floor for FAILURE, by bisection."""
    low, high = 2.0, 6.0
    for _ in range(50):
        middle = (low + high) / 2
        if failure(middle) > FAILURE:
            low = middle
        else:
            high = middle
    return high


def accepted(rng, bound):
    """Whether a random key passes: |s(zeta)|^2 is exponential, and only large ones matter."""
    least = bound / 2
    total, place, rate = 0.0, 0.0, EMBEDDINGS * math.exp(-least)
    while total <= 1:
        place += rng.expovariate(rate)
        if place >= 1:
            return True
        total += math.exp(FALL * (1 - bound / (least + rng.expovariate(1))))
    return False


# Output


def print_path():
    print("kicks  least cost of leaving the basin")
    for kicks in range(1, 7):
        cost = exit_cost(kicks)
        print(f"{kicks:5}  {'no cheaper: the first is 0' if cost is None else f'{cost:.4f}'}")


def print_probabilities(escape):
    print(f"\nlog2(q / sigma)  log2 P({SQUARINGS} squarings)")
    for bits, ln in zip(escape.bits, escape.ln):
        if bits % 0.25 == 0 and bits <= 3.5:
            print(f"{bits:15.2f}  {ln / math.log(2):22.2f}")
    print("\nlog2(q / sigma)  simulated  grid")
    for bits in (0.75, 1.0, 1.25, 1.5):
        measured = simulate(bits, SQUARINGS, 20000)
        predicted = escape_probabilities(bits, SQUARINGS)[-1]
        print(f"{bits:15.2f}  {measured:9.4f}  {predicted:.4f}")
        assert abs(measured - predicted) < 0.012


def print_margins(escape):
    print(f"\nbits a level over the rms floor for 2^-40 a batch, bound {BOUND}")
    cases = {
        "one embedding at the bound": 1,
        "as many as the mean allows": EMBEDDINGS / BOUND,
        "all embeddings at the bound": EMBEDDINGS,
    }
    for name, count in cases.items():
        print(f"{name:30} {least_margin(lambda m: at_the_bound(escape, m, count)):5.2f}")


def print_set():
    bits = math.log2(ESCAPE) / 2
    here = math.log(escape_probabilities(bits, SQUARINGS)[-1])
    near = math.log(escape_probabilities(math.log2(ESCAPE + 1) / 2, SQUARINGS)[-1])
    print(f"\nsophomr-v2: {bits + math.log2(BOUND) / 2:.2f} bits a level; one embedding at the bound "
          f"escapes with 2^{here / math.log(2):.1f}, exponent {ESCAPE * (here - near):.1f}")
    assert ESCAPE * (here - near) >= FALL
    for margin in (2.0, 2.5, HONEST_MARGIN):
        print(f"hostile clues, level 0 margin {margin}: {hostile_factor(bits, margin):.2f} times that")
    rng, trials = random.Random(2), 4000
    for bound in (11, 11.5, 12, 12.5, 13):
        passed = sum(accepted(rng, bound) for _ in range(trials)) / trials
        print(f"bound {bound:4}: {passed:.2f} of keys pass, {-math.log2(passed):.2f} bits")


def table():
    bits = [i / 16 for i in range(16 * 3 + 1)]
    ln = [math.log(escape_probabilities(b, TABLE_SQUARINGS)[-1]) for b in bits]
    return {
        "source": "reference/squaring_tail.py",
        "squarings": TABLE_SQUARINGS,
        "bits": bits,
        "ln_probability": [round(x, 6) for x in ln],
    }


def main():
    beside = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "bgv"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else beside
    out.mkdir(parents=True, exist_ok=True)
    print_path()
    escape = Escape()
    print_probabilities(escape)
    print_margins(escape)
    print_set()
    (out / "squaring_tail.json").write_text(json.dumps(table(), indent=1) + "\n")


if __name__ == "__main__":
    main()
