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
tests; the summary goes to standard output. Plain Python, about half a minute; deterministic.

Results. V = 0.640 (five kicks). Within 20 squarings P is about 29 exp(-0.61 / eps^2) at the sizes of
interest, so 0.61 with `depth` chances an embedding, not 0.67, is the constant when all n / 2
embeddings stand at the bound; a level then needs 4.84 bits over the root mean square floor. They
do not all stand there: |s(zeta)|^2 is itself exponential. Averaged over keys 4.58 bits suffice; the
4.77 bits of 0.67 fail with probability 2^-53, and below 2^-47 for a key with four embeddings at
the bound.
"""

import json
import math
import pathlib
import random
import sys

GRID = 240  # cells of |w| below 1; 480 move log2 P by less than 0.001
SQUARINGS = 20  # of which 18 in the power p - 1, p = 786433
EMBEDDINGS = 32768  # n / 2, sophomr-v2
DEPTH = 29
BOUND = 12  # largest |s(zeta)|^2 over its mean that a key may have
FAILURE = -40 * math.log(2)  # ln, a batch
RULE = 0.67  # the exponent that sophomr-v2's levels were sized with
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


def escape_probabilities(bits, squarings):
    """P(|w| >= 1 after 0, 1, ..., `squarings` squarings or before), for log2(q / sigma) = bits."""
    eps2 = 4.0**-bits
    h = 1 / GRID
    points = [(i + 0.5) * h for i in range(GRID)]
    move = [[rice(r, u * u, eps2) * h for u in points] for r in points]
    leave = [escape_cell(u * u, eps2) for u in points]
    # The start is x itself: its escape is exact.
    mass = [2 * r / eps2 * math.exp(-r * r / eps2) * h for r in points]
    gone = [math.exp(-1 / eps2)]
    for _ in range(squarings):
        gone.append(gone[-1] + sum(m * e for m, e in zip(mass, leave)))
        mass = [sum(map(float.__mul__, row, mass)) for row in move]
    return gone


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


def over_keys(escape, margin):
    """ln of the failure a batch, |s(zeta)|^2 exponential of mean 1 and cut at the bound."""
    steps = 2000
    width = BOUND / steps
    middle = [(i + 0.5) * width for i in range(steps)]
    chance = sum(math.exp(escape.at(margin - math.log2(u) / 2) - u) for u in middle) * width
    return math.log(EMBEDDINGS * chance)


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


def rule_bits(exponent):
    chances = math.log(EMBEDDINGS * DEPTH) - FAILURE
    return (math.log2(BOUND) + math.log2(chances / exponent)) / 2


# Output


def print_path():
    print("kicks  least cost of leaving the basin")
    for kicks in range(1, 7):
        cost = exit_cost(kicks)
        print(f"{kicks:5}  {'no cheaper: the first is 0' if cost is None else f'{cost:.4f}'}")


def print_probabilities(escape):
    print(f"\nlog2(q / sigma)  log2 P({SQUARINGS} squarings)  -ln(P / {DEPTH}) / (q / sigma)^2")
    for bits, ln in zip(escape.bits, escape.ln):
        if bits % 0.25 == 0 and bits <= 3.5:
            print(f"{bits:15.2f}  {ln / math.log(2):22.2f}  {(math.log(DEPTH) - ln) / 4**bits:24.3f}")
    print("\nlog2(q / sigma)  simulated  grid")
    for bits in (0.75, 1.0, 1.25, 1.5):
        measured = simulate(bits, SQUARINGS, 20000)
        predicted = escape_probabilities(bits, SQUARINGS)[-1]
        print(f"{bits:15.2f}  {measured:9.4f}  {predicted:.4f}")
        assert abs(measured - predicted) < 0.012


def print_margins(escape):
    print(f"\nbits a level over the rms floor for 2^-40 a batch, bound {BOUND}; "
          f"log2 failure at the rule's {rule_bits(RULE):.2f}")
    cases = {
        "all embeddings at the bound": lambda m: at_the_bound(escape, m, EMBEDDINGS),
        "four embeddings at the bound": lambda m: at_the_bound(escape, m, 4),
        "averaged over keys": lambda m: over_keys(escape, m),
    }
    for name, failure in cases.items():
        at_rule = failure(rule_bits(RULE)) / math.log(2)
        print(f"{name:30} {least_margin(failure):5.2f}  {at_rule:7.1f}")
    print(f"{'closed form, exponent 0.61':30} {rule_bits(0.61):5.2f}")


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
    (out / "squaring_tail.json").write_text(json.dumps(table(), indent=1) + "\n")


if __name__ == "__main__":
    main()
