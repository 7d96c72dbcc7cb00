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
tests; the summary goes to standard output. Plain Python, about a minute; output is deterministic.
"""

import json
import math
import pathlib
import random
import sys

GRID = 240  # cells of |w| below 1: halving them moves the exponents by less than 0.1 %
SQUARINGS = 20
N = 65536  # sophomr-v1
DEPTH = 29
BOUND = 12
FAILURE = 2.0**-40


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
