#!/usr/bin/env python3
"""Thresholds of narrow Gaussian errors (docs/wire.md, section 8), from decimals of 60 digits.

Usage: python3 reference/narrow.py [OUT]     (default: the folder of the code that is tested with them)

P(x) is proportional to exp(-x^2 / (2 s^2)), x from -X to X, X the last with a weight of at least 2^-70. Threshold x, for
x from 0 to X - 1, is the floor of 2^63 times the probability of a magnitude of at most x. Output is deterministic.
"""

import decimal
import json
import pathlib
import sys
from decimal import Decimal

decimal.getcontext().prec = 60
PARAMETERS = ["0.5", "0.4775", "0.4495", "0.52", "28"]


def thresholds(parameter):
    s = Decimal(parameter)
    weights = []
    while not weights or weights[-1] >= Decimal(2) ** -70:
        weights.append((-Decimal(len(weights) ** 2) / (2 * s * s)).exp())
    weights.pop()
    total = weights[0] + 2 * sum(weights[1:])
    below = [weights[0] + 2 * sum(weights[1 : x + 1]) for x in range(len(weights) - 1)]
    return [int(value / total * 2**63) for value in below]


def main():
    tested = pathlib.Path(__file__).resolve().parent.parent / "crates/ring/src/narrow"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tested
    cases = [{"parameter": parameter, "thresholds": thresholds(parameter)} for parameter in PARAMETERS]
    # Half of a normal distribution, as a check of the sums: wide enough, they are those of the integral.
    wide = thresholds("20")
    assert abs(wide[20] / 2**63 - 0.6946) < 1e-3
    (out / "exact.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
